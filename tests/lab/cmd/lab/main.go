package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/lifeboat-failover/lifeboat/tests/lab/server"
	"github.com/spf13/cobra"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A second signal ends the lab at once; its servers go with it.
	context.AfterFunc(ctx, cancel)
	defer cancel()
	if err := newRootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		if errors.Is(err, server.ErrNoPostgres) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "lab",
		Short:         "Real etcd, kube-apiserver and Temporal with a simulated Karmada, on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	dir := root.PersistentFlags().String("dir", "./.lab", "folder of the lab: everything it writes")
	root.AddCommand(
		newUpCommand(dir),
		newDownCommand(dir),
		newStatusCommand(dir),
		newMemberCommand(dir, "kill", "Stop a member cluster: it no longer answers and its workloads freeze"),
		newMemberCommand(dir, "revive", "Let a killed member cluster answer again, with the workloads it still has"),
		newMemberCommand(dir, "leave", "Unregister a member cluster"),
		newJoinCommand(dir),
		newKnobCommand(dir),
		newLedgerCommand(dir),
	)
	return root
}
