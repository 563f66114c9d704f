package karmada_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
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
		c := karmada.Cluster{Name: "m1", Region: region}
		_ = json.Unmarshal([]byte(labelled), &c.Labels)
		if zones != "" {
			c.Zones = strings.Split(zones, ",")
		}
		var a *karmada.ClusterAffinity
		if json.Unmarshal([]byte(affinity), &a) == nil {
			checkAffinity(t, a, c)
		}
		checkDrain(t, karmada.Drain{Who: "jane", Why: "x", Selector: drain}, &karmada.Binding{WorkloadLabels: c.Labels})
	})
}

func checkAffinity(t *testing.T, a *karmada.ClusterAffinity, c karmada.Cluster) {
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

func checkDrain(t *testing.T, d karmada.Drain, b *karmada.Binding) {
	_, err := labels.Parse(d.Selector)
	require.Equal(t, err == nil, d.Validate() == "", d.Validate())
	switch {
	case d.Selector == "":
		require.True(t, d.Selects(b))
	case err != nil:
		require.False(t, d.Selects(b), "a selector that cannot be read concerns nobody")
	}
}
