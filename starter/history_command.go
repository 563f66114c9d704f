package main

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/starter/show"
	"github.com/lifeboat-failover/lifeboat/starter/status"
	"github.com/spf13/cobra"
)

func (a *app) historyCommand() *cobra.Command {
	form, most := show.NewForm(), 0
	cmd := &cobra.Command{
		Use:   "history [<cluster>]",
		Short: "Show failovers that are over, and what became of every binding",
		Long: `Show failovers that are over, the newest first; of one cluster with what became of every binding. They
are read from Temporal, which keeps them for the retention of its namespace.`,
		Example: `  lifeboat history
  lifeboat history member1 --limit 1
  lifeboat history -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return process.Usage(cmd, "want at most one cluster, got %d", len(args))
			}
			if most < 1 {
				return process.Usage(cmd, "--limit = %d: want 1 or more", most)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			request := status.HistoryRequest{Most: most}
			if len(args) == 1 {
				request.Cluster = args[0]
			}
			return a.runHistory(cmd, &form, request)
		},
	}
	formFlag(cmd, &form)
	cmd.Flags().IntVar(&most, "limit", 20, "how many failovers to read at most")
	cmd.ValidArgsFunction = a.completeClusters()
	return cmd
}

func (a *app) runHistory(cmd *cobra.Command, form *show.Form, request status.HistoryRequest) error {
	s, err := a.open(cmd, "lifeboat-cli")
	if err != nil {
		return err
	}
	defer s.close()
	var episodes []status.Episode
	err = s.progress.While(cmd.Context(), "reading reports", func(ctx context.Context) error {
		episodes, err = s.source().History(ctx, request)
		return err
	})
	if err != nil {
		return err
	}
	return answered(cmd, form, episodes, func(p show.Page) {
		status.View{Page: p}.History(episodes, request.Cluster != "")
	})
}
