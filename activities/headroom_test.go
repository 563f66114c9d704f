package activities_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// inPieces makes a binding one of a single replica, aggregated over m1 to m3.
func inPieces(b *karmada.Binding) {
	b.Replicas, b.Clusters[0].Replicas = 1, 1
	b.Placement = &karmada.Placement{ReplicaScheduling: &karmada.ReplicaScheduling{
		Type: karmada.SchedulingDivided, DivisionPreference: karmada.DivisionAggregated,
	}}
}

// hasPods gives a cluster so many pods, some of them taken.
func (b *bench) hasPods(name string, all, taken int64) {
	pods := func(n int64) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(n, resource.DecimalSI)}
	}
	b.world.ChangeCluster(name, func(c *karmada.Cluster) {
		c.Capacity = &karmada.Capacity{Allocatable: pods(all), Allocated: pods(taken)}
	})
}

func (b *bench) check(names ...string) []activities.Check {
	b.t.Helper()
	request := activities.PreCheckRequest{Cluster: "m1", Mode: rules.ModeEnforce}
	for _, name := range names {
		request.Items = append(request.Items, activities.Checked{Key: appKey(name)})
	}
	return must[activities.PreCheckResult](b, activities.NamePreCheck, request).Checks
}

func (b *bench) evictNamed(name string) activities.EvictResult {
	b.t.Helper()
	request := b.evictRequest()
	request.Key, request.UID = appKey(name), types.UID("uid-shop/"+name)
	return must[activities.EvictResult](b, activities.NameEvict, request)
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
		require.Equal(t, activities.CheckPass, b.check(name)[0].End, b.check(name)[0].Message)
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

// Rules: R4.6-17, R4.6-28.
func TestRoomThatWasPromisedMeanwhileIsSeenAtTheWrite(t *testing.T) {
	b := newBench(t)
	b.world.HealthyAfter = time.Hour
	b.hasPods("m2", 1, 0)
	b.hasPods("m3", 0, 0)
	b.bind("first", inPieces)
	b.bind("second", inPieces)
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
	times, none := 0, 0.0
	b.acts.Reader, b.acts.Cached = listing{around: around{b.world, b}, times: &times}, cacheOf{b: b}
	b.acts.Settings.Approval = queue.ApprovalRules{ReplicasAbove: &none}
	b.world.HealthyAfter = time.Hour
	b.hasPods("m2", 1, 0)
	b.hasPods("m3", 0, 0)
	b.bind("first", inPieces)
	b.bind("second", inPieces)
	parent := func(b *karmada.Binding) {
		inPieces(b)
		b.PropagateDeps = true
		b.Annotations = map[string]string{karmada.AnnotationDependencies: `[{"apiVersion":"v1","kind":"Secret","namespace":"shop","labelSelector":{"matchLabels":{"a":"b"}}}]`}
	}
	b.bind("parent", parent)
	b.bind("secret", func(b *karmada.Binding) {
		b.RequiredBy = []karmada.RequiredBy{{Namespace: "shop", Name: "parent", Clusters: []string{"m1"}}}
	})
	b.fail()
	evict := func(name string) activities.EvictResult {
		r := b.evictRequest()
		r.Key, r.UID, r.Approval, r.Attempt = appKey(name), types.UID("uid-shop/"+name), yes, 1
		return must[activities.EvictResult](b, activities.NameEvict, r)
	}
	require.Equal(t, activities.EvictWritten, evict("first").End)
	require.Equal(t, reason.NoCapacity, evict("second").Reason, "what was promised counts")
	b.hasPods("m2", 10, 0)
	require.Equal(t, reason.DependentsNotHeld, evict("parent").Reason)
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
