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

// judgement is what the failover goes by: the cluster as it was last looked at, and the windows of
// its rules.
type judgement struct {
	*run
	// judged is when the last answered judgement was requested: windows are judged by this moment.
	judged time.Time
	// lost is how many facts the bound has dropped in this run.
	lost   int
	timers map[string]flow.Armed
}

// assess has the cluster judged when something was received of it, a window ends, or
// the safety poll is due, and moves the windows on.
func (j *judgement) assess() {
	if !j.clusterDirty && len(j.st.Facts) == 0 && j.now().Before(j.nextAssess) {
		return
	}
	request := activities.AssessRequest{Cluster: j.cluster, UID: j.st.UID, Seen: j.st.Seen, Facts: j.st.Facts, ExternalProbe: j.externalProbe(), Virtual: j.st.Virtual, Turns: j.st.Turns}
	heard, asked := j.heard(), j.now()
	j.clusterDirty = false
	j.nextAssess = asked.Add(j.st.Terms.ClusterPoll)
	a, err := flow.Run[activities.Assessment](flow.Doing(j.ctx, "look at "+j.cluster+" and its rules"), activities.NameAssessCluster, request)
	if err != nil {
		j.log.Error("could not judge the cluster", "error", err)
		return
	}
	j.take(a, asked, heard)
}

// heard counts the facts in hand with those that the bound has dropped: what comes later lies beyond.
func (j *judgement) heard() int { return j.lost + len(j.st.Facts) }

// take goes on with an assessment that was asked for at a moment, with the facts heard until then.
func (j *judgement) take(a activities.Assessment, asked time.Time, heard int) {
	now := j.now()
	j.st.Facts = j.st.Facts[min(max(0, heard-j.lost), len(j.st.Facts)):]
	if a.Gone {
		if j.st.GoneAt.IsZero() {
			j.st.GoneAt = now
		}
		return
	}
	j.judged = asked
	j.st.UID, j.st.Seen, j.st.Turns = a.UID, a.Seen, a.Turns
	j.st.Facts = slices.DeleteFunc(j.st.Facts, j.judgedSince)
	j.st.Windows = j.st.Windows.Adopt(a.Added, now)
	for _, sight := range a.Sights {
		j.st.Windows = j.st.Windows.Advance(sight, now)
	}
	j.st.Cluster = workflows.ClusterView{
		ClusterView: a.ClusterView, ReadyReason: a.Why, StopRecord: a.Stopped != nil, Malformed: a.Malformed != "",
	}
	if a.Malformed != "" {
		j.log.Warn("the cluster cannot be understood", "message", a.Malformed)
	}
	j.armWindows()
}

// drained takes the order of a drain that was just recorded on the cluster, nil for its end.
func (j *judgement) drained(d *karmada.Drain) { j.st.Cluster.Drain = d }

// tainted takes the taints that move bindings, as they were just read.
func (j *judgement) tainted(hard, soft []corev1.Taint) {
	j.st.Cluster.Hard, j.st.Cluster.Soft = hard, soft
	if !j.enforcing() {
		j.st.Cluster.Hard, j.st.Cluster.Soft = nil, nil
	}
}

// maxFacts bounds the cluster facts kept between two judgements.
const maxFacts = 50

// observed keeps a fact for the next judgement. Facts about other clusters, or
// without a uid, are no facts about this one.
func (j *judgement) observed(m workflows.ClusterObserved) {
	f := m.Fact
	if f.Cluster != j.cluster || f.UID == "" {
		j.log.Warn("ignored a malformed signal", "signal", workflows.SignalClusterObserved, "about", f.Cluster, "uid", f.UID)
		return
	}
	if f.Oversized() { // it wakes the workflow, and the read finds what the fact contained
		j.clusterDirty, j.dirty = true, true
		return
	}
	j.probed(f)
	if j.judgedSince(f) {
		return
	}
	j.st.Facts = append(j.st.Facts, f)
	if extra := len(j.st.Facts) - maxFacts; extra > 0 {
		j.st.Facts, j.lost = j.st.Facts[extra:], j.lost+extra
	}
	j.dirty = true
}

