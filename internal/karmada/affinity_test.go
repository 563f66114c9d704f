package karmada_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
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
		"no affinity selects every cluster":             {cluster: bare, want: true},
		"an empty affinity selects every cluster":       {affinity: &karmada.ClusterAffinity{}, cluster: bare, want: true},
		"a listed name is selected":                     {affinity: fixtures.Names("m1", "m2"), cluster: bare, want: true},
		"a name that is not listed is not":              {affinity: fixtures.Names("m1"), cluster: bare, want: false},
		"exclude wins over the names":                   {affinity: &karmada.ClusterAffinity{ClusterNames: []string{"m2"}, Exclude: []string{"m2"}}, cluster: bare, want: false},
		"exclude alone selects the rest":                {affinity: &karmada.ClusterAffinity{Exclude: []string{"m1"}}, cluster: bare, want: true},
		"a label selector must match":                   {affinity: &karmada.ClusterAffinity{LabelSelector: fixtures.MatchLabels(map[string]string{"tier": "gold"})}, cluster: east, want: true},
		"and a cluster without the label does not":      {affinity: &karmada.ClusterAffinity{LabelSelector: fixtures.MatchLabels(map[string]string{"tier": "gold"})}, cluster: bare, want: false},
		"an empty label selector selects every cluster": {affinity: &karmada.ClusterAffinity{LabelSelector: &metav1.LabelSelector{}}, cluster: bare, want: true},
		"labels and names are ANDed": {affinity: &karmada.ClusterAffinity{
			LabelSelector: fixtures.MatchLabels(map[string]string{"tier": "gold"}), ClusterNames: []string{"m2"},
		}, cluster: east, want: false},
		"a provider In its list":                      {affinity: &karmada.ClusterAffinity{FieldSelector: fixtures.Fields("provider", corev1.NodeSelectorOpIn, "acme", "other")}, cluster: east, want: true},
		"no provider is In no list":                   {affinity: &karmada.ClusterAffinity{FieldSelector: fixtures.Fields("provider", corev1.NodeSelectorOpIn, "acme")}, cluster: bare, want: false},
		"no provider is NotIn every list":             {affinity: &karmada.ClusterAffinity{FieldSelector: fixtures.Fields("provider", corev1.NodeSelectorOpNotIn, "acme")}, cluster: bare, want: true},
		"a region NotIn its list":                     {affinity: &karmada.ClusterAffinity{FieldSelector: fixtures.Fields("region", corev1.NodeSelectorOpNotIn, "east")}, cluster: east, want: false},
		"one listed zone is enough to be In":          {affinity: &karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpIn, "east-1")}, cluster: east, want: true},
		"zones that are all listed are In":            {affinity: &karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpIn, "east-1", "east-2", "x")}, cluster: east, want: true},
		"no listed zone is not In":                    {affinity: &karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpIn, "x")}, cluster: east, want: false},
		"a region NotIn no values selects nothing":    {affinity: &karmada.ClusterAffinity{FieldSelector: fixtures.Fields("region", corev1.NodeSelectorOpNotIn)}, cluster: east, want: false},
		"zones NotIn no values select all":            {affinity: &karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpNotIn)}, cluster: east, want: true},
		"a value that no label may have":              {affinity: &karmada.ClusterAffinity{FieldSelector: fixtures.Fields("region", corev1.NodeSelectorOpNotIn, "not a label")}, cluster: east, want: false},
		"a field selector that says nothing":          {affinity: &karmada.ClusterAffinity{FieldSelector: &karmada.FieldSelector{}}, cluster: east, want: true},
		"one listed zone is enough not to be NotIn":   {affinity: &karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpNotIn, "east-2")}, cluster: east, want: false},
		"a cluster without zones is NotIn every list": {affinity: &karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpNotIn, "east-2")}, cluster: bare, want: true},
		"a cluster without zones is In none":          {affinity: &karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpIn, "east-2")}, cluster: bare, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, fixtures.Must(tc.affinity.Selects(tc.cluster))(t))
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
			affinity: karmada.ClusterAffinity{FieldSelector: fixtures.Fields("planet", corev1.NodeSelectorOpIn, "mars")},
			message:  `key "planet" is none of provider, region, zone`,
		},
		"an operator that Karmada refuses": {
			affinity: karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpExists)},
			message:  `operator "Exists" of zone is neither In nor NotIn`,
		},
		"a label selector with a bad operator": {affinity: karmada.ClusterAffinity{LabelSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}},
		}}, message: "labelSelector"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.affinity.Selects(fixtures.Cluster("m1"))
			require.ErrorContains(t, err, tc.message)
			require.False(t, got)
		})
	}
}
