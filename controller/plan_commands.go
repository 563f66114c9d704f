package main

import (
	"errors"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/explain"
	"github.com/lifeboat-failover/lifeboat/controller/plan"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/controller/subject"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/spf13/cobra"
)

type planOptions struct {
	form      show.Form
	namespace string
	all       bool
	rows      int
}

func (a *app) planCommand() *cobra.Command {
	o := planOptions{form: show.NewForm()}
	cmd := &cobra.Command{
		Use:   "plan [<cluster> | <binding>]",
		Short: "Show what would happen if a cluster failed, or an application moved, now",
		Long: `Show what would happen if a cluster failed now: for each binding on it whether it would move, when it is
due and when its turn would come, where it could go, and what blocks it. The judgements are those of
the failover itself, over Karmada as it is now; room that is promised to one binding is not promised to the
next. Where a migration holds the copy on a recovered former cluster, plan queries that migration, as the write
does. Where the cluster fails over already, plan shows what is left. Nothing is written.

For a binding, by its name or its workload: what would happen if the time ran out for which spec.failover.application
lets each of its copies be Unhealthy.

The settings are those that the workers publish; --config, --set and the environment win over them, to
show what they would change. The plan assumes that the cluster is not Ready from now on, and that no other
failover uses the fleet's pace.

--all plans for each cluster as if it alone failed. The cluster with the most bindings that could not move comes
first, counted from the highest priority on; then the one that takes longest.`,
		Example: `  lifeboat plan member1
  lifeboat plan member1 -o json
  lifeboat plan shop/cart-deployment
  lifeboat plan --all`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.all && len(args) > 0 {
				return process.Usage(cmd, "want a cluster, a binding, or --all")
			}
			if !o.all {
				if err := atMostOne(1, "<cluster>, <binding>, or --all")(cmd, args); err != nil {
					return err
				}
			}
			return ofWorkload(cmd, o.namespace, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runPlan(cmd, o, args) },
	}
	formFlag(cmd, &o.form)
	workloadFlag(cmd, &o.namespace)
	cmd.Flags().BoolVar(&o.all, "all", false, "plan for every cluster, the one that would hurt most first")
	cmd.Flags().IntVar(&o.rows, "rows", 20, "how many bindings of each verdict a table shows; 0 shows all")
	cmd.ValidArgsFunction = completion{a}.clusters()
	return cmd
}

func (a *app) runPlan(cmd *cobra.Command, o planOptions, args []string) error {
	s, source, err := a.planning(cmd)
	if err != nil {
		return err
	}
	defer s.close()
	if o.all {
		plans, err := source.All(cmd.Context())
		if err != nil {
			return err
		}
		return answered(cmd, &o.form, plans, func(p show.Page) { plan.View{Page: p}.All(plans) })
	}
	if strings.Contains(args[0], "/") {
		return planApplication(cmd, o, source, args[0])
	}
	one, err := source.Cluster(cmd.Context(), args[0])
	if errors.Is(err, plan.ErrNotFound) {
		if _, unknown := clusterNamed(cmd.Context(), source.Karmada, args[0]); unknown != nil {
			return unknown
		}
	}
	if err != nil {
		return err
	}
	return answered(cmd, &o.form, one, func(p show.Page) { plan.View{Page: p, Rows: o.rows}.Cluster(one) })
}

// workloadFlag adds --namespace to a command that takes workloads.
func workloadFlag(cmd *cobra.Command, namespace *string) {
	cmd.Flags().StringVarP(namespace, "namespace", "n", "", "namespace of the workload, where a workload is named")
}

// ofWorkload refuses the namespace of a workload where none is named.
func ofWorkload(cmd *cobra.Command, namespace string, args []string) error {
	if namespace != "" && !strings.Contains(strings.Join(args, ""), "/") {
		return process.Usage(cmd, "--namespace is for a workload: <kind>/<name>")
	}
	return nil
}

