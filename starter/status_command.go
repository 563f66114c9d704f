package main

import (
	"bytes"
	"context"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/starter/status"
	"github.com/spf13/cobra"
)

// refresh is how often --watch asks again.
const refresh = 2 * time.Second

type statusOptions struct {
	form  string
	watch bool
}

func (a *app) statusCommand() *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status [cluster]",
		Short: "Show how failovers stand: all of them, or one",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return process.Usage(cmd, "want at most one cluster, got %d", len(args))
			}
			return wantForm(cmd, o.form, outTable, outJSON, outYAML)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.flags.Load()
			if err != nil {
				return err
			}
			return runStatus(cmd, c, o, args)
		},
	}
	cmd.Flags().StringVarP(&o.form, "output", "o", outTable, "table, json or yaml")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "show again every two seconds")
	return cmd
}

func runStatus(cmd *cobra.Command, c config.Config, o statusOptions, args []string) error {
	log, err := process.Logger(cmd.ErrOrStderr(), quiet(c))
	if err != nil {
		return err
	}
	temporal, err := process.Dial(cmd.Context(), process.TemporalOptions{Program: "lifeboat-cli", Log: log})
	if err != nil {
		return err
	}
	defer temporal.Close()
	source := status.Source{
		Client: temporal.Client, Namespace: temporal.Options.Namespace, Instance: c.Instance, UI: c.UIURL,
	}
	// Failovers can be looked at without access to Karmada.
	karmada, err := newKarmada(c, log)
	if err == nil {
		source.Bindings = karmada
	} else {
		source.Bindings = unreadable{err}
	}
	show := func(ctx context.Context) error { return showStatus(ctx, cmd, source, o, args) }
	if !o.watch {
		return show(cmd.Context())
	}
	return again(cmd.Context(), show)
}

// unreadable is a Karmada that there is no way to.
type unreadable struct{ err error }

func (u unreadable) Bindings(context.Context, activities.Page) (activities.BindingPage, error) {
	return activities.BindingPage{}, u.err
}

// again shows until ctx ends.
func again(ctx context.Context, show func(context.Context) error) error {
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	for {
		if err := show(ctx); err != nil {
			if ctx.Err() != nil {
				return nil // stopped by whoever watched
			}
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// clearScreen is what a terminal understands.
const clearScreen = "\x1b[H\x1b[2J"

func showStatus(ctx context.Context, cmd *cobra.Command, source status.Source, o statusOptions, args []string) error {
	out := cmd.OutOrStdout()
	terminal := isTerminal(out)
	var text bytes.Buffer
	view := status.View{Out: &text, Now: time.Now(), Colour: terminal}
	if o.watch && terminal {
		text.WriteString(clearScreen)
	}
	var answer any
	if len(args) == 1 {
		f, err := source.Failover(ctx, args[0])
		if err != nil {
			return err
		}
		answer = f
		view.Failover(f)
	} else {
		all, err := source.Overview(ctx)
		if err != nil {
			return err
		}
		answer = all
		view.Overview(all)
	}
	if o.form != outTable {
		return encode(out, o.form, answer)
	}
	_, err := out.Write(text.Bytes())
	return err
}
