package bindingmigration

import (
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"go.temporal.io/sdk/workflow"
)

// course is where the migration stands: Phase, Entered, Placed and Result are its own.
type course struct{ *listener }

// on moves the phase by an event. An illegal move is a Lifeboat bug: it is logged,
// and the phase stays, for a workflow never dies of it. It waits before it goes on: the
// same look would bring it here again at once.
func (co *course) on(e phase.MigrationEvent) {
	next, err := phase.NextMigration(co.st.Phase, e)
	if err != nil {
		co.log.Error("refused a transition", "error", err)
		co.wait(co.st.Terms.Recheck, "look again after a refused transition")
		return
	}
	co.log.Debug("phase changed", "from", co.st.Phase, "event", e, "to", next)
	co.st.Phase, co.st.Entered = next, workflow.Now(co.ctx)
	if next == phase.MigrationPlacing || next == phase.MigrationAwaitingHealth || next == phase.MigrationRestoring {
		co.st.Proof.Since = time.Time{}
	}
	co.enter(next)
}

// end records the outcome and closes: the event of an end is its outcome.
func (co *course) end(r record.Result) {
	if r.Outcome == phase.OutcomeBlocked && co.st.Intent.Stops() {
		r.Outcome, r.Reason = phase.OutcomeAbandoned, co.st.Intent.StopReason() // whoever ordered wants it in no queue
	}
	co.endOn(phase.EventOf(r.Outcome), r)
}

func (co *course) endOn(e phase.MigrationEvent, r record.Result) {
	r.Key, r.UID, r.Resource, r.At = co.st.Ref.Key, co.st.Ref.UID, co.st.Resource, workflow.Now(co.ctx)
	r.Banned = co.st.Banned
	if r.Wrote = co.st.Wrote(); co.st.Directly() || len(co.st.Policy.State) > 0 {
		r.Fence = co.st.Ref.Fence
	}
	if r.To == nil && r.Outcome == phase.OutcomeMigrated {
		r.To = co.st.To
	}
	if r.Cause == "" {
		r.Cause = co.st.Cause()
	}
	co.st.Result, co.st.Reason, co.st.Message = &r, r.Reason, r.Message
	co.on(e)
}

// placed is the point from which recovery no longer takes it back.
func (co *course) placed(o activities.Observation) {
	co.st.Placed, co.st.To = true, o.Targets
	co.st.Reason, co.st.Message = reason.Placed, "on "+strings.Join(o.Targets, ", ")
	if co.st.Carries() && len(o.Targets) > 1 {
		co.attention(reason.StateNotCarried, "it was placed on several clusters, "+co.st.Message[len("on "):]+": Karmada hands its state on to none of them")
	}
	co.acted(record.AuditBindingPlaced, record.Audit{Reason: co.st.Reason, To: co.st.To})
	if co.st.Directly() {
		co.on(phase.EventFenceAsked)
	} else {
		co.on(phase.EventPlaced)
	}
	co.tell(nil)
}
