package k8sadapter

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// grant is several verbs on one resource.
func grant(why, group, resource string, verbs ...string) []Permission {
	permissions := make([]Permission, 0, len(verbs))
	for _, verb := range verbs {
		permissions = append(permissions, Permission{Group: group, Resource: resource, Verb: verb, Why: why})
	}
	return permissions
}

const (
	groupCluster = "cluster.karmada.io"
	groupWork    = "work.karmada.io"
	groupPolicy  = "policy.karmada.io"
)

// ControllerPermissions are what the controller needs in a mode, its Lease included.
func ControllerPermissions(mode rules.Mode, leaseNamespace, leaseName string) []Permission {
	leases := grant("elect one leader", "coordination.k8s.io", "leases", "create", "get", "update")
	for i := range leases {
		leases[i].Namespace = leaseNamespace
		if leases[i].Verb != "create" { // which RBAC cannot limit to a name
			leases[i].Name = leaseName
		}
	}
	all := slices.Concat(
		grant("see clusters fail and recover", groupCluster, "clusters", "list", "watch"),
		grant("know the rules", RuleGroup, "clustertaintrules", "get", "list", "watch"),
		grant("see bindings move", groupWork, "resourcebindings", "list", "watch"),
		grant("see bindings move", groupWork, "clusterresourcebindings", "list", "watch"),
		leases,
	)
	if mode == rules.ModeEnforce {
		status := grant("say which rules are refused and why", RuleGroup, "clustertaintrules", "patch")
		status[0].Subresource = "status"
		all = slices.Concat(all, status, grant("report malformed objects", "", "events", "create", "get", "patch"))
	}
	return all
}

// PolicyPermissions are what either process needs besides, verb by verb, where
// Karmada's ClusterTaintPolicies are honoured: the controller watches, the worker lists.
func PolicyPermissions(verbs ...string) []Permission {
	return grant("know Karmada's rules", groupPolicy, "clustertaintpolicies", verbs...)
}

// WorkerPermissions are what the worker needs in a mode.
func WorkerPermissions(mode rules.Mode) []Permission {
	all := slices.Concat(
		grant("read conditions and taints", groupCluster, "clusters", "get", "list"),
		grant("know the rules", RuleGroup, "clustertaintrules", "list"),
		grant("find what is affected", groupWork, "resourcebindings", "get", "list", "watch"),
		grant("find what is affected", groupWork, "clusterresourcebindings", "get", "list", "watch"),
		grant("follow old copies until they are gone", groupWork, "works", "get", "list"),
		grant("read opt-outs and purge modes", groupPolicy, "propagationpolicies", "get"),
		grant("read opt-outs and purge modes", groupPolicy, "clusterpropagationpolicies", "get"),
		grant("read opt-outs", "", "namespaces", "get"),
	)
	if mode == rules.ModeEnforce {
		all = slices.Concat(all,
			grant("taint and untaint", groupCluster, "clusters", "patch"),
			grant("evict, restore and release", groupWork, "resourcebindings", "patch"),
			grant("evict, restore and release", groupWork, "clusterresourcebindings", "patch"),
			grant("end old copies on a cluster that is back", groupWork, "works", "patch"),
			grant("say what was done", "", "events", "create", "get", "patch"),
		)
	}
	return all
}

// ControllerLeasePermissions are what the worker needs besides in enforce, to see whether the
// controller watches. Without the Lease's name nothing is asked.
func ControllerLeasePermissions(mode rules.Mode, namespace, name string) []Permission {
	if mode != rules.ModeEnforce || name == "" {
		return nil
	}
	all := grant("see whether the controller watches", "coordination.k8s.io", "leases", "get")
	all[0].Namespace, all[0].Name = namespace, name
	return all
}

// ManagerPermissions are what the worker needs besides in enforce, to see whether what Karmada
// reports is kept up to date. Without the Lease's name nothing is asked.
func ManagerPermissions(mode rules.Mode, namespace, name string) []Permission {
	if mode != rules.ModeEnforce || name == "" {
		return nil
	}
	all := grant("see whether Karmada is up to date", "coordination.k8s.io", "leases", "get")
	all[0].Namespace, all[0].Name = namespace, name
	return all
}
