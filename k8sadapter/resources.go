package k8sadapter

import (
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RuleGroup is the API group of Lifeboat's own kinds.
const RuleGroup = "failover.lifeboat.dev"

// The groups and versions of the resources below.
var (
	clusterVersion = schema.GroupVersion{Group: "cluster.karmada.io", Version: "v1alpha1"}
	bindingVersion = schema.GroupVersion{Group: "work.karmada.io", Version: "v1alpha2"}
	workVersion    = schema.GroupVersion{Group: "work.karmada.io", Version: "v1alpha1"}
	policyVersion  = schema.GroupVersion{Group: "policy.karmada.io", Version: "v1alpha1"}
	ruleVersion    = schema.GroupVersion{Group: RuleGroup, Version: "v1alpha1"}
	coreVersion    = schema.GroupVersion{Version: "v1"}
)

// The resources that Lifeboat reads or writes.
var (
	clusterResource    = clusterVersion.WithResource("clusters")
	ruleResource       = ruleVersion.WithResource("clustertaintrules")
	rbResource         = bindingVersion.WithResource("resourcebindings")
	crbResource        = bindingVersion.WithResource("clusterresourcebindings")
	workResource       = workVersion.WithResource("works")
	ppResource         = policyVersion.WithResource("propagationpolicies")
	cppResource        = policyVersion.WithResource("clusterpropagationpolicies")
	policyResource     = policyVersion.WithResource("clustertaintpolicies")
	namespaceResource  = coreVersion.WithResource("namespaces")
	eventResource      = coreVersion.WithResource("events")
	leaseResource      = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	crdResource        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	reviewResource     = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}
	deploymentResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// bindingKinds are both kinds of bindings, in the order in which they are listed.
var bindingKinds = []karmada.BindingKind{karmada.KindResourceBinding, karmada.KindClusterResourceBinding}

// executionNamespacePrefix begins the name of a cluster's execution namespace.
const executionNamespacePrefix = "karmada-es-"

// bindingResource is where bindings of a kind are served.
func bindingResource(kind karmada.BindingKind) schema.GroupVersionResource {
	if kind == karmada.KindClusterResourceBinding {
		return crbResource
	}
	return rbResource
}
