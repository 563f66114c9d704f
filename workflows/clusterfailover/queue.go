package clusterfailover

import (
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func metaTime(t time.Time) metav1.Time { return metav1.NewTime(t) }

// refreshQueue lists anew when asked to or when the list is old, and has the frozen
// policies judged anew when the cluster's taints have changed.
func (e *failover) refreshQueue() {
	if !e.now().Before(e.nextList()) {
		e.list(e.softMatters() && e.st.Listed.IsZero())
	}
	if e.softMatters() && e.st.Queue.SoftUnread() {
		e.list(true)
	}
	if e.st.Judged != e.taintSignature() || len(e.st.Dues) != len(e.st.Policy) {
		e.judgePolicies()
	}
	e.sortOut()
}

// listLate lists whom the taints that still stand move, where it was over before the
// first list came: an answer was lost for as long as the failure stood, or a human
// stopped it. None of them moves any more, and each is owed an outcome.
func (e *failover) listLate() {
	c := &e.st.Cluster
	moves := len(c.Hard)+len(c.Soft)+len(e.st.Virtual) > 0
	if moves && e.st.Listed.IsZero() && !e.st.Named.IsZero() {
		e.refreshQueue()
	}
}

// taintSignature changes whenever the taints do that due times follow from.
func (e *failover) taintSignature() string {
	taints := slices.Concat(e.st.Cluster.Hard, e.st.Cluster.Soft, e.st.Virtual)
	parts := make([]string, 0, len(taints))
	for _, t := range taints {
		at := ""
		if t.TimeAdded != nil {
			at = t.TimeAdded.UTC().Format(time.RFC3339)
		}
		parts = append(parts, t.Key+"="+t.Value+":"+string(t.Effect)+"@"+at)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// list reads the affected set page by page. Policies of bindings that are known
// already stay frozen; soft asks what was not read of them so far.
func (e *failover) list(soft bool) {
	e.listDirty = false
	found := map[string]bool{}
	policies := e.st.Queue.PolicyIndex()
	for page := (activities.Page{}); ; {
		var p activities.TargetingPage
		ctx := flow.Doing(e.ctx, "list the bindings on "+e.cluster)
		request := activities.ListRequest{
			Cluster: e.cluster, Mode: e.st.Terms.Mode, Page: page, Drain: e.st.Cluster.Drain, Soft: soft,
		}
		if err := workflow.ExecuteActivity(ctx, activities.NameListTargeting, request).Get(ctx, &p); err != nil {
			e.log.Error("could not list bindings", "error", err)
			e.listDirty = true
			e.backOff()
			return
		}
		e.evictedByOthers(p.Evicted...)
		e.st.Queue.Index()
		for _, t := range p.Items {
			found[t.Key.String()] = true
			e.join(t, p.Policies[t.Policy], policies)
		}
		if p.Next == nil {
			break
		}
		page = *p.Next
	}
	e.st.Listed, e.listed = e.now(), true
	e.endLater(phase.OutcomeMovedByOthers) // what the whole list did not bring back is not there any more
	e.dropMissing(found)
	e.pokeSilent()
}

// join adds a binding that targets the cluster. One that is moving is queued
// behind its move; one that was moved and released in this attempt, and came back,
// is not evicted again while anything of it may live.
func (e *failover) join(t activities.Targeting, policy rules.Policy, policies map[string]int) {
	key := t.Key.String()
	if m, moving := e.st.Moves[key]; moving {
		e.st.Queue.Rejoined(t.Key, t.UID) // its outcome is the child's to tell
		if m.Placed || m.Attempt != e.st.Attempt {
			m.Again = true
			e.st.Moves[key] = m
		}
		return
	}
	at := e.st.Queue.At(t.Key)
	if at >= 0 && e.st.Items[at].UID == t.UID && !e.freed(e.st.Items[at], t) {
		e.selectAnew(&e.st.Items[at], policy.NotDrained, policies)
		e.st.Queue.LearnSoft(&e.st.Items[at], policy, policies)
		return
	}
	left, earlier := e.st.Queue.Remembered(t.Key, t.UID)
	e.st.Queue.Rejoined(t.Key, t.UID)
	if e.settled(t) {
		return
	}
	if !earlier {
		left = queue.Left{Policy: e.st.Queue.Freeze(policy, policies)}
	}
	item := e.newItem(t, left)
	if at >= 0 {
		e.st.Items[at] = item
	} else {
		e.st.Queue.Add(item)
	}
}

// freed: what blocked an item holds no more.
func (e *failover) freed(i queue.Item, t activities.Targeting) bool {
	return i.Reason == reason.Malformed && t.Malformed == "" || i.Reason == reason.SchedulerReturnsIt && e.diedHere(t)
}

// newItem blocks at once what no taint may move in this attempt.
func (e *failover) newItem(t activities.Targeting, left queue.Left) queue.Item {
	item := queue.Item{Key: t.Key, UID: t.UID, Resource: t.Resource, Policy: left.Policy, Kind: e.st.Queue.Kind(t.Kind), State: queue.Idle, Was: left.Owes}
	cameBack := e.st.Ledger.Migrated(t.Key, t.UID)
	switch {
	case t.Malformed != "":
		item.State, item.Reason, item.Message, item.Permanent, item.Was = queue.Blocked, reason.Malformed, reason.Summary(t.Malformed), true, true
	case cameBack && e.st.Cluster.Drain != nil:
		item.Returned = true // moved once more, and then kept away until undrain
	case cameBack && e.diedHere(t):
		e.notThere(t) // an ordinary move, and the first that can help it
	case cameBack:
		e.notThere(t)
		item.State, item.Reason, item.Permanent = queue.Blocked, reason.SchedulerReturnsIt, true
		item.Message = "the scheduler put it back after a release; it is not evicted again in this attempt"
	}
	if item.State == queue.Blocked {
		e.trail.blocked(&item)
	}
	return item
}

// settled: this binding has its outcome in this attempt, though it targets the cluster still.
func (e *failover) settled(t activities.Targeting) bool {
	return e.st.Ledger.CalledOff(t.Key, t.UID) || t.Stays && e.st.Ledger.StaysPut(t.Key, t.UID) || e.st.Ledger.WouldMove(t.Key, t.UID)
}

// dropMissing ends queued bindings that no longer target the cluster: another hand
// moved or deleted them before Lifeboat's write.
func (e *failover) dropMissing(found map[string]bool) {
	e.st.Items = slices.DeleteFunc(e.st.Items, func(i queue.Item) bool {
		if found[i.Key.String()] {
			return false
		}
		if i.Was && i.Reason != reason.SchedulerReturnsIt {
			e.record(record.Result{
				Key: i.Key, UID: i.UID, Resource: i.Resource, Outcome: phase.OutcomeMovedByOthers, Reason: reason.MovedByOthers, At: e.now(),
			})
		}
		return true
	})
}

// sortOut moves items between states as time passes and taints change.
func (e *failover) sortOut() {
	e.forgetSnoozes()
	for at := range e.st.Items {
		e.sortOne(&e.st.Items[at])
	}
}

// sortOne is sortOut for one item.
func (e *failover) sortOne(i *queue.Item) {
	change := e.st.Queue.Sort(e.now(), i, e.st.Terms.AskFor)
	if change.Blocked {
		e.trail.blocked(i)
	}
	if change.Entered {
		e.countQueued(i)
		due, why := e.st.Queue.Due(e.now(), i)
		e.trail.queued(i, due, why)
	}
}

// countQueued counts a binding that entered the queue, as Karmada's proposal wants it counted.
func (e *failover) countQueued(i *queue.Item) {
	metrics := workflow.GetMetricsHandler(e.ctx).WithTags(map[string]string{"cluster": e.cluster})
	metrics.Counter("lifeboat_evict").Inc(1)
	metrics.WithTags(map[string]string{"kind": e.st.Queue.KindOf(i)}).Counter("lifeboat_evict_kind").Inc(1)
}

// abandon ends a queued binding without a write. One that no taint ever made move owes no outcome.
func (e *failover) abandon(i queue.Item, cancelled *workflows.Order) {
	if !i.Was || i.Reason == reason.SchedulerReturnsIt {
		return
	}
	r := record.Result{
		Key: i.Key, UID: i.UID, Resource: i.Resource, Outcome: phase.OutcomeAbandoned, Reason: reason.ClusterRecovered,
		Cause: record.CauseRecovery, At: e.now(), Message: i.Message,
	}
	switch {
	case cancelled != nil:
		r.Reason, r.Cause = reason.Cancelled, "cancelled by "+cancelled.Who+": "+cancelled.Reason
	case !e.enforcing() && i.State == queue.Blocked:
		r.Outcome, r.Reason = phase.OutcomeWouldBlock, i.Reason
	case i.State == queue.Blocked:
		r.Message = "it was blocked: " + string(i.Reason) + " " + i.Message
	}
	e.record(r)
}
