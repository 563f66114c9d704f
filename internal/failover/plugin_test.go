package failover_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
)

// Rules: R4.7-30, R4.7-32.
func TestPluginsPassByAnyOrByAll(t *testing.T) {
	yes := func(name string) failover.Proof {
		return failover.Proof{Plugin: name, Verdict: failover.Verdict{OK: true, Message: "fine"}}
	}
	no := func(name string) failover.Proof {
		return failover.Proof{Plugin: name, Verdict: failover.Verdict{Reason: failover.ReasonPluginRefuses, Message: "not yet"}}
	}
	two := []failover.Plugin{{Name: "ResourceHealth"}, {Name: "dns", TaskQueue: "q", Activity: "A"}}
	for name, tc := range map[string]struct {
		plugins failover.Plugins
		proofs  []failover.Proof
		ok      bool
		reason  failover.Reason
		message string
	}{
		"without a list ResourceHealth has to pass": {failover.Plugins{}, nil, false, failover.ReasonPluginSilent, "has not answered"},
		"and alone it is enough":                    {failover.Plugins{}, []failover.Proof{yes("ResourceHealth")}, true, failover.ReasonHealthy, "fine"},
		"somebody else's word does not count":       {failover.Plugins{}, []failover.Proof{yes("dns")}, false, failover.ReasonPluginSilent, ""},
		"any: one is enough":                        {failover.Plugins{List: two}, []failover.Proof{no("ResourceHealth"), yes("dns")}, true, failover.ReasonHealthy, "dns: fine"},
		"any: none passes":                          {failover.Plugins{List: two}, []failover.Proof{no("ResourceHealth"), no("dns")}, false, failover.ReasonPluginRefuses, "ResourceHealth: not yet; dns: not yet"},
		"all: both pass":                            {failover.Plugins{List: two, Mode: failover.PluginsAll}, []failover.Proof{yes("ResourceHealth"), yes("dns")}, true, failover.ReasonHealthy, ""},
		"all: one does not":                         {failover.Plugins{List: two, Mode: failover.PluginsAll}, []failover.Proof{yes("ResourceHealth"), no("dns")}, false, failover.ReasonPluginRefuses, "dns: not yet"},
		"all: one has not answered":                 {failover.Plugins{List: two, Mode: failover.PluginsAll}, []failover.Proof{yes("ResourceHealth")}, false, failover.ReasonPluginSilent, "dns: has not answered"},
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
	in := failover.HealthInput{Binding: duplicated("m2"), Failed: "m1"}
	require.Equal(t, []failover.Proof{{Plugin: failover.PluginResourceHealth, Verdict: failover.Healthy(in)}}, failover.BuiltInProofs(in))
	require.True(t, failover.Plugin{Name: "ResourceHealth"}.BuiltIn())
	require.False(t, failover.Plugins{}.External())
	require.True(t, failover.Plugins{List: []failover.Plugin{{Name: "dns"}}}.External())
}

func TestAListOfPluginsIsCheckedAsAWhole(t *testing.T) {
	own := failover.Plugin{Name: "dns", TaskQueue: "q", Activity: "A"}
	late := own
	late.Timeout = 2 * time.Hour
	builtIn := failover.Plugin{Name: failover.PluginResourceHealth}
	odd := builtIn
	odd.TaskQueue = "q"
	for name, tc := range map[string]struct {
		list  []failover.Plugin
		evict bool
		wrong string
	}{
		"fine":                       {[]failover.Plugin{builtIn, own}, true, ""},
		"a fence of one's own":       {[]failover.Plugin{own}, false, ""},
		"nothing built in fences":    {[]failover.Plugin{builtIn}, false, "is built in and proves health"},
		"built in takes no queue":    {[]failover.Plugin{odd}, true, "takes no task queue"},
		"twice":                      {[]failover.Plugin{own, own}, true, "dns stands there twice"},
		"no name":                    {[]failover.Plugin{{TaskQueue: "q", Activity: "A"}}, true, "no name"},
		"a name that nobody answers": {[]failover.Plugin{{Name: "Wish"}}, true, "needs a taskQueue and an activity"},
		"too patient":                {[]failover.Plugin{late}, true, "a timeout is from"},
	} {
		t.Run(name, func(t *testing.T) {
			err := failover.CheckPlugins(tc.list, tc.evict)
			if tc.wrong == "" {
				require.NoError(t, err)
				require.Equal(t, failover.PluginTimeout, tc.list[len(tc.list)-1].Timeout)
				return
			}
			require.ErrorContains(t, err, tc.wrong)
		})
	}
}
