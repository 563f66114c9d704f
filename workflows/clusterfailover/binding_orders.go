package clusterfailover

import (
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// bindingVerb is a human's order about one binding, by the update's name.
type bindingVerb struct {
	verb string
	workflows.BindingOrder
	// vanished is the move that was to be told and turned out not to run any more.
	vanished *workflows.Move
}

func (v bindingVerb) forMove() *workflows.MigrationOrder {
	return &workflows.MigrationOrder{CancelOrder: v.CancelOrder, Verb: v.verb}
}

// orderOf is an order about one binding.
func (e *failover) orderOf(verb, description string) flow.Update {
	return flow.Awaited(verb, description, func(o workflows.BindingOrder) error { return e.refuseOne(verb, o) },
		func(ctx workflow.Context, o workflows.BindingOrder) (string, error) {
			o.ID = workflow.GetCurrentUpdateInfo(ctx).ID
			return e.awaitHeld(ctx, verb, o, e.orderOne(verb, o))
		})
}

// refuseOne says why an order about a binding makes no sense as things stand.
func (e *failover) refuseOne(verb string, o workflows.BindingOrder) error {
	if o.Binding.Name == "" {
		return flow.Refused(`field "binding": missing; say which, e.g. "binding": {"namespace": "shop", "name": "cart-deployment"}`)
	}
	if why := queue.ScopeOf(o.Binding).Check(); why != "" {
		return flow.Refused(why)
	}
	if e.st.FailoverID != "" && !e.enforcing() && verb != workflows.UpdateSkip {
		return flow.Refused("this failover observes: it has written nothing that could be taken back")
	}
	if (verb == workflows.UpdatePutBack || verb == workflows.UpdateRelease) && e.released(o.Binding) {
		return flow.Refused("released already: what was released does not come back")
	}
	if why := e.senseless(verb, o.Binding); why != "" {
		return flow.Refused(why)
	}
	return flow.RefuseOrder(o.Order)
}

// senseless says why an order about a binding comes too early or too late, empty
// when it does not.
func (e *failover) senseless(verb string, key karmada.BindingKey) string {
	move, moving := e.st.Moves[key.String()]
	queued := e.st.Queue.Find(key) >= 0
	early := verb == workflows.UpdateSkip || verb == workflows.UpdateCancel
	switch {
	case !moving && !queued && early:
		return "it neither waits nor moves: nothing to " + verb
	case !moving && queued && !early:
		return "it still waits and nothing of Lifeboat's stands; skip or cancel it instead"
	case !moving || queued:
		return ""
	case move.Phase == phase.MigrationPurging, move.Phase == phase.MigrationDone:
		return "released already: what was released does not come back"
	case verb == workflows.UpdateSkip:
		return "its move has begun; cancel it instead"
	}
	return ""
}

// released: the newest outcome of a binding in this attempt is that its old copy was let go. One that
// a drain keeps off has a task still, and its own answer.
func (e *failover) released(key karmada.BindingKey) bool {
	if _, moving := e.st.Moves[key.String()]; moving || e.st.Queue.Find(key) >= 0 {
		return false
	}
	for _, r := range slices.Backward(e.st.Results) {
		if r.Key == key {
			return r.Outcome == phase.OutcomeMigrated && !r.Banned
		}
	}
	return false
}

// orderOne keeps an order for the main loop.
func (e *failover) orderOne(verb string, o workflows.BindingOrder) string {
	e.trail.order(verb, o.Order, queue.ScopeOf(o.Binding), "putBack", flow.Yes(o.PutBack))
	e.orders.bindings = append(e.orders.bindings, bindingVerb{verb: verb, BindingOrder: o})
	e.dirty = true
	return "ordered: " + verb + " of " + o.Binding.String() + "; its outcome stands in the status"
}

// heldPatience is how long a put-back or a release waits for what its migration says. The restore
// itself may take longer: then the order stands, and the status says how it goes on.
const heldPatience = 10 * time.Second

// heldAsk is a put-back or a release until its migration answers.
type heldAsk struct {
	verb   string
	order  workflows.BindingOrder
	answer string
	err    error
	done   bool
}

// awaitHeld waits a while for what becomes of an order about a held copy: a refusal is the answer.
func (e *failover) awaitHeld(ctx workflow.Context, verb string, o workflows.BindingOrder, answer string) (string, error) {
	if verb != workflows.UpdatePutBack && verb != workflows.UpdateRelease {
		return answer, nil
	}
	ask := &heldAsk{verb: verb, order: o, answer: answer}
	e.heldAsks = append(e.heldAsks, ask)
	live, _ := workflow.NewDisconnectedContext(ctx)
	_, err := workflow.AwaitWithTimeout(live, heldPatience, func() bool { return ask.done })
	e.heldAsks = slices.DeleteFunc(e.heldAsks, func(a *heldAsk) bool { return a == ask })
	if err != nil {
		return "", err
	}
	return ask.answer, ask.err
}

func (a *heldAsk) end(answer string, err error) { a.answer, a.err, a.done = answer, err, true }

// ended is the answer that an outcome is.
func (a *heldAsk) ended(r record.Result) {
	did := r.Outcome == phase.OutcomeMigrated
	if a.verb == workflows.UpdatePutBack { // where nothing was written, nothing is to be put back
		did = r.Outcome == phase.OutcomeRestored || r.Outcome == phase.OutcomeAbandoned
	}
	if did {
		a.end(string(r.Outcome)+": "+r.Key.String(), nil)
		return
	}
	a.end("", flow.Refused(strings.TrimRight(string(r.Outcome)+", "+string(r.Reason)+": "+r.Message, ": ")))
}

// answerHeld answers who asked for what a migration reports.
func (e *failover) answerHeld(r workflows.MigrationReport) {
	for _, ask := range e.heldAsks {
		switch {
		case ask.order.Binding != r.Key:
		case r.RefusedID == ask.order.ID:
			ask.end("", flow.Refused(r.Refused))
		case r.Result != nil:
			ask.ended(*r.Result)
		}
	}
}

// obeyOne carries an order about one binding out: on its child, on the queue, or on
// a task that an ended migration left behind.
func (e *failover) obeyOne(v bindingVerb) {
	key := v.Binding.String()
	if move, moving := e.st.Moves[key]; moving {
		// Noted before it is told: it may be ending just now, with nothing written.
		move.Ordered = v.forMove()
		e.st.Moves[key] = move
		told := e.signalMove(move, workflows.SignalMigrationOrder, *move.Ordered)
		if told {
			return
		}
		// Its end is still on its way here, or its hold is to be adopted: the order is
		// carried out when that is known, in the next turn.
		v.vanished = &move
		e.orders.bindings = append(e.orders.bindings, v)
		e.dirty = true
		return
	}
	switch v.verb {
	case workflows.UpdateSkip, workflows.UpdateCancel:
		e.callOff(v)
	case workflows.UpdatePutBack, workflows.UpdateRelease:
		e.takeNamed(v)
	}
}

// callOff takes a binding out of the queue for the rest of the attempt.
func (e *failover) callOff(v bindingVerb) {
	var i queue.Item
	switch at := e.st.Queue.Find(v.Binding); {
	case at >= 0:
		i = e.st.Items[at]
		e.st.Queue.Remove(at)
	case v.vanished != nil:
		i = queue.Item{Key: v.vanished.Key, UID: v.vanished.UID, Resource: v.vanished.Resource}
	default:
		e.log.Warn("an order came too late", "verb", v.verb, "binding", v.Binding.String(), "who", v.Who)
		return
	}
	e.record(orderedEnd(v.forMove(), record.Result{Key: i.Key, UID: i.UID, Resource: i.Resource, At: e.now()}))
	e.dirty = true
}

// orderedEnd is the end of a binding of which nothing was written and that a human called off.
func orderedEnd(o *workflows.MigrationOrder, r record.Result) record.Result {
	why := " by " + o.Who + ": " + o.Reason
	r.Outcome = phase.OutcomeAbandoned
	switch o.Verb {
	case workflows.UpdateSkip:
		r.Outcome, r.Reason, r.Cause = phase.OutcomeSkipped, reason.SkipOrdered, "skipped"+why
	case workflows.UpdatePutBack:
		r.Reason, r.Cause = reason.PutBackOrdered, "put back"+why
	default:
		r.Reason, r.Cause = reason.Cancelled, "cancelled"+why
	}
	return r
}

// callsOff tells whether an order that finds nothing written means that nothing is to be.
func callsOff(o *workflows.MigrationOrder) bool { return o != nil && o.Verb != workflows.UpdateRelease }

// takeNamed starts a child for a task that was kept, or left to a human. A human
// named it, so it is not off limits to that child, and to no other.
func (e *failover) takeNamed(v bindingVerb) {
	if e.st.UID == "" {
		e.orders.bindings = append(e.orders.bindings, v) // the cluster has not been judged yet
		return
	}
	if !e.enforcing() {
		e.log.Warn("an order is not carried out", "verb", v.verb, "binding", v.Binding.String(), "who", v.Who, "mode", e.st.Terms.Mode)
		for _, ask := range e.heldAsks {
			if ask.order.ID == v.ID {
				ask.end("", flow.Refused("this failover observes: it has written nothing that could be taken back"))
			}
		}
		return
	}
	st := workflows.MigrationState{Adopt: true}
	st.Ref.Named = true
	if v.verb == workflows.UpdatePutBack {
		st.PutBack = &v.Order
	} else {
		st.Drop = &v.Order
	}
	e.start(queue.Item{Key: v.Binding, Policy: -1}, st)
	move, moving := e.st.Moves[v.Binding.String()]
	if !moving {
		return
	}
	move.Ordered = v.forMove()
	e.st.Moves[v.Binding.String()] = move
	if !move.Named {
		e.signalMove(move, workflows.SignalMigrationOrder, *move.Ordered) // it ran already, unknown to this run
	}
}
