package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/controller/orders"
	"github.com/lifeboat-failover/lifeboat/controller/preflight"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/controller/subject"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// execute runs a command line of an app, which ends with this exit code, and returns what it printed, with the error.
func execute(t *testing.T, a *app, want int, args ...string) string {
	t.Helper()
	var written strings.Builder
	cmd := a.command("lifeboat")
	cmd.SetOut(&written)
	cmd.SetErr(&written)
	cmd.SetIn(strings.NewReader(""))
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	if err != nil {
		written.WriteString(err.Error())
	}
	require.Equal(t, want, exitCode(err), "%s: %s", args, written.String())
	return written.String()
}

// run runs a command line of the program as it is.
func run(t *testing.T, want int, args ...string) string {
	t.Helper()
	return execute(t, newApp(), want, args...)
}

// fakeApp has a fake Temporal and a fake Karmada; a nil Temporal is away, and so is a nil Karmada.
func fakeApp(temporal client.Client, in activities.Reader) *app {
	a := newApp()
	a.dial = func(context.Context, process.TemporalOptions) (*process.Temporal, error) {
		if temporal == nil {
			return nil, errors.New("no route")
		}
		return &process.Temporal{Client: temporal, Options: client.Options{Namespace: "lifeboat"}}, nil
	}
	a.karmada = func(config.Config, *slog.Logger) (activities.Reader, error) {
		if in == nil {
			return nil, karmada.ErrUnreachable
		}
		return in, nil
	}
	return a
}

func TestWrongUsage_ExitsWithTwoAndNamesWhatIsWanted(t *testing.T) {
	for line, want := range map[string]string{
		"pause":                                   "want <cluster>|<binding>|fleet",
		"pause member1":                           "--reason",
		"resume member1 --reason  ":               "unexpected",
		"cancel fleet --reason x":                 "name of a cluster",
		"drain":                                   "want <cluster>",
		"drain member1":                           "--reason",
		"drain fleet --reason x":                  "name of a cluster",
		"drain a --reason x --rate -1":            "rate -1",
		"drain a --reason x --selector a=(":       "selector",
		"drain a --reason x --timeout 1s":         "--timeout needs --wait",
		"drain a --reason x --wait --timeout=-5m": "--timeout = -5m0s: want 0 or more",
		"help statsu":                             `unexpected argument "statsu"; did you mean status?`,
		"plan member1 -n shop":                    "--namespace is for a workload",
		"plan --all -n shop":                      "--namespace is for a workload",
		"history member1 -n shop":                 "--namespace is for a workload",
		"drain a --reason x -o xml":               "want one of [table json yaml]",
		"undrain a":                               "--reason",
		"taint a b --reason x":                    "is no taint",
		"taint a b:NoSchedule --reason x":         "karmadactl taint",
		"taint a b c:NoExecute --reason x":        "want <cluster> and",
		"taint fleet a:NoExecute --reason x":      "name of a cluster",
		"taint a failover.lifeboat.dev/drain:NoExecute --reason x": "is reserved",
		"untaint a b:NoExecute c":                                  "want <cluster> and",
		"status a b":                                               "at most one cluster",
		"plan":                                                     "want <cluster>, <binding>, or --all",
		"plan a --all":                                             "want a cluster, a binding, or --all",
		"explain":                                                  "want <binding>",
		"taint a":                                                  "want <cluster> and",
		"taint a b:NoExecute --end":                                "--end",
		"taint a b- --reason x":                                    "is no taint",
		"drain a --end --wait --reason x":                          "not for its end",
		"rate fleet 0 --reason x":                                  "lifeboat pause fleet",
		"rate 0 --reason x":                                        "lifeboat pause fleet",
		"rate member1 2 --reason x":                                "want fleet <per-second>",
		"rate -- -1":                                               "above 0",
		"explain cart":                                             "want <namespace>/<binding>",
		"history a b":                                              "at most one cluster",
		"history a/b/c":                                            "want <namespace>/<binding>",
		"history --limit 0":                                        "want 1 or more",
		"status -o xml":                                            "want one of [table json yaml]",
		"config print -o table":                                    "want one of [yaml json]",
		"setup --retention 1h":                                     "want 24h or more",
		"controller --mode maybe":                                  "want observe or enforce",
		"fly":                                                      `unexpected argument "fly"`,
		"statsu":                                                   `unexpected argument "statsu"; did you mean status?`,
		"version --nonsense":                                       "unknown flag",
		"config print --set windows.waiting=0":                     "want a whole number from 1 to 1500",
	} {
		t.Run(line, func(t *testing.T) {
			out := run(t, process.ExitUsage, strings.Fields(line)...)
			if want != "unexpected" {
				require.Contains(t, out, want)
			}
		})
	}
}

