package ports

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/fleetpacer"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestElapsedTimeIsTheLongerOfBothClocks(t *testing.T) {
	begun := time.Now()
	require.Equal(t, 3*time.Second, elapsed(begun, begun.Add(3*time.Second)))
	require.Equal(t, time.Hour, elapsed(begun, begun.Round(0).Add(time.Hour)))
	require.LessOrEqual(t, elapsed(begun, begun.Round(0).Add(-time.Hour)), time.Duration(0))
	require.GreaterOrEqual(t, Clock{}.Start()(), time.Duration(0))
}

// Rules: R4.5-14.
func TestSkew_IsTheShortestWayOfTheLastMinutes(t *testing.T) {
	s, now := new(skew), time.Now()
	require.Equal(t, 1300*time.Millisecond, s.of(1300*time.Millisecond, now), "nobody knows better")
	require.Equal(t, 1200*time.Millisecond, s.of(1200*time.Millisecond, now))
	require.Equal(t, 1200*time.Millisecond, s.of(3*time.Second, now), "that took 1.8 s to get here")
	now = now.Add(skewWindow + 1)
	require.Equal(t, 1200*time.Millisecond, s.of(2*time.Second, now))
	now = now.Add(skewWindow + 1)
	require.Equal(t, 2*time.Second, s.of(2500*time.Millisecond, now), "a clock that was set forward is known after a while")
	require.Zero(t, (*skew)(nil).of(time.Second, now))
}

func TestAWaitIsNeverTooShortAndEndsWithItsContext(t *testing.T) {
	begun := time.Now()
	require.NoError(t, Clock{}.Wait(t.Context(), 20*time.Millisecond))
	require.GreaterOrEqual(t, time.Since(begun), 20*time.Millisecond)
	require.NoError(t, Clock{}.Wait(t.Context(), 0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Clock{}.Wait(ctx, time.Hour), context.Canceled)
	require.ErrorIs(t, Clock{}.Wait(ctx, 0), context.Canceled)
}

// Rules: R4.5-20.
func TestMayRemove_AsksThePacer(t *testing.T) {
	for name, says := range map[string]error{"yes": nil, "no": errors.New("halted")} {
		t.Run(name, func(t *testing.T) {
			handle := mocks.NewWorkflowUpdateHandle(t)
			handle.On("Get", mock.Anything, mock.Anything).Return(says)
			c := mocks.NewClient(t)
			var sent []client.UpdateWorkflowOptions
			c.On("UpdateWorkflow", mock.Anything, mock.Anything).Return(handle, nil).Run(func(args mock.Arguments) {
				if o, ok := args.Get(1).(client.UpdateWorkflowOptions); ok {
					sent = append(sent, o)
				}
			})
			require.ErrorIs(t, Pacer{Client: c, Instance: "eu"}.MayRemove(t.Context(), "a", "shop/cart", false), says)
			require.Len(t, sent, 1)
			require.Equal(t, "eu/fleet-pacer", sent[0].WorkflowID)
			require.Equal(t, []any{workflows.Claim{Cluster: "a", Binding: "shop/cart"}}, sent[0].Args)
			require.Empty(t, sent[0].UpdateID, "an id of its own each time: an earlier answer may be too old")
		})
	}
}

// What several evictions tell the pacer at once is one message; each hears whether it was taken.
//
// Rules: R4.4-17.
func TestUsed_GathersEvictionsOfAMoment(t *testing.T) {
	for name, says := range map[string]error{"taken": nil, "lost": errors.New("unavailable")} {
		t.Run(name, func(t *testing.T) {
			c := mocks.NewClient(t)
			told := make(chan workflows.PermitsUsed, 10)
			c.On("SignalWorkflow", mock.Anything, "fleet-pacer", "", workflows.SignalPermitsUsed, mock.Anything).Return(says).Run(func(args mock.Arguments) {
				if m, ok := args.Get(4).(workflows.PermitsUsed); ok {
					told <- m
				}
			})
			p := Pacer{Client: c, Uses: new(Batches[workflows.PermitUse])}
			var all sync.WaitGroup
			for n := range 20 {
				all.Go(func() {
					if err := p.Used(t.Context(), int64(n+1), "shop/cart"); !errors.Is(err, says) {
						t.Errorf("%d: %v", n, err)
					}
				})
			}
			all.Wait()
			close(told)
			used := 0
			for m := range told {
				used += len(m.Used)
			}
			require.Equal(t, 20, used)
		})
	}
}

// What the migrations of one failover report at once is one message, and each failover gets its own.
func TestReport_GathersReportsOfAMoment(t *testing.T) {
	c := mocks.NewClient(t)
	var mu sync.Mutex
	heard := map[string]int{}
	c.On("SignalWorkflow", mock.Anything, mock.Anything, "", workflows.SignalMigrationReports, mock.Anything).Run(func(args mock.Arguments) {
		mu.Lock()
		defer mu.Unlock()
		if m, ok := args.Get(4).(workflows.MigrationReports); ok {
			heard[args.String(1)] += len(m.Reports)
		}
	}).Return(func(_ context.Context, id, _, _ string, _ any) error {
		if id == "cluster-failover/ended" {
			return serviceerror.NewNotFound("workflow execution already completed")
		}
		return nil
	})
	f := Failovers{Client: c, Reports: new(Batches[activities.MigrationReport])}
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			if n%2 == 0 {
				assert.NoError(t, f.Report(t.Context(), "cluster-failover/a", activities.MigrationReport{Attempt: n}))
			} else {
				assert.ErrorIs(t, f.Report(t.Context(), "cluster-failover/ended", activities.MigrationReport{Attempt: n}), activities.ErrNotRunning)
			}
		})
	}
	all.Wait()
	require.Equal(t, map[string]int{"cluster-failover/a": 10, "cluster-failover/ended": 10}, heard)
	require.Less(t, len(c.Calls), 20)
}

