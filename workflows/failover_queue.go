package workflows

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"go.temporal.io/sdk/workflow"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func metaTime(t time.Time) metav1.Time { return metav1.NewTime(t) }

// refreshQueue lists anew when asked to or when the list is old, and has the frozen
// policies judged anew when the cluster's taints have changed.
func (e *clusterFailover) refreshQueue() {
	if !e.now().Before(e.nextList()) {
		e.list(e.softMatters() && e.st.Listed.IsZero())
	}
	if e.softMatters() && e.softUnread() {
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
func (e *clusterFailover) listLate() {
	c := &e.st.Cluster
	moves := len(c.Hard)+len(c.Soft)+len(e.st.Virtual) > 0
	if moves && e.st.Listed.IsZero() && !e.st.Named.IsZero() {
		e.refreshQueue()
	}
}

// taintSignature changes whenever the taints do that due times follow from.
func (e *clusterFailover) taintSignature() string {
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
func (e *clusterFailover) list(soft bool) {
	e.listDirty = false
	found := map[string]bool{}
	policies := e.policyIndex()
	for page := (activities.Page{}); ; {
		var p activities.TargetingPage
		ctx := doing(e.ctx, "list the bindings on "+e.cluster)
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
		e.indexItems()
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

// policyIndex finds a frozen policy by its content.
func (e *clusterFailover) policyIndex() map[string]int {
	index := make(map[string]int, len(e.st.Policy))
	for i, p := range e.st.Policy {
		index[policyKey(p)] = i
	}
	return index
}

func policyKey(p rules.Policy) string {
	raw, err := json.Marshal(p)
	if err != nil {
		return fmt.Sprintf("%+v", p)
	}
	return string(raw)
}

// join adds a binding that targets the cluster. One that is moving is queued
// behind its move; one that was moved and released in this attempt, and came back,
// is not evicted again while anything of it may live.
func (e *clusterFailover) join(t activities.Targeting, policy rules.Policy, policies map[string]int) {
	key := t.Key.String()
	if m, moving := e.st.Moves[key]; moving {
		e.joinedAgain(t.Key, t.UID) // its outcome is the child's to tell
		if m.Placed || m.Attempt != e.st.Attempt {
			m.Again = true
			e.st.Moves[key] = m
		}
		return
	}
	at := e.itemAt(t.Key)
	if at >= 0 && e.st.Items[at].UID == t.UID && !e.freed(e.st.Items[at], t) {
		e.selectAnew(&e.st.Items[at], policy.NotDrained, policies)
		e.learnSoft(&e.st.Items[at], policy, policies)
		return
	}
	left, earlier := e.rememberedOf(t.Key, t.UID)
	e.joinedAgain(t.Key, t.UID)
	if e.settled(t) {
		return
	}
	if !earlier {
		left = leftItem{policy: e.freezePolicy(policy, policies)}
	}
	item := e.newItem(t, left)
	if at >= 0 {
		e.st.Items[at] = item
	} else {
		e.appendItem(item)
	}
}

// freed: what blocked an item holds no more.
func (e *clusterFailover) freed(i Item, t activities.Targeting) bool {
	return i.Reason == reason.Malformed && t.Malformed == "" || i.Reason == reason.SchedulerReturnsIt && e.diedHere(t)
}

// freezePolicy is the index of a policy, frozen now if it is new.
func (e *clusterFailover) freezePolicy(policy rules.Policy, policies map[string]int) int {
	index, known := policies[policyKey(policy)]
	if !known {
		index = len(e.st.Policy)
		e.st.Policy = append(e.st.Policy, policy)
		policies[policyKey(policy)] = index
	}
	return index
}

// internKind is the index of a kind, which thousands of items share.
func (e *clusterFailover) internKind(kind string) int {
	at := slices.Index(e.st.Kinds, kind)
	if at < 0 {
		at = len(e.st.Kinds)
		e.st.Kinds = append(e.st.Kinds, kind)
	}
	return at
}

// newItem blocks at once what no taint may move in this attempt.
func (e *clusterFailover) newItem(t activities.Targeting, left leftItem) Item {
	item := Item{Key: t.Key, UID: t.UID, Resource: t.Resource, Policy: left.policy, Kind: e.internKind(t.Kind), State: ItemIdle, Was: left.owes}
	switch {
	case t.Malformed != "":
		item.State, item.Reason, item.Message, item.Permanent, item.Was = ItemBlocked, reason.Malformed, cut(t.Malformed), true, true
	case e.cameBack(t) && e.st.Cluster.Drain != nil:
		item.Returned = true // moved once more, and then kept away until undrain
	case e.cameBack(t) && e.diedHere(t):
		e.notThere(t) // an ordinary move, and the first that can help it
	case e.cameBack(t):
		e.notThere(t)
		item.State, item.Reason, item.Permanent = ItemBlocked, reason.SchedulerReturnsIt, true
		item.Message = "the scheduler put it back after a release; it is not evicted again in this attempt"
	}
	if item.State == ItemBlocked {
		e.auditBlocked(&item)
	}
	return item
}

// settled: this binding has its outcome in this attempt, though it targets the cluster still.
func (e *clusterFailover) settled(t activities.Targeting) bool {
	return e.calledOff(t) || e.staysPut(t) || e.simulated(t.Key, t.UID)
}

// calledOff: a human cancelled or skipped the move of this binding in this attempt, or
// had it put back. It has its outcome, and moving it again would take the order back.
func (e *clusterFailover) calledOff(t activities.Targeting) bool {
	return e.resultAt(t.Key, t.UID) >= 0 && slices.ContainsFunc(e.st.Results, func(r record.Result) bool {
		return r.Key == t.Key && r.UID == t.UID && calledOff(r.Reason)
	})
}

// staysPut: the rule of its kind keeps it, and it has that outcome in this attempt.
func (e *clusterFailover) staysPut(t activities.Targeting) bool {
	if !t.Stays {
		return false
	}
	return e.st.Folded[string(phase.OutcomeSkipped)].Has(t.Key, t.UID) || slices.ContainsFunc(e.st.Results, func(r record.Result) bool {
		return r.Key == t.Key && r.UID == t.UID && r.Reason == reason.KindStays
	})
}

func calledOff(r reason.Reason) bool {
	return r == reason.Cancelled || r == reason.SkipOrdered || r == reason.PutBackOrdered
}

// dropMissing ends queued bindings that no longer target the cluster: another hand
// moved or deleted them before Lifeboat's write.
func (e *clusterFailover) dropMissing(found map[string]bool) {
	e.st.Items = slices.DeleteFunc(e.st.Items, func(i Item) bool {
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
func (e *clusterFailover) sortOut() {
	e.forgetSnoozes()
	e.tick()
	for at := range e.st.Items {
		e.sortOne(&e.st.Items[at])
	}
}

// sortOne is sortOut for one item, as of the last tick.
func (e *clusterFailover) sortOne(i *Item) {
	if i.Permanent {
		return
	}
	was := i.Was
	due, d := e.due(i)
	e.sortBy(i, due, d)
	if i.Was && !was {
		e.countQueued(i)
		e.auditQueued(i, due, d)
	}
}

// countQueued counts a binding that entered the queue, as Karmada's proposal wants it counted.
func (e *clusterFailover) countQueued(i *Item) {
	i.Queued = e.now()
	kind := ""
	if i.Kind < len(e.st.Kinds) {
		kind = e.st.Kinds[i.Kind]
	}
	metrics := workflow.GetMetricsHandler(e.ctx).WithTags(map[string]string{"cluster": e.cluster})
	metrics.Counter("lifeboat_evict").Inc(1)
	metrics.WithTags(map[string]string{"kind": kind}).Counter("lifeboat_evict_kind").Inc(1)
}

// sortBy is sortOne by when the item is due.
func (e *clusterFailover) sortBy(i *Item, due time.Time, d rules.Due) {
	now := e.now()
	switch {
	case !d.Affected:
		e.unmoved(i, d.Reason)
	case now.Before(due):
		i.State, i.Reason, i.Was, i.AskedAt = ItemTolerating, e.whyNotDue(i, due), true, time.Time{}
	case i.State == ItemBlocked && (e.unanswered(i) || now.Before(i.RetryAt)):
	case e.pausedOne(i.Key):
		i.State, i.Reason, i.Was = ItemPaused, reason.Paused, true
	case i.State == ItemBlocked:
		i.State = ItemDue
	case i.State == ItemIdle || i.State == ItemTolerating || i.State == ItemPaused:
		i.State, i.Reason, i.Was = ItemDue, reason.Waiting, true
	}
}

// unmoved is an item that no taint moves.
func (e *clusterFailover) unmoved(i *Item, why reason.Reason) {
	if why == reason.Malformed {
		// Not blocked: a hard taint may still come to move it.
		i.State, i.Reason, i.Was = ItemBlocked, why, true
		i.Message = cut(e.st.Policy[i.Policy].SoftMalformed)
		e.auditBlocked(i)
		return
	}
	i.State, i.Reason, i.Message, i.AskedAt = ItemIdle, why, "", time.Time{}
}

// whyNotDue tells a toleration that runs from a snooze that does.
func (e *clusterFailover) whyNotDue(i *Item, due time.Time) reason.Reason {
	if queue.Latest(e.standing.snoozed, i.Key).Equal(due) {
		return reason.Snoozed
	}
	return reason.AwaitingDue
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

// preCheck has the most urgent due bindings checked for somewhere to go, a batch at a time.
// Nothing waits for the answer: meanwhile others are dispatched, and orders obeyed.
func (e *clusterFailover) preCheck() {
	if c := e.checks; c != nil {
		if !c.done {
			return
		}
		e.checks = nil
		e.takeChecks(c)
	}
	batch := e.first(ItemDue, min(checkBatch, checkAhead-e.countReady()-e.count(ItemHold)))
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
		ctx = doing(ctx, fmt.Sprintf("is there somewhere to go for %s and %d more?", request.Items[0].Key, len(batch)-1))
		c.err = workflow.ExecuteActivity(ctx, activities.NamePreCheck, request).Get(ctx, &c.result)
		c.done, e.dirty = true, true
	})
}

// takeChecks takes the answers about those that are still due, in the attempt that asked.
func (e *clusterFailover) takeChecks(c *checking) {
	if c.attempt != e.st.Attempt {
		return
	}
	if c.err != nil {
		e.log.Error("could not pre-check", "error", c.err)
	}
	e.indexItems()
	for n, item := range c.items {
		at := e.itemAt(item.Key)
		if at < 0 || e.st.Items[at].UID != item.UID || e.st.Items[at].State != ItemDue {
			continue
		}
		switch i := &e.st.Items[at]; {
		case c.err != nil:
			e.block(i, reason.Unreachable, c.err.Error())
		case n < len(c.result.Checks):
			e.checked(i, c.result.Checks[n])
		}
	}
	e.st.Items = slices.DeleteFunc(e.st.Items, func(i Item) bool { return i.State == itemEnded })
	e.startFences()
	e.dirty = e.dirty || e.adoptDirty
}

// toCheck is what a check is asked about one item, with what is frozen of it.
func (e *clusterFailover) toCheck(i Item) activities.Checked {
	c := activities.Checked{
		Key: i.Key, UID: i.UID, Purge: i.Purge, Fence: e.fenceOf(i), Approval: e.approvalOf(i.Key, i.UID), State: e.stateOf(i),
	}
	if c.Purge == "" && i.Policy >= 0 && i.Policy < len(e.st.Policy) {
		c.Purge, c.PurgeBySpec = e.st.Policy[i.Policy].PurgeMode, e.st.Policy[i.Policy].PurgeBySpec
	}
	return c
}

// itemEnded marks an item for removal within one turn.
const itemEnded ItemState = "ended"

func (e *clusterFailover) checked(i *Item, c activities.Check) {
	end := record.Result{Key: i.Key, UID: i.UID, Resource: i.Resource, Reason: c.Reason, Message: c.Message, At: e.now()}
	if i.Purge == "" {
		i.Purge = c.Purge
	}
	e.unasked(i, c)
	switch c.End {
	case activities.CheckPass:
		i.Deps = c.Dependents
		i.State, i.Reason, i.Message, i.To, i.Said = ItemReady, reason.AwaitingPermit, "", c.Candidates, ""
		if i.Deps && e.enforcing() {
			i.State, i.Message = ItemHold, "its dependents are held first"
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
			i.State = itemEnded
			return
		}
	case activities.CheckGone:
		end.Outcome = phase.OutcomeGone
	case activities.CheckOptedOut:
		end.Outcome = phase.OutcomeSkipped
	}
	i.State = itemEnded
	e.record(end)
}

// pingPongRetry is how long a binding rests that was moved too often, before it asks again.
const pingPongRetry = 5 * time.Minute

// maxBackOff bounds the back-off of a blocked binding, in multiples of recheck.
const maxBackOff = 8

// block blocks an item with its reason until it is looked at again.
func (e *clusterFailover) block(i *Item, why reason.Reason, message string) {
	wait := e.st.Terms.Recheck << min(i.Tries, 3)
	i.Tries++
	i.State, i.Reason, i.Message = ItemBlocked, why, cut(message)
	i.RetryAt = e.now().Add(min(wait, maxBackOff*e.st.Terms.Recheck))
	if why == reason.PingPong {
		i.RetryAt = e.now().Add(pingPongRetry)
	}
	e.auditBlocked(i)
}

// unblock has every blocked binding looked at again: the fleet changed.
func (e *clusterFailover) unblock() {
	for at := range e.st.Items {
		e.lookAgain(at)
	}
}

// lookAgain has a blocked binding looked at now: what blocked it may have changed.
func (e *clusterFailover) lookAgain(at int) {
	if i := &e.st.Items[at]; i.State == ItemBlocked && !i.Permanent && i.Reason != reason.PingPong && i.Reason != reason.ApprovalExpired {
		i.RetryAt, i.Tries = time.Time{}, 0
		e.dirty = true
	}
}

// abandon ends a queued binding without a write. One that no taint ever made move owes no outcome.
func (e *clusterFailover) abandon(i Item, cancelled *Order) {
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
	case !e.enforcing() && i.State == ItemBlocked:
		r.Outcome, r.Reason = phase.OutcomeWouldBlock, i.Reason
	case i.State == ItemBlocked:
		r.Message = "it was blocked: " + string(i.Reason) + " " + i.Message
	}
	e.record(r)
}
