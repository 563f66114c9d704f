package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/controller/orders"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/controller/subject"
	"github.com/lifeboat-failover/lifeboat/internal/audit"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/record"
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
	cmd.ValidArgsFunction = completion{a}.clusters()
	return cmd
}

func (a *app) runStatus(cmd *cobra.Command, o statusOptions, args []string) error {
	s, err := a.open(cmd, "lifeboat-cli")
	if err != nil {
		return err
	}
	defer s.close()
	source := s.source()
	// Failovers can be shown without access to Karmada.
	karmada, err := s.reader()
	if err == nil {
		source.Bindings = karmada
	} else {
		source.Bindings = unreadable{err}
	}
	cluster := strings.Join(args, "")
	if o.watch {
		source = source.Cached()
	}
	if o.watch && o.form.ForPeople() && show.IsTerminal(cmd.OutOrStdout()) {
		err := show.Live(cmd.Context(), cmd.OutOrStdout(), cluster, livePicture(source, args))
		return s.noFailover(cmd.Context(), cluster, err)
	}
	once := func(ctx context.Context) error {
		return s.noFailover(ctx, cluster, showStatus(ctx, cmd, source, o, args))
	}
	if o.watch {
		return repeatStatus(cmd, once)
	}
	defer s.progress.Begin("querying the failovers")()
	return once(cmd.Context())
}

// repeatStatus shows the status until the operator stops it. Once it was shown, an error of a server does not end it.
func repeatStatus(cmd *cobra.Command, once func(context.Context) error) error {
	shown := false
	return show.Again(cmd.Context(), func(ctx context.Context) error {
		err := once(ctx)
		switch {
		case err == nil, errors.Is(err, errSilent): // it may answer the next time
			shown = true
			return nil
		case shown && ctx.Err() == nil && exitCode(err) == process.ExitFailed:
			remark(cmd, "cannot read the status, trying again: %v", err)
			return nil
		}
		return err
	})
}

