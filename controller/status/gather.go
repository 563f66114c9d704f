// Package status shows an operator how failovers stand: it queries each workflow
// itself and shows the answers as tables, JSON or YAML.
//
// It changes nothing, and says what it could not read instead of leaving it out.
package status

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// ErrNotFound is returned for a cluster that has, and had, no failover.
var ErrNotFound = errors.New("no failover")

// queryTimeout bounds one query: without a worker there is no answer.
const queryTimeout = 5 * time.Second

// Failover is how the failover of one cluster stands.
type Failover struct {
	Cluster    string `json:"cluster"`
	WorkflowID string `json:"workflowID"`
	Link       string `json:"link,omitempty"`
	// Unanswered says why the workflow did not answer; then FailoverStatus is nil.
	Unanswered string `json:"unanswered,omitempty"`
	// Runbook says where to look up the reasons of what waits or needs attention.
	Runbook map[reason.Reason]string `json:"runbook,omitempty"`
	// UnknownCopies may run on a member whose Cluster object was deleted.
	UnknownCopies []UnknownCopy `json:"unknownCopies,omitempty"`
	// Unread says what could not be read beside it.
	Unread string `json:"unread,omitempty"`
	*workflows.FailoverStatus
}

// Kept is a hold task that an operator has to end: it bans its cluster for the binding.
type Kept struct {
	Binding string `json:"binding"`
	Cluster string `json:"cluster"`
	Reason  string `json:"reason"`
	Owner   string `json:"owner,omitempty"`
}

// Overview is how the fleet stands.
type Overview struct {
	// Pacer is nil when it did not answer.
	Pacer     *workflows.PacerStatus `json:"pacer,omitempty"`
	Failovers []Failover             `json:"failovers"`
	Kept      []Kept                 `json:"kept,omitempty"`
	// Runbook says where to look up why the pace is not the usual one.
	Runbook map[reason.Reason]string `json:"runbook,omitempty"`
	// Unread says what could not be read.
	Unread []string `json:"unread,omitempty"`
}

// Bindings reads bindings from Karmada.
type Bindings interface {
	Bindings(ctx context.Context, page activities.Page) (activities.BindingPage, error)
}

// Source is where the answers come from.
type Source struct {
	Client    client.Client
	Namespace string
	Instance  string
	UI        string
	// Runbook is a page with a heading for every reason, empty without.
	Runbook string
	// Bindings is nil where Karmada is not asked.
	Bindings Bindings
}

// Overview queries the pacer, every running failover and, for what was kept or left
// to an operator, Karmada.
func (s Source) Overview(ctx context.Context) (Overview, error) {
	clusters, err := s.Running(ctx)
	if err != nil {
		return Overview{}, err
	}
	all := Overview{Failovers: []Failover{}}
	if pacer, why := s.Pacer(ctx); why != "" {
		all.Unread = append(all.Unread, "pacer: "+why)
	} else {
		all.Pacer = &pacer
		all.Runbook = s.lookUpPace(&pacer)
	}
	for _, cluster := range clusters {
		f, err := s.Failover(ctx, cluster)
		if errors.Is(err, ErrNotFound) {
			continue // closed since
		}
		all.Failovers = append(all.Failovers, f)
	}
	if s.Bindings != nil {
		if all.Kept, err = s.kept(ctx); err != nil {
			all.Unread = append(all.Unread, "what was kept or left to an operator: "+inWords(err))
		}
	}
	return all, nil
}

// Pacer queries the pacer; why is not empty when it did not answer.
func (s Source) Pacer(ctx context.Context) (pacer workflows.PacerStatus, why string) {
	if err := s.ask(ctx, workflows.FleetPacerID(s.Instance), &pacer, workflows.QueryStatus); err != nil {
		return pacer, inWords(err)
	}
	return pacer, ""
}

// Probed queries the pacer for the results of the external probe of earlier leaders; a pacer that does not run
// remembers nothing.
func (s Source) Probed(ctx context.Context) (rules.Probed, error) {
	var pacer workflows.PacerStatus
	var missing *serviceerror.NotFound
	err := s.ask(ctx, workflows.FleetPacerID(s.Instance), &pacer, workflows.QueryStatus)
	if errors.As(err, &missing) {
		return nil, nil
	}
	return pacer.Probed, err
}

