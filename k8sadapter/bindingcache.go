package k8sadapter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"k8s.io/client-go/tools/cache"
)

// BindingCache holds every binding of both kinds as last seen by a watch. Writes of its Client
// count at once, before the watch reports them.
type BindingCache struct {
	watch     *Watch
	informers []cache.SharedIndexInformer

	mu sync.Mutex
	// written are results of own writes that the watch has not reported yet.
	written map[karmada.BindingKey]karmada.Binding
}

// Indexes of the bindings: those with a Lifeboat task under one value, all by the clusters that
// they target or have a task for, and all by namespace.
const (
	heldIndex      = "held"
	clusterIndex   = "cluster"
	namespaceIndex = cache.NamespaceIndex
)

// NewBindingCache prepares the cache of what client reads and writes; Run fills it.
func NewBindingCache(client *Client) *BindingCache {
	c := &BindingCache{watch: &Watch{client: client}, written: map[karmada.BindingKey]karmada.Binding{}}
	for _, kind := range bindingKinds {
		informer := c.watch.informer(bindingResource(kind), keeping(slimBinding))
		// AddIndexers cannot fail before the informer was started.
		_ = informer.AddIndexers(cache.Indexers{heldIndex: indexBy(heldOf), clusterIndex: indexBy(clustersOf), namespaceIndex: cache.MetaNamespaceIndexFunc})
		c.informers = append(c.informers, informer)
	}
	client.onWrite = c.wrote
	return c
}

func indexBy(values func(*karmada.Binding) []string) cache.IndexFunc {
	return func(object any) ([]string, error) {
		binding := valueOf[karmada.Binding](object)
		if binding == nil {
			return nil, fmt.Errorf("a binding cache holds %T", object)
		}
		return values(binding), nil
	}
}

func heldOf(b *karmada.Binding) []string {
	if b.Held() {
		return []string{heldIndex}
	}
	return nil
}

// clustersOf are the clusters that a binding targets or has a task for, each once.
func clustersOf(b *karmada.Binding) []string {
	names := make([]string, 0, len(b.Clusters)+len(b.Tasks))
	for _, target := range b.Clusters {
		names = append(names, target.Name)
	}
	for _, task := range b.Tasks {
		names = append(names, task.FromCluster)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Run follows both kinds until the context ends.
func (c *BindingCache) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, informer := range c.informers {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	running.Wait()
}

// Known reports whether every binding has been listed once.
func (c *BindingCache) Known() bool {
	return !slices.ContainsFunc(c.informers, func(i cache.SharedIndexInformer) bool { return !i.HasSynced() })
}

// Each calls do for every binding, or only for those with a Lifeboat task. The arguments of do
// are shared: do not change them.
func (c *BindingCache) Each(held bool, do func(*karmada.Binding)) {
	if held {
		c.each(func(i cache.Indexer) []any { return byIndex(i, heldIndex, heldIndex) }, (*karmada.Binding).Held, do)
		return
	}
	c.each(cache.Indexer.List, func(*karmada.Binding) bool { return true }, do)
}

// In calls do for every binding in a namespace, as Each does.
func (c *BindingCache) In(namespace string, do func(*karmada.Binding)) {
	c.each(func(i cache.Indexer) []any { return byIndex(i, namespaceIndex, namespace) },
		func(b *karmada.Binding) bool { return b.Key.Namespace == namespace }, do)
}

// Binding returns one binding as last seen or written, without the raw status of its copies.
func (c *BindingCache) Binding(key karmada.BindingKey) (karmada.Binding, bool) {
	c.mu.Lock()
	written, own := c.written[key]
	c.mu.Unlock()
	seen, known := c.seen(key)
	if known && own && rules.IsOlder(seen.ResourceVersion, written.ResourceVersion) {
		return written, true
	}
	return seen, known
}

// On returns at most so many bindings that target a cluster or have a task for it, in the
// order of their keys, after a key.
func (c *BindingCache) On(cluster string, after karmada.BindingKey, most int) (page []karmada.Binding, more bool) {
	var found []*karmada.Binding
	c.each(func(i cache.Indexer) []any { return byIndex(i, clusterIndex, cluster) },
		func(b *karmada.Binding) bool { return slices.Contains(clustersOf(b), cluster) },
		func(b *karmada.Binding) {
			if b.Key.Compare(after) > 0 {
				found = append(found, b)
			}
		})
	slices.SortFunc(found, func(a, b *karmada.Binding) int { return a.Key.Compare(b.Key) })
	for _, b := range found[:min(most, len(found))] {
		page = append(page, *b)
	}
	return page, len(found) > most
}

// byIndex reads an index that exists.
func byIndex(i cache.Indexer, index, value string) []any {
	objects, _ := i.ByIndex(index, value)
	return objects
}

// each calls do for the cached bindings, and for newer own writes that match.
func (c *BindingCache) each(of func(cache.Indexer) []any, match func(*karmada.Binding) bool, do func(*karmada.Binding)) {
	written := c.unseen()
	for _, informer := range c.informers {
		for _, object := range of(informer.GetIndexer()) {
			binding := valueOf[karmada.Binding](object)
			if binding == nil {
				continue
			}
			if _, newer := written[binding.Key]; !newer {
				do(binding)
			}
		}
	}
	for _, b := range written {
		if match(&b) {
			do(&b)
		}
	}
}

// wrote records the result of a write.
func (c *BindingCache) wrote(b karmada.Binding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, known := c.written[b.Key]; !known || !rules.IsOlder(b.ResourceVersion, last.ResourceVersion) {
		c.written[b.Key] = slimmed(b)
	}
	if len(c.written) > mostWritten {
		c.forget()
	}
}

// mostWritten is how many own writes are kept before those that the watch has reported are
// dropped.
const mostWritten = 1000

// forget drops the own writes that the watch has reported, and those of deleted bindings.
func (c *BindingCache) forget() {
	maps.DeleteFunc(c.written, func(_ karmada.BindingKey, b karmada.Binding) bool { return !c.behind(b) })
}

// unseen are the results of own writes that the watch has not reported yet.
func (c *BindingCache) unseen() map[karmada.BindingKey]karmada.Binding {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget()
	return maps.Clone(c.written)
}

// behind reports whether the watch has seen only an older version of the binding.
func (c *BindingCache) behind(b karmada.Binding) bool {
	seen, known := c.seen(b.Key)
	return known && rules.IsOlder(seen.ResourceVersion, b.ResourceVersion)
}

// seen is a binding as the watch saw it last.
func (c *BindingCache) seen(key karmada.BindingKey) (karmada.Binding, bool) {
	at := slices.Index(bindingKinds, key.Kind())
	object, _, err := c.informers[at].GetStore().GetByKey(cache.NewObjectName(key.Namespace, key.Name).String())
	if binding := valueOf[karmada.Binding](object); err == nil && binding != nil {
		return *binding, true
	}
	return karmada.Binding{}, false
}
