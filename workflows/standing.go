package workflows

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/view"
)

// StandingOrders are what operators ordered about bindings, a namespace or all, and what
// holds until the failover closes: over attempts and continue-as-new. Of one scope each
// list has one entry at most.
type StandingOrders struct {
	Snoozes    []Snooze      `json:"snoozes,omitempty"`
	Pauses     []ScopedPause `json:"pauses,omitempty"`
	Priorities []Priority    `json:"priorities,omitempty"`
}

// Snooze keeps bindings from being due before a moment. It is forgotten when that has passed.
type Snooze struct {
	ScopedOrder
	At    time.Time `json:"at"`
	Until time.Time `json:"until"`
}

// ScopedPause keeps bindings from being dispatched; a pause of the whole failover is
// [FailoverState].Paused.
type ScopedPause struct {
	ScopedOrder
	At time.Time `json:"at"`
}

// Priority takes the place of the priority that an attempt froze.
type Priority struct {
	ScopedOrder
	At       time.Time `json:"at"`
	Priority int32     `json:"priority"`
}

// SnoozedBy is the snooze that keeps a binding longest, nil when none does.
func (s StandingOrders) SnoozedBy(key karmada.BindingKey) *Snooze {
	var longest *Snooze
	for n := range s.Snoozes {
		if z := &s.Snoozes[n]; z.Covers(key) && (longest == nil || z.Until.After(longest.Until)) {
			longest = z
		}
	}
	return longest
}

// PausedBy is a pause of a binding or of its namespace, nil when none stands.
func (s StandingOrders) PausedBy(key karmada.BindingKey) *ScopedPause {
	for n := range s.Pauses {
		if s.Pauses[n].Covers(key) {
			return &s.Pauses[n]
		}
	}
	return nil
}

// StandingOrder is an entry of a list of standing orders.
type StandingOrder interface{ Of() queue.Scope }

// without is a list without the entry of a scope.
func without[T StandingOrder](list []T, scope queue.Scope) []T {
	return slices.DeleteFunc(list, func(x T) bool { return x.Of() == scope })
}

// Snooze keeps a snooze. Of two for one scope the longer stands.
func (s *StandingOrders) Snooze(z Snooze) {
	at := slices.IndexFunc(s.Snoozes, func(x Snooze) bool { return x.Scope == z.Scope })
	switch {
	case at < 0:
		s.Snoozes = append(s.Snoozes, z)
	case s.Snoozes[at].Until.Before(z.Until):
		s.Snoozes[at] = z
	}
}

// Pause keeps a pause, in the place of an earlier one for its scope.
func (s *StandingOrders) Pause(p ScopedPause) { s.Pauses = append(without(s.Pauses, p.Scope), p) }

// Resume ends the pause of a scope.
func (s *StandingOrders) Resume(scope queue.Scope) { s.Pauses = without(s.Pauses, scope) }

// Prioritise keeps a priority, in the place of an earlier one for its scope.
func (s *StandingOrders) Prioritise(p Priority) {
	s.Priorities = append(without(s.Priorities, p.Scope), p)
}

// Forget drops the snoozes that are over, and reports whether there were any.
func (s *StandingOrders) Forget(now time.Time) bool {
	had := len(s.Snoozes)
	s.Snoozes = slices.DeleteFunc(s.Snoozes, func(z Snooze) bool { return !z.Until.After(now) })
	return len(s.Snoozes) != had
}

// Lines are the standing orders as they are shown.
func (s StandingOrders) Lines() []view.OrderLine {
	var out []view.OrderLine
	for _, p := range s.Pauses {
		out = append(out, view.OrderLine{What: view.OrderPaused, Whom: p.String(), By: p.Line()})
	}
	for _, z := range s.Snoozes {
		out = append(out, view.OrderLine{What: "snoozed", Whom: z.String(), By: z.Line(), Until: z.Until})
	}
	for _, p := range s.Priorities {
		out = append(out, view.OrderLine{What: fmt.Sprintf("priority %d", p.Priority), Whom: p.String(), By: p.Line()})
	}
	return out
}

// Index is the standing orders as the queue goes by them.
func (s StandingOrders) Index() queue.Standing {
	x := queue.Standing{Snoozed: queue.Scoped[time.Time]{}, Paused: queue.Scoped[struct{}]{}, Priority: queue.Scoped[int32]{}}
	for _, z := range s.Snoozes {
		x.Snoozed[z.Scope] = z.Until
	}
	for _, p := range s.Pauses {
		x.Paused[p.Scope] = struct{}{}
	}
	for _, p := range s.Priorities {
		x.Priority[p.Scope] = p.Priority
	}
	return x
}
