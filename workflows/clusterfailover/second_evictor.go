package clusterfailover

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
)

// secondEvictor is Karmada's own taint manager where it evicts beside this failover.
type secondEvictor struct {
	*run
	standing   *standing
	migrations *migrations
	lookedAt   map[string]bool // bindings that Karmada evicts, and that were looked at for that
}

// found takes bindings that Karmada's own taint manager evicts from this
// cluster. The first of them pauses this failover until an operator resumes it; a resume
// looks again before anything is dispatched.
func (v *secondEvictor) found(found ...proof.BindingFact) {
	if len(found) == 0 || !v.enforcing() {
		return
	}
	v.hold(found)
	if v.st.Beside {
		return
	}
	why := rules.SecondEvictorAt(found[0].Key, v.cluster)
	v.log.Warn("paused: second evictor", "binding", found[0].Key.String())
	v.st.Beside = true
	v.standing.pauseItself(why)
	v.trail.AddUrgent(record.Audit{
		Kind: record.AuditBindingAttention, Attempt: v.st.Attempt, Phase: string(v.st.Phase), Reason: reason.SecondEvictor,
		Message: "this failover is paused: " + why, Bindings: flow.About(found[0].Key),
	})
	v.dirty = true
}

// hold has a migration hold each of the bindings of which Karmada may end the last copy, as
// many as may move at once: those for which there is no room are looked at again when half of
// that is free. One that only the watch reported is looked at first, once in a run.
func (v *secondEvictor) hold(found []proof.BindingFact) {
	for _, b := range found {
		key := b.Key.String()
		_, moving := v.st.Migrations[key]
		switch {
		case moving:
		case b.LastCopy && len(v.st.Migrations) >= v.st.Terms.Waiting:
			v.st.Unheld = true
		case b.LastCopy:
			v.migrations.adopt(activities.Orphan{Key: b.Key, UID: b.UID}, true)
		case !v.lookedAt[key]:
			v.lookedAt[key], v.st.AdoptDirty, v.st.AdoptNow = true, true, true
		}
	}
	v.migrations.begin() // Karmada may end a last copy at any moment: no list or check goes before
}

// holdMore looks again for last copies that no task holds, once there is room.
func (v *secondEvictor) holdMore() {
	if v.st.Unheld && len(v.st.Migrations) <= v.st.Terms.Waiting/2 {
		v.st.Unheld, v.st.AdoptDirty, v.st.AdoptNow = false, true, true
	}
}

// resumed ends the pause. Every way in which a second evictor is found looks again before
// anything is dispatched.
func (v *secondEvictor) resumed() {
	if v.st.Beside {
		v.st.Beside = false
		v.st.AdoptDirty, v.st.AdoptNow, v.st.ListDirty = true, true, true
		clear(v.lookedAt)
	}
}
