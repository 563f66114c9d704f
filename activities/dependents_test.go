package activities_test

import (
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
)

var configKey = karmada.BindingKey{Namespace: "shop", Name: "config-configmap"}

// withConfig has "app" need a ConfigMap.
func (b *bench) withConfig() {
	b.world.Change(appKey("app"), func(x *karmada.Binding) {
		x.PropagateDeps, x.Annotations = true, needs(`[{"kind":"ConfigMap","namespace":"shop","name":"config"}]`)
	})
	b.world.AddDependent(karmada.Binding{Key: configKey, Resource: karmada.Resource{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "config"}})
}

func (b *bench) dependents(edit ...func(*activities.DependentsRequest)) activities.DependentsRequest {
	r := activities.DependentsRequest{MigrationRef: b.ref(activities.EvictResult{})}
	for _, e := range edit {
		e(&r)
	}
	return r
}

func (b *bench) holders() string {
	x := b.world.Peek(configKey)
	if task, _ := x.TaskFor("m1"); task != nil {
		return task.Reason + ": " + task.Message
	}
	return ""
}

// Rules: R4.10-1.
func TestNoParentIsEvictedWhoseDependentsAreNotHeld(t *testing.T) {
	b := failing(t)
	b.withConfig()
	evictRow{reason: reason.DependentsNotHeld}.run(t, b, b.evictRequest())
	require.Equal(t, []karmada.BindingKey{configKey}, b.holdDependents(b.dependents()).Held)
	require.Equal(t, "LifeboatDependent: owner-1", b.holders())
	require.Equal(t, activities.EvictWritten, b.evict().End)
	require.True(t, b.world.HasWork(configKey, "m1"))
}

// Karmada lists no dependents of a kind whose references nothing interprets. Bindings that name it as
// their parent are held all the same.
//
// Rules: R4.10-1.
func TestEvict_KindWithoutAList_HoldsWhatNamesItAsItsParent(t *testing.T) {
	unlisted := func() *bench {
		b := failing(t)
		b.world.Change(appKey("app"), func(x *karmada.Binding) {
			x.PropagateDeps, x.Resource.APIVersion, x.Resource.Kind = true, "flink.apache.org/v1beta1", "FlinkDeployment"
		})
		b.world.ChangeCluster("m2", func(c *karmada.Cluster) {
			c.APIEnablements = append(c.APIEnablements, "flink.apache.org/v1beta1/FlinkDeployment")
		})
		return b
	}
	b := unlisted()
	require.True(t, b.check("app")[0].Dependents, "the migration holds them first")
	require.Equal(t, activities.EvictWritten, b.evict().End, "it has none")

	b = unlisted()
	b.world.AddDependent(karmada.Binding{
		Key: configKey, Resource: karmada.Resource{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "config"},
		RequiredBy: []karmada.RequiredBy{{Namespace: "shop", Name: "app", Clusters: []string{"m1"}}},
	})
	evictRow{reason: reason.DependentsNotHeld}.run(t, b, b.evictRequest())
	require.Equal(t, []karmada.BindingKey{configKey}, b.holdDependents(b.dependents()).Held)
	require.Equal(t, activities.EvictWritten, b.evict().End)
}

