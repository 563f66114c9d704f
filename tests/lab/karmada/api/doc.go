// Package api is the simulation's own typed view of Karmada's objects: only the fields that the
// simulated controllers read. It also names the resources, labels and annotations they use.
//
// It promises never to be used for whole-object writes (fields it does not know would be lost):
// controllers write patches.
package api
