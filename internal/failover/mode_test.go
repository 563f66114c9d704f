package failover_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
)

// Rules: R4.15-1, R4.15-8.
func TestTheModeOfACluster(t *testing.T) {
	gold := func(c *failover.Cluster) { c.Labels = map[string]string{"tier": "gold"} }
	of := func(names ...string) failover.ClusterSelection { return failover.ClusterSelection{Names: names} }
	by := func(selector string) failover.ClusterSelection { return failover.ClusterSelection{Selector: selector} }
	for name, tc := range map[string]struct {
		exceptions failover.ModeExceptions
		otherwise  failover.Mode
		cluster    failover.Cluster
		want       failover.Mode
	}{
		"nothing said is observe":         {failover.ModeExceptions{}, "", cluster("m1"), failover.ModeObserve},
		"a word nobody knows is observe":  {failover.ModeExceptions{}, "Enforce", cluster("m1"), failover.ModeObserve},
		"the default":                     {failover.ModeExceptions{}, failover.ModeEnforce, cluster("m1"), failover.ModeEnforce},
		"enforced by name":                {failover.ModeExceptions{Enforce: of("m2", "m1")}, failover.ModeObserve, cluster("m1"), failover.ModeEnforce},
		"another one is not":              {failover.ModeExceptions{Enforce: of("m2")}, failover.ModeObserve, cluster("m1"), failover.ModeObserve},
		"observed by name":                {failover.ModeExceptions{Observe: of("m1")}, failover.ModeEnforce, cluster("m1"), failover.ModeObserve},
		"enforced by label":               {failover.ModeExceptions{Enforce: by("tier=gold")}, failover.ModeObserve, cluster("m1", gold), failover.ModeEnforce},
		"without the label not":           {failover.ModeExceptions{Enforce: by("tier=gold")}, failover.ModeObserve, cluster("m1"), failover.ModeObserve},
		"observed by label":               {failover.ModeExceptions{Observe: by("tier in (gold)")}, failover.ModeEnforce, cluster("m1", gold), failover.ModeObserve},
		"where both pick it observe wins": {failover.ModeExceptions{Enforce: of("m1"), Observe: by("tier")}, failover.ModeEnforce, cluster("m1", gold), failover.ModeObserve},
		"a selector nobody understands":   {failover.ModeExceptions{Enforce: by("tier in")}, failover.ModeEnforce, cluster("m1"), failover.ModeObserve},
		"also one for observe":            {failover.ModeExceptions{Observe: by("=")}, failover.ModeEnforce, cluster("m1"), failover.ModeObserve},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, tc.exceptions.Of(tc.cluster, tc.otherwise))
		})
	}
	require.False(t, failover.ModeExceptions{Observe: of("m1")}.MayEnforce(failover.ModeObserve))
	require.True(t, failover.ModeExceptions{Enforce: by("a")}.MayEnforce(failover.ModeObserve))
	require.True(t, failover.ModeExceptions{}.MayEnforce(failover.ModeEnforce))
}
