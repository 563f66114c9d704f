// Package watch turns what happens in Karmada into signals to workflows, and
// starts one ClusterFailover per cluster that looks failed.
//
// It decides by the pure rules which workflow gets a fact, and nothing else: it writes nothing
// to Karmada, keeps no time, and a doubled or stale watch does no harm, because
// every fact carries uid and resourceVersion and every decision re-reads. It is
// level-triggered: a resync sends again what was missed, or could not be sent.
package watch
