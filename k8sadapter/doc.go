// Package k8sadapter reads and writes Karmada's API server, and is the only package that
// imports client-go. It turns the API's objects into the types of package karmada, and the
// writes of package activities into one merge patch each.
//
// It decides nothing. A malformed object affects only itself: it has Malformed set, and is never
// an error of a list. A write changes only Lifeboat's own fields, carries the resourceVersion
// that was read, and is sent once. Every error is classified here (karmada.ErrConflict, ErrGone,
// …), so that no other package reads an HTTP status.
//
// It never writes Karmada's own NoSchedule taints (cluster.karmada.io/*), another producer's
// eviction task, or any status but that of Lifeboat's ClusterTaintRules.
package k8sadapter
