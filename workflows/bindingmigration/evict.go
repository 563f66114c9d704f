package bindingmigration

import (
	"cmp"
	"strings"
	"time"
	"unicode"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// evictSlack is how long the evict activity may outlive its permit: its own deadline lies
// inside it, this only bounds a worker that died.
const evictSlack = 3 * time.Second

// maxSaid is how much of what the API server said people are shown, in bytes.
const maxSaid = 240

// begin goes on as the migration was started: with what stands, with the fence, with the
// dependents, or with the permit.
func (m *migration) begin() {
	switch {
	case m.st.Adopts():
		m.verify()
	case m.st.Start == workflows.StartAwaitFence:
		m.on(phase.EventFenceAsked)
	case m.st.Intent.CallsOff():
		m.end(record.Result{Outcome: phase.OutcomeAbandoned, Reason: m.st.Intent.CallOffReason()})
	case m.st.Start == workflows.StartHold:
		m.dependents.holdDependents()
	default:
		m.evict()
	}
}

// evict makes the one attempt that the permit allows. From here on "nothing was
// written" must be known, not assumed.
func (m *migration) evict() {
	var out activities.EvictResult
	request := activities.EvictRequest{
		MigrationRef: m.st.Ref, Policy: m.st.Policy,
		Question: activities.Question{Approval: m.st.Approval, Attempt: m.st.Attempt, Standing: m.st.Standing},
		Permit:   m.st.Permit, Unhealthy: m.st.Unhealthy, QueuedAt: m.st.QueuedAt, DueAt: m.st.DueAt,
	}
	m.st.Evicted = workflows.WriteSent
	m.on(phase.EventWriteSent)
	ctx := flow.Once(m.ctx, "look once more, then evict "+m.st.Ref.Key.String()+" from "+m.st.Ref.Cluster, m.permitLasts())
	if err := workflow.ExecuteActivity(ctx, activities.NameEvict, request).Get(ctx, &out); err != nil {
		m.log.Warn("lost the answer of an eviction", "error", err)
		out = activities.EvictResult{End: activities.EvictUnknown, Reason: reason.Unverified, Message: err.Error()}
	}
	m.evicted(out)
}

// evicted takes the attempt's end.
func (m *migration) evicted(out activities.EvictResult) {
	m.st.Ref.Baseline, m.st.Ref.Generation = out.Baseline, out.Generation
	m.st.Reason, m.st.Message = out.Reason, reason.Summary(out.Message)
	if out.Resource != "" {
		m.st.Resource = out.Resource
	}
	m.st.OldWork = out.OldWork
	switch out.End {
	case activities.EvictWritten:
		m.wakeSwapped(out)
		m.awaitsNews = true
		m.looks.seen(out.Seen)
		if m.st.Permit.Number > 0 && !out.Reported {
			m.reportUsed()
		}
		m.stands()
	case activities.EvictUnknown:
		m.st.Evicted, m.st.Said = workflows.WriteUnknown, saidOf(out.Message)
		m.page()
	case activities.EvictRefused, activities.EvictNotAffected, activities.EvictClusterGone:
		if out.End == activities.EvictRefused && out.Reason == reason.PermitPassed {
			m.awaitAnother()
			return
		}
		m.refused(phase.OutcomeBlocked, out)
	case activities.EvictElsewhere:
		m.refused(phase.OutcomeMovedByOthers, out)
	case activities.EvictOptedOut:
		m.refused(phase.OutcomeSkipped, out)
	case activities.EvictGone:
		m.refused(phase.OutcomeGone, out)
	}
}

// permitLasts bounds the activity that uses the permit, from now on.
func (m *migration) permitLasts() time.Duration {
	left := m.st.Permit.Latest.Sub(workflow.Now(m.ctx))
	return min(max(0, left), pace.PermitsEnd) + evictSlack
}

// stands goes on from Lifeboat's task, whichever call saw it written. Each eviction that is seen to stand
// is reported, however late: it counts as a migration.
func (m *migration) stands() {
	m.st.Evicted = workflows.WriteStands
	m.st.Ref.Written = workflow.Now(m.ctx)
	m.auditEvicted()
	if m.st.Phase == phase.MigrationEvicting {
		m.on(phase.EventWriteStands)
	} else {
		m.on(phase.EventAdopted)
	}
	if m.st.TellWritten || m.st.Adopts() || m.st.Directly() {
		m.report(nil)
	} else {
		m.reportLater()
	}
}

func (m *migration) refused(outcome phase.Outcome, out activities.EvictResult) {
	m.st.Evicted = workflows.WriteNotSent
	m.end(record.Result{Outcome: outcome, Reason: out.Reason, Message: m.st.Message, To: out.To})
}

// awaitAnother requests another permit, for nothing was sent under this one: all that was held for it stays held.
func (m *migration) awaitAnother() {
	m.st.Evicted, m.st.Permit = workflows.WriteNotSent, pace.Permit{}
	m.queue(phase.EventPermitPassed)
}

// verify finds out what became of an attempt without an answer, and where an
// adopted binding stands. Abandoned only after a read showed no Lifeboat task.
func (m *migration) verify() {
	if !m.st.Adopts() {
		m.letSettle("let a request without an answer run out before reading again")
	}
	m.st.Ref.WantWork = true
	look, ok := m.looks.look("find out whether Lifeboat's eviction of " + m.st.Ref.Key.String() + " stands")
	m.st.Ref.WantWork = false
	if !ok {
		m.wait(m.st.Terms.HealthPoll, "look again whether Lifeboat's eviction stands")
		return
	}
	m.st.OldWork = look.OldWork
	if look.Held {
		m.st.Ref.Purge, m.st.Ref.State = look.Purge, look.State // what was written counts, also for a run that takes it over
	}
	m.st.Ref.UID = cmp.Or(m.st.Ref.UID, look.UID)
	if len(m.st.Ref.Baseline.Clusters) == 0 && look.Baseline != nil {
		m.st.Ref.Baseline = *look.Baseline // the answer with it is lost
	}
	m.verified(look)
}

// verified goes on from what stands, or ends with what does not.
func (m *migration) verified(look activities.Observation) {
	switch {
	case look.Gone:
		m.end(record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
	case look.TaskNote != "":
		m.end(record.Result{Outcome: phase.OutcomeNeedsOperator, Reason: reason.ForeignTask, Message: look.TaskNote})
	case look.Held:
		if m.st.Permit.Number > 0 {
			m.reportUsed()
		}
		m.stands()
	case look.Banned && !look.Targeted:
		m.endBanned(look)
	case m.st.Adopts() && look.LastCopy && m.st.Intent.Cancelled == nil:
		m.holdBeside()
	default:
		m.endUnheld(look)
	}
}

// endUnheld ends where nothing of Lifeboat's stands, and refuses the order about a held copy that began the migration.
func (m *migration) endUnheld(look activities.Observation) {
	r := record.Result{Outcome: phase.OutcomeMovedByOthers, Reason: reason.MovedByOthers}
	switch {
	case m.st.Intent.CallsOff():
		r.Outcome, r.Reason = phase.OutcomeAbandoned, m.st.Intent.CallOffReason()
	case look.Targeted:
		r.Outcome, r.Reason, r.Message = phase.OutcomeBlocked, reason.Unverified, notStood(m.st.Said)
	}
	if m.st.Ref.Named {
		m.st.Intent.Refuse("no Lifeboat task holds a copy on " + m.st.Ref.Cluster)
	}
	m.end(r)
}

// saidOf is what the API server said of a write, in one short line of plain text, without
// what the client put before it: that a webhook could not be called, most often.
func saidOf(message string) string {
	if _, said, ok := strings.Cut(message, karmada.ErrUnreachable.Error()+": "); ok {
		message = said
	}
	message = strings.Join(strings.FieldsFunc(message, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	return reason.Shortened(message, maxSaid)
}

func notStood(said string) string {
	if said == "" {
		return "the write did not stand"
	}
	return "the write did not stand: " + said
}

// awaitPermit evicts with the permit. Without one it requests one, and waits; its
// binding and its cluster may go meanwhile.
func (m *migration) awaitPermit() {
	m.orders.refuseUnwritten() // one that came while the write was under way
	switch {
	case m.unhealthy() != nil && m.st.Intent.Kind() == workflows.IntentRecover:
		m.end(record.Result{Outcome: phase.OutcomeAbandoned, Reason: reason.Healed, Message: "its copy is not Unhealthy any more, or of another revision"})
	case m.st.Intent.CallsOff():
		m.end(record.Result{Outcome: phase.OutcomeAbandoned, Reason: m.st.Intent.CallOffReason()})
	case m.takenOver():
		m.end(record.Result{Outcome: phase.OutcomeBlocked, Reason: reason.TakenOver, Message: "the failover of " + m.st.Ref.Cluster + " judges it again"})
	case m.st.Permit.Number > 0:
		m.evict()
	default:
		if m.st.Reason != reason.PermitPassed {
			m.note(reason.AwaitingPermit, m.dependents.heldFirst())
		}
		m.wait(m.st.Terms.HealthPoll, "wait for the permit to move "+m.st.Ref.Key.String())
		if m.st.WantsPermit() && !m.st.Intent.CallsOff() {
			m.stillToMove()
		}
	}
}

// takenOver reports whether the failover of a cluster has taken over the migration of an application.
func (m *migration) takenOver() bool {
	return m.st.Unhealthy != nil && m.st.Parent == workflows.ClusterFailoverID(m.instance, m.st.Ref.Cluster)
}

// unhealthy is the copy whose application is the reason to move, nil where it is that its cluster fails.
func (m *migration) unhealthy() *rules.Arrival {
	if m.takenOver() {
		return nil
	}
	return m.st.Unhealthy
}

// stillToMove ends a wait for a permit whose binding or cluster is gone, or whose failover does not run.
func (m *migration) stillToMove() {
	switch look, ok := m.looks.look("see whether " + m.st.Ref.Key.String() + " is still to move"); {
	case !ok:
	case look.Gone:
		m.end(record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
	case look.SourceGone:
		m.end(record.Result{Outcome: phase.OutcomeBlocked, Reason: reason.ClusterGone})
	default:
		heard := m.report(nil)
		if !heard { // no failover runs that could give it one: whatever comes after lists the binding again
			m.end(record.Result{Outcome: phase.OutcomeBlocked, Reason: reason.PermitPassed})
		}
	}
}

// wakeSwapped wakes the migration whose former cluster took over in Lifeboat's write: no
// task names it any more, so no controller would, and it has to look at once.
func (m *migration) wakeSwapped(out activities.EvictResult) {
	if out.Swapped == "" {
		return
	}
	m.acted(record.AuditBindingSwapped, record.Audit{Reason: reason.Swapped}, "former", out.Swapped, "owner", out.SwapOwner)
	fact := proof.BindingFact{Key: m.st.Ref.Key, UID: m.st.Ref.UID}
	if err := workflow.SignalExternalWorkflow(m.ctx, out.SwapOwner, "", workflows.SignalBindingObserved, fact).Get(m.ctx, nil); err != nil {
		m.log.Warn("could not wake the migration that it was swapped with", "workflow", out.SwapOwner, "error", err)
	}
}

// holdBeside puts Lifeboat's task beside that of Karmada's own taint manager, whose end would be the
// end of the last copy. What then stands is looked at as any hold that is taken over.
func (m *migration) holdBeside() {
	out, err := m.restorer.hold("hold " + m.st.Ref.Key.String() + ": Karmada evicts it, too, and no other copy is proven")
	if err != nil || out.End == activities.ActRefused {
		m.wait(m.st.Terms.HealthPoll, "try again to hold "+m.st.Ref.Key.String())
		return
	}
	m.acted(record.AuditBindingHeld, record.Audit{Reason: reason.SecondEvictor})
}
