package status

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func key(name string) karmada.BindingKey { return karmada.BindingKey{Namespace: "shop", Name: name} }

// evacuating is a failover with something of everything.
func evacuating() *workflows.FailoverStatus {
	s := &workflows.FailoverStatus{Name: "member1", Now: now}
	s.Phase, s.Attempt, s.Reason = phase.FailoverEvacuating, 2, reason.ConditionsMatch
	s.Entered, s.Since = now.Add(-90*time.Second), now.Add(-2*time.Minute)
	s.Terms.Mode = rules.ModeEnforce
	s.Cluster = workflows.ClusterView{ClusterView: activities.ClusterView{Ready: "False"}, ReadyReason: "ClusterNotReachable"}
	s.Results = []record.Result{{Key: key("done"), Outcome: phase.OutcomeMigrated}}
	s.Migrations = map[string]workflows.Migration{
		"shop/fine": {Key: key("fine"), Resource: "Deployment shop/fine", Phase: phase.MigrationPlacing, Since: now.Add(-time.Second)},
		"shop/late": {
			Key: key("late"), Resource: "Deployment shop/" + strings.Repeat("very-", 20) + "long", Phase: phase.MigrationAwaitingHealth,
			Since: now.Add(-2 * time.Second), To: []string{"member2"}, Reason: reason.GracefulTimeout, Attention: reason.GracefulTimeout,
		},
	}
	s.Items = []queue.Item{
		{Key: key("next"), Resource: "Deployment shop/next", State: queue.Ready, Reason: reason.AwaitingPermit, To: []string{"member2"}},
		{Key: key("idle"), State: queue.Idle},
		{Key: key("stuck"), State: queue.Blocked, Reason: reason.NoTarget, Message: strings.Repeat("no cluster fits ", 20)},
	}
	s.Counts = map[string]int{"Migrated": 1}
	s.States = map[queue.State]int{queue.Ready: 1, queue.Idle: 1, queue.Blocked: 1}
	return s
}

func draw(t *testing.T, render func(View)) string {
	t.Helper()
	var out strings.Builder
	render(View{Page: show.Page{Out: &out, Now: now}})
	for _, line := range strings.Split(out.String(), "\n") {
		require.LessOrEqual(t, len([]rune(line)), show.Width, line)
	}
	return out.String()
}

func TestOverview_CountsBindings(t *testing.T) {
	pacer := &workflows.PacerStatus{}
	pacer.Pace = pace.Pace{
		Tier: pace.TierNormal, Rate: 0.5, Reason: reason.FleetHealthy,
		FleetHealth: pace.FleetHealth{Total: 6, Faulty: []string{"member1"}},
	}
	pacer.Assessed = now.Add(-time.Minute)
	text := draw(t, func(v View) {
		v.Overview(Overview{
			Pacer: pacer,
			Failovers: []Failover{
				{Cluster: "member1", FailoverStatus: evacuating()},
				{Cluster: "member2", Unanswered: "no answer"},
			},
			Kept:   []Kept{{Binding: "shop/cart", Cluster: "member3", Reason: karmada.TaskReasonKept, Owner: "m"}},
			Unread: []string{"something"},
		})
	})
	require.Contains(t, text, "Fleet: normal, one every 2s (0.5/s), 1 of 6 clusters faulty (member1): FleetHealthy, as of 1m ago")
	require.Regexp(t, `(?m)^member1 +enforce +Evacuating +2 +1m30s +1 +2 +1 +1 +1 +ConditionsMatch$`, text)
	require.Regexp(t, `(?m)^member2 +\?.*no answer$`, text)
	require.Regexp(t, `(?m)^shop/cart +member3 +LifeboatKept +m$`, text)
	require.Contains(t, text, "Not read: something")
	require.NotContains(t, text, "\x1b", "no colours but on a terminal")
}

func TestOverview_Halt_NamesTheOrderThatEndsIt(t *testing.T) {
	pacer := &workflows.PacerStatus{}
	pacer.Pace.Tier = pace.TierHalted
	pacer.Orders.Halted = &workflows.Order{Who: "ada", Reason: "checking"}
	text := draw(t, func(v View) { v.Overview(Overview{Pacer: pacer}) })
	fixtures.ContainsAll(t, text, "Paused by ada: checking. To go on: lifeboat resume fleet", "No cluster is failing over.")
}

func TestFailover_ShowsItsBindingsAndActions(t *testing.T) {
	text := draw(t, func(v View) {
		v.Failover(Failover{Cluster: "member1", WorkflowID: "cluster-failover/member1", Link: "http://ui/x", FailoverStatus: evacuating()})
	})
	fixtures.ContainsAll(t, text,
		"cluster-failover/member1", "http://ui/x", "Ready=False ClusterNotReachable", "1 of 5 bindings done (1 Migrated) · 2 moving · 1 waiting their turn · 1 blocked",
		"needs attention: Graceful", "AwaitingPermit", "NoTarget", "lifeboat pause member1",
	)
	require.Less(t, strings.Index(text, "shop/late"), strings.Index(text, "shop/fine"), "what needs attention comes first")
}

func TestFailover_Move_ShowsTheTimeInItsPhaseAndNoTargetThatKarmadaRefused(t *testing.T) {
	s := evacuating()
	s.Migrations = map[string]workflows.Migration{"shop/back": {
		Key: key("back"), Phase: phase.MigrationRestoring, Since: now.Add(-59 * time.Second), Entered: now.Add(-4 * time.Second),
		To: []string{"member7"}, Reason: reason.NoClusterFit,
	}}
	text := draw(t, func(v View) { v.Failover(Failover{Cluster: "member1", FailoverStatus: s}) })
	require.Regexp(t, `shop/back +Restoring +11:59:56 UTC \(4s ago\) `, text)
	require.NotContains(t, text, "member7")
}

