package main

import (
	"errors"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/plan"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/spf13/cobra"
)

type planOptions struct {
	form show.Form
	all  bool
	rows int
}

func (a *app) planCommand() *cobra.Command {
	o := planOptions{form: show.NewForm()}
	cmd := &cobra.Command{
		Use:   "plan [<cluster>]",
		Short: "Show what would happen if a cluster failed now, or what is left where one has",
		Long: `Show what would happen if a cluster failed now: for each binding on it whether it would move, when it is
due and when its turn would come, where it could go, and what blocks it. The judgements are those of
the failover itself, over Karmada as it is now; room that is promised to one binding is not promised to the
next. Where a migration holds the copy on a recovered former cluster, plan queries that migration, as the write
does. Where the cluster fails over already, plan shows what is left. Nothing is written.

The settings are those that the workers publish; --config, --set and the environment win over them, to
show what they would change. The plan assumes that the cluster is not Ready from now on, and that no other
failover uses the fleet's pace.

--all plans for each cluster as if it alone failed. The cluster with the most bindings that could not move comes
first, counted from the highest priority on; then the one that takes longest.`,
		Example: `  lifeboat plan member1
  lifeboat plan member1 -o json
  lifeboat plan --all`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.all && len(args) > 0 {
				return process.Usage(cmd, "want a cluster, or --all")
			}
			if !o.all {
				return exactly(1, "<cluster>, or --all")(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runPlan(cmd, o, args) },
	}
	formFlag(cmd, &o.form)
	cmd.Flags().BoolVar(&o.all, "all", false, "plan for every cluster, the one that would hurt most first")
	cmd.Flags().IntVar(&o.rows, "rows", 20, "how many bindings of each verdict a table shows; 0 shows all")
	cmd.ValidArgsFunction = completion{a.look}.clusters()
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

// planning reads Karmada, and queries Temporal where it answers: a plan needs Karmada alone. The caller closes the session.
func (a *app) planning(cmd *cobra.Command) (*session, plan.Source, error) {
	s, err := a.look(cmd)
	if err != nil {
		return nil, plan.Source{}, err
	}
	away := s.reach(cmd.Context(), "lifeboat-cli")
	karmada, err := s.reader()
	return s, s.planOver(karmada, away), err
}

// planOver is a plan over one Karmada, after reach.
func (s *session) planOver(karmada activities.Reader, away error) plan.Source {
	source := plan.Source{
		Karmada: karmada, Settings: process.Settings(s.config), Now: time.Now, Progress: s.progress, Runbook: s.config.RunbookURL, Away: away,
	}
	if s.callers != "" {
		source.Unread = []string{"the workers' configuration, the caller's is used: " + s.callers}
	}
	if away == nil {
		asked := s.source()
		source.Status, source.Owners, source.Moves = &asked, process.Owners{Client: s.temporal.Client}, asked
	}
	return source
}
