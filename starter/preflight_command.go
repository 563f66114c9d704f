package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/lifeboat-failover/lifeboat/starter/preflight"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
)

// preflightOptions are the flags of the verb.
type preflightOptions struct {
	form, role                                string
	hostKubeconfig, hostContext               string
	controllerNamespace, controllerDeployment string
}

func (a *app) preflightCommand() *cobra.Command {
	var o preflightOptions
	cmd := &cobra.Command{
		Use:   "preflight",
		Short: "Look whether Lifeboat can do its work here",
		Long: `Look whether Lifeboat can do its work here: permissions, definitions, Karmada's version, the Temporal
namespace, and whether somebody else evicts, too. It changes nothing. Permissions are those of
whoever runs it: use the kubeconfig of the worker, or of the starter, with --role.

Exit codes: 0 passed, warnings or not; 4 a check failed; 1 something could not be asked.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := process.NoArgs(cmd, args); err != nil {
				return err
			}
			if !slices.Contains([]string{roleAll, roleWorker, roleStarter}, o.role) {
				return process.Usage(cmd, "--role = %q: want worker, starter or all", o.role)
			}
			return wantForm(cmd, o.form, outTable, outJSON, outYAML)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runPreflight(cmd, o) },
	}
	cmd.Flags().StringVarP(&o.form, "output", "o", outTable, "table, json or yaml")
	cmd.Flags().StringVar(&o.role, "role", roleAll, "whose permissions to ask for: worker, starter or all")
	cmd.Flags().StringVar(&o.hostKubeconfig, "host-kubeconfig", "", "kubeconfig of the cluster that Karmada's own controllers run in")
	cmd.Flags().StringVar(&o.hostContext, "host-context", "", "context in it; empty is its current one")
	cmd.Flags().StringVar(&o.controllerNamespace, "controller-namespace", "karmada-system", "namespace of Karmada's controller manager there")
	cmd.Flags().StringVar(&o.controllerDeployment, "controller-manager", "karmada-controller-manager", "Deployment of Karmada's controller manager there")
	return cmd
}

// The roles whose permissions can be asked for.
const (
	roleAll     = "all"
	roleWorker  = "worker"
	roleStarter = "starter"
)

func (a *app) runPreflight(cmd *cobra.Command, o preflightOptions) error {
	c, err := a.flags.Load()
	if err != nil {
		return err
	}
	log, err := process.Logger(cmd.ErrOrStderr(), quiet(c))
	if err != nil {
		return err
	}
	temporal, err := process.Dial(cmd.Context(), process.TemporalOptions{Program: "lifeboat-preflight", Log: log})
	if err != nil {
		return err
	}
	defer temporal.Close()
	karmada, err := newKarmada(c, log)
	if err != nil {
		return err
	}
	p := preflight.Preflight{
		Temporal: temporal, Namespace: temporal.Options.Namespace, Attributes: workflows.SearchAttributeNames(),
		Karmada: karmada, ControllerNamespace: o.controllerNamespace, ControllerManager: o.controllerDeployment,
		Mode: c.Acts(), Permissions: permissionsOf(c, o.role), KarmadaPolicies: c.Rules.KarmadaPolicies,
	}
	if o.hostKubeconfig != "" || o.hostContext != "" {
		host, err := k8sadapter.NewClient(o.hostKubeconfig, o.hostContext, k8sadapter.Options{UserAgent: "lifeboat-preflight", Logger: log})
		if err != nil {
			return err
		}
		p.Host = host
	}
	return tell(cmd, o.form, p.Run(cmd.Context()))
}

// tell shows what was found; the error makes the exit code.
func tell(cmd *cobra.Command, form string, checks []preflight.Check) error {
	show := func() error { return encode(cmd.OutOrStdout(), form, checks) }
	if form == outTable {
		show = func() error { return showChecks(cmd.OutOrStdout(), checks) }
	}
	if err := show(); err != nil {
		return err
	}
	switch preflight.Verdict(checks) {
	case preflight.Failed:
		return fmt.Errorf("%w: a check of the preflight failed", errRefused)
	case preflight.Unknown:
		return errUnanswered
	case preflight.OK, preflight.Warning:
	}
	return nil
}

// permissionsOf are what a role needs in the mode that is configured.
func permissionsOf(c config.Config, role string) []k8sadapter.Permission {
	var all []k8sadapter.Permission
	if role != roleStarter {
		all = k8sadapter.WorkerPermissions(c.Acts())
	}
	if role != roleWorker {
		all = append(all, starterPermissions(c)...)
	}
	var out []k8sadapter.Permission
	for _, p := range all {
		if !slices.ContainsFunc(out, func(x k8sadapter.Permission) bool { return x.String() == p.String() }) {
			out = append(out, p)
		}
	}
	return out
}

func showChecks(out io.Writer, checks []preflight.Check) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range checks {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", c.Result, c.Name, c.Found)
		for line := range strings.Lines(c.Do) {
			_, _ = fmt.Fprintf(table, "\t\t  %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	return table.Flush()
}
