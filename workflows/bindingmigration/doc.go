// Package bindingmigration moves one binding off one cluster: it writes the eviction, waits
// until the copy elsewhere is healthy, lets the old copy go, and follows its purge.
//
// Begin with story, in migration.go. Each of its steps looks, decides and writes, or waits. A step
// uses the layers that every part is built on: the auditor (audit.go: what was done), the reporter
// (report.go: what was reported), the listener (listen.go: what was received, and waiting) and the
// course (listen.go: the phase and its transitions). The other parts have a state of their own:
// orders, looks, proofs, fences, dependents, restorer, releaser.
package bindingmigration
