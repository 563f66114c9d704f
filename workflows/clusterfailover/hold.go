package clusterfailover

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// holdAhead bounds how many migrations hold their dependents ahead of their permit.
const holdAhead = 50

// startHolds gives the most urgent bindings that others go with a migration of their own,
// which holds those others: it takes as long as it takes, so it must be done before a
// permit is asked for.
func (e *failover) startHolds() {
	ahead := 0
	for _, key := range workflow.DeterministicKeys(e.st.Moves) {
		if e.st.Moves[key].Holds {
			ahead++
		}
	}
	for ; ahead < holdAhead && e.mayBegin(); ahead++ {
		at := e.st.Queue.First(e.now(), queue.Hold, 1)
		if len(at) == 0 {
			return
		}
		if e.heldBack(&e.st.Items[at[0]]) {
			continue
		}
		i := e.st.Items[at[0]]
		e.st.Queue.Remove(at[0])
		due, why := e.st.Queue.Due(e.now(), &i)
		e.startChild(i, workflows.MigrationState{DueAt: due, Why: why, To: i.To, HasDependents: true, Returned: i.Returned})
	}
}

// turn is who gets the next permit: a queued binding, or a migration that waits for it.
type turn struct {
	item     int // its place in the queue, -1 for none
	move     string
	priority int32
	ok       bool
}

// next is the most urgent of all that could use a permit now.
func (e *failover) next() turn {
	top := queue.Top{Most: 1}
	keys := e.waitForPermit()
	for n, key := range keys {
		as := itemOf(e.st.Moves[key])
		due, _ := e.st.Queue.Due(e.now(), &as)
		top.Offer(queue.Turn{Key: as.Key, Priority: e.st.Queue.Priority(&as), Due: due}, n)
	}
	if ready := e.st.Queue.First(e.now(), queue.Ready, 1); len(ready) > 0 && e.mayBegin() {
		i := &e.st.Items[ready[0]]
		due, _ := e.st.Queue.Due(e.now(), i)
		top.Offer(queue.Turn{Key: i.Key, Priority: e.st.Queue.Priority(i), Due: due}, len(keys)+ready[0])
	}
	at := top.Sorted()
	switch {
	case len(at) == 0:
		return turn{item: -1}
	case at[0] >= len(keys):
		i := at[0] - len(keys)
		return turn{item: i, priority: e.st.Queue.Priority(&e.st.Items[i]), ok: true}
	default:
		as := itemOf(e.st.Moves[keys[at[0]]])
		return turn{item: -1, move: keys[at[0]], priority: e.st.Queue.Priority(&as), ok: true}
	}
}

// itemOf is a move as it stood in the queue, as far as order and due time go.
func itemOf(m workflows.Move) queue.Item { return queue.Item{Key: m.Key, Policy: m.Policy} }

// waitForPermit are the moves that hold their dependents and may have a permit now: nobody
// has paused or snoozed them since.
func (e *failover) waitForPermit() (keys []string) {
	for _, key := range workflow.DeterministicKeys(e.st.Moves) {
		m := e.st.Moves[key]
		if !m.WantsPermit || e.st.Queue.IsPaused(m.Key) {
			continue
		}
		as := itemOf(m)
		if due, _ := e.st.Queue.Due(e.now(), &as); !e.now().Before(due) {
			keys = append(keys, key)
		}
	}
	return keys
}

// dispatchOne gives one permit to whose turn it is; false means to nobody.
func (e *failover) dispatchOne() bool {
	if len(e.orders.bindings) > 0 || e.st.Paused != nil || !e.drainMay() {
		return false
	}
	turn := e.next()
	if !turn.ok {
		return false
	}
	if turn.item >= 0 && e.heldBack(&e.st.Items[turn.item]) {
		return true // an order has reached it since it passed its check: the next one's turn
	}
	permit := e.takePermit()
	if turn.item >= 0 {
		item := e.st.Items[turn.item]
		e.st.Queue.Remove(turn.item)
		e.startMove(item, permit)
		return true
	}
	m := e.st.Moves[turn.move]
	m.Holds, m.WantsPermit = false, false
	e.st.Moves[turn.move] = m
	e.signalMove(m, workflows.SignalPermit, permit)
	return true
}

// dropHolders takes migrations that do not run any more out of dependents' tasks. One
// that was just adopted runs again under its own id.
func (e *failover) dropHolders(dead []activities.Orphan) {
	alive := map[string]bool{}
	for _, key := range workflow.DeterministicKeys(e.st.Moves) {
		alive[workflows.BindingMigrationID(e.instance, e.cluster, e.st.Moves[key].Key)] = true
	}
	for _, h := range dead {
		if alive[h.Owner] || !e.enforcing() {
			continue
		}
		ctx := flow.Doing(e.ctx, "take a migration that does not run out of the hold of "+h.Key.String())
		request := activities.HolderRequest{Cluster: e.cluster, Mode: e.st.Terms.Mode, Key: h.Key, Holder: h.Owner}
		if err := workflow.ExecuteActivity(ctx, activities.NameDropHolder, request).Get(ctx, nil); err != nil {
			e.log.Error("could not drop a dead holder", "binding", h.Key.String(), "holder", h.Owner, "error", err)
			e.adoptDirty = true
		}
	}
}