// judgedSince reports whether a fact is no newer than the last assessment.
func (j *judgement) judgedSince(f rules.ClusterFact) bool {
	return j.st.Seen != "" && f.UID == j.st.UID && !f.Deleted && !rules.Newer(f.ResourceVersion, j.st.Seen)
}

// probeResultHolds is how long a result of the external probe counts: the controller repeats it every
// minute where a rule waits for it, so an older one means that no controller probes.
const probeResultHolds = 3 * time.Minute

// probed keeps the result of the external probe. It comes with a fact of the same
// cluster, whatever that fact's version: a member may die without any change of its
// Cluster object.
func (j *judgement) probed(f rules.ClusterFact) {
	if f.Deleted || (j.st.UID != "" && f.UID != j.st.UID) || (f.ExternalProbe == rules.ExternalProbeAbsent && j.st.ExternalProbe.Says == rules.ExternalProbeAbsent) {
		return
	}
	if f.ExternalProbe != j.st.ExternalProbe.Says {
		j.clusterDirty, j.dirty = true, true
	}
	j.st.ExternalProbe = workflows.Testimony{Says: f.ExternalProbe, Heard: j.now()}
}

// externalProbe is the result that counts now.
func (j *judgement) externalProbe() rules.ExternalProbe {
	if j.now().Sub(j.st.ExternalProbe.Heard) > probeResultHolds {
		return rules.ExternalProbeAbsent
	}
	return j.st.ExternalProbe.Says
}

// armWindows keeps one timer per (rule, taint) whose window runs towards something.
func (j *judgement) armWindows() {
	wanted := map[string]bool{}
	for _, w := range j.st.Windows.Sorted() {
		mine := slices.ContainsFunc(j.st.Cluster.Added, func(t karmada.AddedTaint) bool { return t.Key == w.Taint.Key && t.Effect == w.Taint.Effect })
		name := string(w.Key())
		switch {
		case w.Matching && !j.evidence().Stands(w.Taint):
			wanted[name] = true
			j.arm(name, w.Deadline(), fmt.Sprintf("rule %s: taint %s with %s:%s if its conditions still match after %s",
				w.Rule, j.cluster, w.Taint.Key, w.Taint.Effect, w.Taint.AddOnMatch))
		case !w.Matching && !w.Idle && (mine || len(j.st.Virtual) > 0):
			wanted[name] = true
			j.arm(name, w.Deadline(), fmt.Sprintf("rule %s: %s counts as recovered if it stays well for %s",
				w.Rule, j.cluster, w.Taint.RemoveOnMismatch))
		}
	}
	for _, name := range workflow.DeterministicKeys(j.timers) {
		if !wanted[name] {
			j.timers[name].Cancel()
			delete(j.timers, name)
		}
	}
}

func (j *judgement) arm(name string, at time.Time, summary string) {
	old, is := j.timers[name]
	if is && old.At.Equal(at) {
		return
	}
	if is {
		old.Cancel()
		delete(j.timers, name)
	}
	switch {
	case at.After(j.now()):
		j.timers[name] = flow.StartTimer(j.ctx, at, summary, func() { j.clusterDirty, j.dirty = true, true })
	case at.After(j.judged): // it ended while the answer was on its way
		j.clusterDirty, j.dirty = true, true
	}
}

// whyFailing is the reason of the failure: conditions of a rule come before an order, and stand where nothing is known any more.
func (j *judgement) whyFailing() reason.Reason {
	switch {
	case j.evidence().Failing(karmada.DrainRule, karmada.TaintRule), j.failing() && len(j.st.Cluster.Ordered) == 0:
		return reason.ConditionsMatch
	case len(j.st.Cluster.Ordered) > 0:
		return reason.TaintOrdered
	case j.st.Cluster.Drain != nil:
		return reason.Drained
	}
	return reason.ConditionsMatch
}

