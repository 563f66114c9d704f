package proof_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
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
		"without a list ResourceHealth has to pass": {plugins: proof.Plugins{}, ok: false, reason: reason.PluginSilent, message: "has not answered"},
		"and alone it is enough":                    {plugins: proof.Plugins{}, proofs: []proof.Proof{yes("ResourceHealth")}, ok: true, reason: reason.Healthy, message: "fine"},
		"somebody else's word does not count":       {plugins: proof.Plugins{}, proofs: []proof.Proof{yes("dns")}, ok: false, reason: reason.PluginSilent},
		"any: one is enough":                        {plugins: proof.Plugins{List: two}, proofs: []proof.Proof{no("ResourceHealth"), yes("dns")}, ok: true, reason: reason.Healthy, message: "dns: fine"},
		"any: none passes":                          {plugins: proof.Plugins{List: two}, proofs: []proof.Proof{no("ResourceHealth"), no("dns")}, ok: false, reason: reason.PluginRefuses, message: "ResourceHealth: not yet; dns: not yet"},
		"all: both pass":                            {plugins: proof.Plugins{List: two, Mode: proof.PluginsAll}, proofs: []proof.Proof{yes("ResourceHealth"), yes("dns")}, ok: true, reason: reason.Healthy},
		"all: one does not":                         {plugins: proof.Plugins{List: two, Mode: proof.PluginsAll}, proofs: []proof.Proof{yes("ResourceHealth"), no("dns")}, ok: false, reason: reason.PluginRefuses, message: "dns: not yet"},
		"all: one has not answered":                 {plugins: proof.Plugins{List: two, Mode: proof.PluginsAll}, proofs: []proof.Proof{yes("ResourceHealth")}, ok: false, reason: reason.PluginSilent, message: "dns: has not answered"},
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
		"fine":                       {list: []proof.Plugin{builtIn, own}, evict: true},
		"a fence of one's own":       {list: []proof.Plugin{own}, evict: false},
		"nothing built in fences":    {list: []proof.Plugin{builtIn}, evict: false, wrong: "is built in and proves health"},
		"built in takes no queue":    {list: []proof.Plugin{odd}, evict: true, wrong: "takes no task queue"},
		"twice":                      {list: []proof.Plugin{own, own}, evict: true, wrong: "dns stands there twice"},
		"no name":                    {list: []proof.Plugin{{TaskQueue: "q", Activity: "A"}}, evict: true, wrong: "no name"},
		"a name that nobody answers": {list: []proof.Plugin{{Name: "Wish"}}, evict: true, wrong: "needs a taskQueue and an activity"},
		"too patient":                {list: []proof.Plugin{late}, evict: true, wrong: "a timeout is from"},
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

// Rules: R4.7-47.
func TestManagerFresh(t *testing.T) {
	lease := func(holder string, acquired, renewed int) proof.ManagerLease {
		return proof.ManagerLease{Holder: holder, Acquired: fixtures.At(acquired), Renewed: fixtures.At(renewed)}
	}
	for _, tc := range []struct {
		name        string
		before, now proof.ManagerLease
		ok          bool
		message     string
	}{
		{name: "the same holder renews", before: lease("a", 0, 100), now: lease("a", 0, 102), ok: true},
		{name: "leads for exactly detection", before: lease("a", 0, 88), now: lease("a", 0, 90), ok: true},
		{name: "does not renew", before: lease("a", 0, 100), now: lease("a", 0, 100), message: "does not renew"},
		{name: "has just started", before: lease("a", 0, 10), now: lease("a", 0, 12), message: "leads for 12s of 1m30s"},
		{name: "another holder", before: lease("a", 0, 100), now: lease("b", 0, 102), message: "changed hands"},
		{name: "the same holder acquired it again", before: lease("a", 0, 100), now: lease("a", 101, 300), message: "changed hands"},
		{name: "released", before: lease("a", 0, 100), now: lease("", 0, 102), message: "no process holds"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := proof.ManagerFresh(tc.before, tc.now, 90*time.Second)
			require.Equal(t, tc.ok, v.OK)
			require.Contains(t, v.Message, tc.message)
			require.Equal(t, !tc.ok, v.Reason == reason.KarmadaStale)
		})
	}
}