// livePicture reads the fleet and all of its failovers.
func livePicture(source status.Source, args []string) func(context.Context) (show.Picture, error) {
	return func(ctx context.Context) (show.Picture, error) {
		all, err := source.Overview(ctx)
		if err != nil {
			return show.Picture{}, err
		}
		known := slices.ContainsFunc(all.Failovers, func(f status.Failover) bool { return slices.Contains(args, f.Cluster) })
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

// unreadable is a Karmada that cannot be read.
type unreadable struct{ err error }

func (u unreadable) Bindings(context.Context, activities.Page) (activities.BindingPage, error) {
	return activities.BindingPage{}, u.err
}

// showStatus shows one failover, or the fleet.
func showStatus(ctx context.Context, cmd *cobra.Command, source status.Source, o statusOptions, args []string) error {
	if len(args) == 0 {
		all, err := source.Overview(ctx)
		if err != nil {
			return err
		}
		return errors.Join(answered(cmd, &o.form, all, func(p show.Page) { status.View{Page: p}.Overview(all) }), silent("pacer", all.Unanswered))
	}
	f, err := source.Failover(ctx, args[0])
	if err != nil {
		return err
	}
	f = source.WithUnknown(ctx, f)
	return errors.Join(answered(cmd, &o.form, f, func(p show.Page) { status.View{Page: p}.Failover(f) }), silent("failover of "+f.Cluster, f.Unanswered))
}

// silent is the error for a workflow that did not answer, nil without a reason.
func silent(what, why string) error {
	if why == "" {
		return nil
	}
	return fmt.Errorf("the %s %w: %s", what, errSilent, why)
}

// historyOptions are the flags of history.
type historyOptions struct {
	status.HistoryRequest
	form      show.Form
	namespace string
	ref       *subject.Ref // the binding or its workload, nil: none is named
	trail     string       // where the audit trail is; empty follows the configuration
}

func (a *app) historyCommand() *cobra.Command {
	o := &historyOptions{form: show.NewForm()}
	cmd := &cobra.Command{
		Use:   "history [<cluster>|<binding>|fleet]",
		Short: "Show failovers that are over, and the outcome of every binding",
		Long: `Show failovers of clusters and of applications that are over, the newest first. For one cluster or binding also
show the outcome of every binding, and from the audit trail who did what, when and on what evidence, with the
changes of the fleet's pace (tier, rate and orders). History reads Temporal, which keeps failovers for the
retention of its namespace, and the audit trail, which is kept as long as its files. Where Temporal does not
answer, it reads the trail alone.

For the fleet: what the trail has of its pace, the oldest first.`,
		Example: `  lifeboat history
  lifeboat history fleet
  lifeboat history member1 --limit 1
  lifeboat history shop/cart-deployment
  lifeboat history member1 --audit /var/log/lifeboat -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.Most < 1 {
				return process.Usage(cmd, "--limit = %d: want 1 or more", o.Most)
			}
			return errors.Join(atMostOneCluster(cmd, args), ofWorkload(cmd, o.namespace, args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.read(strings.Join(args, "")); err != nil {
				return err
			}
			return a.runHistory(cmd, o)
		},
	}
	formFlag(cmd, &o.form)
	cmd.Flags().IntVar(&o.Most, "limit", 20, "how many failovers, or records of the fleet, to show at most")
	workloadFlag(cmd, &o.namespace)
	auditFlag(cmd, &o.trail)
	cmd.ValidArgsFunction = completion{a}.objects(order{use: cmd.Use})
	return cmd
}

// read distinguishes a binding, which has a slash in it, from a cluster.
func (o *historyOptions) read(arg string) error {
	if !strings.Contains(arg, "/") {
		o.Cluster = arg
		return nil
	}
	ref, err := subject.Parse(arg, o.namespace)
	o.ref = &ref
	return err
}

func (a *app) runHistory(cmd *cobra.Command, o *historyOptions) error {
	s, err := a.look(cmd)
	if err != nil {
		return err
	}
	if o.ref != nil {
		if o.Binding, err = s.keyOf(cmd.Context(), *o.ref); err != nil {
			return err
		}
	}
	trail, err := readTrail(cmd, s.config, o.trail, o.Selects(s.config.Instance))
	if err != nil {
		return err
	}
	if o.Cluster == orders.Fleet {
		pacer := status.Pacer(trail.Records)
		earlier := max(0, len(pacer)-o.Most)
		return answered(cmd, &o.form, pacer[earlier:], func(p show.Page) { status.View{Page: p}.Pacer(pacer[earlier:], earlier) })
	}
	failovers, err := s.history(cmd, o, trail)
	if err == nil && len(failovers) == 0 {
		err = s.exist(cmd.Context(), o.HistoryRequest)
	}
	if err != nil {
		return err
	}
	return answered(cmd, &o.form, failovers, func(p show.Page) {
		status.View{Page: p}.History(failovers, o.Cluster != "" || o.Binding.Name != "")
	})
}

// auditFlag adds --audit to a command.
func auditFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "audit", "", "file of the audit trail, with its rotated ones, or a folder; by default audit.path")
}

// readTrail reads the wanted records of the audit trail. A configured trail may be missing, one named by the
// operator may not.
func readTrail(cmd *cobra.Command, c config.Config, named string, wanted func(*record.Audit) bool) (audit.Trail, error) {
	path := named
	if path == "" && c.Audit.Sink == config.AuditFile {
		path = c.Audit.Path
	}
	if path == "" {
		return audit.Trail{}, nil
	}
	trail, err := audit.Read(cmd.Context(), path, wanted)
	if named == "" && errors.Is(err, fs.ErrNotExist) {
		remark(cmd, "The audit trail of the configuration is not here: %v", err)
		return trail, nil
	}
	if trail.Newer > 0 {
		remark(cmd, "%d records of the audit trail are of a newer version and were passed over", trail.Newer)
	}
	return trail, err
}

// history merges the failovers of Temporal and of the trail.
func (s *session) history(cmd *cobra.Command, o *historyOptions, trail audit.Trail) ([]status.PastFailover, error) {
	if err := s.dial(cmd.Context(), "lifeboat-cli"); err != nil {
		if len(trail.Records) == 0 {
			return nil, err
		}
		remark(cmd, "From the audit trail alone: %v", err)
		alone := status.Source{Instance: s.config.Instance, UI: s.config.UIURL}
		return alone.With(cmd.Context(), nil, trail.Records, o.HistoryRequest), nil
	}
	defer s.close()
	defer s.progress.Begin("reading reports")()
	failovers, err := s.source().History(cmd.Context(), o.HistoryRequest)
	if err != nil {
		return nil, err
	}
	return s.source().With(cmd.Context(), failovers, trail.Records, o.HistoryRequest), nil
}

// remark writes to standard error.
func remark(cmd *cobra.Command, format string, args ...any) {
	show.Page{Out: cmd.ErrOrStderr()}.Line(format, args...)
}