// A message stays within what Temporal takes.
func TestBatches_AreBoundedInBytes(t *testing.T) {
	var mu sync.Mutex
	var bytes []int
	b := new(Batches[string])
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			assert.NoError(t, b.send(t.Context(), "w", strings.Repeat("x", bytesOfBatch/4), func(_ context.Context, batch []string) error {
				mu.Lock()
				defer mu.Unlock()
				bytes = append(bytes, len(strings.Join(batch, "")))
				return nil
			}))
		})
	}
	all.Wait()
	sum := 0
	for _, n := range bytes {
		require.LessOrEqual(t, n, bytesOfBatch)
		sum += n
	}
	require.Equal(t, 10*(bytesOfBatch/4), sum)
}

const current = "run-now"

// past is a pacer's runs, as the server tells of them.
type past struct {
	runs []*workflowpb.WorkflowExecutionInfo
	next map[string]string // run -> the run that it continued as
	// swept: what the list still shows is past its retention.
	swept bool
}

func run(id string, minute int, status enumspb.WorkflowExecutionStatus, memo string) *workflowpb.WorkflowExecutionInfo {
	info := &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: "fleet-pacer", RunId: id},
		StartTime: timestamppb.New(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)),
		Status:    status,
	}
	if memo != "" {
		payload := &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(memo)}
		info.Memo = &commonpb.Memo{Fields: map[string]*commonpb.Payload{fleetpacer.MemoOrders: payload}}
	}
	return info
}

func (p past) remember(t *testing.T, listed int) activities.PacerMemory {
	t.Helper()
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.MatchedBy(func(r *workflowservice.ListWorkflowExecutionsRequest) bool {
		return r.GetQuery() == `WorkflowId = "fleet-pacer"`
	})).Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: p.runs[:listed]}, nil)
	for _, info := range p.runs {
		if p.swept {
			break
		}
		id := info.GetExecution().GetRunId()
		c.On("DescribeWorkflowExecution", mock.Anything, "fleet-pacer", id).
			Return(&workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: info}, nil).Maybe()
		events := mocks.NewHistoryEventIterator(t)
		events.On("HasNext").Return(true).Maybe()
		events.On("Next").Return(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionContinuedAsNewEventAttributes{
			WorkflowExecutionContinuedAsNewEventAttributes: &historypb.WorkflowExecutionContinuedAsNewEventAttributes{NewExecutionRunId: p.next[id]},
		}}, nil).Maybe()
		c.On("GetWorkflowHistory", mock.Anything, "fleet-pacer", id, false, enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT).Return(events).Maybe()
	}
	c.On("DescribeWorkflowExecution", mock.Anything, "fleet-pacer", mock.Anything).Return(nil, serviceerror.NewNotFound("gone")).Maybe()
	return fixtures.Must(Pacer{Client: c, Converter: converter.GetDefaultDataConverter()}.Remember(t.Context(), current))(t)
}

