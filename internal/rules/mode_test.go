package rules_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

// Rules: R4.15-1, R4.15-8.
func TestTheModeOfACluster(t *testing.T) {
	gold := func(c *karmada.Cluster) { c.Labels = map[string]string{"tier": "gold"} }
	of := func(names ...string) rules.ClusterSelection { return rules.ClusterSelection{Names: names} }
	by := func(selector string) rules.ClusterSelection { return rules.ClusterSelection{Selector: selector} }
	for name, tc := range map[string]struct {
		exceptions rules.ModeExceptions
		otherwise  rules.Mode
		cluster    karmada.Cluster
		want       rules.Mode
	}{
		"nothing said is observe":         {exceptions: rules.ModeExceptions{}, cluster: fixtures.Cluster("m1"), want: rules.ModeObserve},
		"a word nobody knows is observe":  {exceptions: rules.ModeExceptions{}, otherwise: "Enforce", cluster: fixtures.Cluster("m1"), want: rules.ModeObserve},
		"the default":                     {exceptions: rules.ModeExceptions{}, otherwise: rules.ModeEnforce, cluster: fixtures.Cluster("m1"), want: rules.ModeEnforce},
		"enforced by name":                {exceptions: rules.ModeExceptions{Enforce: of("m2", "m1")}, otherwise: rules.ModeObserve, cluster: fixtures.Cluster("m1"), want: rules.ModeEnforce},
		"another one is not":              {exceptions: rules.ModeExceptions{Enforce: of("m2")}, otherwise: rules.ModeObserve, cluster: fixtures.Cluster("m1"), want: rules.ModeObserve},
		"observed by name":                {exceptions: rules.ModeExceptions{Observe: of("m1")}, otherwise: rules.ModeEnforce, cluster: fixtures.Cluster("m1"), want: rules.ModeObserve},
		"enforced by label":               {exceptions: rules.ModeExceptions{Enforce: by("tier=gold")}, otherwise: rules.ModeObserve, cluster: fixtures.Cluster("m1", gold), want: rules.ModeEnforce},
		"without the label not":           {exceptions: rules.ModeExceptions{Enforce: by("tier=gold")}, otherwise: rules.ModeObserve, cluster: fixtures.Cluster("m1"), want: rules.ModeObserve},
		"observed by label":               {exceptions: rules.ModeExceptions{Observe: by("tier in (gold)")}, otherwise: rules.ModeEnforce, cluster: fixtures.Cluster("m1", gold), want: rules.ModeObserve},
		"where both pick it observe wins": {exceptions: rules.ModeExceptions{Enforce: of("m1"), Observe: by("tier")}, otherwise: rules.ModeEnforce, cluster: fixtures.Cluster("m1", gold), want: rules.ModeObserve},
		"a selector nobody understands":   {exceptions: rules.ModeExceptions{Enforce: by("tier in")}, otherwise: rules.ModeEnforce, cluster: fixtures.Cluster("m1"), want: rules.ModeObserve},
		"also one for observe":            {exceptions: rules.ModeExceptions{Observe: by("=")}, otherwise: rules.ModeEnforce, cluster: fixtures.Cluster("m1"), want: rules.ModeObserve},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, tc.exceptions.Of(tc.cluster, tc.otherwise))
		})
	}
	require.False(t, rules.ModeExceptions{Observe: of("m1")}.MayEnforce(rules.ModeObserve))
	require.True(t, rules.ModeExceptions{Enforce: by("a")}.MayEnforce(rules.ModeObserve))
	require.True(t, rules.ModeExceptions{}.MayEnforce(rules.ModeEnforce))
}