// Scripts with a former verb still work; no help lists it.
func TestFormerVerbsWork_NoHelpListsThem(t *testing.T) {
	now := map[string]string{
		"skip": "cancel", "undrain": "drain", "untaint": "taint",
	}
	for before, verb := range now {
		found, _, err := newApp().command("lifeboat").Find([]string{before})
		require.NoError(t, err)
		require.Equal(t, verb, found.Name())
		for _, line := range []string{"--help", verb + " --help"} {
			help := run(t, process.ExitOK, strings.Fields(line)...)
			require.NotRegexp(t, `(?m)^ +(`+verb+`, )?`+before+`\b`, help)
		}
	}
}

func TestThereAreFewVerbs_EachInAGroupOfTheHelp(t *testing.T) {
	var names []string
	for _, c := range newApp().command("lifeboat").Commands() {
		require.NotEmpty(t, c.GroupID, c.Name())
		if !slices.Contains([]string{"version", "help", "completion"}, c.Name()) {
			names = append(names, c.Name())
		}
	}
	require.LessOrEqual(t, len(names), 22, names)
	help := run(t, process.ExitOK, "--help")
	require.Regexp(t, `(?s)Inspect.*Act on a failover.*Act on a workload.*Fleet.*Setup`, help)
	require.NotContains(t, help, "Additional Commands")
}

func TestEachKindOfFailureHasItsExitCode(t *testing.T) {
	for code, err := range map[int]error{
		process.ExitOK:       nil,
		process.ExitFailed:   fmt.Errorf("other"),
		process.ExitUsage:    config.Problems{{Key: "mode"}},
		process.ExitNotFound: fmt.Errorf("pause: %w", orders.ErrNotFound),
		process.ExitRefused:  fmt.Errorf("pause: %w", orders.ErrRefused),
	} {
		require.Equal(t, code, exitCode(err), err)
	}
	require.Equal(t, process.ExitNotFound, exitCode(status.ErrNotFound))
	require.Equal(t, process.ExitNotFound, exitCode(fmt.Errorf("%w: %w", subject.ErrNotFound, subject.ErrMalformed)))
	require.Equal(t, process.ExitUsage, exitCode(subject.ErrMalformed))
}

func TestTheConfigurationInEffectIsPrinted(t *testing.T) {
	out := run(t, process.ExitOK, "config", "print", "--instance", "eu")
	require.Contains(t, out, "instance: eu\n")
	out = run(t, process.ExitOK, "config", "print", "--instance", "eu", "--defaults", "-o", "json")
	require.Contains(t, out, `"instance": ""`)
}

func TestWithoutAVerbTheHelpIsShown(t *testing.T) {
	for _, line := range []string{"", "help", "help status", "help config print"} {
		out := run(t, process.ExitOK, strings.Fields(line)...)
		require.Contains(t, out, "Usage:")
	}
	out := run(t, process.ExitOK)
	require.Contains(t, out, "Exit codes")
	out = run(t, process.ExitOK, "version")
	require.Contains(t, out, "lifeboat ")
	out = run(t, process.ExitOK, "version", "-o", "json")
	require.Contains(t, out, `"version": `)
}

func TestTheLeaseIsNamedAfterTheInstance(t *testing.T) {
	require.Equal(t, "lifeboat-controller", process.LeaseName(""))
	require.Equal(t, "lifeboat-controller-eu", process.LeaseName("eu"))
}

