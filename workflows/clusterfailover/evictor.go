package clusterfailover

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
)

// pausedByLifeboat is who pauses a failover beside a second evictor, or beside whoever takes its taint away.
const pausedByLifeboat = "lifeboat"

// evictedByOthers takes bindings that Karmada's own taint manager evicts from this
// cluster. The first of them halts this failover until a human resumes it; a resume
// looks again before anything is dispatched.
func (e *failover) evictedByOthers(found ...proof.BindingFact) {
	if len(found) == 0 || !e.enforcing() {
		return
	}
	e.holdBeside(found)
	if e.besideEvictor() {
		return
	}
	why := rules.SecondEvictorAt(found[0].Key, e.cluster)
	e.log.Warn("halted: second evictor", "binding", found[0].Key.String())
	e.st.Beside = true
	if e.st.Paused == nil {
		e.st.Paused = &workflows.Order{Who: pausedByLifeboat, Reason: why}
	}
	e.trail.Tell(record.Audit{
		Kind: record.AuditBindingAttention, Attempt: e.st.Attempt, Phase: string(e.st.Phase), Reason: reason.SecondEvictor,
		Message: "this failover is halted: " + why, Bindings: flow.About(found[0].Key),
	})
	e.dirty = true
}

// holdBeside has a migration hold each of the bindings of which Karmada may end the last copy, as
// many as may move at once: those for which there is no room are looked at again when half of
// that is free. One that was only told of by the watch is looked at first, once in a run.
func (e *failover) holdBeside(found []proof.BindingFact) {
	for _, b := range found {
		key := b.Key.String()
		_, moving := e.st.Moves[key]
		switch {
		case moving:
		case b.LastCopy && len(e.st.Moves) >= e.st.Terms.Waiting:
			e.unheld = true
		case b.LastCopy:
			e.adopt(activities.Orphan{Key: b.Key, UID: b.UID}, true)
		case !e.lookedAt[key]:
			e.lookedAt[key], e.adoptDirty, e.adoptNow = true, true, true
		}
	}
}

// holdMore looks again for last copies that nobody holds, once there is room.
func (e *failover) holdMore() {
	if e.unheld && len(e.st.Moves) <= e.st.Terms.Waiting/2 {
		e.unheld, e.adoptDirty, e.adoptNow = false, true, true
	}
}

// besideEvictor tells whether this failover is halted because Karmada evicts, too.
func (e *failover) besideEvictor() bool { return e.st.Beside }

// mayAdd leaves out taints that move bindings while Karmada evicts, too: it would move
// them at once. It leaves them out as well while they are taken away again and again.
func (e *failover) mayAdd(add []rules.RuleObservation) []rules.RuleObservation {
	e.noticeTaken(add)
	if e.besideEvictor() || e.taintDisputed() {
		return withoutTriggering(add)
	}
	return add
}

// disputeWithin is how soon after it was put back a taint must be gone again for the failover
// to be paused.
const disputeWithin = time.Minute

// noticeTaken pauses the failover where a taint that was put back is gone again at once: a
// human wants it gone, or another controller does. A controller that lost it by accident loses
// it once.
func (e *failover) noticeTaken(add []rules.RuleObservation) {
	last := e.st.TakenAway
	if last == nil || last.Twice || e.now().Sub(last.At) >= disputeWithin {
		return
	}
	for _, o := range add {
		at := slices.IndexFunc(e.st.Cluster.Ours, func(t karmada.AddedTaint) bool {
			return t.Rule == o.Rule && t.Key == o.Taint.Key && t.Effect == o.Taint.Effect
		})
		if at < 0 || !karmada.Triggers(o.Taint.Effect) {
			continue
		}
		t := e.st.Cluster.Ours[at]
		e.st.TakenAway = &workflows.TakenAway{AddedTaint: t, At: e.now(), Twice: true}
		why := fmt.Sprintf("%s:%s %s was taken away twice within a minute; it is not put back before a resume. To end this failover: %s",
			t.Key, t.Effect, rules.RuleTitle(t.Rule), view.EndsTaint(t.Rule, e.cluster))
		e.log.Warn("paused: a taint is taken away again and again", "taint", t.Key+":"+string(t.Effect))
		if e.st.Paused == nil {
			e.st.Paused = &workflows.Order{Who: pausedByLifeboat, Reason: reason.Summary(why)}
		}
		e.trail.taint(record.AuditTaintRemoved, t, why)
		e.dirty = true
		return
	}
}

// putBack takes note of taints that a write put back.
func (e *failover) putBack(taints []karmada.AddedTaint) {
	for _, t := range taints {
		if karmada.Triggers(t.Effect) {
			e.st.TakenAway = &workflows.TakenAway{AddedTaint: t, At: e.now()}
		}
		e.trail.taint(record.AuditTaintAdded, t, view.TaintPutBack(t, e.cluster))
	}
}

// taintDisputed tells whether this failover is paused because a taint was taken away twice.
func (e *failover) taintDisputed() bool { return e.st.TakenAway != nil && e.st.TakenAway.Twice }

// resumed ends the halt. Every way in which a second evictor is found looks again before
// anything is dispatched.
func (e *failover) resumed() {
	e.st.Paused = nil
	if e.taintDisputed() {
		e.st.TakenAway, e.clusterDirty = nil, true
	}
	if e.besideEvictor() {
		e.st.Beside = false
		e.adoptDirty, e.adoptNow, e.listDirty = true, true, true
		clear(e.lookedAt)
	}
}
