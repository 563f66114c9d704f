package bindingmigration

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// direct: the new copy must not run beside the old.
func (m *migration) direct() bool { return m.st.Ref.Purge == karmada.PurgeDirectly }

// carries: Karmada hands state on by Lifeboat's task, to a new copy that begins once the old
// one is deleted, and that has to be proven before the task goes.
func (m *migration) carries() bool { return len(m.st.Ref.State) > 0 }

// goesOn: Karmada has begun to delete the old copy, and a recovery cannot take that
// back. A cancel can ask for the cluster all the same, and so does the scheduler when
// it has put the cluster back itself.
func (m *migration) goesOn(o activities.Observation) bool {
	return m.direct() && m.st.Cancelled == nil && !o.Targeted
}

// awaitFence waits until the old copy is dead: before the write it then goes back to
// the queue, for a permit; after it the hold may go.
func (m *migration) awaitFence() {
	if m.st.Wrote {
		m.awaitOldCopy()
		return
	}
	if m.ordered() {
		m.end(phase.EventWriteRefused, record.Result{Outcome: phase.OutcomeAbandoned, Reason: m.orderReason()})
		return
	}
	o, ok := m.look("see whether " + m.st.Ref.Cluster + " answers again, for " + m.st.Ref.Key.String())
	if !ok {
		m.wait(m.st.Terms.HealthPoll, "try to read the binding again")
		return
	}
	blocked := record.Result{Outcome: phase.OutcomeBlocked, Reason: reason.Fenced}
	switch {
	case o.Gone:
		m.end(phase.EventBindingGone, record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
	case o.TaskNote != "":
		m.end(phase.EventNeedsOperator, record.Result{Outcome: phase.OutcomeNeedsOperator, Reason: reason.ForeignTask, Message: o.TaskNote})
	case o.SourceGone:
		blocked.Reason = reason.ClusterGone
		m.end(phase.EventWriteRefused, blocked)
	case o.Held:
		m.stands()
	case !o.Targeted:
		m.end(phase.EventWriteRefused, record.Result{Outcome: phase.OutcomeMovedByOthers, Reason: reason.MovedByOthers})
	case o.SourceReady:
		m.st.Ref.Fence = nil
		blocked.Message = m.st.Ref.Cluster + " answers again"
		m.end(phase.EventWriteRefused, blocked)
	case o.FenceStands:
		blocked.Message = m.st.Ref.Fence.String()
		m.end(phase.EventWriteRefused, blocked)
	default:
		m.askFence()
	}
}

// awaitOldCopy waits, with Lifeboat's task standing, until Karmada has deleted the old copy
// or somebody vouches that it is dead.
func (m *migration) awaitOldCopy() {
	m.st.Ref.WantWork = true
	o, ok := m.lookHeld("see whether the old copy of " + m.st.Ref.Key.String() + " is gone")
	m.st.Ref.WantWork = false
	if !ok {
		return
	}
	m.st.To = o.Targets
	switch {
	case o.SourceGone:
		m.sourceGone()
	case !o.Placed.OK:
		m.st.Placed = false
		m.st.Reason, m.st.Message = o.Placed.Reason, o.Placed.Message
		m.on(phase.EventUnplaced)
		m.tell(nil)
	default:
		obeyed := m.obeys(o)
		switch {
		case obeyed:
		case o.OldWork == nil && m.carries():
			m.on(phase.EventPlaced)
		default:
			m.awaitDeath(o)
		}
	}
}

// awaitDeath waits for the proof that the old copy is dead. State goes along only
// through a source that is back, whatever is proven meanwhile.
func (m *migration) awaitDeath(o activities.Observation) {
	waived := !m.carries() || o.StateWaived
	switch {
	case o.OldWork == nil || (!o.SourceReady && o.FenceStands && waived):
		m.on(phase.EventFenced)
	case o.SourceReady:
		v := proof.OldCopyGoing(m.st.Ref.Cluster)
		m.note(v.Reason, v.Message)
		m.overdue("the old copy is not gone")
		m.wait(purgePoll, "wait for Karmada to delete the old copy of "+m.st.Ref.Key.String())
	case !waived:
		v := proof.NeedsSource(m.st.Ref.Cluster)
		m.attention(v.Reason, v.Message)
		m.note(v.Reason, v.Message)
		m.wait(m.st.Terms.HealthPoll, "wait for "+m.st.Ref.Cluster+": the state of "+m.st.Ref.Key.String()+" goes along only through it")
	default:
		m.askFence()
	}
}

// askFence raises the flag and waits for a plug-in, a human or the source's return. A
// plug-in's word that the last look found void is no reason to look again at once: the
// next one may be void as well, and so on for ever.
func (m *migration) askFence() {
	void := m.st.Ref.Fence
	proven, why := m.askFences()
	if proven && (void == nil || void.By == proof.FenceByHuman) {
		return
	}
	v := proof.AwaitingFence(m.st.Ref.Cluster, m.st.Ref.Fence)
	v.Message += why
	m.attention(v.Reason, v.Message)
	m.note(v.Reason, v.Message)
	m.wait(m.st.Terms.HealthPoll, "wait until the old copy of "+m.st.Ref.Key.String()+" is proven dead")
}

// confirmFenced lets a human vouch for this one binding.
func (m *migration) confirmFenced(o workflows.FenceOrder) string {
	m.orderedBy(workflows.UpdateConfirmFenced, o.Order, "withoutState", flow.Yes(o.WithoutState))
	m.fencedBy(o.Fence(workflow.Now(m.ctx), m.st.Outage))
	return "recorded: it goes on, for as long as " + m.st.Ref.Cluster + " does not come back"
}

func (m *migration) refuseFenced(o workflows.FenceOrder) error {
	switch {
	case m.st.Phase == phase.MigrationDone:
		return flow.Refused("it has ended")
	case !m.direct():
		return flow.Refused("only purge mode Directly waits for a fence, and this one goes " + string(m.st.Ref.Purge))
	case m.carries() && !o.WithoutState:
		return flow.Refused(flow.StateNeedsSource(m.st.Ref.Cluster))
	case m.st.Outage == "":
		return flow.Refused(flow.UnseenOutage(m.st.Ref.Cluster))
	}
	return flow.RefuseOrder(o.Order)
}

// fencedByAll takes a human's word for the whole cluster.
func (m *migration) fencedByAll(f workflows.Fenced) {
	longest := max(len(f.Fence.By), len(f.Fence.Who), len(f.Fence.Message), len(f.Fence.Outage))
	if f.Fence.By == "" || f.Fence.At.IsZero() || longest > workflows.MaxReason {
		m.log.Warn("ignored a malformed signal", "signal", workflows.SignalFenced)
		return
	}
	if now := workflow.Now(m.ctx); f.Fence.At.After(now) {
		f.Fence.At = now // a word from the future would outrank every newer one
	}
	if m.direct() {
		m.fencedBy(f.Fence)
	}
}

func (m *migration) fencedBy(f proof.Fence) { m.st.Ref.Fence, m.dirty = &f, true }