// A ConfigMap with a policy of its own stays where that has put it: a task would have the scheduler take it away. Its own
// move ends no copy that the held pods of a parent read.
//
// Rules: R4.10-1, R4.10-6.
func TestDependents_PlacedByAPolicyOfTheirOwn_MoveByThatAlone(t *testing.T) {
	b := failing(t)
	b.bind(configKey.Name, func(x *karmada.Binding) { x.Resource.APIVersion, x.Resource.Kind, x.Replicas = "v1", "ConfigMap", 0 })
	b.withConfig()
	require.Equal(t, []string{"app"}, parentsOf(b.world.Peek(configKey)))
	require.Equal(t, reason.None, b.holdDependents(b.dependents()).Reason)
	require.Empty(t, b.world.Peek(configKey).Tasks)
	require.Equal(t, activities.EvictWritten, b.evict().End)
	require.Equal(t, on("m1"), b.world.Peek(configKey).Clusters)

	held := func(b *bench) { b.held(appKey("parent"), karmada.TaskReason, "owner-2") }
	for name, c := range map[string]struct {
		parent  func(*bench)
		ordered bool
		want    reason.Reason
		left    string // the reason of its task afterwards
	}{
		"a parent's old copy is held":          {parent: held, want: reason.HeldForParents},
		"an operator releases it all the same": {parent: held, ordered: true, want: reason.Written},
		"a parent is left to an operator": {want: reason.HeldForParents, left: karmada.TaskReasonNeedsOperator, parent: func(b *bench) {
			b.held(appKey("parent"), karmada.TaskReasonNeedsOperator, "owner-2")
		}},
		"no parent's is": {want: reason.Written},
		"that of a parent says Directly": {want: reason.Written, parent: func(b *bench) {
			held(b)
			b.world.Change(appKey("parent"), func(x *karmada.Binding) { x.Tasks[0].PurgeMode = karmada.PurgeDirectly })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b, ref := moved(t)
			b.bind("parent", func(x *karmada.Binding) { x.Clusters, x.Workload = on("m2"), true })
			b.world.Change(ref.Key, func(x *karmada.Binding) { x.RequiredBy = []karmada.RequiredBy{{Namespace: "shop", Name: "parent"}} })
			r := healthy(ref)
			r.Ordered = c.ordered
			require.Equal(t, c.want, b.does(c.parent).release(r).Reason)
			if c.left != "" {
				require.Equal(t, c.left, b.world.Peek(ref.Key).Tasks[0].Reason)
			}
		})
	}
}

// Rules: R4.10-6.
func TestPreCheck_DirectlyWhileAParentIsHeld_IsBlocked(t *testing.T) {
	b := failing(t)
	b.bind("parent", func(x *karmada.Binding) { x.Clusters = on("m2") })
	b.world.Change(appKey("app"), func(x *karmada.Binding) {
		x.RequiredBy = []karmada.RequiredBy{{Namespace: "shop", Name: "parent", Clusters: []string{"m2"}}}
	})
	directly := func() reason.Reason {
		item := activities.Checked{Key: appKey("app"), Purge: karmada.PurgeDirectly}
		return b.preChecks(activities.PreCheckRequest{Cluster: "m1", Mode: rules.ModeEnforce, Items: []activities.Checked{item}}).Checks[0].Reason
	}
	require.NotEqual(t, reason.HeldForParents, directly())
	b.held(appKey("parent"), karmada.TaskReason, "owner-2")
	require.Equal(t, reason.HeldForParents, directly())
}

func parentsOf(b karmada.Binding) (names []string) {
	for _, r := range b.RequiredBy {
		names = append(names, r.Name)
	}
	return names
}

// Rules: R4.10-1, R4.15-7, R4.15-27.
func TestDependentsAreHeldOnlyInEnforce(t *testing.T) {
	for name, c := range map[string]struct {
		world  func(*bench)
		mode   rules.Mode
		reason reason.Reason
	}{
		"the failover observes": {mode: rules.ModeObserve, reason: reason.ModeObserve},
		"the worker observes":   {mode: rules.ModeEnforce, world: workerObserves, reason: reason.ModeObserve},
		"beside a second evictor": {
			mode: rules.ModeEnforce, world: func(b *bench) { b.acts.SecondEvictor = func() string { return "flags" } }, reason: reason.SecondEvictor,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.withConfig()
			r := b.dependents()
			r.Mode = c.mode
			require.Equal(t, c.reason, b.does(c.world).holdDependents(r).Reason)
			require.Empty(t, b.world.Log("holders"))
		})
	}
}

