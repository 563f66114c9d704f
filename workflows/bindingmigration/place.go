package bindingmigration

import (
	"cmp"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// lookHeld is look for a binding that should carry Lifeboat's task, with the ends that
// every holding phase shares. Not ok means that the phase has nothing to decide.
func (m *migration) lookHeld(summary string) (activities.Observation, bool) {
	o, ok := m.looks.followVerdict()
	if !ok {
		o, ok = m.looks.look(summary)
	}
	switch {
	case !ok:
		m.wait(m.st.Terms.HealthPoll, "try to read the binding again")
		return o, false
	case o.Gone:
		m.end(record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
		return o, false
	case o.TaskNote != "":
		m.end(record.Result{Outcome: phase.OutcomeNeedsOperator, Reason: reason.ForeignTask, Message: o.TaskNote})
		return o, false
	case !o.Held:
		m.droppedByOthers(o)
		return o, false
	}
	m.st.Ref.Purge, m.st.Ref.State = o.Purge, o.State // Karmada goes by the task, and so does Lifeboat
	return o, true
}

// droppedByOthers: Lifeboat's task is gone by another actor. Nothing is left to hold.
func (m *migration) droppedByOthers(o activities.Observation) {
	r := record.Result{Outcome: phase.OutcomeMigrated, Reason: reason.ForeignTask, To: o.Targets, Cause: "Lifeboat's task was dropped by another hand"}
	switch {
	case o.Targeted && m.st.Released.MayStand() && m.st.Intent.Recover == nil:
		// Released and put back since, as far as is known: no attempt evicts that twice.
		r.Reason, r.Cause = reason.SchedulerReturnsIt, "released, though the answer was lost; "+m.st.Ref.Cluster+" is a target again"
	case o.Targeted:
		m.restorer.returned()
		return
	case o.Banned:
		m.endBanned(o)
		return
	case !o.Placed.OK:
		r.Outcome, r.Message = phase.OutcomeNeedsOperator, "and it is not placed: "+o.Placed.Message
	}
	m.endOn(phase.EventTaskDropped, r)
}

// endBanned: Lifeboat's hold was released in a drain, and the writer did not receive the answer or
// is another run. What was released does not come back, and its ban goes with the drain.
func (m *migration) endBanned(o activities.Observation) {
	r := record.Result{Outcome: phase.OutcomeMigrated, Reason: reason.SchedulerReturnsIt, To: o.Targets}
	r.Message = "released, and kept off " + m.st.Ref.Cluster + " until undrain"
	if m.st.Intent.PutsBack() {
		m.st.Intent.Refuse(reason.Summary("put-back refused: " + r.Message))
		r.Reason, r.Message = reason.PutBackRefused, m.st.Intent.Refusal
	}
	m.st.Banned, m.st.Intent.Held = true, nil
	m.endOn(phase.EventTaskDropped, r)
}

// place waits for the scheduler.
func (m *migration) place() {
	if m.nothingNew() {
		m.wait(m.st.Terms.HealthPoll, "wait for the scheduler to place "+m.st.Ref.Key.String())
		return
	}
	o, ok := m.lookHeld("see where the scheduler places " + m.st.Ref.Key.String())
	if !ok {
		return
	}
	m.st.Placed = m.st.Placed && o.Placed.OK // a restore of a placed one may have been undone
	if o.SourceGone {
		m.on(phase.EventSourceGone)
		return
	}
	obeyed := m.obeys(o)
	cause, why := m.whyAgain(o)
	switch {
	case obeyed:
	case o.Placed.OK:
		if !m.st.Directly() { // which waits for the old copy first: what is seen now is old by then
			m.looks.carried = &o
		}
		m.placed(o)
	case cause != reason.None && m.st.Paused != nil:
		m.note(reason.Paused, why+"; paused by "+m.st.Paused.Line())
		m.wait(m.st.Terms.HealthPoll, "wait until "+m.st.Ref.Key.String()+" is resumed")
	case cause != reason.None:
		m.evictAgain(cause, why)
	default:
		m.note(o.Placed.Reason, o.Placed.Message)
		m.overdue("the scheduler has not placed it")
		m.wait(m.st.Terms.HealthPoll, "wait for the scheduler to place "+m.st.Ref.Key.String())
	}
}

// whyAgain says why the eviction is to be written again, of no reason where it need not. An older decision of the scheduler
// may have put the cluster back, or ended the reschedule.
func (m *migration) whyAgain(o activities.Observation) (cause reason.Reason, why string) {
	switch {
	case o.Targeted:
		return reason.PutBack, "the scheduler put " + m.st.Ref.Cluster + " back"
	case o.Reschedule:
		return cmp.Or(o.Placed.Reason, reason.NotPlaced), "only a reschedule places it, and none is pending"
	}
	return reason.None, ""
}

// evictAgain evicts once more for such a reason. An application that is not Unhealthy there any more stays: the binding is put back.
func (m *migration) evictAgain(cause reason.Reason, why string) {
	m.note(cause, why+"; evicting again")
	ctx := flow.Doing(m.ctx, "evict "+m.st.Ref.Key.String()+" again from "+m.st.Ref.Cluster+": "+why)
	ref := activities.MigrationRef{ // a task that is left to an operator stays so, though one named the binding
		Cluster: m.st.Ref.Cluster, ClusterUID: m.st.Ref.ClusterUID, Key: m.st.Ref.Key, UID: m.st.Ref.UID,
		Mode: m.st.Ref.Mode, Purge: m.st.Ref.Purge, Owner: m.st.Ref.Owner,
	}
	out, err := flow.Run[activities.ActResult](ctx, activities.NameEvictAgain, activities.EvictRequest{
		MigrationRef: ref, Policy: m.st.Policy, Unhealthy: m.unhealthy(),
	})
	refused := err == nil && out.End == activities.ActRefused
	switch {
	case err != nil:
		m.note(reason.Unreachable, err.Error())
	case out.End == activities.ActDone:
		m.st.Ref.Generation, m.st.Ref.Again = out.Generation, workflow.Now(m.ctx)
		m.acted(record.AuditBindingEvictedAgain, record.Audit{Reason: cause})
		return
	case refused && out.Reason == reason.Healed && !m.orders.justRefused():
		m.on(phase.EventReturned)
		return
	case refused:
		m.note(out.Reason, out.Message)
	}
	m.overdue(why + ", and it is not evicted again")
	m.wait(m.st.Terms.Recheck, "evict again from "+m.st.Ref.Cluster)
}
