package failover_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// FuzzSelectors: whatever an affinity or a drain's selector says, it selects what
// Kubernetes' own selectors do, or is an error and selects nothing.
func FuzzSelectors(f *testing.F) {
	for _, affinity := range []string{
		`null`, `{}`, `{"clusterNames":["m1"],"exclude":["m1"]}`, `{"clusterNames":["m2"]}`,
		`{"labelSelector":{"matchLabels":{"tier":"gold"}}}`, `{"labelSelector":{"matchExpressions":[{"key":"tier","operator":"Exists","values":["x"]}]}}`,
		`{"labelSelector":{"matchExpressions":[{"key":"tier","operator":"NotIn","values":["gold"]},{"key":"a/b","operator":"DoesNotExist"}]}}`,
		`{"fieldSelector":{"matchExpressions":[{"key":"zone","operator":"In","values":["z1","z2"]},{"key":"region","operator":"NotIn"}]}}`,
		`{"fieldSelector":{"matchExpressions":[{"key":"provider","operator":"Gt","values":["1"]}]}}`, `{"fieldSelector":{}}`,
	} {
		f.Add(affinity, `{"tier":"gold"}`, "z1", "r", "tier in (gold, silver), !old")
	}
	f.Add(`{"labelSelector":{"matchLabels":{"":""}}}`, `{"":""}`, "z1,z2", "", "a in (b")
	f.Add(`{"exclude":["m2",""]}`, `{"a/b":"c"}`, "", "r", "")
	f.Fuzz(func(t *testing.T, affinity, labelled, zones, region, drain string) {
		c := failover.Cluster{Name: "m1", Region: region}
		_ = json.Unmarshal([]byte(labelled), &c.Labels)
		if zones != "" {
			c.Zones = strings.Split(zones, ",")
		}
		var a *failover.ClusterAffinity
		if json.Unmarshal([]byte(affinity), &a) == nil {
			checkAffinity(t, a, c)
		}
		checkDrain(t, failover.Drain{Who: "jane", Why: "x", Selector: drain}, &failover.Binding{WorkloadLabels: c.Labels})
	})
}

func checkAffinity(t *testing.T, a *failover.ClusterAffinity, c failover.Cluster) {
	selected, err := a.Selects(c)
	if a == nil {
		require.True(t, selected && err == nil)
		return
	}
	if err != nil {
		require.False(t, selected)
		return
	}
	if a.LabelSelector != nil {
		s, err := metav1.LabelSelectorAsSelector(a.LabelSelector)
		require.NoError(t, err, "what Kubernetes cannot read is an error here, too")
		require.True(t, !selected || s.Matches(labels.Set(c.Labels)))
	}
	if slices.Contains(a.Exclude, c.Name) || len(a.ClusterNames) > 0 && !slices.Contains(a.ClusterNames, c.Name) {
		require.False(t, selected)
	}
	less := *a
	less.Exclude = append(slices.Clone(a.Exclude), c.Name)
	selected, err = less.Selects(c)
	require.NoError(t, err)
	require.False(t, selected, "exclude wins")
}

func checkDrain(t *testing.T, d failover.Drain, b *failover.Binding) {
	_, err := labels.Parse(d.Selector)
	require.Equal(t, err == nil, d.Validate() == "", d.Validate())
	switch {
	case d.Selector == "":
		require.True(t, d.Selects(b))
	case err != nil:
		require.False(t, d.Selects(b), "a selector that cannot be read concerns nobody")
	}
}

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
		require.Equal(t, enabled == "false", failover.OptedOut(map[string]string{failover.AnnotationEnabled: enabled}))
		b := failover.Binding{HasClusterFailover: true, Placement: &failover.Placement{}, Annotations: map[string]string{
			failover.AnnotationTolerationSeconds: own, failover.AnnotationPurgeMode: policy, failover.AnnotationDependencies: dependencies,
		}}
		var standing []corev1.Taint
		if json.Unmarshal([]byte(tolerations), &b.Placement.ClusterTolerations) != nil || json.Unmarshal([]byte(taints), &standing) != nil {
			return
		}
		checkDue(t, &b, own, policy, standing)
		checkDependencies(t, &b, dependencies)
	})
}

