package workflows

import (
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"go.temporal.io/sdk/workflow"
)

// bindingVerb is a human's order about one binding, by the update's name.
type bindingVerb struct {
	verb string
	BindingOrder
	// vanished is the move that was to be told and turned out not to run any more.
	vanished *Move
}

func (v bindingVerb) forMove() *MigrationOrder {
	return &MigrationOrder{CancelOrder: v.CancelOrder, Verb: v.verb}
}

// serveBindingOrders registers what humans may order about single bindings.
func (e *clusterFailover) serveBindingOrders(ctx workflow.Context) error {
	for _, u := range []struct{ name, description string }{
		{UpdateSkip, "Leave one binding alone in this attempt, before anything of it is written"},
		{UpdatePutBack, "Restore the former clusters of one binding in one write, as long as its old copy is held"},
		{UpdateRelease, "Drop the hold of one binding now, proven healthy or not"},
	} {
		err := workflow.SetUpdateHandlerWithOptions(ctx, u.name, func(ctx workflow.Context, o BindingOrder) (string, error) {
			o.ID = workflow.GetCurrentUpdateInfo(ctx).ID
			return e.awaitHeld(ctx, u.name, o, e.orderOne(u.name, o))
		}, workflow.UpdateHandlerOptions{
			Validator:   func(o BindingOrder) error { return e.refuseOne(u.name, o) },
			Description: u.description,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// refuseOne says why an order about a binding makes no sense as things stand.
func (e *clusterFailover) refuseOne(verb string, o BindingOrder) error {
	if o.Binding.Name == "" {
		return refused(`field "binding": missing; say which, e.g. "binding": {"namespace": "shop", "name": "cart-deployment"}`)
	}
	if why := queue.ScopeOf(o.Binding).Check(); why != "" {
		return refused(why)
	}
	if e.st.FailoverID != "" && !e.enforcing() && verb != UpdateSkip {
		return refused("this failover observes: it has written nothing that could be taken back")
	}
	if (verb == UpdatePutBack || verb == UpdateRelease) && e.released(o.Binding) {
		return refused("released already: what was released does not come back")
	}
	if why := e.senseless(verb, o.Binding); why != "" {
		return refused(why)
	}
	return refuseOrder(o.Order)
}

// senseless says why an order about a binding comes too early or too late, empty
// when it does not.
func (e *clusterFailover) senseless(verb string, key karmada.BindingKey) string {
	move, moving := e.st.Moves[key.String()]
	queued := e.queuedAt(key) >= 0
	early := verb == UpdateSkip || verb == UpdateCancel
	switch {
	case !moving && !queued && early:
		return "it neither waits nor moves: nothing to " + verb
	case !moving && queued && !early:
		return "it still waits and nothing of Lifeboat's stands; skip or cancel it instead"
	case !moving || queued:
		return ""
	case move.Phase == phase.MigrationPurging, move.Phase == phase.MigrationDone:
		return "released already: what was released does not come back"
	case verb == UpdateSkip:
		return "its move has begun; cancel it instead"
	}
	return ""
}

// released: the newest outcome of a binding in this attempt is that its old copy was let go. One that
// a drain keeps off has a task still, and its own answer.
func (e *clusterFailover) released(key karmada.BindingKey) bool {
	if _, moving := e.st.Moves[key.String()]; moving || e.queuedAt(key) >= 0 {
		return false
	}
	for _, r := range slices.Backward(e.st.Results) {
		if r.Key == key {
			return r.Outcome == phase.OutcomeMigrated && !r.Banned
		}
	}
	return false
}

func (e *clusterFailover) queuedAt(key karmada.BindingKey) int {
	return slices.IndexFunc(e.st.Items, func(i Item) bool { return i.Key == key })
}

// orderOne keeps an order for the main loop.
func (e *clusterFailover) orderOne(verb string, o BindingOrder) string {
	e.auditOrder(verb, o.Order, queue.ScopeOf(o.Binding), "putBack", yes(o.PutBack))
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
	order  BindingOrder
	answer string
	err    error
	done   bool
}

// awaitHeld waits a while for what becomes of an order about a held copy: a refusal is the answer.
func (e *clusterFailover) awaitHeld(ctx workflow.Context, verb string, o BindingOrder, answer string) (string, error) {
	if verb != UpdatePutBack && verb != UpdateRelease {
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
	if a.verb == UpdatePutBack { // where nothing was written, nothing is to be put back
		did = r.Outcome == phase.OutcomeRestored || r.Outcome == phase.OutcomeAbandoned
	}
	if did {
		a.end(string(r.Outcome)+": "+r.Key.String(), nil)
		return
	}
	a.end("", refused(strings.TrimRight(string(r.Outcome)+", "+string(r.Reason)+": "+r.Message, ": ")))
}

// answerHeld answers who asked for what a migration reports.
func (e *clusterFailover) answerHeld(r MigrationReport) {
	for _, ask := range e.heldAsks {
		switch {
		case ask.order.Binding != r.Key:
		case r.RefusedID == ask.order.ID:
			ask.end("", refused(r.Refused))
		case r.Result != nil:
			ask.ended(*r.Result)
		}
	}
}

// obeyOne carries an order about one binding out: on its child, on the queue, or on
// a task that an ended migration left behind.
func (e *clusterFailover) obeyOne(v bindingVerb) {
	key := v.Binding.String()
	if move, moving := e.st.Moves[key]; moving {
		// Noted before it is told: it may be ending just now, with nothing written.
		move.Ordered = v.forMove()
		e.st.Moves[key] = move
		if e.signalMove(move, SignalMigrationOrder, *move.Ordered) {
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
	case UpdateSkip, UpdateCancel:
		e.callOff(v)
	case UpdatePutBack, UpdateRelease:
		e.takeNamed(v)
	}
}

// callOff takes a binding out of the queue for the rest of the attempt.
func (e *clusterFailover) callOff(v bindingVerb) {
	var i Item
	switch at := e.queuedAt(v.Binding); {
	case at >= 0:
		i = e.st.Items[at]
		e.st.Items = slices.Delete(e.st.Items, at, at+1)
	case v.vanished != nil:
		i = Item{Key: v.vanished.Key, UID: v.vanished.UID, Resource: v.vanished.Resource}
	default:
		e.log.Warn("an order came too late", "verb", v.verb, "binding", v.Binding.String(), "who", v.Who)
		return
	}
	e.record(orderedEnd(v.forMove(), record.Result{Key: i.Key, UID: i.UID, Resource: i.Resource, At: e.now()}))
	e.dirty = true
}

// orderedEnd is the end of a binding of which nothing was written and that a human called off.
func orderedEnd(o *MigrationOrder, r record.Result) record.Result {
	why := " by " + o.Who + ": " + o.Reason
	r.Outcome = phase.OutcomeAbandoned
	switch o.Verb {
	case UpdateSkip:
		r.Outcome, r.Reason, r.Cause = phase.OutcomeSkipped, reason.SkipOrdered, "skipped"+why
	case UpdatePutBack:
		r.Reason, r.Cause = reason.PutBackOrdered, "put back"+why
	default:
		r.Reason, r.Cause = reason.Cancelled, "cancelled"+why
	}
	return r
}

// callsOff tells whether an order that finds nothing written means that nothing is to be.
func callsOff(o *MigrationOrder) bool { return o != nil && o.Verb != UpdateRelease }

// takeNamed starts a child for a task that was kept, or left to a human. A human
// named it, so it is not off limits to that child, and to no other.
func (e *clusterFailover) takeNamed(v bindingVerb) {
	if e.st.UID == "" {
		e.orders.bindings = append(e.orders.bindings, v) // the cluster has not been judged yet
		return
	}
	if !e.enforcing() {
		e.log.Warn("an order is not carried out", "verb", v.verb, "binding", v.Binding.String(), "who", v.Who, "mode", e.st.Terms.Mode)
		for _, ask := range e.heldAsks {
			if ask.order.ID == v.ID {
				ask.end("", refused("this failover observes: it has written nothing that could be taken back"))
			}
		}
		return
	}
	st := MigrationState{Adopt: true}
	st.Ref.Named = true
	if v.verb == UpdatePutBack {
		st.PutBack = &v.Order
	} else {
		st.Drop = &v.Order
	}
	e.start(Item{Key: v.Binding, Policy: -1}, st)
	move, moving := e.st.Moves[v.Binding.String()]
	if !moving {
		return
	}
	move.Ordered = v.forMove()
	e.st.Moves[v.Binding.String()] = move
	if !move.Named {
		e.signalMove(move, SignalMigrationOrder, *move.Ordered) // it ran already, unknown to this run
	}
}