func TestFailover_Tolerating_ShowsWhenItIsDue(t *testing.T) {
	s := evacuating()
	s.Items = []queue.Item{{Key: key("patient"), State: queue.Tolerating, Reason: reason.AwaitingDue, RetryAt: now.Add(5 * time.Minute)}}
	text := draw(t, func(v View) { v.Failover(Failover{Cluster: "member1", FailoverStatus: s}) })
	require.Contains(t, text, "not before 12:05:00 UTC (in 5m)")
}

func TestFailover_ShowsOrdersAndAwaitedApprovals(t *testing.T) {
	s := evacuating()
	jane := workflows.ScopedOrder{Order: workflows.Order{Who: "jane", Reason: "month end"}, Scope: queue.Scope{Namespace: "shop"}}
	s.Snoozes = []workflows.Snooze{{ScopedOrder: jane, Until: now.Add(time.Hour)}}
	s.Pauses = []workflows.ScopedPause{{ScopedOrder: jane}}
	s.Items = append(s.Items, queue.Item{
		Key: karmada.BindingKey{Namespace: "shop", Name: "asked"}, State: queue.Blocked, Reason: reason.AwaitingApproval,
	})
	s.BlockedBy = map[reason.Reason]int{reason.AwaitingApproval: 1}
	text := draw(t, func(v View) { v.Failover(Failover{Cluster: "member1", WorkflowID: "id", FailoverStatus: s}) })
	fixtures.ContainsAll(t, text,
		"paused   namespace shop  it is resumed, or this closes  jane: month end", "snoozed  namespace shop  13:00:00 UTC (in 1h)",
		"1 move awaits approval", "lifeboat approve member1",
	)
	for n := range 20 {
		s.Priorities = append(s.Priorities, workflows.Priority{ScopedOrder: jane, Priority: int32(n)}) //nolint:gosec // 0 to 19
	}
	require.Contains(t, draw(t, func(v View) { v.Failover(Failover{Cluster: "member1", FailoverStatus: s}) }), "... and 12 more")
}

func TestLookUp_LinksReasonsOfBlockedBindings(t *testing.T) {
	s := evacuating()
	found := Source{Runbook: "http://runbook"}.lookUp(s)
	require.Equal(t, map[reason.Reason]string{
		reason.NoTarget: "http://runbook#notarget", reason.GracefulTimeout: "http://runbook#gracefultimeout",
	}, found, "what merely waits needs no looking up")
	text := draw(t, func(v View) { v.Failover(Failover{Cluster: "member1", Runbook: found, FailoverStatus: s}) })
	require.Contains(t, text, "\n  http://runbook#gracefultimeout\n  http://runbook#notarget\n")
	require.Nil(t, Source{}.lookUp(s), "without a page there are no links")

	pacer := &workflows.PacerStatus{}
	pacer.Pace.Tier, pacer.Pace.Reason = pace.TierHalted, reason.StateLost
	require.Len(t, Source{Runbook: "http://runbook"}.lookUpPace(pacer), 1)
	pacer.Pace.Tier = pace.TierNormal
	require.Empty(t, Source{Runbook: "http://runbook"}.lookUpPace(pacer))
}

func TestFailover_ShowsForeignTaintsAndAwaitedFences(t *testing.T) {
	s := evacuating()
	s.Cluster.Ready, s.Cluster.ReadyReason = "True", "ClusterReady"
	s.Cluster.Foreign = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
	s.Migrations["shop/db"] = workflows.Migration{
		Key: key("db"), Phase: phase.MigrationAwaitingFence, Reason: reason.AwaitingFence,
		Message: "member1 does not answer, and the old copy is not proven dead", Attention: reason.AwaitingFence,
	}
	text := draw(t, func(v View) { v.Failover(Failover{Cluster: "member1", WorkflowID: "id", FailoverStatus: s}) })
	require.Contains(t, text, "taint maintenance:NoExecute put by others")
	require.Regexp(t, `(?m)^shop/db +AwaitingFence +⚠ needs attention: member1 does not answer, and the old$`, text, "once, and wrapped")
	fixtures.ContainsAll(t, text, "lifeboat confirm-fenced shop/db --cluster member1", "Take the taint away")
}

func TestFailover_Unanswered_ShowsWhy(t *testing.T) {
	text := draw(t, func(v View) { v.Failover(Failover{Cluster: "member1", WorkflowID: "id", Unanswered: "no worker"}) })
	require.Contains(t, text, "No answer: no worker")
}

func TestFailover_JSON_IsFlat(t *testing.T) {
	encoded := fixtures.Must(json.Marshal(Failover{Cluster: "member1", WorkflowID: "id", FailoverStatus: evacuating()}))(t)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(encoded, &fields))
	require.Equal(t, "member1", fields["cluster"])
	require.Equal(t, "Evacuating", fields["phase"])
	require.Len(t, fields["results"], 1)
}

func TestColoursAreForTerminals(t *testing.T) {
	var out strings.Builder
	View{Page: show.Page{Out: &out, Now: now, Colour: true}}.Overview(Overview{Failovers: []Failover{{Cluster: "member1", FailoverStatus: evacuating()}}})
	require.Contains(t, out.String(), "\x1b[31mEvacuating")
}

// bindings is a Karmada with one page.
type bindings struct {
	all  []karmada.Binding
	err  error
	read *int // counts the reads, nil counts none
}

func (b bindings) Bindings(context.Context, activities.Page) (activities.BindingPage, error) {
	if b.read != nil {
		*b.read++
	}
	return activities.BindingPage{Bindings: b.all}, b.err
}

