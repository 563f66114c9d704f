package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/controller/preflight"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/spf13/cobra"
)

// preflightOptions are the flags of the verb.
type preflightOptions struct {
	form                                      show.Form
	role                                      string
	hostKubeconfig, hostContext               string
	controllerNamespace, controllerDeployment string
	full                                      bool
}

// check refuses arguments and unknown roles.
func (o *preflightOptions) check(cmd *cobra.Command, args []string) error {
	if err := process.NoArgs(cmd, args); err != nil {
		return err
	}
	if !slices.Contains([]string{roleAll, roleWorker, roleController}, o.role) {
		return process.Usage(cmd, "--role = %q: want worker, controller or all", o.role)
	}
	return nil
}

// register gives a command the flags.
func (o *preflightOptions) register(cmd *cobra.Command) {
	formFlag(cmd, &o.form)
	cmd.Flags().BoolVar(&o.full, "full", false, "try everything short of writing: read, watch, plan")
	cmd.Flags().StringVar(&o.role, "role", roleAll, "whose permissions to check: worker, controller or all")
	cmd.Flags().StringVar(&o.hostKubeconfig, "host-kubeconfig", "", "kubeconfig of the cluster that Karmada's own controllers run in")
	cmd.Flags().StringVar(&o.hostContext, "host-context", "", "context in it; empty is its current one")
	cmd.Flags().StringVar(&o.controllerNamespace, "controller-namespace", "karmada-system", "namespace of Karmada's controller manager there")
	cmd.Flags().StringVar(&o.controllerDeployment, "controller-manager", "karmada-controller-manager", "Deployment of Karmada's controller manager there")
}

func (a *app) preflightCommand() *cobra.Command {
	o := preflightOptions{form: show.NewForm()}
	cmd := &cobra.Command{
		Use:   "preflight",
		Short: "Check whether Lifeboat can do its work here",
		Long: `Check whether Lifeboat can do its work here: permissions, definitions, Karmada's version, the Temporal
namespace, and whether another actor evicts, too. It changes nothing. It checks the permissions of its own
kubeconfig: use that of the worker, or of the controller, with --role. The mode and the other settings are those
that the workers publish, once there are some; --config and --set win over them.

With --full also read every cluster, rule, binding, policy and Work and check that it is understood, hold
every watch open for a moment, and plan for every cluster: everything that Lifeboat does, short of
writing. With --role it reads and watches only what that role is granted: a worker watches bindings alone. It
leaves out a Temporal that does not answer. It sends only reads, and reviews of its own permissions.

Exit codes: 0 passed, warnings or not; 4 a check failed; 1 a check got no answer.`,
		Example: `  lifeboat preflight
  lifeboat preflight --full
  lifeboat preflight --role worker --kubeconfig secrets/worker/kubeconfig --host-kubeconfig host.kubeconfig`,
		Args: o.check,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runPreflight(cmd, o) },
	}
	o.register(cmd)
	return cmd
}

// The roles whose permissions can be checked.
const (
	roleAll        = "all"
	roleWorker     = "worker"
	roleController = "controller"
)

func (a *app) runPreflight(cmd *cobra.Command, o preflightOptions) error {
	s, err := a.look(cmd)
	if err != nil {
		return err
	}
	away := s.reach(cmd.Context(), "lifeboat-preflight")
	if away != nil && !o.full {
		return away
	}
	defer s.close()
	karmada, err := process.Karmada("lifeboat-preflight", s.config, s.log, true)
	if err != nil {
		return err
	}
	p, err := s.preflight(o, karmada)
	if err != nil {
		return err
	}
	if !o.full {
		end := s.progress.Begin("looking around")
		checks := p.Run(cmd.Context())
		end()
		return printChecks(cmd, o.form, checks, checks)
	}
	v := preflight.Full{
		Karmada: karmada, SyncWithin: syncWithin, May: tries(s.config, o.role), Plan: s.planOver(karmada, away).All,
		Preflight: func(ctx context.Context, applications int) []preflight.Check {
			p.WithField = applications
			return append(withoutTemporal(away), p.Run(ctx)...)
		},
	}
	end := s.progress.Begin("trying everything")
	report := v.Run(cmd.Context())
	end()
	return printChecks(cmd, o.form, report, report.Checks)
}

