package clusterfailover

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
)

// assess has the cluster judged when something was heard of it, a window ends, or
// the safety poll is due, and moves the windows on.
func (e *failover) assess() {
	if !e.clusterDirty && e.now().Before(e.nextAssess) {
		return
	}
	request := activities.AssessRequest{Cluster: e.cluster, UID: e.st.UID, Seen: e.st.Seen, Facts: e.st.Facts, ExternalProbe: e.externalProbe(), Virtual: e.st.Virtual, Turns: e.st.Turns}
	heard, asked := len(e.st.Facts), e.now()
	e.clusterDirty = false
	e.nextAssess = asked.Add(e.st.Terms.ClusterPoll)
	var a activities.Assessment
	ctx := flow.Doing(e.ctx, "look at "+e.cluster+" and its rules")
	if err := workflow.ExecuteActivity(ctx, activities.NameAssessCluster, request).Get(ctx, &a); err != nil {
		e.log.Error("could not judge the cluster", "error", err)
		return
	}
	e.st.Facts = e.st.Facts[min(heard, len(e.st.Facts)):]
	if a.Gone {
		if e.st.GoneAt.IsZero() {
			e.st.GoneAt = e.now()
		}
		return
	}
	e.judged = asked
	e.take(a)
}

func (e *failover) take(a activities.Assessment) {
	now := e.now()
	e.st.UID, e.st.Seen, e.st.Turns = a.UID, a.Seen, a.Turns
	for _, sight := range a.Sights {
		e.st.Windows = e.st.Windows.Advance(sight, now)
	}
	e.st.Cluster = workflows.ClusterView{
		Ready: a.Ready, ReadyReason: a.Why, Hard: a.Hard, Soft: a.Soft, Foreign: a.Foreign, Ours: a.Ours,
		Standing: a.Standing, OptedOut: a.OptedOut, StopRecord: a.Stopped != nil, Drain: a.Drain, Ordered: a.Ordered,
		SoftUnreadable: a.SoftUnreadable, Malformed: a.Malformed != "",
	}
	if a.Malformed != "" {
		e.log.Warn("the cluster cannot be understood", "message", a.Malformed)
	}
	e.armWindows()
}

// memberAnswers tells whether the external probe contradicts a rule whose taint moves
// bindings, so that this taint is not put.
func (e *failover) memberAnswers() bool {
	return slices.ContainsFunc(e.st.Windows.SortedKeys(), func(k rules.WindowKey) bool {
		w := e.st.Windows[k]
		return w.Last == rules.Neither && w.Reason == reason.MemberAnswers
	})
}

func (e *failover) tainted(r activities.TaintResult) {
	c, was := &e.st.Cluster, e.st.Cluster.Ours
	c.Hard, c.Soft, c.Foreign, c.Ours, c.Standing = r.Hard, r.Soft, r.Foreign, r.Ours, r.Standing
	e.trail.taints(was)
	e.putBack(r.PutBack)
	e.clusterDirty = true
}

// bad tells whether anything speaks for a failure: a taint that others put and that
// moves bindings, or a rule whose taint does.
func (e *failover) bad() bool {
	return len(e.st.Cluster.Foreign) > 0 || slices.ContainsFunc(e.st.Windows.SortedKeys(), func(k rules.WindowKey) bool {
		w := e.st.Windows[k]
		return w.Matching && karmada.Triggers(w.Taint.Effect) && e.counts(w)
	})
}

// counts tells whether a rule that matches is this failure, and not one that is
// only suspected. Once a failure is confirmed, another rule whose window still runs
// holds up neither its recovery nor its untaint; it is looked at before the close.
func (e *failover) counts(w rules.Window) bool {
	switch e.st.Phase {
	case phase.FailoverEvacuating, phase.FailoverEvacuated, phase.FailoverRecovering:
		return e.stands(w.Taint) || e.virtual(w.Taint) || e.ripens(w)
	case phase.FailoverSettling:
		return w.Since.After(e.st.ClosedAt) || e.ripens(w)
	case phase.FailoverSuspected, phase.FailoverCordoned, phase.FailoverConfirmed, phase.FailoverStopped,
		phase.FailoverFalseAlarm, phase.FailoverUncordoned, phase.FailoverRecovered, phase.FailoverCancelled, phase.FailoverGone:
	}
	return true
}

// suspected tells whether a rule whose taint moves bindings matches, however long.
func (e *failover) suspected() bool {
	return slices.ContainsFunc(e.st.Windows.SortedKeys(), func(k rules.WindowKey) bool {
		w := e.st.Windows[k]
		return w.Matching && karmada.Triggers(w.Taint.Effect)
	})
}

// virtual tells whether a taint would stand if this were not observe.
func (e *failover) virtual(t karmada.RuleTaint) bool {
	return slices.ContainsFunc(e.st.Virtual, func(v corev1.Taint) bool { return v.Key == t.Key && v.Effect == t.Effect })
}

// ripens tells whether a rule's taint is to be put now, and can be.
func (e *failover) ripens(w rules.Window) bool {
	if e.st.Cluster.SoftUnreadable && w.Taint.Effect == karmada.EffectPreferNoExecute {
		return false
	}
	return w.AddRipe(e.judged)
}

func (e *failover) stands(t karmada.RuleTaint) bool {
	return slices.Contains(e.st.Cluster.Standing, t.Key+":"+string(t.Effect))
}

