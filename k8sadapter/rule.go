package k8sadapter

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"
)

// karmadaTaintPrefix begins the keys of Karmada's own taints.
const karmadaTaintPrefix = "cluster.karmada.io/"

// ruleSpecWire is the spec of a ClusterTaintRule.
type ruleSpecWire struct {
	TargetClusters  *karmada.ClusterAffinity `json:"targetClusters"`
	MatchConditions []struct {
		ConditionType string                   `json:"conditionType"`
		Operator      string                   `json:"operator"`
		StatusValues  []corev1.ConditionStatus `json:"statusValues"`
	} `json:"matchConditions"`
	Taints               []ruleTaintWire `json:"taints"`
	RequireExternalProbe bool            `json:"requireExternalProbe"`
}

type ruleTaintWire struct {
	Key                     string             `json:"key"`
	Value                   string             `json:"value"`
	Effect                  corev1.TaintEffect `json:"effect"`
	AddOnMatchSeconds       *int64             `json:"addOnMatchSeconds"`
	RemoveOnMismatchSeconds *int64             `json:"removeOnMismatchSeconds"`
}

// DecodeRule reads a ClusterTaintRule (failover.lifeboat.dev/v1alpha1) from its
// JSON. It never fails: a rule with a field that this version does not know, or
// that the core refuses, comes back with Malformed saying why.
func DecodeRule(raw []byte) rules.Rule {
	var d decoding
	outline, meta := d.object(raw)
	var spec ruleSpecWire
	d.strict("spec", outline.Spec, &spec)
	rule := rules.Rule{
		Name: meta.Name, Generation: meta.Generation, TargetClusters: spec.TargetClusters, RequireExternalProbe: spec.RequireExternalProbe,
	}
	for _, match := range spec.MatchConditions {
		rule.MatchConditions = append(rule.MatchConditions, rules.MatchCondition(match))
	}
	for _, taint := range spec.Taints {
		rule.Taints = append(rule.Taints, d.ruleTaint(taint))
	}
	rule.Malformed = d.malformed()
	if rule.Malformed == "" {
		rule.Malformed = reason.Bounded(rule.Validate())
	}
	return rule
}

// strict decodes a part of which every field must be known.
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

func (d *decoding) ruleTaint(wire ruleTaintWire) karmada.RuleTaint {
	const path = "spec.taints"
	taint := karmada.RuleTaint{
		Key: wire.Key, Value: wire.Value, Effect: wire.Effect,
		AddOnMatch:       d.window(path+".addOnMatchSeconds", wire.AddOnMatchSeconds, rules.DefaultAddOnMatch),
		RemoveOnMismatch: d.window(path+".removeOnMismatchSeconds", wire.RemoveOnMismatchSeconds, rules.DefaultRemoveOnMismatch),
	}
	if karmadasOwn(taint.Key, taint.Effect) {
		d.problem(path, "%s:%s belongs to Karmada", taint.Key, taint.Effect)
	}
	return taint
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

// karmadasOwn tells Karmada's taints by condition, which its cluster controller
// puts and removes. With another effect the same key is free for rules to use:
// the tolerations that Karmada's users wrote name it.
func karmadasOwn(key string, effect corev1.TaintEffect) bool {
	return effect == corev1.TaintEffectNoSchedule && strings.HasPrefix(key, karmadaTaintPrefix)
}
