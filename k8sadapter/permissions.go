package k8sadapter

import (
	"context"
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/rules"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Permission is one verb on one resource that a process needs.
type Permission struct {
	Group       string // "" is the core group
	Resource    string
	Subresource string
	Namespace   string // "" means all of them, or a cluster-scoped resource
	Name        string // "" means any object
	Verb        string
	Why         string // the purpose, to follow "to"
}

// String is "patch resourcebindings.work.karmada.io".
func (p Permission) String() string {
	resource := schema.GroupVersionResource{Group: p.Group, Resource: p.Resource}
	text := p.Verb + " " + request{resource: resource, subresource: p.Subresource}.permission()
	if p.Name != "" {
		text += " named " + p.Name
	}
	if p.Namespace != "" {
		text += " in namespace " + p.Namespace
	}
	return text
}

// Finding is the answer to one Permission.
type Finding struct {
	Permission Permission
	Allowed    bool
	// Err is set when the API server did not answer; Allowed is false then.
	Err error
}

// Preflight checks each permission by a SelfSubjectAccessReview, which changes nothing, and
// returns one finding for each.
func (c *installation) Preflight(ctx context.Context, permissions []Permission) []Finding {
	findings := make([]Finding, 0, len(permissions))
	for _, p := range permissions {
		allowed, err := c.allowed(ctx, p)
		findings = append(findings, Finding{Permission: p, Allowed: allowed, Err: err})
	}
	return findings
}

func (c *installation) allowed(ctx context.Context, p Permission) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: p.Group, Resource: p.Resource, Subresource: p.Subresource, Namespace: p.Namespace, Name: p.Name, Verb: p.Verb,
		},
	}}
	answer, err := c.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("check whether one may %s: %w", p, classify(request{verb: "create", resource: reviewResource}, err, 0))
	}
	return answer.Status.Allowed, nil
}

// grant is several verbs on each of some resources.
func grant(why string, resources []schema.GroupVersionResource, verbs ...string) (permissions []Permission) {
	for _, r := range resources {
		for _, verb := range verbs {
			permissions = append(permissions, Permission{Group: r.Group, Resource: r.Resource, Verb: verb, Why: why})
		}
	}
	return permissions
}

type resources = []schema.GroupVersionResource

// ControllerPermissions are what the controller needs in a mode, its Lease included.
func ControllerPermissions(mode rules.Mode, leaseNamespace, leaseName string) []Permission {
	leases := grant("elect one leader", resources{leaseResource}, "create", "get", "update")
	for i := range leases {
		leases[i].Namespace = leaseNamespace
		if leases[i].Verb != "create" { // which RBAC cannot limit to a name
			leases[i].Name = leaseName
		}
	}
	all := slices.Concat(
		grant("see clusters fail and recover", resources{clusterResource}, "list", "watch"),
		grant("know the rules", resources{ruleResource}, "get", "list", "watch"),
		grant("see bindings move", resources{rbResource, crbResource}, "list", "watch"),
		leases,
	)
	if mode == rules.ModeEnforce {
		status := grant("say which rules are refused and why", resources{ruleResource}, "patch")
		status[0].Subresource = "status"
		all = slices.Concat(all, status, grant("report malformed objects", resources{eventResource}, "create", "get", "patch"))
	}
	return all
}

// PolicyPermissions are what either process needs besides where it honours Karmada's
// ClusterTaintPolicies: the controller watches them, the worker lists them.
func PolicyPermissions(verbs ...string) []Permission {
	return grant("know Karmada's rules", resources{policyResource}, verbs...)
}

// WorkerPermissions are what the worker needs in a mode.
func WorkerPermissions(mode rules.Mode) []Permission {
	all := slices.Concat(
		grant("read conditions and taints", resources{clusterResource}, "get", "list"),
		grant("know the rules", resources{ruleResource}, "list"),
		grant("find what is affected", resources{rbResource, crbResource}, "get", "list", "watch"),
		grant("follow old copies until they are gone", resources{workResource}, "get", "list"),
		grant("read opt-outs and purge modes", resources{ppResource, cppResource}, "get"),
		grant("read opt-outs", resources{namespaceResource}, "get"),
	)
	if mode == rules.ModeEnforce {
		all = slices.Concat(all,
			grant("taint and untaint", resources{clusterResource}, "patch"),
			grant("evict, restore and release", resources{rbResource, crbResource}, "patch"),
			grant("end old copies on a cluster that is back", resources{workResource}, "patch"),
			grant("say what was done", resources{eventResource}, "create", "get", "patch"),
		)
	}
	return all
}

// ControllerLeasePermissions are what the worker needs besides in enforce, to see whether the
// controller watches; none without the Lease's name.
func ControllerLeasePermissions(mode rules.Mode, namespace, name string) []Permission {
	return readLease("see whether the controller watches", mode, namespace, name)
}

// ManagerPermissions are what the worker needs besides in enforce, to see whether
// karmada-controller-manager keeps its reports up to date; none without the Lease's name.
func ManagerPermissions(mode rules.Mode, namespace, name string) []Permission {
	return readLease("see whether Karmada is up to date", mode, namespace, name)
}

// ProxyPermissions are what the worker needs besides in enforce where health.probe is proxy: a release probes the
// target. The roles in deploy/rbac leave it out, so the reason says what to do instead.
func ProxyPermissions(mode rules.Mode) []Permission {
	if mode != rules.ModeEnforce {
		return nil
	}
	all := grant("probe targets: deploy/rbac does not grant it; grant it, or set health.probe to endpoint or none", resources{clusterResource}, "get")
	all[0].Subresource = "proxy"
	return all
}

func readLease(why string, mode rules.Mode, namespace, name string) []Permission {
	if mode != rules.ModeEnforce || name == "" {
		return nil
	}
	return []Permission{{Group: leaseResource.Group, Resource: leaseResource.Resource, Namespace: namespace, Name: name, Verb: "get", Why: why}}
}
