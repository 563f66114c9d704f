// Package status queries the workflows of failovers and shows the answers as tables, JSON or YAML. It changes
// nothing, and lists what it could not read.
package status

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"
)

// ErrNotFound is returned for a cluster without a running or closed failover.
var ErrNotFound = errors.New("no failover")

// queryTimeout bounds one query: no worker may run.
const queryTimeout = 5 * time.Second

// Failover is the state of the failover of one cluster.
type Failover struct {
	Cluster    string `json:"cluster"`
	WorkflowID string `json:"workflowID"`
	Link       string `json:"link,omitempty"`
	// Unanswered is why the workflow did not answer; then FailoverStatus is nil.
	Unanswered string `json:"unanswered,omitempty"`
	// Runbook has the URLs of the reasons of bindings that wait or need attention.
	Runbook map[reason.Reason]string `json:"runbook,omitempty"`
	// UnknownCopies may run on a member whose Cluster object was deleted.
	UnknownCopies []UnknownCopy `json:"unknownCopies,omitempty"`
	// Unread is what else could not be read.
	Unread string `json:"unread,omitempty"`
	*workflows.FailoverStatus
}

// Kept is a hold task that only an operator ends. The binding cannot return to its cluster meanwhile.
type Kept struct {
	Binding string `json:"binding"`
	Cluster string `json:"cluster"`
	Reason  string `json:"reason"`
	Owner   string `json:"owner,omitempty"`
}

// Overview is the state of the fleet.
type Overview struct {
	// Pacer is nil when it did not answer.
	Pacer     *workflows.PacerStatus `json:"pacer,omitempty"`
	Failovers []Failover             `json:"failovers"`
	Kept      []Kept                 `json:"kept,omitempty"`
	// Applications are those whose failover runs.
	Applications []workflows.ApplicationStatus `json:"applications,omitempty"`
	// Runbook has the URL of the reason of an unusual pace.
	Runbook map[reason.Reason]string `json:"runbook,omitempty"`
	// Unread lists what could not be read.
	Unread []string `json:"unread,omitempty"`
	// Unanswered is why the pacer did not answer, empty also where none runs.
	Unanswered string `json:"-"`
}

// Source is where the answers come from.
type Source struct {
	Client    client.Client
	Namespace string
	Instance  string
	UI        string
	// Runbook is the URL of the runbook, empty without one.
	Runbook string
	// Bindings is nil if Karmada is not read.
	Bindings activities.BindingLister
	last     *lastKept // nil: kept reads it each time
}

// Link is the page of a workflow in the Temporal UI, empty without a UI.
func (s Source) Link(workflowID string) string {
	if s.UI == "" {
		return ""
	}
	return fmt.Sprintf("%s/namespaces/%s/workflows/%s", strings.TrimRight(s.UI, "/"), url.PathEscape(s.Namespace), url.PathEscape(workflowID))
}

// Overview queries the pacer and every running failover, and lists the kept tasks in Karmada.
func (s Source) Overview(ctx context.Context) (Overview, error) {
	failovers, err := s.Failovers(ctx)
	if err != nil {
		return Overview{}, err
	}
	all := Overview{Failovers: failovers}
	if pacer, why := s.Pacer(ctx); why != "" {
		all.Unread = append(all.Unread, "pacer: "+why)
		if why != notRunning {
			all.Unanswered = why
		}
	} else {
		all.Pacer = &pacer
		all.Runbook = s.lookUpPace(&pacer)
	}
	applications, unread := s.applications(ctx)
	all.Applications, all.Unread = applications, append(all.Unread, unread...)
	if s.Bindings != nil {
		if all.Kept, err = s.kept(ctx); err != nil {
			all.Unread = append(all.Unread, "what was kept or left to an operator: "+inWords(err))
		}
	}
	return all, nil
}

// atOnce bounds the concurrent queries: without a worker each takes its whole timeout.
const atOnce = 8

// Each calls query for every number below n, some at a time.
func Each(n int, query func(int)) {
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i := range n {
		all.Go(func() error {
			query(i)
			return nil
		})
	}
	_ = all.Wait() // no answer is an error
}

// Failovers queries every running failover of a cluster, by name.
func (s Source) Failovers(ctx context.Context) ([]Failover, error) {
	clusters, err := s.Running(ctx)
	if err != nil {
		return nil, err
	}
	answers, errs := make([]Failover, len(clusters)), make([]error, len(clusters))
	Each(len(clusters), func(n int) { answers[n], errs[n] = s.Failover(ctx, clusters[n]) })
	all := []Failover{}
	for n, err := range errs {
		if !errors.Is(err, ErrNotFound) { // else it is closed since
			all = append(all, answers[n])
		}
	}
	return all, nil
}

