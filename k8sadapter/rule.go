package k8sadapter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// karmadaTaintPrefix begins the keys of Karmada's own taints.
const karmadaTaintPrefix = "cluster.karmada.io/"

// ruleSpecWire is the spec of a ClusterTaintRule.
type ruleSpecWire struct {
	TargetClusters       *karmada.ClusterAffinity `json:"targetClusters"`
	MatchConditions      []rules.MatchCondition   `json:"matchConditions"`
	Taints               []ruleTaintWire          `json:"taints"`
	RequireExternalProbe bool                     `json:"requireExternalProbe"`
}

type ruleTaintWire struct {
	taintWire
	AddOnMatchSeconds       *int64 `json:"addOnMatchSeconds"`
	RemoveOnMismatchSeconds *int64 `json:"removeOnMismatchSeconds"`
}

// taintWire is a taint without its time.
type taintWire struct {
	Key    string             `json:"key"`
	Value  string             `json:"value,omitempty"`
	Effect corev1.TaintEffect `json:"effect"`
}

// DecodeRule reads a ClusterTaintRule (failover.lifeboat.dev/v1alpha1) from its
// JSON. It never fails: Malformed says why a rule is refused, such as for an unknown field.
func DecodeRule(raw []byte) rules.Rule {
	var d decoding
	outline, metadata := d.object(raw)
	var spec ruleSpecWire
	d.strict("spec", outline.Spec, &spec)
	rule := rules.Rule{
		Name: metadata.Name, Generation: metadata.Generation, TargetClusters: spec.TargetClusters,
		MatchConditions: spec.MatchConditions, RequireExternalProbe: spec.RequireExternalProbe,
	}
	for _, taint := range spec.Taints {
		add := d.window("spec.taints.addOnMatchSeconds", taint.AddOnMatchSeconds, rules.DefaultAddOnMatch)
		remove := d.window("spec.taints.removeOnMismatchSeconds", taint.RemoveOnMismatchSeconds, rules.DefaultRemoveOnMismatch)
		rule.Taints = append(rule.Taints, d.ruleTaint(taint.taintWire, add, remove))
	}
	rule.Malformed = d.refusal(rule)
	return rule
}

// refusal is why a rule is refused, empty when it is not.
func (d *decoding) refusal(rule rules.Rule) string {
	return cmp.Or(d.malformed(), reason.Bounded(rule.Validate()))
}

// strict decodes a part and reports every unknown field.
func (d *decoding) strict(path string, raw json.RawMessage, target any) {
	if absent(raw) {
		d.problem(path, "missing")
		return
	}
	unknown, err := kjson.UnmarshalStrict(raw, target)
	if err != nil {
		d.problem(path, "%v", err)
	}
	for _, field := range unknown {
		d.problem(path, "%v", field)
	}
}

func (d *decoding) ruleTaint(wire taintWire, add, remove time.Duration) karmada.RuleTaint {
	if karmadasOwn(wire.Key, wire.Effect) {
		d.problem("spec.taints", "%s:%s belongs to Karmada", wire.Key, wire.Effect)
	}
	return karmada.RuleTaint{Key: wire.Key, Value: wire.Value, Effect: wire.Effect, AddOnMatch: add, RemoveOnMismatch: remove}
}

func (d *decoding) window(path string, seconds *int64, byDefault time.Duration) time.Duration {
	if seconds == nil {
		return byDefault
	}
	if *seconds < 0 || *seconds > maxWindowSeconds {
		d.problem(path, "%d is outside 0..%d", *seconds, int64(maxWindowSeconds))
		return byDefault
	}
	return time.Duration(*seconds) * time.Second
}

// maxWindowSeconds is a year: a longer window is a mistake.
const maxWindowSeconds = 365 * 24 * 60 * 60

// karmadasOwn reports whether Karmada's cluster controller puts and removes this taint. Rules
// may use the same key with another effect: existing tolerations name it.
func karmadasOwn(key string, effect corev1.TaintEffect) bool {
	return effect == corev1.TaintEffectNoSchedule && strings.HasPrefix(key, karmadaTaintPrefix)
}

// PolicyWindows are the windows of a ClusterTaintPolicy that names none in its
// annotations.
type PolicyWindows struct {
	AddOnMatch       time.Duration
	RemoveOnMismatch time.Duration
}

