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
	return c.decodeCluster(raw), nil
}

// Evict takes the cluster out of spec.clusters under Lifeboat's hold task. Where the task
// stands already (a repeat, or the scheduler put the cluster back), it keeps the task and sets
// its replicas to those removed now. A task of another producer for the cluster, or a cluster
// that is neither a target nor held by Lifeboat, is an ErrInvalid.
func (c *Client) Evict(ctx context.Context, w activities.EvictWrite) (karmada.Binding, error) {
	return c.patchBinding(ctx, "evict from", w.Binding, w.Cluster, func(e *bindingEdit) {
		if w.Binding.Malformed != "" {
			e.refuse("malformed: %s", w.Binding.Malformed)
		}
		e.refuseForeign()
		if w.Back != nil {
			e.takeBack(*w.Back)
			e.endReschedule()
		}
		held := hold{owner: w.Owner, now: w.Now, purge: w.Purge, state: w.State}
		if removed := e.removeTarget(); removed != nil {
			held.replicas = &removed.Replicas
		} else if len(e.lifeboatTasks()) == 0 {
			e.refuse("%s is no target of it", w.Cluster)
		}
		e.putTask(held)
		e.reschedule(w.Reschedule, w.Now)
	})
}

// Restore puts the cluster and the others back and drops Lifeboat's task.
func (c *Client) Restore(ctx context.Context, w activities.RestoreWrite) (karmada.Binding, error) {
	return c.patchBinding(ctx, "restore to", w.Binding, w.Cluster, func(e *bindingEdit) {
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

// Hold puts Lifeboat's task back without touching spec.clusters, also beside a task of
// Karmada's taint manager.
func (c *Client) Hold(ctx context.Context, w activities.HoldWrite) (karmada.Binding, error) {
	return c.patchBinding(ctx, "hold on", w.Binding, w.Cluster, func(e *bindingEdit) {
		e.refuseForeign(karmada.TaintManager)
		e.putTask(hold{
			owner: w.Owner, now: w.Now, replicas: &w.Replicas, purge: w.Purge, before: w.Before, state: w.State,
		})
	})
}

// Release drops Lifeboat's task. Where there is none it changes nothing, and the server only
// confirms the version that was read.
func (c *Client) Release(ctx context.Context, w activities.ReleaseWrite) (karmada.Binding, error) {
	return c.patchBinding(ctx, "release from", w.Binding, w.Cluster, (*bindingEdit).letGo)
}

// Mark changes reason and owner of Lifeboat's task; without one it is an ErrInvalid.
func (c *Client) Mark(ctx context.Context, w activities.MarkWrite) (karmada.Binding, error) {
	return c.patchBinding(ctx, "mark task for", w.Binding, w.Cluster, func(e *bindingEdit) {
		indexes := e.lifeboatTasks()
		if len(indexes) == 0 {
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
		e.changeTask(indexes, fields)
		if w.Purge == karmada.PurgeDirectly {
			e.endReschedule()
		}
	})
}

// Holders sets the holders of a dependent's task for a cluster: it changes only the message of
// Lifeboat's task, and makes a ban a hold. Without holders it drops the task; without a task it appends one.
func (c *Client) Holders(ctx context.Context, w activities.HoldersWrite) (karmada.Binding, error) {
	return c.patchBinding(ctx, "set the holders on", w.Binding, w.Cluster, func(e *bindingEdit) {
		e.refuseForeign()
		message, fits := karmada.HoldersMessage(w.Holders)
		indexes := e.lifeboatTasks()
		switch {
		case !fits:
			e.refuse("%d holders do not fit into a task's message", len(w.Holders))
		case len(w.Holders) == 0:
			e.dropTasks(indexes)
			e.endReschedule()
		case len(indexes) == 0 || e.binding.Tasks[indexes[0]].Bans():
			e.putTask(hold{owner: message, reason: karmada.TaskReasonDependent, now: w.Now})
		default:
			e.changeTask(indexes, map[string]any{"message": message})
		}
	})
}

// patchBinding sends one change of a binding, which is about a cluster.
func (c *Client) patchBinding(
	ctx context.Context, op string, b *karmada.Binding, cluster string, change func(*bindingEdit),
) (karmada.Binding, error) {
	op += " " + cluster
	edit, err := newBindingEdit(b, cluster)
	if err != nil {
		return karmada.Binding{}, fmt.Errorf("%s binding %s: %w", op, cmp.Or(b, &karmada.Binding{}).Key, err)
	}
	change(edit)
	patch, err := edit.patch()
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