func planApplication(cmd *cobra.Command, o planOptions, source plan.Source, binding string) error {
	ref, err := subject.Parse(binding, o.namespace)
	if err != nil {
		return err
	}
	b, err := ref.Find(cmd.Context(), source.Karmada)
	if err != nil {
		return err
	}
	one, err := source.Application(cmd.Context(), &b)
	if err != nil {
		return err
	}
	return answered(cmd, &o.form, one, func(p show.Page) { plan.View{Page: p}.Application(one) })
}

// planning opens a session for a plan, which needs Karmada alone. The caller closes the session.
func (a *app) planning(cmd *cobra.Command) (*session, plan.Source, error) {
	s, err := a.look(cmd)
	if err != nil {
		return nil, plan.Source{}, err
	}
	away := s.reach(cmd.Context(), "lifeboat-cli")
	karmada, err := s.reader()
	return s, s.planOver(karmada, away), err
}

// planOver is the source of plans over one Karmada, after reach.
func (s *session) planOver(karmada activities.Reader, away error) plan.Source {
	source := plan.Source{
		Karmada: karmada, Settings: process.Settings(s.config), Now: time.Now, Progress: s.progress, Runbook: s.config.RunbookURL, Away: away,
	}
	if s.callers != "" {
		source.Unread = []string{"the workers' configuration, the caller's is used: " + s.callers}
	}
	if away == nil {
		temporal := s.source()
		source.Status, source.Owners, source.Migrations = &temporal, process.Owners{Client: s.temporal.Client}, temporal
	}
	return source
}

type explainOptions struct {
	form               show.Form
	namespace, cluster string
	trail              string // where the audit trail is; empty follows the configuration
}

func (a *app) explainCommand() *cobra.Command {
	o := explainOptions{form: show.NewForm()}
	cmd := &cobra.Command{
		Use:   "explain <binding>",
		Short: "Show why a binding moves, waits, or stays where it is",
		Long: `Show why a binding moves, waits, or stays where it is, from the rule that matched to what it waits for:
the taint, the toleration and until when it holds, the place in the queue, the pace, what blocks the binding, and
its migration. For a binding that no failover drives: why nothing moves it, and what would happen if its
cluster failed. With spec.failover.application: how its copies are, what its own failover does, and where it
would go if the time of a copy ran out now. The outcomes in failovers that are over come last: from the reports
that Temporal still has, and from the audit trail, which also has failovers that Temporal has forgotten, and
bindings that are gone.

A binding is <namespace>/<binding> (-/<binding> without a namespace), or the workload that it carries.`,
		Example: `  lifeboat explain shop/cart-deployment
  lifeboat explain deployment/cart -n shop --cluster member1
  lifeboat explain shop/cart-deployment --audit /var/log/lifeboat -o json`,
		Args: atMostOne(1, "<binding>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := subject.Parse(args[0], o.namespace)
			if err != nil {
				return err
			}
			return a.runExplain(cmd, o, ref)
		},
	}
	formFlag(cmd, &o.form)
	workloadFlag(cmd, &o.namespace)
	cmd.Flags().StringVar(&o.cluster, "cluster", "", "look at this cluster alone; a binding may be driven off several")
	auditFlag(cmd, &o.trail)
	_ = cmd.RegisterFlagCompletionFunc("cluster", completion{a}.clusters())
	cmd.ValidArgsFunction = completion{a}.bindings()
	return cmd
}

func (a *app) runExplain(cmd *cobra.Command, o explainOptions, ref subject.Ref) error {
	s, source, err := a.planning(cmd)
	if err != nil {
		return err
	}
	defer s.close()
	explainer := explain.Source{Source: source, Alone: status.Source{Instance: s.config.Instance, UI: s.config.UIURL}}
	key, err := s.keyOf(cmd.Context(), ref)
	if err != nil {
		return err
	}
	trail, err := readTrail(cmd, s.config, o.trail, explain.About(key, s.config.Instance))
	if err != nil {
		return err
	}
	explainer.Trail = trail.Records
	end := s.progress.Begin("querying")
	x, err := explainer.Binding(cmd.Context(), ref, o.cluster)
	end()
	if err != nil {
		return err
	}
	return answered(cmd, &o.form, x, func(p show.Page) { explain.View{Page: p}.Binding(x) })
}
