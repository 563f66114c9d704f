package workflows

import (
	"strings"
	"time"
	"unicode"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"go.temporal.io/sdk/workflow"
)

// evictSlack is how long the evict activity may outlive its lease: its own
// deadline lies inside the lease, this only bounds a worker that died.
const evictSlack = 3 * time.Second

// maxLease bounds a lease that is believed: what bounds its activity is reckoned from it,
// and must not run over.
const maxLease = time.Hour

// believed tells whether a grant can be gone by, as its failover and its migration do.
func (g Grant) believed() bool {
	return g.Number > 0 && g.Expires > 0 && g.Expires <= maxLease && len(g.Episode) <= maxText
}

// settle is how long after a lost answer the binding is read again: by then no
// request of that attempt can still be on its way.
const settle = 5 * time.Second

// check makes the one attempt that the lease allows. From here on "nothing was
// written" must be known, not assumed.
func (m *migration) check() {
	switch {
	case m.st.Adopt:
		m.on(failover.EventWriteSent)
		return
	case m.st.AwaitFence:
		m.on(failover.EventFenceAsked)
		return
	}
	if m.ordered() {
		m.returnLease()
		m.on(failover.EventWriteSent)
		m.end(failover.EventWriteRefused, failover.Result{Outcome: failover.OutcomeAbandoned, Reason: m.orderReason()})
		return
	}
	if m.st.HasDependents && (!m.holdDependents() || !m.leased()) {
		return
	}
	var out activities.EvictResult
	request := activities.EvictRequest{
		Cluster: m.st.Ref.Cluster, ClusterUID: m.st.Ref.ClusterUID, Key: m.st.Ref.Key, UID: m.st.Ref.UID,
		Approval: m.st.Approval, Round: m.st.Round, Standing: m.st.Standing,
		Mode: m.st.Ref.Mode, Policy: m.st.Policy, Purge: m.st.Ref.Purge, Fence: m.st.Ref.Fence, Lease: m.st.Lease.Number, Owner: m.st.Ref.Owner, QueuedAt: m.st.QueuedAt, DueAt: m.st.DueAt,
	}
	m.on(failover.EventWriteSent)
	ctx := once(m.ctx, "look once more, then evict "+m.st.Ref.Key.String()+" from "+m.st.Ref.Cluster, m.st.Lease.Expires+evictSlack)
	if err := workflow.ExecuteActivity(ctx, activities.NameEvict, request).Get(ctx, &out); err != nil {
		m.log.Warn("lost the answer of an eviction", "error", err)
		out = activities.EvictResult{End: activities.EvictUnknown, Reason: failover.ReasonUnverified, Message: err.Error()}
	}
	m.evicted(out)
}

// evicted takes the attempt's end.
func (m *migration) evicted(out activities.EvictResult) {
	m.st.Ref.Baseline, m.st.Ref.Generation = out.Baseline, out.Generation
	m.st.Reason, m.st.Message = out.Reason, cut(out.Message)
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
		m.page() // the lease is not reported: it counts as spent when it expires
	case activities.EvictRefused, activities.EvictNotAffected, activities.EvictClusterGone:
		m.refused(failover.OutcomeBlocked, out)
	case activities.EvictElsewhere:
		m.refused(failover.OutcomeMovedByOthers, out)
	case activities.EvictOptedOut:
		m.refused(failover.OutcomeSkipped, out)
	case activities.EvictGone:
		m.refused(failover.OutcomeGone, out)
	}
}

// stands goes on from our task, whoever saw it written. An eviction that is seen to stand
// only after its lease has expired is reported as well: it counts as a move.
func (m *migration) stands() {
	if m.st.Lease.Number > 0 && !m.st.Adopt && !m.reported {
		m.reportLease(LeaseReport{Number: m.st.Lease.Number, Written: 1, Binding: m.st.Ref.Key.String()})
	}
	m.st.Wrote = true
	m.st.Ref.Written = workflow.Now(m.ctx)
	m.auditEvicted()
	m.on(failover.EventWriteStands)
	if m.st.TellWritten || m.st.Adopt || m.direct() {
		m.tell(nil)
	} else {
		m.reportLater()
	}
}

