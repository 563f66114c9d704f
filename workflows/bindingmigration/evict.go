package bindingmigration

import (
	"strings"
	"time"
	"unicode"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// evictSlack is how long the evict activity may outlive its permit: its own deadline lies
// inside it, this only bounds a worker that died.
const evictSlack = 3 * time.Second

// settle is how long after a lost answer the binding is read again: by then no
// request of that attempt can still be on its way.
const settle = 5 * time.Second

// check makes the one attempt that the permit allows. From here on "nothing was
// written" must be known, not assumed.
func (m *migration) check() {
	switch {
	case m.st.Adopt:
		m.on(phase.EventWriteSent)
		return
	case m.st.AwaitFence:
		m.on(phase.EventFenceAsked)
		return
	}
	if m.ordered() {
		m.on(phase.EventWriteSent)
		m.end(phase.EventWriteRefused, record.Result{Outcome: phase.OutcomeAbandoned, Reason: m.orderReason()})
		return
	}
	prepared := m.prepared()
	if !prepared {
		return
	}
	var out activities.EvictResult
	request := activities.EvictRequest{
		Cluster: m.st.Ref.Cluster, ClusterUID: m.st.Ref.ClusterUID, Key: m.st.Ref.Key, UID: m.st.Ref.UID,
		Approval: m.st.Approval, Attempt: m.st.Attempt, Standing: m.st.Standing,
		Mode: m.st.Ref.Mode, Policy: m.st.Policy, Purge: m.st.Ref.Purge, Fence: m.st.Ref.Fence, Permit: m.st.Permit, Owner: m.st.Ref.Owner, QueuedAt: m.st.QueuedAt, DueAt: m.st.DueAt,
	}
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
		m.awaitsNews, m.reported = true, out.Reported
		m.seen(out.Seen)
		m.stands()
	case activities.EvictUnknown:
		m.st.Said = saidOf(out.Message)
		m.page()
	case activities.EvictRefused, activities.EvictNotAffected, activities.EvictClusterGone:
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

// stands goes on from Lifeboat's task, whoever saw it written. Each eviction that is seen to stand
// is reported, however late: it counts as a move.
func (m *migration) stands() {
	if m.st.Permit.Number > 0 && !m.st.Adopt && !m.reported {
		m.reportUsed()
	}
	m.st.Wrote = true
	m.st.Ref.Written = workflow.Now(m.ctx)
	m.auditEvicted()
	m.on(phase.EventWriteStands)
	if m.st.TellWritten || m.st.Adopt || m.direct() {
		m.tell(nil)
	} else {
		m.reportLater()
	}
}

func (m *migration) refused(outcome phase.Outcome, out activities.EvictResult) {
	m.end(phase.EventWriteRefused, record.Result{Outcome: outcome, Reason: out.Reason, Message: m.st.Message, To: out.To})
}

func (m *migration) orderReason() reason.Reason {
	if m.st.Cancelled != nil {
		return reason.Cancelled
	}
	return reason.ClusterRecovered
}

// letSettle waits until no request without an answer can be on its way any more.
func (m *migration) letSettle(summary string) {
	_ = workflow.NewTimerWithOptions(m.ctx, settle, workflow.TimerOptions{Summary: summary}).Get(m.ctx, nil)
}

// verify finds out what became of an attempt without an answer, and where an
// adopted binding stands. Abandoned only after a read showed no Lifeboat task.
func (m *migration) verify() {
	if !m.st.Adopt {
		m.letSettle("let a request without an answer run out before reading again")
	}
	m.st.Ref.WantWork = true
	look, ok := m.look("find out whether Lifeboat's eviction of " + m.st.Ref.Key.String() + " stands")
	m.st.Ref.WantWork = false
	if !ok {
		m.wait(m.st.Terms.HealthPoll, "look again whether Lifeboat's eviction stands")
		return
	}
	m.st.OldWork = look.OldWork
	if look.Held {
		m.st.Ref.Purge, m.st.Ref.State = look.Purge, look.State // what was written counts, also for a run that takes it over
	}
	if m.st.Ref.UID == "" {
		m.st.Ref.UID = look.UID
	}
	if len(m.st.Ref.Baseline.Clusters) == 0 && look.Baseline != nil {
		m.st.Ref.Baseline = *look.Baseline // the answer that would have told is lost
	}
	m.verified(look)
}

// verified goes on from what stands, or ends with what does not.
func (m *migration) verified(look activities.Observation) {
	switch {
	case look.Gone:
		m.end(phase.EventBindingGone, record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
	case look.TaskNote != "":
		m.end(phase.EventNeedsOperator, record.Result{Outcome: phase.OutcomeNeedsOperator, Reason: reason.ForeignTask, Message: look.TaskNote})
	case look.Held:
		m.stands()
	case look.Banned && !look.Targeted:
		m.endBanned(look)
	case m.st.Adopt && look.LastCopy && m.st.Cancelled == nil:
		m.holdBeside()
	case m.ordered():
		m.end(phase.EventWriteRefused, record.Result{Outcome: phase.OutcomeAbandoned, Reason: m.orderReason()})
	case look.Targeted:
		m.end(phase.EventWriteRefused, record.Result{Outcome: phase.OutcomeBlocked, Reason: reason.Unverified, Message: notStood(m.st.Said)})
	default:
		m.end(phase.EventWriteRefused, record.Result{Outcome: phase.OutcomeMovedByOthers, Reason: reason.MovedByOthers})
	}
}

// maxSaid is how much of what the API server said people are shown, in bytes.
const maxSaid = 240

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

// reportUsed tells the pacer that the eviction stands, where the activity could not.
func (m *migration) reportUsed() {
	used := workflows.PermitsUsed{Used: []workflows.PermitUse{{Number: m.st.Permit.Number, Binding: m.st.Ref.Key.String()}}}
	if err := workflow.SignalExternalWorkflow(m.ctx, workflows.FleetPacerID(m.instance), "", workflows.SignalPermitsUsed, used).Get(m.ctx, nil); err != nil {
		m.log.Warn("could not report an eviction: it does not count as a move", "permit", m.st.Permit.Number, "error", err)
	}
}
