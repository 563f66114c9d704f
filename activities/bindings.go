package activities

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"k8s.io/apimachinery/pkg/types"
)

// BindingCache has every binding as a watch saw it last. A write of this process counts at once,
// a write of another as soon as the watch reports it. What it returns is shared: do not change it.
type BindingCache interface {
	// Known reports whether every binding has been seen once.
	Known() bool
	// Binding returns one binding, without the raw status of its copies; false where there is none.
	Binding(key karmada.BindingKey) (karmada.Binding, bool)
	// Each calls do for every binding, or only for those that have a Lifeboat task.
	Each(held bool, do func(*karmada.Binding))
	// In calls do for every binding in a namespace.
	In(namespace string, do func(*karmada.Binding))
	// On returns the bindings that target a cluster or have a task for it, at most so many after a
	// key in the order of the keys; more reports that others follow.
	On(cluster string, after karmada.BindingKey, most int) (page []karmada.Binding, more bool)
}

// cached reports whether the bindings can be read without a list.
func (k reader) cached() bool { return k.cache != nil && k.cache.Known() }

// pageFromCache is how many bindings a page from the cache has: some 300 kB in a failover's history.
const pageFromCache = 1500

// bindingsOn reads a page of the bindings that target a cluster or have a task for it. It comes
// from the cache. Without one it is a page of all bindings, and the caller leaves the others out.
func (k reader) bindingsOn(ctx context.Context, cluster string, page Page) (BindingPage, error) {
	var after karmada.BindingKey
	if page.After != nil {
		after = *page.After
	}
	if k.cached() && page.Kind == "" && page.Continue == "" {
		bindings, more := k.cache.On(cluster, after, pageFromCache)
		out := BindingPage{Bindings: bindings}
		if more {
			out.Next = &Page{After: &bindings[len(bindings)-1].Key}
		}
		return out, nil
	}
	listed, err := k.Reader.Bindings(ctx, page)
	if page.After == nil || err != nil {
		return listed, err
	}
	// The worker that read the page before had a cache. This one lists them all again.
	listed.Bindings = slices.DeleteFunc(listed.Bindings, func(b karmada.Binding) bool { return b.Key.Compare(after) <= 0 })
	if listed.Next != nil {
		listed.Next.After = page.After
	}
	return listed, nil
}

// BindingLister lists bindings page by page.
type BindingLister interface {
	Bindings(ctx context.Context, page Page) (BindingPage, error)
}

// AllBindings lists every binding, page by page. After an error it ends.
func AllBindings(ctx context.Context, from BindingLister) iter.Seq2[*karmada.Binding, error] {
	return func(yield func(*karmada.Binding, error) bool) {
		for page := &(Page{}); page != nil; {
			listed, err := from.Bindings(ctx, *page)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range listed.Bindings {
				if !yield(&listed.Bindings[i], nil) {
					return
				}
			}
			page = listed.Next
		}
	}
}

// search lists the keys of the bindings that match.
func (k reader) search(ctx context.Context, match func(*karmada.Binding) bool) (keys []karmada.BindingKey, err error) {
	for b, err := range AllBindings(ctx, k.Reader) {
		if err != nil {
			return nil, err
		}
		if match(b) {
			keys = append(keys, b.Key)
		}
	}
	return keys, nil
}

// each calls do for every binding, from the cache, or from a list where there is none. Held: the
// bindings with a Lifeboat task are enough.
func (k reader) each(ctx context.Context, held bool, do func(*karmada.Binding)) error {
	if k.cached() {
		k.cache.Each(held, do)
		return nil
	}
	for b, err := range AllBindings(ctx, k.Reader) {
		if err != nil {
			return err
		}
		do(b)
	}
	return nil
}

// in calls do for every binding in a namespace, from the cache, or from a list where there is none.
func (k reader) in(ctx context.Context, namespace string, do func(*karmada.Binding)) error {
	if k.cached() {
		k.cache.In(namespace, do)
		return nil
	}
	return k.each(ctx, false, func(b *karmada.Binding) {
		if b.Key.Namespace == namespace {
			do(b)
		}
	})
}

// binding reads a binding; gone where it does not exist, or exists under another uid. An empty uid
// is not compared.
func (k reader) binding(ctx context.Context, key karmada.BindingKey, uid types.UID) (b karmada.Binding, gone bool, err error) {
	b, err = k.Reader.Binding(ctx, key)
	if errors.Is(err, karmada.ErrGone) || err == nil && uid != "" && b.UID != uid {
		return b, true, nil
	}
	return b, false, err
}

// work reads a Work; ended where it does not exist, or exists under another uid.
func (k reader) work(ctx context.Context, namespace, name string, uid types.UID) (w karmada.Work, ended bool, err error) {
	w, err = k.Reader.Work(ctx, namespace, name)
	if errors.Is(err, karmada.ErrGone) || err == nil && w.UID != uid {
		return w, true, nil
	}
	return w, false, err
}

// readLabels completes bindings with the labels of their workloads, from the Works on a
// cluster. It is asked for only where a selector decides: a Work holds the whole manifest.
func (k reader) readLabels(ctx context.Context, cluster string, bindings ...*karmada.Binding) error {
	if len(bindings) == 0 {
		return nil
	}
	found, err := k.Reader.WorkloadLabels(ctx, bindings, cluster)
	if err != nil {
		return err
	}
	for _, b := range bindings {
		b.WorkloadLabels = found[b.Key]
	}
	return nil
}

// readSelected is readLabels for the bindings of a page that are, or were, on a cluster,
// where a drain selects among them.
func (k reader) readSelected(ctx context.Context, d *karmada.Drain, page []karmada.Binding, cluster string) error {
	if !d.Selective() {
		return nil
	}
	var here []*karmada.Binding
	for i := range page {
		_, at := page[i].Target(cluster)
		if task, _ := page[i].TaskFor(cluster); at >= 0 || task != nil {
			here = append(here, &page[i])
		}
	}
	return k.readLabels(ctx, cluster, here...)
}

// selectsAny reports whether a drain that is about to be recorded has anything to move. One
// without a selector always has: what comes to the cluster later moves, too.
func (a tainter) selectsAny(ctx context.Context, d *karmada.Drain, cluster string) (bool, error) {
	if !d.Selective() {
		return true, nil
	}
	for page := &(Page{}); page != nil; {
		p, err := a.Reader.Bindings(ctx, *page)
		if err != nil {
			return false, err
		}
		if err := a.readSelected(ctx, d, p.Bindings, cluster); err != nil {
			return false, err
		}
		for i := range p.Bindings {
			b := &p.Bindings[i]
			if _, at := b.Target(cluster); at >= 0 && !b.Deleting && !a.settings.optedOutItself(b) && d.Selects(b) {
				return true, nil
			}
		}
		page = p.Next
	}
	return false, nil
}

// cluster reads a cluster; gone where it does not exist, or exists under another uid. An empty uid
// is not compared.
func (k reader) cluster(ctx context.Context, name string, uid types.UID) (c karmada.Cluster, gone bool, err error) {
	c, err = k.Reader.Cluster(ctx, name)
	if errors.Is(err, karmada.ErrGone) || err == nil && uid != "" && c.UID != uid {
		return c, true, nil
	}
	return c, false, err
}
