package rules

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	corev1 "k8s.io/api/core/v1"
)

// Evidence is what the windows of a cluster's rules and its taints say at one moment: whether it
// fails, whether it has recovered, and which taints are to be put or to go. Of a failure there are
// three degrees:
//
//	                 a rule matches   its window has run out   foreign taints count
//	Suspected        needed           -                        no
//	ConfirmsFailure  needed           needed (one Ripens)      no
//	Failing          needed           needed                   yes, alone they suffice
//
// ConfirmsFailure, a foreign taint or the taint of an earlier run begins an evacuation (actSuspected of the failover).
// Whether the failure goes on is said by thisFailureStands (judgement.go of the failover); Failing says why, and whether a drain has the cluster to itself.
type Evidence struct {
	Windows Windows
	// Judged is when the newest answered look was requested. Windows are judged by this moment, not
	// by now: what came after it is not known.
	Judged time.Time
	// Added are Lifeboat's taints, Foreign those of others that move bindings, and Standing is every
	// taint as "key:effect".
	Added    []karmada.AddedTaint
	Foreign  []corev1.Taint
	Standing []string
	// Virtual are the taints that would stand if this were not observe.
	Virtual []corev1.Taint
	// SoftUnreadable: the cluster's soft taints can neither be read nor written.
	SoftUnreadable bool
}

// Suspected reports whether a rule whose taint moves bindings matches, however long.
func (e Evidence) Suspected() bool {
	return e.Windows.Any(func(w Window) bool {
		return w.Matching && karmada.Triggers(w.Taint.Effect)
	})
}

// Failing reports whether something speaks for a failure now, leaving some rules aside.
func (e Evidence) Failing(aside ...string) bool {
	return len(e.Foreign) > 0 || e.Windows.Any(func(w Window) bool {
		return !slices.Contains(aside, w.Rule) && karmada.Triggers(w.Taint.Effect) && e.Ripens(w)
	})
}

// MemberAnswers reports whether the external probe contradicts a rule whose taint moves
// bindings, so that this taint is not put.
func (e Evidence) MemberAnswers() bool {
	return e.Windows.Any(func(w Window) bool {
		return w.Last == Neither && w.Reason == reason.MemberAnswers
	})
}

// Ripens reports whether a rule's taint is to be put now, and can be.
func (e Evidence) Ripens(w Window) bool {
	return e.Writes(w.Taint) && w.AddRipe(e.Judged)
}

// Writes reports whether a taint can be put and removed: no soft taint can while the cluster's cannot be read.
func (e Evidence) Writes(t karmada.RuleTaint) bool {
	return karmada.Writable(t.Effect, e.SoftUnreadable)
}

// Ripe are the taints whose rule has matched for its whole window and that do not
// stand yet.
func (e Evidence) Ripe() []RuleObservation {
	return e.ripe(func(t karmada.RuleTaint) bool { return !e.Stands(t) })
}

// TakenOver are those that stand for a rule that does not match now, and that another one asks for (R4.1-25).
func (e Evidence) TakenOver() []RuleObservation {
	return e.ripe(func(t karmada.RuleTaint) bool {
		return e.Stands(t) && slices.ContainsFunc(e.Added, func(added karmada.AddedTaint) bool {
			w, known := e.Windows[KeyOf(added)]
			return added.Key == t.Key && added.Effect == t.Effect && known && w.Last != Matches
		})
	})
}

func (e Evidence) ripe(is func(karmada.RuleTaint) bool) (out []RuleObservation) {
	for _, w := range e.Windows.Sorted() {
		if e.Ripens(w) && is(w.Taint) {
			out = append(out, RuleObservation{Rule: w.Rule, Taint: w.Taint, Match: w.Last})
		}
	}
	return out
}

// ConfirmsFailure reports whether the window of a taint that moves bindings has run out on
// a match, standing or not.
func (e Evidence) ConfirmsFailure() bool {
	return e.Windows.Any(func(w Window) bool {
		return karmada.Triggers(w.Taint.Effect) && e.Ripens(w)
	})
}

// Stands reports whether a taint stands on the cluster.
func (e Evidence) Stands(t karmada.RuleTaint) bool {
	return slices.Contains(e.Standing, t.Key+":"+string(t.Effect))
}

// WouldStand reports whether a taint would stand if this were not observe.
func (e Evidence) WouldStand(t karmada.RuleTaint) bool {
	return slices.ContainsFunc(e.Virtual, func(v corev1.Taint) bool { return v.Key == t.Key && v.Effect == t.Effect })
}

