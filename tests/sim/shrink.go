package sim

import (
	"maps"
	"slices"
)

// Shrink makes a failing schedule as short as it can while fails holds, within so
// many plays: steps, bindings and faults go first in halves, then one by one.
func Shrink(s Schedule, plays int, fails func(Schedule) bool) Schedule {
	k := &shrinker{plays: plays, fails: fails}
	for before := -1; before != size(s) && k.plays > 0; {
		before = size(s)
		s = k.words(s, func(s *Schedule) *map[string]int { return &s.Odds })
		s.Steps = less(s.Steps, func(steps []Step) bool {
			try := s
			try.Steps = steps
			return k.still(try)
		})
		s.Bindings = less(s.Bindings, func(bindings []Binding) bool {
			try := s
			try.Bindings = bindings
			return k.still(try)
		})
		s = k.needs(s)
		s = k.words(s, func(s *Schedule) *map[string]int { return &s.Asks })
	}
	return s
}

func size(s Schedule) int {
	n := len(s.Steps) + len(s.Bindings) + len(s.Odds) + len(s.Asks)
	for _, b := range s.Bindings {
		n += len(b.Needs)
	}
	return n
}

type shrinker struct {
	plays int
	fails func(Schedule) bool
}

func (k *shrinker) still(s Schedule) bool {
	if k.plays <= 0 {
		return false
	}
	k.plays--
	return k.fails(s)
}

// words leaves out faults, or rules that ask.
func (k *shrinker) words(s Schedule, of func(*Schedule) *map[string]int) Schedule {
	for _, name := range slices.Sorted(maps.Keys(*of(&s))) {
		try := s
		*of(&try) = maps.Clone(*of(&s))
		delete(*of(&try), name)
		if k.still(try) {
			s = try
		}
	}
	return s
}

// needs leaves out what bindings take along.
func (k *shrinker) needs(s Schedule) Schedule {
	for n := range s.Bindings {
		b := s.Bindings[n]
		if len(b.Needs) == 0 {
			continue
		}
		b.Needs = nil
		try := s
		try.Bindings = slices.Clone(s.Bindings)
		try.Bindings[n] = b
		if k.still(try) {
			s = try
		}
	}
	return s
}

// less drops runs of a list, long ones first, as long as it still fails.
func less[T any](list []T, fails func([]T) bool) []T {
	for run := (len(list) + 1) / 2; run > 0; run /= 2 {
		for at := 0; at < len(list); {
			try := slices.Concat(list[:at], list[min(at+run, len(list)):])
			if fails(try) {
				list = try
			} else {
				at += run
			}
		}
	}
	return list
}
