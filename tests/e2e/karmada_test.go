package e2e

import (
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The resources that the stories look at.
var (
	resourceBindings        = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "resourcebindings"}
	clusterResourceBindings = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "clusterresourcebindings"}
	works                   = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha1", Resource: "works"}
	clusters                = schema.GroupVersionResource{Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters"}
	rules                   = schema.GroupVersionResource{Group: "failover.lifeboat.dev", Version: "v1alpha1", Resource: "clustertaintrules"}
	events                  = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	namespaces              = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// What Lifeboat writes, as anybody can read in its documentation.
const (
	producer        = "Lifeboat"
	prefix          = "failover.lifeboat.dev/"
	evacuatingTaint = prefix + "evacuating"
	failedTaint     = prefix + "failed" // of the stories' rules
)

// What the lab makes of a binding that asks for it.
const (
	faultPutBack             = "lab.lifeboat.dev/put-back"
	faultPutBackAfterRelease = "lab.lifeboat.dev/put-back-after-release"
	faultReadyAfter          = "lab.lifeboat.dev/ready-after"
	faultNeverReadyOn        = "lab.lifeboat.dev/never-ready-on"
	faultStuckReadyAt        = "lab.lifeboat.dev/stuck-ready-at"
	templateLabels           = "lab.lifeboat.dev/template-labels"
)

// binding is what the stories read of a ResourceBinding or ClusterResourceBinding.
type binding struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas   int64    `json:"replicas"`
		Clusters   []target `json:"clusters"`
		Tasks      []task   `json:"gracefulEvictionTasks"`
		RequiredBy []object `json:"requiredBy"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64              `json:"schedulerObservedGeneration"`
		Conditions         []metav1.Condition `json:"conditions"`
		Items              []item             `json:"aggregatedStatus"`
	} `json:"status"`
}

type target struct {
	Name     string `json:"name"`
	Replicas int64  `json:"replicas"`
}

type task struct {
	FromCluster      string `json:"fromCluster"`
	PurgeMode        string `json:"purgeMode"`
	Reason           string `json:"reason"`
	Message          string `json:"message"`
	Producer         string `json:"producer"`
	Replicas         *int64 `json:"replicas"`
	SuppressDeletion *bool  `json:"suppressDeletion"`
}

type item struct {
	ClusterName string `json:"clusterName"`
	Applied     bool   `json:"applied"`
	Health      string `json:"health"`
	Status      struct {
		Replicas      int64 `json:"replicas"`
		ReadyReplicas int64 `json:"readyReplicas"`
	} `json:"status"`
}

func (b *binding) targets() []string {
	names := []string{}
	for _, t := range b.Spec.Clusters {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

func (b *binding) on(cluster string) bool { return slices.Contains(b.targets(), cluster) }

// held are Lifeboat's tasks for a cluster.
func (b *binding) held(cluster string) []task {
	var own []task
	for _, t := range b.Spec.Tasks {
		if t.FromCluster == cluster && t.Producer == producer {
			own = append(own, t)
		}
	}
	return own
}

// scheduled is the scheduler's own word.
func (b *binding) scheduled() metav1.Condition { return conditionOf(b.Status.Conditions, "Scheduled") }

func (b *binding) item(cluster string) *item {
	at := slices.IndexFunc(b.Status.Items, func(i item) bool { return i.ClusterName == cluster })
	if at < 0 {
		return nil
	}
	return &b.Status.Items[at]
}

// settled: scheduled, and every copy runs in full. Kinds without replicas are there
// when they are applied.
func (b *binding) settled() bool {
	if len(b.Spec.Clusters) == 0 || b.Status.ObservedGeneration != b.Generation {
		return false
	}
	return !slices.ContainsFunc(b.Spec.Clusters, func(t target) bool { return !b.runs(t) })
}

func (b *binding) runs(t target) bool {
	i := b.item(t.Name)
	if i == nil || !i.Applied {
		return false
	}
	return b.Spec.Replicas == 0 || (i.Health == "Healthy" && i.Status.ReadyReplicas >= t.Replicas)
}

// cluster is what the stories read of a Cluster.
type cluster struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Taints []taint `json:"taints"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

type taint struct {
	Key       string       `json:"key"`
	Effect    string       `json:"effect"`
	TimeAdded *metav1.Time `json:"timeAdded"`
}

// readiness is its condition Ready.
func (c *cluster) readiness() metav1.Condition { return conditionOf(c.Status.Conditions, "Ready") }

func conditionOf(all []metav1.Condition, kind string) metav1.Condition {
	at := slices.IndexFunc(all, func(x metav1.Condition) bool { return x.Type == kind })
	if at < 0 {
		return metav1.Condition{}
	}
	return all[at]
}

func (c *cluster) ready() bool { return c.readiness().Status == metav1.ConditionTrue }

func (c *cluster) taint(key, effect string) *taint {
	at := slices.IndexFunc(c.Spec.Taints, func(t taint) bool { return t.Key == key && t.Effect == effect })
	if at < 0 {
		return nil
	}
	return &c.Spec.Taints[at]
}

// work is what the stories read of a Work.
type work struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Workload struct {
			Manifests []struct {
				metav1.ObjectMeta `json:"metadata"`
			} `json:"manifests"`
		} `json:"workload"`
	} `json:"spec"`
}

