package clusterfailover

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// preCheck asks, a batch at a time, whether there is somewhere to go for the bindings that are due.
type preCheck struct {
	*run
	outcomes  *outcomes
	waiting   *waiting
	approvals *approvals
	fences    *fences
	running   *checking // nil when none does
}

// checkBatch and checkAhead bound how many bindings one activity pre-checks, and
// how many are kept ready ahead of the pace.
const (
	checkBatch = 50
	checkAhead = 200
)

// checking is a pre-check that runs beside everything else.
type checking struct {
	attempt int
	items   []activities.Checked
	result  activities.PreCheckResult
	err     error
	done    bool
}

// step has the most urgent due bindings checked for somewhere to go, a batch at a time.
// Nothing waits for the answer: meanwhile others are dispatched, and orders obeyed.
func (p *preCheck) step() {
	if !p.answered() {
		return
	}
	if c := p.running; c != nil {
		p.running = nil
		p.takeAnswers(c)
	}
	batch := p.st.Queue.First(p.now(), min(checkBatch, checkAhead-p.ahead()), queue.In(queue.Due))
	if len(batch) == 0 {
		return
	}
	request := activities.PreCheckRequest{Cluster: p.cluster, Mode: p.st.Terms.Mode, Purge: p.st.Terms.Purge, Attempt: p.st.Attempt, Standing: p.st.Asking}
	for _, at := range batch {
		request.Items = append(request.Items, p.toCheck(p.st.Items[at]))
	}
	c := &checking{attempt: p.st.Attempt, items: request.Items}
	p.running = c
	whom := c.items[0].Key.String()
	if more := len(c.items) - 1; more > 0 {
		whom += fmt.Sprintf(" and %d more", more)
	}
	workflow.Go(p.ctx, func(ctx workflow.Context) {
		ctx = flow.Doing(ctx, "is there somewhere to go for "+whom+"?")
		c.err = workflow.ExecuteActivity(ctx, activities.NamePreCheck, request).Get(ctx, &c.result)
		c.done, p.dirty = true, true
	})
}

// ahead is how many have passed and may begin. What may not, for want of a place, keeps nothing from its check: it may be
// what follows the very workloads that are still to be checked.
func (p *preCheck) ahead() int {
	following, _ := p.fences.migrations.counts().places(p.st.Terms)
	passed := func(i *queue.Item) bool { return i.State == queue.Ready || i.State == queue.Hold }
	followers := p.st.Queue.Count(func(i *queue.Item) bool { return passed(i) && i.Follows })
	return p.st.Queue.Count(passed) - followers + min(followers, following)
}

// answered reports whether no answer is awaited.
func (p *preCheck) answered() bool { return p.running == nil || p.running.done }

// takeAnswers takes the answers about those that are still due, in the attempt that asked.
func (p *preCheck) takeAnswers(c *checking) {
	if c.attempt != p.st.Attempt {
		return
	}
	if c.err != nil {
		p.log.Error("could not pre-check", "error", c.err)
	}
	p.st.Queue.Index()
	for n, item := range c.items {
		at := p.st.Queue.At(item.Key)
		if at < 0 || p.st.Items[at].UID != item.UID || p.st.Items[at].State != queue.Due {
			continue
		}
		switch i := &p.st.Items[at]; {
		case c.err != nil:
			p.waiting.block(i, reason.Unreachable, c.err.Error())
		case n < len(c.result.Checks):
			p.checked(i, c.result.Checks[n])
		}
	}
	p.st.Queue.Sweep()
	p.fences.start()
	p.dirty = p.dirty || p.st.AdoptDirty
}

// toCheck is what a check is asked about one item, with what is frozen of it.
func (p *preCheck) toCheck(i queue.Item) activities.Checked {
	c := activities.Checked{
		Key: i.Key, UID: i.UID, Purge: i.Purge, Fence: p.st.Queue.FenceOf(&i, p.st.Fenced), Approval: p.approvals.approvalOf(i.Key, i.UID), State: p.st.Queue.StateOf(&i),
	}
	if policy := p.st.Queue.PolicyOf(&i); c.Purge == "" && policy != nil {
		c.Purge, c.PurgeBySpec = policy.PurgeMode, policy.PurgeBySpec
	}
	return c
}

