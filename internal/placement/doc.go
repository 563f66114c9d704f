// Package placement answers whether there is somewhere to go, before anything is taken away. It
// follows Karmada's scheduler: candidates, affinity groups, spread, division, room; and it counts
// the room that other moves were promised.
//
// It is pure: equal input gives equal output.
package placement