func (m *migration) refused(outcome failover.Outcome, out activities.EvictResult) {
	m.returnLease()
	m.end(failover.EventWriteRefused, failover.Result{Outcome: outcome, Reason: out.Reason, Message: m.st.Message, To: out.To})
}

func (m *migration) orderReason() failover.Reason {
	if m.st.Cancelled != nil {
		return failover.ReasonCancelled
	}
	return failover.ReasonClusterRecovered
}

// letSettle waits until no request without an answer can be on its way any more.
func (m *migration) letSettle(summary string) {
	_ = workflow.NewTimerWithOptions(m.ctx, settle, workflow.TimerOptions{Summary: summary}).Get(m.ctx, nil)
}

// verify finds out what became of an attempt without an answer, and where an
// adopted binding stands. Abandoned only after a read showed no task of ours.
func (m *migration) verify() {
	if !m.st.Adopt {
		m.letSettle("let a request without an answer run out before reading again")
	}
	m.st.Ref.WantWork = true
	look, ok := m.look("find out whether our eviction of " + m.st.Ref.Key.String() + " stands")
	m.st.Ref.WantWork = false
	if !ok {
		m.wait(m.st.Terms.HealthPoll, "look again whether our eviction stands")
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
		m.end(failover.EventBindingGone, failover.Result{Outcome: failover.OutcomeGone, Reason: failover.ReasonBindingGone})
	case look.TaskNote != "":
		m.end(failover.EventLeftToHuman, failover.Result{Outcome: failover.OutcomeLeftToHuman, Reason: failover.ReasonForeignTask, Message: look.TaskNote})
	case look.Held:
		m.stands()
	case look.Banned && !look.Targeted:
		m.endBanned(look)
	case m.ordered():
		m.end(failover.EventWriteRefused, failover.Result{Outcome: failover.OutcomeAbandoned, Reason: m.orderReason()})
	case look.Targeted:
		m.end(failover.EventWriteRefused, failover.Result{Outcome: failover.OutcomeBlocked, Reason: failover.ReasonUnverified, Message: notStood(m.st.Said)})
	default:
		m.end(failover.EventWriteRefused, failover.Result{Outcome: failover.OutcomeMovedByOthers, Reason: failover.ReasonMovedByOthers})
	}
}

// maxSaid is how much of what the API server said people are shown, in bytes.
const maxSaid = 240

// saidOf is what the API server said of a write, in one short line of plain text, without
// what the client put before it: that a webhook could not be called, most often.
func saidOf(message string) string {
	if _, said, ok := strings.Cut(message, failover.ErrUnreachable.Error()+": "); ok {
		message = said
	}
	message = strings.Join(strings.FieldsFunc(message, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	return failover.Shortened(message, maxSaid)
}

func notStood(said string) string {
	if said == "" {
		return "the write did not stand"
	}
	return "the write did not stand: " + said
}

func (m *migration) returnLease() {
	if m.st.Lease.Number > 0 {
		m.reportLease(LeaseReport{Number: m.st.Lease.Number, Returned: 1, Binding: m.st.Ref.Key.String()})
	}
}

func (m *migration) reportLease(r LeaseReport) { m.reportLeaseFrom(m.ctx, r) }

// reportLeaseFrom is reportLease for a coroutine of its own.
func (m *migration) reportLeaseFrom(ctx workflow.Context, r LeaseReport) {
	err := workflow.SignalExternalWorkflow(ctx, FleetPacerID(m.instance), "", SignalLeaseReport, r).Get(ctx, nil)
	if err != nil {
		m.log.Warn("could not report a lease: it counts as spent", "lease", r.Number, "error", err)
	}
}
