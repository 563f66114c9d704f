// Package clusterfailover is the failover of one cluster, from first suspicion to last
// purge: it confirms the failure, taints, enqueues the bindings that the taint moves, waits
// out their tolerations, requests permits from the pacer, starts a migration for each, and, on
// recovery, abandons what has not begun.
//
// failover is the engine: its turn, and what each phase does. What it works with are parts
// (newParts lists them), and each writes fields of the state that
// no other writes. A part calls those that are listed before it, never the engine; what the next
// turn has to do stands in the agenda.
package clusterfailover
