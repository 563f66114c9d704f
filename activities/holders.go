package activities

import (
	"context"
	"errors"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
)

// HolderRequest is about one holder that does not run any more.
type HolderRequest struct {
	Cluster string              `json:"cluster"`
	Mode    failover.Mode       `json:"mode"`
	Key     failover.BindingKey `json:"key"`
	Holder  string              `json:"holder"`
}

// DropHolder takes a dead holder out of a dependent's task: such a task is never
// restored. It asks once more whether the holder runs, and looks at the holder's own
// binding: while a task of ours stands on that, its old copy may run and needs what is
// held. One that is left to a human takes its dependents with it; any other is adopted,
// and its next run lets go of them.
func (a *Activities) DropHolder(ctx context.Context, r HolderRequest) (DependentsResult, error) {
	var out DependentsResult
	if r.Mode != failover.ModeEnforce {
		return out, nil
	}
	running, err := a.Owners.Running(ctx, r.Holder)
	if err != nil || running {
		return out, classify("describe holder", r.Holder, err)
	}
	parent, err := a.bindingOf(ctx, r)
	if err != nil {
		return out, classify("read the binding of holder", r.Holder, err)
	}
	if task, _ := parent.TaskFor(r.Cluster); task != nil && task.Owned() {
		if !task.LeftForGood() {
			return out, nil
		}
		err := a.markDependent(ctx, r.Key, MoveRef{Cluster: r.Cluster, Key: parent.Key, Owner: r.Holder}, task.Reason)
		return out, classify("mark dependent", r.Key.String(), err)
	}
	plan, err := a.rewriteHolders(ctx, r.Key, r.Cluster, func(b *failover.Binding) failover.HoldPlan {
		if task, _ := b.TaskFor(r.Cluster); task == nil || !slices.Contains(task.Others(), r.Holder) {
			return failover.HoldPlan{Done: true}
		}
		return a.planLeave(b, r.Cluster, r.Holder, failover.NeedsOn(&parent, b, r.Cluster))
	})
	out.Reason, out.Message = plan.Reason, plan.Message
	return out, classify("drop holder of", r.Key.String(), err)
}

// bindingOf reads the binding that a holder moves, empty where it is gone. The holder's
// id names it; a long id is cut, and then its own task does.
func (a *Activities) bindingOf(ctx context.Context, r HolderRequest) (failover.Binding, error) {
	key, whole := failover.MigrationKey(r.Holder, r.Cluster)
	if !whole {
		named, err := a.search(ctx, func(b *failover.Binding) bool {
			task, _ := b.TaskFor(r.Cluster)
			return task != nil && task.Owner() == r.Holder
		})
		if err != nil || len(named) == 0 {
			return failover.Binding{}, err
		}
		key = named[0]
	}
	b, err := a.Reader.Binding(ctx, key)
	if errors.Is(err, failover.ErrGone) {
		return failover.Binding{}, nil
	}
	return b, err
}
