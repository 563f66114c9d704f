package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/spf13/cobra"
)

// stopTimeout is how long `lab down` waits: each server may take its grace.
const stopTimeout = 45 * time.Second

func newDownCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the lab and remove its folder",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), stopTimeout)
			defer cancel()
			return down(ctx, *dir)
		},
	}
}

func newMemberCommand(dir *string, verb, short string) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " MEMBER...",
		Short: short,
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, members []string) error {
			for _, member := range members {
				query := url.Values{"member": {member}}
				if err := post(cmd.Context(), *dir, "/"+verb+"?"+query.Encode(), nil); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func newJoinCommand(dir *string) *cobra.Command {
	var member karmada.MemberSpec
	cmd := &cobra.Command{
		Use:   "join MEMBER",
		Short: "Register a new member cluster",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			member.Name = args[0]
			return post(cmd.Context(), *dir, "/join", member)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&member.Region, "region", "", "spec.region of the Cluster")
	flags.StringVar(&member.Zone, "zone", "", "zone of the Cluster")
	flags.StringVar(&member.Provider, "provider", "lab", "spec.provider of the Cluster")
	flags.StringToStringVar(&member.Labels, "label", nil, "name=value (repeatable)")
	flags.Int64Var(&member.CPUs, "cpus", 0, "capacity in CPUs; 0 = plenty")
	return cmd
}

func newKnobCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "knob [NAME=VALUE...]",
		Short: "Show the knobs of the simulated Karmada, or change some",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				changes, err := parseKnobs(args)
				if err != nil {
					return err
				}
				return post(cmd.Context(), *dir, "/knobs", changes)
			}
			var knobs any
			if err := get(cmd.Context(), *dir, "/knobs", &knobs); err != nil {
				return err
			}
			return printJSON(cmd.OutOrStdout(), knobs)
		},
	}
}

// post asks the lab in dir for a change; body is sent as JSON when not nil.
func post(ctx context.Context, dir, path string, body any) error {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
	}
	return call(ctx, dir, request{http.MethodPost, path, content}, nil)
}

// get asks the lab in dir and decodes its answer into result.
func get(ctx context.Context, dir, path string, result any) error {
	return call(ctx, dir, request{http.MethodGet, path, nil}, result)
}

type request struct {
	method, path string
	body         []byte
}

func call(ctx context.Context, dir string, r request, result any) error {
	s, err := loadState(dir)
	if err != nil {
		return err
	}
	httpRequest, err := http.NewRequestWithContext(ctx, r.method, s.ControlURL+r.path, bytes.NewReader(r.body))
	if err != nil {
		return fmt.Errorf("ask the lab: %w", err)
	}
	response, err := http.DefaultClient.Do(httpRequest)
	if err != nil {
		return fmt.Errorf("the lab in %s (process %d) does not answer, see %s: %w",
			dir, s.PID, filepath.Join(s.Dir, logFile), err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the lab's answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return refusal(response.Status, content)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(content, result)
}

// refusal turns an answer other than 200 into an error.
func refusal(httpStatus string, content []byte) error {
	var f failure
	if err := json.Unmarshal(content, &f); err != nil || f.Error == "" {
		return fmt.Errorf("the lab answered %s: %s", httpStatus, content)
	}
	return fmt.Errorf("the lab refused: %s", f.Error)
}

// down stops the lab in dir, if one runs, and removes the folder. It returns
// when the servers are gone.
func down(ctx context.Context, dir string) error {
	path, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("resolve folder of the lab: %w", err)
	}
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for asked := false; ; asked = true {
		pid, err := removeUnlessRunning(path)
		if err != nil || pid == 0 {
			return err
		}
		if err := askToStop(pid, asked); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the lab in %s is still stopping: %w", path, ctx.Err())
		case <-poll.C:
		}
	}
}

// removeUnlessRunning removes the folder of a lab that has ended, or returns the
// process id of the one that runs there.
func removeUnlessRunning(path string) (pid int, err error) {
	f, err := lockFolder(path, 0)
	var running errRunning
	switch {
	case err == nil:
		return 0, f.remove()
	case errors.As(err, &running) && running.pid != 0:
		return running.pid, nil
	case errors.Is(err, os.ErrNotExist):
		// No lab was here, or the lab itself has just removed everything.
		return 0, nil
	}
	return 0, err
}

func askToStop(pid int, asked bool) error {
	if asked {
		return nil
	}
	err := syscall.Kill(pid, syscall.SIGTERM)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop the lab (process %d): %w", pid, err)
	}
	return nil
}

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