// Pacer queries the pacer; why is not empty when it did not answer.
func (s Source) Pacer(ctx context.Context) (pacer workflows.PacerStatus, why string) {
	pacer, err := query[workflows.PacerStatus](ctx, s, workflows.FleetPacerID(s.Instance), workflows.QueryStatus)
	return pacer, inWords(err)
}

// Probed queries the pacer for the results of the external probe of earlier leaders; without a pacer there are
// none.
func (s Source) Probed(ctx context.Context) (rules.Probed, error) {
	pacer, err := query[workflows.PacerStatus](ctx, s, workflows.FleetPacerID(s.Instance), workflows.QueryStatus)
	if process.IsA[*serviceerror.NotFound](err) {
		return nil, nil
	}
	return pacer.Probed, err
}

// Failover queries the failover of one cluster, the latest if none runs.
func (s Source) Failover(ctx context.Context, cluster string) (Failover, error) {
	f := Failover{Cluster: cluster, WorkflowID: workflows.ClusterFailoverID(s.Instance, cluster)}
	f.Link = s.Link(f.WorkflowID)
	answer, err := query[workflows.FailoverStatus](ctx, s, f.WorkflowID, workflows.QueryStatus)
	switch err = inTerms(cluster, err); {
	case errors.Is(err, ErrNotFound):
		return f, err
	case err != nil:
		f.Unanswered = err.Error()
	default:
		f.FailoverStatus = &answer
		f.Runbook = s.lookUp(&answer)
	}
	return f, nil
}

// inTerms converts an error to an operator's terms.
func inTerms(cluster string, err error) error {
	switch {
	case err == nil:
		return nil
	case process.IsA[*serviceerror.NotFound](err):
		return fmt.Errorf("%w of cluster %s runs or is kept; lifeboat status lists those that run", ErrNotFound, cluster)
	default:
		return errors.New(inWords(err))
	}
}

// query queries a workflow. One that was terminated, or failed, is not found: its last state would look like that of
// one that runs.
func query[T any](ctx context.Context, s Source, id, name string, args ...any) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	got, err := s.Client.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: id, QueryType: name, Args: args, QueryRejectCondition: enumspb.QUERY_REJECT_CONDITION_NOT_COMPLETED_CLEANLY,
	})
	switch {
	case err != nil:
		return answer, err
	case got.QueryRejected.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW: // in the moment of the query
		return query[T](ctx, s, id, name, args...)
	case got.QueryRejected != nil:
		return answer, serviceerror.NewNotFound(id + " did not complete")
	}
	err = got.QueryResult.Get(&answer)
	return answer, err
}

// notRunning is said of a workflow that does not run.
const notRunning = "not running"

// inWords is an error in an operator's terms, empty without one.
func inWords(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded), process.IsA[*serviceerror.DeadlineExceeded](err):
		return "no answer within " + queryTimeout.String() + "; is a lifeboat-worker running?"
	case process.IsA[*serviceerror.NotFound](err):
		return notRunning
	default:
		return err.Error()
	}
}

// Running lists the clusters with a running failover. The list may be a second old.
func (s Source) Running(ctx context.Context) ([]string, error) {
	var clusters []string
	prefix := workflows.ClusterFailoverID(s.Instance, "")
	for run, err := range s.executions(ctx, workflows.TypeClusterFailover, prefix, runningRuns) {
		if err != nil {
			return nil, fmt.Errorf("list running failovers: %w", err)
		}
		clusters = append(clusters, strings.TrimPrefix(run.GetExecution().GetWorkflowId(), prefix))
	}
	slices.Sort(clusters)
	return slices.Compact(clusters), nil
}

// mostApplications bounds how many failovers of applications are queried, and applicationsWithin for how long.
const (
	mostApplications   = 100
	applicationsWithin = 2 * queryTimeout
)

