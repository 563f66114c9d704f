package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/spf13/cobra"
)

func (a *app) codecCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "codec",
		Short: "Decrypt for the Temporal UI what encryption.keyFile encrypts",
		Long: `Decrypt for the Temporal UI what encryption.keyFile encrypts.

It serves POST /decode, as the UI wants its codec server (TEMPORAL_CODEC_ENDPOINT of the UI's server,
or the browser's own setting) and as temporal workflow show --codec-endpoint does.

It asks nobody who they are: whoever reaches it has what they hold decrypted. So it listens on this
machine alone, unless told otherwise, and answers only pages of codec.origins. Where it has to serve
more than one person, ask for certificates (listen.tlsCertFile, listen.tlsClientCaFile).`,
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
