// Command lifeboat is the controller, which watches Karmada and signals workflows (lifeboat controller), and the
// operator's command line: status, plan, pause, drain.
//
// It decides nothing about failovers: it sends facts to workflows as signals, and operators' orders as updates,
// each with who and why.
//
// Exit codes: 0 done, 1 failed (a server did not answer, or returned an error), 2 wrong usage or configuration, 3
// not found, 4 refused.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/controller/orders"
	"github.com/lifeboat-failover/lifeboat/controller/plan"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/controller/subject"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lifeboat: "+show.Lines(err.Error()))
	}
	os.Exit(exitCode(err))
}

var (
	// errRefused is returned where this program itself refuses.
	errRefused = errors.New("refused")
	// errUnanswered is returned when a preflight got no answer to a check.
	errUnanswered = errors.New("not every check got an answer")
	// errSilent is returned when the workflow that status is about did not answer.
	errSilent = errors.New("did not answer")
)

func exitCode(err error) int {
	switch {
	case err == nil:
		return process.ExitOK
	case errors.Is(err, process.ErrUsage), process.IsA[config.Problems](err):
		return process.ExitUsage
	case errors.Is(err, orders.ErrNotFound), errors.Is(err, status.ErrNotFound), errors.Is(err, subject.ErrNotFound),
		errors.Is(err, plan.ErrNotFound):
		return process.ExitNotFound
	case errors.Is(err, subject.ErrMalformed):
		return process.ExitUsage
	case errors.Is(err, orders.ErrRefused), errors.Is(err, errRefused):
		return process.ExitRefused
	default:
		return process.ExitFailed
	}
}

func command() *cobra.Command {
	root := newApp().command(os.Args[0])
	root.SetArgs(subject.Plain(os.Args[1:]))
	return root
}

// pluginName is the name of the binary as kubectl's plug-in.
const pluginName = "kubectl-lifeboat"

// command is the command tree, for a binary of that name.
func (a *app) command(binary string) *cobra.Command {
	root := &cobra.Command{
		Use:   "lifeboat",
		Short: "Durable cluster failover for Karmada, on Temporal",
		Long: `Durable cluster failover for Karmada, on Temporal.

A verb comes first, then its object: a cluster; the word fleet; or a binding, as <namespace>/<binding>
(-/<binding> without a namespace) or as the workload that it carries, <kind>/<name> -n <namespace>.
Answers are tables; -o json and -o yaml say the same with names that stay.

Karmada is reached as by kubectl (--kubeconfig, KUBECONFIG, ~/.kube/config), Temporal as by the
temporal CLI (temporal.toml, TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, ...).

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 not found, 4 refused.`,
		Example: `  lifeboat status --watch
  lifeboat pause member1 --reason "looking"`,
		Version:       telemetry.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			cmd.SuggestionsMinimumDistance = 2
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				return process.Usage(cmd, "unexpected argument %q; did you mean %s?", args[0], strings.Join(near, " or "))
			}
			return process.NoArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	if strings.TrimSuffix(filepath.Base(binary), ".exe") == pluginName {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl lifeboat"}
	}
	root.SetFlagErrorFunc(process.FlagError)
	a.flags.Register(root.PersistentFlags())
	a.flags.Shortcut(root.PersistentFlags(), "ui-url", "uiURL", "base URL of the Temporal UI, for links")
	a.addVerbs(root)
	refuseUnknownTopics(root)
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if gt (len .Aliases) 0}}", "{{if false}}", 1)) // names from before
	return root
}

// refuseUnknownTopics has the help of an unknown verb fail as that verb does. Cobra shows the help of the root instead.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, help := range root.Commands() {
		if help.Name() != "help" {
			continue
		}
		help.Args = func(_ *cobra.Command, args []string) error {
			if verb, _, _ := root.Find(args); verb == root {
				return root.Args(root, args)
			}
			return nil
		}
		root.RemoveCommand(help) // Cobra adds it to what it executes
	}
}

// addVerbs adds all commands, in groups.
func (a *app) addVerbs(root *cobra.Command) {
	for n, g := range []struct {
		title string
		verbs []*cobra.Command
	}{
		{"Inspect", []*cobra.Command{a.statusCommand(), a.explainCommand(), a.planCommand(), a.historyCommand()}},
		{"Act on a failover", []*cobra.Command{
			a.pauseCommand(), a.resumeCommand(), a.cancelCommand(), a.approveCommand(), a.confirmFencedCommand(), a.drainCommand(), a.taintCommand(),
		}},
		{"Act on a workload", []*cobra.Command{a.snoozeCommand(), a.prioritiseCommand(), a.putBackCommand(), a.releaseCommand()}},
		{"Fleet", []*cobra.Command{a.rateCommand(), a.adoptCommand()}},
		{"Setup", []*cobra.Command{a.setupCommand(), a.preflightCommand(), a.controllerCommand(), a.codecCommand(), a.configCommand(), versionCommand()}},
	} {
		id := strconv.Itoa(n)
		root.AddGroup(&cobra.Group{ID: id, Title: g.title})
		for _, verb := range g.verbs {
			verb.GroupID = id
			root.AddCommand(verb)
		}
		root.SetHelpCommandGroupID(id)
		root.SetCompletionCommandGroupID(id)
	}
}

// atMostOne refuses more than one argument, and fewer than the least, naming what is wanted.
func atMostOne(least int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > 1 {
			return process.Usage(cmd, "want %s, got %d arguments", names, len(args))
		}
		return nil
	}
}

// atMostOneCluster refuses more than one argument.
var atMostOneCluster = atMostOne(0, "at most one cluster")
