package config

import (
	"encoding/json"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// alone removes what the machine running the test has set.
func alone(t *testing.T) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, content, _ := strings.Cut(entry, "="); strings.HasPrefix(name, envPrefix) {
			t.Setenv(name, content) // restores it afterwards
			require.NoError(t, os.Unsetenv(name))
		}
	}
}

func load(t *testing.T, from Sources) Config {
	t.Helper()
	return fixtures.Must(Load(from))(t)
}

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lifeboat.yaml")
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

func TestNothingConfiguredIsTheDefault(t *testing.T) {
	alone(t)
	require.Equal(t, Default(), load(t, Sources{}))
}

// Rules: R4.15-1, R4.15-8.
func TestKarmada5899OnlyWhatIsNamedIsEnforced(t *testing.T) {
	alone(t)
	require.Equal(t, rules.ModeObserve, Default().Mode)
	require.Equal(t, rules.ModeObserve, Default().Acts())
	c := load(t, Sources{File: write(t, "modes:\n  enforce: [m1]\n  enforceSelector: tier=gold\n  observe: [m2]\n")})
	require.Equal(t, rules.ModeObserve, c.Mode)
	require.Equal(t, rules.ModeEnforce, c.Acts(), "the process must be able to act")
	for name, want := range map[string]rules.Mode{"m1": rules.ModeEnforce, "m2": rules.ModeObserve, "m3": rules.ModeObserve} {
		require.Equal(t, want, c.Modes.Of(karmada.Cluster{Name: name}, c.Mode), name)
	}
	gold := karmada.Cluster{Name: "m4", Labels: map[string]string{"tier": "gold"}}
	require.Equal(t, rules.ModeEnforce, c.Modes.Of(gold, c.Mode))
}

func TestEveryDefaultIsAllowed(t *testing.T) {
	c := Default()
	before := c.Tree()
	for _, k := range c.keys() {
		require.True(t, k.set(k.get()), "%s = %v, want %s", k.Name, k.get(), k.Want)
	}
	require.Equal(t, before, c.Tree())
	require.Empty(t, c.contradictions())
}

// What nobody has to choose is a constant, and printed only where it was changed.
func TestThereAreFewSettings(t *testing.T) {
	alone(t)
	defaults := Default()
	require.LessOrEqual(t, len(defaults.settings()), 55+3, "and those of application failover")
	require.NotContains(t, defaults.Tree(), "workflow")
	c := load(t, Sources{Set: []string{"workflow.relist=10s", "kubernetes.qps=200"}})
	require.Equal(t, map[string]any{"relist": "10s"}, c.Tree()["workflow"])
	require.Equal(t, 400, c.Kubernetes.Burst, "it follows from qps")
}

func TestThePrintedDefaultsReadBack(t *testing.T) {
	alone(t)
	var out strings.Builder
	require.NoError(t, Default().PrintYAML(&out))
	require.Equal(t, Default().Tree(), load(t, Sources{File: write(t, out.String())}).Tree())
}

func TestFlagBeatsEnvironmentBeatsFile(t *testing.T) {
	alone(t)
	t.Setenv("LIFEBOAT_PACE_EVICTION_RATE", "2")
	t.Setenv("LIFEBOAT_WINDOWS_IN_FLIGHT", "20")
	c := load(t, Sources{
		File: write(t, "pace: {evictionRate: 1, migrationsPerHour: 5}\nwindows: {inFlight: 10}\n"),
		Set:  []string{"windows.inFlight=30"},
	})
	require.Equal(t, 5, c.Pace.MigrationsPerHour)
	require.InDelta(t, 2, c.Pace.EvictionRate, 0)
	require.Equal(t, 30, c.Windows.InFlight)
}

func TestTheFileIsNamedByTheEnvironmentWhereNoFlagDoes(t *testing.T) {
	alone(t)
	t.Setenv(FileVariable, write(t, "instance: eu\n"))
	require.Equal(t, "eu", load(t, Sources{}).Instance)
}

// Workers of two instances on one queue would act on each other's Karmada.
func TestEachInstanceHasATaskQueueOfItsOwn(t *testing.T) {
	alone(t)
	for want, set := range map[string][]string{
		"lifeboat":    nil,
		"lifeboat-eu": {"instance=eu"},
		"said":        {"instance=eu", "taskQueue=said"},
	} {
		require.Equal(t, want, load(t, Sources{Set: set}).TaskQueue)
	}
}

