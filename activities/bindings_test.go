package activities_test

import (
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

func (c cacheOf) Each(held bool, do func(*karmada.Binding)) {
	for _, b := range c.b.world.Everything() {
		if !held || b.Held() {
			do(&b)
		}
	}
}

func (c cacheOf) On(cluster string, after karmada.BindingKey, most int) (page []karmada.Binding, more bool) {
	all := c.stale
	if all == nil {
		all = c.b.world.Everything()
	}
	for _, b := range all {
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
		p := must[activities.TargetingPage](b, activities.NameListTargeting, activities.ListRequest{Cluster: "m1", Mode: rules.ModeEnforce, Page: page})
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
	for n := range 1100 {
		b.bind(fmt.Sprintf("app%04d", n), func(*karmada.Binding) {})
	}
	b.fail()
	nothing := func() {}
	listed, pages := keysOn(b, nothing)
	require.Len(t, listed, 1101)
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

// A cache, or a page of a list, is older than the answer whether an owner runs: what that owner has
// ended meanwhile is no orphan.
//
// Rules: R4.9-46, R4.6-28.
func TestFindOrphans_TaskEndedSinceTheCacheSawIt_IsNone(t *testing.T) {
	b, ref := moved(t)
	b.acts.Cached = cacheOf{b: b, stale: b.world.Everything()}
	orphans := func() activities.OrphanPage {
		return must[activities.OrphanPage](b, activities.NameFindOrphans, activities.OrphanRequest{Cluster: "m1"})
	}
	require.Len(t, orphans().Orphans, 1)
	must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MoveRef: ref, HealthyFor: 1 << 50})
	require.Empty(t, orphans().Orphans)
	b.world.DeleteBinding(ref.Key)
	require.Empty(t, orphans().Orphans)
}
