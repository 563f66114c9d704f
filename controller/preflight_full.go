package main

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/controller/plan"
	"github.com/lifeboat-failover/lifeboat/controller/preflight"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
)

// syncWithin bounds the first look of a watch at a large fleet.
const syncWithin = time.Minute

func (a *app) runFull(cmd *cobra.Command, o preflightOptions) error {
	s, err := a.look(cmd)
	if err != nil {
		return err
	}
	away := s.reach(cmd.Context(), "lifeboat-cli")
	karmada, err := process.Karmada("lifeboat-preflight", s.config, s.log, true)
	if err != nil {
		return err
	}
	source, closing := s.planOver(karmada, away)
	defer closing()
	p, err := s.preflight(o, karmada)
	if err != nil {
		return err
	}
	v := preflight.Full{
		Karmada: karmada, SyncWithin: syncWithin, May: tries(s.config, o.role),
		Plan: source.All,
		Preflight: func(ctx context.Context) []preflight.Check {
			return append(s.withoutTemporal(source), p.Run(ctx)...)
		},
	}
	var report preflight.Report
	if err := s.progress.While(cmd.Context(), "trying everything", func(ctx context.Context) error {
		report = v.Run(ctx)
		return nil
	}); err != nil {
		return err
	}
	return tell(cmd, o.form, report, report.Checks)
}

// tries tells what a role lists and watches, nil for everything.
func tries(c config.Config, role string) k8sadapter.May {
	if role == roleAll {
		return nil
	}
	granted := append(permissionsOf(c, role), process.PolicyPermissions(c, "list")...)
	return func(verb, resource string) bool {
		return slices.ContainsFunc(granted, func(p k8sadapter.Permission) bool {
			return p.Verb == verb && p.Subresource == "" && p.Resource+"."+p.Group == resource
		})
	}
}

// withoutTemporal warns where Temporal does not answer: the rest can be tried.
func (s *session) withoutTemporal(source plan.Source) []preflight.Check {
	if source.Away == nil {
		return nil
	}
	return []preflight.Check{{
		Name: "Temporal", Result: preflight.Warning, Found: "left out: " + source.Away.Error(),
		Do: "set TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE, as for the temporal CLI",
	}}
}

// preflight is what to look at with a session's configuration; its Temporal only where
// it was dialled.
func (s *session) preflight(o preflightOptions, karmada preflight.Karmada) (preflight.Preflight, error) {
	p := preflight.Preflight{
		Attributes: workflows.SearchAttributeNames(), Callers: s.callers,
		Karmada: karmada, ControllerNamespace: o.controllerNamespace, ControllerManager: o.controllerDeployment,
		Mode: s.config.Acts(), Permissions: permissionsOf(s.config, o.role),
		KarmadaPolicies: s.config.Rules.KarmadaPolicies, Plugins: s.config.Plugins(),
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
