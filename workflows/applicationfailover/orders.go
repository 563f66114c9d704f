package applicationfailover

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// messages are the signals, updates and queries of this failover. Orders have the names and arguments that a
// ClusterFailover takes.
func (f *failover) messages() flow.Messages {
	return flow.Messages{
		Queries: []flow.Query{{
			Name: workflows.QueryStatus, Description: "The whole state of this failover", Answer: func() (workflows.ApplicationStatus, error) {
				return workflows.ApplicationStatus{Now: f.now(), ApplicationState: *f.st}, nil
			},
		}},
		Updates: []flow.Update{
			flow.Ordered(workflows.UpdatePause, "Begin no move of this application; what has begun goes on", f.refuseScoped, f.pause),
			flow.Awaited(workflows.UpdateResume, "Go on after a pause, or after a cancel; or enforce what was only observed", f.refuseResume, f.resumeOrEnforce),
			flow.Ordered(workflows.UpdateSnooze, "Leave this application where it is for a while", f.refuseSnooze, f.snooze),
			flow.Ordered(workflows.UpdateApprove, "Agree to the next move of this application; every other check stays", f.refuseScoped, f.approve),
			flow.Ordered(workflows.UpdateCancel, "Stop this failover: nothing is moved until the application was healthy once; an unplaced move is put back, a placed one keeps both copies", f.refuseOrder, f.cancel),
			f.orderOf(workflows.UpdatePutBack, "Restore the former clusters in one write, as long as the old copy is held"),
			f.orderOf(workflows.UpdateRelease, "Drop the hold now, proven healthy or not"),
		},
		Signals: []flow.Signal{
			flow.OnSignal(workflows.SignalBindingObserved, func(fact proof.BindingFact) { f.heard(fact.Key) }),
			flow.OnSignal(workflows.SignalGrant, f.granted),
			flow.OnSignal(workflows.SignalPaceChanged, f.paceChanged),
			flow.OnReports(f.reported),
			flow.OnSignal(workflows.SignalPause, func(o workflows.ScopedOrder) {
				if f.refuseScoped(o) == nil {
					f.pause(o)
				}
			}),
		},
	}
}

// serve takes messages, and a cancellation as an order.
func (f *failover) serve(ctx workflow.Context) error {
	f.inbox = f.messages()
	if err := f.inbox.Serve(ctx, f.ctx); err != nil {
		return err
	}
	flow.OnCancel(ctx, func(o workflows.Order) {
		f.cancelRequested = true
		f.cancel(workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: o}})
	})
	return nil
}

// refuseScoped refuses an order about anything but this binding.
func (f *failover) refuseScoped(o workflows.ScopedOrder) error {
	if !o.Covers(f.st.Key) {
		return flow.Refused("this is the failover of " + f.st.Key.String() + " alone")
	}
	return flow.RefuseOrder(o.Order)
}

func (f *failover) refuseResume(o workflows.Resume) error {
	switch {
	case o.Enforce && f.st.Mode == rules.ModeEnforce:
		return flow.Refused(flow.EnforcesAlready)
	case o.Enforce && f.enforce != nil:
		return flow.Refused("ordered already by " + f.enforce.Order.Who)
	case o.Enforce:
	case f.st.Paused == nil && f.st.Stopped == nil:
		return flow.Refused("it is neither paused nor cancelled")
	}
	return f.refuseScoped(o.ScopedOrder)
}

func (f *failover) refuseSnooze(o workflows.SnoozeOrder) error {
	if _, wrong := queue.SnoozeFor(o.For); wrong != "" {
		return flow.Refused(wrong)
	}
	if m := f.st.Move; m != nil && m.Phase != phase.MigrationChecking && !m.Unwritten() {
		return flow.Refused("its move has begun; cancel it instead")
	}
	return f.refuseScoped(o.ScopedOrder)
}

func (f *failover) refuseOrder(o workflows.BindingOrder) error {
	if o.Binding.Name != "" && o.Binding != f.st.Key {
		return flow.Refused("this is the failover of " + f.st.Key.String() + " alone")
	}
	return flow.RefuseOrder(o.Order)
}

func (f *failover) pause(o workflows.ScopedOrder) string {
	f.ordered(workflows.UpdatePause, o.Order)
	f.st.Paused = &o.Order
	f.forward(workflows.UpdatePause, workflows.CancelOrder{Order: o.Order})
	return "paused: no move begins; what has begun goes on"
}

func (f *failover) resume(o workflows.Resume) string {
	f.ordered(workflows.UpdateResume, o.Order)
	f.st.Paused, f.st.Stopped, f.st.RetryAt = nil, nil, time.Time{}
	f.forward(workflows.UpdateResume, workflows.CancelOrder{Order: o.Order})
	if f.st.Expired.Reason != reason.None {
		return "resumed: it moves once it is approved"
	}
	return "resumed: it moves when its time is over"
}

// resumeOrEnforce answers "resume". With enforce the main loop answers, after another look.
func (f *failover) resumeOrEnforce(ctx workflow.Context, o workflows.Resume) (string, error) {
	if !o.Enforce {
		return f.resume(o), nil
	}
	asked := &flow.Enforcement{Order: o.Order, Paused: f.st.Paused, Stopped: f.st.Stopped}
	f.enforce, f.dirty = asked, true
	return asked.Await(ctx, func() bool { return f.st.Phase.Terminal() })
}