// A commented-out value leaves its key behind. What is derived, or what the workers publish, is then in force.
func TestAKeyWithoutAValueIsNotConfigured(t *testing.T) {
	alone(t)
	c := load(t, Sources{
		File:    write(t, "instance: eu\ntaskQueue:\nkubernetes: {qps: 200, burst: null}\npace: {evictionRate: }\n"),
		Workers: map[string]string{"pace.evictionRate": "3"},
	})
	require.Equal(t, "lifeboat-eu", c.TaskQueue)
	require.Equal(t, 400, c.Kubernetes.Burst)
	require.InDelta(t, 3, c.Pace.EvictionRate, 0)
}

func TestListsComeFromFileAndEnvironment(t *testing.T) {
	alone(t)
	t.Setenv("LIFEBOAT_SELECTORS_EXCLUDE_NAMESPACES", "kube-system, tools")
	c := load(t, Sources{File: write(t, `
defaults:
  tolerations:
  - {key: cluster.karmada.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
`)})
	require.Equal(t, []corev1.Toleration{{
		Key: "cluster.karmada.io/not-ready", Operator: corev1.TolerationOpExists,
		Effect: corev1.TaintEffectNoExecute, TolerationSeconds: fixtures.Ptr(int64(300)),
	}}, c.Defaults.Tolerations)
	require.Equal(t, []string{"kube-system", "tools"}, c.ExcludeNamespaces)
}

func TestEveryProblemIsNamedAtOnce(t *testing.T) {
	alone(t)
	t.Setenv("LIFEBOAT_PACE_EVICTION_RATE", "fast")
	t.Setenv("LIFEBOAT_MOOD", "good")
	_, err := Load(Sources{
		File: write(t, `
mode: dry-run
pace: {evictonRate: 1, unhealthyThreshold: 1.5, migrationsPerHour: 0}
windows: 5
rules: {karmadaPolicies: perhaps, addOnMatch: -1s}
`),
		Set: []string{"windows.inflight=3", "health.minHealthy"},
	})
	var problems Problems
	require.ErrorAs(t, err, &problems)
	message := err.Error()
	fixtures.ContainsAll(t, message,
		`mode = "dry-run" (from `, `want observe or enforce`,
		`pace.evictonRate (from `,
		`pace.evictionRate = "fast" (from LIFEBOAT_PACE_EVICTION_RATE): want a number from 0 to 1000, or unlimited`,
		`pace.unhealthyThreshold = 1.5`, `want a number from 0.01 to 1`,
		`pace.migrationsPerHour = 0 (from `, `want a whole number from 1 to 1000`,
		`windows = 5`, `want a section`,
		`rules.karmadaPolicies = "perhaps" (from `, `rules.addOnMatch = "-1s" (from `,
		`LIFEBOAT_MOOD (from the environment): no key has this variable`,
		`windows.inflight (from the command line): unknown key, did you mean windows.inFlight?`,
		`health.minHealthy = "" (from the command line): want key=value`,
	)
	require.Len(t, problems, 11)
	require.NotContains(t, message, "good", "what has a mistyped name may be a secret")
}

