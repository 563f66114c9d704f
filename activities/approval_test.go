package activities_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// yes is an operator's approval for the first attempt.
var yes = &queue.Approval{Who: "jane", Why: "it is known", At: time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC), Attempt: 1}

// preCheck checks app on m1.
func (b *bench) preCheck(edit ...func(*activities.PreCheckRequest)) activities.Check {
	b.t.Helper()
	r := activities.PreCheckRequest{Cluster: "m1", Mode: rules.ModeEnforce, Attempt: 1, Items: []activities.Checked{{Key: appKey("app")}}}
	for _, e := range edit {
		e(&r)
	}
	return b.preChecks(r).Checks[0]
}

func labelled(name, value string) func(*karmada.Binding) {
	return func(x *karmada.Binding) { x.WorkloadLabels = map[string]string{name: value} }
}

// asking are the ways to have the rules ask for app on m1.
var asking = map[string]func(*bench) queue.ApprovalRules{
	"its namespace": func(*bench) queue.ApprovalRules { return queue.ApprovalRules{Namespaces: []string{"shop"}} },
	"its labels": func(b *bench) queue.ApprovalRules {
		b.does(app(labelled("tier", "gold")))
		return queue.ApprovalRules{Selector: "tier=gold"}
	},
	"clusters that fail": func(*bench) queue.ApprovalRules { return queue.ApprovalRules{ClustersAbove: fixtures.Ptr(0)} },
	"a share of the replicas": func(b *bench) queue.ApprovalRules {
		b.bind("elsewhere", func(x *karmada.Binding) { x.Clusters = on("m3") })
		return queue.ApprovalRules{ReplicasAbove: fixtures.Ptr(49.0)}
	},
	"too little room": func(b *bench) queue.ApprovalRules {
		b.hasPods("m2", 100, 99)
		b.hasPods("m3", 100, 100)
		return queue.ApprovalRules{CapacityDeficit: true}
	},
	"purge mode Directly": func(b *bench) queue.ApprovalRules {
		b.purge = karmada.PurgeDirectly
		return queue.ApprovalRules{Directly: true}
	},
}

// Rules: R4.6-21, R4.6-22, R4.6-29.
func TestWhatARuleAsksForWaitsForAnOperatorAtTheCheckAndAtTheWrite(t *testing.T) {
	for name, rules := range asking {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.acts.Settings.Approval = rules(b)
			b.fail()
			var raised events
			b.acts.Events = &raised
			check := b.preCheck()
			require.Equal(t, activities.CheckBlocked, check.End)
			require.Equal(t, reason.AwaitingApproval, check.Reason)
			require.Len(t, check.Asked, 1)
			require.NotEmpty(t, check.Message)
			require.Len(t, raised, 1)
			require.Equal(t, "EvictWorkloadFromClusterAwaitingApproval", raised[0].Reason)
			require.Contains(t, raised[0].Message, "lifeboat approve shop/app --cluster m1")
			b.preCheck(func(r *activities.PreCheckRequest) { r.Application = true })
			require.Contains(t, raised[1].Message, "lifeboat approve shop/app --reason")

			// A yes of another attempt, or of nobody, is none.
			for _, no := range []*queue.Approval{nil, {Attempt: 1}, {Who: "jane", Attempt: 2}} {
				evictRow{reason: reason.AwaitingApproval}.run(t, b, b.approvedRequest(no))
			}

			check = b.preCheck(func(r *activities.PreCheckRequest) { r.Items[0].Approval = yes })
			require.NotEqual(t, reason.AwaitingApproval, check.Reason)
			if name == "purge mode Directly" {
				require.Equal(t, activities.CheckFence, check.End, "the fence is asked for all the same")
				return
			}
			require.Equal(t, activities.CheckPass, check.End, check.Message)
			evictRow{end: activities.EvictWritten, reason: reason.Written}.run(t, b, b.approvedRequest(yes))
		})
	}
}

func (b *bench) approvedRequest(a *queue.Approval) activities.EvictRequest {
	r := b.evictRequest()
	r.Attempt, r.Approval, r.Purge = 1, a, b.purge
	return r
}

// Rules: R4.6-21.
func TestWhatNoRuleAsksForIsAutomatic(t *testing.T) {
	b := newBench(t)
	b.bind("elsewhere", func(x *karmada.Binding) { x.Clusters = on("m3") })
	b.hasPods("m2", 100, 0)
	b.acts.Settings.Approval = queue.ApprovalRules{
		ClustersAbove: fixtures.Ptr(1), ReplicasAbove: fixtures.Ptr(50.0), CapacityDeficit: true, Directly: true,
		Namespaces: []string{"bank"}, Selector: "tier=gold",
	}
	b.fail()
	require.Equal(t, activities.CheckPass, b.preCheck().End)
	require.Equal(t, activities.EvictWritten, b.evict().End)
}

