package rules

import (
	"maps"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"k8s.io/apimachinery/pkg/util/sets"
)

// WindowKey names the window of one (rule, taint).
type WindowKey string

// Key is "<rule>/<key>:<effect>".
func (o RuleObservation) Key() WindowKey {
	return WindowKey(o.Rule + "/" + o.Taint.Key + ":" + string(o.Taint.Effect))
}

// Window is the durable state of one (rule, taint): what holds, and since when.
type Window struct {
	Rule  string            `json:"rule"`
	Taint karmada.RuleTaint `json:"taint"`
	// Last is the newest observation; Undecided leaves Since alone.
	Last Match `json:"last"`
	// Matching is the newest decided state; Since is when it began.
	Matching bool      `json:"matching"`
	Since    time.Time `json:"since"`
	// Reason is that of the newest observation.
	Reason reason.Reason `json:"reason,omitempty"`
	// Idle reports that neither window runs: the conditions of a policy that add match no
	// more, and those that remove do not match.
	Idle bool `json:"idle,omitempty"`
}

// Deadline is when the window that runs now ends.
func (w Window) Deadline() time.Time {
	if w.Matching {
		return w.Since.Add(w.Taint.AddOnMatch)
	}
	return w.Since.Add(w.Taint.RemoveOnMismatch)
}

// AddRipe reports whether the conditions have matched for addOnMatchSeconds and
// still do: an Undecided last look never confirms.
func (w Window) AddRipe(now time.Time) bool {
	return w.Matching && w.Last == Matches && !now.Before(w.Deadline())
}

// RemoveRipe reports whether the conditions have mismatched for removeOnMismatchSeconds.
func (w Window) RemoveRipe(now time.Time) bool {
	return !w.Matching && !w.Idle && w.Last == Mismatches && !now.Before(w.Deadline())
}

// Quiet reports whether nothing has matched for removeOnMismatchSeconds.
func (w Window) Quiet(now time.Time) bool {
	return w.RemoveRipe(now) || w.Idle && w.Reason != reason.MemberAnswers && !now.Before(w.Deadline())
}

// Windows are the windows of one failover by key.
type Windows map[WindowKey]Window

// Advance takes one sight of a cluster into the windows and returns new ones.
// A flip between matching and mismatching restarts a window at now; Undecided
// neither starts nor restarts one. A window whose rule is gone, or no longer
// targets the cluster, counts as mismatching. Changed durations and values of a
// taint hold at once.
func (w Windows) Advance(obs []RuleObservation, now time.Time) Windows {
	next := make(Windows, len(w)+len(obs))
	refused := sets.New[string]()
	for _, o := range obs {
		if o.Taint.Key == "" {
			refused.Insert(o.Rule)
			continue
		}
		window, known := w[o.Key()]
		if !known && o.Match == Undecided {
			continue // nothing decided yet: there is no window to begin
		}
		next[o.Key()] = window.see(o, known, now)
	}
	for key, window := range w {
		if _, seen := next[key]; seen {
			continue
		}
		gone := RuleObservation{Rule: window.Rule, Taint: window.Taint, Match: Mismatches}
		if refused.Has(window.Rule) {
			gone.Match = Undecided
		}
		next[key] = window.see(gone, true, now)
	}
	return next
}

// Adopt begins a window for each Lifeboat taint that has none: an earlier run put it. Until its rule
// decides, the rule counts as matching, because nothing says that the cluster has recovered. The default
// duration counts where the rule is gone.
func (w Windows) Adopt(added []karmada.AddedTaint, now time.Time) Windows {
	next := maps.Clone(w)
	if next == nil {
		next = Windows{}
	}
	for _, t := range added {
		if _, known := w[KeyOf(t)]; known || t.Key == karmada.EvacuatingTaintKey {
			continue
		}
		taint := karmada.RuleTaint{Key: t.Key, Effect: t.Effect, RemoveOnMismatch: DefaultRemoveOnMismatch}
		next[KeyOf(t)] = Window{Rule: t.Rule, Taint: taint, Last: Undecided, Matching: true, Since: now}
	}
	return next
}

func (w Window) see(o RuleObservation, known bool, now time.Time) Window {
	matching, idle := w.Matching, w.Idle
	switch o.Match {
	case Matches:
		matching, idle = true, false
	case Mismatches:
		matching, idle = false, false
	case Neither:
		matching, idle = false, true
	case Lapsed:
		if matching || !known {
			matching, idle = false, true
		}
	case Undecided:
	}
	if !known || matching != w.Matching || idle != w.Idle {
		w.Since = now
	}
	w.Matching, w.Idle = matching, idle
	w.Rule, w.Taint, w.Last, w.Reason = o.Rule, o.Taint, o.Match, o.Reason
	return w
}

// Sorted are the windows in a fixed order: maps have none, workflows need one.
func (w Windows) Sorted() []Window {
	out := make([]Window, 0, len(w))
	for _, key := range slices.Sorted(maps.Keys(w)) {
		out = append(out, w[key])
	}
	return out
}

// Any reports whether some window is as asked.
func (w Windows) Any(is func(Window) bool) bool { return slices.ContainsFunc(w.Sorted(), is) }

// Key is that of the rule and the taint that the window is about.
func (w Window) Key() WindowKey { return RuleObservation{Rule: w.Rule, Taint: w.Taint}.Key() }