func running(ids ...string) *workflowservice.ListWorkflowExecutionsResponse {
	list := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, id := range ids {
		list.Executions = append(list.Executions, &workflowpb.WorkflowExecutionInfo{Execution: &common.WorkflowExecution{WorkflowId: id}})
	}
	return list
}

func TestOverview_QueriesTheFailoversOfItsInstance(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.Anything).
		Return(running("eu/cluster-failover/member1", "cluster-failover/other", "eu/cluster-failover/closed"), nil)
	c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query("eu/fleet-pacer", workflows.QueryStatus)).Return(nil, serviceerror.NewNotFound("gone"))
	c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query("eu/cluster-failover/member1", workflows.QueryStatus)).Return(flowtest.Answer(evacuating()), nil)
	c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query("eu/cluster-failover/closed", workflows.QueryStatus)).Return(nil, serviceerror.NewNotFound("gone"))
	kept := karmada.Task{FromCluster: "member3", Producer: karmada.Producer, Reason: karmada.TaskReasonNeedsOperator, Message: "m"}
	all := fixtures.Must(Source{Client: c, Instance: "eu", Bindings: bindings{all: []karmada.Binding{
		{Key: key("cart"), Tasks: []karmada.Task{kept, {FromCluster: "x", Producer: "TaintManager", Reason: kept.Reason}}},
	}}}.Overview(t.Context()))(t)
	require.Len(t, all.Failovers, 1)
	require.Equal(t, 2, all.Failovers[0].Attempt)
	require.Equal(t, []Kept{{Binding: "shop/cart", Cluster: "member3", Reason: kept.Reason, Owner: "m"}}, all.Kept)
	require.Equal(t, []string{"pacer: not running"}, all.Unread)
}

func TestOverview_KarmadaAway_IsListedAsUnread(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(running(), nil)
	c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query("", workflows.QueryStatus)).Return(flowtest.Answer(workflows.PacerStatus{}), nil)
	all := fixtures.Must(Source{Client: c, Bindings: bindings{err: errors.New("no kubeconfig")}}.Overview(t.Context()))(t)
	require.Equal(t, []string{"what was kept or left to an operator: no kubeconfig"}, all.Unread)
}

// A live view refreshes every two seconds, and the list of what was kept reads every binding of the fleet.
func TestCached_WhatWasKept_IsListedOnce(t *testing.T) {
	kept := karmada.Task{FromCluster: "member3", Producer: karmada.Producer, Reason: karmada.TaskReasonNeedsOperator}
	for name, c := range map[string]struct {
		view func(Source) Source
		want int
	}{
		"a live view": {view: Source.Cached, want: 1},
		"once":        {view: func(s Source) Source { return s }, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			read := 0
			s := c.view(Source{Bindings: bindings{all: []karmada.Binding{{Key: key("cart"), Tasks: []karmada.Task{kept}}}, read: &read}})
			for range 3 {
				require.Len(t, fixtures.Must(s.kept(t.Context()))(t), 1)
			}
			require.Equal(t, c.want, read)
		})
	}
	read := 0
	s := Source{Bindings: bindings{read: &read}, last: &lastKept{at: time.Now().Add(-keptAge)}}
	require.Empty(t, fixtures.Must(s.kept(t.Context()))(t))
	require.Equal(t, 1, read, "the list has become old")
}

func TestOverview_MuchWasKept_ShowsSomeAndCountsTheRest(t *testing.T) {
	kept := make([]Kept, 20_000)
	for n := range kept {
		kept[n] = Kept{Binding: "shop/cart", Cluster: "member3"}
	}
	text := draw(t, func(v View) { v.Overview(Overview{Kept: kept}) })
	require.Equal(t, rows, strings.Count(text, "shop/cart"))
	require.Contains(t, text, "... and 19990 more; -o json has them all")
	require.NotContains(t, draw(t, func(v View) { v.Overview(Overview{Kept: kept[:rows]}) }), "more;")
}

func TestSource_Failover_NotFoundOrUnanswered(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query("cluster-failover/none", workflows.QueryStatus)).Return(nil, serviceerror.NewNotFound("gone"))
	c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query("cluster-failover/mute", workflows.QueryStatus)).Return(nil, serviceerror.NewDeadlineExceeded("late"))
	require.ErrorIs(t, fixtures.Err(Source{Client: c}.Failover(t.Context(), "none")), ErrNotFound)
	f := fixtures.Must(Source{Client: c}.Failover(t.Context(), "mute"))(t)
	require.Contains(t, f.Unanswered, "is a lifeboat-worker running?")
}

// The last state of a run that did not complete looks like that of one that runs.
func TestSource_Failover_RunDidNotComplete_IsNotFound(t *testing.T) {
	for _, status := range []enumspb.WorkflowExecutionStatus{
		enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT,
	} {
		c := mocks.NewClient(t)
		c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query("cluster-failover/a", workflows.QueryStatus)).Return(flowtest.Rejected(status), nil)
		require.ErrorIs(t, fixtures.Err(Source{Client: c}.Failover(t.Context(), "a")), ErrNotFound, status)
	}
}

func TestSource_Failover_ContinuesAsNewDuringTheQuery_NextRunAnswers(t *testing.T) {
	c := mocks.NewClient(t)
	query := flowtest.Query("cluster-failover/a", workflows.QueryStatus)
	c.On("QueryWorkflowWithOptions", mock.Anything, query).Return(flowtest.Rejected(enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW), nil).Once()
	c.On("QueryWorkflowWithOptions", mock.Anything, query).Return(flowtest.Answer(evacuating()), nil)
	require.Equal(t, 2, fixtures.Must(Source{Client: c}.Failover(t.Context(), "a"))(t).Attempt)
}

