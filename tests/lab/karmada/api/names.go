package api

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
)

// The resources of Karmada that the simulation serves.
var (
	ResourceBindings        = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "resourcebindings"}
	ClusterResourceBindings = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "clusterresourcebindings"}
	Works                   = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha1", Resource: "works"}
	Clusters                = schema.GroupVersionResource{Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters"}
	Namespaces              = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// Kinds, finalizers, labels and annotations of Karmada.
const (
	KindResourceBinding        = "ResourceBinding"
	KindClusterResourceBinding = "ClusterResourceBinding"

	FinalizerCluster                = "karmada.io/cluster-controller"
	FinalizerBinding                = "karmada.io/binding-controller"
	FinalizerClusterResourceBinding = "karmada.io/cluster-resource-binding-controller"
	FinalizerWork                   = "karmada.io/execution-controller"

	LabelBindingID        = "resourcebinding.karmada.io/permanent-id"
	LabelClusterBindingID = "clusterresourcebinding.karmada.io/permanent-id"
	LabelWorkID           = "work.karmada.io/permanent-id"
	LabelPolicyID         = "propagationpolicy.karmada.io/permanent-id"
	LabelClusterPolicyID  = "clusterpropagationpolicy.karmada.io/permanent-id"
	LabelManagedBy        = "binding.karmada.io/managed-by"

	AnnotationAppliedPlacement   = "policy.karmada.io/applied-placement"
	AnnotationDependencies       = "resourcebinding.karmada.io/dependencies"
	AnnotationBindingNamespace   = "resourcebinding.karmada.io/namespace"
	AnnotationBindingName        = "resourcebinding.karmada.io/name"
	AnnotationClusterBindingName = "clusterresourcebinding.karmada.io/name"
	TaintNotReady                = "cluster.karmada.io/not-ready"
	TaintUnreachable             = "cluster.karmada.io/unreachable"
	DefaultScheduler             = "default-scheduler"
	executionNamespacePrefix     = "karmada-es-"
	faultAnnotationPrefix        = "lab.lifeboat.dev/"
	FaultPutBack                 = faultAnnotationPrefix + "put-back"
	FaultPutBackAfterRelease     = faultAnnotationPrefix + "put-back-after-release"
	FaultNeverReadyOn            = faultAnnotationPrefix + "never-ready-on"
	FaultReadyAfter              = faultAnnotationPrefix + "ready-after"
	FaultStuckReadyAt            = faultAnnotationPrefix + "stuck-ready-at"
	// NoWorks keeps the binding controller off a binding.
	NoWorks = faultAnnotationPrefix + "no-works"
	// TemplateLabels are the labels of the workload itself, as a JSON object: the lab has no
	// templates. They stand in the manifests of its Works and, as in Karmada, nowhere else.
	TemplateLabels = faultAnnotationPrefix + "template-labels"
)

// ExecutionNamespace is where the Works of a cluster live.
func ExecutionNamespace(cluster string) string { return executionNamespacePrefix + cluster }

// ClusterOfNamespace is the cluster whose Works live in an execution namespace.
func ClusterOfNamespace(namespace string) (string, bool) {
	return strings.CutPrefix(namespace, executionNamespacePrefix)
}

// IsFault says whether an annotation asks the simulation to misbehave.
func IsFault(annotation string) bool { return strings.HasPrefix(annotation, faultAnnotationPrefix) }

// WorkName is the name Karmada gives the Works of a resource: its name and a hash of its full identity.
func WorkName(resource ObjectReference) string {
	name := strings.ReplaceAll(resource.Name, ":", ".")
	identity := name + "-" + resource.Kind
	if resource.Namespace != "" {
		identity = resource.Namespace + "-" + identity
	}
	hash := fnv.New32a()
	fmt.Fprint(hash, strings.ToLower(identity))
	return strings.ToLower(name) + "-" + rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
}

// servedKinds are the kinds that every member serves, by group version. The scheduler refuses a member for any
// other kind: add the kind here before a test uses it.
var servedKinds = map[string]string{
	"v1": "ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate " +
		"ReplicationController ResourceQuota Secret Service ServiceAccount",
	"admissionregistration.k8s.io/v1": "MutatingWebhookConfiguration",
	"apiextensions.k8s.io/v1":         "CustomResourceDefinition",
	"apps/v1":                         "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
	"autoscaling/v2":                  "HorizontalPodAutoscaler",
	"batch/v1":                        "CronJob Job",
	"coordination.k8s.io/v1":          "Lease",
	"discovery.k8s.io/v1":             "EndpointSlice",
	"flink.apache.org/v1beta1":        "FlinkDeployment",
	"networking.k8s.io/v1":            "Ingress IngressClass NetworkPolicy",
	"policy/v1":                       "PodDisruptionBudget",
	"rbac.authorization.k8s.io/v1":    "ClusterRole ClusterRoleBinding Role RoleBinding",
	"scheduling.k8s.io/v1":            "PriorityClass",
	"storage.k8s.io/v1":               "StorageClass",
}

// Claimed reports whether a policy, or another manager, made the object with these labels.
func Claimed(labels map[string]string) bool {
	return labels[LabelPolicyID] != "" || labels[LabelClusterPolicyID] != "" || labels[LabelManagedBy] != ""
}

// ServedAPIs is what Karmada collects from a member.
func ServedAPIs() []APIEnablement {
	var served []APIEnablement
	for _, version := range slices.Sorted(maps.Keys(servedKinds)) {
		enabled := APIEnablement{GroupVersion: version}
		for _, kind := range strings.Fields(servedKinds[version]) {
			plural, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(version, kind))
			enabled.Resources = append(enabled.Resources, APIResource{Name: plural.Resource, Kind: kind})
		}
		served = append(served, enabled)
	}
	return served
}
