package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
)

// failover is what a ClusterFailover answers when it is asked for its status.
type clusterFailover struct {
	FailoverID    string          `json:"failoverID"`
	Attempt       int             `json:"attempt"`
	Phase         string          `json:"phase"`
	Reason        string          `json:"reason"`
	Items         []queued        `json:"items"`
	Migrations    map[string]move `json:"migrations"`
	Results       []outcome       `json:"results"`
	PendingPurges []any           `json:"pendingPurges"`
	Pace          pace            `json:"pace"`
	Confirmed     time.Time       `json:"confirmed"`
	Paused        *order          `json:"paused"`
	// Windows are those of its rules, by rule and taint.
	Windows map[string]window `json:"windows"`
}

// window is what one rule's taint waits for.
type window struct {
	Matching bool      `json:"matching"`
	Since    time.Time `json:"since"`
}

// order is who told it what.
type order struct {
	Who    string `json:"who"`
	Reason string `json:"reason"`
}

type key struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (k key) String() string {
	if k.Namespace == "" {
		return "-/" + k.Name
	}
	return k.Namespace + "/" + k.Name
}

// queued is a binding that has not begun to move.
type queued struct {
	Key     key    `json:"k"`
	State   string `json:"s"`
	Reason  string `json:"r"`
	Message string `json:"m"`
	Tries   int    `json:"n"`
}

// move is a binding that moves.
type move struct {
	Phase     string `json:"phase"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	Placed    bool   `json:"placed"`
	Attention string `json:"attention"`
}

// outcome is what became of a binding.
type outcome struct {
	Key          key      `json:"key"`
	Outcome      string   `json:"outcome"`
	Reason       string   `json:"reason"`
	Message      string   `json:"message"`
	Cause        string   `json:"cause"`
	To           []string `json:"to"`
	PendingPurge any      `json:"pendingPurge"`
}

type pace struct {
	Tier   string   `json:"tier"`
	Reason string   `json:"reason"`
	Total  int      `json:"total"`
	Faulty []string `json:"faulty"`
}

// report is what a ClusterFailover closes with.
type report struct {
	Cluster       string    `json:"cluster"`
	Binding       string    `json:"binding"`
	Ended         string    `json:"ended"`
	Attempts      []attempt `json:"attempts"`
	PendingPurges []any     `json:"pendingPurges"`
}

type attempt struct {
	Attempt int            `json:"attempt"`
	Counts  map[string]int `json:"counts"`
	Results []outcome      `json:"results"`
}

func (e *clusterFailover) queued(k string) *queued {
	at := slices.IndexFunc(e.Items, func(q queued) bool { return q.Key.String() == k })
	if at < 0 {
		return nil
	}
	return &e.Items[at]
}

func (e *clusterFailover) outcome(k string) *outcome {
	at := slices.IndexFunc(e.Results, func(o outcome) bool { return o.Key.String() == k })
	if at < 0 {
		return nil
	}
	return &e.Results[at]
}

// waits: a binding is queued in a state and, where one is given, for a reason.
func (e *clusterFailover) waits(k, state string, reason ...string) bool {
	q := e.queued(k)
	return q != nil && q.State == state && (len(reason) == 0 || q.Reason == reason[0])
}

// ended: a binding has an outcome.
func (e *clusterFailover) ended(k, outcome string) bool {
	o := e.outcome(k)
	return o != nil && o.Outcome == outcome
}

// awaitsFence: an operator has to confirm that a binding's old copy is dead, and is called.
func (e *clusterFailover) awaitsFence(k string) bool {
	return e.Migrations[k].Phase == "AwaitingFence" && e.Migrations[k].Attention != ""
}

// String is a failover in a few lines, for a story that fails.
func (e *clusterFailover) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "attempt %d, %s (%s), pace %+v", e.Attempt, e.Phase, e.Reason, e.Pace)
	for _, q := range e.Items {
		fmt.Fprintf(&b, "\n    queued  %s: %s %s %s", q.Key, q.State, q.Reason, q.Message)
	}
	for k, m := range e.Migrations {
		fmt.Fprintf(&b, "\n    moving  %s: %+v", k, m)
	}
	for _, o := range e.Results {
		fmt.Fprintf(&b, "\n    ended   %s: %s %s %s %s to %v", o.Key, o.Outcome, o.Reason, o.Cause, o.Message, o.To)
	}
	return b.String()
}

func failoverID(cluster string) string { return "cluster-failover/" + cluster }

func migrationID(cluster, key string) string { return "binding-migration/" + cluster + "/" + key }

// temporal asks by Describe and Query, never by lists, which lag.
type temporal struct{ client.Client }

func dialTemporal(ctx context.Context, at place) (temporal, error) {
	c, err := client.DialContext(ctx, client.Options{HostPort: at.TemporalAddress, Namespace: at.TemporalNamespace, Logger: silent})
	return temporal{c}, err
}

// status is a workflow's status as Temporal knows it; unspecified when there is none.
func (t temporal) status(ctx context.Context, id string) (enumspb.WorkflowExecutionStatus, error) {
	d, err := t.DescribeWorkflowExecution(ctx, id, "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, nil
	}
	return d.GetWorkflowExecutionInfo().GetStatus(), err
}

func (t temporal) running(ctx context.Context, id string) (bool, error) {
	status, err := t.status(ctx, id)
	return status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, err
}

// events are those of a run, the last one where no run is given.
func (t temporal) events(ctx context.Context, id, run string) (all []*history.HistoryEvent, err error) {
	events := t.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for err == nil && events.HasNext() {
		var event *history.HistoryEvent
		event, err = events.Next()
		all = append(all, event)
	}
	return all, err
}

// query asks a workflow for its status.
func query[T any](ctx context.Context, t temporal, id string) (*T, error) {
	value, err := t.QueryWorkflow(ctx, id, "", "status")
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, value.Get(out)
}

// silent is a log for the client of the tests, which has nothing to say.
var silent = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))

// events counts the events of every run of a workflow.
func (s *scene) events(id string) int64 {
	total := int64(0)
	for _, run := range s.runsOf("WorkflowId = '" + id + "'") {
		total += run.events
	}
	return total
}

type ran struct {
	id, run string
	events  int64
}

// runsOf lists workflow runs, with the length of each one's history.
func (s *scene) runsOf(query string) []ran {
	var out []ran
	var next []byte
	for {
		page, err := s.temporal.ListWorkflow(s.ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: s.lab.At.TemporalNamespace, Query: query, PageSize: 1000, NextPageToken: next,
		})
		require.NoError(s, err)
		for _, x := range page.Executions {
			length := x.HistoryLength
			if x.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING { // visibility has no length yet
				d, err := s.temporal.DescribeWorkflowExecution(s.ctx, x.Execution.WorkflowId, x.Execution.RunId)
				require.NoError(s, err)
				length = d.WorkflowExecutionInfo.HistoryLength
			}
			out = append(out, ran{x.Execution.WorkflowId, x.Execution.RunId, length})
		}
		if next = page.NextPageToken; len(next) == 0 {
			return out
		}
	}
}
