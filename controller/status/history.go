package status

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"k8s.io/apimachinery/pkg/types"
)

// HistoryRequest selects closed failovers.
type HistoryRequest struct {
	// Cluster selects those of one cluster, Binding those of one application; without both, all of a type of
	// workflow, or of both types if it is empty.
	Cluster string
	Binding karmada.BindingKey
	Type    string
	// Moving leaves out failovers of clusters that ended before any workload moved.
	Moving bool
	// Most bounds how many are read, the newest first; 0 is 20.
	Most int
}

// takes reports whether failovers of a type of workflow are selected.
func (r HistoryRequest) takes(kind string) bool {
	switch {
	case r.Cluster != "":
		return kind == workflows.TypeClusterFailover
	case r.Binding.Name != "":
		return kind == workflows.TypeApplicationFailover
	}
	return r.Type == "" || r.Type == kind
}

// PastFailover is a closed failover of a cluster or an application.
type PastFailover struct {
	workflows.FailoverReport
	// Binding is the application, empty for the failover of a cluster. Cluster is then what its last migration
	// left, and Ended a phase of an ApplicationFailover.
	Binding    string `json:"binding,omitempty"`
	WorkflowID string `json:"workflowID"`
	RunID      string `json:"runID"`
	Link       string `json:"link,omitempty"`
	// Closed is how it ended if it did not complete (terminated, failed), or that its report cannot be read.
	Closed string `json:"closed,omitempty"`
	// FromTrail reports that Temporal does not have it any more: all of this is from the audit trail.
	FromTrail bool `json:"fromTrail,omitempty"`
	// Trail is its part of the audit trail, the oldest first.
	Trail []record.Audit `json:"trail,omitempty"`
	// Fleet is the audit trail of the pace during the failover: tiers, rates, halts and orders. The first record
	// may be from before it.
	Fleet []record.Audit `json:"fleet,omitempty"`
}

// Totals are the outcomes of all attempts.
func (e PastFailover) Totals() map[phase.Outcome]int {
	out := map[phase.Outcome]int{}
	for _, r := range e.Attempts {
		for outcome, n := range r.Counts {
			out[phase.Outcome(outcome)] += n
		}
	}
	return out
}

// defaultHistory is how many failovers are read by default.
const defaultHistory = 20

// History reads the reports of closed failovers that Temporal still has, the newest first.
func (s Source) History(ctx context.Context, r HistoryRequest) ([]PastFailover, error) {
	closed, err := s.closed(ctx, r)
	if err != nil {
		return nil, err
	}
	failovers := []PastFailover{}
	for _, run := range closed {
		e, err := s.failoverRun(ctx, run)
		if err != nil {
			return nil, err
		}
		failovers = append(failovers, e)
	}
	return failovers, nil
}

// closed lists closed runs, the newest first.
func (s Source) closed(ctx context.Context, r HistoryRequest) ([]*workflowpb.WorkflowExecutionInfo, error) {
	var found []*workflowpb.WorkflowExecutionInfo
	most := cmp.Or(r.Most, defaultHistory)
	for _, of := range []struct{ kind, prefix, id string }{
		{workflows.TypeClusterFailover, workflows.ClusterFailoverID(s.Instance, ""), workflows.ClusterFailoverID(s.Instance, r.Cluster)},
		{workflows.TypeApplicationFailover, workflows.ApplicationFailoverPrefix(s.Instance), workflows.ApplicationFailoverID(s.Instance, r.Binding)},
	} {
		if !r.takes(of.kind) {
			continue
		}
		where := closedRuns
		if r.Cluster != "" || r.Binding.Name != "" {
			where += fmt.Sprintf(" AND WorkflowId = '%s'", strings.ReplaceAll(of.id, "'", ""))
		}
		if r.Moving {
			where += movingRuns
		}
		n := 0
		for run, err := range s.executions(ctx, of.kind, of.prefix, where) {
			if err != nil {
				return nil, fmt.Errorf("list failovers that are over: %w", err)
			}
			found = append(found, run)
			if n++; n == most { // Temporal lists the newest first
				break
			}
		}
	}
	slices.SortStableFunc(found, func(a, b *workflowpb.WorkflowExecutionInfo) int {
		return b.GetCloseTime().AsTime().Compare(a.GetCloseTime().AsTime())
	})
	return found[:min(len(found), most)], nil
}

// closedRuns selects closed runs, without those that continued as new.
const closedRuns = "ExecutionStatus != 'Running' AND ExecutionStatus != 'ContinuedAsNew'"

// movingRuns leaves out the runs that ended before any workload moved. A run publishes its last phase before it
// closes; one that was terminated before it published any is left out, too, and has no report.
var movingRuns = fmt.Sprintf(" AND %s NOT IN ('%s', '%s')",
	workflows.SearchPhase.GetName(), phase.FailoverFalseAlarm, phase.FailoverUncordoned)

// failoverRun reads one report. A terminated or failed run has none.
func (s Source) failoverRun(ctx context.Context, run *workflowpb.WorkflowExecutionInfo) (PastFailover, error) {
	id, runID := run.GetExecution().GetWorkflowId(), run.GetExecution().GetRunId()
	e := PastFailover{WorkflowID: id, RunID: runID, Link: s.Link(id)}
	if name, of := strings.CutPrefix(id, workflows.ApplicationFailoverPrefix(s.Instance)); of {
		e.Binding = name
	} else {
		e.Cluster = strings.TrimPrefix(id, workflows.ClusterFailoverID(s.Instance, ""))
	}
	e.Began, e.Until = run.GetStartTime().AsTime(), run.GetCloseTime().AsTime()
	if run.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		e.Closed = strings.ToLower(run.GetStatus().String())
		e.FailoverID = cmp.Or(run.GetFirstRunId(), runID)
		return e, nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	report, err := reportOf(ctx, s.Client.GetWorkflow(ctx, id, runID), &e)
	switch {
	case err == nil:
		e.FailoverReport = report
	case process.IsA[serviceerror.ServiceError](err) || ctx.Err() != nil:
		return e, fmt.Errorf("read the report of %s: %w", id, err)
	default: // nonsense, or encrypted with a key that is gone: that costs no other report
		e.Closed, e.FailoverID = "completed, its report cannot be read", cmp.Or(run.GetFirstRunId(), runID)
	}
	return e, nil
}

