package clusterfailover

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
	"k8s.io/apimachinery/pkg/types"
)

// approvals are an operator's yes for bindings in this attempt, and the questions that wait for one.
type approvals struct {
	*run
	standing *standing
}

func (a *approvals) refuseApprove(o workflows.ScopedOrder) error {
	if err := a.standing.refuseScoped("approve", o); err != nil {
		return err
	}
	switch {
	case a.st.FailoverID != "" && !a.enforcing():
		return flow.Refused("this failover observes: nothing moves, so nothing needs approval")
	case a.st.Listed.IsZero():
		return flow.Refused("nothing is listed yet: nobody is asked for anything")
	case len(a.st.Approvals) >= maxStanding:
		return flow.Refused(fmt.Sprintf("%d approvals were given in this attempt already; give one for the namespace, or for all", maxStanding))
	}
	if waiting, fenced := a.approvable(o.Scope); len(waiting)+len(fenced) == 0 {
		return flow.Refused("nothing of " + o.String() + " waits for a move that is not approved already: there is nothing to approve")
	}
	return nil
}

// approvable are those that a yes concerns now, by their place in the queue or, where
// they wait for a fence, as moves: a taint makes them move, nothing of theirs is
// written, and no approval covers them yet.
func (a *approvals) approvable(scope queue.Scope) (waiting []int, fenced []workflows.Migration) {
	for at := range a.st.Items {
		i := &a.st.Items[at]
		if i.Affected && !i.Permanent && i.State != queue.Idle && scope.Covers(i.Key) && a.unapproved(i, scope) {
			waiting = append(waiting, at)
		}
	}
	for _, key := range workflow.DeterministicKeys(a.st.Migrations) {
		m := a.st.Migrations[key]
		if m.Phase == phase.MigrationAwaitingFence && m.Unwritten() && scope.Covers(m.Key) && a.approvalOf(m.Key, m.UID) == nil {
			fenced = append(fenced, m)
		}
	}
	return waiting, fenced
}

// unapproved reports whether a yes for a scope says more about a binding than an earlier one.
func (a *approvals) unapproved(i *queue.Item, scope queue.Scope) bool {
	earlier := a.approvalOf(i.Key, i.UID)
	return earlier == nil || scope.One() && i.Capped() && !earlier.ForOne
}

// approve records an operator's yes, and has those looked at again that waited for it.
func (a *approvals) approve(o workflows.ScopedOrder) string {
	yes := workflows.Approval{ScopedOrder: o, At: a.now(), Bindings: &queue.BindingSet{}}
	asked := 0
	waiting, fenced := a.approvable(o.Scope)
	for _, m := range fenced {
		yes.Bindings.Add(m.Key, m.UID)
	}
	for _, at := range waiting {
		i := &a.st.Items[at]
		yes.Bindings.Add(i.Key, i.UID)
		switch {
		case i.State == queue.Blocked && (i.Reason == reason.AwaitingApproval || i.Reason == reason.ApprovalExpired):
			i.Reason, i.AskedAt = reason.AwaitingApproval, time.Time{}
		case o.One() && i.Capped():
		default:
			continue
		}
		asked++
		i.RetryAt, i.Tries = time.Time{}, 0
	}
	yes.Count = yes.Bindings.Len()
	a.trail.ordered(workflows.UpdateApprove, o.Order, o.Scope, "bindings", strconv.Itoa(yes.Count))
	a.st.Approvals, a.dirty = append(a.st.Approvals, yes), true
	return fmt.Sprintf("approved %s for this attempt: %d bindings, %d of them waited for it; every other check stays, and what comes later is asked anew%s",
		o.Scope, yes.Count, asked, a.standing.tally(o.Scope, time.Time{}).notTouched())
}

// approvalOf is the yes for a binding in this attempt, nil without.
func (a *approvals) approvalOf(key karmada.BindingKey, uid types.UID) *queue.Approval {
	for n := len(a.st.Approvals) - 1; n >= 0; n-- {
		if yes := a.st.Approvals[n]; yes.Bindings.Has(key, uid) {
			return &queue.Approval{Who: yes.Who, Why: yes.Reason, At: yes.At, Attempt: a.st.Attempt, ForOne: yes.One()}
		}
	}
	return nil
}

// asked begins the time of a question that blocks an item, unless it was answered while
// it was being asked.
func (a *approvals) asked(i *queue.Item, rules []queue.ApprovalRule) {
	if i.Reason != reason.AwaitingApproval {
		return
	}
	if slices.Contains(rules, queue.AskReplicas) && !slices.Contains(a.st.Asking, queue.AskReplicas) {
		a.st.Asking = append(a.st.Asking, queue.AskReplicas)
	}
	switch {
	case a.approvalOf(i.Key, i.UID) != nil:
		i.RetryAt, i.Tries = time.Time{}, 0
	case i.AskedAt.IsZero():
		i.AskedAt = a.now()
	}
}
