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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// affected is the set of bindings on the cluster, and which of them its taints move.
type affected struct {
	*run
	judgement     *judgement
	outcomes      *outcomes
	waiting       *waiting
	migrations    *migrations
	secondEvictor *secondEvictor
	policies      *policies
	listed        bool     // by this run
	listing       *listing // the list that is being read, if any
}

// listing is a list of the affected set that is being read.
type listing struct {
	soft  bool // policies of bindings are read too
	found map[string]bool
	next  activities.Page
}

// refresh lists again on demand or when the list is old, and has the frozen
// policies judged again when the cluster's taints have changed.
func (a *affected) refresh() {
	if a.listing != nil || !a.now().Before(a.nextList()) {
		a.list(a.judgement.softMatters() && a.st.Listed.IsZero())
	}
	if a.judgement.softMatters() && a.st.Queue.SoftUnread() {
		if a.listing != nil && !a.listing.soft {
			a.listing = nil
		}
		a.list(true)
	}
	if !a.policies.current() {
		a.policies.judge()
	}
	a.waiting.sortOut()
}

// foresee lists ahead of the taint, and judges under the taints that are about to stand. Where that fails, it is done
// after the taint.
func (a *affected) foresee(taints []corev1.Taint) {
	a.list(a.judgement.softMatters())
	if a.st.ListDirty {
		return
	}
	a.policies.foresee(taints)
	a.waiting.sortOut()
}

// nextList is when the affected set is to be listed: at once on demand, else in
// its time. A long list costs history: the next waits longer, by a millisecond and by
// fifteen per binding.
func (a *affected) nextList() time.Time {
	n := time.Duration(a.targeting() + len(a.st.Migrations))
	switch {
	case a.st.ListDirty && (!a.listed || n < longList):
		return a.now()
	case a.st.ListDirty:
		return a.st.Listed.Add(n * time.Millisecond)
	default:
		return a.st.Listed.Add(max(a.st.Terms.Relist, n*15*time.Millisecond))
	}
}

// targeting is how many bindings a list brings: those that observe has judged
// target the cluster still.
func (a *affected) targeting() int {
	return len(a.st.Items) + a.st.Counts[string(phase.OutcomeWouldMove)]
}

// longList is from how many bindings on lists are spaced out.
const longList = 1000

// changed: the list is the one way into the queue. It is read again when
// a binding came, or went; what is queued or moves is known already.
func (a *affected) changed(m workflows.BindingsChanged) {
	a.st.Queue.Index()
	for _, b := range m.Bindings {
		key := b.Key.String()
		at := a.st.Queue.At(b.Key)
		known := at >= 0 && a.st.Items[at].UID == b.UID
		queued := known || a.st.Ledger.WouldMove(b.Key, b.UID)
		move, moving := a.st.Migrations[key]
		if known {
			a.waiting.lookAgain(at)
		}
		if b.SecondEvictor {
			b.LastCopy = false // a search finds out
			a.secondEvictor.found(b)
		}
		if b.Deleted || (moving && move.Placed) || (!queued && !moving) {
			a.st.ListDirty, a.dirty = true, true
		}
	}
}

// list reads the affected set page by page: the first list as a whole, a later one a page in each turn, so that
// bindings go on to be dispatched meanwhile. Policies of bindings that are known already stay frozen; soft reads
// what was not read of them so far.
func (a *affected) list(soft bool) {
	if a.listing == nil {
		a.st.ListDirty, a.listing = false, &listing{soft: soft, found: map[string]bool{}}
	}
	for a.listing != nil {
		if a.listPage(a.listing); !a.st.Listed.IsZero() {
			a.dirty = a.dirty || a.listing != nil
			return
		}
	}
}

// listPage reads the next page of a list.
func (a *affected) listPage(l *listing) {
	page, err := flow.Run[activities.TargetingPage](flow.Doing(a.ctx, "list the bindings on "+a.cluster), activities.NameListTargeting, activities.ListRequest{
		Cluster: a.cluster, Mode: a.st.Terms.Mode, Page: l.next, Drain: a.st.Cluster.Drain, Soft: l.soft,
	})
	if err != nil {
		a.log.Error("could not list bindings", "error", err)
		a.leaveList()
		a.backOff()
		return
	}
	a.secondEvictor.found(page.Evicted...)
	a.st.Queue.Index()
	policies := a.st.Queue.PolicyIndex()
	for _, t := range page.Items {
		l.found[t.Key.String()] = true
		a.join(t, page.Policies[t.Policy], policies)
	}
	for _, key := range workflow.DeterministicKeys(a.st.Migrations) {
		l.found[key] = true // off the cluster for as long as it moves, and queued again where that fails
	}
	if page.Next != nil {
		l.next = *page.Next
		return
	}
	a.listing = nil
	a.st.Listed, a.listed = a.now(), true
	a.outcomes.endLater(phase.OutcomeMovedByOthers) // what the whole list did not bring back is not there any more
	a.dropMissing(l.found)
	a.migrations.pokeSilent()
}