// reportOf reads the report of a run in the form of its type.
func reportOf(ctx context.Context, run client.WorkflowRun, e *PastFailover) (report workflows.FailoverReport, err error) {
	if e.Binding == "" {
		err = run.Get(ctx, &report)
		report.Paid()
		return report, err
	}
	var application workflows.ApplicationReport
	if err = run.Get(ctx, &application); err == nil {
		e.Binding = application.Binding.String() // that of the id may be shortened
	}
	return application.Failover(), err
}

// Last is the result of the last migration of an application, empty without one.
func (e PastFailover) Last() record.Result {
	if len(e.Attempts) == 0 || len(e.Attempts[len(e.Attempts)-1].Results) == 0 {
		return record.Result{}
	}
	return e.Attempts[len(e.Attempts)-1].Results[0]
}

// Name is the cluster, or the binding of an application.
func (e PastFailover) Name() string { return cmp.Or(e.Binding, e.Cluster) }

// Explain queries the failover of a cluster about one binding.
func (s Source) Explain(ctx context.Context, cluster string, r workflows.ExplainRequest) (workflows.Explanation, error) {
	id := workflows.ClusterFailoverID(s.Instance, cluster)
	x, err := query[workflows.Explanation](ctx, s, id, workflows.QueryExplain, r)
	return x, inTerms(cluster, err)
}

// Migration queries the migration of one binding off a cluster.
func (s Source) Migration(ctx context.Context, cluster string, key karmada.BindingKey) (workflows.MigrationStatus, error) {
	id := workflows.BindingMigrationID(s.Instance, cluster, key)
	return query[workflows.MigrationStatus](ctx, s, id, workflows.QueryStatus)
}

// OldWork is the Work that a running migration holds, nil if it does not know its uid. A plan reads it as a write
// does.
func (s Source) OldWork(ctx context.Context, workflowID string) (*karmada.Work, error) {
	m, err := query[workflows.MigrationStatus](ctx, s, workflowID, workflows.QueryStatus)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", workflowID, err)
	}
	return m.OldWork, nil
}

// Application queries the failover of one application, the latest if none runs.
func (s Source) Application(ctx context.Context, key karmada.BindingKey) (workflows.ApplicationStatus, error) {
	id := workflows.ApplicationFailoverID(s.Instance, key)
	a, err := query[workflows.ApplicationStatus](ctx, s, id, workflows.QueryStatus)
	return a, inTerms(key.String(), err)
}

// UnknownCopy is an old copy that may still run on a member: its Work was deleted with the Cluster object, and the
// deletion of the copy was not observed.
type UnknownCopy struct {
	Binding string `json:"binding"`
	// Since is when the failover that moved the binding closed.
	Since time.Time `json:"since"`
}

// mostMoving bounds how many closed failovers are searched for copies of unknown state.
const mostMoving = 100

// WithUnknown adds the unknown copies of earlier failovers of the same cluster name. False alarms, of which a cluster
// may have many, left none.
func (s Source) WithUnknown(ctx context.Context, f Failover) Failover {
	failovers, err := s.History(ctx, HistoryRequest{Cluster: f.Cluster, Moving: true, Most: mostMoving})
	if err != nil {
		f.Unread = "copies of unknown state: " + inWords(err)
		return f
	}
	if len(failovers) == mostMoving {
		f.Unread = fmt.Sprintf("copies of unknown state that failovers older than the newest %d left", mostMoving)
	}
	var uid types.UID
	if f.FailoverStatus != nil {
		uid = f.UID
	}
	f.UnknownCopies = unknownCopies(failovers, uid)
	return f
}

// unknownCopies are the pending purges of failovers, the newest first, whose Cluster had another uid than the
// current one, or was deleted while they ran.
func unknownCopies(failovers []PastFailover, uid types.UID) []UnknownCopy {
	var out []UnknownCopy
	for _, e := range failovers {
		rejoined := uid != "" && e.UID != "" && e.UID != uid
		if e.Ended == phase.FailoverGone || rejoined {
			for _, d := range e.PendingPurges {
				out = append(out, UnknownCopy{Binding: d.Key.String(), Since: e.Until})
			}
		}
		uid = cmp.Or(e.UID, uid)
	}
	return out
}

// namedCopies bounds the copies that a line names.
const namedCopies = 20

// unknown draws the unknown copies.
func (v View) unknown(cluster string, copies []UnknownCopy, beyond int) {
	if len(copies)+beyond == 0 {
		return
	}
	names := reason.Texts(copies[:min(namedCopies, len(copies))], func(c UnknownCopy) string { return c.Binding })
	slices.Sort(names)
	more := ""
	if n := len(copies) + beyond - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	v.Wrapped("", fmt.Sprintf("Copies of unknown state: %d were moved away from a Cluster %s that was deleted, and may still run on the member: %s%s",
		len(copies)+beyond, cluster, strings.Join(names, ", "), more))
}
