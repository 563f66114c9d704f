package k8sadapter

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"k8s.io/apimachinery/pkg/labels"
)

// DecodeWork reads the metadata of a Work (work.karmada.io/v1alpha1).
func DecodeWork(raw []byte) failover.Work {
	var d decoding
	_, meta := d.object(raw)
	return failover.Work{
		Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID,
		Cluster:  strings.TrimPrefix(meta.Namespace, executionNamespacePrefix),
		Deleting: meta.DeletionTimestamp != nil,
	}
}

// Work reads one Work. Only its metadata crosses the wire.
func (c *Client) Work(ctx context.Context, namespace, name string) (failover.Work, error) {
	raw, err := c.do(ctx, request{
		verb: "get", resource: workResource, namespace: namespace, name: name, accept: acceptMetadata,
	})
	if err != nil {
		return failover.Work{}, err
	}
	return DecodeWork(raw), nil
}

// WorkOf finds the Work of a binding on a cluster by the binding's permanent id.
// Should there be several, one that is not being deleted wins. A binding without
// that label is an ErrInvalid: its Work cannot be told from others.
func (c *Client) WorkOf(ctx context.Context, b *failover.Binding, cluster string) (failover.Work, error) {
	label := labelPermanentID
	if b.Key.Kind() == failover.KindClusterResourceBinding {
		label = labelClusterPermanentID
	}
	id := b.Labels[label]
	if id == "" {
		return failover.Work{}, fmt.Errorf("find work of %s on %s: %w: no label %s",
			b.Key, cluster, failover.ErrInvalid, label)
	}
	page, err := c.listPage(ctx, request{
		verb: "list", resource: workResource, namespace: executionNamespacePrefix + cluster,
		accept: acceptMetadataList, query: url.Values{"labelSelector": {labels.Set{label: id}.String()}},
	})
	if err != nil {
		return failover.Work{}, err
	}
	if len(page.Items) == 0 {
		return failover.Work{}, fmt.Errorf("find work of %s on %s: %w", b.Key, cluster, failover.ErrGone)
	}
	found := DecodeWork(page.Items[0])
	for _, item := range page.Items[1:] {
		if other := DecodeWork(item); found.Deleting && !other.Deleting {
			found = other
		}
	}
	return found, nil
}
