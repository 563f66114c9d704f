package bindingmigration

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
)

// awaitHealth waits until the new copies are proven, for as long as it takes:
// there is no timeout into deletion.
func (m *migration) awaitHealth() {
	if m.proofs.ripe() {
		m.on(phase.EventProvenHealthy)
		return
	}
	o, ok := m.lookPlaced()
	if !ok {
		return
	}
	m.st.To = o.Targets
	leaves := m.leavesPlace(o)
	if leaves {
		return
	}
	left := m.proofs.untilProven(o)
	m.st.Proof.Waived = left > 0 && m.proofs.mayReleaseUnproven()
	if left > 0 {
		m.overdue("the new copies are not proven healthy")
		if !m.st.Proof.Waived {
			m.wait(left, "watch the health of "+m.st.Ref.Key.String())
			return
		}
	}
	m.proceed(o)
}

// proceed goes on with copies that are proven, or go unproven by the terms.
func (m *migration) proceed(o activities.Observation) {
	if m.st.Ref.Purge == karmada.PurgeNever {
		m.mark("keep the old copy of "+m.st.Ref.Key.String()+" for good", karmada.TaskReasonKept, record.Result{
			Outcome: phase.OutcomeKept, Reason: m.keptBy(), To: m.st.To,
		})
		return
	}
	if m.st.Intent.Recover != nil && o.StraightBack && !m.st.Directly() {
		m.on(phase.EventRecovered)
		return
	}
	if m.st.Proof.Waived {
		m.on(phase.EventGracefulTimeout)
		return
	}
	m.on(phase.EventProvenHealthy)
}

// lookPlaced returns the look that found the binding placed, as long as nothing has changed since; else
// it looks anew.
func (m *migration) lookPlaced() (activities.Observation, bool) {
	carried := m.looks.carried
	m.looks.carried = nil
	if carried != nil && !m.stirred() {
		return *carried, true
	}
	return m.lookHeld("see whether the new copies of " + m.st.Ref.Key.String() + " are healthy")
}

// keptBy is why the old copy stays for good.
func (m *migration) keptBy() reason.Reason {
	if m.st.Preserved {
		return reason.CopyPreserved
	}
	return reason.PurgeNever
}

// leavesPlace goes on elsewhere with a binding that was placed: its source or its placement is gone, or an order came.
func (m *migration) leavesPlace(o activities.Observation) bool {
	switch {
	case o.SourceGone:
		m.on(phase.EventSourceGone)
	case !o.Placed.OK:
		m.st.Placed = false
		m.st.Reason, m.st.Message = o.Placed.Reason, o.Placed.Message
		m.on(phase.EventUnplaced)
		m.report(nil)
	default:
		return m.obeys(o)
	}
	return true
}
