package clusterfailover

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/temporal"
	corev1 "k8s.io/api/core/v1"
)

// taints are what Lifeboat writes on the cluster; in observe, what would stand there.
type taints struct {
	*run
	judgement *judgement
	standing  *standing
	policies  *policies
}

// put brings the cluster's taints to what the rules require; false means that
// this could not be done for now.
func (ts *taints) put() bool {
	if !ts.enforcing() {
		ts.putVirtually()
		return true
	}
	add := ts.mayAdd(ts.judgement.evidence().Ripe())
	if len(add) == 0 && (ts.evacuationTaintStands() || ts.st.Disputed()) {
		ts.st.Refused = false
		return true
	}
	request := activities.TaintRequest{Add: add, EvacuationTaint: activities.EvacuationTaintPut}
	if some := fit(ts.st.Policy); len(some) == len(ts.st.Policy) {
		request.Policies = some
	}
	r, ok := ts.write("taint "+ts.cluster, request)
	if !ok {
		return false
	}
	if len(r.Dues) > 0 && len(r.Dues) == len(ts.st.Policy) {
		ts.policies.judged(r.Dues)
	}
	if r.Refused != "" {
		ts.st.Reason = r.Refused
		ts.clusterDirty = true
		ts.backOff()
		return false
	}
	return true
}

// putVirtually is what observe does instead: the taint would stand from now on.
func (ts *taints) putVirtually() {
	for _, o := range ts.judgement.evidence().Ripe() {
		if !karmada.HasTaint(ts.st.Virtual, o.Taint.Key, o.Taint.Effect) {
			ts.st.Virtual = append(ts.st.Virtual, activities.TaintAt(o.Taint, ts.now()))
			ts.trail.taintChanged(record.AuditTaintAdded, karmada.AddedTaint{Key: o.Taint.Key, Effect: o.Taint.Effect, Rule: o.Rule}, "observed: nothing is written")
		}
	}
}

// foreseen are the taints that put is about to write.
func (ts *taints) foreseen() (taints []corev1.Taint) {
	for _, o := range ts.mayAdd(ts.judgement.evidence().Ripe()) {
		taints = append(taints, activities.TaintAt(o.Taint, ts.now()))
	}
	return taints
}

// cordonVirtually is what observe does instead of a write.
func (ts *taints) cordonVirtually() {
	ts.putVirtually()
	was := len(ts.st.Virtual)
	ts.st.Virtual = slices.DeleteFunc(ts.st.Virtual, func(t corev1.Taint) bool {
		return !ts.st.Windows.Any(func(w rules.Window) bool {
			return w.Taint.Key == t.Key && w.Taint.Effect == t.Effect && !w.RemoveRipe(ts.judgement.judged)
		})
	})
	ts.dirty = ts.dirty || len(ts.st.Virtual) != was
}

func (ts *taints) evacuationTaintStands() bool {
	return ts.judgement.evidence().Stands(karmada.RuleTaint{Key: karmada.EvacuatingTaintKey, Effect: corev1.TaintEffectNoSchedule})
}

// followRules adds and removes taints of rules while the phase stays: NoSchedule
// ones, and those of a second rule on the same cluster.
func (ts *taints) followRules() {
	if !ts.enforcing() {
		return
	}
	e := ts.judgement.evidence()
	add, remove := ts.mayAdd(append(e.Ripe(), e.TakenOver()...)), ts.withered()
	switch ts.st.Phase { //nolint:exhaustive // in the other phases the taints that move bindings follow their rules, too
	case phase.FailoverRecovering, phase.FailoverSuspected, phase.FailoverCordoned, phase.FailoverSettling:
		add = withoutTriggering(add)
	}
	if len(add) == 0 && len(remove) == 0 {
		ts.st.Refused = false
		return
	}
	was, what := len(ts.st.Cluster.Added), "bring the taints of "+ts.cluster+" to what its rules say"
	r, ok := ts.write(what, activities.TaintRequest{Add: add, Remove: remove})
	// What may not be put keeps nothing there, but for what is asked for again.
	if remove = ts.withered(); ok && r.Refused != "" && len(add) > 0 && len(remove) > 0 {
		r, ok = ts.write(what, activities.TaintRequest{Remove: remove})
	}
	ts.dirty = ts.dirty || ok && len(r.Added) != was // what they asked for may have been the last thing to do
}