// policySpecWire is the spec of Karmada's ClusterTaintPolicy.
type policySpecWire struct {
	TargetClusters     *karmada.ClusterAffinity `json:"targetClusters"`
	AddOnConditions    []rules.MatchCondition   `json:"addOnConditions"`
	RemoveOnConditions []rules.MatchCondition   `json:"removeOnConditions"`
	Taints             []taintWire              `json:"taints"`
}

// DecodePolicy reads a ClusterTaintPolicy (policy.karmada.io/v1alpha1) from its JSON
// as a rule. As DecodeRule it never fails, and refuses unknown fields.
func DecodePolicy(raw []byte, windows PolicyWindows) rules.Rule {
	var d decoding
	outline, metadata := d.object(raw)
	var spec policySpecWire
	d.strict("spec", outline.Spec, &spec)
	rule := rules.Rule{
		Name: rules.PolicyPrefix + metadata.Name, Generation: metadata.Generation, Policy: true, TargetClusters: spec.TargetClusters,
		MatchConditions: spec.AddOnConditions, RemoveConditions: spec.RemoveOnConditions,
		RequireExternalProbe: d.flag(metadata.Annotations, karmada.AnnotationRequireExternalProbe),
	}
	add := d.seconds(metadata.Annotations, karmada.AnnotationAddSeconds, windows.AddOnMatch)
	remove := d.seconds(metadata.Annotations, karmada.AnnotationRemoveSeconds, windows.RemoveOnMismatch)
	for _, taint := range spec.Taints {
		rule.Taints = append(rule.Taints, d.ruleTaint(taint, add, remove))
	}
	rule.Malformed = d.refusal(rule)
	return rule
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
// off, or where this Karmada does not serve the kind.
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

// conditionAccepted reports whether Lifeboat honours a rule.
const conditionAccepted = "Accepted"

// RuleStatus is the status of a rule. Lifeboat writes it in enforce only.
type RuleStatus struct {
	Rule rules.Rule // as judged; Malformed makes it refused, with that message
	// MatchedClusters are those whose conditions match now.
	MatchedClusters []string
}

type ruleStatusWire struct {
	ObservedGeneration int64              `json:"observedGeneration"`
	MatchedClusters    []string           `json:"matchedClusters"`
	Conditions         []metav1.Condition `json:"conditions"`
}

// UpdateRuleStatus writes a rule's status if it changed: one merge patch with the
// resourceVersion that was read for it.
func (c *Client) UpdateRuleStatus(ctx context.Context, s RuleStatus) error {
	r := request{verb: "get", resource: ruleResource, name: s.Rule.Name}
	raw, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	var d decoding
	outline, object := d.object(raw)
	var standing ruleStatusWire
	d.into("status", outline.Status, &standing)
	next := s.status(standing, metav1.NewTime(c.now()))
	if equality.Semantic.DeepEqual(standing, next) {
		return nil
	}
	if object.Generation != s.Rule.Generation {
		return fmt.Errorf("update status of rule %s: %w", s.Rule.Name, karmada.ErrConflict)
	}
	r.verb, r.subresource = "patch", "status"
	r.body, _ = json.Marshal(map[string]any{ // it cannot fail
		"metadata": patchMetadata{ResourceVersion: object.ResourceVersion}, "status": next,
	})
	_, err = c.do(ctx, r)
	return err
}

// status is the status to write over the standing one: an unchanged condition keeps its time.
func (s RuleStatus) status(standing ruleStatusWire, now metav1.Time) ruleStatusWire {
	accepted := metav1.Condition{
		Type: conditionAccepted, Status: metav1.ConditionTrue, Reason: "Valid",
		Message: "the rule is honoured", ObservedGeneration: s.Rule.Generation, LastTransitionTime: now,
	}
	if s.Rule.Malformed != "" {
		accepted.Status, accepted.Reason, accepted.Message = metav1.ConditionFalse, string(reason.Malformed), s.Rule.Malformed
	}
	next := ruleStatusWire{
		ObservedGeneration: s.Rule.Generation,
		MatchedClusters:    append([]string{}, s.MatchedClusters...),
		Conditions:         slices.Clone(standing.Conditions),
	}
	slices.Sort(next.MatchedClusters)
	meta.SetStatusCondition(&next.Conditions, accepted)
	return next
}
