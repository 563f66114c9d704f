package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// bindingOrders are an operator's orders about one binding: skip, cancel, put back, release.
type bindingOrders struct {
	*run
	outcomes   *outcomes
	migrations *migrations
	held       flow.HeldOrders
}

// refuseHeld answers those whose orders come too late.
func (b *bindingOrders) refuseHeld() {
	for _, v := range b.orders.bindings {
		b.held.Refuse(v.ID, temporal.NewApplicationError("this failover has just ended; ask again", workflows.ErrorClosing))
	}
	b.held.Over()
}

// orderOf is an order about one binding.
func (b *bindingOrders) orderOf(verb, description string) flow.Update {
	return flow.Awaited(verb, description, func(o workflows.BindingOrder) error { return b.refuseOne(verb, o) },
		func(ctx workflow.Context, o workflows.BindingOrder) (string, error) {
			o.ID = workflow.GetCurrentUpdateInfo(ctx).ID
			answer := b.orderOne(verb, o)
			if verb != workflows.UpdatePutBack && verb != workflows.UpdateRelease {
				return answer, nil
			}
			return b.held.Await(ctx, verb, o, answer)
		})
}

// refuseOne says why an order about a binding makes no sense as things stand.
func (b *bindingOrders) refuseOne(verb string, o workflows.BindingOrder) error {
	if o.Binding.Name == "" {
		return flow.Refused(`field "binding": missing; say which, e.g. "binding": {"namespace": "shop", "name": "cart-deployment"}`)
	}
	if why := queue.ScopeOf(o.Binding).Check(); why != "" {
		return flow.Refused(why)
	}
	if b.st.FailoverID != "" && !b.enforcing() && verb != workflows.UpdateSkip {
		return flow.Refused("this failover observes: it has written nothing that could be taken back")
	}
	if (verb == workflows.UpdatePutBack || verb == workflows.UpdateRelease) && b.released(o.Binding) {
		return flow.Refused(workflows.ReleasedAlready)
	}
	if why := b.senseless(verb, o.Binding); why != "" {
		return flow.Refused(why)
	}
	return flow.RefuseOrder(o.Order)
}

// senseless says why an order about a binding comes too early or too late, empty
// when it does not.
func (b *bindingOrders) senseless(verb string, key karmada.BindingKey) string {
	move, moving := b.st.Migrations[key.String()]
	queued := b.st.Queue.Find(key) >= 0
	early := verb == workflows.UpdateSkip || verb == workflows.UpdateCancel
	switch {
	case moving && !queued:
		return move.Senseless(verb)
	case !moving && !queued && early:
		return "it neither waits nor moves: nothing to " + verb
	case !moving && queued && !early:
		return "it still waits and nothing of Lifeboat's stands; cancel it instead"
	}
	return ""
}

// released: the newest outcome of a binding in this attempt is that its old copy was let go. One that
// a drain keeps off has a task still, and its own answer.
func (b *bindingOrders) released(key karmada.BindingKey) bool {
	if _, moving := b.st.Migrations[key.String()]; moving || b.st.Queue.Find(key) >= 0 {
		return false
	}
	for _, r := range slices.Backward(b.st.Results) {
		if r.Key == key {
			return r.Outcome == phase.OutcomeMigrated && !r.Banned
		}
	}
	return false
}

// orderOne keeps an order for the main loop.
func (b *bindingOrders) orderOne(verb string, o workflows.BindingOrder) string {
	b.trail.ordered(verb, o.Order, queue.ScopeOf(o.Binding), "putBack", flow.Yes(o.PutBack))
	b.orders.bindings = append(b.orders.bindings, bindingVerb{verb: verb, BindingOrder: o, afterCancel: b.orders.cancel != nil})
	b.dirty = true
	return "ordered: " + verb + " of " + o.Binding.String() + "; its outcome stands in the status"
}