func checkDue(t *testing.T, b *failover.Binding, own, policy string, taints []corev1.Taint) {
	p := failover.PolicyOf(b, nil).ReadSoft(policy)
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
	due := failover.DueUnder(p, taints, now)
	if !due.Affected {
		require.Zero(t, due.At)
		return
	}
	require.True(t, failover.Triggers(due.Taint.Effect), "only a triggering taint moves anything")
	require.True(t, slices.ContainsFunc(taints, func(x corev1.Taint) bool { return x.Key == due.Taint.Key && x.Effect == due.Taint.Effect }))
	if due.Taint.Effect == failover.EffectPreferNoExecute {
		require.Empty(t, p.SoftMalformed, "what cannot be read moves nothing")
		require.False(t, due.At.Before(due.Taint.TimeAdded))
	}
	if due.Taint.TimeAdded.IsZero() {
		return // there is no clock that could be frozen
	}
	require.False(t, failover.Thaw(due.Taint.TimeAdded, due.At, nil, now).Before(due.At), "frozen time makes nothing due sooner")
}

func checkDependencies(t *testing.T, b *failover.Binding, text string) {
	d := failover.DependenciesOf(b)
	require.True(t, d.Known)
	if text = strings.TrimSpace(text); text != "" && !json.Valid([]byte(text)) {
		require.NotEmpty(t, d.Malformed)
	}
	for _, key := range d.Keys {
		require.NotEmpty(t, key.Name)
	}
}

// FuzzWords: whatever a human writes for a taint, a time or a binding, it is understood as
// it would be written back, or refused with a word of why.
func FuzzWords(f *testing.F) {
	for _, text := range []string{
		"maintenance:NoExecute", "a/b=c:PreferNoExecute", "a:NoSchedule", "=:NoExecute", "a=b=c:NoExecute", "a:b:NoExecute", "cluster.karmada.io/x:NoExecute",
		"30m", "1ns", "720h", "721h", "-5m", "1h1h", "shop/cart", "-/role", "/x", "a/b/c", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if taint, wrong := failover.ParseTaint(text); wrong == "" {
			again, wrong := failover.ParseTaint(taint.String())
			require.Empty(t, wrong)
			require.Equal(t, taint, again)
			taint.Who, taint.Why = "jane", "x"
			require.Empty(t, taint.Validate(), "what was understood can be ordered")
		}
		if d, wrong := failover.SnoozeFor(text); wrong == "" {
			require.True(t, d >= time.Second && d <= failover.MaxSnooze, d)
		} else {
			require.Zero(t, d)
		}
		if key, whole := failover.ParseBindingKey(text); whole {
			again, whole := failover.ParseBindingKey(key.String())
			require.True(t, whole)
			require.Equal(t, key, again)
			if scope := failover.ScopeOf(key); scope.Check() == "" {
				require.True(t, scope.One() && scope.Covers(key))
			}
		}
	})
}

// FuzzPacked: what is carried from run to run in packed form reads back as it was, and
// anything else in its place is an error.
func FuzzPacked(f *testing.F) {
	for _, packed := range []string{`""`, `"AQID"`, `"gICAgICAgICAgIAB"`, `"AAAAAAAAAAEAAAAC"`, `"AAAA"`, `null`, `"="`, `[1]`} {
		f.Add([]byte(packed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var set, again failover.BindingSet
		if json.Unmarshal(raw, &set) == nil {
			packed, err := json.Marshal(&set)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(packed, &again))
			require.Equal(t, set.Len(), again.Len())
			key := failover.BindingKey{Namespace: "shop", Name: "cart"}
			set.Add(key, "u")
			require.True(t, set.Has(key, "u"))
		}
		var log, reread failover.MoveLog
		if json.Unmarshal(raw, &log) == nil {
			now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
			log.Add("shop/cart", now)
			packed, err := json.Marshal(log)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(packed, &reread))
			moved, _ := reread.Since("shop/cart", now)
			require.Positive(t, moved)
		}
	})
}