// Rules: R4.5-29, R4.5-30.
func TestWhatThePreviousPacerLeft(t *testing.T) {
	const (
		cancelled  = enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED
		terminated = enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
		failed     = enumspb.WORKFLOW_EXECUTION_STATUS_FAILED
		continued  = enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
	)
	now := run(current, 9, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, "")
	lost := activities.PacerMemory{Known: true, Lost: true}
	orders := `{"haltReason":"HaltedByOperator"}`
	only := activities.PacerMemory{Known: true, Lost: true, Memo: []byte(orders)}
	for name, c := range map[string]struct {
		past   past
		listed int // how many of the runs the list shows; 0: all
		want   activities.PacerMemory
	}{
		"nothing before a first start":                                 {past: past{runs: []*workflowpb.WorkflowExecutionInfo{now}}},
		"the orders of a cancelled run":                                {past: past{runs: []*workflowpb.WorkflowExecutionInfo{now, run("old", 1, cancelled, orders)}}, want: activities.PacerMemory{Known: true, Memo: []byte(orders)}},
		"the newest run of several":                                    {past: past{runs: []*workflowpb.WorkflowExecutionInfo{run("old", 1, terminated, orders), now, run("newer", 2, cancelled, orders)}}, want: activities.PacerMemory{Known: true, Memo: []byte(orders)}},
		"only the orders of a terminated":                              {past: past{runs: []*workflowpb.WorkflowExecutionInfo{now, run("old", 1, terminated, orders)}}, want: only},
		"only the orders of a failed":                                  {past: past{runs: []*workflowpb.WorkflowExecutionInfo{now, run("old", 1, failed, orders)}}, want: only},
		"nothing of a terminated without":                              {past: past{runs: []*workflowpb.WorkflowExecutionInfo{now, run("old", 1, terminated, "")}}, want: lost},
		"a terminated one that is gone":                                {past: past{runs: []*workflowpb.WorkflowExecutionInfo{now, run("old", 1, terminated, orders)}, swept: true}, want: lost},
		"nothing to trust without a memo":                              {past: past{runs: []*workflowpb.WorkflowExecutionInfo{now, run("old", 1, cancelled, "")}}, want: lost},
		"the orders before one that was ended before it knew them":     {past: past{runs: []*workflowpb.WorkflowExecutionInfo{run("old", 1, cancelled, orders), now, run("newer", 2, terminated, "")}}, want: only},
		"the orders before one that was cancelled before it knew them": {past: past{runs: []*workflowpb.WorkflowExecutionInfo{run("old", 1, cancelled, orders), now, run("newer", 2, cancelled, "")}}, want: activities.PacerMemory{Known: true, Memo: []byte(orders)}},
		"a successor that was ended, and the run before":               {past: past{runs: []*workflowpb.WorkflowExecutionInfo{run("old", 1, cancelled, orders), now, run("newer", 2, continued, ""), run("next", 3, terminated, "")}, next: map[string]string{"newer": "next"}}, listed: 3, want: only},
		"orders that cannot be read, and others before":                {past: past{runs: []*workflowpb.WorkflowExecutionInfo{run("old", 1, cancelled, orders), now, run("newer", 2, cancelled, "?")}}, want: lost},
		"a run that continues as this one":                             {past: past{runs: []*workflowpb.WorkflowExecutionInfo{now, run("old", 1, continued, orders)}, next: map[string]string{"old": current}}, want: lost},
		"a successor that is not listed yet":                           {past: past{runs: []*workflowpb.WorkflowExecutionInfo{now, run("old", 1, continued, orders), run("next", 2, terminated, orders)}, next: map[string]string{"old": "next"}}, listed: 2, want: only},
		"a successor that is gone":                                     {past: past{runs: []*workflowpb.WorkflowExecutionInfo{now, run("old", 1, continued, orders)}, next: map[string]string{"old": "swept"}}, want: lost},
	} {
		t.Run(name, func(t *testing.T) {
			listed := c.listed
			if listed == 0 {
				listed = len(c.past.runs)
			}
			require.Equal(t, c.want, c.past.remember(t, listed))
		})
	}
}

// Rules: R4.9-30.
func TestAMigrationIsAskedWhichWorkItHolds(t *testing.T) {
	for name, held := range map[string]*karmada.Work{"known": {Namespace: "karmada-es-m1", Name: "app", UID: "1"}, "not known": nil} {
		t.Run(name, func(t *testing.T) {
			data, err := converter.GetDefaultDataConverter().ToPayloads(workflows.MigrationStatus{MigrationState: workflows.MigrationState{OldWork: held}})
			require.NoError(t, err)
			c := mocks.NewClient(t)
			c.On("QueryWorkflow", mock.Anything, "id", "", workflows.QueryStatus).Return(client.NewValue(data), nil)
			require.Equal(t, held, fixtures.Must(Migrations{Client: c}.OldWork(t.Context(), "id"))(t))
		})
	}
	c := mocks.NewClient(t)
	c.On("QueryWorkflow", mock.Anything, "id", "", workflows.QueryStatus).Return(nil, serviceerror.NewUnavailable("away"))
	require.ErrorContains(t, fixtures.Err(Migrations{Client: c}.OldWork(t.Context(), "id")), "away")
}
