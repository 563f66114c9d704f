package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
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
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// run executes a command line and returns what it printed and ended with.
func run(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	var written strings.Builder
	cmd := command()
	cmd.SetOut(&written)
	cmd.SetErr(&written)
	cmd.SetIn(strings.NewReader(""))
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	if err != nil {
		written.WriteString(err.Error())
	}
	return written.String(), exitCode(err)
}

func TestWrongUsageEndsWithTwoAndSaysWhatIsWanted(t *testing.T) {
	for line, want := range map[string]string{
		"pause":                              "want <cluster>|<binding>|fleet",
		"pause member1":                      "--reason",
		"resume member1 --reason  ":          "unexpected",
		"cancel fleet --reason x":            "name of a cluster",
		"drain":                              "want <cluster>",
		"drain member1":                      "--reason",
		"drain fleet --reason x":             "name of a cluster",
		"drain a --reason x --rate -1":       "rate -1",
		"drain a --reason x --selector a=(":  "selector",
		"drain a --reason x --timeout 1s":    "--timeout needs --wait",
		"drain a --reason x -o xml":          "want one of [table json yaml]",
		"undrain a":                          "--reason",
		"taint a b --reason x":               "is no taint",
		"taint a b:NoSchedule --reason x":    "karmadactl taint",
		"taint a b c:NoExecute --reason x":   "want <cluster> and",
		"taint fleet a:NoExecute --reason x": "name of a cluster",
		"taint a failover.lifeboat.dev/drain:NoExecute --reason x": "is reserved",
		"untaint a b:NoExecute c":                                  "want <cluster> and",
		"status a b":                                               "at most one cluster",
		"plan":                                                     "want <cluster>, or --all",
		"plan a --all":                                             "want a cluster, or --all",
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
		"history --limit 0":                                        "want 1 or more",
		"status -o xml":                                            "want one of [table json yaml]",
		"config print -o table":                                    "want one of [yaml json]",
		"setup --retention 1h":                                     "want 24h or more",
		"controller --mode maybe":                                  "want observe or enforce",
		"fly":                                                      `unexpected argument "fly"`,
		"version --nonsense":                                       "unknown flag",
		"config print --set windows.waiting=0":                     "want a whole number from 1 to 1500",
	} {
		t.Run(line, func(t *testing.T) {
			out, code := run(t, strings.Fields(line)...)
			if want != "unexpected" {
				require.Contains(t, out, want)
			}
			require.Equal(t, process.ExitUsage, code, out)
		})
	}
}

// A script from before a verb was renamed goes on working; nobody learns that name again.
func TestFormerVerbsWork_NoHelpListsThem(t *testing.T) {
	now := map[string]string{
		"skip": "cancel", "undrain": "drain", "untaint": "taint",
	}
	for before, verb := range now {
		found, _, err := newApp().command("lifeboat").Find([]string{before})
		require.NoError(t, err)
		require.Equal(t, verb, found.Name())
		for _, line := range []string{"--help", verb + " --help"} {
			help, _ := run(t, strings.Fields(line)...)
			require.NotRegexp(t, `(?m)^ +(`+verb+`, )?`+before+`\b`, help)
		}
	}
}

// The surface is what somebody at night has to know.
func TestThereAreFewVerbs_EachInAGroupOfTheHelp(t *testing.T) {
	var names []string
	for _, c := range newApp().command("lifeboat").Commands() {
		require.NotEmpty(t, c.GroupID, c.Name())
		if !slices.Contains([]string{"version", "help", "completion"}, c.Name()) {
			names = append(names, c.Name())
		}
	}
	require.LessOrEqual(t, len(names), 22, names)
	help, _ := run(t, "--help")
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

func TestNothingIsCancelledWithoutAConfirmation(t *testing.T) {
	out, code := run(t, "cancel", "member1", "--reason", "x")
	require.Equal(t, process.ExitRefused, code)
	require.Contains(t, out, "add --yes")
	out, code = run(t, "drain", "member1", "--reason", "x")
	require.Equal(t, process.ExitRefused, code)
	require.Contains(t, out, "add --yes")
}

func TestTheConfigurationInEffectIsPrinted(t *testing.T) {
	out, code := run(t, "config", "print", "--instance", "eu")
	require.Equal(t, process.ExitOK, code)
	require.Contains(t, out, "instance: eu\n")
	out, code = run(t, "config", "print", "--instance", "eu", "--defaults", "-o", "json")
	require.Equal(t, process.ExitOK, code)
	require.Contains(t, out, `"instance": ""`)
}

func TestWithoutAVerbTheHelpIsShown(t *testing.T) {
	out, code := run(t)
	require.Equal(t, process.ExitOK, code)
	require.Contains(t, out, "Exit codes")
	out, _ = run(t, "version")
	require.Contains(t, out, "lifeboat ")
	out, _ = run(t, "version", "-o", "json")
	require.Contains(t, out, `"version": `)
}

func TestTheLeaseIsNamedAfterTheInstance(t *testing.T) {
	require.Equal(t, "lifeboat-controller", process.LeaseName(""))
	require.Equal(t, "lifeboat-controller-eu", process.LeaseName("eu"))
}

// Rules: R4.15-24.
func TestThePreflightsExitCodeTellsPassedRefusedAndUnaskedApart(t *testing.T) {
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
			err := tell(cmd, form, checks, checks)
			require.Equal(t, want, exitCode(err), "%s", result)
			require.Contains(t, out.String(), "A thing")
			require.Contains(t, out.String(), "and that")
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
	a := newApp()
	a.karmada = func(config.Config, *slog.Logger) (activities.Reader, error) { return fleet{}, nil }
	require.Equal(t, []string{"fleet", "member1", "member2"}, complete(t, a, "pause", ""))
	require.Equal(t, []string{"member1", "member2"}, complete(t, a, "status", "mem"))
	require.Empty(t, complete(t, a, "status", "member1", ""))
	require.Equal(t, []string{"table", "json", "yaml"}, complete(t, a, "status", "-o", ""))
	a.karmada = func(config.Config, *slog.Logger) (activities.Reader, error) { return nil, karmada.ErrUnreachable }
	require.Empty(t, complete(t, a, "status", ""), "trouble offers nothing")
}

func TestAsAPluginOfKubectlItIsCalledSo(t *testing.T) {
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
	a := newApp()
	a.karmada = func(config.Config, *slog.Logger) (activities.Reader, error) { return w, nil }
	a.dial = func(context.Context, process.TemporalOptions) (*process.Temporal, error) {
		return nil, errors.New("no route")
	}
	for line, want := range map[string]string{
		"plan member1":         "member1, if it failed now",
		"plan --all":           "member1",
		"plan member1 -o json": `"cluster": "member1"`,
		"plan --all -o yaml":   "- at: ",
	} {
		var out strings.Builder
		cmd := a.command("lifeboat")
		cmd.SetOut(&out)
		cmd.SetErr(io.Discard)
		cmd.SetArgs(strings.Fields(line))
		require.NoError(t, cmd.ExecuteContext(t.Context()), line)
		require.Contains(t, out.String(), want, line)
		require.Contains(t, out.String(), "no route", "what was not asked is said")
	}
	for _, line := range []string{"plan member9", "explain shop/none"} {
		cmd := a.command("lifeboat")
		cmd.SetArgs(strings.Fields(line))
		err := cmd.ExecuteContext(t.Context())
		require.Equal(t, process.ExitNotFound, exitCode(err), "%s: %v", line, err)
	}
}
