package realkarmada

import (
	"context"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/members"
)

// copiedResources are what the lab looks for in members: what its bindings propagate.
var copiedResources = []schema.GroupVersionResource{
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "apps", Version: "v1", Resource: "statefulsets"},
	configMaps,
	clusterRoles,
}

// Of these a member has some of its own.
var (
	configMaps   = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
)

// copies are the workloads of one member that Karmada brought there, as last seen, preserved ones included.
type copies struct {
	ctx    context.Context //nolint:containedctx // the life of its watches
	client dynamic.Interface

	mu        sync.Mutex
	informers []informers.GenericInformer
	cancel    context.CancelFunc
}

func watchCopies(ctx context.Context, config *rest.Config) (*copies, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &copies{ctx: ctx, client: client}
	c.again()
	return c, nil
}

// again watches with new informers, once these have what is there: those that lost their API server
// wait up to half a minute before they try it again.
func (c *copies) again() {
	ctx, cancel := context.WithCancel(c.ctx)
	var all []informers.GenericInformer
	var synced []cache.InformerSynced
	for _, resource := range copiedResources {
		one := dynamicinformer.NewFilteredDynamicInformer(c.client, resource, "", 0, cache.Indexers{}, broughtByKarmada(resource))
		go one.Informer().Run(ctx.Done())
		all, synced = append(all, one), append(synced, one.Informer().HasSynced)
	}
	cache.WaitForCacheSync(ctx.Done(), synced...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
	c.informers, c.cancel = all, cancel
}

// broughtByKarmada selects what a member does not have of its own. Karmada takes its label off a copy that it
// preserves.
func broughtByKarmada(resource schema.GroupVersionResource) func(*metav1.ListOptions) {
	return func(o *metav1.ListOptions) {
		if resource == configMaps || resource == clusterRoles {
			o.LabelSelector = "karmada.io/managed=true"
		}
	}
}

func (c *copies) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel()
}

// list returns the copies by kind, namespace and name.
func (c *copies) list(workUID func(ref string) string) []members.Workload {
	c.mu.Lock()
	watched := c.informers
	c.mu.Unlock()
	var all []members.Workload
	for _, informer := range watched {
		found, err := informer.Lister().List(labels.Everything())
		if err != nil {
			continue // a lister of a cache does not fail
		}
		for _, o := range found {
			if u, ok := o.(*unstructured.Unstructured); ok {
				all = append(all, workload(u, workUID))
			}
		}
	}
	slices.SortFunc(all, func(a, b members.Workload) int {
		return strings.Compare(a.Kind+"/"+a.Namespace+"/"+a.Name, b.Kind+"/"+b.Namespace+"/"+b.Name)
	})
	return all
}

func workload(u *unstructured.Unstructured, workUID func(ref string) string) members.Workload {
	annotations := u.GetAnnotations()
	ref := annotations["work.karmada.io/namespace"] + "/" + annotations["work.karmada.io/name"]
	number := func(path ...string) int64 {
		n, _, _ := unstructured.NestedInt64(u.Object, path...)
		return n
	}
	replicas, ready := number("spec", "replicas"), number("status", "readyReplicas")
	observed := !hasReplicas(u.GetKind()) || number("status", "observedGeneration") == u.GetGeneration()
	return members.Workload{
		Identity: members.Identity{
			APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(), UID: string(u.GetUID()),
			Replicas: int32(replicas), Work: ref, WorkUID: workUID(ref),
		},
		ReadyReplicas: int32(ready), Running: observed && ready == replicas,
	}
}

func hasReplicas(kind string) bool { return kind == "Deployment" || kind == "StatefulSet" }

// Members lists the members by name, with the copies last seen there.
func (c *ControlPlane) Members() []karmada.MemberStatus {
	c.mu.Lock()
	running := make([]*member, 0, len(c.members))
	for _, m := range c.members {
		if m.copies != nil {
			running = append(running, m)
		}
	}
	alive := map[string]bool{}
	for _, m := range running {
		alive[m.spec.Name] = m.alive
	}
	c.mu.Unlock()
	slices.SortFunc(running, func(a, b *member) int { return strings.Compare(a.spec.Name, b.spec.Name) })
	var all []karmada.MemberStatus
	for _, m := range running {
		all = append(all, karmada.MemberStatus{
			Name: m.spec.Name, Alive: alive[m.spec.Name], Readyz: m.url + "/readyz", Workloads: m.copies.list(c.workUID),
		})
	}
	return all
}
