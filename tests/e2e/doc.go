// Package e2e holds the end-to-end stories: what happens when a cluster fails,
// told on a real etcd, a real kube-apiserver and a real Temporal, with Karmada's
// part played by the lab. The product runs as its own processes and is judged from
// outside: by what stands in the API server, by its audit log, and by what the
// workflows answer.
//
// It imports neither the lab nor the product's rules, or they would agree with
// themselves. Stories wait on conditions and assert lower bounds in time only.
package e2e
