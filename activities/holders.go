package activities

import (
	"context"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// HolderRequest is about one holder that does not run any more.
type HolderRequest struct {
	Cluster string             `json:"cluster"`
	Mode    rules.Mode         `json:"mode"`
	Key     karmada.BindingKey `json:"key"`
	Holder  string             `json:"holder"`
}

// DropHolder takes a dead holder out of a dependent's task: such a task is never
// restored. It checks once more whether the holder runs, and looks at the holder's own
// binding: while a Lifeboat task stands on that, its old copy may run and needs what is
// held. One that is left to an operator takes its dependents with it; any other is adopted,
// and its next run lets go of them.
func (d dependents) DropHolder(ctx context.Context, r HolderRequest) (DependentsResult, error) {
	var out DependentsResult
	if r.Mode != rules.ModeEnforce {
		return out, nil
	}
	running, err := d.owners.Running(ctx, r.Holder)
	if err != nil || running {
		return out, classify("describe holder", r.Holder, err)
	}
	parent, err := d.bindingOf(ctx, r)
	if err != nil {
		return out, classify("read the binding of holder", r.Holder, err)
	}
	if task, _ := parent.TaskFor(r.Cluster); task != nil && task.Owned() {
		if !task.LeftForGood() {
			return out, nil
		}
		err := d.markDependent(ctx, r.Key, MigrationRef{Cluster: r.Cluster, Key: parent.Key, Owner: r.Holder}, task.Reason)
		return out, classify("mark dependent", r.Key.String(), err)
	}
	plan, err := d.rewriteHolders(ctx, r.Key, r.Cluster, func(b *karmada.Binding) (proof.HoldPlan, error) {
		if task, _ := b.TaskFor(r.Cluster); task == nil || !slices.Contains(task.Others(), r.Holder) {
			return proof.HoldPlan{Done: true}, nil
		}
		return d.planLeave(ctx, b, r.Cluster, r.Holder, karmada.NeedsOn(&parent, b, r.Cluster))
	})
	out.Reason, out.Message = plan.Reason, plan.Message
	return out, classify("drop holder of", r.Key.String(), err)
}

// bindingOf reads the binding that a holder moves, empty where it is gone. The holder's
// id names it; a long id is cut, and then its own task does.
func (d dependents) bindingOf(ctx context.Context, r HolderRequest) (karmada.Binding, error) {
	key, whole := karmada.MigrationKey(r.Holder, r.Cluster)
	if !whole {
		named, err := d.search(ctx, func(b *karmada.Binding) bool {
			task, _ := b.TaskFor(r.Cluster)
			return task != nil && task.Owner() == r.Holder
		})
		if err != nil || len(named) == 0 {
			return karmada.Binding{}, err
		}
		key = named[0]
	}
	b, _, err := d.binding(ctx, key, "")
	return b, err
}

// attachedFree keeps what has no placement of its own for a workload that needs it there, also against an order. The workloads
// are those in requiredBy and, where that was edited since, those in its task.
func (a releaser) attachedFree(ctx context.Context, b *karmada.Binding, cluster string) (free reason.Verdict, err error) {
	free.OK = true
	task, _ := b.TaskFor(cluster)
	named := slices.Clone(b.RequiredBy)
	for _, id := range task.Holders() {
		if key, whole := karmada.MigrationKey(id, cluster); whole && !b.RequiredIn(key) {
			named = append(named, karmada.RequiredBy{Namespace: key.Namespace, Name: key.Name})
		}
	}
	err = a.parents(ctx, named, func(parent *karmada.Binding) bool {
		free = freeOf(parent, b, cluster)
		return free.OK
	})
	return free, err
}

// freeOf says no where the old copy of a parent is held, or where the parent is back and Karmada has not named the cluster yet.
func freeOf(parent, b *karmada.Binding, cluster string) reason.Verdict {
	task, _ := parent.TaskFor(cluster)
	switch {
	case task != nil && task.Owned(): // also Directly: it may run until the task is gone
		return proof.Refuse(reason.HeldForParents, "%s", waitsFor(parent, cluster))
	case !b.ServesOn(cluster) && karmada.NeedsOn(parent, b, cluster):
		return proof.Refuse(reason.HeldForParents, "waits until Karmada names %s, where its parent %s is again", cluster, parent.Key)
	}
	return reason.Verdict{OK: true}
}

// leftWith leaves a binding to an operator where the parent that it waits for is (R4.10-3).
func (a releaser) leftWith(ctx context.Context, b *karmada.Binding, cluster string, parent *karmada.Binding) (err error) {
	if task, _ := parent.TaskFor(cluster); task.LeftForGood() {
		_, err = a.Writer.Mark(ctx, MarkWrite{Binding: b, Cluster: cluster, Reason: task.Reason})
	}
	return err
}
