package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func newStatusCommand(dir *string) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show servers, member clusters and their workloads",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var s status
			if err := get(cmd.Context(), *dir, "/status", &s); err != nil {
				return err
			}
			switch output {
			case "json":
				return printJSON(cmd.OutOrStdout(), s)
			case "":
				return printStatus(cmd.OutOrStdout(), s)
			}
			return fmt.Errorf("unknown output %q: want json", output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json")
	return cmd
}

func printStatus(w io.Writer, s status) error {
	if err := announce(w, "", s.Lab); err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nSERVER\tPID")
	for _, server := range s.Servers {
		fmt.Fprintf(table, "%s\t%d\n", server.Name, server.PID)
	}
	fmt.Fprintln(table, "\nMEMBER\tALIVE\tREADYZ\tWORKLOADS")
	for _, member := range s.Members {
		fmt.Fprintf(table, "%s\t%t\t%s\t%d\n", member.Name, member.Alive, member.Readyz, len(member.Workloads))
	}
	fmt.Fprintln(table, "\nMEMBER\tKIND\tWORKLOAD\tREADY")
	for _, member := range s.Members {
		for _, workload := range member.Workloads {
			fmt.Fprintf(table, "%s\t%s\t%s/%s\t%d/%d\n", member.Name, workload.Kind,
				workload.Namespace, workload.Name, workload.ReadyReplicas, workload.Replicas)
		}
	}
	return table.Flush()
}

func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
