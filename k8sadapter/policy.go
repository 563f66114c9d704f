package k8sadapter

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
)

// PolicyWindows are the windows of a ClusterTaintPolicy that names none in its
// annotations.
type PolicyWindows struct {
	AddOnMatch       time.Duration
	RemoveOnMismatch time.Duration
}

// conditionWire is one of addOnConditions or removeOnConditions.
type conditionWire struct {
	ConditionType string                   `json:"conditionType"`
	Operator      string                   `json:"operator"`
	StatusValues  []corev1.ConditionStatus `json:"statusValues"`
}

// policySpecWire is the spec of Karmada's ClusterTaintPolicy.
type policySpecWire struct {
	TargetClusters     *karmada.ClusterAffinity `json:"targetClusters"`
	AddOnConditions    []conditionWire          `json:"addOnConditions"`
	RemoveOnConditions []conditionWire          `json:"removeOnConditions"`
	Taints             []struct {
		Key    string             `json:"key"`
		Value  string             `json:"value"`
		Effect corev1.TaintEffect `json:"effect"`
	} `json:"taints"`
}

// DecodePolicy reads a ClusterTaintPolicy (policy.karmada.io/v1alpha1) from its JSON
// as a rule. As DecodeRule it never fails, and refuses what it does not fully know.
func DecodePolicy(raw []byte, windows PolicyWindows) rules.Rule {
	var d decoding
	outline, meta := d.object(raw)
	var spec policySpecWire
	d.strict("spec", outline.Spec, &spec)
	rule := rules.Rule{
		Name: rules.PolicyPrefix + meta.Name, Generation: meta.Generation, Policy: true, TargetClusters: spec.TargetClusters,
		MatchConditions: policyConditions(spec.AddOnConditions), RemoveConditions: policyConditions(spec.RemoveOnConditions),
		RequireExternalProbe: d.flag(meta.Annotations, karmada.AnnotationRequireExternalProbe),
	}
	add := d.seconds(meta.Annotations, karmada.AnnotationAddSeconds, windows.AddOnMatch)
	remove := d.seconds(meta.Annotations, karmada.AnnotationRemoveSeconds, windows.RemoveOnMismatch)
	for _, taint := range spec.Taints {
		if karmadasOwn(taint.Key, taint.Effect) {
			d.problem("spec.taints", "%s:%s belongs to Karmada", taint.Key, taint.Effect)
		}
		rule.Taints = append(rule.Taints, karmada.RuleTaint{
			Key: taint.Key, Value: taint.Value, Effect: taint.Effect, AddOnMatch: add, RemoveOnMismatch: remove,
		})
	}
	if rule.Malformed = d.malformed(); rule.Malformed == "" {
		rule.Malformed = reason.Bounded(rule.Validate())
	}
	return rule
}

func policyConditions(wire []conditionWire) []rules.MatchCondition {
	var out []rules.MatchCondition
	for _, c := range wire {
		out = append(out, rules.MatchCondition(c))
	}
	return out
}

// seconds reads a window from an annotation.
func (d *decoding) seconds(annotations map[string]string, name string, byDefault time.Duration) time.Duration {
	text, found := annotations[name]
	if !found {
		return byDefault
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		d.problem(annotationPath(name), "%q is no number of seconds", text)
		return byDefault
	}
	return d.window(annotationPath(name), &n, byDefault)
}

func (d *decoding) flag(annotations map[string]string, name string) bool {
	text, found := annotations[name]
	if !found {
		return false
	}
	set, err := strconv.ParseBool(text)
	if err != nil {
		d.problem(annotationPath(name), "%q is neither true nor false", text)
	}
	return set
}

// policyRules are Karmada's ClusterTaintPolicies as rules: none where that source is
// off, or where this Karmada does not know the kind.
func (c *Client) policyRules(ctx context.Context) ([]rules.Rule, error) {
	if c.policies == nil {
		return nil, nil
	}
	rules, err := listAll(ctx, c.requester, policyResource, c.decodePolicy)
	if errors.Is(err, karmada.ErrGone) {
		return nil, nil
	}
	return rules, err
}

func (c *Client) decodePolicy(raw []byte) rules.Rule { return DecodePolicy(raw, *c.policies) }