func TestWhatIsRefused(t *testing.T) {
	for pair, want := range map[string]string{
		"pace.evictionRate=NaN":                          "want a number from 0 to 1000, or unlimited",
		"pace.evictionRate=-1":                           "want a number from 0 to 1000",
		"pace.unlimitedChunk=1.5":                        "want a whole number",
		"health.minHealthy=20m":                          "must be shorter than health.gracefulTimeout = 15m",
		"health.detection=1h":                            "must be shorter than health.gracefulTimeout = 15m",
		"defaults.purgeMode=Softly":                      "want Gracefully or Directly or Never",
		"defaults.tolerations=[{operator: Equal}]":       "want a list of {key",
		"defaults.tolerations=[{kee: a}]":                "want a list of {key",
		"defaults.tolerations=[{key: a, effect: Never}]": "want a list of {key",
		"modes.enforce=Member_1":                         "want a list of Kubernetes names",
		"modes.observeSelector=tier in":                  "want nothing, or a label selector",
		"selectors.excludeNamespaces=Kube_System":        "want a list of Kubernetes names",
		"listen.address=localhost":                       "want host:port",
		"listen.address=:99999":                          "want host:port",
		"instance=EU West":                               "want nothing, or up to 40",
		"uiURL=ui.example":                               "want nothing, or a URL",
		"log.level=loud":                                 "want debug or info or warn or error",
		"approval.clustersAbove=-1":                      "want a whole number from 0 to 1000000, or never",
		"approval.clustersAbove=some":                    "or never",
		"approval.replicasAbove=101":                     "want a number of percent from 0 to 100, or never",
		"approval.replicasAbove=NaN":                     "or never",
		"approval.capacityDeficit=maybe":                 "want true or false",
		"approval.namespaces=Shop_1":                     "want a list of Kubernetes names",
		"approval.selector=tier in":                      "want nothing, or a label selector",
		"kinds=Job.batch":                                "want a list of Kind.group=rule",
		"kinds=Job.batch=stay":                           "the rule is move, keep or ask",
		"audit.sink=file":                                "says where the trail is written",
		"approval.expireAfter=5s":                        "0 is for ever",
		"controller.leaderElection.enabled=yes":          "want true or false",
		"evictPlugins=":                                  "want a list of {name, taskQueue, activity",
		"evictPlugins=[]":                                "want a list of {name, taskQueue, activity",
		"evictPlugins=Wish":                              "want a list of {name, taskQueue, activity",
		"evictPlugins=[{name: dns, taskQueue: q}]":       "want a list of {name, taskQueue, activity",
		"evictPlugins=[{name: dns, taskQueue: q, activity: A, timeout: 2h}]": "want a list of {name, taskQueue, activity",
		"evictPlugins=[{name: dns, taskQueue: q, activity: A, timeout: 0s}]": "want a list of {name, taskQueue, activity",
		"evictPlugins=[{name: dns, taskQueue: q, activity: A, tiemout: 2s}]": "want a list of {name, taskQueue, activity",
		"evictPlugins=[ResourceHealth, ResourceHealth]":                      "want a list of {name, taskQueue, activity",
		"fencePlugins=ResourceHealth":                                        "want a list of {name, taskQueue, activity",
		"evictPlugins={name: dns}":                                           "want a list of {name, taskQueue, activity",
		"temporal.versioning.deployment=life.boat":                           "want nothing, or a name of up to 100 of A-Z, a-z, 0-9, - and _",
		"temporal.versioning.deployment=life:boat":                           "want nothing, or a name",
		"temporal.versioning.deployment=__lifeboat":                          "want nothing, or a name",
		"temporal.versioning.buildId=v1 beta":                                "want nothing, or up to 100 of",
		"temporal.versioning.buildId=v1":                                     "without temporal.versioning.deployment no build has a name: set that as well",
		"codec.address=:8234":                                                "codec.address",
		"codec.address=-":                                                    "codec.address",
		"listen.tlsCertFile=c":                                               "listen.tls",
		"listen.tlsKeyFile=k":                                                "listen.tls",
		"listen.tlsClientCaFile=a":                                           "listen.tls",
		"codec.origins=*":                                                    "codec.origins",
		"codec.origins=null":                                                 "codec.origins",
		"codec.origins=ui.example.com":                                       "codec.origins",
		"codec.origins=https://ui.example.com/":                              "codec.origins",
		"codec.origins=https://u:p@ui.example.com":                           "codec.origins",
		"codec.origins=file:///ui":                                           "codec.origins",
	} {
		t.Run(pair, func(t *testing.T) {
			alone(t)
			require.ErrorContains(t, fixtures.Err(Load(Sources{Set: []string{pair}})), want)
		})
	}
}

