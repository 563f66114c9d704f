// Package compare holds the pre-check against the lab's scheduler, which share no
// code: where the pre-check says yes the scheduler places, where it says no the
// scheduler fails or the reason is a cautious one. A table of placements worked out
// by hand is the third external probe.
//
// It is a module of its own because neither side may import the other. Both read the
// same JSON, each with its own decoder.
package compare
