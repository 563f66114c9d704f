package k8sadapter

import (
	"cmp"
	"context"
	"fmt"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// Every write below is one merge patch, sent once. After an ErrUnreachable the server may or
// may not have stored it; after any other error it has not.

// Taint adds and removes Lifeboat taints with Lifeboat's record of them.
func (c *Client) Taint(ctx context.Context, w activities.TaintWrite) (karmada.Cluster, error) {
	patch, err := taintPatch(w, c.now())
	if err != nil {
		return karmada.Cluster{}, fmt.Errorf("taint cluster %s: %w", w.Cluster.Name, err)
	}
	raw, err := c.do(ctx, request{verb: "patch", resource: clusterResource, name: w.Cluster.Name, body: patch})
	if err != nil {
		return karmada.Cluster{}, fmt.Errorf("taint cluster %s: %w", w.Cluster.Name, err)
	}
	return DecodeCluster(raw), nil
}

// Evict takes the cluster out of spec.clusters under Lifeboat's hold task. A task of
// another producer for it, or a cluster that is neither a target nor held by Lifeboat,
// is an ErrInvalid.
func (c *Client) Evict(ctx context.Context, w activities.EvictWrite) (karmada.Binding, error) {
	patch, err := evictPatch(w)
	return c.patchBinding(ctx, "evict from "+w.Cluster, w.Binding, patch, err)
}

// Restore puts the cluster back and drops Lifeboat's task.
func (c *Client) Restore(ctx context.Context, w activities.RestoreWrite) (karmada.Binding, error) {
	patch, err := restorePatch(w)
	return c.patchBinding(ctx, "restore to "+w.Cluster, w.Binding, patch, err)
}

// Hold puts Lifeboat's task back without touching spec.clusters.
func (c *Client) Hold(ctx context.Context, w activities.HoldWrite) (karmada.Binding, error) {
	patch, err := holdPatch(w)
	return c.patchBinding(ctx, "hold on "+w.Cluster, w.Binding, patch, err)
}

// Release drops Lifeboat's task.
func (c *Client) Release(ctx context.Context, w activities.ReleaseWrite) (karmada.Binding, error) {
	patch, err := releasePatch(w)
	return c.patchBinding(ctx, "release from "+w.Cluster, w.Binding, patch, err)
}

// Mark changes reason and owner of Lifeboat's task; without one it is an ErrInvalid.
func (c *Client) Mark(ctx context.Context, w activities.MarkWrite) (karmada.Binding, error) {
	patch, err := markPatch(w)
	return c.patchBinding(ctx, "mark task for "+w.Cluster, w.Binding, patch, err)
}

// Holders sets the holders of a dependent's task for a cluster.
func (c *Client) Holders(ctx context.Context, w activities.HoldersWrite) (karmada.Binding, error) {
	patch, err := holdersPatch(w)
	return c.patchBinding(ctx, "set the holders on "+w.Cluster, w.Binding, patch, err)
}

// patchBinding sends a patch, or returns the error with which it could not be built.
func (c *Client) patchBinding(
	ctx context.Context, op string, b *karmada.Binding, patch []byte, err error,
) (karmada.Binding, error) {
	if b == nil {
		b = &karmada.Binding{}
	}
	if err != nil {
		return karmada.Binding{}, fmt.Errorf("%s binding %s: %w", op, b.Key, err)
	}
	raw, err := c.do(ctx, request{
		verb: "patch", resource: bindingResource(b.Key.Kind()),
		namespace: b.Key.Namespace, name: b.Key.Name, body: patch,
	})
	if err != nil {
		return karmada.Binding{}, fmt.Errorf("%s: %w", op, err)
	}
	after := DecodeBinding(raw)
	if c.onWrite != nil {
		c.onWrite(after)
	}
	return after, nil
}

// evictPatch takes the cluster out of spec.clusters and puts Lifeboat's task. Where the task
// stands already (a repeat, or the scheduler put the cluster back), it keeps the task and sets
// its replicas to those removed now.
func evictPatch(w activities.EvictWrite) ([]byte, error) {
	return editBinding(w.Binding, w.Cluster, func(e *bindingEdit) {
		if w.Binding.Malformed != "" {
			e.refuse("malformed: %s", w.Binding.Malformed)
		}
		e.refuseForeign()
		if w.Back != nil {
			e.takeBack(*w.Back)
		}
		held := hold{owner: w.Owner, reason: w.Reason, now: w.Now, purge: w.Purge, state: w.State}
		if removed := e.removeTarget(); removed != nil {
			held.replicas = &removed.Replicas
		} else if len(e.ours()) == 0 {
			e.refuse("%s is no target of it", w.Cluster)
		}
		e.putTask(held)
		e.reschedule(w.Reschedule, w.Now)
	})
}

// restorePatch puts the cluster and the others back and drops Lifeboat's task.
func restorePatch(w activities.RestoreWrite) ([]byte, error) {
	return editBinding(w.Binding, w.Cluster, func(e *bindingEdit) {
		e.undo(w.Away, w.Shrunk)
		e.addTarget(karmada.TargetCluster{Name: w.Cluster, Replicas: w.Replicas})
		for _, other := range w.Others {
			if task, _ := w.Binding.TaskFor(other.Name); task != nil {
				e.refuse("%s has a task of its own and must not come back", other.Name)
			}
			e.addTarget(other)
		}
		e.letGo()
		e.reschedule(w.Reschedule, w.Now)
	})
}

// holdPatch puts Lifeboat's task without touching spec.clusters, also beside a task of
// Karmada's taint manager.
func holdPatch(w activities.HoldWrite) ([]byte, error) {
	return editBinding(w.Binding, w.Cluster, func(e *bindingEdit) {
		e.refuseForeign(karmada.TaintManager)
		e.putTask(hold{owner: w.Owner, reason: w.Reason, now: w.Now, replicas: &w.Replicas, purge: w.Purge, before: w.Before, state: w.State})
	})
}

// releasePatch drops Lifeboat's task. Where there is none it changes nothing, and the server
// only confirms the version that was read.
func releasePatch(w activities.ReleaseWrite) ([]byte, error) {
	return editBinding(w.Binding, w.Cluster, (*bindingEdit).letGo)
}

// markPatch changes reason and owner of Lifeboat's task.
func markPatch(w activities.MarkWrite) ([]byte, error) {
	return editBinding(w.Binding, w.Cluster, func(e *bindingEdit) {
		ours := e.ours()
		if len(ours) == 0 {
			e.refuse("no Lifeboat task for %s stands", w.Cluster)
			return
		}
		fields := map[string]any{"reason": cmp.Or(w.Reason, karmada.TaskReason)}
		if w.Purge != "" {
			fields["purgeMode"] = w.Purge
		}
		if w.Owner != "" {
			fields["message"] = e.owner(w.Owner)
		}
		e.changeTask(ours, fields)
	})
}

// holdersPatch changes only the message of Lifeboat's task. Without holders it drops the task;
// without a task it appends one.
func holdersPatch(w activities.HoldersWrite) ([]byte, error) {
	return editBinding(w.Binding, w.Cluster, func(e *bindingEdit) {
		e.refuseForeign()
		message, fits := karmada.HoldersMessage(w.Holders)
		ours := e.ours()
		switch {
		case !fits:
			e.refuse("%d holders do not fit into a task's message", len(w.Holders))
		case len(w.Holders) == 0:
			e.dropTasks(ours)
		case len(ours) == 0:
			e.appendTask(hold{owner: message, reason: karmada.TaskReasonDependent, now: w.Now})
		default:
			e.changeTask(ours, map[string]any{"message": message})
		}
	})
}
