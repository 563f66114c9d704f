package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// cache is what the workers' watch has seen of the bindings, up to cacheLag late: a write of another
// worker is seen as late as any other. Every second story has one.
type cache struct {
	s    *sim
	seen map[karmada.BindingKey]karmada.Binding
}

const (
	cacheLag  = 3 * time.Second
	coldEvery = 20 // of so many workers one has not seen every binding yet
)

// changed takes a change over, some time after it happened.
func (c cache) changed(key karmada.BindingKey, now *karmada.Binding, late func() bool) {
	c.s.later(c.s.dice.span("cache", "", cacheLag), func() {
		switch {
		case late():
		case now == nil:
			delete(c.seen, key)
		default:
			c.seen[key] = *now
		}
	})
}

// Known implements activities.BindingCache.
func (c cache) Known() bool {
	return c.s.schedule.Seed%2 == 0 && c.s.dice.roll("cold", "")%coldEvery != 0
}

// Binding implements activities.BindingCache.
func (c cache) Binding(key karmada.BindingKey) (karmada.Binding, bool) {
	b, known := c.seen[key]
	return b, known
}

// Each implements activities.BindingCache. The workers' own writes count at once.
func (c cache) Each(held bool, do func(*karmada.Binding)) {
	for _, b := range c.s.world.Everything() {
		if !held || b.Held() {
			do(&b)
		}
	}
}

// In implements activities.BindingCache.
func (c cache) In(namespace string, do func(*karmada.Binding)) {
	c.Each(false, func(b *karmada.Binding) {
		if b.Key.Namespace == namespace {
			do(b)
		}
	})
}

// On implements activities.BindingCache. A page has few bindings, so that many a list has several.
func (c cache) On(cluster string, after karmada.BindingKey, _ int) (page []karmada.Binding, more bool) {
	const most = 8
	for _, key := range slices.SortedFunc(maps.Keys(c.seen), karmada.BindingKey.Compare) {
		b := c.seen[key]
		_, target := b.Target(cluster)
		if task, _ := b.TaskFor(cluster); target < 0 && task == nil || key.Compare(after) <= 0 {
			continue
		}
		if len(page) == most {
			more = true
			break
		}
		page = append(page, b)
	}
	c.s.judge.listing[workflows.ClusterFailoverID("", cluster)] = page
	return page, more
}
