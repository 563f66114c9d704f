// Package bindingmigration moves one binding off one cluster: it writes the eviction, waits
// until the copy elsewhere is healthy, lets the old copy go, and follows its purge.
//
// Begin with story, in migration.go. Each of its steps looks, decides and writes, or waits. A step
// uses the layers that every part stands on, each in a file of its name: audit (what was done),
// report (what was reported), listen (what was received, and waiting), course (the phase and
// its arrows). Beside them stand the parts with a memory of their own: orders, looks, proofs,
// fences, dependents, restorer, releaser.
package bindingmigration
