package k8sadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
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
	Why         string // what it is needed for
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
	// Err is set when the API server did not answer the question; Allowed is false then.
	Err error
}

// Preflight asks the API server, by SelfSubjectAccessReview, whether each
// permission is granted. It changes nothing. Every permission has its finding.
func (c *installation) Preflight(ctx context.Context, permissions []Permission) []Finding {
	findings := make([]Finding, 0, len(permissions))
	for _, p := range permissions {
		allowed, err := c.allowed(ctx, p)
		findings = append(findings, Finding{Permission: p, Allowed: allowed, Err: err})
	}
	return findings
}

// Missing are the findings that are not granted, or not known.
func Missing(findings []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return f.Allowed })
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
		return false, fmt.Errorf("ask whether to %s: %w", p, classify(request{verb: "create", resource: reviewResource}, err, 0))
	}
	return answer.Status.Allowed, nil
}

var reviewResource = schema.GroupVersionResource{
	Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews",
}

// SecondEvictor looks through all bindings for tasks that Karmada's own taint
// manager wrote. The evidence names the first and counts the rest; it is empty
// when there is none.
func (c *installation) SecondEvictor(ctx context.Context) (evidence string, err error) {
	found := 0
	for _, kind := range []karmada.BindingKind{karmada.KindResourceBinding, karmada.KindClusterResourceBinding} {
		all, err := listAll(ctx, c.requester, bindingResource(kind), tasksOf)
		if err != nil {
			return "", fmt.Errorf("look for a second evictor: %w", err)
		}
		for _, binding := range all {
			for _, task := range binding.tasks {
				if task.Producer != karmada.TaintManager {
					continue
				}
				if found++; found == 1 {
					evidence = fmt.Sprintf("%s %s carries a task of producer %s for cluster %s",
						kind, binding.key, task.Producer, task.FromCluster)
				}
			}
		}
	}
	if found > 1 {
		evidence += fmt.Sprintf(", and %d more such tasks stand", found-1)
	}
	return evidence, nil
}

// taskHolder is the little of a binding that a search for tasks needs.
type taskHolder struct {
	key   karmada.BindingKey
	tasks []taskWire
}

func tasksOf(raw []byte) taskHolder {
	var wire struct {
		Metadata metaWire `json:"metadata"`
		Spec     struct {
			Tasks []taskWire `json:"gracefulEvictionTasks"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return taskHolder{} // a malformed binding is reported where bindings are read
	}
	key := karmada.BindingKey{Namespace: wire.Metadata.Namespace, Name: wire.Metadata.Name}
	return taskHolder{key: key, tasks: wire.Spec.Tasks}
}

// Healthy asks the API server whether it is ready to serve (GET /readyz).
func (c *installation) Healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if err := c.rest.Get().MaxRetries(0).AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return classify(request{verb: "get", resource: schema.GroupVersionResource{Resource: "/readyz"}}, err, 0)
	}
	return nil
}
