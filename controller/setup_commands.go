package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/controller/preflight"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/spf13/cobra"
)

const (
	defaultRetention = 7 * 24 * time.Hour
	// setupTimeout covers the minute for which Temporal's frontends cache.
	setupTimeout = 3 * time.Minute
)

// setupOptions are the flags of setup.
type setupOptions struct {
	form         show.Form
	retention    time.Duration
	temporalOnly bool
}

func (a *app) setupCommand() *cobra.Command {
	o := &setupOptions{form: show.NewForm()}
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Create namespace, search attributes and CRDs; may be repeated",
		Long: `Create namespace, search attributes and CRDs, and show for how long the namespace keeps closed failovers;
--retention sets that, also for a namespace that is there. Older failovers are in the audit trail alone.`,
		Example: `  lifeboat setup
  lifeboat setup --retention 720h --temporal-only`,
		Args: process.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.retention < 24*time.Hour {
				return process.Usage(cmd, "--retention = %s: want 24h or more", o.retention)
			}
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
	s := preflight.Setup{
		Temporal: temporal, Namespace: temporal.Options.Namespace, Retention: o.retention, Out: cmd.OutOrStdout(),
		SetRetention: cmd.Flags().Changed("retention"), // it was said, so that it holds for a namespace that is there, too
	}
	if !o.form.ForPeople() {
		s.Out = io.Discard
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
	return o.form.Encode(cmd.OutOrStdout(), result)
}

func (a *app) codecCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "codec",
		Short: "Decrypt for the Temporal UI what encryption.keyFile encrypts",
		Long: `Decrypt for the Temporal UI what encryption.keyFile encrypts.

It serves POST /decode, as a codec server of the UI (TEMPORAL_CODEC_ENDPOINT of the UI's server, or the
browser's own setting) and of temporal workflow show --codec-endpoint.

It authenticates no client: every client that reaches it can decrypt. By default it listens on this machine
alone, and answers only pages of codec.origins. To serve more than one person, require client certificates
(listen.tlsCertFile, listen.tlsClientCaFile).`,
		Example: `  lifeboat codec --set encryption.keyFile=keys
  lifeboat codec --set encryption.keyFile=keys --set codec.origins=https://temporal.example.com`,
		Args: process.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, log, err := load(cmd, a.flags)
			if err != nil {
				return err
			}
			return serveCodec(cmd.Context(), c, log)
		},
	}
	a.flags.Shortcut(cmd.Flags(), "listen", "codec.address", "where to serve")
	return cmd
}

var errNoKeys = errors.New("encryption.keyFile is empty: there is nothing to decrypt with")

// serveCodec serves until ctx ends.
func serveCodec(ctx context.Context, c config.Config, log *slog.Logger) error {
	if c.Encryption.KeyFile == "" {
		return fmt.Errorf("%w: %w", errRefused, errNoKeys)
	}
	codec, err := process.Codec(c, log)
	if err != nil {
		return err
	}
	secure, err := process.ServerTLS(c, log)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Codec.Address)
	if err != nil {
		return fmt.Errorf("listen for the Temporal UI: %w", err)
	}
	server := &http.Server{
		Handler:   telemetry.Known(secure, codec.Handler(c.Codec.Origins)),
		TLSConfig: secure, ReadHeaderTimeout: 5 * time.Second,
	}
	log.InfoContext(ctx, "decrypting", telemetry.KeyAddress, listener.Addr().String(), "origins", c.Codec.Origins)
	done := make(chan error, 1)
	go func() {
		if secure != nil {
			done <- server.ServeTLS(listener, "", "")
			return
		}
		done <- server.Serve(listener)
	}()
	select {
	case err := <-done:
		return fmt.Errorf("serve the Temporal UI: %w", err)
	case <-ctx.Done():
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return server.Shutdown(last)
	}
}

// stopTimeout bounds the last answers of lifeboat codec.
const stopTimeout = 3 * time.Second

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Look at the configuration",
		Example: `  lifeboat config print`,
		Args:    process.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	form := show.NewForm(show.YAML, show.JSON)
	var defaults bool
	printing := &cobra.Command{
		Use:   "print",
		Short: "Print the configuration in effect, every setting with what it means and may be",
		Example: `  lifeboat config print --defaults
  lifeboat config print --config lifeboat.yaml -o json`,
		Args: process.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := config.Default()
			if !defaults {
				var err error
				if c, err = a.flags.Load(); err != nil {
					return err
				}
			}
			if form.String() == show.JSON {
				return form.Encode(cmd.OutOrStdout(), c.Tree())
			}
			return c.PrintYAML(cmd.OutOrStdout())
		},
	}
	formFlag(printing, &form)
	printing.Flags().BoolVar(&defaults, "defaults", false, "print the defaults instead")
	cmd.AddCommand(printing)
	return cmd
}

// version is the output of -o json.
type version struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func versionCommand() *cobra.Command {
	form := show.NewForm()
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `  lifeboat version`,
		Args:    process.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := version{Version: telemetry.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			return answered(cmd, &form, v, func(p show.Page) { p.Line("lifeboat %s, %s, %s/%s", v.Version, v.Go, v.OS, v.Arch) })
		},
	}
	formFlag(cmd, &form)
	return cmd
}
