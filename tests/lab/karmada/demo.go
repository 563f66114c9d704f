package karmada

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// loaders bounds how many objects Load creates at a time.
const loaders = 8

// DemoWorkloads makes n bindings of mixed kinds for the given members (at least two), the same ones
// each time: Deployments duplicated and divided, StatefulSets, ConfigMaps, affinity groups, cluster
// roles as ClusterResourceBindings. About half of them start on the first member. The last one, in
// namespace data, may run on the first member only: when that fails it has nowhere to go.
func DemoWorkloads(n int, members []string) []unstructured.Unstructured {
	if n < 1 || len(members) < 2 {
		return nil
	}
	bindings := make([]unstructured.Unstructured, 0, n)
	for i := range n - 1 {
		home := 0
		if i%2 == 1 {
			home = (i / 2) % len(members)
		}
		recipe := recipes[i%len(recipes)]
		bindings = append(bindings, recipe(demoSpot{index: i, members: members, home: home}))
	}
	only := demoSpot{index: n - 1, members: members[:1]}
	return append(bindings, only.workload("data", "ledger", "StatefulSet", only.duplicated(1)))
}

// recipes are the kinds of binding, in the order they come; the names say where the shop would run them.
var recipes = []func(demoSpot) unstructured.Unstructured{
	func(s demoSpot) unstructured.Unstructured {
		return s.workload("web", "front", "Deployment", s.duplicated(2))
	},
	func(s demoSpot) unstructured.Unstructured {
		return s.workload("shop", "cart", "Deployment", s.divided())
	},
	func(s demoSpot) unstructured.Unstructured {
		return s.workload("data", "store", "StatefulSet", s.duplicated(1))
	},
	func(s demoSpot) unstructured.Unstructured {
		return s.workload("shop", "checkout", "Deployment", s.groups())
	},
	func(s demoSpot) unstructured.Unstructured {
		return s.workload("web", "search", "Deployment", s.tolerant(s.duplicated(1)))
	},
	func(s demoSpot) unstructured.Unstructured {
		return s.plain("v1", "ConfigMap", "shop", "prices", s.duplicated(2))
	},
	func(s demoSpot) unstructured.Unstructured {
		return s.workload("shop", "payment", "Deployment", s.divided())
	},
	func(s demoSpot) unstructured.Unstructured {
		return s.plain("rbac.authorization.k8s.io/v1", "ClusterRole", "", "reader", s.duplicated(1))
	},
}

// demoSpot is where one binding of the demonstration starts.
type demoSpot struct {
	index, home int
	members     []string
}

// near is the home and up to two members after it.
func (s demoSpot) near() []any {
	var names []any
	for i := range min(3, len(s.members)) {
		names = append(names, s.members[(s.home+i)%len(s.members)])
	}
	return names
}

func (s demoSpot) duplicated(maxClusters int64) map[string]any {
	return Duplicated(s.near(), maxClusters)
}

// Duplicated puts a whole copy on some of the clusters, on so many at most.
func Duplicated(clusters []any, most int64) map[string]any {
	return map[string]any{
		"clusterAffinity":   map[string]any{"clusterNames": clusters},
		"replicaScheduling": map[string]any{"replicaSchedulingType": "Duplicated"},
		"spreadConstraints": []any{map[string]any{"spreadByField": "cluster", "minGroups": int64(1), "maxGroups": most}},
	}
}

func (s demoSpot) divided() map[string]any {
	var weights []any
	for i, name := range s.near() {
		weights = append(weights, map[string]any{
			"targetCluster": map[string]any{"clusterNames": []any{name}}, "weight": int64(3 - i),
		})
	}
	return map[string]any{
		"clusterAffinity": map[string]any{"clusterNames": s.near()},
		"replicaScheduling": map[string]any{
			"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
			"weightPreference": map[string]any{"staticWeightList": weights},
		},
	}
}

func (s demoSpot) groups() map[string]any {
	near, placement := s.near(), s.duplicated(1)
	delete(placement, "clusterAffinity")
	placement["clusterAffinities"] = []any{
		map[string]any{"affinityName": "primary", "clusterNames": near[:1]},
		map[string]any{"affinityName": "backup", "clusterNames": near[1:]},
	}
	return placement
}