// applications queries the failovers of applications that run; unread is what could not be read of them.
func (s Source) applications(ctx context.Context) (all []workflows.ApplicationStatus, unread []string) {
	ids, more, err := s.runningApplications(ctx)
	if err != nil {
		unread = append(unread, "applications: "+inWords(err))
	}
	if more {
		unread = append(unread, fmt.Sprintf("applications: more than %d fail over, and no more were queried", mostApplications))
	}
	answers, errs := make([]workflows.ApplicationStatus, len(ids)), make([]error, len(ids))
	within, cancel := context.WithTimeout(ctx, applicationsWithin)
	defer cancel()
	Each(len(ids), func(n int) {
		answers[n], errs[n] = query[workflows.ApplicationStatus](within, s, ids[n], workflows.QueryStatus)
	})
	silent, why := 0, ""
	for n, err := range errs {
		switch {
		case err == nil:
			all = append(all, answers[n])
		case !process.IsA[*serviceerror.NotFound](err): // else it is closed since
			silent, why = silent+1, inWords(err)
		}
	}
	if silent > 0 {
		unread = append(unread, fmt.Sprintf("applications: %d of %d did not answer: %s", silent, len(ids), why))
	}
	slices.SortFunc(all, func(a, b workflows.ApplicationStatus) int { return a.Key.Compare(b.Key) })
	return all, unread
}

// runningApplications are the ids of running failovers of applications; more: there are others.
func (s Source) runningApplications(ctx context.Context) (ids []string, more bool, err error) {
	prefix := workflows.ApplicationFailoverPrefix(s.Instance)
	for run, err := range s.executions(ctx, workflows.TypeApplicationFailover, prefix, runningRuns) {
		switch {
		case err != nil:
			return ids, false, err
		case len(ids) == mostApplications:
			return ids, true, nil
		}
		ids = append(ids, run.GetExecution().GetWorkflowId())
	}
	return ids, false, nil
}

// runningRuns selects the runs that have not ended.
const runningRuns = "ExecutionStatus = 'Running'"

// executions lists the runs of this installation's workflows of a type, page by page. It ends after an error.
func (s Source) executions(ctx context.Context, kind, prefix, where string) iter.Seq2[*workflowpb.WorkflowExecutionInfo, error] {
	return func(yield func(*workflowpb.WorkflowExecutionInfo, error) bool) {
		for token := []byte(nil); ; {
			page, err := s.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
				Namespace: s.Namespace, NextPageToken: token, Query: fmt.Sprintf("WorkflowType = '%s' AND %s", kind, where),
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, run := range page.GetExecutions() {
				if strings.HasPrefix(run.GetExecution().GetWorkflowId(), prefix) && !yield(run, nil) {
					return
				}
			}
			if token = page.GetNextPageToken(); len(token) == 0 {
				return
			}
		}
	}
}

// keptAge is the age from which a live view lists again what was kept: the list reads every binding.
const keptAge = time.Minute

// lastKept is what was kept when it was last listed.
type lastKept struct {
	at   time.Time
	kept []Kept
	err  error
}

// Cached is the source of a live view.
func (s Source) Cached() Source {
	s.last = &lastKept{}
	return s
}

func (s Source) kept(ctx context.Context) ([]Kept, error) {
	if s.last == nil {
		return s.listKept(ctx)
	}
	if time.Since(s.last.at) >= keptAge {
		s.last.kept, s.last.err = s.listKept(ctx)
		s.last.at = time.Now()
	}
	return s.last.kept, s.last.err
}

func (s Source) listKept(ctx context.Context) ([]Kept, error) {
	var kept []Kept
	for b, err := range activities.AllBindings(ctx, s.Bindings) {
		if err != nil {
			return nil, err
		}
		for _, task := range b.Tasks {
			if task.LeftForGood() {
				kept = append(kept, Kept{Binding: b.Key.String(), Cluster: task.FromCluster, Reason: task.Reason, Owner: task.Message})
			}
		}
	}
	return kept, nil
}

// lookUp has the URLs of the reasons of what is blocked or needs attention.
func (s Source) lookUp(e *workflows.FailoverStatus) map[reason.Reason]string {
	reasons := slices.Clone(e.Attention)
	for _, m := range e.Migrations {
		if m.Attention != reason.None {
			reasons = append(reasons, m.Attention, m.Reason)
		}
	}
	for _, i := range e.Items {
		if i.State == queue.Blocked || i.State == queue.Fence {
			reasons = append(reasons, i.Reason)
		}
	}
	return reason.LookUp(s.Runbook, reasons...)
}

// lookUpPace has the URL of the reason of an unusual pace.
func (s Source) lookUpPace(p *workflows.PacerStatus) map[reason.Reason]string {
	if p.Pace.Tier == pace.TierNormal {
		return nil
	}
	return reason.LookUp(s.Runbook, p.Pace.Reason)
}
