package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Question is what the ledger is asked to judge.
type Question struct {
	// Clusters limits the judgement; empty means every cluster that failed.
	Clusters []string `json:"clusters,omitempty"`
	Reports  []Report `json:"reports"`
	// Rate is the allowed evictions per second, 0 to leave the pace alone. Chunk of them, and one second's
	// worth, may come at once.
	Rate  float64 `json:"rate,omitempty"`
	Chunk int     `json:"chunk,omitempty"`
}

// Verdict is the ledger's judgement.
type Verdict struct {
	OK        bool      `json:"ok"`
	At        time.Time `json:"at"`
	Checks    []Check   `json:"checks"`
	Rows      []Row     `json:"rows"`
	Evictions Evictions `json:"evictions"`
}

// Check is one thing that must hold.
type Check struct {
	Name string `json:"name"`
	// Looked is how many things were looked at: a check that looked at nothing shows nothing.
	Looked   int      `json:"looked"`
	Problems []string `json:"problems,omitempty"`
}

// Row is one affected binding: what happened to it and what the report says.
type Row struct {
	Cluster  string `json:"cluster"`
	Binding  string `json:"binding"`
	Kind     string `json:"kind"`
	Seen     string `json:"seen"`
	Reported string `json:"reported"`
	Reason   string `json:"reason,omitempty"`
	To       string `json:"to,omitempty"`
	OK       bool   `json:"ok"`
}

// Evictions sums up the writes that took a cluster out.
type Evictions struct {
	Count int `json:"count"`
	// Fastest is the highest number within any one second.
	Fastest int       `json:"fastest"`
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"`
}

// judgement is one judgement under way.
type judgement struct {
	*Journal
	at       time.Time
	question Question
	verdict  Verdict
}

// Judge compares what was seen until now with what the reports say.
func (j *Journal) Judge(at time.Time, q Question) Verdict {
	j.mu.Lock()
	defer j.mu.Unlock()
	g := &judgement{Journal: j, at: at, question: q, verdict: Verdict{At: at}}
	g.verdict.Checks = []Check{
		g.outcomes(), g.needless(), g.coverage(), g.releases(), g.pace(), g.leftovers(),
	}
	g.verdict.OK = !slices.ContainsFunc(g.verdict.Checks, func(c Check) bool { return len(c.Problems) > 0 })
	return g.verdict
}

func (g *judgement) covers(cluster string) bool {
	return len(g.question.Clusters) == 0 || slices.Contains(g.question.Clusters, cluster)
}

func (g *judgement) reports(cluster string) []Report {
	return slices.DeleteFunc(slices.Clone(g.question.Reports), func(r Report) bool { return r.Cluster != cluster })
}

// outcomes: every affected binding has exactly one, and it is what happened.
func (g *judgement) outcomes() Check {
	check := Check{Name: "every affected binding has exactly one outcome, the one that happened"}
	for _, f := range g.failures {
		if !g.covers(f.Cluster) {
			continue
		}
		for _, a := range sorted(f.Affected) {
			check.Looked++
			if problem := g.outcome(f, a); problem != "" {
				check.Problems = append(check.Problems, fmt.Sprintf("%s on %s: %s", a.Binding, f.Cluster, problem))
			}
		}
	}
	return check
}

func sorted(affected map[string]*Affected) []*Affected {
	return slices.SortedFunc(maps.Values(affected), func(a, b *Affected) int { return strings.Compare(a.Binding, b.Binding) })
}

// outcome compares one binding's end with its report; empty when they agree.
func (g *judgement) outcome(f *Failure, a *Affected) string {
	m := g.lastMove(f, a)
	row := Row{Cluster: f.Cluster, Binding: a.Binding, Kind: a.Kind, Seen: seen(a, m)}
	problem := g.compareOutcome(f, a, m, &row)
	row.OK = problem == ""
	g.verdict.Rows = append(g.verdict.Rows, row)
	return problem
}