// Rules: R4.15-32.
func TestStatus_Head_NamesTheModeOfTheFleet(t *testing.T) {
	pacer := &workflows.PacerStatus{}
	pacer.Pace = pace.Pace{Tier: pace.TierNormal, Rate: 0.5, Reason: reason.FleetHealthy, FleetHealth: pace.FleetHealth{Total: 3}}
	pacer.InForce = map[string]string{"mode": "enforce", "pace.evictionRate": "0.5"}
	head := func() string { return draw(t, func(v View) { v.Overview(Overview{Pacer: pacer}) }) }
	require.Contains(t, head(), "Fleet: enforce mode, normal, one every 2s (0.5/s), 0 of 3 clusters faulty: FleetHealthy")
	require.NotContains(t, head(), "Modes:")
	pacer.InForce = map[string]string{"mode": "observe", "modes.enforce": "member1", "modes.observeSelector": "tier=gold"}
	require.Contains(t, head(), "Fleet: observe mode, normal")
	require.Contains(t, head(), "Modes: modes.enforce: member1; modes.observeSelector: tier=gold")
	pacer.InForce = nil
	require.Contains(t, head(), "Fleet: normal", "no worker has published its configuration")
}

// Rules: R4.9-59.
func TestStatus_TaintThatWasPutBack_NamesTheOrderThatEndsTheFailover(t *testing.T) {
	s := evacuating()
	s.TakenAway = []workflows.TakenAway{{AddedTaint: karmada.AddedTaint{Key: "down", Effect: corev1.TaintEffectNoExecute, Rule: "not-ready"}, At: now.Add(-12 * time.Second)}}
	show := func() string {
		return draw(t, func(v View) { v.Failover(Failover{Cluster: "member1", FailoverStatus: s}) })
	}
	require.Contains(t, show(), "11:59:48 UTC (12s ago): down:NoExecute of ClusterTaintRule not-ready was taken away and put back")
	require.Contains(t, show(), "lifeboat cancel member1")
	s.TakenAway[0].Twice = true
	require.NotContains(t, show(), "was taken away", "the pause says it")
}

func closedRun(id, run string, ago time.Duration, how enumspb.WorkflowExecutionStatus) *workflowpb.WorkflowExecutionInfo {
	return &workflowpb.WorkflowExecutionInfo{
		Execution: &common.WorkflowExecution{WorkflowId: id, RunId: run}, Status: how,
		StartTime: timestamppb.New(now.Add(-ago - time.Hour)), CloseTime: timestamppb.New(now.Add(-ago)),
	}
}

func reported() workflows.FailoverReport {
	return workflows.FailoverReport{
		Cluster: "member1", FailoverID: "e", Ended: phase.FailoverRecovered, Began: now.Add(-2 * time.Hour), Until: now.Add(-time.Hour),
		Attempts: []workflows.AttemptReport{{
			Attempt: 1, Since: now.Add(-2 * time.Hour), Until: now.Add(-time.Hour), Ended: phase.FailoverRecovered, Folded: 7,
			Counts: map[string]int{"Migrated": 8, "Abandoned": 1},
			Results: []record.Result{
				{
					Key: key("cart"), Outcome: phase.OutcomeMigrated, To: []string{"member2"}, At: now.Add(-90 * time.Minute),
					Reason: reason.PendingPurge, PendingPurge: &record.PendingPurge{Key: key("cart"), Work: "gone since"},
				},
				{Key: key("till"), Outcome: phase.OutcomeAbandoned, Reason: reason.ClusterRecovered, Message: "it was blocked: NoTarget", Cause: "recovery"},
			},
		}},
		PendingPurges: []record.PendingPurge{{}},
	}
}

func TestHistory_ReadsTheReportsOfClosedWorkflows(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.MatchedBy(func(r *workflowservice.ListWorkflowExecutionsRequest) bool {
		return len(r.GetNextPageToken()) == 0
	})).Return(&workflowservice.ListWorkflowExecutionsResponse{NextPageToken: []byte("more"), Executions: []*workflowpb.WorkflowExecutionInfo{
		closedRun("eu/cluster-failover/member9", "old", 3*time.Hour, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED),
		closedRun("us/cluster-failover/member1", "other", 0, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED),
	}}, nil)
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(&workflowservice.ListWorkflowExecutionsResponse{
		Executions: []*workflowpb.WorkflowExecutionInfo{closedRun("eu/cluster-failover/member1", "new", time.Hour, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)},
	}, nil)
	c.On("GetWorkflow", mock.Anything, "eu/cluster-failover/member1", "new").Return(flowtest.Reporting(t, reported()))
	failovers := fixtures.Must(Source{Client: c, Instance: "eu"}.History(t.Context(), HistoryRequest{}))(t)
	require.Len(t, failovers, 2)
	require.Equal(t, "new", failovers[0].RunID, "the newest first")
	require.Equal(t, map[phase.Outcome]int{phase.OutcomeMigrated: 8, phase.OutcomeAbandoned: 1}, failovers[0].Totals())
	require.Equal(t, "member9", failovers[1].Cluster)
	require.Equal(t, "terminated", failovers[1].Closed)

	text := draw(t, func(v View) { v.History(failovers, true) })
	fixtures.ContainsAll(t, text, "8 Migrated, 1 Abandoned", "  1h ", "terminated", "shop/cart", "member2", "7 more", "Pending purge handed over: 1")
	require.NotContains(t, text, ": recovery")
	require.NotContains(t, text, "PendingPurge", "it was paid")
	require.NotContains(t, draw(t, func(v View) { v.History(failovers, false) }), "shop/cart")

	owed := record.PendingPurge{Key: key("owes"), Work: "w1"}
	pendingPurges := workflows.FailoverReport{PendingPurges: []record.PendingPurge{owed}, Attempts: []workflows.AttemptReport{{Results: []record.Result{
		{Key: key("owes"), Reason: reason.PendingPurge, PendingPurge: &owed},
		{Key: key("paid"), Reason: reason.PendingPurge, PendingPurge: &record.PendingPurge{Key: key("paid"), Work: "w2"}},
	}}}}
	pendingPurges.Paid()
	require.Equal(t, reason.PendingPurge, pendingPurges.Attempts[0].Results[0].Reason)
	require.Equal(t, reason.Purged, pendingPurges.Attempts[0].Results[1].Reason)

	again := reported()
	again.Attempts = append(again.Attempts, workflows.AttemptReport{Attempt: 2, Ended: phase.FailoverRecovered})
	again.Attempts[0].Ended = phase.FailoverSuspected
	text = draw(t, func(v View) { v.History([]PastFailover{{FailoverReport: again}}, true) })
	require.NotContains(t, text, "Suspected")
	require.Contains(t, text, "attempt 1, 2026-11-20 10:00:00 to 11:00:00 UTC: the cluster failed again")
	require.Regexp(t, `shop/cart +Migrated +10:30:00 `, text)

	days := reported() // a time without a date is of the day in the heading
	days.Attempts[0].Until, days.Attempts[0].Results[0].At = now.Add(12*time.Hour), now.Add(13*time.Hour)
	text = draw(t, func(v View) {
		v.History([]PastFailover{{FailoverReport: days, Trail: []record.Audit{{Time: now.Add(14 * time.Hour)}, {Time: now.Add(-time.Hour)}}}}, true)
	})
	require.Contains(t, text, "attempt 1, 2026-11-20 10:00:00 to 2026-11-21 00:00:00 UTC: ")
	require.Regexp(t, `shop/cart +Migrated +2026-11-21 01:00:00 `, text)
	require.Regexp(t, `(?m)^2026-11-21 02:00:00 `, text)
	require.Regexp(t, `(?m)^11:00:00 `, text)
	require.Contains(t, draw(t, func(v View) { v.History(nil, false) }), "No failover is over")
}

