// Package ledger is the laboratory's own account of a failover. It watches Karmada's objects and the
// members, keeps what it saw in order of arrival, and judges a report that Lifeboat hands in: whether
// every binding that had to move has exactly one outcome, whether that outcome is what happened,
// whether every workload had a running or a held copy all the time, whether evictions kept the pace,
// and whether anything was left behind.
//
// It shares no code with the product: what it knows of Lifeboat are the names that stand in Karmada's
// objects and the JSON of the report, and it works out for itself who is affected. It writes nothing.
//
// A [Journal] keeps and judges and does no I/O; a [Recorder] feeds it.
package ledger
