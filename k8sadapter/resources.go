package k8sadapter

import (
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RuleGroup is the API group of Lifeboat's own kinds.
const RuleGroup = "failover.lifeboat.dev"

// The resources that Lifeboat reads or writes.
var (
	clusterResource = schema.GroupVersionResource{Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters"}
	ruleResource    = schema.GroupVersionResource{Group: RuleGroup, Version: "v1alpha1", Resource: "clustertaintrules"}
	rbResource      = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "resourcebindings"}
	crbResource     = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "clusterresourcebindings"}
	workResource    = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha1", Resource: "works"}
	ppResource      = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "propagationpolicies"}
	cppResource     = schema.GroupVersionResource{
		Group: "policy.karmada.io", Version: "v1alpha1", Resource: "clusterpropagationpolicies",
	}
	policyResource    = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "clustertaintpolicies"}
	leaseResource     = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	crdResource       = schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}
)

// Karmada's labels that name a binding's Works.
const (
	labelPermanentID        = "resourcebinding.karmada.io/permanent-id"
	labelClusterPermanentID = "clusterresourcebinding.karmada.io/permanent-id"

	// executionNamespacePrefix and a cluster's name make its execution namespace.
	executionNamespacePrefix = "karmada-es-"
)

// bindingResource is where bindings of a kind are served.
func bindingResource(kind karmada.BindingKind) schema.GroupVersionResource {
	if kind == karmada.KindClusterResourceBinding {
		return crbResource
	}
	return rbResource
}