// A report may be malformed, or encrypted with a lost key. It is listed, and
// there, and the others are read; a server that is away is an error.
func TestAReportThatCannotBeReadCostsNoOther(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflowpb.WorkflowExecutionInfo{
		closedRun("cluster-failover/member9", "odd", time.Hour, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED),
		closedRun("cluster-failover/member1", "new", time.Minute, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED),
	}}, nil)
	trouble := errors.New("unable to decode")
	odd, fine := mocks.NewWorkflowRun(t), mocks.NewWorkflowRun(t)
	odd.On("Get", mock.Anything, mock.Anything).Return(func(context.Context, any) error { return trouble })
	fine.On("Get", mock.Anything, mock.Anything).Return(nil)
	c.On("GetWorkflow", mock.Anything, mock.Anything, "odd").Return(odd)
	c.On("GetWorkflow", mock.Anything, mock.Anything, "new").Return(fine)
	failovers := fixtures.Must(Source{Client: c}.History(t.Context(), HistoryRequest{}))(t)
	require.Len(t, failovers, 2)
	require.Empty(t, failovers[0].Closed)
	require.Contains(t, failovers[1].Closed, "cannot be read")
	require.Equal(t, "member9", failovers[1].Cluster)
	trouble = serviceerror.NewUnavailable("away")
	require.ErrorContains(t, fixtures.Err(Source{Client: c}.History(t.Context(), HistoryRequest{})), "away")
}

func TestHistory_Unavailable_IsAnError(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.MatchedBy(func(r *workflowservice.ListWorkflowExecutionsRequest) bool {
		return r.GetQuery() == "WorkflowType = 'ClusterFailover' AND ExecutionStatus != 'Running' AND ExecutionStatus != 'ContinuedAsNew'"+
			" AND WorkflowId = 'cluster-failover/member1'"
	})).Return(nil, serviceerror.NewUnavailable("away"))
	require.ErrorContains(t, fixtures.Err(Source{Client: c}.History(t.Context(), HistoryRequest{Cluster: "member1"})), "away")
}

// A plan reads a migration as the write does.
//
// Rules: R4.9-30.
func TestOldWork_QueriesTheMigration(t *testing.T) {
	c := mocks.NewClient(t)
	const id = "binding-migration/m1/shop/cart"
	held := workflows.MigrationStatus{}
	held.OldWork = &karmada.Work{Namespace: "karmada-es-m1", Name: "cart", UID: "w"}
	c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query(id, workflows.QueryStatus)).Return(flowtest.Answer(held), nil).Once()
	require.Equal(t, held.OldWork, fixtures.Must(Source{Client: c}.OldWork(t.Context(), id))(t))
	c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query(id, workflows.QueryStatus)).Return(nil, serviceerror.NewNotFound("gone"))
	require.ErrorContains(t, fixtures.Err(Source{Client: c}.OldWork(t.Context(), id)), id)
}

