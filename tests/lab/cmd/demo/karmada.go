package main

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

const (
	// addSeconds and removeSeconds are the windows of the demo's rule.
	addSeconds    = 3
	removeSeconds = 3
	ruleName      = "unreachable"
	ruleTaint     = "demo/unreachable"
	producer      = "Lifeboat"
)

// Bindings with a part of their own in the story.
const (
	// unready gets two of three replicas ready on its new cluster, until the demo heals it.
	unready = "shop/invoices-deployment"
	// archive may run on member2 and member6 only; member6 is cordoned right after its eviction.
	archive = "data/archive-statefulset"
	// victim is the binding that the sabotages go for.
	victim = "data/store-02-statefulset"
)

// controlPlane is the administrator's hand.
type controlPlane struct {
	config *rest.Config
	client dynamic.Interface
}

func connect(kubeconfig string) (*controlPlane, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build client: %w", err)
	}
	return &controlPlane{config: config, client: client}, nil
}

// workloads are those of the lab and three with a part of their own.
func workloads(n int, members []string) []unstructured.Unstructured {
	all := karmada.DemoWorkloads(n-3, members)
	for i := range all {
		// Slow to start, so that a sabotage comes in time on any machine.
		if all[i].GetNamespace()+"/"+all[i].GetName() == victim {
			all[i].SetAnnotations(map[string]string{api.FaultReadyAfter: "6s"})
		}
	}
	// This one must never run twice: while its home is silent it waits until somebody vouches that the old copy is dead.
	licence := single("web", "licence", "Deployment", 1, []any{members[0], members[2]})
	licence.SetAnnotations(map[string]string{"failover.lifeboat.dev/purge-mode": "Directly"})
	invoices := single("shop", "invoices", "Deployment", 3, []any{members[0], members[3]})
	invoices.SetAnnotations(map[string]string{api.FaultStuckReadyAt: members[3] + "=2"})
	return append(all, licence, invoices, single("data", "archive", "StatefulSet", 2, []any{members[1], members[5]}))
}

// single runs on one cluster at a time, at first on the first.
func single(namespace, name, kind string, replicas int64, clusters []any) unstructured.Unstructured {
	object := map[string]any{"apiVersion": "apps/v1", "kind": kind, "namespace": namespace, "name": name}
	binding := karmada.NewBinding(object, clusters[0], karmada.Duplicated(clusters, 1))
	spec := binding.Object["spec"].(map[string]any)
	spec["replicas"], spec["schedulePriority"] = replicas, map[string]any{"priority": int64(1000)}
	return binding
}

var rules = schema.GroupVersionResource{Group: "failover.lifeboat.dev", Version: "v1alpha1", Resource: "clustertaintrules"}

// putRule says when a cluster counts as failed.
func (c *controlPlane) putRule(ctx context.Context) error {
	rule := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "failover.lifeboat.dev/v1alpha1", "kind": "ClusterTaintRule",
		"metadata": map[string]any{"name": ruleName},
		"spec": map[string]any{
			"matchConditions": []any{map[string]any{"conditionType": "Ready", "operator": "In", "statusValues": []any{"False", "Unknown"}}},
			"taints": []any{map[string]any{
				"key": ruleTaint, "effect": "NoExecute", "addOnMatchSeconds": int64(addSeconds), "removeOnMismatchSeconds": int64(removeSeconds),
			}},
		},
	}}
	if _, err := c.client.Resource(rules).Create(ctx, rule, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create ClusterTaintRule %s: %w", ruleName, err)
	}
	return nil
}

// cordon keeps new copies away from a cluster; uncordon lets them come again.
func (c *controlPlane) cordon(ctx context.Context, cluster string, on bool) error {
	cordoned := map[string]any{"key": "demo/cordoned", "effect": "NoSchedule"}
	return c.edit(ctx, c.client.Resource(api.Clusters), cluster, func(o *unstructured.Unstructured) map[string]any {
		kept := without(o, "taints", "key", cordoned["key"])
		if on {
			kept = append(kept, cordoned)
		}
		return map[string]any{"spec": map[string]any{"taints": kept}}
	})
}

// heal lets the unready binding's new copy become complete.
func (c *controlPlane) heal(ctx context.Context, binding string) error {
	return c.edit(ctx, c.bindings(binding), path.Base(binding), func(*unstructured.Unstructured) map[string]any {
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{api.FaultStuckReadyAt: nil}}}
	})
}

// dropTask is the sabotage: it takes Lifeboat's hold task away.
func (c *controlPlane) dropTask(ctx context.Context, binding string) error {
	return c.edit(ctx, c.bindings(binding), path.Base(binding), func(o *unstructured.Unstructured) map[string]any {
		return map[string]any{"spec": map[string]any{"gracefulEvictionTasks": without(o, "gracefulEvictionTasks", "producer", producer)}}
	})
}

// without is a list of the spec without the items that have a value in a field.
func without(o *unstructured.Unstructured, list, field string, value any) []any {
	items, _, _ := unstructured.NestedSlice(o.Object, "spec", list)
	return slices.DeleteFunc(append([]any{}, items...), func(item any) bool {
		fields, is := item.(map[string]any)
		return is && fields[field] == value
	})
}

func (c *controlPlane) bindings(binding string) dynamic.ResourceInterface {
	return c.client.Resource(api.ResourceBindings).Namespace(path.Dir(binding))
}

// edit reads, changes and patches until nobody was in between.
func (c *controlPlane) edit(ctx context.Context, objects dynamic.ResourceInterface, name string, change func(*unstructured.Unstructured) map[string]any) error {
	try := func(ctx context.Context) (bool, error) {
		o, err := objects.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		patch := change(o)
		metadata, _ := patch["metadata"].(map[string]any)
		if metadata == nil {
			metadata = map[string]any{}
			patch["metadata"] = metadata
		}
		metadata["resourceVersion"] = o.GetResourceVersion()
		_, err = api.MergePatch(ctx, objects, name, patch)
		if apierrors.IsConflict(err) {
			return false, nil
		}
		return err == nil, err
	}
	if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 10*time.Second, true, try); err != nil {
		return fmt.Errorf("edit %s: %w", name, err)
	}
	return nil
}