// Rules: R4.10-3, R4.10-4, R4.10-5.
func TestLettingGoOfDependentsLooksAtTheParent(t *testing.T) {
	for name, c := range map[string]struct {
		world   func(*bench)
		holders string
		waits   bool
	}{
		"the parent stays, and what it needs with it": {},
		"it has moved":                     {world: func(b *bench) { b.moveApp("m2") }},
		"it is gone":                       {world: app(func(x *karmada.Binding) { x.UID = "another" })},
		"it is back, its dependent is not": {world: (*bench).unwanted, holders: "LifeboatDependent: owner-1", waits: true},
		"it is back, and needs the other no more": {world: func(b *bench) {
			b.does((*bench).unwanted, app(func(x *karmada.Binding) { x.Annotations = needs("[]") }))
		}},
		"it is back, and takes nothing along any more": {world: func(b *bench) {
			b.does((*bench).unwanted, app(func(x *karmada.Binding) { x.PropagateDeps = false }))
		}},
		"it is left to an operator, and so is what it needs": {world: func(b *bench) {
			b.moveApp("m2")
			b.held(appKey("app"), karmada.TaskReasonNeedsOperator, "owner-1")
		}, holders: "LifeboatNeedsOperator: owner-1"},
		"another parent holds it still": {world: func(b *bench) {
			b.world.Change(configKey, func(x *karmada.Binding) { x.Tasks[0].Message = "owner-1 owner-2" })
		}, holders: "LifeboatDependent: owner-2"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.withConfig()
			held := b.holdDependents(b.dependents())
			b.does(c.world)
			out := b.dropDependents(b.dependents(func(r *activities.DependentsRequest) { r.Held = held.Held }))
			require.Equal(t, c.holders, b.holders())
			require.Equal(t, c.waits, len(out.Held) > 0)
		})
	}
}

func (b *bench) moveApp(to string) {
	b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Clusters = on(to) })
}

// Rules: R4.10-9.
func TestOnlyHoldersThatDoNotRunAreDropped(t *testing.T) {
	b := newBench(t)
	b.withConfig()
	b.holdDependents(b.dependents())
	b.world.SetRunning("owner-1", true)
	require.Empty(t, b.orphans("m1").Holders)
	b.dropHolder("owner-1")
	require.NotEmpty(t, b.holders())
	b.world.SetRunning("owner-1", false)
	page := b.orphans("m1")
	require.Len(t, page.Holders, 1)
	require.Empty(t, page.Orphans, "there is nothing to restore")
	b.dropHolder("owner-1")
	require.Empty(t, b.holders())
}

// A lost answer leaves a holder that the list does not know: it is searched for.
//
// Rules: R4.10-3.
func TestAHolderWhoseAnswerWasLostIsFoundByASearch(t *testing.T) {
	b := newBench(t)
	b.withConfig()
	b.world.Lost = func(op, _ string) bool { return op == "holders" }
	out := b.holdDependents(b.dependents())
	require.Equal(t, reason.Unreachable, out.Reason)
	require.Equal(t, []karmada.BindingKey{configKey}, out.Held, "it may stand, so it is taken out again")
	require.True(t, strings.HasSuffix(b.holders(), "owner-1"))
	b.world.Lost = nil
	b.dropDependents(b.dependents(func(r *activities.DependentsRequest) { r.Search = true }))
	require.Empty(t, b.holders())
}

const deadHolder = "binding-migration/m1/shop/app"

// held sets Lifeboat's task on a binding for m1.
func (b *bench) held(key karmada.BindingKey, reason, message string) {
	b.world.Change(key, func(x *karmada.Binding) { x.Tasks = task(reason, message) })
}

func (b *bench) dropHolder(holder string) {
	must[activities.DependentsResult](b, activities.NameDropHolder, activities.HolderRequest{
		Cluster: "m1", Mode: rules.ModeEnforce, Key: configKey, Holder: holder,
	})
}

