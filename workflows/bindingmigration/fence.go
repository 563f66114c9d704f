package bindingmigration

import (
	"fmt"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// fences are what proves the old copy of a Directly move dead: Ref.Fence is their own.
type fences struct {
	*course
	proofs *proofs
}

// awaitDeath waits for the proof that the old copy is dead. State goes along only
// through a source that is back, whatever is proven meanwhile.
func (fe *fences) awaitDeath(o activities.Observation) {
	waived := !fe.st.Carries() || o.StateWaived
	switch {
	case o.OldWork == nil || (!o.SourceReady && o.FenceStands && waived):
		fe.on(phase.EventFenced)
	case o.SourceReady:
		v := proof.OldCopyGoing(fe.st.Ref.Cluster)
		fe.note(v.Reason, v.Message)
		fe.overdue("the old copy is not gone")
		fe.wait(purgePoll, "wait for Karmada to delete the old copy of "+fe.st.Ref.Key.String())
	case !waived:
		v := proof.NeedsSource(fe.st.Ref.Cluster)
		fe.attention(v.Reason, v.Message)
		fe.note(v.Reason, v.Message)
		fe.wait(fe.st.Terms.HealthPoll, "wait for "+fe.st.Ref.Cluster+": the state of "+fe.st.Ref.Key.String()+" goes along only through it")
	default:
		fe.askFence()
	}
}

// askFence raises the flag and waits for a plug-in, an operator or the source's return. A
// plug-in's proof that the last look found void is no reason to look again at once: the
// next one may be void as well, and so on for ever.
func (fe *fences) askFence() {
	void := fe.st.Ref.Fence
	proven, why := fe.askFences()
	if proven && (void == nil || void.By == proof.FenceByOperator) {
		return
	}
	v := proof.AwaitingFence(fe.st.Ref.Cluster, fe.st.Ref.Fence)
	v.Message += why
	fe.attention(v.Reason, v.Message)
	fe.note(v.Reason, v.Message)
	fe.wait(fe.st.Terms.HealthPoll, "wait until the old copy of "+fe.st.Ref.Key.String()+" is proven dead")
}

// confirmFenced lets an operator vouch for this one binding.
func (fe *fences) confirmFenced(o workflows.FenceOrder) string {
	fe.orderedBy(workflows.UpdateConfirmFenced, o.Order, "withoutState", flow.Yes(o.WithoutState))
	fe.fencedBy(o.Fence(workflow.Now(fe.ctx), fe.st.Outage))
	return "recorded: it goes on, for as long as " + fe.st.Ref.Cluster + " does not come back"
}

func (fe *fences) refuseFenced(o workflows.FenceOrder) error {
	switch {
	case fe.st.Phase == phase.MigrationDone:
		return flow.Refused("it has ended")
	case !fe.st.Directly():
		return flow.Refused("only purge mode Directly waits for a fence, and this one goes " + string(fe.st.Ref.Purge))
	case fe.st.Carries() && !o.WithoutState:
		return flow.Refused(flow.StateNeedsSource(fe.st.Ref.Cluster))
	case fe.st.Outage == "":
		return flow.Refused(flow.UnseenOutage(fe.st.Ref.Cluster))
	}
	return flow.RefuseOrder(o.Order)
}

// fencedByAll takes an operator's confirmation for the whole cluster.
func (fe *fences) fencedByAll(f workflows.Fenced) {
	longest := max(len(f.Fence.By), len(f.Fence.Who), len(f.Fence.Message), len(f.Fence.Outage))
	if f.Fence.By == "" || f.Fence.At.IsZero() || longest > workflows.MaxReason {
		fe.log.Warn("ignored a malformed signal", "signal", workflows.SignalFenced)
		return
	}
	if now := workflow.Now(fe.ctx); f.Fence.At.After(now) {
		f.Fence.At = now // a fence dated ahead would outrank every newer one
	}
	if fe.st.Directly() {
		fe.fencedBy(f.Fence)
	}
}

func (fe *fences) fencedBy(f proof.Fence) { fe.st.Ref.Fence, fe.dirty = &f, true }

// askFences asks the fence plug-ins whether the old copy is dead; the first that
// proves it counts, for the outage that was seen before the question.
func (fe *fences) askFences() (proven bool, why string) {
	for _, p := range fe.st.Terms.Fences {
		asked := workflow.Now(fe.ctx)
		v := fe.proofs.ask(p, activities.AskFence, nil)
		if v.OK {
			// Not by fencedBy: this is no news that cuts a wait short.
			fe.auditFenced(p.Name, v.Message)
			fe.st.Ref.Fence = &proof.Fence{By: p.Name, Message: v.Message, At: asked, Outage: fe.st.Outage}
			return true, ""
		}
		why += fmt.Sprintf("; %s: %s", p.Name, v.Message)
	}
	return false, why
}

// awaitFence waits until the old copy is dead: before the write it then goes back to
// the queue, for a permit; after it the hold may go.
func (m *migration) awaitFence() {
	if m.st.Wrote() {
		m.awaitOldCopy()
		return
	}
	if m.st.Intent.CallsOff() {
		m.end(record.Result{Outcome: phase.OutcomeAbandoned, Reason: m.st.Intent.CallOffReason()})
		return
	}
	o, ok := m.looks.look("see whether " + m.st.Ref.Cluster + " answers again, for " + m.st.Ref.Key.String())
	if !ok {
		m.wait(m.st.Terms.HealthPoll, "try to read the binding again")
		return
	}
	blocked := record.Result{Outcome: phase.OutcomeBlocked, Reason: reason.Fenced}
	switch {
	case o.Gone:
		m.end(record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
	case o.TaskNote != "":
		m.end(record.Result{Outcome: phase.OutcomeNeedsOperator, Reason: reason.ForeignTask, Message: o.TaskNote})
	case o.SourceGone:
		blocked.Reason = reason.ClusterGone
		m.end(blocked)
	case o.Held:
		m.verify() // it finds the old copy, too
	case !o.Targeted:
		m.end(record.Result{Outcome: phase.OutcomeMovedByOthers, Reason: reason.MovedByOthers})
	case o.SourceReady:
		m.st.Ref.Fence = nil
		blocked.Message = m.st.Ref.Cluster + " answers again"
		m.end(blocked)
	case o.FenceStands:
		blocked.Message = m.st.Ref.Fence.String()
		m.end(blocked)
	default:
		m.fences.askFence()
	}
}

// awaitOldCopy waits, with Lifeboat's task standing, until Karmada has deleted the old copy
// or a fence proves that it is dead.
func (m *migration) awaitOldCopy() {
	m.st.Ref.WantWork = true
	o, ok := m.lookHeld("see whether the old copy of " + m.st.Ref.Key.String() + " is gone")
	m.st.Ref.WantWork = false
	if !ok {
		return
	}
	m.st.To = o.Targets
	leaves := m.leavesPlace(o)
	switch {
	case leaves:
	case o.OldWork == nil && m.st.Carries():
		m.on(phase.EventOldCopyGone)
	default:
		m.fences.awaitDeath(o)
	}
}
