package ledger

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Report is what Lifeboat says became of one cluster's failure: the answer of its status query, or the
// result of its workflow.
type Report struct {
	Cluster    string `json:"cluster"`
	FailoverID string `json:"failoverID"`
	// Phase is that of a status, Ended that of a result.
	Phase   string    `json:"phase,omitempty"`
	Ended   string    `json:"ended,omitempty"`
	Attempt int       `json:"attempt,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Now     time.Time `json:"now,omitzero"`
	// Results are those of the attempt that runs, Past and Attempts those of the others.
	Results       []Result        `json:"results,omitempty"`
	Past          []Attempt       `json:"past,omitempty"`
	Attempts      []Attempt       `json:"attempts,omitempty"`
	Items         []Item          `json:"items,omitempty"`
	Moves         map[string]Open `json:"migrations,omitempty"`
	PendingPurges []PendingPurge  `json:"pendingPurges,omitempty"`
}

// Attempt is one failure within a failover.
type Attempt struct {
	Attempt int       `json:"attempt"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Results []Result  `json:"results"`
}

// Result is what became of one binding.
type Result struct {
	Key     Key      `json:"key"`
	UID     string   `json:"uid"`
	Outcome string   `json:"outcome"`
	Reason  string   `json:"reason,omitempty"`
	Cause   string   `json:"cause,omitempty"`
	Message string   `json:"message,omitempty"`
	To      []string `json:"to,omitempty"`
}

// Key names a binding.
type Key struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

func (k Key) String() string {
	if k.Namespace == "" {
		return "-/" + k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Item is a binding that waits in the queue.
type Item struct {
	Key     Key      `json:"k"`
	State   string   `json:"s"`
	Reason  string   `json:"r,omitempty"`
	Message string   `json:"m,omitempty"`
	To      []string `json:"c,omitempty"`
	// Affected tells that it owes an outcome.
	Affected bool `json:"w,omitempty"`
}

// Open is a move that is under way.
type Open struct {
	Phase   string   `json:"phase"`
	Reason  string   `json:"reason,omitempty"`
	Message string   `json:"message,omitempty"`
	To      []string `json:"to,omitempty"`
}

// PendingPurge is an old Work that stays on an absent cluster.
type PendingPurge struct {
	Key Key    `json:"key"`
	UID string `json:"uid"`
}

// ReadReport decodes a report, also from within the answer of `lifeboat status <cluster> -o json`.
func ReadReport(content []byte) (Report, error) {
	var answer struct {
		Report
		Status *Report `json:"status"`
	}
	if err := json.Unmarshal(content, &answer); err != nil {
		return answer.Report, fmt.Errorf("decode report: %w", err)
	}
	r := answer.Report
	if answer.Status != nil {
		r = *answer.Status
	}
	if r.Cluster == "" || (r.Phase == "" && r.Ended == "") {
		return r, fmt.Errorf("decode report: it names no cluster or no phase: %.120s", content)
	}
	return r, nil
}

// closed says whether nothing more is to come.
func (r Report) closed() bool {
	return slices.Contains([]string{"FalseAlarm", "Uncordoned", "Recovered", "Cancelled", "Gone"}, r.phase())
}

func (r Report) phase() string {
	if r.Ended != "" {
		return r.Ended
	}
	return r.Phase
}

// attempts are all attempts, the one that runs included.
func (r Report) attempts() []Attempt {
	all := slices.Concat(r.Past, r.Attempts)
	if r.Phase != "" {
		all = append(all, Attempt{Attempt: r.Attempt, Since: r.Since, Until: r.Now, Results: r.Results})
	}
	return all
}

// open says where a binding without an outcome stands; empty when the report does not know it.
func (r Report) open(binding string) string {
	if m, moving := r.Moves[binding]; moving {
		return m.Phase + " " + m.Reason
	}
	for _, i := range r.Items {
		if i.Key.String() == binding && i.Affected {
			return i.State + " " + i.Reason
		}
	}
	return ""
}

// during are the outcomes of one binding in the attempts that overlap a failure, by attempt.
func (r Report) during(f *Failure, binding, uid string) map[int][]Result {
	found := map[int][]Result{}
	for _, attempt := range r.attempts() {
		over := !f.To.IsZero() && attempt.Since.After(f.To)
		if over || (!attempt.Until.IsZero() && attempt.Until.Before(f.From)) {
			continue
		}
		for _, result := range attempt.Results {
			if result.Key.String() == binding && (result.UID == "" || result.UID == uid) {
				found[attempt.Attempt] = append(found[attempt.Attempt], result)
			}
		}
	}
	return found
}

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
