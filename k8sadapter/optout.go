package k8sadapter

import (
	"context"
	"errors"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// surroundings reads the annotations of namespaces and policies.
type surroundings struct{ *requester }

// OptedOut looks at the binding's namespace and its policy. by names the object
// that opts the binding out ("namespace shop", "propagationpolicies shop/cart"),
// and is empty when none does. What does not exist opts nothing out.
func (c *surroundings) OptedOut(ctx context.Context, b *karmada.Binding) (by string, err error) {
	if b.Key.Namespace != "" {
		namespace := request{verb: "get", resource: namespaceResource, name: b.Key.Namespace}
		annotations, err := c.annotations(ctx, namespace)
		if err != nil {
			return "", err
		}
		if rules.OptedOut(annotations) {
			return "namespace " + b.Key.Namespace, nil
		}
	}
	policy, found := policyOf(b)
	if !found {
		return "", nil
	}
	annotations, err := c.annotations(ctx, policy)
	if err != nil {
		return "", err
	}
	if rules.OptedOut(annotations) {
		return policy.object(), nil
	}
	return "", nil
}

// PolicyAnnotation is one annotation of the binding's policy, empty when there is
// no such policy or annotation. The value is not judged.
func (c *surroundings) PolicyAnnotation(ctx context.Context, b *karmada.Binding, name string) (string, error) {
	policy, found := policyOf(b)
	if !found {
		return "", nil
	}
	annotations, err := c.annotations(ctx, policy)
	return annotations[name], err
}

// policyOf is the request for the policy that a binding comes from. Karmada keeps
// its name in annotations, which anybody may write who writes the binding: a policy of a
// name that no object can have does not exist, and to ask for it would be an error.
func policyOf(b *karmada.Binding) (policy request, found bool) {
	if name := b.Annotations[karmada.AnnotationPolicyName]; name != "" {
		namespace := b.Annotations[karmada.AnnotationPolicyNamespace]
		return possible(request{verb: "get", resource: ppResource, namespace: namespace, name: name})
	}
	if name := b.Annotations[karmada.AnnotationClusterPolicyName]; name != "" {
		return possible(request{verb: "get", resource: cppResource, name: name})
	}
	return request{}, false
}

func possible(r request) (request, bool) {
	if len(r.namespace) > reason.MaxName || len(r.name) > reason.MaxName || r.check() != nil {
		return request{}, false
	}
	return r, true
}

// annotations reads those of one object; none when the object does not exist.
func (c *surroundings) annotations(ctx context.Context, r request) (map[string]string, error) {
	r.accept = acceptMetadata
	raw, err := c.do(ctx, r)
	if errors.Is(err, karmada.ErrGone) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	var d decoding
	_, meta := d.object(raw)
	return meta.Annotations, nil
}
