package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/starter/setup"
	"github.com/lifeboat-failover/lifeboat/starter/show"
	"github.com/spf13/cobra"
)

const (
	defaultRetention = 7 * 24 * time.Hour
	// setupTimeout covers the minute for which Temporal's frontends cache.
	setupTimeout = 3 * time.Minute
)

// setUp is what -o json prints.
type setUp struct {
	// Done are the steps, in order.
	Done []string `json:"done"`
}

func (a *app) setupCommand() *cobra.Command {
	var retention time.Duration
	var temporalOnly bool
	form := show.NewForm()
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Create namespace, search attributes and CRDs; may be repeated",
		Example: `  lifeboat setup
  lifeboat setup --retention 720h --temporal-only`,
		Args: process.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if retention < 24*time.Hour {
				return process.Usage(cmd, "--retention = %s: want 24h or more", retention)
			}
			c, err := a.flags.Load()
			if err != nil {
				return err
			}
			log, err := process.Logger(cmd.ErrOrStderr(), c)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), setupTimeout)
			defer cancel()
			temporal, err := process.Dial(ctx, process.TemporalOptions{Program: "lifeboat-setup", Log: log})
			if err != nil {
				return err
			}
			defer temporal.Close()
			var told bytes.Buffer
			s := setup.Setup{
				Temporal: temporal, Namespace: temporal.Options.Namespace, Retention: retention, Out: cmd.OutOrStdout(),
			}
			if !form.ForPeople() {
				s.Out = &told
			}
			if !temporalOnly {
				karmada, err := newKarmada(c, log)
				if err != nil {
					return err
				}
				s.Karmada = karmada
			}
			if err := s.Run(ctx); err != nil {
				return fmt.Errorf("setup: %w", err)
			}
			if form.ForPeople() {
				return nil
			}
			return form.Encode(cmd.OutOrStdout(), setUp{strings.Split(strings.TrimSpace(told.String()), "\n")})
		},
	}
	formFlag(cmd, &form)
	cmd.Flags().DurationVar(&retention, "retention", defaultRetention, "how long a new namespace keeps closed workflows")
	cmd.Flags().BoolVar(&temporalOnly, "temporal-only", false, "leave Karmada alone")
	return cmd
}
