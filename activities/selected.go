package activities

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

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
	for page := (Page{}); ; {
		p, err := a.Reader.Bindings(ctx, page)
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
		if p.Next == nil {
			return false, nil
		}
		page = *p.Next
	}
}
