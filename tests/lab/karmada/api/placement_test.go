package api_test

import (
	"fmt"
	"testing"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/stretchr/testify/require"
)

func TestPlacementChanged(t *testing.T) {
	groups := `{"clusterAffinities":[{"affinityName":"a","clusterNames":["%s"]},{"affinityName":"b","clusterNames":["%s"]}]}`
	applied := fmt.Sprintf(groups, "m1", "m2")
	for name, c := range map[string]struct {
		applied, wanted, observed string
		changed                   bool
	}{
		"never applied":                       {applied: "", wanted: applied, changed: true},
		"the same":                            {applied: applied, wanted: applied, observed: "a"},
		"a group other than the observed one": {applied: applied, wanted: fmt.Sprintf(groups, "m1", "m3"), observed: "a"},
		"the observed group":                  {applied: applied, wanted: fmt.Sprintf(groups, "m3", "m2"), observed: "a", changed: true},
		"groups, and none was observed":       {applied: applied, wanted: fmt.Sprintf(groups, "m1", "m3"), changed: true},
		"a toleration":                        {applied: `{}`, wanted: `{"clusterTolerations":[{"key":"k"}]}`, observed: "a", changed: true},
		"text that is no JSON":                {applied: `{`, wanted: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.changed, api.PlacementChanged(c.applied, c.wanted, c.observed))
		})
	}
}

func TestWorkNamesAreThoseOfTheRecordedKarmada(t *testing.T) {
	names := map[string]api.ObjectReference{
		"div-696d69898d":         {Kind: "Deployment", Namespace: "default", Name: "div"},
		"one-8fd8696fc":          {Kind: "Deployment", Namespace: "default", Name: "one"},
		"onecfg-f86b9df46":       {Kind: "ConfigMap", Namespace: "default", Name: "onecfg"},
		"demo-reader-7f4ff6bcbf": {Kind: "ClusterRole", Name: "demo-reader"},
	}
	for want, resource := range names {
		require.Equal(t, want, api.WorkName(resource))
	}
}
