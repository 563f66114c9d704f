// Package clusterfailover is the failover of one cluster, from first suspicion to last
// purge: it confirms the failure, taints, enqueues the bindings that the taint moves, waits
// out their tolerations, asks the pacer for permits, starts a migration for each, and, on
// recovery, abandons what has not begun.
package clusterfailover
