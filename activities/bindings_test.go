package activities_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
)

// cacheOf is a cache that has seen every binding of a world; stale are those that it has as they
// were before.
type cacheOf struct {
	b     *bench
	stale []karmada.Binding
	cold  *bool
}

func (c cacheOf) Known() bool { return c.cold == nil || !*c.cold }

func (c cacheOf) Binding(key karmada.BindingKey) (karmada.Binding, bool) {
	for _, b := range c.all() {
		if b.Key == key {
			return b, true
		}
	}
	return karmada.Binding{}, false
}

func (c cacheOf) all() []karmada.Binding {
	if c.stale != nil {
		return c.stale
	}
	return c.b.world.Everything()
}

func (c cacheOf) Each(held bool, do func(*karmada.Binding)) {
	for _, b := range c.b.world.Everything() {
		if !held || b.Held() {
			do(&b)
		}
	}
}

func (c cacheOf) In(namespace string, do func(*karmada.Binding)) {
	c.Each(false, func(b *karmada.Binding) {
		if b.Key.Namespace == namespace {
			do(b)
		}
	})
}

func (c cacheOf) On(cluster string, after karmada.BindingKey, most int) (page []karmada.Binding, more bool) {
	for _, b := range c.all() {
		_, target := b.Target(cluster)
		if task, _ := b.TaskFor(cluster); (target >= 0 || task != nil) && b.Key.Compare(after) > 0 {
			page = append(page, b)
		}
	}
	return page[:min(most, len(page))], len(page) > most
}

// keysOn lists the affected set of m1, page by page.
func keysOn(b *bench, between func()) (keys []string, pages int) {
	b.t.Helper()
	for page := (activities.Page{}); ; {
		p := b.list(activities.ListRequest{Cluster: "m1", Mode: rules.ModeEnforce, Page: page})
		pages++
		for _, item := range p.Items {
			keys = append(keys, item.Key.Name)
		}
		if p.Next == nil {
			return keys, pages
		}
		page = *p.Next
		between()
	}
}

// Who is on a cluster is read from the cache; a page whose successor another worker reads, which
// has not seen every binding yet, is followed by a list.
//
// Rules: R4.6-28.
func TestListTargeting_FromTheCache_SameBindings(t *testing.T) {
	b := newBench(t)
	for n := range 3200 {
		b.bind(fmt.Sprintf("app%04d", n))
	}
	b.fail()
	nothing := func() {}
	listed, pages := keysOn(b, nothing)
	require.Len(t, listed, 3201)
	require.Equal(t, 1, pages, "the world lists everything on one page")

	times, cold := 0, false
	b.acts.Reader, b.acts.Cached = listing{around: around{b.world, b}, times: &times}, cacheOf{b: b, cold: &cold}
	cached, pages := keysOn(b, nothing)
	require.Equal(t, listed, cached)
	require.Equal(t, 3, pages)
	require.Zero(t, times, "nothing was listed")

	half, pages := keysOn(b, func() { cold = true })
	require.Equal(t, listed, half, "each once, though the second worker has no cache")
	require.Equal(t, 2, pages)
	require.Equal(t, 1, times)
}

