package failover_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func fields(key string, op corev1.NodeSelectorOperator, values ...string) *failover.FieldSelector {
	return &failover.FieldSelector{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
}

func matchLabels(kv map[string]string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: kv}
}

// Rules: R4.1-2, R4.6-1.
func TestAffinitySelects(t *testing.T) {
	east := cluster("m1", labelled("tier", "gold"), func(c *failover.Cluster) {
		c.Provider, c.Region, c.Zones = "acme", "east", []string{"east-1", "east-2"}
	})
	bare := cluster("m2")
	for name, tc := range map[string]struct {
		affinity *failover.ClusterAffinity
		cluster  failover.Cluster
		want     bool
	}{
		"no affinity selects every cluster":             {nil, bare, true},
		"an empty affinity selects every cluster":       {&failover.ClusterAffinity{}, bare, true},
		"a listed name is selected":                     {names("m1", "m2"), bare, true},
		"a name that is not listed is not":              {names("m1"), bare, false},
		"exclude wins over the names":                   {&failover.ClusterAffinity{ClusterNames: []string{"m2"}, Exclude: []string{"m2"}}, bare, false},
		"exclude alone selects the rest":                {&failover.ClusterAffinity{Exclude: []string{"m1"}}, bare, true},
		"a label selector must match":                   {&failover.ClusterAffinity{LabelSelector: matchLabels(map[string]string{"tier": "gold"})}, east, true},
		"and a cluster without the label does not":      {&failover.ClusterAffinity{LabelSelector: matchLabels(map[string]string{"tier": "gold"})}, bare, false},
		"an empty label selector selects every cluster": {&failover.ClusterAffinity{LabelSelector: &metav1.LabelSelector{}}, bare, true},
		"labels and names are ANDed": {&failover.ClusterAffinity{
			LabelSelector: matchLabels(map[string]string{"tier": "gold"}), ClusterNames: []string{"m2"},
		}, east, false},
		"a provider In its list":                      {&failover.ClusterAffinity{FieldSelector: fields("provider", corev1.NodeSelectorOpIn, "acme", "other")}, east, true},
		"no provider is In no list":                   {&failover.ClusterAffinity{FieldSelector: fields("provider", corev1.NodeSelectorOpIn, "acme")}, bare, false},
		"no provider is NotIn every list":             {&failover.ClusterAffinity{FieldSelector: fields("provider", corev1.NodeSelectorOpNotIn, "acme")}, bare, true},
		"a region NotIn its list":                     {&failover.ClusterAffinity{FieldSelector: fields("region", corev1.NodeSelectorOpNotIn, "east")}, east, false},
		"one listed zone is enough to be In":          {&failover.ClusterAffinity{FieldSelector: fields("zone", corev1.NodeSelectorOpIn, "east-1")}, east, true},
		"zones that are all listed are In":            {&failover.ClusterAffinity{FieldSelector: fields("zone", corev1.NodeSelectorOpIn, "east-1", "east-2", "x")}, east, true},
		"no listed zone is not In":                    {&failover.ClusterAffinity{FieldSelector: fields("zone", corev1.NodeSelectorOpIn, "x")}, east, false},
		"a region NotIn no values selects nothing":    {&failover.ClusterAffinity{FieldSelector: fields("region", corev1.NodeSelectorOpNotIn)}, east, false},
		"zones NotIn no values select all":            {&failover.ClusterAffinity{FieldSelector: fields("zone", corev1.NodeSelectorOpNotIn)}, east, true},
		"a value that no label may have":              {&failover.ClusterAffinity{FieldSelector: fields("region", corev1.NodeSelectorOpNotIn, "not a label")}, east, false},
		"a field selector that says nothing":          {&failover.ClusterAffinity{FieldSelector: &failover.FieldSelector{}}, east, true},
		"one listed zone is enough not to be NotIn":   {&failover.ClusterAffinity{FieldSelector: fields("zone", corev1.NodeSelectorOpNotIn, "east-2")}, east, false},
		"a cluster without zones is NotIn every list": {&failover.ClusterAffinity{FieldSelector: fields("zone", corev1.NodeSelectorOpNotIn, "east-2")}, bare, true},
		"a cluster without zones is In none":          {&failover.ClusterAffinity{FieldSelector: fields("zone", corev1.NodeSelectorOpIn, "east-2")}, bare, false},
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
		affinity failover.ClusterAffinity
		message  string
	}{
		"a field nobody knows": {
			failover.ClusterAffinity{FieldSelector: fields("planet", corev1.NodeSelectorOpIn, "mars")},
			`key "planet" is none of provider, region, zone`,
		},
		"an operator that Karmada refuses": {
			failover.ClusterAffinity{FieldSelector: fields("zone", corev1.NodeSelectorOpExists)},
			`operator "Exists" of zone is neither In nor NotIn`,
		},
		"a label selector with a bad operator": {failover.ClusterAffinity{LabelSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}},
		}}, "labelSelector"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.affinity.Selects(cluster("m1"))
			require.ErrorContains(t, err, tc.message)
			require.False(t, got)
		})
	}
}