func (g *judgement) compareOutcome(f *Failure, a *Affected, m *Move, row *Row) string {
	reports := g.reports(f.Cluster)
	if len(reports) == 0 {
		return "there is no report about this cluster"
	}
	var results []Result
	open, closed := "", true
	for _, r := range reports {
		for attempt, found := range r.during(f, a.Binding, a.UID) {
			if len(found) > 1 {
				return fmt.Sprintf("%d outcomes in attempt %d", len(found), attempt)
			}
			results = append(results, found...)
		}
		closed = closed && r.closed()
		if where := r.open(a.Binding); where != "" {
			open = where
		}
	}
	if len(results) == 0 {
		row.Reported = open
		return unfinished(open, closed)
	}
	last := results[len(results)-1]
	row.Reported, row.Reason, row.To = last.Outcome, last.Reason, strings.Join(last.To, ", ")
	return g.disagree(last, f, a, m)
}

func unfinished(open string, closed bool) string {
	switch {
	case open == "":
		return "it is affected, and the report does not know it"
	case closed:
		return "the failover is over, and it is still " + open
	default:
		return ""
	}
}

// lastMove is the newest move that began in the failure, nil when there is none.
func (g *judgement) lastMove(f *Failure, a *Affected) *Move {
	var last *Move
	for _, m := range g.moves {
		if m.UID != a.UID || m.Cluster != f.Cluster || m.At.Before(f.From) || (!f.To.IsZero() && m.At.After(f.To)) {
			continue
		}
		last = m
	}
	return last
}

// seen says in words what happened to a binding.
func seen(a *Affected, m *Move) string {
	switch {
	case a.Gone:
		return "deleted"
	case m == nil && a.Left:
		return "moved by others"
	case m == nil:
		return "untouched"
	case m.End == Standing:
		return "held"
	case m.End == EndReleased && !m.Back.IsZero():
		return "moved, came back later"
	case m.End == EndReleased:
		return "moved"
	default:
		return string(m.End)
	}
}

// disagree says how an outcome differs from what happened; empty when it does not.
func (g *judgement) disagree(r Result, f *Failure, a *Affected, m *Move) string {
	happened := seen(a, m)
	wrong := fmt.Sprintf("reported %s (%s), seen: %s", r.Outcome, r.Reason, happened)
	switch r.Outcome {
	case "Migrated":
		return g.checkMigrated(r, f, m, wrong)
	case "Restored":
		if m == nil || m.End != EndRestored {
			return wrong
		}
		if m.OldWork != m.NewWork {
			return fmt.Sprintf("reported Restored, but its Work is another one now (%s, was %s)", m.NewWork, m.OldWork)
		}
	case "Abandoned", "Skipped":
		if m != nil {
			return wrong
		}
	case "MovedByOthers":
		if m != nil || !a.Left {
			return wrong
		}
	case "Gone":
		if !a.Gone && g.clusters[f.Cluster] != nil {
			return wrong
		}
	case "Kept", "NeedsOperator":
		if m == nil || m.Reason != map[string]string{"Kept": reasonKept, "NeedsOperator": reasonNeedsOperator}[r.Outcome] {
			return wrong
		}
	default:
		return "reported " + r.Outcome + ", which is no end"
	}
	return ""
}

func (g *judgement) checkMigrated(r Result, f *Failure, m *Move, wrong string) string {
	if m == nil || m.End != EndReleased {
		return wrong
	}
	for _, cluster := range r.To {
		if cluster == f.Cluster || !slices.Contains(m.To, cluster) {
			return fmt.Sprintf("reported to serve on %s, seen on %s", strings.Join(r.To, ", "), orNone(m.To))
		}
	}
	return ""
}

