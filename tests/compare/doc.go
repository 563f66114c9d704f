// Package compare holds the pre-check against the lab's scheduler, which share no
// code: where the pre-check says yes the scheduler places, where it says no the
// scheduler fails or the reason is a cautious one. Both are held against the answers
// of a real Karmada scheduler, of which testdata has a sample.
//
// It is a module of its own because neither side may import the other. Both read the
// same JSON, each with its own decoder.
package compare
