package proof_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
)

// Rules: R4.7-30, R4.7-32.
func TestPluginsPassByAnyOrByAll(t *testing.T) {
	yes := func(name string) proof.Proof {
		return proof.Proof{Plugin: name, Verdict: reason.Verdict{OK: true, Message: "fine"}}
	}
	no := func(name string) proof.Proof {
		return proof.Proof{Plugin: name, Verdict: reason.Verdict{Reason: reason.PluginRefuses, Message: "not yet"}}
	}
	two := []proof.Plugin{{Name: "ResourceHealth"}, {Name: "dns", TaskQueue: "q", Activity: "A"}}
	for name, tc := range map[string]struct {
		plugins proof.Plugins
		proofs  []proof.Proof
		ok      bool
		reason  reason.Reason
		message string
	}{
		"without a list ResourceHealth has to pass": {proof.Plugins{}, nil, false, reason.PluginSilent, "has not answered"},
		"and alone it is enough":                    {proof.Plugins{}, []proof.Proof{yes("ResourceHealth")}, true, reason.Healthy, "fine"},
		"somebody else's word does not count":       {proof.Plugins{}, []proof.Proof{yes("dns")}, false, reason.PluginSilent, ""},
		"any: one is enough":                        {proof.Plugins{List: two}, []proof.Proof{no("ResourceHealth"), yes("dns")}, true, reason.Healthy, "dns: fine"},
		"any: none passes":                          {proof.Plugins{List: two}, []proof.Proof{no("ResourceHealth"), no("dns")}, false, reason.PluginRefuses, "ResourceHealth: not yet; dns: not yet"},
		"all: both pass":                            {proof.Plugins{List: two, Mode: proof.PluginsAll}, []proof.Proof{yes("ResourceHealth"), yes("dns")}, true, reason.Healthy, ""},
		"all: one does not":                         {proof.Plugins{List: two, Mode: proof.PluginsAll}, []proof.Proof{yes("ResourceHealth"), no("dns")}, false, reason.PluginRefuses, "dns: not yet"},
		"all: one has not answered":                 {proof.Plugins{List: two, Mode: proof.PluginsAll}, []proof.Proof{yes("ResourceHealth")}, false, reason.PluginSilent, "dns: has not answered"},
	} {
		t.Run(name, func(t *testing.T) {
			v := tc.plugins.Judge(tc.proofs)
			require.Equal(t, tc.ok, v.OK, v.Message)
			require.Equal(t, tc.reason, v.Reason)
			require.Contains(t, v.Message, tc.message)
		})
	}
}

func TestBuiltInPluginsJudgeByTheirName(t *testing.T) {
	in := proof.HealthInput{Binding: fixtures.Duplicated("m2"), Failed: "m1"}
	require.Equal(t, []proof.Proof{{Plugin: proof.PluginResourceHealth, Verdict: proof.Healthy(in)}}, proof.BuiltInProofs(in))
	require.True(t, proof.Plugin{Name: "ResourceHealth"}.BuiltIn())
	require.False(t, proof.Plugins{}.External())
	require.True(t, proof.Plugins{List: []proof.Plugin{{Name: "dns"}}}.External())
}

func TestAListOfPluginsIsCheckedAsAWhole(t *testing.T) {
	own := proof.Plugin{Name: "dns", TaskQueue: "q", Activity: "A"}
	late := own
	late.Timeout = 2 * time.Hour
	builtIn := proof.Plugin{Name: proof.PluginResourceHealth}
	odd := builtIn
	odd.TaskQueue = "q"
	for name, tc := range map[string]struct {
		list  []proof.Plugin
		evict bool
		wrong string
	}{
		"fine":                       {[]proof.Plugin{builtIn, own}, true, ""},
		"a fence of one's own":       {[]proof.Plugin{own}, false, ""},
		"nothing built in fences":    {[]proof.Plugin{builtIn}, false, "is built in and proves health"},
		"built in takes no queue":    {[]proof.Plugin{odd}, true, "takes no task queue"},
		"twice":                      {[]proof.Plugin{own, own}, true, "dns stands there twice"},
		"no name":                    {[]proof.Plugin{{TaskQueue: "q", Activity: "A"}}, true, "no name"},
		"a name that nobody answers": {[]proof.Plugin{{Name: "Wish"}}, true, "needs a taskQueue and an activity"},
		"too patient":                {[]proof.Plugin{late}, true, "a timeout is from"},
	} {
		t.Run(name, func(t *testing.T) {
			err := proof.CheckPlugins(tc.list, tc.evict)
			if tc.wrong == "" {
				require.NoError(t, err)
				require.Equal(t, proof.PluginTimeout, tc.list[len(tc.list)-1].Timeout)
				return
			}
			require.ErrorContains(t, err, tc.wrong)
		})
	}
}