// A second cluster fails between the check and the write.
// Rules: R4.6-29.
func TestTheWriteJudgesTheApprovalRulesOnceMore(t *testing.T) {
	b := newBench(t)
	b.acts.Settings.Approval = queue.ApprovalRules{ClustersAbove: fixtures.Ptr(1)}
	b.fail()
	require.Equal(t, activities.CheckPass, b.preCheck().End)
	evictRow{world: notReady("m3"), reason: reason.AwaitingApproval}.run(t, b, b.evictRequest())
	require.Contains(t, b.evict().Message, "2 clusters failing at once (m1, m3)")
}

// Rules: R4.6-22.
func TestAnApprovalReplacesNoOtherCheck(t *testing.T) {
	for name, c := range map[string]evictRow{
		"nowhere to go":     {world: nothingFits, reason: reason.NoTarget},
		"recovered":         {world: recovered, end: activities.EvictNotAffected, reason: reason.NoTaint},
		"opted out":         {world: excluded, end: activities.EvictOptedOut, reason: reason.OptedOut},
		"moved by others":   {world: app(movedByOthers), end: activities.EvictElsewhere, reason: reason.NotTargeting},
		"the permit passed": {world: func(b *bench) { b.now = b.now.Add(pace.PermitsEnd) }, reason: reason.PermitPassed},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.acts.Settings.Approval = queue.ApprovalRules{Namespaces: []string{"shop"}}
			b.fail()
			c.run(t, b, b.approvedRequest(yes))
		})
	}
}

// An operator is not asked about what could not move anyway.
// Rules: R4.6-30.
func TestNobodyIsAskedAboutWhatCouldNotMove(t *testing.T) {
	b := newBench(t)
	b.acts.Settings.Approval = queue.ApprovalRules{Namespaces: []string{"shop"}}
	b.fail()
	check := b.does(nothingFits).preCheck()
	require.Equal(t, reason.NoTarget, check.Reason)
	require.Empty(t, check.Asked)
}

// events keeps what was raised.
type events []activities.Event

func (e *events) Record(_ context.Context, x activities.Event) { *e = append(*e, x) }

// The bindings of the fleet are not listed for a question that is answered, or that
// nobody asks.
func TestTheFleetIsCountedOnlyForAQuestionThatNeedsIt(t *testing.T) {
	b := newBench(t)
	lists := 0
	b.acts.Reader = listing{around{b.world, b}, &lists}
	b.fail()
	b.preCheck()
	require.Zero(t, lists)
	b.acts.Settings.Approval = queue.ApprovalRules{ReplicasAbove: fixtures.Ptr(0.0)}
	b.preCheck(func(r *activities.PreCheckRequest) { r.Items[0].Approval = yes })
	require.Zero(t, lists)
	b.preCheck(func(r *activities.PreCheckRequest) { r.Items = append(r.Items, r.Items[0]) })
	require.Equal(t, 1, lists, "once for the whole batch")
}

// A plan of a cluster that is well counts it among those that fail.
// Rules: R4.6-21.
func TestAPlanTellsWhatWouldAwaitApproval(t *testing.T) {
	b := newBench(t)
	b.acts.Settings.Approval = queue.ApprovalRules{ClustersAbove: fixtures.Ptr(0)}
	maintained(b)
	snapshot := fixtures.Must(activities.TakeSnapshot(t.Context(), b.world, nil))(t)
	planner := activities.NewPlanner(snapshot, b.world, b.world, b.acts.Settings)
	out := fixtures.Must(planner.Foresee(t.Context(), activities.ForeseeRequest{Cluster: "m1", At: b.now}))(t)
	require.Len(t, out.Bindings, 1)
	require.Equal(t, activities.ProspectBlocked, out.Bindings[0].Prospect)
	require.Equal(t, reason.AwaitingApproval, out.Bindings[0].Reason)
	require.Contains(t, out.Bindings[0].Message, "1 cluster failing at once (m1)")
}

// inPieces makes a binding one of a single replica, aggregated over m1 to m3.
func inPieces(b *karmada.Binding) {
	b.Replicas, b.Clusters[0].Replicas = 1, 1
	b.Placement = &karmada.Placement{ReplicaScheduling: &karmada.ReplicaScheduling{
		Type: karmada.SchedulingDivided, DivisionPreference: karmada.DivisionAggregated,
	}}
}

// hasPods gives a cluster so many pods, some of them taken.
func (b *bench) hasPods(name string, all, taken int64) {
	b.world.ChangeCluster(name, func(c *karmada.Cluster) { c.Capacity = fixtures.Pods(all, taken) })
}

func (b *bench) check(names ...string) []activities.Check {
	b.t.Helper()
	request := activities.PreCheckRequest{Cluster: "m1", Mode: rules.ModeEnforce}
	for _, name := range names {
		request.Items = append(request.Items, activities.Checked{Key: appKey(name)})
	}
	return b.preChecks(request).Checks
}

func (b *bench) evictNamed(name string) activities.EvictResult {
	b.t.Helper()
	request := b.approvedRequest(yes)
	request.Key, request.UID = appKey(name), types.UID("uid-shop/"+name)
	return b.evicts(request)
}