// Rules: R4.15-24.
func TestPreflight_ExitCodes(t *testing.T) {
	for result, want := range map[preflight.Result]int{
		preflight.OK: process.ExitOK, preflight.Warning: process.ExitOK, preflight.Failed: process.ExitRefused, preflight.Unknown: process.ExitFailed,
	} {
		for _, name := range []string{show.Table, show.JSON} {
			form := show.NewForm()
			require.NoError(t, form.Set(name))
			cmd := command()
			var out bytes.Buffer
			cmd.SetOut(&out)
			checks := []preflight.Check{{Name: "A thing", Result: result, Found: "something", Do: "this\nand that"}}
			require.Equal(t, want, exitCode(printChecks(cmd, form, checks, checks)), "%s", result)
			fixtures.ContainsAll(t, out.String(), "A thing", "and that")
		}
	}
}

// fleet is a Karmada of two clusters and two bindings.
type fleet struct{ activities.Reader }

func (fleet) Clusters(context.Context) ([]karmada.Cluster, error) {
	return []karmada.Cluster{{Name: "member2"}, {Name: "member1"}}, nil
}

func (fleet) Bindings(context.Context, activities.Page) (activities.BindingPage, error) {
	one := func(name string) karmada.Binding {
		return karmada.Binding{
			Key:      karmada.BindingKey{Namespace: "shop", Name: name + "-deployment"},
			Resource: karmada.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name},
		}
	}
	return activities.BindingPage{Bindings: []karmada.Binding{one("till"), one("cart")}}, nil
}

// complete is what the shell is offered for a line.
func complete(t *testing.T, a *app, args ...string) []string {
	t.Helper()
	var out strings.Builder
	cmd := a.command("lifeboat")
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	cmd.SetArgs(append([]string{cobra.ShellCompRequestCmd}, args...))
	require.NoError(t, cmd.ExecuteContext(t.Context()))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return lines[:len(lines)-1] // the last is an instruction
}

func TestNamesAreCompletedFromTheLiveFleet(t *testing.T) {
	a := fakeApp(nil, fleet{})
	require.Equal(t, []string{"fleet", "member1", "member2"}, complete(t, a, "pause", ""))
	require.Equal(t, []string{"member1", "member2"}, complete(t, a, "status", "mem"))
	require.Empty(t, complete(t, a, "status", "member1", ""))
	require.Equal(t, []string{"table", "json", "yaml"}, complete(t, a, "status", "-o", ""))
	require.Empty(t, complete(t, fakeApp(nil, nil), "status", ""), "without Karmada nothing is offered")
}

func TestKubectlPlugin_UsesKubectlsName(t *testing.T) {
	for binary, want := range map[string]string{
		"/usr/bin/kubectl-lifeboat": "kubectl lifeboat status", "kubectl-lifeboat.exe": "kubectl lifeboat status", "./lifeboat": "lifeboat status",
	} {
		status, _, err := newApp().command(binary).Find([]string{"status"})
		require.NoError(t, err)
		require.Equal(t, want, status.CommandPath())
	}
}

func TestAPlanNeedsKarmadaAlone(t *testing.T) {
	w := world.New(time.Now)
	w.AddCluster("member1")
	a := fakeApp(nil, w)
	for line, want := range map[string]string{
		"plan member1":         "member1, if it failed now",
		"plan --all":           "member1",
		"plan member1 -o json": `"cluster": "member1"`,
		"plan --all -o yaml":   "- at: ",
	} {
		out := execute(t, a, process.ExitOK, strings.Fields(line)...)
		require.Contains(t, out, want, line)
		require.Contains(t, out, "no route", "the plan names what it could not read")
	}
	for _, line := range []string{"plan member9", "explain shop/none"} {
		execute(t, a, process.ExitNotFound, strings.Fields(line)...)
	}
}

// Two containers on one host's network may have the same host name and process id; with the same identity
// both would hold the Lease.
func TestIdentity_DiffersBetweenControllers(t *testing.T) {
	one, other := identity(), identity()
	require.NotEqual(t, one, other)
	require.Contains(t, one, fmt.Sprintf("%s_%d_", config.Host(), os.Getpid()), "readable")
}