// leaveList gives up a list that is being read. It is read again from its beginning, once bindings are dispatched.
func (a *affected) leaveList() {
	if a.listing != nil {
		a.listing, a.st.ListDirty = nil, true
	}
}

// join adds a binding that targets the cluster. One that is moving is queued
// behind its migration; one that was moved and released in this attempt, and came back,
// is not evicted again while anything of it may live.
func (a *affected) join(t activities.Targeting, policy rules.Policy, policies map[string]int) {
	key := t.Key.String()
	if m, moving := a.st.Migrations[key]; moving {
		a.st.Queue.Rejoined(t.Key, t.UID) // its outcome is the migration's to tell
		a.migrations.rejoined(m)
		return
	}
	at := a.st.Queue.At(t.Key)
	if at >= 0 && a.st.Items[at].UID == t.UID && !a.freed(a.st.Items[at], t) {
		a.st.Queue.Reread(&a.st.Items[at], policy, policies)
		return
	}
	left, earlier := a.st.Queue.Remembered(t.Key, t.UID)
	a.st.Queue.Rejoined(t.Key, t.UID)
	if a.settled(t) {
		return
	}
	if !earlier {
		left = queue.Left{Policy: a.st.Queue.Freeze(policy, policies)}
	}
	item := a.newItem(t, left)
	if at >= 0 {
		if was := a.st.Items[at]; was.UID != t.UID {
			a.left(was, record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
		}
		a.st.Items[at] = item
	} else {
		a.st.Queue.Add(item)
	}
}

// freed: what blocked an item holds no more.
func (a *affected) freed(i queue.Item, t activities.Targeting) bool {
	return i.Reason == reason.Malformed && t.Malformed == "" || i.Reason == reason.SchedulerReturnsIt && a.diedHere(t)
}

// diedHere: the scheduler has the binding on this cluster alone, and the cluster is not Ready.
// Nothing of the workload is known to live, so that another move takes nothing from it.
func (a *affected) diedHere(t activities.Targeting) bool {
	return t.Alone && a.st.Cluster.Drain == nil && a.st.Cluster.Ready != string(metav1.ConditionTrue)
}

// newItem blocks at once what no taint may move in this attempt.
func (a *affected) newItem(t activities.Targeting, left queue.Left) queue.Item {
	item := queue.Item{Key: t.Key, UID: t.UID, Resource: t.Resource, Policy: left.Policy, Kind: a.st.Queue.Kind(t.Kind), State: queue.Idle, Affected: left.Owes}
	cameBack := a.st.Ledger.Migrated(t.Key, t.UID)
	switch {
	case t.Malformed != "":
		item.State, item.Reason, item.Message, item.Permanent, item.Affected = queue.Blocked, reason.Malformed, reason.Summary(t.Malformed), true, true
	case cameBack && a.st.Cluster.Drain != nil:
		item.Returned = true // moved once more, and then kept away until undrain
	case cameBack && a.diedHere(t):
		a.st.Ledger.CameBack(t.Key, t.UID, a.cluster, t.Alone) // an ordinary move, and the first that can help it
	case cameBack:
		a.st.Ledger.CameBack(t.Key, t.UID, a.cluster, t.Alone)
		item.State, item.Reason, item.Permanent = queue.Blocked, reason.SchedulerReturnsIt, true
		item.Message = "the scheduler put it back after a release; it is not evicted again in this attempt"
	}
	if item.State == queue.Blocked {
		a.trail.blocked(&item)
	}
	return item
}

// settled: this binding has its outcome in this attempt, though it targets the cluster still.
func (a *affected) settled(t activities.Targeting) bool {
	return a.st.Ledger.CalledOff(t.Key, t.UID) || t.Stays && a.st.Ledger.StaysPut(t.Key, t.UID) || a.st.Ledger.WouldMove(t.Key, t.UID)
}

// dropMissing ends queued bindings that the list has no more: they were deleted, have opted out, or another actor moved them before
// Lifeboat's write. Where it cannot be known which, they stay until the next list.
func (a *affected) dropMissing(found map[string]bool) {
	var missing []activities.Checked
	ends := map[string]record.Result{}
	for _, i := range a.st.Items {
		if key := i.Key.String(); !found[key] && owes(i) {
			missing = append(missing, activities.Checked{Key: i.Key, UID: i.UID})
			ends[key] = record.Result{Outcome: phase.OutcomeMovedByOthers, Reason: reason.MovedByOthers}
		}
	}
	for some := range slices.Chunk(missing, longList) {
		ctx := flow.Doing(a.ctx, "were the bindings deleted that are not on "+a.cluster+" any more?")
		answer, err := flow.Run[activities.TargetingPage](ctx, activities.NameListTargeting, activities.ListRequest{Cluster: a.cluster, Missing: some})
		if err != nil {
			a.log.Error("could not read missing bindings", "error", err)
			a.st.ListDirty = true
			a.backOff()
			return
		}
		for _, key := range answer.Gone {
			ends[key.String()] = record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone}
		}
		for _, key := range answer.OptedOut {
			ends[key.String()] = record.Result{Outcome: phase.OutcomeSkipped, Reason: reason.OptedOut}
		}
	}
	a.st.Items = slices.DeleteFunc(a.st.Items, func(i queue.Item) bool {
		key := i.Key.String()
		if !found[key] {
			a.left(i, ends[key])
		}
		return !found[key]
	})
}

