package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/controller/preflight"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/spf13/cobra"
)

const (
	defaultRetention = 7 * 24 * time.Hour
	// setupTimeout covers the minute for which Temporal's frontends cache.
	setupTimeout = 3 * time.Minute
)

// setUp is what -o json prints.
type setUp struct {
	preflight.Standing
	// Done are the steps, in order.
	Done []string `json:"done"`
}

// setupOptions are what is set up, and how it is told.
type setupOptions struct {
	form         show.Form
	retention    time.Duration
	retain       bool // it was said, so that it holds for a namespace that is there, too
	temporalOnly bool
}

func (a *app) setupCommand() *cobra.Command {
	o := &setupOptions{form: show.NewForm()}
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Create namespace, search attributes and CRDs; may be repeated",
		Long: `Create namespace, search attributes and CRDs, and say for how long the namespace keeps closed failovers; with
--retention set that, also of a namespace that is there. What is older the audit trail alone knows.`,
		Example: `  lifeboat setup
  lifeboat setup --retention 720h --temporal-only`,
		Args: process.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.retention < 24*time.Hour {
				return process.Usage(cmd, "--retention = %s: want 24h or more", o.retention)
			}
			o.retain = cmd.Flags().Changed("retention")
			return a.runSetup(cmd, o)
		},
	}
	formFlag(cmd, &o.form)
	cmd.Flags().DurationVar(&o.retention, "retention", defaultRetention, "how long the namespace keeps closed workflows; one that is there is only changed when this is said")
	cmd.Flags().BoolVar(&o.temporalOnly, "temporal-only", false, "leave Karmada alone")
	return cmd
}

func (a *app) runSetup(cmd *cobra.Command, o *setupOptions) error {
	c, log, err := load(cmd, a.flags)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), setupTimeout)
	defer cancel()
	temporal, err := process.Dial(ctx, process.TemporalOptions{Program: "lifeboat-setup", Config: c, Log: log})
	if err != nil {
		return err
	}
	defer temporal.Close()
	var told bytes.Buffer
	s := preflight.Setup{
		Temporal: temporal, Namespace: temporal.Options.Namespace, Retention: o.retention, SetRetention: o.retain, Out: cmd.OutOrStdout(),
	}
	if !o.form.ForPeople() {
		s.Out = &told
	}
	if !o.temporalOnly {
		karmada, err := process.Karmada(program, c, log, false)
		if err != nil {
			return err
		}
		s.Karmada = karmada
	}
	result, err := s.Run(ctx)
	if err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	if o.form.ForPeople() {
		return nil // every step has said what it did
	}
	return o.form.Encode(cmd.OutOrStdout(), setUp{result, strings.Split(strings.TrimSpace(told.String()), "\n")})
}
