package config

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
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

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lifeboat.yaml")
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

func TestNothingConfiguredIsTheDefault(t *testing.T) {
	alone(t)
	c, err := Load(Sources{})
	require.NoError(t, err)
	require.Equal(t, Default(), c)
}

// Rules: R4.15-1, R4.15-8.
func TestKarmada5899OnlyWhatIsNamedIsEnforced(t *testing.T) {
	alone(t)
	require.Equal(t, rules.ModeObserve, Default().Mode)
	require.Equal(t, rules.ModeObserve, Default().Acts())
	c, err := Load(Sources{File: write(t, "modes:\n  enforce: [m1]\n  enforceSelector: tier=gold\n  observe: [m2]\n")})
	require.NoError(t, err)
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
	require.LessOrEqual(t, len(defaults.settings()), 55)
	require.NotContains(t, defaults.Tree(), "workflow")
	c, err := Load(Sources{Set: []string{"workflow.relist=10s", "kubernetes.qps=200"}})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"relist": "10s"}, c.Tree()["workflow"])
	require.Equal(t, 400, c.Kubernetes.Burst, "it follows from qps")
}

func TestThePrintedDefaultsReadBack(t *testing.T) {
	alone(t)
	var out strings.Builder
	require.NoError(t, Default().PrintYAML(&out))
	c, err := Load(Sources{File: write(t, out.String())})
	require.NoError(t, err)
	require.Equal(t, Default().Tree(), c.Tree())
}

func TestFlagBeatsEnvironmentBeatsFile(t *testing.T) {
	alone(t)
	t.Setenv("LIFEBOAT_PACE_EVICTION_RATE", "2")
	t.Setenv("LIFEBOAT_WINDOWS_IN_FLIGHT", "20")
	c, err := Load(Sources{
		File: write(t, "pace: {evictionRate: 1, movesPerHour: 5}\nwindows: {inFlight: 10}\n"),
		Set:  []string{"windows.inFlight=30"},
	})
	require.NoError(t, err)
	require.Equal(t, 5, c.Pace.MovesPerHour)
	require.InDelta(t, 2, c.Pace.EvictionRate, 0)
	require.Equal(t, 30, c.Windows.InFlight)
}

func TestTheFileIsNamedByTheEnvironmentWhereNoFlagDoes(t *testing.T) {
	alone(t)
	t.Setenv(FileVariable, write(t, "instance: eu\n"))
	c, err := Load(Sources{})
	require.NoError(t, err)
	require.Equal(t, "eu", c.Instance)
}

// Workers of two instances on one queue would act on each other's Karmada.
func TestEachInstanceHasATaskQueueOfItsOwn(t *testing.T) {
	alone(t)
	for want, set := range map[string][]string{
		"lifeboat":    nil,
		"lifeboat-eu": {"instance=eu"},
		"said":        {"instance=eu", "taskQueue=said"},
	} {
		c, err := Load(Sources{Set: set})
		require.NoError(t, err)
		require.Equal(t, want, c.TaskQueue)
	}
}

func TestListsComeFromFileAndEnvironment(t *testing.T) {
	alone(t)
	t.Setenv("LIFEBOAT_SELECTORS_EXCLUDE_NAMESPACES", "kube-system, tools")
	c, err := Load(Sources{File: write(t, `
defaults:
  tolerations:
  - {key: cluster.karmada.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
`)})
	require.NoError(t, err)
	seconds := int64(300)
	require.Equal(t, []corev1.Toleration{{
		Key: "cluster.karmada.io/not-ready", Operator: corev1.TolerationOpExists,
		Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
	}}, c.Defaults.Tolerations)
	require.Equal(t, []string{"kube-system", "tools"}, c.Selectors.ExcludeNamespaces)
}

func TestEveryProblemIsNamedAtOnce(t *testing.T) {
	alone(t)
	t.Setenv("LIFEBOAT_PACE_EVICTION_RATE", "fast")
	t.Setenv("LIFEBOAT_MOOD", "good")
	_, err := Load(Sources{
		File: write(t, `
mode: dry-run
pace: {evictonRate: 1, unhealthyThreshold: 1.5, movesPerHour: 0}
windows: 5
rules: {karmadaPolicies: perhaps, addOnMatch: -1s}
`),
		Set: []string{"windows.inflight=3", "health.minHealthy"},
	})
	var problems Problems
	require.ErrorAs(t, err, &problems)
	message := err.Error()
	for _, want := range []string{
		`mode = "dry-run" (from `, `want observe or enforce`,
		`pace.evictonRate (from `,
		`pace.evictionRate = "fast" (from LIFEBOAT_PACE_EVICTION_RATE): want a number from 0 to 1000, or unlimited`,
		`pace.unhealthyThreshold = 1.5`, `want a number from 0.01 to 1`,
		`pace.movesPerHour = 0 (from `, `want a whole number from 1 to 1000`,
		`windows = 5`, `want a section`,
		`rules.karmadaPolicies = "perhaps" (from `, `rules.addOnMatch = "-1s" (from `,
		`LIFEBOAT_MOOD (from the environment): no key has this variable`,
		`windows.inflight (from the command line): unknown key, did you mean windows.inFlight?`,
		`health.minHealthy = "" (from the command line): want key=value`,
	} {
		require.Contains(t, message, want)
	}
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
	} {
		t.Run(pair, func(t *testing.T) {
			alone(t)
			_, err := Load(Sources{Set: []string{pair}})
			require.ErrorContains(t, err, want)
		})
	}
}

