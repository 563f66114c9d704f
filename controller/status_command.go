package main

import (
	"context"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/spf13/cobra"
)

type statusOptions struct {
	form  show.Form
	watch bool
}

func (a *app) statusCommand() *cobra.Command {
	o := statusOptions{form: show.NewForm()}
	cmd := &cobra.Command{
		Use:   "status [<cluster>]",
		Short: "Show how failovers stand: all of them, or one",
		Long: `Show how failovers stand: the fleet's pace, every failover that runs, and what was left to an operator; or
one failover, with what moves, what is queued, what is blocked and why, and what you can do.`,
		Example: `  lifeboat status
  lifeboat status member1 --watch
  lifeboat status -o json`,
		Args: atMostOneCluster,
		RunE: func(cmd *cobra.Command, args []string) error { return a.runStatus(cmd, o, args) },
	}
	formFlag(cmd, &o.form)
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "show again every two seconds; on a terminal with keys to scroll and to choose a failover")
	cmd.ValidArgsFunction = completion{a.look}.clusters()
	return cmd
}

func (a *app) runStatus(cmd *cobra.Command, o statusOptions, args []string) error {
	s, err := a.open(cmd, "lifeboat-cli")
	if err != nil {
		return err
	}
	defer s.close()
	source := s.source()
	// Failovers can be looked at without access to Karmada.
	karmada, err := s.reader()
	if err == nil {
		source.Bindings = karmada
	} else {
		source.Bindings = unreadable{err}
	}
	cluster := strings.Join(args, "")
	if o.watch && o.form.ForPeople() && show.IsTerminal(cmd.OutOrStdout()) {
		err := show.Live(cmd.Context(), cmd.OutOrStdout(), cluster, livePicture(source, args))
		return s.noFailover(cmd.Context(), cluster, err)
	}
	once := func(ctx context.Context) error {
		return s.noFailover(ctx, cluster, showStatus(ctx, cmd, source, o, args))
	}
	if o.watch {
		return show.Again(cmd.Context(), once)
	}
	return s.progress.While(cmd.Context(), "asking the failovers", once)
}

// livePicture reads the fleet and every failover of it at once.
func livePicture(source status.Source, args []string) func(context.Context) (show.Picture, error) {
	return func(ctx context.Context) (show.Picture, error) {
		all, err := source.Overview(ctx)
		if err != nil {
			return show.Picture{}, err
		}
		known := slices.IndexFunc(all.Failovers, func(f status.Failover) bool { return slices.Contains(args, f.Cluster) }) >= 0
		if len(args) == 1 && !known { // over, or it never was
			f, err := source.Failover(ctx, args[0])
			if err != nil {
				return show.Picture{}, err
			}
			all.Failovers = append(all.Failovers, f)
		}
		return status.Live(all), nil
	}
}

// unreadable is a Karmada that there is no way to.
type unreadable struct{ err error }

func (u unreadable) Bindings(context.Context, activities.Page) (activities.BindingPage, error) {
	return activities.BindingPage{}, u.err
}

func showStatus(ctx context.Context, cmd *cobra.Command, source status.Source, o statusOptions, args []string) error {
	answer, draw, err := lookStatus(ctx, source, args)
	if err != nil {
		return err
	}
	return answered(cmd, &o.form, answer, draw)
}

// lookStatus reads the status of one failover, or of the fleet, and returns how to draw it.
func lookStatus(ctx context.Context, source status.Source, args []string) (any, func(show.Page), error) {
	if len(args) == 1 {
		f, err := source.Failover(ctx, args[0])
		if err == nil {
			f = source.WithUnknown(ctx, f)
		}
		return f, func(p show.Page) { status.View{Page: p}.Failover(f) }, err
	}
	all, err := source.Overview(ctx)
	return all, func(p show.Page) { status.View{Page: p}.Overview(all) }, err
}
