// Package k8sadapter speaks to Karmada's API server, and is the only package
// that imports client-go. It turns the API's objects into the words of package
// failover, and the writes of package activities into one merge patch each.
//
// It decides nothing: it moves no taint and no task that it was not asked to,
// and has no opinion about what a condition means. It promises that a malformed
// object harms nothing but itself (it comes back with Malformed set, never as an
// error of a list), that a write touches only Lifeboat's own fields, carries the
// resourceVersion that was read and is sent once, and that every error is
// classified here (karmada.ErrConflict, ErrGone, …) so that nobody above has to
// look at an HTTP status.
//
// It never touches Karmada's own NoSchedule taints (cluster.karmada.io/*), nor
// another producer's eviction task, nor any status but that of Lifeboat's own
// ClusterTaintRules.
package k8sadapter
