package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
)

// fences are the proofs that old copies are dead: a human's word, and the migrations that wait for one.
type fences struct {
	*run
	waiting  *waiting
	children *children
}

// start gives each item that waits for a fence a migration of its own, where
// humans and plug-ins can answer. It has no permit; once fenced it comes back to the
// queue and moves in its turn.
func (fs *fences) start() {
	for {
		at := slices.IndexFunc(fs.st.Items, func(i queue.Item) bool { return i.State == queue.Fence })
		if at < 0 {
			fs.children.awaitStarts()
			return
		}
		if _, waiting := fs.children.inFlight(); waiting >= fs.st.Terms.Waiting {
			fs.waiting.block(&fs.st.Items[at], reason.WaitingFull, "it waits for a fence, and too many wait already")
			continue
		}
		i := fs.st.Items[at]
		fs.st.Queue.Remove(at)
		_, why := fs.st.Queue.Due(fs.now(), &i)
		fs.children.startChild(i, workflows.MigrationState{Start: workflows.StartAwaitFence, Why: why, To: i.To})
	}
}

func (fs *fences) confirm(o workflows.FenceOrder) string {
	fs.trail.ordered(workflows.UpdateConfirmFenced, o.Order, queue.Scope{Binding: o.Binding}, "withoutState", flow.Yes(o.WithoutState))
	fs.orders.fenceWords = append(fs.orders.fenceWords, fenceWord{o.Binding, o.Fence(fs.now(), fs.st.Turns.Outage())})
	fs.dirty = true
	about := "what waited for a fence of " + fs.cluster
	if o.Binding.Name != "" {
		about = o.Binding.String()
	}
	return "recorded: " + about + " goes on in its turn, for as long as the cluster does not come back"
}

// refuse: nobody has to vouch for a cluster that answers, and a word given too
// early would be void anyway.
func (fs *fences) refuse(o workflows.FenceOrder) error {
	_, moves := fs.st.Moves[o.Binding.String()]
	switch {
	case fs.st.Cluster.Ready == "True":
		return flow.Refused(fs.cluster + " is Ready: it is not dead, and Karmada deletes the old copies there itself")
	case fs.st.Phase == phase.FailoverStopped || fs.closing():
		return flow.Refused("nothing is evicted any more: there is nothing to confirm")
	case o.Binding != (karmada.BindingKey{}) && !moves && fs.st.Queue.Find(o.Binding) < 0:
		return flow.Refused("it neither waits nor moves: there is nothing to confirm")
	case !o.WithoutState && fs.needsState(o.Binding):
		return flow.Refused(flow.StateNeedsSource(fs.cluster))
	case fs.st.Turns.Outage() == "":
		return flow.Refused(flow.UnseenOutage(fs.cluster))
	}
	return flow.RefuseOrder(o.Order)
}

// needsState tells whether a binding's state goes along only through the source.
func (fs *fences) needsState(key karmada.BindingKey) bool {
	var as queue.Item
	if at := fs.st.Queue.Find(key); at >= 0 {
		as = fs.st.Items[at]
	} else if m, moves := fs.st.Moves[key.String()]; moves {
		as = itemOf(m)
		as.Reason = m.Reason
	} else {
		return false
	}
	return as.Reason == reason.StateNeedsSource || len(fs.st.Queue.StateOf(&as)) > 0
}

// fencedOne takes a human's word about one binding to where it waits.
func (fs *fences) fencedOne(w fenceWord) {
	if at := fs.st.Queue.Find(w.binding); at >= 0 {
		fs.st.Items[at].Fence = &w.fence
		fs.waiting.lookAgain(at)
	}
	if m, moves := fs.st.Moves[w.binding.String()]; moves {
		fs.children.signal(m, workflows.SignalFenced, workflows.Fenced{Fence: w.fence})
	}
}

// spread takes a human's word to whoever waits for it.
func (fs *fences) spread(f *proof.Fence) {
	fs.st.Fenced = f
	fs.waiting.unblock()
	fs.children.tellAll(workflows.SignalFenced, func(workflows.Move) any { return workflows.Fenced{Fence: *f} })
}
