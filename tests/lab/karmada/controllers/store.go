package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

const (
	worksByBinding    = "worksByBinding"
	bindingsByCluster = "bindingsByCluster"
)

// store holds the caches of everything the controllers watch, decoded once, and writes patches.
type store struct {
	client                        dynamic.Interface
	bindings, clusterBindings     cache.SharedIndexInformer
	works, clusters               cache.SharedIndexInformer
	bindingResources, allWatchers []cache.SharedIndexInformer
}

func newStore(client dynamic.Interface) (*store, error) {
	s := &store{client: client}
	var err error
	add := func(resource schema.GroupVersionResource, decode cache.TransformFunc, indexers cache.Indexers) cache.SharedIndexInformer {
		informer := dynamicinformer.NewFilteredDynamicInformer(client, resource, metav1.NamespaceAll, 0, indexers, nil).Informer()
		if e := informer.SetTransform(decode); e != nil {
			err = e
		}
		s.allWatchers = append(s.allWatchers, informer)
		return informer
	}
	byCluster := cache.Indexers{bindingsByCluster: clustersOfBinding}
	s.bindings = add(api.ResourceBindings, decoder[api.Binding](), byCluster)
	s.clusterBindings = add(api.ClusterResourceBindings, decoder[api.Binding](), byCluster)
	s.works = add(api.Works, decoder[api.Work](), cache.Indexers{
		worksByBinding: bindingOfWork, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
	s.clusters = add(api.Clusters, decoder[api.Cluster](), cache.Indexers{})
	s.bindingResources = []cache.SharedIndexInformer{s.bindings, s.clusterBindings}
	if err != nil {
		return nil, fmt.Errorf("prepare caches: %w", err)
	}
	return s, nil
}

func decoder[T api.Object]() cache.TransformFunc {
	return func(object any) (any, error) {
		if raw, ok := object.(*unstructured.Unstructured); ok {
			return api.From[T](raw.Object)
		}
		return object, nil
	}
}

func clustersOfBinding(object any) ([]string, error) {
	var names []string
	for _, target := range object.(*api.Binding).Spec.Clusters {
		names = append(names, target.Name)
	}
	return names, nil
}

func bindingOfWork(object any) ([]string, error) {
	return []string{object.(*api.Work).BindingRef()}, nil
}

// run starts the watches and returns when the caches are filled.
func (s *store) run(ctx context.Context) error {
	var synced []cache.InformerSynced
	for _, informer := range s.allWatchers {
		go informer.RunWithContext(ctx)
		synced = append(synced, informer.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("fill caches: %w", ctx.Err())
	}
	return nil
}

func lookup[T any](informer cache.SharedIndexInformer, key string) *T {
	object, found, err := informer.GetIndexer().GetByKey(key)
	if err != nil || !found {
		return nil
	}
	return object.(*T)
}

func (s *store) binding(ref string) *api.Binding {
	kind, namespace, name := api.SplitRef(ref)
	if kind == api.KindClusterResourceBinding {
		return lookup[api.Binding](s.clusterBindings, name)
	}
	return lookup[api.Binding](s.bindings, namespace+"/"+name)
}

func (s *store) work(key string) *api.Work        { return lookup[api.Work](s.works, key) }
func (s *store) cluster(name string) *api.Cluster { return lookup[api.Cluster](s.clusters, name) }

func typed[T any](objects []any) []*T {
	all := make([]*T, len(objects))
	for i, object := range objects {
		all[i] = object.(*T)
	}
	return all
}

// allClusters lists the member clusters by name.
func (s *store) allClusters() []*api.Cluster {
	all := typed[api.Cluster](s.clusters.GetIndexer().List())
	slices.SortFunc(all, func(a, b *api.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (s *store) allBindings() []*api.Binding {
	var all []*api.Binding
	for _, informer := range s.bindingResources {
		all = append(all, typed[api.Binding](informer.GetIndexer().List())...)
	}
	return all
}

func (s *store) isTargeted(cluster string) bool {
	return slices.ContainsFunc(s.bindingResources, func(informer cache.SharedIndexInformer) bool {
		keys, err := informer.GetIndexer().IndexKeys(bindingsByCluster, cluster)
		return err == nil && len(keys) > 0
	})
}

func (s *store) worksOf(bindingRef string) []*api.Work { return s.worksBy(worksByBinding, bindingRef) }

func (s *store) worksIn(cluster string) []*api.Work {
	return s.worksBy(cache.NamespaceIndex, api.ExecutionNamespace(cluster))
}

func (s *store) worksBy(index, value string) []*api.Work {
	objects, err := s.works.GetIndexer().ByIndex(index, value)
	if err != nil {
		return nil
	}
	works := typed[api.Work](objects)
	slices.SortFunc(works, func(a, b *api.Work) int { return cmp.Compare(a.Namespace, b.Namespace) })
	return works
}

func (s *store) bindingClient(b *api.Binding) dynamic.ResourceInterface {
	if b.Kind == api.KindClusterResourceBinding {
		return s.client.Resource(api.ClusterResourceBindings)
	}
	return s.client.Resource(api.ResourceBindings).Namespace(b.Namespace)
}

func (s *store) workClient(namespace string) dynamic.ResourceInterface {
	return s.client.Resource(api.Works).Namespace(namespace)
}

// object is JSON to be.
type object = map[string]any

// mergePatch writes a JSON merge patch.
var mergePatch = api.MergePatch

// timestamp is the current time as the API stores it, in whole seconds.
func timestamp() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }

// withCondition returns the conditions with one of them set; its transition time moves only with its
// status. The second result says whether anything differs.
func withCondition(conditions []metav1.Condition, set metav1.Condition) ([]metav1.Condition, bool) {
	result := slices.Clone(conditions)
	changed := meta.SetStatusCondition(&result, set)
	return result, changed
}
