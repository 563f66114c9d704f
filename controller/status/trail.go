package status

import (
	"cmp"
	"context"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	enumspb "go.temporal.io/api/enums/v1"
)

// Selects selects the records of this installation's pacer, and of its failovers, of one cluster if it is named.
func (r HistoryRequest) Selects(instance string) func(*record.Audit) bool {
	return func(x *record.Audit) bool {
		return x.Instance == instance && (ofPacer(x) || x.FailoverID != "" && (r.Cluster == "" || x.Cluster == r.Cluster) &&
			(r.Binding.Name == "" || slices.Contains(x.Bindings, r.Binding.String())))
	}
}

// ofPacer reports whether a record is about the pace.
func ofPacer(x *record.Audit) bool { return x.FailoverID == "" && x.Cluster == "" }

// Pacer are the records about the pace (tiers, rates, halts and orders), in order of time.
func Pacer(records []record.Audit) []record.Audit {
	return slices.DeleteFunc(append([]record.Audit{}, records...), func(x record.Audit) bool { return !ofPacer(&x) })
}

// during are the pacer's records during a failover, and the last pace before it.
func (e PastFailover) during(pacer []record.Audit) []record.Audit {
	var out []record.Audit
	for _, x := range pacer {
		switch {
		case x.Time.After(e.Until):
		case !x.Time.Before(e.Began):
			out = append(out, x)
		case x.Kind == record.AuditPaceChanged:
			out = []record.Audit{x}
		}
	}
	return out
}

// noEnd is the end of a failover without a record of its end.
const noEnd = "no end on record"

// With adds the audit trail: to failovers that Temporal still has, their records and the outcomes that a long
// report only counts; other failovers as a whole. The newest are first, and Most is kept.
func (s Source) With(ctx context.Context, failovers []PastFailover, records []record.Audit, r HistoryRequest) []PastFailover {
	byID := map[string][]record.Audit{}
	for _, x := range records {
		if !ofPacer(&x) {
			byID[x.FailoverID] = append(byID[x.FailoverID], x)
		}
	}
	out := slices.Clone(failovers)
	for n := range out {
		out[n].addRecords(byID[out[n].FailoverID])
		delete(byID, out[n].FailoverID)
	}
	for id, of := range byID {
		if e := s.recorded(id, of); r.selects(e) && (e.Closed == "" || !s.runs(ctx, e)) {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b PastFailover) int { return b.Until.Compare(a.Until) })
	out = out[:min(len(out), cmp.Or(r.Most, defaultHistory))]
	pacer := Pacer(records)
	for n := range out {
		out[n].Fleet = out[n].during(pacer)
	}
	return out
}

// selects reports whether a failover of the trail is selected.
func (r HistoryRequest) selects(e PastFailover) bool {
	if e.Binding == "" {
		return r.takes(workflows.TypeClusterFailover)
	}
	return r.takes(workflows.TypeApplicationFailover) && (r.Binding.Name == "" || e.Binding == r.Binding.String())
}

// recorded is a failover that only the trail has.
func (s Source) recorded(id string, records []record.Audit) PastFailover {
	first, last := records[0], records[len(records)-1]
	e := PastFailover{Closed: noEnd, FromTrail: true}
	e.WorkflowID = workflows.ClusterFailoverID(s.Instance, first.Cluster)
	e.FailoverReport = workflows.FailoverReport{Cluster: first.Cluster, FailoverID: id, Began: first.Time, Until: last.Time}
	for _, x := range records {
		if workflows.IsApplicationFailover(x.Workflow) && len(x.Bindings) == 1 {
			e.Binding, e.Cluster, e.WorkflowID = x.Bindings[0], x.Cluster, x.Workflow
		}
		if x.Kind == record.AuditFailoverClosed {
			e.Ended, e.Until, e.Closed = phase.Failover(x.Phase), x.Time, ""
		}
	}
	e.Link = s.Link(e.WorkflowID)
	e.addRecords(records)
	return e
}

// addRecords adds records to a failover, and the results that it lacks.
func (e *PastFailover) addRecords(records []record.Audit) {
	l := recordFiler{PastFailover: e, at: map[resultKey]int{}}
	e.Trail, e.Attempts = records, slices.Clone(e.Attempts)
	for n := range e.Attempts {
		r := &e.Attempts[n]
		r.Results = slices.Clone(r.Results)
		for at := range r.Results {
			l.at[resultKey{r.Attempt, r.Results[at].Key}] = at
		}
	}
	if !e.FromTrail {
		for _, x := range slices.Backward(records) { // the newest word about a binding counts
			l.take(x)
		}
		return
	}
	for _, x := range records {
		l.take(x)
	}
	if len(e.Attempts) > 0 {
		e.Attempts[len(e.Attempts)-1].Ended = e.Ended
	}
}

// recordFiler files records in a failover; at has the positions of the results.
type recordFiler struct {
	*PastFailover
	at map[resultKey]int
}

type resultKey struct {
	attempt int
	key     karmada.BindingKey
}

// take files one record under its attempt.
func (l recordFiler) take(x record.Audit) {
	if x.Attempt == 0 {
		return
	}
	at := slices.IndexFunc(l.Attempts, func(r workflows.AttemptReport) bool { return r.Attempt == x.Attempt })
	if at < 0 {
		if !l.FromTrail {
			return
		}
		at = len(l.Attempts)
		l.Attempts = append(l.Attempts, workflows.AttemptReport{Attempt: x.Attempt, Since: x.Time, Counts: map[string]int{}})
	}
	r := &l.Attempts[at]
	if l.FromTrail {
		r.Until = x.Time
	}
	if x.Kind == record.AuditAttemptClosed {
		r.Ended = phase.Failover(x.Phase)
	}
	if x.Kind == record.AuditBindingOutcome {
		l.outcome(r, x)
	}
}

// outcome files the outcome of bindings. A report wins over the trail; in the trail the newest record wins.
func (l recordFiler) outcome(r *workflows.AttemptReport, x record.Audit) {
	if l.FromTrail && len(x.Bindings) == 0 {
		for outcome, n := range x.Counts {
			r.Counts[outcome] += n
			r.Folded += n
		}
	}
	for _, name := range x.Bindings {
		key, _ := karmada.ParseBindingKey(name)
		result := record.Result{
			Key: key, Resource: x.Resource, Outcome: x.Outcome, Reason: x.Reason, Cause: x.Cause, Message: x.Message, To: x.To, At: x.Time,
		}
		at, known := l.at[resultKey{r.Attempt, key}]
		switch {
		case known && !l.FromTrail:
			continue
		case known:
			r.Counts[string(r.Results[at].Outcome)]--
			r.Counts[string(x.Outcome)]++
			r.Results[at] = result
			continue
		case l.FromTrail:
			r.Counts[string(x.Outcome)]++
		case r.Folded == 0:
			continue
		default:
			r.Folded--
		}
		l.at[resultKey{r.Attempt, key}] = len(r.Results)
		r.Results = append(r.Results, result)
	}
}

// runs reports whether a failover without a recorded end still runs.
func (s Source) runs(ctx context.Context, e PastFailover) bool {
	if s.Client == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	d, err := s.Client.DescribeWorkflowExecution(ctx, e.WorkflowID, "")
	if err != nil {
		return false
	}
	info := d.GetWorkflowExecutionInfo()
	return info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING && info.GetFirstRunId() == e.FailoverID
}
