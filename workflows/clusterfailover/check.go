package clusterfailover

import (
	"fmt"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

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

// preCheck has the most urgent due bindings checked for somewhere to go, a batch at a time.
// Nothing waits for the answer: meanwhile others are dispatched, and orders obeyed.
func (e *failover) preCheck() {
	if c := e.checks; c != nil {
		if !c.done {
			return
		}
		e.checks = nil
		e.takeChecks(c)
	}
	batch := e.st.Queue.First(e.now(), queue.Due, min(checkBatch, checkAhead-e.st.Queue.Count(queue.Ready)-e.st.Queue.Count(queue.Hold)))
	if len(batch) == 0 {
		return
	}
	request := activities.PreCheckRequest{Cluster: e.cluster, Mode: e.st.Terms.Mode, Purge: e.st.Terms.Purge, Attempt: e.st.Attempt, Standing: e.st.Asking}
	for _, at := range batch {
		request.Items = append(request.Items, e.toCheck(e.st.Items[at]))
	}
	c := &checking{attempt: e.st.Attempt, items: request.Items}
	e.checks = c
	workflow.Go(e.ctx, func(ctx workflow.Context) {
		ctx = flow.Doing(ctx, fmt.Sprintf("is there somewhere to go for %s and %d more?", request.Items[0].Key, len(batch)-1))
		c.err = workflow.ExecuteActivity(ctx, activities.NamePreCheck, request).Get(ctx, &c.result)
		c.done, e.dirty = true, true
	})
}

// takeChecks takes the answers about those that are still due, in the attempt that asked.
func (e *failover) takeChecks(c *checking) {
	if c.attempt != e.st.Attempt {
		return
	}
	if c.err != nil {
		e.log.Error("could not pre-check", "error", c.err)
	}
	e.st.Queue.Index()
	for n, item := range c.items {
		at := e.st.Queue.At(item.Key)
		if at < 0 || e.st.Items[at].UID != item.UID || e.st.Items[at].State != queue.Due {
			continue
		}
		switch i := &e.st.Items[at]; {
		case c.err != nil:
			e.block(i, reason.Unreachable, c.err.Error())
		case n < len(c.result.Checks):
			e.checked(i, c.result.Checks[n])
		}
	}
	e.st.Queue.Sweep()
	e.startFences()
	e.dirty = e.dirty || e.adoptDirty
}

// toCheck is what a check is asked about one item, with what is frozen of it.
func (e *failover) toCheck(i queue.Item) activities.Checked {
	c := activities.Checked{
		Key: i.Key, UID: i.UID, Purge: i.Purge, Fence: e.fenceOf(i), Approval: e.approvalOf(i.Key, i.UID), State: e.stateOf(i),
	}
	if c.Purge == "" && i.Policy >= 0 && i.Policy < len(e.st.Policy) {
		c.Purge, c.PurgeBySpec = e.st.Policy[i.Policy].PurgeMode, e.st.Policy[i.Policy].PurgeBySpec
	}
	return c
}

func (e *failover) checked(i *queue.Item, c activities.Check) {
	end := record.Result{Key: i.Key, UID: i.UID, Resource: i.Resource, Reason: c.Reason, Message: c.Message, At: e.now()}
	if i.Purge == "" {
		i.Purge = c.Purge
	}
	e.unasked(i, c)
	switch c.End {
	case activities.CheckPass:
		i.Deps = c.Dependents
		i.State, i.Reason, i.Message, i.To, i.Said = queue.Ready, reason.AwaitingPermit, "", c.Candidates, ""
		if i.Deps && e.enforcing() {
			i.State, i.Message = queue.Hold, "its dependents are held first"
		}
		return
	case activities.CheckBlocked:
		e.block(i, c.Reason, c.Message)
		e.asked(i, c.Asked)
		return
	case activities.CheckFence:
		e.mustFence(i, c)
		return
	case activities.CheckNotTargeting:
		end.Outcome = phase.OutcomeMovedByOthers
		if c.Held {
			// A Lifeboat task without a Lifeboat move: adopt it.
			e.adoptDirty = true
			i.State = queue.Ended
			return
		}
	case activities.CheckGone:
		end.Outcome = phase.OutcomeGone
	case activities.CheckOptedOut:
		end.Outcome = phase.OutcomeSkipped
	}
	i.State = queue.Ended
	e.record(end)
}

// block blocks an item with its reason until it is looked at again.
func (e *failover) block(i *queue.Item, why reason.Reason, message string) {
	i.Block(e.now(), why, message, e.st.Terms.Recheck)
	e.trail.blocked(i)
}

// unblock has every blocked binding looked at again: the fleet changed.
func (e *failover) unblock() {
	for at := range e.st.Items {
		e.lookAgain(at)
	}
}

// lookAgain has a blocked binding looked at now: what blocked it may have changed.
func (e *failover) lookAgain(at int) {
	if e.st.Items[at].LookAgain() {
		e.dirty = true
	}
}