func (p *preCheck) checked(i *queue.Item, c activities.Check) {
	end := record.Result{Key: i.Key, UID: i.UID, Resource: i.Resource, Reason: c.Reason, Message: c.Message, At: p.now()}
	i.Purge = cmp.Or(i.Purge, c.Purge)
	if c.Reason != reason.AwaitingApproval { // a fresh check does not ask any more
		i.AskedAt = time.Time{}
	}
	switch c.End {
	case activities.CheckPass:
		i.Deps, i.Follows = c.Dependents, c.Follows
		i.State, i.Reason, i.Message, i.To, i.Said = queue.Ready, reason.AwaitingPermit, "", c.Candidates, ""
		if i.Deps && p.enforcing() {
			i.State, i.Message = queue.Hold, "its dependents are held first"
		}
		return
	case activities.CheckBlocked:
		p.waiting.block(i, c.Reason, c.Message)
		p.approvals.asked(i, c.Asked)
		return
	case activities.CheckFence:
		p.mustFence(i, c)
		return
	case activities.CheckNotTargeting:
		end.Outcome = phase.OutcomeMovedByOthers
		if c.Held {
			// A Lifeboat task without a Lifeboat move: adopt it.
			p.st.AdoptDirty = true
			i.State = queue.Ended
			return
		}
	case activities.CheckGone:
		end.Outcome = phase.OutcomeGone
	case activities.CheckOptedOut:
		end.Outcome = phase.OutcomeSkipped
	}
	i.State = queue.Ended
	p.outcomes.keep(end)
}

// mustFence sends an item to wait for a fence, as far as there is room for one more
// that waits. In observe it only says so.
func (p *preCheck) mustFence(i *queue.Item, c activities.Check) {
	if !p.enforcing() {
		p.waiting.block(i, c.Reason, c.Message)
		return
	}
	i.State, i.Reason, i.Message, i.To = queue.Fence, c.Reason, reason.Summary(c.Message), c.Candidates
}

// fences are the proofs that old copies are dead: an operator's confirmation, and the migrations that wait for one.
type fences struct {
	*run
	waiting    *waiting
	migrations *migrations
}

// start gives each item that waits for a fence a migration of its own, where
// operators and plug-ins can answer. It has no permit; once fenced it comes back to the
// queue and moves in its turn.
func (fs *fences) start() {
	for {
		at := slices.IndexFunc(fs.st.Items, func(i queue.Item) bool { return i.State == queue.Fence })
		if at < 0 {
			fs.migrations.begin()
			return
		}
		if fs.migrations.counts().waiting() >= fs.st.Terms.Waiting {
			fs.waiting.block(&fs.st.Items[at], reason.WaitingFull, "it waits for a fence, and too many wait already")
			continue
		}
		i := fs.st.Queue.Remove(at)
		_, why := fs.st.Queue.Due(fs.now(), &i)
		fs.migrations.start(i, workflows.MigrationState{Start: workflows.StartAwaitFence, Why: why, To: i.To})
	}
}

func (fs *fences) confirm(o workflows.FenceOrder) string {
	fs.trail.ordered(workflows.UpdateConfirmFenced, o.Order, queue.Scope{Binding: o.Binding}, "withoutState", flow.Yes(o.WithoutState))
	fs.orders.confirmations = append(fs.orders.confirmations, confirmation{o.Binding, o.Fence(fs.now(), fs.st.Turns.Outage())})
	fs.dirty = true
	about := "what waited for a fence of " + fs.cluster
	if o.Binding.Name != "" {
		about = o.Binding.String()
	}
	return "recorded: " + about + " goes on in its turn, for as long as the cluster does not come back"
}

// refuse: a cluster that answers needs no fence, and a confirmation given too
// early would be void anyway.
func (fs *fences) refuse(o workflows.FenceOrder) error {
	_, moves := fs.st.Migrations[o.Binding.String()]
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

// needsState reports whether a binding's state goes along only through the source.
func (fs *fences) needsState(key karmada.BindingKey) bool {
	var as queue.Item
	if at := fs.st.Queue.Find(key); at >= 0 {
		as = fs.st.Items[at]
	} else if m, moves := fs.st.Migrations[key.String()]; moves {
		as = itemOf(m)
		as.Reason = m.Reason
	} else {
		return false
	}
	return as.Reason == reason.StateNeedsSource || len(fs.st.Queue.StateOf(&as)) > 0
}

// fencedOne takes an operator's confirmation for one binding to where it waits.
func (fs *fences) fencedOne(w confirmation) {
	if at := fs.st.Queue.Find(w.binding); at >= 0 {
		fs.st.Items[at].Fence = &w.fence
		fs.waiting.lookAgain(at)
	}
	if m, moves := fs.st.Migrations[w.binding.String()]; moves {
		m.Fence = &w.fence // before it is told: it may be ending just now, with nothing written
		fs.migrations.note(m)
		fs.migrations.signal(m, workflows.SignalFenced, workflows.Fenced{Fence: w.fence})
	}
}

// spread passes an operator's confirmation to the bindings that wait for it.
func (fs *fences) spread(f *proof.Fence) {
	fs.st.Fenced = f
	fs.waiting.unblock()
	fs.migrations.signalAll(workflows.SignalFenced, func(workflows.Migration) any { return workflows.Fenced{Fence: *f} })
}
