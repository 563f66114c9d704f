package clusterfailover

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
)

// evictor is a second evictor: Karmada's own taint manager, which evicts beside this failover.
type evictor struct {
	*run
	standing *standing
	children *children
	unheld   bool            // there were more last copies to hold than may move at once
	lookedAt map[string]bool // bindings that it was told to evict, and that were looked at for it
}

// found takes bindings that Karmada's own taint manager evicts from this
// cluster. The first of them halts this failover until a human resumes it; a resume
// looks again before anything is dispatched.
func (v *evictor) found(found ...proof.BindingFact) {
	if len(found) == 0 || !v.enforcing() {
		return
	}
	v.hold(found)
	if v.st.Beside {
		return
	}
	why := rules.SecondEvictorAt(found[0].Key, v.cluster)
	v.log.Warn("halted: second evictor", "binding", found[0].Key.String())
	v.st.Beside = true
	v.standing.pauseItself(why)
	v.trail.Tell(record.Audit{
		Kind: record.AuditBindingAttention, Attempt: v.st.Attempt, Phase: string(v.st.Phase), Reason: reason.SecondEvictor,
		Message: "this failover is halted: " + why, Bindings: flow.About(found[0].Key),
	})
	v.dirty = true
}

// hold has a migration hold each of the bindings of which Karmada may end the last copy, as
// many as may move at once: those for which there is no room are looked at again when half of
// that is free. One that was only told of by the watch is looked at first, once in a run.
func (v *evictor) hold(found []proof.BindingFact) {
	for _, b := range found {
		key := b.Key.String()
		_, moving := v.st.Moves[key]
		switch {
		case moving:
		case b.LastCopy && len(v.st.Moves) >= v.st.Terms.Waiting:
			v.unheld = true
		case b.LastCopy:
			v.children.adopt(activities.Orphan{Key: b.Key, UID: b.UID}, true)
		case !v.lookedAt[key]:
			v.lookedAt[key], v.adoptDirty, v.adoptNow = true, true, true
		}
	}
}

// holdMore looks again for last copies that nobody holds, once there is room.
func (v *evictor) holdMore() {
	if v.unheld && len(v.st.Moves) <= v.st.Terms.Waiting/2 {
		v.unheld, v.adoptDirty, v.adoptNow = false, true, true
	}
}

// resumed ends the halt. Every way in which a second evictor is found looks again before
// anything is dispatched.
func (v *evictor) resumed() {
	if v.st.Beside {
		v.st.Beside = false
		v.adoptDirty, v.adoptNow, v.listDirty = true, true, true
		clear(v.lookedAt)
	}
}
