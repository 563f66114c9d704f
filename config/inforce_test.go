package config

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
)

// everyKind has a value other than the default in each form that a key has.
const everyKind = `
mode: enforce
instance: eu
modes: {observe: [m1, m2], enforceSelector: "tier=gold,env!=prod"}
kubernetes: {kubeconfig: /etc/worker/secret}
pace: {evictionRate: unlimited, unhealthyThreshold: 0.25, largeFleetThreshold: 1000}
health: {minHealthy: 1m30s, releaseUnproven: true}
defaults: {tolerations: [{key: down, operator: Equal, value: "a,b", effect: NoExecute, tolerationSeconds: 30}]}
evictPlugins: [ResourceHealth, {name: probe, taskQueue: q, activity: Probe, timeout: 10s}]
approval: {clustersAbove: 2, replicasAbove: 33.5, namespaces: [bank]}
kinds: [Job.batch=move, Service=ask]
rules: {karmadaPolicies: false}
drain: {onDeletion: drain}
log: {level: debug}
`

// Rules: R4.15-32.
func TestWhatAWorkerPublishesReadsBackAsItsConfiguration(t *testing.T) {
	alone(t)
	worker, err := Load(Sources{File: write(t, everyKind)})
	require.NoError(t, err)
	told := worker.InForce()
	for _, private := range []string{"instance", "kubernetes.kubeconfig", "log.level"} {
		require.NotContains(t, told, private)
	}
	require.NotContains(t, told, "pace.movesPerHour", "the default is not told")
	caller, err := Load(Sources{Workers: told})
	require.NoError(t, err)
	for _, of := range []*Config{&worker, &caller} {
		of.Instance, of.TaskQueue, of.Kubernetes, of.Log = "", "", Kubernetes{}, Log{}
	}
	require.Equal(t, worker, caller)
	require.Equal(t, map[string]string{"mode": "observe"}, Default().InForce(), "also who has configured nothing says so")
}

// Rules: R4.15-32.
func TestWhatTheCallerSaysGoesBeforeWhatTheWorkersPublish(t *testing.T) {
	alone(t)
	told := map[string]string{
		"mode": "enforce", "pace.evictionRate": "2", "health.minHealthy": "a while", "of.another.release": "x", "instance": "us",
	}
	c, err := Load(Sources{File: write(t, "pace: {evictionRate: 3}\n"), Workers: told})
	require.NoError(t, err)
	require.Equal(t, rules.ModeEnforce, c.Mode)
	require.InDelta(t, 3, c.Pace.EvictionRate, 0)
	require.Equal(t, Default().Health, c.Health, "what cannot be understood is left out")
	require.Empty(t, c.Instance, "where the caller's servers are is the caller's to say")
	c, err = Load(Sources{Set: []string{"mode=observe"}, Workers: told})
	require.NoError(t, err)
	require.Equal(t, rules.ModeObserve, c.Mode)
}

// A key that is new has to be on one side.
func TestEachKeyIsEitherPublishedOrOneProcessesOwn(t *testing.T) {
	own := []string{
		"instance", "taskQueue", "uiURL", "runbookURL", "kubernetes.", "karmada.hostKubeconfig", "externalProbe.", "controller.", "worker.", "listen.",
		"log.", "audit.", "temporal.", "encryption.", "codec.",
	}
	published := map[string]bool{}
	c := Default()
	for _, k := range c.keys() {
		private := slices.ContainsFunc(own, func(o string) bool { return k.Name == o || strings.HasSuffix(o, ".") && strings.HasPrefix(k.Name, o) })
		require.NotEqual(t, private, judges(k.Name), k.Name)
		for _, j := range judging {
			published[j] = published[j] || strings.HasPrefix(k.Name, j)
		}
	}
	require.ElementsMatch(t, judging, slices.Collect(maps.Keys(published)))
	require.NotContains(t, slices.Collect(maps.Values(published)), false)
}