// obeyOne carries an order about one binding out: on its migration, on the queue, or on
// a task that an ended migration left behind.
func (b *bindingOrders) obeyOne(v bindingVerb) {
	key := v.Binding.String()
	if move, moving := b.st.Migrations[key]; moving {
		// Noted before it is told: it may be ending just now, with nothing written.
		move.Ordered = v.asMigrationOrder()
		b.migrations.note(move)
		told := b.migrations.signal(move, workflows.SignalMigrationOrder, *move.Ordered)
		if told {
			return
		}
		// Its end is still on its way here, or its hold is to be adopted: the order is
		// carried out when that is known, in the next turn.
		v.vanished = &move
		b.orders.bindings = append(b.orders.bindings, v)
		b.dirty = true
		return
	}
	switch v.verb {
	case workflows.UpdateSkip, workflows.UpdateCancel:
		b.callOff(v)
	case workflows.UpdatePutBack, workflows.UpdateRelease:
		b.takeNamed(v)
	}
}

// keepUnseen has an order carried out on what a migration left that had ended before it saw the order: one
// that it saw, it obeyed or refused.
func (b *bindingOrders) keepUnseen(m workflows.Migration, r activities.MigrationReport) {
	o := m.Ordered
	if r.Result == nil || o == nil || m.Named || r.RefusedID == o.ID {
		return
	}
	left := r.Result.Outcome == phase.OutcomeNeedsOperator || r.Result.Outcome == phase.OutcomeKept
	if left && (o.Verb == workflows.UpdatePutBack || o.Verb == workflows.UpdateRelease) {
		b.orders.bindings = append(b.orders.bindings, bindingVerb{verb: o.Verb, BindingOrder: workflows.BindingOrder{CancelOrder: o.CancelOrder, Binding: m.Key}})
	}
}

// callOff takes a binding out of the queue for the rest of the attempt.
func (b *bindingOrders) callOff(v bindingVerb) {
	var i queue.Item
	switch at := b.st.Queue.Find(v.Binding); {
	case at >= 0:
		i = b.st.Queue.Remove(at)
	case v.vanished != nil:
		i = queue.Item{Key: v.vanished.Key, UID: v.vanished.UID, Resource: v.vanished.Resource}
	default:
		b.log.Warn("an order came too late", "verb", v.verb, "binding", v.Binding.String(), "who", v.Who)
		return
	}
	b.outcomes.keep(v.asMigrationOrder().End(record.Result{Key: i.Key, UID: i.UID, Resource: i.Resource, At: b.now()}))
	b.dirty = true
}

// takeNamed starts a migration for a task that was kept, or left to an operator. An operator
// named it, so it is not off limits to that migration, and to no other.
func (b *bindingOrders) takeNamed(v bindingVerb) {
	if b.st.UID == "" && b.st.GoneAt.IsZero() {
		b.orders.bindings = append(b.orders.bindings, v) // the cluster has not been judged yet
		return
	}
	if !b.enforcing() {
		b.log.Warn("an order is not carried out", "verb", v.verb, "binding", v.Binding.String(), "who", v.Who, "mode", b.st.Terms.Mode)
		b.held.Refuse(v.ID, flow.Refused("this failover observes: it has written nothing that could be taken back"))
		return
	}
	st := workflows.MigrationState{Start: workflows.StartAdopt}
	st.Ref.Named = true
	if v.verb == workflows.UpdatePutBack {
		st.Intent.Order(workflows.IntentPutBack, v.Order)
	} else {
		st.Intent.Order(workflows.IntentRelease, v.Order)
	}
	b.migrations.start(queue.Item{Key: v.Binding, Policy: -1}, st)
	b.migrations.awaitStarts()
	move, moving := b.st.Migrations[v.Binding.String()]
	if !moving {
		b.held.Refuse(v.ID, flow.Refused("no migration could be started for it; order it again"))
		return
	}
	move.Ordered = v.asMigrationOrder()
	b.migrations.note(move)
	if !move.Named {
		b.migrations.signal(move, workflows.SignalMigrationOrder, *move.Ordered) // it ran already, unknown to this run
	}
}
