package karmada_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rules: R4.1-2, R4.6-1.
func TestAffinitySelects(t *testing.T) {
	east := fixtures.Cluster("m1", fixtures.Labelled("tier", "gold"), func(c *karmada.Cluster) {
		c.Provider, c.Region, c.Zones = "acme", "east", []string{"east-1", "east-2"}
	})
	bare := fixtures.Cluster("m2")
	for name, tc := range map[string]struct {
		affinity *karmada.ClusterAffinity
		cluster  karmada.Cluster
		want     bool
	}{
		"no affinity selects every cluster":             {nil, bare, true},
		"an empty affinity selects every cluster":       {&karmada.ClusterAffinity{}, bare, true},
		"a listed name is selected":                     {fixtures.Names("m1", "m2"), bare, true},
		"a name that is not listed is not":              {fixtures.Names("m1"), bare, false},
		"exclude wins over the names":                   {&karmada.ClusterAffinity{ClusterNames: []string{"m2"}, Exclude: []string{"m2"}}, bare, false},
		"exclude alone selects the rest":                {&karmada.ClusterAffinity{Exclude: []string{"m1"}}, bare, true},
		"a label selector must match":                   {&karmada.ClusterAffinity{LabelSelector: fixtures.MatchLabels(map[string]string{"tier": "gold"})}, east, true},
		"and a cluster without the label does not":      {&karmada.ClusterAffinity{LabelSelector: fixtures.MatchLabels(map[string]string{"tier": "gold"})}, bare, false},
		"an empty label selector selects every cluster": {&karmada.ClusterAffinity{LabelSelector: &metav1.LabelSelector{}}, bare, true},
		"labels and names are ANDed": {&karmada.ClusterAffinity{
			LabelSelector: fixtures.MatchLabels(map[string]string{"tier": "gold"}), ClusterNames: []string{"m2"},
		}, east, false},
		"a provider In its list":                      {&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("provider", corev1.NodeSelectorOpIn, "acme", "other")}, east, true},
		"no provider is In no list":                   {&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("provider", corev1.NodeSelectorOpIn, "acme")}, bare, false},
		"no provider is NotIn every list":             {&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("provider", corev1.NodeSelectorOpNotIn, "acme")}, bare, true},
		"a region NotIn its list":                     {&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("region", corev1.NodeSelectorOpNotIn, "east")}, east, false},
		"one listed zone is enough to be In":          {&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpIn, "east-1")}, east, true},
		"zones that are all listed are In":            {&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpIn, "east-1", "east-2", "x")}, east, true},
		"no listed zone is not In":                    {&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpIn, "x")}, east, false},
		"a region NotIn no values selects nothing":    {&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("region", corev1.NodeSelectorOpNotIn)}, east, false},
		"zones NotIn no values select all":            {&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpNotIn)}, east, true},
		"a value that no label may have":              {&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("region", corev1.NodeSelectorOpNotIn, "not a label")}, east, false},
		"a field selector that says nothing":          {&karmada.ClusterAffinity{FieldSelector: &karmada.FieldSelector{}}, east, true},
		"one listed zone is enough not to be NotIn":   {&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpNotIn, "east-2")}, east, false},
		"a cluster without zones is NotIn every list": {&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpNotIn, "east-2")}, bare, true},
		"a cluster without zones is In none":          {&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpIn, "east-2")}, bare, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.affinity.Selects(tc.cluster)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

// Rules: R4.6-27.
func TestAffinityRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for name, tc := range map[string]struct {
		affinity karmada.ClusterAffinity
		message  string
	}{
		"a field nobody knows": {
			karmada.ClusterAffinity{FieldSelector: fixtures.Fields("planet", corev1.NodeSelectorOpIn, "mars")},
			`key "planet" is none of provider, region, zone`,
		},
		"an operator that Karmada refuses": {
			karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpExists)},
			`operator "Exists" of zone is neither In nor NotIn`,
		},
		"a label selector with a bad operator": {karmada.ClusterAffinity{LabelSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}},
		}}, "labelSelector"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.affinity.Selects(fixtures.Cluster("m1"))
			require.ErrorContains(t, err, tc.message)
			require.False(t, got)
		})
	}
}