// Rules: R4.6-21.
func TestApprovalRulesAreReadPrintedAndHeldAgainstTheRest(t *testing.T) {
	alone(t)
	require.Equal(t, queue.ApprovalRules{}, Default().Approval.ApprovalRules, "nobody is asked by default")
	file := write(t, "approval:\n  clustersAbove: 2\n  replicasAbove: 33.5\n  capacityDeficit: true\n  purgeDirectly: true\n  namespaces: [bank]\n  selector: tier=gold\n  expireAfter: 0\n")
	c, err := Load(Sources{File: file})
	require.NoError(t, err)
	clusters, share := 2, 33.5
	require.Equal(t, Approval{ApprovalRules: queue.ApprovalRules{
		ClustersAbove: &clusters, ReplicasAbove: &share, CapacityDeficit: true, Directly: true, Namespaces: []string{"bank"}, Selector: "tier=gold",
	}}, c.Approval)
	var out strings.Builder
	require.NoError(t, c.PrintJSON(&out))
	require.Contains(t, out.String(), `"clustersAbove": 2`)
	require.Contains(t, out.String(), `"replicasAbove": 33.5`)
	c, err = Load(Sources{File: file, Set: []string{"approval.clustersAbove=never"}})
	require.NoError(t, err)
	require.Nil(t, c.Approval.ClustersAbove)
	_, err = Load(Sources{File: file, Set: []string{"selectors.excludeNamespaces=bank"}})
	require.ErrorContains(t, err, "it is never moved, so no approval is ever needed")
}

// Rules: R4.6-45.
func TestLoad_Kinds_AreReadAndPrinted(t *testing.T) {
	alone(t)
	for name, from := range map[string]Sources{
		"file": {File: write(t, "kinds: [Job.batch=move, Service=ask]\n")},
		"set":  {Set: []string{"kinds=Job.batch=move,Service=ask"}},
	} {
		c, err := Load(from)
		require.NoError(t, err, name)
		require.Equal(t, rules.KindRules{"Job.batch": rules.KindMove, "Service": rules.KindAsk}, c.Kinds, name)
		var out strings.Builder
		require.NoError(t, c.PrintJSON(&out))
		require.Contains(t, out.String(), `"Job.batch=move"`)
	}
}

func TestAnUnlimitedRateIsAllowedAndPrinted(t *testing.T) {
	alone(t)
	c, err := Load(Sources{Set: []string{"pace.evictionRate=unlimited"}})
	require.NoError(t, err)
	require.True(t, c.Pace.Unlimited)
	var out strings.Builder
	require.NoError(t, c.PrintJSON(&out))
	require.Contains(t, out.String(), `"evictionRate": "unlimited"`)
}

func TestAFileThatIsNoYAMLOrRepeatsAKeyIsRefused(t *testing.T) {
	alone(t)
	for _, content := range []string{"mode: [", "mode: observe\nmode: enforce\n", "- a list\n"} {
		_, err := Load(Sources{File: write(t, content)})
		require.ErrorContains(t, err, "read configuration", content)
	}
	_, err := Load(Sources{File: filepath.Join(t.TempDir(), "absent.yaml")})
	require.ErrorContains(t, err, "read configuration")
}

func TestVariablesOfAKubernetesServiceAreNotOurs(t *testing.T) {
	alone(t)
	t.Setenv("LIFEBOAT_WORKER_SERVICE_HOST", "10.0.0.1")
	t.Setenv("LIFEBOAT_WORKER_PORT_9090_TCP_ADDR", "10.0.0.1")
	_, err := Load(Sources{})
	require.NoError(t, err)
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
	for _, everywhere := range []string{":8234", "-"} {
		_, err := Load(Sources{Set: []string{"codec.address=" + everywhere}})
		require.ErrorContains(t, err, "codec.address")
	}
}

func TestAnOriginIsWhatABrowserSaysAndNoMore(t *testing.T) {
	c, err := Load(Sources{Set: []string{"codec.origins=https://ui.example.com,http://127.0.0.1:8233"}})
	require.NoError(t, err)
	require.Equal(t, []string{"https://ui.example.com", "http://127.0.0.1:8233"}, c.Codec.Origins)
	for _, wrong := range []string{"*", "null", "ui.example.com", "https://ui.example.com/", "https://u:p@ui.example.com", "file:///ui"} {
		_, err := Load(Sources{Set: []string{"codec.origins=" + wrong}})
		require.ErrorContains(t, err, "codec.origins", wrong)
	}
}

func TestACertificateAndItsKeyNeedEachOther(t *testing.T) {
	for _, wrong := range [][]string{{"listen.tlsCertFile=c"}, {"listen.tlsKeyFile=k"}, {"listen.tlsClientCaFile=a"}} {
		_, err := Load(Sources{Set: wrong})
		require.ErrorContains(t, err, "listen.tls", wrong)
	}
	_, err := Load(Sources{Set: []string{"listen.tlsCertFile=c", "listen.tlsKeyFile=k", "listen.tlsClientCaFile=a"}})
	require.NoError(t, err)
}

// With no key nothing is encrypted: a process that refused the rest could do nothing.
func TestWhatIsNotEncryptedIsRefusedOnlyWhereSomethingIs(t *testing.T) {
	alone(t)
	require.False(t, Default().Encryption.RefuseClear)
	_, err := Load(Sources{Set: []string{"encryption.refuseClear=true"}})
	require.ErrorContains(t, err, "encryption.keyFile")
	t.Setenv("LIFEBOAT_ENCRYPTION_REFUSE_CLEAR", "true")
	c, err := Load(Sources{Set: []string{"encryption.keyFile=keys"}})
	require.NoError(t, err)
	require.True(t, c.Encryption.RefuseClear)
}
