// Package karmada has what Karmada keeps, as values: Cluster, Binding, Task, Placement, and what
// Lifeboat writes to them. It reads these values for what they say, as Karmada does.
//
// It decides nothing, and has no client: package k8sadapter fills the values.
package karmada
