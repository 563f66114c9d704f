package ledger

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// maxProblems bounds the problems printed per check.
const maxProblems = 20

// Print writes the verdict for people: the bindings, then the checks with what is wrong.
func (v Verdict) Print(w io.Writer) error {
	if len(v.Rows) > 0 {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "CLUSTER\tBINDING\tWORKLOAD\tLEDGER SAW\tLIFEBOAT SAYS\tREASON\tSERVES ON")
		for _, r := range v.Rows {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Cluster, r.Binding, r.Kind, r.Seen, r.Reported, r.Reason, r.To)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return v.PrintChecks(w)
}

// PrintChecks writes the checks alone.
func (v Verdict) PrintChecks(w io.Writer) error {
	for _, c := range v.Checks {
		mark := "ok  "
		if len(c.Problems) > 0 {
			mark = "FAIL"
		}
		if _, err := fmt.Fprintf(w, "%s %s (%d looked at)\n", mark, c.Name, c.Looked); err != nil {
			return err
		}
		for i, problem := range c.Problems {
			if i == maxProblems {
				fmt.Fprintf(w, "       and %d more\n", len(c.Problems)-i)
				break
			}
			fmt.Fprintf(w, "     - %s\n", problem)
		}
	}
	e := v.Evictions
	_, err := fmt.Fprintf(w, "%d evictions in %s, at most %d within one second\n", e.Count, e.Last.Sub(e.First).Round(100*time.Millisecond), e.Fastest)
	return err
}
