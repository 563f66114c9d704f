package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/ledger"
	"github.com/spf13/cobra"
)

// maxTimelineWait bounds how long a request for the timeline waits for something to happen.
const maxTimelineWait = 30 * time.Second

var errNoLedger = errors.New("this lab keeps no ledger: start it with `lab up --ledger`")

// timeline answers with the entries after the parameter after, and with wait, waits so long for one.
func (c *control) timeline(w http.ResponseWriter, r *http.Request) {
	if c.ledger == nil {
		answer(w, http.StatusBadRequest, failure{Error: errNoLedger.Error()})
		return
	}
	after, wait := 0, time.Duration(0)
	var problems []error
	for name, parse := range map[string]func(string) error{
		"after": func(s string) (err error) { after, err = strconv.Atoi(s); return err },
		"wait":  func(s string) (err error) { wait, err = time.ParseDuration(s); return err },
	} {
		if value := r.URL.Query().Get(name); value != "" {
			problems = append(problems, parse(value))
		}
	}
	if err := errors.Join(problems...); err != nil {
		answer(w, http.StatusBadRequest, failure{Error: err.Error()})
		return
	}
	entries, changed := c.ledger.Timeline(after)
	if len(entries) == 0 && wait > 0 {
		ctx, cancel := context.WithTimeout(r.Context(), min(wait, maxTimelineWait))
		defer cancel()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		entries, _ = c.ledger.Timeline(after)
	}
	answer(w, http.StatusOK, entries)
}

func (c *control) judge(w http.ResponseWriter, r *http.Request) {
	if c.ledger == nil {
		answer(w, http.StatusBadRequest, failure{Error: errNoLedger.Error()})
		return
	}
	var q ledger.Question
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		answer(w, http.StatusBadRequest, failure{Error: fmt.Sprintf("decode question: %v", err)})
		return
	}
	answer(w, http.StatusOK, c.ledger.Judge(time.Now(), q))
}

// ledgerOptions are the flags of `lab ledger`.
type ledgerOptions struct {
	reports  []string
	clusters []string
	rate     float64
	chunk    int
	output   string
}

func newLedgerCommand(dir *string) *cobra.Command {
	var o ledgerOptions
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Show what happened, or judge Lifeboat's reports by it",
		Long: `Without --report, the timeline: what the lab saw happen. With reports
(the JSON of "lifeboat status", or of a ClusterFailover's result) the ledger
judges them; the exit code is 1 when anything is wrong.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.output != "" && o.output != "json" {
				return fmt.Errorf("unknown output %q: want json", o.output)
			}
			if len(o.reports) == 0 {
				return showTimeline(cmd.Context(), *dir, o.output, cmd.OutOrStdout())
			}
			return judgeReports(cmd.Context(), *dir, o, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.reports, "report", nil, "file with a report to judge, - for stdin (repeatable)")
	flags.StringArrayVar(&o.clusters, "cluster", nil, "judge this cluster only (repeatable; default: all that failed)")
	flags.Float64Var(&o.rate, "rate", 0, "allowed evictions per second (0: do not judge the pace)")
	flags.IntVar(&o.chunk, "chunk", 1, "evictions allowed at once beside the rate")
	flags.StringVarP(&o.output, "output", "o", "", "json")
	return cmd
}

func showTimeline(ctx context.Context, dir, output string, w io.Writer) error {
	var entries []ledger.Entry
	if err := get(ctx, dir, "/ledger", &entries); err != nil {
		return err
	}
	if output == "json" {
		return printJSON(w, entries)
	}
	for _, e := range entries {
		if _, err := fmt.Fprintf(w, "%s  %-9s %-16s %-30s %s\n", e.At.Format("15:04:05.000"), e.Cluster, e.Kind, e.Binding, e.Text); err != nil {
			return err
		}
	}
	return nil
}

func judgeReports(ctx context.Context, dir string, o ledgerOptions, w io.Writer) error {
	q := ledger.Question{Clusters: o.clusters, Rate: o.rate, Chunk: o.chunk}
	for _, file := range o.reports {
		content, err := readFileOrStdin(file)
		if err != nil {
			return fmt.Errorf("read report: %w", err)
		}
		report, err := ledger.ReadReport(content)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		q.Reports = append(q.Reports, report)
	}
	body, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("encode question: %w", err)
	}
	var v ledger.Verdict
	if err := call(ctx, dir, request{http.MethodPost, "/ledger/judge", body}, &v); err != nil {
		return err
	}
	if o.output == "json" {
		err = printJSON(w, v)
	} else {
		err = v.Print(w)
	}
	if err == nil && !v.OK {
		err = errors.New("the ledger disagrees")
	}
	return err
}

func readFileOrStdin(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(file)
}