// Of those that a list did not bring any more the cache tells which were deleted, and the API server where the
// cache is behind that list.
//
// Rules: R4.7-39, R4.6-28.
func TestListTargeting_Missing_SaysWhichWereDeleted(t *testing.T) {
	b := newBench(t)
	var missing []activities.Checked
	for _, name := range []string{"deleting", "late", "moved", "again", "out"} {
		b.bind(name)
		missing = append(missing, activities.Checked{Key: appKey(name), UID: b.world.Peek(appKey(name)).UID})
	}
	missing[3].UID = "older"
	missing = append(missing, activities.Checked{Key: appKey("deleted"), UID: "uid"})
	b.world.Change(appKey("deleting"), func(x *karmada.Binding) { x.Deleting = true })
	b.world.Change(appKey("moved"), func(x *karmada.Binding) { x.Clusters = on("m2") })
	b.world.Change(appKey("out"), func(x *karmada.Binding) { x.Annotations = map[string]string{karmada.AnnotationEnabled: "false"} })
	cold, stale := true, b.world.Everything()
	b.world.DeleteBinding(appKey("late"))
	counted := &reads{around: around{b.world, b}, bindings: map[string]int{}}
	b.acts.Reader, b.acts.Cached = counted, cacheOf{b: b, stale: stale, cold: &cold}
	want := []karmada.BindingKey{appKey("deleting"), appKey("late"), appKey("again"), appKey("deleted")}
	require.Equal(t, want, b.list(activities.ListRequest{Cluster: "m1", Missing: missing}).Gone)
	require.Len(t, counted.bindings, 6)
	cold = false
	clear(counted.bindings)
	page := b.list(activities.ListRequest{Cluster: "m1", Missing: missing})
	require.Equal(t, want, page.Gone)
	require.Equal(t, []karmada.BindingKey{appKey("out")}, page.OptedOut)
	require.Equal(t, map[string]int{"late": 1, "out": 1}, counted.bindings)

	cold = true
	b.world.Change(appKey("moved"), func(x *karmada.Binding) { x.Annotations = map[string]string{karmada.AnnotationEnabled: "false"} })
	page = b.list(activities.ListRequest{Cluster: "m1", Missing: missing})
	require.Equal(t, []karmada.BindingKey{appKey("out")}, page.OptedOut, "what has opted out elsewhere was moved there")
}

// A cache, or a page of a list, is older than the answer whether an owner runs: what that owner has
// ended meanwhile is no orphan.
//
// Rules: R4.9-46, R4.6-28.
func TestFindOrphans_TaskEndedSinceTheCacheSawIt_IsNone(t *testing.T) {
	b, ref := moved(t)
	b.acts.Cached = cacheOf{b: b, stale: b.world.Everything()}
	require.Len(t, b.orphans("m1").Orphans, 1)
	b.release(healthy(ref))
	require.Empty(t, b.orphans("m1").Orphans)
	b.world.DeleteBinding(ref.Key)
	require.Empty(t, b.orphans("m1").Orphans)
}

// reads counts the reads of single bindings and of namespaces.
type reads struct {
	around
	bindings   map[string]int
	namespaces int
}

// Binding is counted.
func (r *reads) Binding(ctx context.Context, key karmada.BindingKey) (karmada.Binding, error) {
	r.bindings[key.Name]++
	return r.around.Binding(ctx, key)
}

// OptedOut is counted.
func (r *reads) OptedOut(ctx context.Context, b *karmada.Binding) (string, error) {
	r.namespaces++
	return r.around.OptedOut(ctx, b)
}

// A binding that passes as the cache has it is not read: the write reads it. What the cache would end
// or delay is read, and that answer counts.
//
// Rules: R4.6-28.
func TestPreCheck_CachedBindings_ReadsOnlyThoseThatDoNotPass(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"back", "plain", "away", "blocked"} {
		b.bind(name)
	}
	b.fail()
	var stale []karmada.Binding
	for _, x := range b.world.Everything() {
		if x.Key == appKey("back") { // it is on m1 again, which the cache has not seen
			x.Clusters = on("m2")
		}
		if x.Key != appKey("app") {
			stale = append(stale, x)
		}
	}
	b.world.Change(appKey("away"), func(x *karmada.Binding) { x.Clusters = on("m2") })
	b.world.Change(appKey("blocked"), func(x *karmada.Binding) { x.Malformed = "spec" })
	counted := &reads{around: around{b.world, b}, bindings: map[string]int{}}
	b.acts.Reader, b.acts.Cached = counted, cacheOf{b: b, stale: stale}

	for _, c := range b.check("app", "back", "plain", "away", "blocked") {
		require.Equal(t, activities.CheckPass, c.End, "the write finds out what the cache has not seen")
	}
	require.Equal(t, map[string]int{"app": 1, "back": 1}, counted.bindings)
	require.Equal(t, 1, counted.namespaces, "one namespace, and no policy")

	b.preCheck(func(r *activities.PreCheckRequest) {
		r.Items = []activities.Checked{{Key: appKey("plain"), State: []karmada.StateRule{{Label: "a", Path: "{.b}"}}}}
	})
	require.Equal(t, 1, counted.bindings["plain"], "state is read off the raw status")
}
