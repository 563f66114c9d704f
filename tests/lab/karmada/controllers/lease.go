package controllers

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The leader Lease of karmada-controller-manager, with its default timing.
const (
	leaseNamespace = "karmada-system"
	leaseName      = "karmada-controller-manager"
	leaseSeconds   = int64(15)
	leaseRenew     = 2 * time.Second
	// leadsBefore is for how long a new lab's controller manager has led already.
	leadsBefore = time.Hour
)

var (
	leases     = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// lead renews the leader Lease while the controllers run; a plane that is started anew acquires it anew.
func (p *Plane) lead(ctx context.Context, _ string) (time.Duration, error) {
	now := time.Now()
	client := p.client.Resource(leases).Namespace(leaseNamespace)
	lease, err := client.Get(ctx, leaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		p.leads = now.Add(-leadsBefore)
		return 0, p.announceLease(ctx, now)
	}
	if err != nil {
		return 0, err
	}
	if p.leads.IsZero() {
		p.leads = now
	}
	lease.Object["spec"] = p.leaseSpec(now)
	if _, err = client.Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
		return 0, err
	}
	return leaseRenew, nil
}

// announceLease makes the Lease and its namespace; the next look renews it.
func (p *Plane) announceLease(ctx context.Context, now time.Time) error {
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	namespace.SetName(leaseNamespace)
	if _, err := p.client.Resource(namespaces).Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	lease := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": p.leaseSpec(now),
	}}
	lease.SetName(leaseName)
	_, err := p.client.Resource(leases).Namespace(leaseNamespace).Create(ctx, lease, metav1.CreateOptions{})
	if err == nil || apierrors.IsAlreadyExists(err) {
		p.lease.addAfter(leaseName, leaseRenew)
		return nil
	}
	return err
}

func (p *Plane) leaseSpec(now time.Time) map[string]any {
	return map[string]any{
		"holderIdentity": "lab_" + p.leads.UTC().Format(time.RFC3339Nano), "leaseDurationSeconds": leaseSeconds,
		"acquireTime": p.leads.UTC().Format(metav1.RFC3339Micro), "renewTime": now.UTC().Format(metav1.RFC3339Micro),
	}
}