// A holder that does not run any more may have left old pods that need what it held.
//
// Rules: R4.10-5, R4.10-9.
func TestADeadHolderIsNotDroppedFromUnderItsOldCopy(t *testing.T) {
	for name, c := range map[string]struct {
		parent  string // reason of the task on the holder's own binding, empty for none
		arrange func(*bench)
		want    string
	}{
		"kept":                           {parent: karmada.TaskReasonKept, want: "LifeboatKept: " + deadHolder},
		"left to an operator":            {parent: karmada.TaskReasonNeedsOperator, want: "LifeboatNeedsOperator: " + deadHolder},
		"to be adopted":                  {parent: karmada.TaskReason, want: "LifeboatDependent: " + deadHolder},
		"its old copy has gone":          {parent: karmada.TaskReasonBanned},
		"it has moved":                   {},
		"it is back, its dependent not":  {arrange: func(b *bench) { b.moveApp("m1"); b.unwanted() }, want: "LifeboatDependent: " + deadHolder},
		"it is back, and so is the rest": {arrange: func(b *bench) { b.moveApp("m1") }},
		"kept, beside the dependent's own": {parent: karmada.TaskReasonKept, arrange: func(b *bench) {
			b.held(configKey, karmada.TaskReason, "own "+deadHolder)
		}, want: "ClusterFailover: own " + deadHolder},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.withConfig()
			b.held(configKey, karmada.TaskReasonDependent, deadHolder)
			b.moveApp("m2")
			if c.parent != "" {
				b.held(appKey("app"), c.parent, deadHolder)
			}
			b.does(c.arrange)
			b.dropHolder(deadHolder)
			require.Equal(t, c.want, b.holders())
		})
	}
}

// Beside a ban Karmada would update no copy of the dependent, and the parent could never leave.
//
// Rules: R4.10-1.
func TestHoldDependents_DependentBannedByADrain_IsHeldForTheParentThatCame(t *testing.T) {
	b := newBench(t)
	b.withConfig()
	b.held(configKey, karmada.TaskReasonBanned, "cluster-failover/m1")
	b.world.Change(configKey, func(x *karmada.Binding) { x.Tasks[0].PurgeMode = karmada.PurgeDirectly })
	held := b.holdDependents(b.dependents())
	require.Equal(t, []karmada.BindingKey{configKey}, held.Held, held.Message)
	require.Equal(t, "LifeboatDependent: owner-1", b.holders())
	config := b.world.Peek(configKey)
	require.Len(t, config.Tasks, 1)
	require.Equal(t, karmada.PurgeGracefully, config.Tasks[0].PurgeMode)
}

func (b *bench) unwanted() {
	b.world.Change(configKey, func(x *karmada.Binding) { x.RequiredBy = nil })
}

// The id of a long name is cut: its binding is found by its task.
//
// Rules: R4.10-9.
func TestTheBindingOfAHolderWithACutIDIsFound(t *testing.T) {
	b := newBench(t)
	b.withConfig()
	b.moveApp("m2")
	cut := deadHolder + strings.Repeat("x", 240-len(deadHolder))
	b.held(appKey("app"), karmada.TaskReasonKept, cut)
	b.held(configKey, karmada.TaskReasonDependent, cut)
	b.dropHolder(cut)
	require.Equal(t, "LifeboatKept: "+cut, b.holders())
	b.held(appKey("app"), karmada.TaskReasonBanned, "")
	b.held(configKey, karmada.TaskReasonDependent, cut)
	b.dropHolder(cut)
	require.Empty(t, b.holders())
}

// propagateDeps may be switched off in mid-move: what is held then is found all the same.
//
// Rules: R4.10-3.
func TestHoldersAreFoundAfterPropagateDepsIsSwitchedOff(t *testing.T) {
	for name, c := range map[string]struct {
		list map[string]string
		ask  activities.DependentsRequest
	}{
		"by a run that took over":    {list: needs("[]"), ask: activities.DependentsRequest{Search: true}},
		"by one that lost an answer": {ask: activities.DependentsRequest{Lost: true}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.withConfig()
			b.held(configKey, karmada.TaskReasonDependent, "owner-1")
			b.world.Change(appKey("app"), func(x *karmada.Binding) { x.PropagateDeps, x.Annotations = false, c.list })
			c.ask.MigrationRef = b.dependents().MigrationRef
			b.dropDependents(c.ask)
			require.Empty(t, b.holders())
		})
	}
}