// obeyEnforce answers an order to enforce, after the look of this turn. What was checked is checked again.
func (f *failover) obeyEnforce(asked *flow.Enforcement) {
	st := f.st
	switch {
	case asked == nil || st.Look.Gone: // its end is the answer
	case st.Mode == rules.ModeEnforce:
		asked.End("", flow.Refused(flow.EnforcesAlready))
	case st.Look.Unfit.Reason != reason.None:
		asked.End("", flow.Refused("it is "+string(st.Look.Unfit.Reason)+": "+st.Look.Unfit.Message))
	case st.Look.Terms.Mode != rules.ModeEnforce:
		asked.End("", flow.RefuseObserved("the clusters of "+st.Key.String()))
	case st.Stopped != nil && st.Stopped != asked.Stopped:
		asked.End("", flow.Refused("it was cancelled meanwhile by "+st.Stopped.Who))
	default:
		f.ordered(workflows.UpdateResume, asked.Order, "enforce", flow.Yes(true))
		if st.Paused == asked.Paused { // one that was given since says not yet, and stands
			st.Paused = nil
		}
		st.Mode, st.Stopped, st.Check, st.RetryAt = rules.ModeEnforce, nil, nil, time.Time{}
		endRequest(st)
		asked.End("enforced from now on: it is checked again, and moves when its time is over", nil)
	}
}

func (f *failover) snooze(o workflows.SnoozeOrder) string {
	f.ordered(workflows.UpdateSnooze, o.Order, "for", o.For)
	length, _ := queue.SnoozeFor(o.For)
	if until := f.now().Add(length); f.st.Snoozed == nil || f.st.Snoozed.Until.Before(until) {
		f.st.Snoozed = &workflows.Snooze{ScopedOrder: o.ScopedOrder, At: f.now(), Until: until}
	}
	f.dirty = true
	return "snoozed until " + view.Clock(f.st.Snoozed.Until)
}

// approve lets the next move begin, whatever rule asks, and however often it has moved.
func (f *failover) approve(o workflows.ScopedOrder) string {
	f.ordered(workflows.UpdateApprove, o.Order)
	if m := f.st.Move; m == nil || m.Placed || !approved(f.st, f.st.Cluster, f.st.Attempt) { // what lets it go stays
		f.st.Approval = approval(f.st, o, f.now())
	}
	f.st.RetryAt, f.dirty = time.Time{}, true
	endRequest(f.st)
	return "approved: its next move needs no other approval"
}

// approval is what an order approves: the move that another copy holds, or the next one.
func approval(st *workflows.ApplicationState, o workflows.ScopedOrder, now time.Time) *queue.Approval {
	a := &queue.Approval{Who: o.Who, Why: o.Reason, At: now, Attempt: st.Attempt + 1, ForOne: o.One()}
	if m := st.Move; m != nil && m.WantsPermit && a.ForOne && heldByCopy(st, now) {
		a.Attempt, a.Cluster = st.Attempt, st.Cluster
	} else if next := nextCopy(st, now); next != nil {
		a.Cluster = next.Cluster
	}
	return a
}

func (f *failover) cancel(o workflows.BindingOrder) string {
	f.ordered(workflows.UpdateCancel, o.Order, "putBack", flow.Yes(o.PutBack))
	f.st.Stopped = &o.Order
	f.forward(workflows.UpdateCancel, o.CancelOrder)
	return "cancelled: nothing of it is moved until it was healthy once, or it is resumed"
}

// orderOf is an order about the old copy: the migration carries it out, or refuses it.
func (f *failover) orderOf(verb, description string) flow.Update {
	refuse := func(o workflows.BindingOrder) error {
		if f.st.Move == nil {
			return flow.Refused("no migration of it runs, so no old copy is held; cancel it instead")
		}
		if why := f.st.Move.Senseless(verb); why != "" {
			return flow.Refused(why)
		}
		return f.refuseOrder(o)
	}
	return flow.Awaited(verb, description, refuse, func(ctx workflow.Context, o workflows.BindingOrder) (string, error) {
		o.ID, o.Binding = workflow.GetCurrentUpdateInfo(ctx).ID, f.st.Key
		f.ordered(verb, o.Order)
		f.forward(verb, o.CancelOrder)
		return f.held.Await(ctx, verb, o, verb+" is sent to the migration off "+f.st.Cluster+"; see its status")
	})
}

// forward hands an order on to the migration, where one runs.
func (f *failover) forward(verb string, o workflows.CancelOrder) {
	f.dirty = true
	if f.st.Move == nil {
		return
	}
	order := workflows.MigrationOrder{CancelOrder: o, Verb: verb}
	if verb != workflows.UpdatePause && (verb != workflows.UpdateResume || f.st.Move.Ordered.CallsOff()) { // these alone end or begin a stop
		f.st.Move.Ordered = &order
	}
	f.beside.Go(f.ctx, func(ctx workflow.Context) {
		sent := f.signal(ctx, workflows.SignalMigrationOrder, order)
		if !sent {
			f.held.Refuse(o.ID, flow.Refused("no migration of it runs any more; see its status"))
		}
	})
}

func (f *failover) ordered(verb string, o workflows.Order, details ...string) {
	f.trail.AddUrgent(record.Audit{
		Kind: record.AuditOrderGiven, Phase: string(f.st.Phase), Order: verb, Who: o.Who, Why: o.Reason, Bindings: flow.About(f.st.Key),
		Evidence: flow.AddEvidence(nil, details...),
	})
	f.log.Info("ordered", "verb", verb, "who", o.Who, "reason", reason.Summary(o.Reason))
}
