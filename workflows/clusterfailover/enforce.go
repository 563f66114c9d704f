package clusterfailover

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// enforcement is a human's order to turn a failover that observes into one that
// enforces, and what came of it.
type enforcement struct {
	order   workflows.Order
	paused  *workflows.Order // the pause that stood when it was given: only that one ends with it
	done    bool
	refused string // why not
}

func (e *failover) refuseResume(o workflows.Resume) error {
	if o.Scope != (queue.Scope{}) && o.Scope != (queue.Scope{All: true}) {
		return e.refuseScopedResume(o)
	}
	switch {
	case o.Enforce && e.orders.enforce != nil:
		return flow.Refused("ordered already by " + e.orders.enforce.order.Who)
	case o.Enforce:
		if why := e.noEnforcing(); why != "" {
			return flow.Refused(why)
		}
	case e.st.Paused == nil && e.st.Phase != phase.FailoverStopped:
		return flow.Refused("neither paused nor stopped as a whole: nothing to resume" + e.stillPaused())
	}
	return flow.RefuseOrder(o.Order)
}

// noEnforcing says why this failover cannot be turned into one that enforces.
func (e *failover) noEnforcing() string {
	_, err := phase.NextFailover(e.st.Phase, phase.EventEnforceOrdered)
	early := e.st.Phase == phase.FailoverSuspected || e.st.Phase == phase.FailoverCordoned || e.st.Phase == phase.FailoverStopped
	switch {
	case err != nil && !early:
		return "it is " + string(e.st.Phase) + ": there is nothing left to enforce"
	case e.enforcing():
		return "this failover enforces already"
	default:
		return ""
	}
}

// obeyEnforce answers an order to enforce; one that was overtaken by a cancel is not obeyed.
func (e *failover) obeyEnforce(o failoverOrders) {
	switch {
	case o.enforce == nil:
	case o.cancel != nil:
		o.enforce.refused, o.enforce.done = "it was cancelled meanwhile by "+o.cancel.Who, true
	default:
		e.enforce(o.enforce)
	}
}

// enforce takes the worker's terms anew and, where they allow it, begins an attempt in
// which everything that was observed is listed and judged again. What the rules have
// seen so far stays: the failure need not be confirmed twice.
func (e *failover) enforce(asked *enforcement) {
	defer func() { asked.done = true }()
	var b activities.Begin
	ctx := flow.Doing(e.ctx, "may this failover be enforced? asked by "+asked.order.Who)
	if err := workflow.ExecuteActivity(ctx, activities.NameBeginFailover, activities.BeginRequest{Cluster: e.cluster}).Get(ctx, &b); err != nil {
		asked.refused = "the worker could not be asked: " + err.Error()
		return
	}
	if asked.refused = e.noEnforcing(); asked.refused != "" {
		return
	}
	if b.Terms.Mode != rules.ModeEnforce {
		asked.refused = "the worker's own config says observe for " + e.cluster + ": set mode or modes.enforce, restart the workers, and order it again"
		return
	}
	if e.st.Paused == asked.paused {
		e.st.Paused = nil // one that was given since says not yet, and stands
	}
	e.trail.order(workflows.UpdateResume, asked.order, queue.Scope{}, "enforce", flow.Yes(true))
	e.endObserving(asked.order)
	e.st.Terms = b.Terms
	e.showMode()
	e.adoptDirty, e.dirty = true, true
}

// endObserving ends the attempt that observed: each binding that was to move gets the
// outcome that it had come to.
func (e *failover) endObserving(order workflows.Order) {
	if e.st.Phase == phase.FailoverSuspected || e.st.Phase == phase.FailoverCordoned {
		e.st.Virtual = nil
		return // nothing was listed yet
	}
	if e.st.Phase == phase.FailoverStopped {
		if e.on(phase.EventResumeOrdered, reason.EnforceOrdered) {
			e.newAttempt()
			e.st.Stopped, e.st.Windows = nil, nil // no rule was applied meanwhile: its windows run again
		}
		return
	}
	for _, i := range e.st.Items {
		switch {
		case i.Was && i.State != queue.Blocked:
			e.record(record.Result{
				Key: i.Key, UID: i.UID, Resource: i.Resource, Outcome: phase.OutcomeAbandoned, Reason: reason.EnforceOrdered,
				Cause: "enforced by " + order.Who + ": " + order.Reason, At: e.now(),
			})
		default:
			e.abandon(i, nil)
		}
	}
	if e.on(phase.EventEnforceOrdered, reason.EnforceOrdered) {
		e.newAttempt()
	}
}

// showMode tells the lists of workflows how this failover is handled.
func (e *failover) showMode() {
	mode := string(e.st.Terms.Mode)
	_ = workflow.UpsertTypedSearchAttributes(e.ctx, workflows.SearchCluster.ValueSet(e.cluster), workflows.SearchMode.ValueSet(mode))
	_ = workflow.UpsertMemo(e.ctx, map[string]any{"lifeboatFailover": e.st.FailoverID, "lifeboatMode": mode})
}

// resumeOrEnforce answers "resume". With enforce the answer comes from the main loop: the
// worker's own config has to be asked.
func (e *failover) resumeOrEnforce(ctx workflow.Context, o workflows.Resume) (string, error) {
	if !o.Enforce {
		return e.resume(o.ScopedOrder), nil
	}
	asked := &enforcement{order: o.Order, paused: e.st.Paused}
	e.orders.enforce, e.dirty = asked, true
	live, _ := workflow.NewDisconnectedContext(ctx) // a cancellation is an order, too, and is obeyed in its turn
	err := workflow.Await(live, func() bool { return asked.done || e.st.Phase.Terminal() })
	switch {
	case err != nil || !asked.done:
		return "", flow.Refused("this failover ended before it could be enforced")
	case asked.refused != "":
		return "", flow.Refused(asked.refused)
	default:
		return "enforced from now on, as a new attempt: everything is listed and judged anew", nil
	}
}
