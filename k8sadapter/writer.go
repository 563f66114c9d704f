package k8sadapter

import (
	"context"
	"fmt"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// Every write below is one merge patch, sent once. An ErrUnreachable means that it
// may or may not stand; any other error that it does not.

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
// another producer for it, or a cluster that is neither a target nor held by us,
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

// patchBinding sends a patch that was built, or says why it could not be.
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
