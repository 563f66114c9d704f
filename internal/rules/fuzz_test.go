package rules_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// FuzzAnnotations: whatever the annotations of a binding, its policy and its namespace
// say, they are read for what they are or for a problem, and no misread one moves anything.
func FuzzAnnotations(f *testing.F) {
	const tolerated, tainted = `[{"key":"down","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]`,
		`[{"key":"down","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"},{"key":"slow","effect":"PreferNoExecute","timeAdded":"2026-01-01T00:00:00Z"}]`
	for _, text := range []string{"", "false", "False", "0", "300", "-1", "9223372036854775807", "9223372036854775808", "1e3", " 5", "Never"} {
		f.Add(text, text, text, tolerated, tainted, `[{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"`+text+`"}]`)
	}
	f.Add("true", "5", "", `[{"operator":"Exists","tolerationSeconds":-9223372036854775808},{"operator":"Lt"}]`, `[{"effect":"NoExecute"}]`, `[{"labelSelector":{"a":1}},{"name":"x"}]`)
	f.Fuzz(func(t *testing.T, enabled, own, policy, tolerations, taints, dependencies string) {
		require.Equal(t, enabled == "false", rules.OptedOut(map[string]string{karmada.AnnotationEnabled: enabled}))
		b := karmada.Binding{HasClusterFailover: true, Placement: &karmada.Placement{}, Annotations: map[string]string{
			karmada.AnnotationTolerationSeconds: own, karmada.AnnotationPurgeMode: policy, karmada.AnnotationDependencies: dependencies,
		}}
		var standing []corev1.Taint
		if json.Unmarshal([]byte(tolerations), &b.Placement.ClusterTolerations) != nil || json.Unmarshal([]byte(taints), &standing) != nil {
			return
		}
		checkDue(t, &b, own, policy, standing)
		checkDependencies(t, &b, dependencies)
	})
}

func checkDue(t *testing.T, b *karmada.Binding, own, policy string, taints []corev1.Taint) {
	p := rules.PolicyOf(b, nil).ReadSoft(policy)
	require.True(t, p.SoftRead())
	said := own
	if said == "" {
		said = policy
	}
	if n, err := strconv.ParseInt(said, 10, 64); said != "" && (err != nil || n < 0) {
		require.NotEmpty(t, p.SoftMalformed)
	} else {
		require.Empty(t, p.SoftMalformed)
		require.GreaterOrEqual(t, *p.SoftSeconds, int64(0))
	}
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	due := rules.DueUnder(p, taints, now)
	if !due.Affected {
		require.Zero(t, due.At)
		return
	}
	require.True(t, karmada.Triggers(due.Taint.Effect), "only a triggering taint moves anything")
	require.True(t, slices.ContainsFunc(taints, func(x corev1.Taint) bool { return x.Key == due.Taint.Key && x.Effect == due.Taint.Effect }))
	if due.Taint.Effect == karmada.EffectPreferNoExecute {
		require.Empty(t, p.SoftMalformed, "what cannot be read moves nothing")
		require.False(t, due.At.Before(due.Taint.TimeAdded))
	}
	if due.Taint.TimeAdded.IsZero() {
		return // there is no clock that could be frozen
	}
	require.False(t, rules.Thaw(due.Taint.TimeAdded, due.At, nil, now).Before(due.At), "frozen time makes nothing due sooner")
}

func checkDependencies(t *testing.T, b *karmada.Binding, text string) {
	d := karmada.DependenciesOf(b)
	require.True(t, d.Known)
	if text = strings.TrimSpace(text); text != "" && !json.Valid([]byte(text)) {
		require.NotEmpty(t, d.Malformed)
	}
	for _, key := range d.Keys {
		require.NotEmpty(t, key.Name)
	}
}