// labels are those of the copy itself, as Karmada renders it now; nil without a Work.
func (w *work) labels() map[string]string {
	if w == nil || len(w.Spec.Workload.Manifests) == 0 {
		return nil
	}
	return w.Spec.Workload.Manifests[0].Labels
}

// key names a binding: "namespace/name", or "-/name" for a ClusterResourceBinding.
func keyOf(u *unstructured.Unstructured) string {
	if u.GetNamespace() == "" {
		return "-/" + u.GetName()
	}
	return u.GetNamespace() + "/" + u.GetName()
}

// decode reads an object as the stories see it.
func decode[T any](u *unstructured.Unstructured) (*T, error) {
	raw, err := json.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, json.Unmarshal(raw, out)
}

// object is shorthand for what goes into the API server.
type object = map[string]any

// near is an affinity to clusters by name.
func near(names ...string) object {
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = name
	}
	return object{"clusterNames": list}
}

// oneOf runs one full copy, on one of the clusters.
func oneOf(names ...string) object {
	return object{
		"clusterAffinity":   near(names...),
		"replicaScheduling": object{"replicaSchedulingType": "Duplicated"},
		"spreadConstraints": []any{object{"spreadByField": "cluster", "minGroups": int64(1), "maxGroups": int64(1)}},
	}
}

// dividedOver splits the replicas over the clusters, by equal weights.
func dividedOver(names ...string) object {
	var weights []any
	for _, name := range names {
		weights = append(weights, object{"targetCluster": near(name), "weight": int64(1)})
	}
	return object{
		"clusterAffinity": near(names...),
		"replicaScheduling": object{
			"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
			"weightPreference": object{"staticWeightList": weights},
		},
	}
}

// groups runs one copy, in the first affinity group that can.
func groups(primary, backup string) object {
	group := func(name, where string) object {
		affinity := near(where)
		affinity["affinityName"] = name
		return affinity
	}
	placement := oneOf()
	delete(placement, "clusterAffinity")
	placement["clusterAffinities"] = []any{group("primary", primary), group("backup", backup)}
	return placement
}

// tolerating bears a failure for so long.
func tolerating(placement object, d time.Duration) object { return bearing(placement, failedTaint, d) }

// deployment is the binding of a Deployment that runs at home already: Karmada's
// scheduler leaves what serves where it is.
func deployment(namespace, name, home string, replicas int64, placement object) *unstructured.Unstructured {
	u := bindingOf("apps/v1", "Deployment", namespace, name, placement)
	spec := specOf(u)
	spec["replicas"] = replicas
	spec["replicaRequirements"] = object{"resourceRequest": object{"cpu": "100m"}}
	if home != "" {
		spec["clusters"] = []any{object{"name": home, "replicas": replicas}}
	}
	return u
}

// stateful has a Deployment's binding be that of a StatefulSet.
func stateful(u *unstructured.Unstructured) *unstructured.Unstructured {
	specOf(u)["resource"].(object)["kind"] = "StatefulSet" //nolint:errcheck,forcetypeassert // made by bindingOf
	return u
}

// clusterRole is the ClusterResourceBinding of a ClusterRole that is at home already.
func clusterRole(name, home string, placement object) *unstructured.Unstructured {
	u := bindingOf("rbac.authorization.k8s.io/v1", "ClusterRole", "", name, placement)
	specOf(u)["clusters"] = []any{object{"name": home}}
	return u
}

// specOf is the spec of an object that a story has made.
func specOf(u *unstructured.Unstructured) object {
	return u.Object["spec"].(object) //nolint:errcheck,forcetypeassert // every object of a story has one
}

func bindingOf(apiVersion, kind, namespace, name string, placement object) *unstructured.Unstructured {
	resource := object{"apiVersion": apiVersion, "kind": kind, "name": name}
	u := &unstructured.Unstructured{Object: object{
		"apiVersion": "work.karmada.io/v1alpha2", "kind": "ClusterResourceBinding",
		"spec": object{"resource": resource, "placement": placement, "schedulerName": "default-scheduler"},
	}}
	u.SetName(name)
	if namespace != "" {
		u.SetKind("ResourceBinding")
		u.SetNamespace(namespace)
		resource["namespace"] = namespace
	}
	return u
}

// resourceOf is where a binding lives.
func resourceOf(u *unstructured.Unstructured) schema.GroupVersionResource {
	if u.GetNamespace() == "" {
		return clusterResourceBindings
	}
	return resourceBindings
}

// taintRule is a ClusterTaintRule on a condition that is False.
func taintRule(name, condition string, add, remove time.Duration, names ...string) *unstructured.Unstructured {
	spec := object{
		"matchConditions": []any{object{"conditionType": condition, "operator": "In", "statusValues": []any{"False"}}},
		"taints": []any{object{
			"key": failedTaint, "effect": "NoExecute",
			"addOnMatchSeconds": int64(add / time.Second), "removeOnMismatchSeconds": int64(remove / time.Second),
		}},
	}
	if len(names) > 0 {
		spec["targetClusters"] = near(names...)
	}
	u := &unstructured.Unstructured{Object: object{
		"apiVersion": rules.GroupVersion().String(), "kind": "ClusterTaintRule", "spec": spec,
	}}
	u.SetName(name)
	return u
}
