package rules_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
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
		"nothing said is observe":         {rules.ModeExceptions{}, "", fixtures.Cluster("m1"), rules.ModeObserve},
		"a word nobody knows is observe":  {rules.ModeExceptions{}, "Enforce", fixtures.Cluster("m1"), rules.ModeObserve},
		"the default":                     {rules.ModeExceptions{}, rules.ModeEnforce, fixtures.Cluster("m1"), rules.ModeEnforce},
		"enforced by name":                {rules.ModeExceptions{Enforce: of("m2", "m1")}, rules.ModeObserve, fixtures.Cluster("m1"), rules.ModeEnforce},
		"another one is not":              {rules.ModeExceptions{Enforce: of("m2")}, rules.ModeObserve, fixtures.Cluster("m1"), rules.ModeObserve},
		"observed by name":                {rules.ModeExceptions{Observe: of("m1")}, rules.ModeEnforce, fixtures.Cluster("m1"), rules.ModeObserve},
		"enforced by label":               {rules.ModeExceptions{Enforce: by("tier=gold")}, rules.ModeObserve, fixtures.Cluster("m1", gold), rules.ModeEnforce},
		"without the label not":           {rules.ModeExceptions{Enforce: by("tier=gold")}, rules.ModeObserve, fixtures.Cluster("m1"), rules.ModeObserve},
		"observed by label":               {rules.ModeExceptions{Observe: by("tier in (gold)")}, rules.ModeEnforce, fixtures.Cluster("m1", gold), rules.ModeObserve},
		"where both pick it observe wins": {rules.ModeExceptions{Enforce: of("m1"), Observe: by("tier")}, rules.ModeEnforce, fixtures.Cluster("m1", gold), rules.ModeObserve},
		"a selector nobody understands":   {rules.ModeExceptions{Enforce: by("tier in")}, rules.ModeEnforce, fixtures.Cluster("m1"), rules.ModeObserve},
		"also one for observe":            {rules.ModeExceptions{Observe: by("=")}, rules.ModeEnforce, fixtures.Cluster("m1"), rules.ModeObserve},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, tc.exceptions.Of(tc.cluster, tc.otherwise))
		})
	}
	require.False(t, rules.ModeExceptions{Observe: of("m1")}.MayEnforce(rules.ModeObserve))
	require.True(t, rules.ModeExceptions{Enforce: by("a")}.MayEnforce(rules.ModeObserve))
	require.True(t, rules.ModeExceptions{}.MayEnforce(rules.ModeEnforce))
}
