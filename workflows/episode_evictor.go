package workflows

import (
	"github.com/lifeboat-failover/lifeboat/internal/failover"
)

// pausedByLifeboat is who pauses a failover beside a second evictor.
const pausedByLifeboat = "lifeboat"

// evictedByOthers takes bindings that Karmada's own taint manager evicts from this
// cluster. The first of them halts this failover until a human resumes it; a resume
// looks again before anything is dispatched.
func (e *episode) evictedByOthers(found ...failover.BindingFact) {
	if len(found) == 0 || !e.enforcing() || e.besideEvictor() {
		return
	}
	why := failover.SecondEvictorAt(found[0].Key, e.cluster)
	e.log.Warn("halted: second evictor", "binding", found[0].Key.String())
	e.st.NeedsAttention = failover.ReasonSecondEvictor
	if e.st.Paused == nil {
		e.st.Paused = &Order{Who: pausedByLifeboat, Reason: why}
	}
	e.scribe.tell(failover.AuditRecord{
		Kind: failover.AuditBindingAttention, Round: e.st.Round, Phase: string(e.st.Phase), Reason: failover.ReasonSecondEvictor,
		Message: "this failover is halted: " + why, Bindings: about(found[0].Key),
	})
	e.dirty = true
}

// besideEvictor tells whether this failover is halted because Karmada evicts, too.
func (e *episode) besideEvictor() bool {
	return e.st.NeedsAttention == failover.ReasonSecondEvictor
}

// attend raises why this failover needs a human's eyes. A second evictor outranks the rest.
func (e *episode) attend(why failover.Reason) {
	if !e.besideEvictor() {
		e.st.NeedsAttention = why
	}
}

// mayAdd leaves out taints that move bindings while Karmada evicts, too: it would move
// them at once.
func (e *episode) mayAdd(add []failover.RuleObservation) []failover.RuleObservation {
	if e.besideEvictor() {
		return withoutTriggering(add)
	}
	return add
}

// resumed ends the halt. Every way in which a second evictor is found looks again before
// anything is dispatched.
func (e *episode) resumed() {
	e.st.Paused = nil
	if e.besideEvictor() {
		e.st.NeedsAttention = failover.ReasonNone
		e.adoptDirty, e.adoptNow, e.listDirty = true, true, true
	}
}