// withered are the taints of rules that are to go; in a recovery those that move bindings go with the untaint.
func (ts *taints) withered() []karmada.AddedTaint {
	out := ts.judgement.evidence().Withered()
	if ts.st.Phase == phase.FailoverRecovering {
		out = slices.DeleteFunc(out, func(t karmada.AddedTaint) bool { return karmada.Triggers(t.Effect) })
	}
	return out
}

// untaint removes the taints of this recovery in one write, the evacuation taint with the last. It
// reports whether the cluster fails again instead.
func (ts *taints) untaint() (again bool) {
	if !ts.enforcing() {
		ts.st.Virtual, ts.st.Untainted, ts.dirty = nil, ts.now(), true
		return false
	}
	if len(ts.st.Cluster.Added) == 0 && !ts.judgement.ordersRecorded() {
		ts.st.Refused, ts.st.Untainted, ts.dirty = false, ts.now(), true
		return false
	}
	// The record of an order that still stands here is void: it would have been obeyed.
	r, ok := ts.write("untaint "+ts.cluster, activities.TaintRequest{
		Remove: ts.judgement.evidence().Leaving(), EvacuationTaint: activities.EvacuationTaintDrop, ClearDrain: true, EndAllOrders: true, EndedBy: "it no longer applied",
	})
	switch {
	case !ok:
	case r.Refused == reason.ConditionsMatch:
		ts.clusterDirty = true
		return true
	case r.Refused == "" && !slices.ContainsFunc(r.Added, rules.OfThisFailure):
		ts.st.Untainted, ts.dirty = ts.now(), true
	default:
		ts.backOff()
	}
	return false
}

// stop removes what is Lifeboat's whatever the rules say, and records the operator who stopped.
func (ts *taints) stop() {
	if !ts.enforcing() {
		ts.st.Virtual, ts.st.Untainted, ts.dirty = nil, ts.now(), true
		return
	}
	r, ok := ts.write("remove Lifeboat's taints from "+ts.cluster+": stopped by "+ts.st.Stopped.Who, activities.TaintRequest{
		RemoveAll: true, EvenIfFailing: true, ClearDrain: true, EndAllOrders: true, EndedBy: ts.st.Stopped.Line(),
		StoppedBy: &karmada.StoppedBy{Who: ts.st.Stopped.Who, Why: ts.st.Stopped.Reason, FailoverID: ts.st.FailoverID},
	})
	switch {
	case !ok:
	case r.Refused == "" && len(r.Added) == 0:
		ts.st.Untainted, ts.dirty = ts.now(), true
	default: // what could not be taken away yet is still Lifeboat's
		ts.backOff()
	}
}

// write runs the one activity that writes to the cluster.
func (ts *taints) write(what string, r activities.TaintRequest) (activities.TaintResult, bool) {
	r.Cluster, r.UID, r.FailoverID, r.Mode, r.ExternalProbe = ts.cluster, ts.st.UID, ts.st.FailoverID, ts.st.Terms.Mode, ts.judgement.externalProbe()
	r.Seen, r.Facts, r.Turns = ts.st.Seen, ts.st.Facts, ts.st.Turns
	was, asked, heard := ts.st.Cluster.Added, ts.now(), ts.judgement.heard()
	out, err := flow.Run[activities.TaintResult](flow.Doing(ts.ctx, what), activities.NameWriteTaints, r)
	if err != nil {
		ts.log.Error("could not write the cluster's taints", "error", err)
		ts.st.Refused = true
		ts.backOff()
		return out, false
	}
	ts.judgement.take(out.Assessment, asked, heard)
	if out.Gone {
		ts.dirty = true
		return out, false
	}
	ts.st.Refused = false
	ts.trail.taints(was)
	ts.notePutBack(out.PutBack)
	return out, true
}