// A preflight that passes and a worker that then does not start would contradict each other.
//
// Rules: R4.15-24.
func TestPreflight_RoleWorker_ChecksWhatAWorkerThatStartsChecks(t *testing.T) {
	c := config.Default()
	c.Mode, c.Health.Probe = rules.ModeEnforce, config.ProbeProxy
	require.Equal(t, process.WorkerPermissions(c), permissionsOf(c, roleWorker))
	require.Subset(t, permissionsOf(c, roleAll), k8sadapter.ProxyPermissions(rules.ModeEnforce))
}

// What a role is not granted in deploy/rbac is not tried for it.
func TestPreflightFull_TriesWhatTheRoleIsGranted(t *testing.T) {
	c := config.Default()
	require.Nil(t, tries(c, roleAll), "an operator may read more than either process")
	const clusters, policies, karmadas = "clusters.cluster.karmada.io", "propagationpolicies.policy.karmada.io", "clustertaintpolicies.policy.karmada.io"
	const bindings, works = "resourcebindings.work.karmada.io", "works.work.karmada.io"
	worker, controller := tries(c, roleWorker), tries(c, roleController)
	for _, resource := range []string{clusters, bindings, karmadas} {
		require.True(t, worker("list", resource), resource)
		require.Equal(t, resource == bindings, worker("watch", resource), resource)
		require.True(t, controller("list", resource), resource)
		require.True(t, controller("watch", resource), resource)
	}
	require.True(t, worker("list", works))
	require.False(t, controller("list", works))
	require.False(t, worker("list", policies), "it gets them, one by one")
	require.False(t, controller("list", policies))
}

// underWorkers is a command line where workers publish a configuration, nil for none.
func underWorkers(t *testing.T, inForce map[string]string, line string) string {
	t.Helper()
	w := world.New(time.Now)
	w.AddCluster("member1")
	w.AddCluster("member2")
	w.AddBinding(karmada.Binding{
		Key: karmada.BindingKey{Namespace: "shop", Name: "cart"}, Replicas: 1, SchedulerName: karmada.DefaultSchedulerName,
		Resource: karmada.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "cart"},
		Clusters: []karmada.TargetCluster{{Name: "member1", Replicas: 1}}, Placement: &karmada.Placement{},
	})
	a := fakeApp(&office{t: t, pacer: &workflows.PacerStatus{PacerState: workflows.PacerState{InForce: inForce}}}, w)
	a.karmada = func(c config.Config, _ *slog.Logger) (activities.Reader, error) {
		require.Equal(t, inForce["rules.karmadaPolicies"] != "false", c.Rules.KarmadaPolicies)
		return w, nil
	}
	out := execute(t, a, process.ExitOK, strings.Fields(line)...)
	return out
}

// Seen: explain printed "observe mode" for a fleet in enforce to a caller without a configuration.
//
// Rules: R4.15-32.
func TestPlanAndExplain_UseTheConfigurationOfTheWorkers(t *testing.T) {
	published := map[string]string{"mode": "enforce", "rules.karmadaPolicies": "false"}
	require.Contains(t, underWorkers(t, published, "explain shop/cart"), "enforce mode")
	require.Contains(t, underWorkers(t, published, "plan member1 -o json"), `"mode": "enforce"`)
	require.NotContains(t, underWorkers(t, published, "plan member1"), "the caller's is used")
	require.Contains(t, underWorkers(t, published, "plan member1 -o json --set mode=observe"), `"mode": "observe"`, "the caller's settings win")
	require.Contains(t, underWorkers(t, nil, "explain shop/cart"), "observe mode")
	require.Contains(t, underWorkers(t, nil, "explain shop/cart"), "the workers' configuration, the caller's is used: no worker has published")
}

// Rules: R4.15-32.
func TestPlan_ContradictingConfigurations_UseTheCallers(t *testing.T) {
	out := underWorkers(t, map[string]string{"mode": "enforce", "health.minHealthy": "14m"}, "plan member1 --set health.gracefulTimeout=10m --set health.detection=1m")
	require.Contains(t, out, "it does not go with the caller's")
}

