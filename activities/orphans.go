package activities

import (
	"context"
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"k8s.io/apimachinery/pkg/types"
)

// OrphanRequest requests one page of Lifeboat tasks for a cluster.
type OrphanRequest struct {
	Cluster string `json:"cluster"`
	Page    Page   `json:"page"`
	// Drain is the order that stands on the cluster: it may select.
	Drain *karmada.Drain `json:"drain,omitempty"`
}

// OrphanPage are Lifeboat hold tasks whose owner is not running, and those whose is.
type OrphanPage struct {
	Orphans []Orphan `json:"orphans,omitempty"`
	Running []Orphan `json:"running,omitempty"`
	// Holders are those of dependents' tasks that do not run.
	Holders []Orphan `json:"holders,omitempty"`
	// Banned reports that bans of a drain stand.
	Banned bool  `json:"banned,omitempty"`
	Next   *Page `json:"next,omitempty"`
	// Evicted are those for which a task of Karmada's own taint manager for the cluster stands.
	Evicted []proof.BindingFact `json:"evicted,omitempty"`
}

// Orphan is one binding with a Lifeboat hold task for the cluster.
type Orphan struct {
	Key      karmada.BindingKey `json:"key"`
	UID      types.UID          `json:"uid"`
	Resource string             `json:"resource,omitempty"`
	Owner    string             `json:"owner"`
	// Policy is what would be frozen of it now, for the failover that takes it over; nil where its
	// owner runs and has one.
	Policy *rules.Policy `json:"policy,omitempty"`
}

// orphanFinder finds hold tasks whose workflow does not run.
type orphanFinder struct {
	reader
	owners Owners
}

// FindOrphans reads one page of bindings and finds out, by Describe, which owners of
// Lifeboat's tasks run. Tasks that were kept, or left to an operator, are off limits.
func (a orphanFinder) FindOrphans(ctx context.Context, r OrphanRequest) (OrphanPage, error) {
	page, err := a.bindingsOn(ctx, r.Cluster, r.Page)
	if err != nil {
		return OrphanPage{}, classify("list bindings held for cluster", r.Cluster, err)
	}
	out := OrphanPage{Next: page.Next}
	if err := a.orphansAmong(ctx, r, page.Bindings, &out); err != nil {
		return OrphanPage{}, err
	}
	if err := a.markLastCopies(ctx, out.Evicted, page.Bindings, r.Cluster); err != nil {
		return OrphanPage{}, classify("read clusters for", r.Cluster, err)
	}
	return out, nil
}

func (a orphanFinder) orphansAmong(ctx context.Context, r OrphanRequest, page []karmada.Binding, out *OrphanPage) error {
	from := newOnce(a.Reader)
	for i := range page {
		b := &page[i]
		out.Evicted = appendEvicted(out.Evicted, b, r.Cluster)
		task, _ := b.TaskFor(r.Cluster)
		if task == nil || !task.IsLifeboat() {
			continue
		}
		out.Banned = out.Banned || task.Bans()
		if err := a.deadHolders(ctx, b, *task, out); err != nil {
			return err
		}
		if task.Reason != karmada.TaskReason {
			continue
		}
		o := Orphan{Key: b.Key, UID: b.UID, Resource: resourceName(b), Owner: task.Owner()}
		running, err := a.owners.Running(ctx, o.Owner)
		if err != nil {
			return fmt.Errorf("describe owner %q of the task on %s: %w", o.Owner, b.Key, err)
		}
		if running {
			out.Running = append(out.Running, o)
			continue
		}
		stands, err := a.taskStands(ctx, b, r.Cluster, func(t *karmada.Task) bool { return t.Owner() == o.Owner })
		if err != nil {
			return err
		}
		if !stands {
			continue
		}
		if o.Policy, err = a.policyNow(ctx, r, page[i:i+1], from); err != nil {
			return err
		}
		out.Orphans = append(out.Orphans, o)
	}
	return nil
}

// policyNow is what would be frozen of one binding now.
func (a orphanFinder) policyNow(ctx context.Context, r OrphanRequest, one []karmada.Binding, from OptOutReader) (*rules.Policy, error) {
	b := &one[0]
	policy, err := readSoft(ctx, from, b, rules.PolicyOf(b, a.settings.DefaultTolerations))
	if err != nil {
		return nil, classify("read policy of binding", b.Key.String(), err)
	}
	if err := a.readSelected(ctx, r.Drain, one, r.Cluster); err != nil {
		return nil, classify("read the labels of the workload of", b.Key.String(), err)
	}
	policy.NotDrained = !r.Drain.Selects(b)
	return &policy, nil
}

// taskStands reads a binding again, whose task names a workflow that does not run: it may have ended
// that task after the list or the cache saw it.
func (a orphanFinder) taskStands(ctx context.Context, b *karmada.Binding, cluster string, names func(*karmada.Task) bool) (bool, error) {
	now, gone, err := a.binding(ctx, b.Key, b.UID)
	if err != nil || gone {
		return false, classify("read binding", b.Key.String(), err)
	}
	task, _ := now.TaskFor(cluster)
	return task != nil && task.IsLifeboat() && names(task), nil
}

// deadHolders finds those that hold a dependent and do not run. What is left to a
// operator is off limits.
func (a orphanFinder) deadHolders(ctx context.Context, b *karmada.Binding, task karmada.Task, out *OrphanPage) error {
	if task.Reason != karmada.TaskReason && !task.ForDependent() {
		return nil
	}
	for _, holder := range task.Others() {
		running, err := a.owners.Running(ctx, holder)
		if err != nil {
			return fmt.Errorf("describe holder %q of the task on %s: %w", holder, b.Key, err)
		}
		if running {
			continue
		}
		stands, err := a.taskStands(ctx, b, task.FromCluster, func(t *karmada.Task) bool { return slices.Contains(t.Others(), holder) })
		if err != nil {
			return err
		}
		if stands {
			out.Holders = append(out.Holders, Orphan{Key: b.Key, UID: b.UID, Resource: resourceName(b), Owner: holder})
		}
	}
	return nil
}

// appendEvicted notes a binding that Karmada's own taint manager evicts from a cluster.
func appendEvicted(in []proof.BindingFact, b *karmada.Binding, cluster string) []proof.BindingFact {
	if b.EvictedByKarmada(cluster) == nil {
		return in
	}
	return append(in, proof.BindingFact{Key: b.Key, UID: b.UID, ResourceVersion: b.ResourceVersion, SecondEvictor: true})
}

// markLastCopies marks which of the bindings that Karmada evicts need a Lifeboat hold task.
func (a orphanFinder) markLastCopies(ctx context.Context, evicted []proof.BindingFact, page []karmada.Binding, cluster string) error {
	if len(evicted) == 0 {
		return nil
	}
	fleet, err := a.recent().Clusters(ctx)
	if err != nil {
		return err
	}
	for i := range evicted {
		at := slices.IndexFunc(page, func(b karmada.Binding) bool { return b.Key == evicted[i].Key })
		evicted[i].LastCopy = a.settings.losesLastCopy(&page[at], fleet, cluster)
	}
	return nil
}

func (s Settings) losesLastCopy(b *karmada.Binding, fleet []karmada.Cluster, cluster string) bool {
	return proof.LosesLastCopy(b, cluster, suspects(fleet, b, cluster)) && !s.optedOutItself(b)
}
