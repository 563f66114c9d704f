// Package karmada is the simulated Karmada of the laboratory. It plays Karmada's control plane and
// its member clusters against a real etcd and kube-apiserver, because Karmada's own code cannot be
// had here. A test replays recordings of a real Karmada against it and compares the states that come
// out. It shares no code with the product.
//
// What is played: the API with its validation (package crds), what Karmada does to objects on their
// way in (webhook), the scheduler's decisions (scheduling), every controller that touches what
// Lifeboat touches (controllers), and the members (members). What is not: policies and templates
// (there is no detector; tests create bindings themselves), dependencies, quotas, Pull clusters,
// Karmada's own taint manager (it is off in the set-up Lifeboat asks for).
//
// # Faults
//
// A binding asks for misbehaviour by annotations:
//
//	lab.lifeboat.dev/put-back: member1
//	    Each time a new eviction task for the cluster appears, once, the scheduler answers with the
//	    result from before it: the cluster, with the task's replicas, is a target again although its
//	    task stands. It stays until somebody takes it out; then the scheduler is honest again.
//	lab.lifeboat.dev/put-back-after-release: member1
//	    When the cluster's task has gone, once, the scheduler places the binding on the cluster again,
//	    whatever taints say; where a spread constraint leaves no room, in place of another.
//	lab.lifeboat.dev/never-ready-on: member2,member3
//	    The copy has no ready replica there, one that ran loses them; Karmada says Unhealthy.
//	lab.lifeboat.dev/stuck-ready-at: member2=2
//	    No more than so many replicas of the copy get ready there. The simulated Karmada says Healthy: it
//	    looks at created replicas, not at ready ones. A real one says Unhealthy.
//	lab.lifeboat.dev/ready-after: 5s
//	    Replaces the knob workloadReadyAfter for the copies of this binding.
//	lab.lifeboat.dev/no-works: "true"
//	    The binding gets no Works: a fleet of a hundred thousand bindings is made in minutes.
//
// Annotations of copies (ready and never-ready) may be changed at any time and take effect at once.
package karmada