// Seen: a drain of a mistyped name left a failover behind that ended as Gone.
func TestUnknownCluster_IsNotFoundAndTheNearestNameIsOffered(t *testing.T) {
	for _, line := range []string{
		"drain member9 --yes --reason x", "undrain member9 --yes --reason x", "taint member9 a:NoExecute --yes --reason x",
		"pause member9 --yes --reason x", "status member9", "history member9",
	} {
		o := &office{refuse: serviceerror.NewNotFound("no such workflow")}
		out := o.tell(t, process.ExitNotFound, strings.Fields(line)...)
		require.Contains(t, out, "no such cluster: member9; did you mean member1 or member2 or member3?", line)
		require.Empty(t, o.started, "%s: no failover was begun", line)
	}
	out := (&office{}).tell(t, process.ExitNotFound, "status", "elsewhere")
	require.Contains(t, out, "no such cluster: elsewhere")
	require.NotContains(t, out, "did you mean")
}

func TestClusterWithoutAFailover_IsNamed(t *testing.T) {
	out := (&office{}).tell(t, process.ExitNotFound, "status", "member1")
	fixtures.ContainsAll(t, out, "no failover of cluster member1 runs or is kept", "Karmada has the cluster")
	out = (&office{}).tell(t, process.ExitOK, "history", "member1")
	require.Contains(t, out, "No failover is over")
	out = (&office{}).tell(t, process.ExitNotFound, "history", "shop/missing")
	require.Contains(t, out, "no such binding: shop/missing")
}

func TestHistoryAndPlan_TakeWorkloads(t *testing.T) {
	o := &office{}
	o.tell(t, process.ExitOK, "history", "deployment/cart", "-n", "shop")
	require.Contains(t, strings.Join(o.listed, "\n"), "application-failover/shop/cart-deployment")
	o.tell(t, process.ExitNotFound, "history", "deployment/none", "-n", "shop")
	require.Equal(t, underWorkers(t, nil, "plan shop/cart"), underWorkers(t, nil, "plan deployment/cart -n shop"))
}

// Two records of the pace, in a trail of their own.
func TestHistoryFleet_JSON_IsAListOfTheNewest(t *testing.T) {
	trail := filepath.Join(t.TempDir(), "audit.jsonl")
	var lines []byte
	for _, of := range []record.Audit{{ID: "1", Phase: "normal"}, {ID: "2", Phase: "halted"}} {
		of.APIVersion, of.Kind = record.Version, record.AuditPaceChanged
		lines = append(append(lines, fixtures.Must(json.Marshal(of))(t)...), '\n')
	}
	for want, content := range map[string][]byte{"[]": nil, "halted": lines} {
		require.NoError(t, os.WriteFile(trail, content, 0o600))
		out := run(t, process.ExitOK, "history", "fleet", "--audit", trail, "--limit", "1", "-o", "json")
		require.Contains(t, out, want)
		require.NotContains(t, out, "normal", "the newest alone")
		require.NotContains(t, out, "null")
	}
}

// A script must not take the page of a failover that did not answer for one of a failover that is well.
func TestStatus_NoAnswer_IsShownAndExitsWithOne(t *testing.T) {
	for line, want := range map[string]string{
		"status member1":         "the failover of member1 did not answer: no answer within 5s",
		"status member1 -o json": `"unanswered": "no answer within 5s`,
		"status":                 "the pacer did not answer: no answer within 5s",
		"status -o json":         `"pacer: no answer within 5s`,
	} {
		out := (&office{silent: everyone}).tell(t, process.ExitFailed, strings.Fields(line)...)
		require.Contains(t, out, want)
	}
	for line, want := range map[string]string{"status member1": "Workflow", "status": "No cluster is failing over."} {
		out := (&office{silent: everyone}).tell(t, process.ExitFailed, strings.Fields(line)...)
		require.Contains(t, out, want, "what is known is shown all the same")
	}
	out := (&office{}).tell(t, process.ExitOK, "status")
	require.Contains(t, out, "pacer: not running")
}

