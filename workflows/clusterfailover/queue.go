package clusterfailover

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
	policies := e.policyIndex()
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
func (e *failover) policyIndex() map[string]int {
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
func (e *failover) join(t activities.Targeting, policy rules.Policy, policies map[string]int) {
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
func (e *failover) freed(i queue.Item, t activities.Targeting) bool {
	return i.Reason == reason.Malformed && t.Malformed == "" || i.Reason == reason.SchedulerReturnsIt && e.diedHere(t)
}

// freezePolicy is the index of a policy, frozen now if it is new.
func (e *failover) freezePolicy(policy rules.Policy, policies map[string]int) int {
	index, known := policies[policyKey(policy)]
	if !known {
		index = len(e.st.Policy)
		e.st.Policy = append(e.st.Policy, policy)
		policies[policyKey(policy)] = index
	}
	return index
}

// internKind is the index of a kind, which thousands of items share.
func (e *failover) internKind(kind string) int {
	at := slices.Index(e.st.Kinds, kind)
	if at < 0 {
		at = len(e.st.Kinds)
		e.st.Kinds = append(e.st.Kinds, kind)
	}
	return at
}

// newItem blocks at once what no taint may move in this attempt.
func (e *failover) newItem(t activities.Targeting, left leftItem) queue.Item {
	item := queue.Item{Key: t.Key, UID: t.UID, Resource: t.Resource, Policy: left.policy, Kind: e.internKind(t.Kind), State: queue.Idle, Was: left.owes}
	switch {
	case t.Malformed != "":
		item.State, item.Reason, item.Message, item.Permanent, item.Was = queue.Blocked, reason.Malformed, flow.Cut(t.Malformed), true, true
	case e.cameBack(t) && e.st.Cluster.Drain != nil:
		item.Returned = true // moved once more, and then kept away until undrain
	case e.cameBack(t) && e.diedHere(t):
		e.notThere(t) // an ordinary move, and the first that can help it
	case e.cameBack(t):
		e.notThere(t)
		item.State, item.Reason, item.Permanent = queue.Blocked, reason.SchedulerReturnsIt, true
		item.Message = "the scheduler put it back after a release; it is not evicted again in this attempt"
	}
	if item.State == queue.Blocked {
		e.auditBlocked(&item)
	}
	return item
}

// settled: this binding has its outcome in this attempt, though it targets the cluster still.
func (e *failover) settled(t activities.Targeting) bool {
	return e.calledOff(t) || e.staysPut(t) || e.simulated(t.Key, t.UID)
}

// calledOff: a human cancelled or skipped the move of this binding in this attempt, or
// had it put back. It has its outcome, and moving it again would take the order back.
func (e *failover) calledOff(t activities.Targeting) bool {
	return e.resultAt(t.Key, t.UID) >= 0 && slices.ContainsFunc(e.st.Results, func(r record.Result) bool {
		return r.Key == t.Key && r.UID == t.UID && calledOff(r.Reason)
	})
}

// staysPut: the rule of its kind keeps it, and it has that outcome in this attempt.
func (e *failover) staysPut(t activities.Targeting) bool {
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
	e.tick()
	for at := range e.st.Items {
		e.sortOne(&e.st.Items[at])
	}
}

// sortOne is sortOut for one item, as of the last tick.
func (e *failover) sortOne(i *queue.Item) {
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
func (e *failover) countQueued(i *queue.Item) {
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
func (e *failover) sortBy(i *queue.Item, due time.Time, d rules.Due) {
	now := e.now()
	switch {
	case !d.Affected:
		e.unmoved(i, d.Reason)
	case now.Before(due):
		i.State, i.Reason, i.Was, i.AskedAt = queue.Tolerating, e.whyNotDue(i, due), true, time.Time{}
	case i.State == queue.Blocked && (e.unanswered(i) || now.Before(i.RetryAt)):
	case e.pausedOne(i.Key):
		i.State, i.Reason, i.Was = queue.Paused, reason.Paused, true
	case i.State == queue.Blocked:
		i.State = queue.Due
	case i.State == queue.Idle || i.State == queue.Tolerating || i.State == queue.Paused:
		i.State, i.Reason, i.Was = queue.Due, reason.Waiting, true
	}
}

// unmoved is an item that no taint moves.
func (e *failover) unmoved(i *queue.Item, why reason.Reason) {
	if why == reason.Malformed {
		// Not blocked: a hard taint may still come to move it.
		i.State, i.Reason, i.Was = queue.Blocked, why, true
		i.Message = flow.Cut(e.st.Policy[i.Policy].SoftMalformed)
		e.auditBlocked(i)
		return
	}
	i.State, i.Reason, i.Message, i.AskedAt = queue.Idle, why, "", time.Time{}
}

// whyNotDue tells a toleration that runs from a snooze that does.
func (e *failover) whyNotDue(i *queue.Item, due time.Time) reason.Reason {
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

// itemEnded marks an item for removal within one turn.
const itemEnded queue.State = "ended"

// pingPongRetry is how long a binding rests that was moved too often, before it asks again.
const pingPongRetry = 5 * time.Minute

// maxBackOff bounds the back-off of a blocked binding, in multiples of recheck.
const maxBackOff = 8

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