func TestLive_AnyWidth_LinesFitAndWaitsAreCountedDown(t *testing.T) {
	s := evacuating()
	s.ETA = now.Add(4 * time.Minute)
	s.Windows = rules.Windows{rules.WindowKey("a"): {
		Rule: "degraded", Taint: karmada.RuleTaint{Key: "slow", Effect: "NoExecute", AddOnMatch: time.Minute},
		Matching: true, Since: now.Add(-18 * time.Second),
	}}
	s.Items[2].RetryAt = now.Add(7 * time.Second)
	s.Results = nil
	for n := range 7 {
		s.Results = append(s.Results, record.Result{Key: key(strings.Repeat("x", n+1)), Outcome: phase.OutcomeMigrated, At: now.Add(time.Duration(n-9) * time.Second)})
	}
	picture := Live(Overview{Failovers: []Failover{{Cluster: "member1", FailoverStatus: s}, {Cluster: "member2", FailoverStatus: &workflows.FailoverStatus{}}}})
	require.Equal(t, []string{"member1", "member2"}, picture.Names)
	for _, columns := range []int{80, 120, 160} {
		var fleet bytes.Buffer
		picture.All(show.Page{Out: &fleet, Now: now, Columns: columns})
		require.Contains(t, fleet.String(), "ATTENTION", columns)
		var out bytes.Buffer
		picture.One(show.Page{Out: &out, Now: now, Columns: columns}, 0)
		for _, line := range strings.Split(out.String(), "\n") {
			require.LessOrEqual(t, text.StringWidthWithoutEscSequences(line), columns, line)
		}
		require.Contains(t, out.String(), "Last begins  12:04:00 UTC (in 4m)")
		require.Regexp(t, `degraded +slow:NoExecute +match +11:59:42 UTC \(18s ago\) +taint at`, out.String())
		require.Regexp(t, `shop/stuck +12:00:07 UTC \(in 7s\) +NoTarget`, out.String())
		require.Regexp(t, `Last finished\n.*\nshop/xxxxxxx +Migrated +11:59:57 UTC \(3s ago\)`, out.String())
		require.NotContains(t, out.String(), "shop/xx ", "five of them")
	}
}

// trailOf is what the trail has of one failover of member1: two attempts, an order, and an
// outcome that another took the place of.
func trailOf(failoverID string, ago time.Duration) []record.Audit {
	at := now.Add(-ago)
	rec := func(after time.Duration, kind record.Kind, attempt int, edit func(*record.Audit)) record.Audit {
		r := record.Audit{
			Time: at.Add(after), Kind: kind, Attempt: attempt, Instance: "eu", Cluster: "member1", FailoverID: failoverID, Workflow: "eu/cluster-failover/member1",
		}
		if edit != nil {
			edit(&r)
		}
		return r
	}
	outcome := func(o phase.Outcome, to []string, bindings ...string) func(*record.Audit) {
		return func(r *record.Audit) { r.Outcome, r.To, r.Bindings = o, to, bindings }
	}
	return []record.Audit{
		rec(0, record.AuditFailoverBegun, 1, nil),
		rec(time.Minute, record.AuditFailureConfirmed, 1, func(r *record.Audit) {
			r.Reason, r.Evidence = reason.ConditionsMatch, map[string]string{"rule not-ready": "down:NoExecute"}
		}),
		rec(2*time.Minute, record.AuditBindingOutcome, 1, outcome(phase.OutcomeAbandoned, nil, "shop/cart", "-/reader")),
		rec(3*time.Minute, record.AuditBindingOutcome, 1, outcome(phase.OutcomeMigrated, []string{"member2"}, "shop/cart")),
		rec(4*time.Minute, record.AuditAttemptClosed, 1, func(r *record.Audit) { r.Phase = "Settling" }),
		rec(5*time.Minute, record.AuditOrderGiven, 2, func(r *record.Audit) {
			r.Order, r.Who, r.Why, r.Bindings = "skip", "jane", "it may die", []string{"shop/till"}
		}),
		rec(6*time.Minute, record.AuditBindingOutcome, 2, outcome(phase.OutcomeSkipped, nil, "shop/till")),
		rec(6*time.Minute, record.AuditBindingOutcome, 2, func(r *record.Audit) {
			r.Outcome, r.Counts = phase.OutcomeAbandoned, map[string]int{"Abandoned": 7}
		}),
		rec(7*time.Minute, record.AuditFailoverClosed, 2, func(r *record.Audit) { r.Phase = string(phase.FailoverRecovered) }),
	}
}

// Rules: R4.16-7.
func TestWith_FailoverOnlyInTheTrail(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(&workflowservice.ListWorkflowExecutionsResponse{}, nil)
	s, request := Source{Client: c, Instance: "eu"}, HistoryRequest{Cluster: "member1"}
	known := fixtures.Must(s.History(t.Context(), request))(t)
	require.Empty(t, known)

	failovers := s.With(t.Context(), known, trailOf("forgotten", 90*24*time.Hour), request)
	require.Len(t, failovers, 1)
	e := failovers[0]
	require.True(t, e.FromTrail)
	require.Empty(t, e.Closed)
	require.Equal(t, phase.FailoverRecovered, e.Ended)
	require.Equal(t, 7*time.Minute, e.Until.Sub(e.Began))
	require.Equal(t, map[phase.Outcome]int{phase.OutcomeMigrated: 1, phase.OutcomeAbandoned: 8, phase.OutcomeSkipped: 1}, e.Totals())
	require.Len(t, e.Attempts, 2)
	require.Equal(t, phase.Failover("Settling"), e.Attempts[0].Ended)
	require.Len(t, e.Attempts[0].Results, 2, "one outcome for each binding")
	require.Equal(t, karmada.BindingKey{Name: "reader"}, e.Attempts[0].Results[1].Key)
	require.Equal(t, 7, e.Attempts[1].Folded)
	text := draw(t, func(v View) { v.History(failovers, true) })
	fixtures.ContainsAll(t, text, "shop/cart", "member2", "ordered: skip", "jane", "it may die", "rule not-ready=down:NoExecute", "-/reader")
}

