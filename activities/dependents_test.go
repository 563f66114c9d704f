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
		x.PropagateDeps = true
		x.Annotations = map[string]string{karmada.AnnotationDependencies: `[{"kind":"ConfigMap","namespace":"shop","name":"config"}]`}
	})
	b.world.AddDependent(karmada.Binding{Key: configKey, Resource: karmada.Resource{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "config"}})
}

func (b *bench) dependents(edit ...func(*activities.DependentsRequest)) activities.DependentsRequest {
	r := activities.DependentsRequest{MoveRef: b.ref(activities.EvictResult{})}
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
	b := newBench(t)
	b.withConfig()
	b.fail()
	out := b.evict()
	require.Equal(t, activities.EvictRefused, out.End)
	require.Equal(t, reason.DependentsNotHeld, out.Reason)
	require.Empty(t, b.world.Log("evict"))
	held := must[activities.DependentsResult](b, activities.NameHoldDependents, b.dependents())
	require.Equal(t, []karmada.BindingKey{configKey}, held.Held)
	require.Equal(t, "LifeboatDependent: owner-1", b.holders())
	require.Equal(t, activities.EvictWritten, b.evict().End)
	require.True(t, b.world.HasWork(configKey, "m1"))
}

// Rules: R4.10-1, R4.15-7.
func TestDependentsAreHeldOnlyInEnforce(t *testing.T) {
	for name, arrange := range map[string]func(*bench, *activities.DependentsRequest){
		"the failover observes": func(_ *bench, r *activities.DependentsRequest) { r.Mode = rules.ModeObserve },
		"the worker observes":   func(b *bench, _ *activities.DependentsRequest) { b.acts.Settings.Terms.Mode = rules.ModeObserve },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.withConfig()
			r := b.dependents()
			arrange(b, &r)
			out := must[activities.DependentsResult](b, activities.NameHoldDependents, r)
			require.Equal(t, reason.ModeObserve, out.Reason)
			require.Empty(t, b.world.Log("holders"))
		})
	}
}

// Rules: R4.10-3, R4.10-4, R4.10-5.
func TestLettingGoOfDependentsLooksAtTheParent(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*bench)
		holders string
		waits   bool
	}{
		"the parent stays, and what it needs with it": {arrange: func(*bench) {}, waits: false},
		"it has moved": {arrange: func(b *bench) { b.moveApp("m2") }, waits: false},
		"it is gone":   {arrange: func(b *bench) { b.world.Change(appKey("app"), func(x *karmada.Binding) { x.UID = "another" }) }, waits: false},
		"it is back, its dependent is not": {arrange: func(b *bench) {
			b.world.Change(configKey, func(x *karmada.Binding) { x.RequiredBy = nil })
		}, holders: "LifeboatDependent: owner-1", waits: true},
		"it is back, and needs the other no more": {arrange: func(b *bench) {
			b.world.Change(configKey, func(x *karmada.Binding) { x.RequiredBy = nil })
			b.world.Change(appKey("app"), func(x *karmada.Binding) {
				x.Annotations = map[string]string{karmada.AnnotationDependencies: "[]"}
			})
		}, waits: false},
		"it is back, and takes nothing along any more": {arrange: func(b *bench) {
			b.world.Change(configKey, func(x *karmada.Binding) { x.RequiredBy = nil })
			b.world.Change(appKey("app"), func(x *karmada.Binding) { x.PropagateDeps = false })
		}, waits: false},
		"it is left to a human, and so is what it needs": {arrange: func(b *bench) {
			b.moveApp("m2")
			b.world.Change(appKey("app"), func(x *karmada.Binding) {
				x.Tasks = []karmada.Task{{FromCluster: "m1", Producer: karmada.Producer, Reason: karmada.TaskReasonNeedsOperator, Message: "owner-1"}}
			})
		}, holders: "LifeboatNeedsOperator: owner-1", waits: false},
		"another parent holds it still": {arrange: func(b *bench) {
			b.world.Change(configKey, func(x *karmada.Binding) { x.Tasks[0].Message = "owner-1 owner-2" })
		}, holders: "LifeboatDependent: owner-2", waits: false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.withConfig()
			held := must[activities.DependentsResult](b, activities.NameHoldDependents, b.dependents())
			c.arrange(b)
			out := must[activities.DependentsResult](b, activities.NameDropDependents, b.dependents(func(r *activities.DependentsRequest) { r.Held = held.Held }))
			require.Equal(t, c.holders, b.holders())
			require.Equal(t, c.waits, len(out.Held) > 0)
		})
	}
}

func (b *bench) moveApp(to string) {
	b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Clusters = []karmada.TargetCluster{{Name: to, Replicas: 2}} })
}

// Rules: R4.10-9.
func TestOnlyHoldersThatDoNotRunAreDropped(t *testing.T) {
	b := newBench(t)
	b.withConfig()
	must[activities.DependentsResult](b, activities.NameHoldDependents, b.dependents())
	b.world.SetRunning("owner-1", true)
	r := activities.HolderRequest{Cluster: "m1", Mode: rules.ModeEnforce, Key: configKey, Holder: "owner-1"}
	page := must[activities.OrphanPage](b, activities.NameFindOrphans, activities.OrphanRequest{Cluster: "m1"})
	require.Empty(t, page.Holders)
	must[activities.DependentsResult](b, activities.NameDropHolder, r)
	require.NotEmpty(t, b.holders())
	b.world.SetRunning("owner-1", false)
	page = must[activities.OrphanPage](b, activities.NameFindOrphans, activities.OrphanRequest{Cluster: "m1"})
	require.Len(t, page.Holders, 1)
	require.Empty(t, page.Orphans, "there is nothing to restore")
	must[activities.DependentsResult](b, activities.NameDropHolder, r)
	require.Empty(t, b.holders())
}

// A lost answer leaves a holder that the list does not know: it is searched for.
//
// Rules: R4.10-3.
func TestAHolderWhoseAnswerWasLostIsFoundByASearch(t *testing.T) {
	b := newBench(t)
	b.withConfig()
	b.world.Lost = func(op, _ string) bool { return op == "holders" }
	out := must[activities.DependentsResult](b, activities.NameHoldDependents, b.dependents())
	require.Equal(t, reason.Unreachable, out.Reason)
	require.Equal(t, []karmada.BindingKey{configKey}, out.Held, "it may stand, so it is taken out again")
	require.True(t, strings.HasSuffix(b.holders(), "owner-1"))
	b.world.Lost = nil
	must[activities.DependentsResult](b, activities.NameDropDependents, b.dependents(func(r *activities.DependentsRequest) { r.Search = true }))
	require.Empty(t, b.holders())
}
