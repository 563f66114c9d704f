package api

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// servedKinds are the kinds that every member serves, by group version. The scheduler refuses a member for any
// other kind: add the kind here before a test uses it.
var servedKinds = map[string]string{
	"v1": "ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate " +
		"ReplicationController ResourceQuota Secret Service ServiceAccount",
	"admissionregistration.k8s.io/v1": "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
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