// Rules: R4.16-7.
func TestWith_MergesReportAndTrail(t *testing.T) {
	reported := PastFailover{FailoverReport: workflows.FailoverReport{
		Cluster: "member1", FailoverID: "known", Began: now.Add(-time.Hour), Until: now.Add(-50 * time.Minute),
		Attempts: []workflows.AttemptReport{{
			Attempt: 1, Folded: 1, Counts: map[string]int{"Migrated": 2},
			Results: []record.Result{{Key: key("cart"), Outcome: phase.OutcomeMigrated, To: []string{"member3"}}},
		}},
	}}
	records := append(trailOf("known", time.Hour), trailOf("older", 2*time.Hour)...)
	failovers := Source{Instance: "eu"}.With(t.Context(), []PastFailover{reported}, records, HistoryRequest{})
	require.Len(t, failovers, 2)
	require.Equal(t, "known", failovers[0].FailoverID, "the newest first")
	require.False(t, failovers[0].FromTrail)
	require.Equal(t, []string{"member3"}, failovers[0].Attempts[0].Results[0].To, "the report knows better")
	require.Len(t, failovers[0].Attempts[0].Results, 2, "what was counted alone has its name again")
	require.Zero(t, failovers[0].Attempts[0].Folded)
	require.Equal(t, map[phase.Outcome]int{phase.OutcomeMigrated: 2}, failovers[0].Totals())
	require.Len(t, failovers[0].Trail, 9)
	require.Len(t, reported.Attempts[0].Results, 1, "and the caller's own is left alone")
	require.Equal(t, "older", failovers[1].FailoverID)
	require.Len(t, Source{Instance: "eu"}.With(t.Context(), nil, records, HistoryRequest{Most: 1}), 1)

	own := HistoryRequest{Cluster: "member1"}.Selects("eu")
	require.True(t, own(&records[0]))
	require.False(t, own(&record.Audit{Instance: "us", Cluster: "member1", FailoverID: "x"}))
	require.False(t, own(&record.Audit{Instance: "eu", Cluster: "member2", FailoverID: "x"}))
	require.True(t, own(&record.Audit{Instance: "eu"}), "the pacer's, which concerns them all")
	require.False(t, own(&record.Audit{Instance: "us"}))
}

// Rules: R4.16-7.
func TestWith_RunningFailover_IsOmitted(t *testing.T) {
	open := func(failoverID string) []record.Audit { return trailOf(failoverID, time.Hour)[:4] }
	c := mocks.NewClient(t)
	c.On("DescribeWorkflowExecution", mock.Anything, "eu/cluster-failover/member1", "").Return(&workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
			Execution: &common.WorkflowExecution{}, FirstRunId: "running", Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
		},
	}, nil)
	failovers := Source{Client: c, Instance: "eu"}.With(t.Context(), nil, append(open("running"), open("killed")...), HistoryRequest{})
	require.Len(t, failovers, 1)
	require.Equal(t, "killed", failovers[0].FailoverID)
	require.Equal(t, noEnd, failovers[0].Closed)

	gone := mocks.NewClient(t)
	gone.On("DescribeWorkflowExecution", mock.Anything, mock.Anything, "").Return(nil, serviceerror.NewNotFound("forgotten"))
	require.Len(t, Source{Client: gone, Instance: "eu"}.With(t.Context(), nil, open("running"), HistoryRequest{}), 1)
}

// Rules: R4.16-7.
func TestWith_AddsThePaceDuringTheFailover(t *testing.T) {
	at := now.Add(-time.Hour) // the failover takes seven minutes from then on
	rate := func(after time.Duration, tier pace.Tier) record.Audit {
		return record.Audit{Time: at.Add(after), Kind: record.AuditPaceChanged, Instance: "eu", Phase: string(tier), Evidence: map[string]string{"rate": "0.5"}}
	}
	halt := record.Audit{
		Time: at.Add(2 * time.Minute), Kind: record.AuditOrderGiven, Instance: "eu", Order: workflows.UpdateHalt, Who: "ada", Why: "what is going on",
	}
	pacer := []record.Audit{
		rate(-2*time.Hour, pace.TierNormal), rate(-time.Hour, pace.TierReduced), halt, rate(2*time.Minute, pace.TierHalted), rate(time.Hour, pace.TierNormal),
	}
	records := append(pacer, trailOf("known", time.Hour)...)
	failovers := Source{Instance: "eu"}.With(t.Context(), nil, records, HistoryRequest{Cluster: "member1"})
	require.Len(t, failovers, 1, "the pacer's are no failover")
	require.Equal(t, pacer[1:4], failovers[0].Fleet, "what it began under, and what changed until its end")
	require.Len(t, failovers[0].Trail, 9)
	text := draw(t, func(v View) { v.History(failovers, true) })
	require.Regexp(t, `pace: reduced +the fleet`, text)
	require.Regexp(t, `ordered: halt +the fleet +ada +what is going on`, text)
	require.Less(t, strings.Index(text, "ordered: halt"), strings.Index(text, "ordered: skip"), "in the order of time")

	require.Equal(t, pacer, Pacer(records))
	text = draw(t, func(v View) { v.Pacer(pacer[3:], 3) })
	fixtures.ContainsAll(t, text, "3 earlier ones; --limit shows more", "pace: halted")
	require.NotContains(t, text, "pace: reduced")
	require.Contains(t, draw(t, func(v View) { v.Pacer(nil, 2) }), "--audit")
}

func owing(uid types.UID, ended phase.Failover, names ...string) workflows.FailoverReport {
	r := workflows.FailoverReport{Cluster: "member1", UID: uid, Ended: ended, Until: now.Add(-time.Hour)}
	for _, name := range names {
		r.PendingPurges = append(r.PendingPurges, record.PendingPurge{Key: key(name)})
	}
	return r
}