// orderWritten records an order, or the end of one, on the cluster.
func (ts *taints) orderWritten(what string, r activities.TaintRequest) error {
	out, ok := ts.write(what, r)
	switch {
	case !ok:
		return temporal.NewApplicationError("it could not be written to the cluster: nothing changes", "NotWritten")
	case out.Refused != "":
		return flow.Refused(string(out.Refused) + ": " + out.Message)
	}
	return nil
}

// mayAdd leaves out taints that move bindings while Karmada evicts, too: it would move
// them at once. It leaves them out as well while they are taken away again and again.
func (ts *taints) mayAdd(add []rules.RuleObservation) []rules.RuleObservation {
	ts.noticeTaken(add)
	if ts.st.Beside || ts.st.Disputed() {
		return withoutTriggering(add)
	}
	return add
}

// disputeWithin is how soon after it was put back a taint must be gone again for the failover
// to be paused.
const disputeWithin = time.Minute

// noticeTaken pauses the failover where a taint that was put back is gone again at once, whichever rule asks for it now: an
// operator wants it gone, or another controller does. A controller that lost it by accident loses it once.
func (ts *taints) noticeTaken(add []rules.RuleObservation) {
	if ts.st.Disputed() {
		return
	}
	for _, o := range add {
		same := func(t karmada.AddedTaint) bool { return t.Key == o.Taint.Key && t.Effect == o.Taint.Effect }
		recorded := slices.IndexFunc(ts.st.Cluster.Added, same)
		last := slices.IndexFunc(ts.st.TakenAway, func(t workflows.TakenAway) bool { return same(t.AddedTaint) })
		if recorded < 0 || last < 0 || ts.now().Sub(ts.st.TakenAway[last].At) >= disputeWithin || ts.judgement.evidence().Stands(o.Taint) {
			continue
		}
		t := ts.st.Cluster.Added[recorded]
		ts.st.TakenAway = append(ts.st.TakenAway, workflows.TakenAway{AddedTaint: t, At: ts.now(), Twice: true})
		why := fmt.Sprintf("%s:%s %s was taken away twice within a minute; it is not put back before a resume. To end this failover: %s",
			t.Key, t.Effect, rules.RuleTitle(t.Rule), view.EndsTaint(t.Rule, ts.cluster))
		ts.log.Warn("paused: a taint is taken away again and again", "taint", t.Key+":"+string(t.Effect))
		ts.standing.pauseItself(reason.Summary(why))
		ts.trail.taintChanged(record.AuditTaintRemoved, t, why)
		ts.dirty = true
		return
	}
}

// notePutBack takes note of taints that a write put back.
func (ts *taints) notePutBack(taints []karmada.AddedTaint) {
	for _, t := range taints {
		if karmada.Triggers(t.Effect) {
			old := func(was workflows.TakenAway) bool { return !was.Twice && ts.now().Sub(was.At) >= disputeWithin }
			ts.st.TakenAway = append(slices.DeleteFunc(ts.st.TakenAway, old), workflows.TakenAway{AddedTaint: t, At: ts.now()})
		}
		ts.trail.taintChanged(record.AuditTaintAdded, t, view.TaintPutBack(t, ts.cluster))
	}
}

// endDispute has a taint put back that was taken away twice: an operator resumed.
func (ts *taints) endDispute() {
	if ts.st.Disputed() {
		ts.st.TakenAway, ts.clusterDirty = nil, true
	}
}

func withoutTriggering(in []rules.RuleObservation) []rules.RuleObservation {
	return slices.DeleteFunc(slices.Clone(in), func(o rules.RuleObservation) bool { return karmada.Triggers(o.Taint.Effect) })
}
