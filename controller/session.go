package main

import (
	"bytes"
	"context"
	"log/slog"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/controller/orders"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/spf13/cobra"
)

// app is shared by all verbs.
type app struct {
	flags *process.Flags
	// dial and karmada reach the servers.
	dial    func(context.Context, process.TemporalOptions) (*process.Temporal, error)
	karmada func(config.Config, *slog.Logger) (activities.Reader, error)
}

func newApp() *app {
	return &app{
		flags: &process.Flags{},
		dial:  process.Dial,
		karmada: func(c config.Config, log *slog.Logger) (activities.Reader, error) {
			return process.Karmada(program, c, log, false)
		},
	}
}

// session has the configuration of one command, and its connections.
type session struct {
	app      *app
	config   config.Config
	log      *slog.Logger
	temporal *process.Temporal
	progress *show.Progress
	// callers is why the configuration is the caller's alone, empty if it is the workers' with the caller's
	// settings over it. reach sets it.
	callers string
}

// load reads the configuration and opens its log.
func load(cmd *cobra.Command, flags *process.Flags) (config.Config, *slog.Logger, error) {
	c, err := flags.Load()
	if err != nil {
		return c, nil, err
	}
	return c, process.Logger(cmd.ErrOrStderr(), c), nil
}

// look reads the configuration without dialling Temporal.
func (a *app) look(cmd *cobra.Command) (*session, error) {
	c, err := a.flags.Load()
	if err != nil {
		return nil, err
	}
	log := process.Logger(cmd.ErrOrStderr(), quiet(c))
	return &session{app: a, config: c, log: log, progress: show.NewProgress(cmd.ErrOrStderr())}, nil
}

// open is look with Temporal dialled under the name as. The caller closes the session.
func (a *app) open(cmd *cobra.Command, as string) (*session, error) {
	s, err := a.look(cmd)
	if err != nil {
		return nil, err
	}
	if err := s.dial(cmd.Context(), as); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *session) dial(ctx context.Context, as string) error {
	defer s.progress.Begin("reaching Temporal")()
	var err error
	s.temporal, err = s.app.dial(ctx, process.TemporalOptions{Program: as, Config: s.config, Log: s.log})
	return err
}

// reach dials Temporal, and loads the configuration that the workers publish there, with the caller's settings
// over it. Without Temporal the caller's configuration stays.
func (s *session) reach(ctx context.Context, as string) (away error) {
	if away = s.dial(ctx, as); away != nil {
		s.callers = "Temporal does not answer"
		return away
	}
	s.callers = s.follow(ctx)
	return nil
}

// follow loads the workers' configuration, or returns why it cannot.
func (s *session) follow(ctx context.Context) string {
	pacer, why := s.source().Pacer(ctx)
	switch {
	case why != "":
		return "pacer: " + why
	case len(pacer.InForce) == 0:
		return "no worker has published it yet"
	}
	c, err := s.app.flags.LoadOver(pacer.InForce)
	if err != nil { // each fits alone, and they contradict each other
		return "it does not go with the caller's: " + err.Error()
	}
	s.config = quiet(c)
	return ""
}

// close closes the connection to Temporal, if there is one.
func (s *session) close() {
	if s.temporal != nil {
		s.temporal.Close()
	}
}

// reader reads Karmada, with deletion timestamps on clusters read as configured.
func (s *session) reader() (activities.Reader, error) {
	return s.app.karmada(s.config, s.log)
}

// source queries workflows.
func (s *session) source() status.Source {
	return status.Source{
		Client: s.temporal.Client, Namespace: s.temporal.Options.Namespace, Instance: s.config.Instance, UI: s.config.UIURL,
		Runbook: s.config.RunbookURL,
	}
}

// sender sends orders to workflows.
func (s *session) sender() orders.Sender {
	return orders.Sender{Client: s.temporal.Client, Instance: s.config.Instance, TaskQueue: s.config.TaskQueue}
}

// quiet keeps the SDK's log out of a short command, unless a level is configured.
func quiet(c config.Config) config.Config {
	if c.Log.Level == config.Default().Log.Level {
		c.Log.Level = "error"
	}
	return c
}

// formFlag gives a command --output.
func formFlag(cmd *cobra.Command, form *show.Form) {
	cmd.Flags().VarP(form, "output", "o", form.Usage())
	// An error means a missing flag.
	_ = cmd.RegisterFlagCompletionFunc("output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return form.Allowed(), cobra.ShellCompDirectiveNoFileComp
	})
}

// answered writes an answer in the requested form: drawn as text, or encoded.
func answered(cmd *cobra.Command, form *show.Form, answer any, draw func(show.Page)) error {
	if !form.ForPeople() {
		return form.Encode(cmd.OutOrStdout(), answer)
	}
	_, err := cmd.OutOrStdout().Write(drawn(cmd, draw))
	return err
}

// drawn is text, with colour on terminals only.
func drawn(cmd *cobra.Command, draw func(show.Page)) []byte {
	var text bytes.Buffer
	draw(show.Page{Out: &text, Now: time.Now(), Colour: show.IsTerminal(cmd.OutOrStdout())})
	return text.Bytes()
}