// needless: the report tells of no binding that was neither affected nor evicted.
func (g *judgement) needless() Check {
	check := Check{Name: "nothing is reported that did not have to move"}
	known := map[string]bool{}
	for _, f := range g.failures {
		for _, a := range f.Affected {
			known[f.Cluster+" "+a.Binding] = true
		}
	}
	for _, m := range g.moves {
		known[m.Cluster+" "+m.Binding] = true
	}
	for _, r := range g.question.Reports {
		for _, attempt := range r.attempts() {
			for _, result := range attempt.Results {
				check.Looked++
				if !known[r.Cluster+" "+result.Key.String()] {
					check.Problems = append(check.Problems, fmt.Sprintf("%s on %s: reported %s, but it was not affected", result.Key, r.Cluster, result.Outcome))
				}
			}
		}
	}
	return check
}

// touched are the bindings that this judgement is about.
func (g *judgement) touched() map[string]bool {
	names := map[string]bool{}
	for _, f := range g.failures {
		for _, a := range f.Affected {
			if g.covers(f.Cluster) {
				names[a.Binding] = true
			}
		}
	}
	for _, m := range g.moves {
		if g.covers(m.Cluster) {
			names[m.Binding] = true
		}
	}
	return names
}

// coverage: no workload was without a running or held copy.
func (g *judgement) coverage() Check {
	check := Check{Name: "no workload was ever without a running or held copy"}
	touched := g.touched()
	check.Looked = len(touched)
	for _, gap := range g.gaps {
		to := gap.To
		if to.IsZero() {
			to = g.at
		}
		if lasted := to.Sub(gap.From); touched[gap.Binding] && lasted > skew {
			check.Problems = append(check.Problems, fmt.Sprintf("%s: no running and no held copy for %s from %s on (%s)",
				gap.Binding, lasted.Round(10*time.Millisecond), gap.From.Format("15:04:05.000"), gap.Why))
		}
	}
	return check
}

// releases: an old copy was let go only where others carried the load.
func (g *judgement) releases() Check {
	check := Check{Name: "an old copy was let go only after the new ones were ready"}
	for _, m := range g.moves {
		if g.covers(m.Cluster) && m.End == EndReleased {
			check.Looked++
		}
	}
	for _, b := range g.bare {
		if g.covers(b.Cluster) {
			check.Problems = append(check.Problems, fmt.Sprintf("%s: the hold on %s was dropped at %s with %s",
				b.Binding, b.Cluster, b.At.Format("15:04:05.000"), b.Why))
		}
	}
	return check
}

// pace: over any time T there are at most rate·T, one chunk and one second's worth of evictions.
func (g *judgement) pace() Check {
	check := Check{Name: "evictions keep the pace"}
	var times []time.Time
	for _, m := range g.moves {
		if m.Evicted {
			times = append(times, m.At)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	check.Looked = len(times)
	g.verdict.Evictions = sumUp(times)
	if g.question.Rate <= 0 {
		check.Looked = 0
		return check
	}
	chunk := float64(max(g.question.Chunk, 1)) + g.question.Rate
	for i := range times {
		for k := i + 1; k < len(times); k++ {
			span := times[k].Sub(times[i]) + skew
			if count := k - i + 1; float64(count) > g.question.Rate*span.Seconds()+chunk {
				check.Problems = append(check.Problems, fmt.Sprintf("%d evictions in %s from %s on, allowed are %g/s and %g at once",
					count, times[k].Sub(times[i]).Round(time.Millisecond), times[i].Format("15:04:05.000"), g.question.Rate, chunk))
				return check
			}
		}
	}
	return check
}

func sumUp(times []time.Time) Evictions {
	e := Evictions{Count: len(times)}
	if len(times) == 0 {
		return e
	}
	e.First, e.Last = times[0], times[len(times)-1]
	for i, from := range times {
		within := 0
		for _, t := range times[i:] {
			if t.Sub(from) < time.Second {
				within++
			}
		}
		e.Fastest = max(e.Fastest, within)
	}
	return e
}
