// Package bindingmigration moves one binding off one cluster: it writes the eviction, waits
// until the copy elsewhere is healthy, lets the old copy go, and follows its purge.
//
// Begin with story, in migration.go. Each of its steps looks, decides and writes, or waits. A step
// uses the layers that every part is built on: the auditor (audit.go: what was done), the reporter
// (report.go: what was reported), the listener (listen.go: what was received, and waiting) and the
// course (listen.go: the phase and its transitions). The other parts have a state of their own:
// orders, looks, proofs, fences, dependents, restorer, releaser.
//
// What the recovery of its cluster means to it (R4.9-10 to R4.9-18), by phase:
//
//	Checking, Queued, AwaitingFence before the write   abandoned: begin, awaitPermit (evict.go), awaitFence (fence.go)
//	Evicting                                           abandoned after a look that shows no task: verified, endUnheld (evict.go)
//	Placing                                            restored, Directly goes on: takesBack, goesOn (orders.go)
//	AwaitingHealth                                     goes on, or back where placed straight back: proceed (health.go)
//	Releasing                                          finished, or back with the workloads that it serves: release.go
//	Purging, AwaitingFence after the write             finished
//	Restoring                                          goes on, in a new attempt with its time anew: restoreAnew (orders.go)
package bindingmigration
