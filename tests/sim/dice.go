package sim

import (
	"hash/fnv"
	"strconv"
	"time"
)

// dice decide faults. Each answer follows from the seed, what is asked, of whom, and
// how often that was asked: leaving a step out of a story changes few others.
type dice struct {
	seed  uint64
	odds  map[string]int
	asked map[string]int
	// calm ends every fault.
	calm bool
	// hits count what happened, by fault.
	hits map[string]int
}

func newDice(s Schedule) *dice {
	return &dice{seed: s.Seed, odds: s.Odds, asked: map[string]int{}, hits: map[string]int{}}
}

func (d *dice) roll(what, whom string) uint64 {
	key := what + " " + whom
	d.asked[key]++
	h := fnv.New64a()
	_, _ = h.Write([]byte(strconv.FormatUint(d.seed, 16) + " " + key + " " + strconv.Itoa(d.asked[key])))
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// chance tells whether a fault happens now.
func (d *dice) chance(what, whom string) bool {
	odds := d.odds[what]
	if d.calm || odds <= 0 {
		return false
	}
	if d.roll(what, whom)%1000 >= uint64(odds) {
		return false
	}
	d.hits[what]++
	return true
}

// span is a duration from a tick on.
func (d *dice) span(what, whom string, most time.Duration) time.Duration {
	return tick + time.Duration(d.roll(what, whom)%uint64(most))
}
