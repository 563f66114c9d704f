package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lifeboat-worker: "+err.Error())
	}
	os.Exit(exitCode(err))
}

func exitCode(err error) int {
	switch {
	case err == nil:
		return process.ExitOK
	case errors.Is(err, process.ErrUsage), process.IsA[config.Problems](err):
		return process.ExitUsage
	default:
		return process.ExitFailed
	}
}

func command() *cobra.Command {
	flags := &process.Flags{}
	cmd := &cobra.Command{
		Use:           "lifeboat-worker",
		Short:         "Host Lifeboat's workflows and activities",
		Version:       telemetry.Version,
		Args:          process.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := flags.Load()
			if err != nil {
				return err
			}
			log := process.Logger(cmd.ErrOrStderr(), c)
			if err := flags.Serve(cmd.Context(), log); err != nil {
				return err
			}
			return run(cmd.Context(), c, log)
		},
	}
	cmd.SetFlagErrorFunc(process.FlagError)
	flags.Register(cmd.Flags())
	flags.Daemon(cmd.Flags())
	flags.Shortcut(cmd.Flags(), "task-queue", "taskQueue", "Temporal task queue to poll; lifeboat-<instance> where an instance is set")
	return cmd
}
