// Package controllers plays Karmada's control plane: scheduler, binding, execution, work status,
// binding status, graceful eviction, cluster and cluster status controllers, against a real API
// server and members that are simulated.
//
// The traps of the real thing are kept on purpose: the scheduler's result patch is blind (no
// resourceVersion, the whole array); the status of dead members stays what it last was; Works on
// clusters that are not Ready keep their finalizer; aggregated status follows Works, not targets.
//
// Decisions live in package scheduling; here they are only carried out. Nothing polls lists:
// everything follows watches, apart from the probe of each member.
package controllers