// evidence is the evidence for a failure or a recovery now.
func (j *judgement) evidence() rules.Evidence {
	return j.st.Evidence(j.judged)
}

// recoveryConfirmed reports whether every removal window has run out, or would have if this were not observe.
func (j *judgement) recoveryConfirmed() bool {
	if !j.enforcing() {
		return j.evidence().RecoveryWouldBeConfirmed()
	}
	return j.evidence().RecoveryConfirmed()
}

// failing reports whether the cluster fails by itself, a drain aside.
func (j *judgement) failing() bool { return j.evidence().Failing(karmada.DrainRule) }

// softMatters reports whether a soft taint stands, would stand, or may come to: only
// then does it matter how long the policies of bindings tolerate one.
func (j *judgement) softMatters() bool {
	return len(j.st.Cluster.Soft) > 0 || j.evidence().SoftMatters()
}

// thisFailureStands reports whether there is evidence of this failure: a taint of another actor that
// moves bindings, or a rule whose taint does and that counts in this phase (isThisFailure).
func (j *judgement) thisFailureStands() bool {
	return len(j.st.Cluster.Foreign) > 0 || j.st.Windows.Any(func(w rules.Window) bool {
		return w.Matching && karmada.Triggers(w.Taint.Effect) && j.isThisFailure(w)
	})
}

// isThisFailure reports whether a rule that matches is this failure, and not one that is
// only suspected. Once a failure is confirmed, another rule whose window still runs
// holds up neither its recovery nor its untaint; it is looked at before the close.
func (j *judgement) isThisFailure(w rules.Window) bool {
	switch j.st.Phase {
	case phase.FailoverEvacuating, phase.FailoverEvacuated, phase.FailoverRecovering:
		return j.evidence().Stands(w.Taint) || j.evidence().WouldStand(w.Taint) || j.evidence().Ripens(w)
	case phase.FailoverSettling:
		return w.Since.After(j.st.ClosedAt) || j.evidence().Ripens(w)
	case phase.FailoverSuspected, phase.FailoverCordoned, phase.FailoverConfirmed, phase.FailoverStopped,
		phase.FailoverFalseAlarm, phase.FailoverUncordoned, phase.FailoverRecovered, phase.FailoverCancelled, phase.FailoverGone:
	}
	return true
}

// onlyCordons reports whether NoSchedule taints of rules, or rules that ask for them, are all
// that this failover has to see to.
func (j *judgement) onlyCordons() bool {
	early := j.st.Phase == phase.FailoverSuspected || j.st.Phase == phase.FailoverCordoned
	settled := j.st.Phase == phase.FailoverSettling && !j.st.Untainted.IsZero()
	switch {
	case !early && !settled, j.st.UID == "", !j.st.GoneAt.IsZero(), len(j.st.Migrations) > 0, len(j.asks) > 0, j.ordersRecorded():
		return false
	case slices.ContainsFunc(j.st.Cluster.Added, rules.OfThisFailure), j.thisFailureStands():
		return false
	}
	return j.evidence().CordonStands() || j.evidence().CordonMatches()
}

// ordersRecorded reports whether the record of an operator's order stands on the cluster.
func (j *judgement) ordersRecorded() bool {
	return j.st.Cluster.Drain != nil && !j.st.Cluster.Drain.Deletion || len(j.st.Cluster.Ordered) > 0
}

// isUntouched: this first attempt has done nothing, and found nothing of Lifeboat's.
func (j *judgement) isUntouched() bool {
	nothing := len(j.st.Cluster.Added)+len(j.st.Migrations)+len(j.st.Results) == 0 && !j.st.Bans
	return j.st.Attempt == 1 && nothing && !j.ordersRecorded()
}

// inheritsTaint: a first attempt that finds a Lifeboat taint that moves bindings took it over.
func (j *judgement) inheritsTaint() bool {
	return j.st.Attempt <= 1 && slices.ContainsFunc(j.st.Cluster.Added, func(t karmada.AddedTaint) bool { return karmada.Triggers(t.Effect) })
}