// left ends a queued binding that the list has no more.
func (a *affected) left(i queue.Item, end record.Result) {
	if owes(i) {
		end.Key, end.UID, end.Resource, end.At = i.Key, i.UID, i.Resource, a.now()
		a.outcomes.keep(end)
	}
}

// listLate lists the bindings that the taints that still stand move, where it was over before the
// first list came: an answer was lost for as long as the failure stood, or an operator
// stopped it. None of them moves any more, and each is owed an outcome.
func (a *affected) listLate() {
	c := &a.st.Cluster
	moves := len(c.Hard)+len(c.Soft)+len(a.st.Virtual) > 0
	if moves && a.st.Listed.IsZero() && !a.st.Confirmed.IsZero() {
		a.refresh()
	}
}

// maxPolicies and maxPolicyBytes bound how many frozen policies one activity judges: each
// has an answer of its own, and a call of more than 2 MB would end the failover.
const (
	maxPolicies    = 2000
	maxPolicyBytes = 1_000_000
)

// policies are the frozen ones: when each is due under the taints that stand.
type policies struct {
	*run
	judgement *judgement
}

// current reports whether every frozen policy was judged under the taints that stand now.
func (p *policies) current() bool {
	return p.st.Judged == p.taintSignature() && len(p.st.Dues) == len(p.st.Policy)
}

// judge has every frozen policy judged under the taints that stand now.
func (p *policies) judge() {
	if dues, ok := p.judgeUnder(p.st.Virtual); ok {
		p.judged(dues)
	}
}

// foresee judges under taints that are about to stand. Those that stand then may differ: it is judged again.
func (p *policies) foresee(taints []corev1.Taint) {
	if dues, ok := p.judgeUnder(taints); ok {
		p.st.Queue.Judged(dues)
		p.st.Judged = ""
	}
}

// judged takes the judgement of every policy under the taints that are known to stand.
func (p *policies) judged(dues []rules.Due) {
	p.st.Queue.Judged(dues)
	p.st.Judged = p.taintSignature()
}

// judgeUnder has every frozen policy judged under the taints that stand and virtual ones; false means that this could
// not be done for now.
func (p *policies) judgeUnder(virtual []corev1.Taint) (dues []rules.Due, ok bool) {
	under := ""
	for len(dues) < len(p.st.Policy) {
		some, ok := p.judgeSome(fit(p.st.Policy[len(dues):]), virtual)
		if !ok {
			return nil, false
		}
		if is := p.taintSignature(); len(dues) > 0 && is != under {
			p.dirty = true // they changed between two parts: the next turn judges again
			return nil, false
		}
		dues, under = append(dues, some...), p.taintSignature()
	}
	return dues, true
}

// judgeSome has some policies judged, and takes the taints that stand; false means that this could not be done for
// now.
func (p *policies) judgeSome(policies []rules.Policy, virtual []corev1.Taint) ([]rules.Due, bool) {
	ctx := flow.Doing(p.ctx, "judge whom the taints of "+p.cluster+" move, and when")
	r, err := flow.Run[activities.PoliciesResult](ctx, activities.NameAssessPolicies, activities.PoliciesRequest{
		Cluster: p.cluster, UID: p.st.UID, Policies: policies, Virtual: virtual,
	})
	if err != nil {
		p.log.Error("could not judge policies", "error", err)
		return nil, false
	}
	if r.Gone {
		p.clusterDirty, p.dirty = true, true
		return nil, false
	}
	if !p.enforcing() || len(virtual) == 0 { // those that are only about to stand are not taken
		p.judgement.tainted(r.Hard, r.Soft)
	}
	return r.Dues, len(r.Dues) == len(policies)
}

// fit are as many of the first policies as one activity takes, one at least.
func fit(policies []rules.Policy) []rules.Policy {
	bytes := 0
	for n := range policies {
		if bytes += workflows.SizeOf(policies[n]); n > 0 && (n >= maxPolicies || bytes > maxPolicyBytes) {
			return policies[:n]
		}
	}
	return policies
}

// taintSignature changes whenever the taints do that due times follow from.
func (p *policies) taintSignature() string {
	taints := slices.Concat(p.st.Cluster.Hard, p.st.Cluster.Soft, p.st.Virtual)
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
