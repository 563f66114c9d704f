// Package scheduling decides what Karmada's scheduler would decide: given a binding and the member
// clusters, which clusters serve it, with how many replicas, and what the Scheduled condition says.
//
// Simulated: Duplicated; Divided by static weights, by dynamic weight and aggregated, with the room
// that resourceSummary tells of, grades of nodes included; clusterNames, exclude, label and field
// affinity; affinity groups going forward only; spread by cluster and by region, and what Karmada
// makes of zones, providers and labels beside them; taints and tolerations; API enablement; the ban
// by a standing eviction task; clusters being deleted. Overflow groups end in SchedulerError and say
// so; accurate estimators and the gates for component workloads are not there.
//
// It is pure: no clock, no I/O, no memory. Whether Karmada thinks a cluster is Ready is, as in
// Karmada, not looked at.
package scheduling