// ripe are the taints whose rule has matched for its whole window and that do not
// stand yet.
func (e *failover) ripe() []rules.RuleObservation {
	var out []rules.RuleObservation
	for _, k := range e.st.Windows.SortedKeys() {
		w := e.st.Windows[k]
		if e.ripens(w) && !e.stands(w.Taint) {
			out = append(out, rules.RuleObservation{Rule: w.Rule, Taint: w.Taint, Match: w.Last})
		}
	}
	return out
}

// ripeToMove tells whether the window of a taint that moves bindings has run out on
// a match, standing or not.
func (e *failover) ripeToMove() bool {
	return slices.ContainsFunc(e.st.Windows.SortedKeys(), func(k rules.WindowKey) bool {
		w := e.st.Windows[k]
		return karmada.Triggers(w.Taint.Effect) && e.ripens(w)
	})
}

// withered are Lifeboat taints whose rule has mismatched for its removal window.
func (e *failover) withered() []karmada.AddedTaint {
	var out []karmada.AddedTaint
	for _, t := range e.st.Cluster.Ours {
		if t.Rule != "" && e.removable(t) {
			out = append(out, t)
		}
	}
	return out
}

// leaving are the taints that go with the recovery: each taint of a rule whose own removal
// window has passed, and the taints of orders, whose records go in the same write.
func (e *failover) leaving() []karmada.AddedTaint {
	var out []karmada.AddedTaint
	for _, t := range e.st.Cluster.Ours {
		ordered := t.Rule == karmada.DrainRule || t.Rule == karmada.TaintRule
		if ordered || e.removable(t) || !e.hasWindow(t) && karmada.Triggers(t.Effect) {
			out = append(out, t)
		}
	}
	return out
}

// hasWindow tells whether a window of this failover decides about a taint. For one without, the
// recovery waited before it was confirmed.
func (e *failover) hasWindow(t karmada.AddedTaint) bool {
	_, known := e.st.Windows[windowKey(t)]
	return known
}

func windowKey(t karmada.AddedTaint) rules.WindowKey {
	return rules.RuleObservation{Rule: t.Rule, Taint: karmada.RuleTaint{Key: t.Key, Effect: t.Effect}}.Key()
}

func (e *failover) removable(t karmada.AddedTaint) bool {
	w, known := e.st.Windows[windowKey(t)]
	switch {
	case known && e.takenAway(t):
		// Of the taint nothing is left but Lifeboat's record. A rule that matches puts it back.
		return !w.Matching && w.Last != rules.Undecided
	case !known:
		return e.st.Cluster.OptedOut || e.now().Sub(e.st.Entered) >= rules.DefaultRemoveOnMismatch
	}
	return w.RemoveRipe(e.judged)
}

// takenAway tells whether somebody else removed a taint that is recorded as Lifeboat's.
// Where its list cannot be read, that is not known.
func (e *failover) takenAway(t karmada.AddedTaint) bool {
	unread := e.st.Cluster.SoftUnreadable && t.Effect == karmada.EffectPreferNoExecute
	return !unread && !e.stands(karmada.RuleTaint{Key: t.Key, Effect: t.Effect})
}

// wellForLong tells whether every Lifeboat taint that moves bindings could go now. Without one (a
// human removed the last) recovery is confirmed at once.
func (e *failover) wellForLong() bool {
	if !e.enforcing() {
		return e.virtualWellForLong()
	}
	for _, t := range e.st.Cluster.Ours {
		if karmada.Triggers(t.Effect) && !e.removable(t) {
			return false
		}
	}
	return true
}

func (e *failover) virtualWellForLong() bool {
	for _, k := range e.st.Windows.SortedKeys() {
		w := e.st.Windows[k]
		if e.virtual(w.Taint) && !w.RemoveRipe(e.judged) {
			return false
		}
	}
	return true
}

// armWindows keeps one timer per (rule, taint) whose window runs towards something.
func (e *failover) armWindows() {
	wanted := map[string]bool{}
	for _, k := range e.st.Windows.SortedKeys() {
		w := e.st.Windows[k]
		mine := slices.ContainsFunc(e.st.Cluster.Ours, func(t karmada.AddedTaint) bool { return t.Key == w.Taint.Key && t.Effect == w.Taint.Effect })
		name := string(k)
		switch {
		case w.Matching && !e.stands(w.Taint):
			wanted[name] = true
			e.arm(name, w.Deadline(), fmt.Sprintf("rule %s: taint %s with %s:%s if its conditions still match after %s",
				w.Rule, e.cluster, w.Taint.Key, w.Taint.Effect, w.Taint.AddOnMatch))
		case !w.Matching && !w.Idle && (mine || len(e.st.Virtual) > 0):
			wanted[name] = true
			e.arm(name, w.Deadline(), fmt.Sprintf("rule %s: %s counts as recovered if it stays well for %s",
				w.Rule, e.cluster, w.Taint.RemoveOnMismatch))
		}
	}
	for _, name := range workflow.DeterministicKeys(e.timers) {
		if !wanted[name] {
			e.timers[name].Cancel()
			delete(e.timers, name)
		}
	}
}

func (e *failover) arm(name string, at time.Time, summary string) {
	old, is := e.timers[name]
	if is && old.At.Equal(at) {
		return
	}
	if is {
		old.Cancel()
		delete(e.timers, name)
	}
	switch {
	case at.After(e.now()):
		e.timers[name] = flow.StartTimer(e.ctx, at, summary, func() { e.clusterDirty, e.dirty = true, true })
	case at.After(e.judged): // it ended while the answer was on its way
		e.clusterDirty, e.dirty = true, true
	}
}