// syncWithin bounds the first sync of a large fleet.
const syncWithin = time.Minute

// printChecks prints the checks of an answer; the error sets the exit code.
func printChecks(cmd *cobra.Command, form show.Form, answer any, checks []preflight.Check) error {
	if err := answered(cmd, &form, answer, func(p show.Page) { showChecks(p, checks) }); err != nil {
		return err
	}
	return verdicts[preflight.Verdict(checks)]
}

// verdicts are the errors of those that do not pass.
var verdicts = map[preflight.Result]error{
	preflight.Failed:  fmt.Errorf("%w: a check of the preflight failed", errRefused),
	preflight.Unknown: errUnanswered,
}

// permissionsOf are the permissions that a role needs in the configured mode.
func permissionsOf(c config.Config, role string) []k8sadapter.Permission {
	var all []k8sadapter.Permission
	if role != roleController {
		all = process.WorkerPermissions(c)
	}
	if role != roleWorker {
		all = append(all, controllerPermissions(c)...)
	}
	var out []k8sadapter.Permission
	for _, p := range all {
		if !slices.ContainsFunc(out, func(x k8sadapter.Permission) bool { return x.String() == p.String() }) {
			out = append(out, p)
		}
	}
	return out
}

func showChecks(p show.Page, checks []preflight.Check) {
	t := p.Table("Result", "Check", "Found")
	for _, c := range checks {
		t.AppendRow(table.Row{p.Coloured(resultColours[c.Result], string(c.Result)), c.Name, text.WrapSoft(c.Found, foundWidth)})
		for line := range strings.Lines(c.Do) {
			t.AppendRow(table.Row{"", "", text.WrapSoft("  "+strings.TrimSuffix(line, "\n"), foundWidth)})
		}
	}
	t.Render()
}

// foundWidth is the width of the column Found.
const foundWidth = 76

var resultColours = map[preflight.Result]text.Color{
	preflight.OK: show.Well, preflight.Failed: show.Bad, preflight.Warning: show.Busy, preflight.Unknown: show.Busy,
}

// tries reports what a role lists and watches; nil is everything.
func tries(c config.Config, role string) k8sadapter.May {
	if role == roleAll {
		return nil
	}
	granted := permissionsOf(c, role)
	return func(verb, resource string) bool {
		return slices.ContainsFunc(granted, func(p k8sadapter.Permission) bool {
			return p.Verb == verb && p.Subresource == "" && p.Resource+"."+p.Group == resource
		})
	}
}

// withoutTemporal warns if Temporal does not answer.
func withoutTemporal(away error) []preflight.Check {
	if away == nil {
		return nil
	}
	return []preflight.Check{{
		Name: "Temporal", Result: preflight.Warning, Found: "left out: " + away.Error(),
		Do: "set TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE, as for the temporal CLI",
	}}
}

// preflight makes the checks for the configuration of a session; Temporal is checked only if it was dialled.
func (s *session) preflight(o preflightOptions, karmada preflight.Karmada) (preflight.Preflight, error) {
	p := preflight.Preflight{
		Callers: s.callers, Karmada: karmada, ControllerNamespace: o.controllerNamespace, ControllerManager: o.controllerDeployment,
		Mode: s.config.Acts(), Permissions: permissionsOf(s.config, o.role),
		KarmadaPolicies: s.config.Rules.KarmadaPolicies, Applications: s.config.ApplicationFailover, Plugins: s.config.EvictPlugins,
	}
	if s.temporal != nil {
		p.Temporal, p.Namespace = s.temporal, s.temporal.Options.Namespace
	}
	kubeconfig := cmp.Or(o.hostKubeconfig, s.config.Karmada.HostKubeconfig)
	if kubeconfig == "" && o.hostContext == "" {
		return p, nil
	}
	host, err := k8sadapter.NewClient(kubeconfig, o.hostContext, k8sadapter.Options{
		UserAgent: "lifeboat-preflight", Logger: s.log, ReadOnly: true,
	})
	if err != nil {
		return p, err
	}
	p.Host = host
	return p, nil
}