// tolerant lets a binding bear a failure for some seconds before it has to go.
func (s demoSpot) tolerant(placement map[string]any) map[string]any {
	placement["clusterTolerations"] = []any{map[string]any{
		"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(5),
	}}
	return placement
}

func (s demoSpot) workload(namespace, name, kind string, placement map[string]any) unstructured.Unstructured {
	binding := s.plain("apps/v1", kind, namespace, name, placement)
	spec := binding.Object["spec"].(map[string]any)
	replicas := int64(1 + s.index%4)
	spec["replicas"] = replicas
	spec["clusters"].([]any)[0].(map[string]any)["replicas"] = replicas
	if strategy, _ := placement["replicaScheduling"].(map[string]any); strategy["replicaSchedulingType"] == "Divided" {
		delete(spec, "clusters")
	}
	spec["replicaRequirements"] = map[string]any{"resourceRequest": map[string]any{"cpu": "100m", "memory": "64Mi"}}
	if s.index%9 == 0 {
		spec["schedulePriority"] = map[string]any{"priority": int64(100)}
	}
	return binding
}

func (s demoSpot) plain(apiVersion, kind, namespace, name string, placement map[string]any) unstructured.Unstructured {
	object := map[string]any{"apiVersion": apiVersion, "kind": kind, "namespace": namespace, "name": fmt.Sprintf("%s-%02d", name, s.index)}
	return NewBinding(object, s.members[s.home], placement)
}

// NewBinding is the binding of an object that is at home already: the scheduler leaves what serves where it is. An
// object without a namespace gets a ClusterResourceBinding.
func NewBinding(object map[string]any, home any, placement map[string]any) unstructured.Unstructured {
	binding := unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "work.karmada.io/v1alpha2", "kind": api.KindResourceBinding,
		"spec": map[string]any{
			"resource": object, "placement": placement, "schedulerName": api.DefaultScheduler,
			"clusters": []any{map[string]any{"name": home}},
		},
	}}
	binding.SetName(fmt.Sprintf("%s-%s", object["name"], strings.ToLower(fmt.Sprint(object["kind"]))))
	if namespace := fmt.Sprint(object["namespace"]); namespace != "" {
		binding.SetNamespace(namespace)
	} else {
		binding.SetKind(api.KindClusterResourceBinding)
		delete(object, "namespace")
	}
	return binding
}

// Load creates bindings, and the namespaces they are in, where they are not there yet.
func Load(ctx context.Context, cfg *rest.Config, bindings []unstructured.Unstructured) error {
	fast := rest.CopyConfig(cfg)
	fast.QPS = -1
	client, err := dynamic.NewForConfig(fast)
	if err != nil {
		return fmt.Errorf("build client: %w", err)
	}
	if err := loadNamespaces(ctx, client, bindings); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(loaders)
	for i := range bindings {
		group.Go(func() error { return loadBinding(ctx, client, &bindings[i]) })
	}
	return group.Wait()
}

func loadNamespaces(ctx context.Context, client dynamic.Interface, bindings []unstructured.Unstructured) error {
	seen := map[string]bool{"": true}
	for i := range bindings {
		name := bindings[i].GetNamespace()
		if seen[name] {
			continue
		}
		seen[name] = true
		namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
		namespace.SetName(name)
		_, err := client.Resource(api.Namespaces).Create(ctx, namespace, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	return nil
}

func loadBinding(ctx context.Context, client dynamic.Interface, binding *unstructured.Unstructured) error {
	var bindings dynamic.ResourceInterface = client.Resource(api.ClusterResourceBindings)
	if binding.GetKind() == api.KindResourceBinding {
		bindings = client.Resource(api.ResourceBindings).Namespace(binding.GetNamespace())
	}
	_, err := bindings.Create(ctx, binding, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s %s/%s: %w", binding.GetKind(), binding.GetNamespace(), binding.GetName(), err)
	}
	return nil
}