// Errors of Temporal pass, as does a failover that does not answer.
func TestStatusWatch_ErrorAfterAFirstAnswer_IsWrittenAndItGoesOn(t *testing.T) {
	away, usage := serviceerror.NewUnavailable("away"), process.Usage(&cobra.Command{}, "wrong")
	for name, c := range map[string]struct {
		answers []error // the last ends it
		written int
	}{
		"no first answer":                {answers: []error{away}},
		"away after an answer":           {answers: []error{nil, away, away, nil, status.ErrNotFound}, written: 2},
		"away after an incomplete one":   {answers: []error{errSilent, away, usage}, written: 1},
		"incomplete answers":             {answers: []error{errSilent, errSilent, usage}},
		"not found after a first answer": {answers: []error{nil, status.ErrNotFound}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var written strings.Builder
				cmd, n := &cobra.Command{}, 0
				cmd.SetContext(t.Context())
				cmd.SetErr(&written)
				err := repeatStatus(cmd, func(context.Context) error {
					n++
					return c.answers[n-1]
				})
				require.Equal(t, c.answers[len(c.answers)-1], err)
				require.Len(t, c.answers, n)
				require.Equal(t, strings.Repeat("cannot read the status, trying again: away\n", c.written), written.String())
			})
		})
	}
}

func TestStatusWatch_StoppedDuringAQuery_WritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written strings.Builder
		ctx, stop := context.WithCancel(t.Context())
		cmd, shown := &cobra.Command{}, false
		cmd.SetContext(ctx)
		cmd.SetErr(&written)
		require.NoError(t, repeatStatus(cmd, func(context.Context) error {
			if !shown {
				shown = true
				return nil
			}
			stop()
			return context.Canceled
		}))
		require.Empty(t, written.String())
	})
}

// unreadFleet is a Karmada whose clusters the caller may not list.
type unreadFleet struct{ held }

func (unreadFleet) Cluster(context.Context, string) (karmada.Cluster, error) {
	return karmada.Cluster{}, karmada.ErrForbidden
}

func (unreadFleet) Clusters(context.Context) ([]karmada.Cluster, error) {
	return nil, karmada.ErrForbidden
}

// oneCluster is a Karmada of which the caller may read clusters by name, and not list them.
type oneCluster struct{ unreadFleet }

func (oneCluster) Cluster(_ context.Context, name string) (karmada.Cluster, error) {
	if name != "member1" {
		return karmada.Cluster{}, karmada.ErrGone
	}
	return karmada.Cluster{Name: name, UID: "u"}, nil
}

func TestDrain_CallerMayOnlyReadByName_StartsNoFailoverOnATypo(t *testing.T) {
	o := &office{t: t}
	out := execute(t, fakeApp(o, oneCluster{}), process.ExitNotFound, "drain", "member9", "--yes", "--reason", "x")
	require.Contains(t, out, "no such cluster: member9")
	require.Empty(t, o.update)
	require.Empty(t, o.started)
	execute(t, fakeApp(o, oneCluster{}), process.ExitOK, "drain", "member1", "--yes", "--reason", "x")
	require.Equal(t, workflows.UpdateDrain, o.update)
}

func TestDrain_CallerMayNotReadKarmada_IsSent(t *testing.T) {
	for _, in := range []activities.Reader{unreadFleet{}, nil} {
		o := &office{t: t}
		execute(t, fakeApp(o, in), process.ExitOK, "drain", "member9", "--yes", "--reason", "x")
		require.Equal(t, workflows.UpdateDrain, o.update)
	}
}

func TestDidYouMean_OffersTheNamesWithFewestTypos(t *testing.T) {
	names := []string{"member2", "member1", "edge"}
	for wrong, want := range map[string]string{
		"membr1": "; did you mean member1?", "edgee": "; did you mean edge?",
		"member": "; did you mean member1 or member2?", "other": "", "": "",
	} {
		require.Equal(t, want, didYouMean(wrong, names), wrong)
	}
	require.Zero(t, distance("a", "a"))
	require.Equal(t, 3, distance("", "abc"))
}
