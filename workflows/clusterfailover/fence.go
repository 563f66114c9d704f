package clusterfailover

import (
	"cmp"
	"slices"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// fenceOf is what is known to prove an item's old copy dead: its own fence, or a
// human's word for the whole cluster. Whether it still stands is judged where it is used.
func (e *failover) fenceOf(i queue.Item) *proof.Fence {
	f := cmp.Or(i.Fence, e.st.Fenced)
	if i.Fence != nil && e.st.Fenced != nil && e.st.Fenced.At.After(i.Fence.At) {
		f = e.st.Fenced
	}
	dead := i.Purge == "" || i.Purge == karmada.PurgeDirectly
	if f == nil || dead || f.WithoutState && len(e.stateOf(i)) > 0 {
		return f
	}
	return nil // nothing has to be dead for it to move
}

// stateOf is what is frozen of an item's state rules.
func (e *failover) stateOf(i queue.Item) []karmada.StateRule {
	if i.Policy < 0 || i.Policy >= len(e.st.Policy) {
		return nil
	}
	return e.st.Policy[i.Policy].State
}

// mustFence sends an item to wait for a fence, as far as there is room for one more
// that waits. In observe it only says so.
func (e *failover) mustFence(i *queue.Item, c activities.Check) {
	if !e.enforcing() {
		e.block(i, c.Reason, c.Message)
		return
	}
	i.State, i.Reason, i.Message, i.To = queue.Fence, c.Reason, reason.Summary(c.Message), c.Candidates
}

// startFences gives each item that waits for a fence a migration of its own, where
// humans and plug-ins can answer. It has no permit; once fenced it comes back to the
// queue and moves in its turn.
func (e *failover) startFences() {
	for {
		at := slices.IndexFunc(e.st.Items, func(i queue.Item) bool { return i.State == queue.Fence })
		if at < 0 {
			e.awaitStarts()
			return
		}
		if _, waiting := e.windows(); waiting >= e.st.Terms.Waiting {
			e.block(&e.st.Items[at], reason.WaitingFull, "it waits for a fence, and too many wait already")
			continue
		}
		i := e.st.Items[at]
		e.st.Queue.Remove(at)
		_, why := e.st.Queue.Due(e.now(), &i)
		e.startChild(i, workflows.MigrationState{AwaitFence: true, Why: why, To: i.To})
	}
}

func (e *failover) confirmFenced(o workflows.FenceOrder) string {
	e.trail.order(workflows.UpdateConfirmFenced, o.Order, queue.Scope{Binding: o.Binding}, "withoutState", flow.Yes(o.WithoutState))
	e.orders.fences = append(e.orders.fences, fenceWord{o.Binding, o.Fence(e.now(), e.st.Turns.Outage())})
	e.dirty = true
	about := "what waited for a fence of " + e.cluster
	if o.Binding.Name != "" {
		about = o.Binding.String()
	}
	return "recorded: " + about + " goes on in its turn, for as long as the cluster does not come back"
}

// refuseFenced: nobody has to vouch for a cluster that answers, and a word given too
// early would be void anyway.
func (e *failover) refuseFenced(o workflows.FenceOrder) error {
	_, moves := e.st.Moves[o.Binding.String()]
	switch {
	case e.st.Cluster.Ready == "True":
		return flow.Refused(e.cluster + " is Ready: it is not dead, and Karmada deletes the old copies there itself")
	case e.st.Phase == phase.FailoverStopped || e.closing():
		return flow.Refused("nothing is evicted any more: there is nothing to confirm")
	case o.Binding != (karmada.BindingKey{}) && !moves && e.st.Queue.Find(o.Binding) < 0:
		return flow.Refused("it neither waits nor moves: there is nothing to confirm")
	case !o.WithoutState && e.needsState(o.Binding):
		return flow.Refused(flow.StateNeedsSource(e.cluster))
	case e.st.Turns.Outage() == "":
		return flow.Refused(flow.UnseenOutage(e.cluster))
	}
	return flow.RefuseOrder(o.Order)
}

// needsState tells whether a binding's state goes along only through the source.
func (e *failover) needsState(key karmada.BindingKey) bool {
	var as queue.Item
	if at := e.st.Queue.Find(key); at >= 0 {
		as = e.st.Items[at]
	} else if m, moves := e.st.Moves[key.String()]; moves {
		as = itemOf(m)
		as.Reason = m.Reason
	} else {
		return false
	}
	return as.Reason == reason.StateNeedsSource || len(e.stateOf(as)) > 0
}

// fenceWord is a human's word about one binding, or without one about the whole cluster.
type fenceWord struct {
	binding karmada.BindingKey
	fence   proof.Fence
}

// fencedOne takes a human's word about one binding to where it waits.
func (e *failover) fencedOne(w fenceWord) {
	if at := e.st.Queue.Find(w.binding); at >= 0 {
		e.st.Items[at].Fence = &w.fence
		e.lookAgain(at)
	}
	if m, moves := e.st.Moves[w.binding.String()]; moves {
		e.signalMove(m, workflows.SignalFenced, workflows.Fenced{Fence: w.fence})
	}
}

// fenced spreads a human's word to whoever waits for it.
func (e *failover) fenced(f *proof.Fence) {
	e.st.Fenced = f
	e.unblock()
	for _, key := range workflow.DeterministicKeys(e.st.Moves) {
		if m, still := e.st.Moves[key]; still {
			e.signalMove(m, workflows.SignalFenced, workflows.Fenced{Fence: *f})
		}
	}
}