// Withered are Lifeboat taints whose rule has mismatched for its removal window.
func (e Evidence) Withered() []karmada.AddedTaint {
	var out []karmada.AddedTaint
	for _, t := range e.Added {
		if t.Rule != "" && e.Removable(t) {
			out = append(out, t)
		}
	}
	return out
}

// Leaving are the taints that go with the recovery: each taint of a rule whose own removal
// window has passed, and the taints of orders, whose records go in the same write.
func (e Evidence) Leaving() []karmada.AddedTaint {
	var out []karmada.AddedTaint
	for _, t := range e.Added {
		ordered := t.Rule == karmada.DrainRule || t.Rule == karmada.TaintRule
		if ordered || e.Removable(t) {
			out = append(out, t)
		}
	}
	return out
}

// Removable reports whether a Lifeboat taint may go now. It stays while another rule asks for it.
func (e Evidence) Removable(t karmada.AddedTaint) bool {
	w, known := e.Windows[KeyOf(t)]
	if e.Windows.Any(func(w Window) bool {
		return w.Taint.Key == t.Key && w.Taint.Effect == t.Effect && w.Matching && !e.Judged.Before(w.Deadline())
	}) {
		return false
	}
	if known && e.TakenAway(t) {
		// Of the taint nothing is left but Lifeboat's record. A rule that matches puts it back.
		return !w.Matching && w.Last != Undecided
	}
	return known && w.RemoveRipe(e.Judged)
}

// TakenAway reports whether another actor removed a taint that is recorded as Lifeboat's.
// Where its list cannot be read, that is not known.
func (e Evidence) TakenAway(t karmada.AddedTaint) bool {
	taint := karmada.RuleTaint{Key: t.Key, Effect: t.Effect}
	return e.Writes(taint) && !e.Stands(taint)
}

// RecoveryConfirmed reports whether every Lifeboat taint that moves bindings could go now. Without one (an
// operator removed the last) recovery is confirmed at once.
func (e Evidence) RecoveryConfirmed() bool {
	return !slices.ContainsFunc(e.Added, func(t karmada.AddedTaint) bool { return karmada.Triggers(t.Effect) && !e.Removable(t) })
}

// RecoveryWouldBeConfirmed is that for observe: every taint that moves bindings and would stand could go now.
func (e Evidence) RecoveryWouldBeConfirmed() bool {
	return !e.Windows.Any(func(w Window) bool {
		return karmada.Triggers(w.Taint.Effect) && e.WouldStand(w.Taint) && !w.RemoveRipe(e.Judged)
	})
}

// Quiet reports that no window has matched for its removal time.
func (e Evidence) Quiet() bool {
	return !e.Windows.Any(func(w Window) bool { return w.Matching || !w.Quiet(e.Judged) })
}

// CordonStands reports whether a NoSchedule taint of a rule stands; in observe, whether it would.
func (e Evidence) CordonStands() bool {
	cordons := func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoSchedule }
	return slices.ContainsFunc(e.Virtual, cordons) ||
		slices.ContainsFunc(e.Added, func(t karmada.AddedTaint) bool { return !OfThisFailure(t) })
}

// CordonMatches reports whether a rule with a NoSchedule taint matches, however long.
func (e Evidence) CordonMatches() bool {
	return e.Windows.Any(func(w Window) bool {
		return w.Matching && !karmada.Triggers(w.Taint.Effect)
	})
}

// SoftMatters reports whether a soft taint would stand, or may come to.
func (e Evidence) SoftMatters() bool {
	return slices.ContainsFunc(e.Virtual, func(t corev1.Taint) bool { return t.Effect == karmada.EffectPreferNoExecute }) ||
		e.Windows.Any(func(w Window) bool { return w.Taint.Effect == karmada.EffectPreferNoExecute })
}

// KeyOf is the key of the window that decides about a Lifeboat taint.
func KeyOf(t karmada.AddedTaint) WindowKey {
	return RuleObservation{Rule: t.Rule, Taint: karmada.RuleTaint{Key: t.Key, Effect: t.Effect}}.Key()
}

// OfThisFailure reports whether a taint goes with the recovery: a taint that moves bindings, or the evacuation taint. What else stands follows from
// a rule of its own, which may still match.
func OfThisFailure(t karmada.AddedTaint) bool { return t.Rule == "" || karmada.Triggers(t.Effect) }