// Rules: R4.9-62.
func TestUnknownCopies_AreThoseOfADeletedCluster(t *testing.T) {
	for name, c := range map[string]struct {
		closed []workflows.FailoverReport // the newest first
		uid    types.UID
		want   []string
	}{
		"deleted, and nothing has its name": {closed: []workflows.FailoverReport{owing("old", phase.FailoverGone, "cart")}, want: []string{"shop/cart"}},
		"joined again":                      {closed: []workflows.FailoverReport{owing("old", phase.FailoverGone, "cart")}, uid: "new", want: []string{"shop/cart"}},
		"recovered, then deleted":           {closed: []workflows.FailoverReport{owing("old", phase.FailoverRecovered, "cart")}, uid: "new", want: []string{"shop/cart"}},
		"the same cluster still":            {closed: []workflows.FailoverReport{owing("old", phase.FailoverRecovered, "cart")}, uid: "old"},
		"recovered, as far as is known":     {closed: []workflows.FailoverReport{owing("old", phase.FailoverRecovered, "cart")}},
		"deleted between two failovers": {
			closed: []workflows.FailoverReport{owing("new", phase.FailoverRecovered, "till"), owing("old", phase.FailoverRecovered, "cart")}, want: []string{"shop/cart"},
		},
		"a report of no known cluster": {closed: []workflows.FailoverReport{owing("", phase.FailoverRecovered, "cart")}, uid: "new"},
	} {
		t.Run(name, func(t *testing.T) {
			var failovers []PastFailover
			for _, r := range c.closed {
				failovers = append(failovers, PastFailover{FailoverReport: r})
			}
			var got []string
			for _, u := range unknownCopies(failovers, c.uid) {
				got = append(got, u.Binding)
			}
			require.Equal(t, c.want, got)
		})
	}
}

// Rules: R4.9-62.
func TestStatus_ShowsCopiesOfUnknownStateOfAnEarlierCluster(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflowpb.WorkflowExecutionInfo{
		closedRun("cluster-failover/member1", "old", time.Hour, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED),
	}}, nil).Once()
	c.On("GetWorkflow", mock.Anything, "cluster-failover/member1", "old").Return(flowtest.Reporting(t, owing("old", phase.FailoverGone, "cart", "till")))
	f := Failover{Cluster: "member1", FailoverStatus: evacuating()}
	f = Source{Client: c}.WithUnknown(t.Context(), f)
	require.Len(t, f.UnknownCopies, 2)
	text := draw(t, func(v View) { v.Failover(f) })
	fixtures.ContainsAll(t, text, "Copies of unknown state: 2", "shop/cart, shop/till")

	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(nil, serviceerror.NewUnavailable("away"))
	require.Contains(t, draw(t, func(v View) {
		v.Failover(Source{Client: c}.WithUnknown(t.Context(), Failover{Cluster: "member1", FailoverStatus: evacuating()}))
	}),
		"Not read: copies of unknown state")
	report := PastFailover{FailoverReport: owing("old", phase.FailoverGone, "cart")}
	report.PendingPurgesBeyond = 3
	text = draw(t, func(v View) { v.History([]PastFailover{report}, true) })
	fixtures.ContainsAll(t, text, "Copies of unknown state: 4", "and 3 more")
	require.NotContains(t, text, "Pending purge")
}

// False alarms left no copies, and a flapping cluster has many: they must not displace the failover that did.
//
// Rules: R4.9-62.
func TestStatus_ManyFalseAlarmsSinceTheClusterWasDeleted_StillShowsItsCopies(t *testing.T) {
	alarms := make([]*workflowpb.WorkflowExecutionInfo, mostMoving)
	for n := range alarms {
		alarms[n] = closedRun("cluster-failover/member1", "alarm", 0, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	}
	gone := closedRun("cluster-failover/member1", "old", time.Hour, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.MatchedBy(func(r *workflowservice.ListWorkflowExecutionsRequest) bool {
		return strings.Contains(r.GetQuery(), "LifeboatPhase NOT IN ('FalseAlarm', 'Uncordoned')")
	})).Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflowpb.WorkflowExecutionInfo{gone}}, nil).Maybe()
	c.On("ListWorkflow", mock.Anything, mock.Anything).
		Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: append(alarms, gone)}, nil).Maybe()
	alarm := mocks.NewWorkflowRun(t)
	alarm.On("Get", mock.Anything, mock.Anything).Return(nil).Maybe()
	c.On("GetWorkflow", mock.Anything, mock.Anything, "alarm").Return(alarm).Maybe()
	c.On("GetWorkflow", mock.Anything, mock.Anything, "old").Return(flowtest.Reporting(t, owing("old", phase.FailoverGone, "cart")))
	f := Source{Client: c}.WithUnknown(t.Context(), Failover{Cluster: "member1", FailoverStatus: evacuating()})
	require.Equal(t, []UnknownCopy{{Binding: "shop/cart", Since: now.Add(-time.Hour)}}, f.UnknownCopies)
	require.Empty(t, f.Unread)
}

// Rules: R4.9-62.
func TestStatus_MoreFailoversThanAreSearched_SaysSo(t *testing.T) {
	closed := make([]*workflowpb.WorkflowExecutionInfo, mostMoving+1)
	for n := range closed {
		closed[n] = closedRun("cluster-failover/member1", "r", time.Duration(n)*time.Minute, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED)
	}
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: closed}, nil)
	f := Source{Client: c}.WithUnknown(t.Context(), Failover{Cluster: "member1", FailoverStatus: evacuating()})
	require.Equal(t, "copies of unknown state that failovers older than the newest 100 left", f.Unread)
}

func TestLink_EscapesTheWorkflowID(t *testing.T) {
	require.Equal(t, "http://ui/namespaces/n/workflows/cluster-failover%2Fa", Source{UI: "http://ui/", Namespace: "n"}.Link("cluster-failover/a"))
	require.Empty(t, Source{Namespace: "n"}.Link("x"))
}