// The controller alone would find these, when it first tries to lead.
func TestTimingsThatTheLeaderElectionRefusesAreProblems(t *testing.T) {
	const section = "controller.leaderElection."
	timings := func(lease, renew, retry string) []string {
		return []string{section + "leaseDuration=" + lease, section + "renewDeadline=" + renew, section + "retryPeriod=" + retry}
	}
	for name, c := range map[string]struct {
		set  []string
		want string
	}{
		"deadline as long as the lease": {
			set:  timings("10s", "10s", "2s"),
			want: section + "renewDeadline = 10s (from the command line): must be shorter than " + section + "leaseDuration = 10s",
		},
		"deadline of a default": {
			set: []string{section + "leaseDuration=5s"}, want: section + "renewDeadline = 10s: must be shorter than " + section + "leaseDuration = 5s",
		},
		"no try before the deadline": {
			set:  timings("20s", "12s", "10s"),
			want: section + "retryPeriod = 10s (from the command line): 1.2 times it must be shorter than " + section + "renewDeadline = 12s",
		},
		"just enough":        {set: timings("12002ms", "12001ms", "10s")},
		"no leader election": {set: append(timings("5s", "10s", "10s"), section+"enabled=false")},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t)
			_, err := Load(Sources{Set: c.set})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// printed is a configuration as lifeboat config print -o json has it.
func printed(t *testing.T, c Config) string {
	t.Helper()
	return string(fixtures.Must(json.Marshal(c.Tree()))(t))
}

// Rules: R4.6-21.
func TestApprovalRulesAreReadPrintedAndHeldAgainstTheRest(t *testing.T) {
	alone(t)
	require.Equal(t, queue.ApprovalRules{}, Default().Approval.ApprovalRules, "nobody is asked by default")
	file := write(t, "approval:\n  clustersAbove: 2\n  replicasAbove: 33.5\n  capacityDeficit: true\n  purgeDirectly: true\n  namespaces: [bank]\n  selector: tier=gold\n  expireAfter: 0\n")
	c := load(t, Sources{File: file})
	clusters, share := 2, 33.5
	require.Equal(t, Approval{ApprovalRules: queue.ApprovalRules{
		ClustersAbove: &clusters, ReplicasAbove: &share, CapacityDeficit: true, Directly: true, Namespaces: []string{"bank"}, Selector: "tier=gold",
	}}, c.Approval)
	require.Contains(t, printed(t, c), `"clustersAbove":2`)
	require.Contains(t, printed(t, c), `"replicasAbove":33.5`)
	c = load(t, Sources{File: file, Set: []string{"approval.clustersAbove=never"}})
	require.Nil(t, c.Approval.ClustersAbove)
	_, err := Load(Sources{File: file, Set: []string{"selectors.excludeNamespaces=bank"}})
	require.ErrorContains(t, err, "it is never moved, so no approval is ever needed")
}

// Rules: R4.6-45.
func TestLoad_Kinds_AreReadAndPrinted(t *testing.T) {
	alone(t)
	for name, from := range map[string]Sources{
		"file": {File: write(t, "kinds: [Job.batch=move, Service=ask]\n")},
		"set":  {Set: []string{"kinds=Job.batch=move,Service=ask"}},
	} {
		c := load(t, from)
		require.Equal(t, rules.KindRules{"Job.batch": rules.KindMove, "Service": rules.KindAsk}, c.Kinds, name)
		require.Contains(t, printed(t, c), `"Job.batch=move"`)
	}
}

func TestAnUnlimitedRateIsAllowedAndPrinted(t *testing.T) {
	alone(t)
	c := load(t, Sources{Set: []string{"pace.evictionRate=unlimited"}})
	require.True(t, c.Pace.Unlimited)
	require.Contains(t, printed(t, c), `"evictionRate":"unlimited"`)
}

func TestAFileThatIsNoYAMLOrRepeatsAKeyIsRefused(t *testing.T) {
	alone(t)
	for _, content := range []string{"mode: [", "mode: observe\nmode: enforce\n", "- a list\n"} {
		require.ErrorContains(t, fixtures.Err(Load(Sources{File: write(t, content)})), "read configuration", content)
	}
	require.ErrorContains(t, fixtures.Err(Load(Sources{File: filepath.Join(t.TempDir(), "absent.yaml")})), "read configuration")
}

func TestVariablesOfAKubernetesServiceAreNotLifeboats(t *testing.T) {
	alone(t)
	t.Setenv("LIFEBOAT_WORKER_SERVICE_HOST", "10.0.0.1")
	t.Setenv("LIFEBOAT_WORKER_PORT_9090_TCP_ADDR", "10.0.0.1")
	load(t, Sources{})
}

func TestTheVariableOfAKey(t *testing.T) {
	require.Equal(t, "LIFEBOAT_PACE_EVICTION_RATE", variable("pace.evictionRate"))
	require.Equal(t, "LIFEBOAT_UI_URL", variable("uiURL"))
	require.Equal(t, "LIFEBOAT_KUBERNETES_QPS", variable("kubernetes.qps"))
}

func TestTheOperatorIsNamedWithTheMachine(t *testing.T) {
	t.Setenv("USER", "ada")
	require.Equal(t, "ada@"+Host(), Operator())
}

func TestNothingIsServedBeyondThisMachineUnlessItIsSaid(t *testing.T) {
	for _, at := range []string{Default().Listen.Address, Default().Codec.Address} {
		host, _, err := net.SplitHostPort(at)
		require.NoError(t, err)
		require.True(t, net.ParseIP(host).IsLoopback(), at)
	}
}

func TestAnOriginIsWhatABrowserSaysAndNoMore(t *testing.T) {
	c := load(t, Sources{Set: []string{"codec.origins=https://ui.example.com,http://127.0.0.1:8233"}})
	require.Equal(t, []string{"https://ui.example.com", "http://127.0.0.1:8233"}, c.Codec.Origins)
}

func TestACertificateAndItsKeyNeedEachOther(t *testing.T) {
	load(t, Sources{Set: []string{"listen.tlsCertFile=c", "listen.tlsKeyFile=k", "listen.tlsClientCaFile=a"}})
}

// With no key nothing is encrypted: a process that refused the rest could do nothing.
func TestWhatIsNotEncryptedIsRefusedOnlyWhereSomethingIs(t *testing.T) {
	alone(t)
	require.False(t, Default().Encryption.RefuseClear)
	require.ErrorContains(t, fixtures.Err(Load(Sources{Set: []string{"encryption.refuseClear=true"}})), "encryption.keyFile")
	t.Setenv("LIFEBOAT_ENCRYPTION_REFUSE_CLEAR", "true")
	require.True(t, load(t, Sources{Set: []string{"encryption.keyFile=keys"}}).Encryption.RefuseClear)
}

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
	worker := load(t, Sources{File: write(t, everyKind)})
	told := worker.InForce()
	for _, private := range []string{"instance", "kubernetes.kubeconfig", "log.level"} {
		require.NotContains(t, told, private)
	}
	require.NotContains(t, told, "pace.migrationsPerHour", "the default is not told")
	caller := load(t, Sources{Workers: told})
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
	c := load(t, Sources{File: write(t, "pace: {evictionRate: 3}\n"), Workers: told})
	require.Equal(t, rules.ModeEnforce, c.Mode)
	require.InDelta(t, 3, c.Pace.EvictionRate, 0)
	require.Equal(t, Default().Health, c.Health, "what cannot be understood is left out")
	require.Empty(t, c.Instance, "where the caller's servers are is the caller's to say")
	c = load(t, Sources{Set: []string{"mode=observe"}, Workers: told})
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

func TestPluginsAreReadAndPrinted(t *testing.T) {
	alone(t)
	file := write(t, `
evictPlugins:
- ResourceHealth
- name: dns
  taskQueue: ops-checks
  activity: CheckDNS
  timeout: 10s
evictPluginsMode: all
fencePlugins:
- {name: bmc, taskQueue: ops-checks, activity: PoweredOff}
`)
	c := load(t, Sources{File: file})
	require.Equal(t, proof.Plugins{Mode: proof.PluginsAll, List: []proof.Plugin{
		{Name: "ResourceHealth"}, {Name: "dns", TaskQueue: "ops-checks", Activity: "CheckDNS", Timeout: 10 * time.Second},
	}}, c.EvictPlugins)
	require.Equal(t, proof.PluginTimeout, c.FencePlugins[0].Timeout)

	var printed strings.Builder
	require.NoError(t, c.PrintYAML(&printed))
	again := load(t, Sources{File: write(t, printed.String())})
	require.Equal(t, c.EvictPlugins, again.EvictPlugins, "what is printed can be read")
	require.Equal(t, c.FencePlugins, again.FencePlugins)
}

func TestABuildOfADeploymentIsRead(t *testing.T) {
	alone(t)
	require.Equal(t, Versioning{}, Default().Temporal.Versioning, "off by default")
	t.Setenv("LIFEBOAT_TEMPORAL_VERSIONING_BUILD_ID", "v0.2.0-3-gabc+dirty")
	c := load(t, Sources{File: write(t, "temporal: {versioning: {deployment: lifeboat}}\n")})
	require.Equal(t, Versioning{Deployment: "lifeboat", BuildID: "v0.2.0-3-gabc+dirty"}, c.Temporal.Versioning)
}

// FuzzConfig: whatever a file says, it is a whole configuration that can be printed and
// read back, or an error.
func FuzzConfig(f *testing.F) {
	var defaults strings.Builder
	require.NoError(f, Default().PrintYAML(&defaults))
	for _, content := range []string{defaults.String(), "", "a: [", "mode: enforce\n", "pace:\n  evictionRate: 1/s\n", "modes:\n  enforce: m1\n", "- x", "1: {2: 3}"} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content string) {
		file := filepath.Join(t.TempDir(), "lifeboat.yaml")
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		c, err := Load(Sources{File: file})
		if err != nil {
			return
		}
		var printed strings.Builder
		require.NoError(t, c.PrintYAML(&printed))
		again, err := Load(Sources{File: write(t, printed.String())})
		require.NoError(t, err, printed.String())
		require.Equal(t, c.Tree(), again.Tree())
	})
}

func TestDefaultOf_AKeyOrNone(t *testing.T) {
	require.Equal(t, "info", DefaultOf("log.level"))
	require.Equal(t, Default().Codec.Address, DefaultOf("codec.address"))
	require.Empty(t, DefaultOf("instance"))
	require.Empty(t, DefaultOf("no.such.key"))
}