// Failover queries the failover of one cluster, the latest if none runs.
func (s Source) Failover(ctx context.Context, cluster string) (Failover, error) {
	f := Failover{Cluster: cluster}
	f.WorkflowID, f.Link = s.Workflow(cluster)
	var answer workflows.FailoverStatus
	err := s.told(cluster, s.ask(ctx, f.WorkflowID, &answer, workflows.QueryStatus))
	switch {
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

// told says an error in the operator's terms.
func (s Source) told(cluster string, err error) error {
	var missing *serviceerror.NotFound
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		return fmt.Errorf("%w of cluster %s runs or is kept; lifeboat status lists those that run", ErrNotFound, cluster)
	default:
		return errors.New(inWords(err))
	}
}

func (s Source) ask(ctx context.Context, id string, into any, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	answer, err := s.Client.QueryWorkflow(ctx, id, "", query, args...)
	if err != nil {
		return err
	}
	return answer.Get(into)
}

// reason is an error in words for an operator.
func inWords(err error) string {
	var missing *serviceerror.NotFound
	var late *serviceerror.DeadlineExceeded
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late):
		return "no answer within " + queryTimeout.String() + "; is a lifeboat-worker running?"
	case errors.As(err, &missing):
		return "not running"
	default:
		return err.Error()
	}
}

// Running lists the clusters with a failover that runs. The list may be a second
// behind; each failover is then asked itself.
func (s Source) Running(ctx context.Context) ([]string, error) {
	var clusters []string
	for run, err := range s.failovers(ctx, "ExecutionStatus = 'Running'") {
		if err != nil {
			return nil, fmt.Errorf("list running failovers: %w", err)
		}
		clusters = append(clusters, strings.TrimPrefix(run.GetExecution().GetWorkflowId(), workflows.ClusterFailoverID(s.Instance, "")))
	}
	slices.Sort(clusters)
	return slices.Compact(clusters), nil
}

// failovers lists the runs of this installation's failovers, page by page. After an error it ends.
func (s Source) failovers(ctx context.Context, where string) iter.Seq2[*workflowpb.WorkflowExecutionInfo, error] {
	return func(yield func(*workflowpb.WorkflowExecutionInfo, error) bool) {
		for token := []byte(nil); ; {
			page, err := s.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
				Namespace: s.Namespace, NextPageToken: token, Query: fmt.Sprintf("WorkflowType = '%s' AND %s", workflows.TypeClusterFailover, where),
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, run := range page.GetExecutions() {
				if strings.HasPrefix(run.GetExecution().GetWorkflowId(), workflows.ClusterFailoverID(s.Instance, "")) && !yield(run, nil) {
					return
				}
			}
			if token = page.GetNextPageToken(); len(token) == 0 {
				return
			}
		}
	}
}

func (s Source) kept(ctx context.Context) ([]Kept, error) {
	var kept []Kept
	for b, err := range activities.AllBindings(ctx, s.Bindings) {
		if err != nil {
			return nil, err
		}
		kept = append(kept, keptOn(b)...)
	}
	return kept, nil
}

func keptOn(b *karmada.Binding) []Kept {
	var kept []Kept
	for _, task := range b.Tasks {
		if task.LeftForGood() {
			kept = append(kept, Kept{
				Binding: b.Key.String(), Cluster: task.FromCluster, Reason: task.Reason, Owner: task.Message,
			})
		}
	}
	return kept
}

// lookUp finds the reasons of what is blocked or needs attention.
func (s Source) lookUp(e *workflows.FailoverStatus) map[reason.Reason]string {
	reasons := slices.Clone(e.Attention)
	for _, m := range e.Moves {
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

// lookUpPace finds the reason of a pace that is not the usual one.
func (s Source) lookUpPace(p *workflows.PacerStatus) map[reason.Reason]string {
	if p.Pace.Tier == pace.TierNormal {
		return nil
	}
	return reason.LookUp(s.Runbook, p.Pace.Reason)
}