// Fifteen applications, room for ten on one cluster and five on the other, and a
// summary that stays as it was: the eleventh must not follow the ten.
//
// Rules: R4.6-17, R4.6-28.
func TestKarmada6518RoomIsPromisedOnce(t *testing.T) {
	b := newBench(t)
	b.world.HealthyAfter = time.Hour
	b.hasPods("m2", 10, 0)
	b.hasPods("m3", 5, 0)
	for i := range 15 {
		b.bind(fmt.Sprintf("app%02d", i), inPieces)
	}
	b.fail()
	for i := range 10 {
		name := fmt.Sprintf("app%02d", i)
		require.Equal(t, activities.CheckPass, b.check(name)[0].End)
		require.Equal(t, activities.EvictWritten, b.evictNamed(name).End, name)
		b.pass(time.Minute)
		require.Equal(t, "m2", b.world.Peek(appKey(name)).Clusters[0].Name, "the scheduler goes by the summary")
	}
	eleventh := b.check("app10")[0]
	require.Equal(t, activities.CheckBlocked, eleventh.End)
	require.Equal(t, reason.NoCapacity, eleventh.Reason, eleventh.Message)
	require.Contains(t, eleventh.Message, "beside 10 promised to others")
	out := b.evictNamed("app10")
	require.Equal(t, []any{activities.EvictRefused, reason.NoCapacity}, []any{out.End, out.Reason}, "the write asks again")

	// The ten run, and the summary has seen it.
	b.pass(time.Hour)
	b.hasPods("m2", 10, 10)
	eleventh = b.check("app10")[0]
	require.Equal(t, activities.CheckPass, eleventh.End, eleventh.Message)
	require.Equal(t, []string{"m3"}, eleventh.Candidates)
}

// lastSeat leaves room for one of some bindings.
func (b *bench) lastSeat(names ...string) {
	b.world.HealthyAfter = time.Hour
	b.hasPods("m2", 1, 0)
	b.hasPods("m3", 0, 0)
	for _, name := range names {
		b.bind(name, inPieces)
	}
}

// Rules: R4.6-17, R4.6-28.
func TestRoomThatWasPromisedMeanwhileIsSeenAtTheWrite(t *testing.T) {
	b := newBench(t)
	b.lastSeat("first", "second")
	b.fail()
	for _, check := range b.check("first", "second") {
		require.Equal(t, activities.CheckPass, check.End, check.Message)
	}
	require.Equal(t, activities.EvictWritten, b.evictNamed("first").End)

	// Not even placed yet: it waits for a place, and this is the only one.
	out := b.evictNamed("second")
	require.Equal(t, []any{activities.EvictRefused, reason.NoCapacity}, []any{out.End, out.Reason}, out.Message)
	require.Contains(t, out.Message, "what waits for a place")
	require.Len(t, b.world.Log("evict"), 1)
}

// listing counts how often the fleet's bindings are listed.
type listing struct {
	around
	times *int
}

// Bindings is a listing.
func (l listing) Bindings(ctx context.Context, page activities.Page) (activities.BindingPage, error) {
	*l.times++
	return l.around.Bindings(ctx, page)
}

// No list of the fleet's bindings lies within a permit: room, questions to an operator and dependents
// that are selected by label are judged by the cache.
//
// Rules: R4.6-28.
func TestEvict_CachedBindings_ListsNothing(t *testing.T) {
	b := newBench(t)
	times := 0
	b.acts.Reader, b.acts.Cached = listing{around: around{b.world, b}, times: &times}, cacheOf{b: b}
	b.acts.Settings.Approval = queue.ApprovalRules{ReplicasAbove: fixtures.Ptr(0.0)}
	b.lastSeat("first", "second")
	b.bind("parent", inPieces, func(x *karmada.Binding) {
		x.PropagateDeps = true
		x.Annotations = needs(`[{"apiVersion":"v1","kind":"Secret","namespace":"shop","labelSelector":{"matchLabels":{"a":"b"}}}]`)
	})
	b.bind("secret", func(b *karmada.Binding) {
		b.Clusters, b.Placement = nil, nil
		b.RequiredBy = []karmada.RequiredBy{{Namespace: "shop", Name: "parent", Clusters: []string{"m1"}}}
	})
	b.fail()
	require.Equal(t, activities.EvictWritten, b.evictNamed("first").End)
	require.Equal(t, reason.NoCapacity, b.evictNamed("second").Reason, "what was promised counts")
	b.hasPods("m2", 10, 0)
	require.Equal(t, reason.DependentsNotHeld, b.evictNamed("parent").Reason)
	require.Zero(t, times)
}

func TestTheFleetsBindingsAreListedOnlyWhereRoomDecides(t *testing.T) {
	b := newBench(t)
	times := 0
	b.acts.Reader = listing{around: around{b.world, b}, times: &times}
	b.hasPods("m2", 10, 0)
	for _, name := range []string{"one", "two", "three"} {
		b.bind(name, inPieces)
	}
	b.fail()
	b.check("app")
	require.Zero(t, times, "a duplicated workload asks for no room")
	b.check("one", "app", "two", "three")
	require.Equal(t, 1, times, "once for the whole batch")
	require.Equal(t, activities.EvictWritten, b.evict().End)
	require.Equal(t, 1, times, "nor does its write")
}
