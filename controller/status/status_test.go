package status

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"
	corev1 "k8s.io/api/core/v1"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func key(name string) karmada.BindingKey { return karmada.BindingKey{Namespace: "shop", Name: name} }

// evacuating is a failover with something of everything.
func evacuating() *workflows.FailoverStatus {
	s := &workflows.FailoverStatus{Name: "member1", Now: now}
	s.Phase, s.Attempt, s.Reason = phase.FailoverEvacuating, 2, reason.ConditionsMatch
	s.Entered, s.Since = now.Add(-90*time.Second), now.Add(-2*time.Minute)
	s.Terms.Mode = rules.ModeEnforce
	s.Cluster = workflows.ClusterView{Ready: "False", ReadyReason: "ClusterNotReachable"}
	s.Results = []record.Result{{Key: key("done"), Outcome: phase.OutcomeMigrated}}
	s.Moves = map[string]workflows.Move{
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

func TestTheOverviewCountsWhereBindingsStand(t *testing.T) {
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

func TestAHaltSaysHowToEndIt(t *testing.T) {
	pacer := &workflows.PacerStatus{}
	pacer.Pace.Tier = pace.TierHalted
	pacer.Orders.Halted = &workflows.Order{Who: "ada", Reason: "checking"}
	text := draw(t, func(v View) { v.Overview(Overview{Pacer: pacer}) })
	require.Contains(t, text, "Paused by ada: checking. To go on: lifeboat resume fleet")
	require.Contains(t, text, "No cluster is failing over.")
}

func TestOneFailoverShowsWhatMovesWhatWaitsWhatIsStuckAndWhatOneCanDo(t *testing.T) {
	text := draw(t, func(v View) {
		v.Failover(Failover{Cluster: "member1", WorkflowID: "cluster-failover/member1", Link: "http://ui/x", FailoverStatus: evacuating()})
	})
	for _, want := range []string{
		"cluster-failover/member1", "http://ui/x", "Ready=False ClusterNotReachable", "1 of 5 bindings done (1 Migrated) · 2 moving · 1 waiting their turn · 1 blocked",
		"needs attention: Graceful", "AwaitingPermit", "NoTarget", "lifeboat pause member1",
	} {
		require.Contains(t, text, want)
	}
	require.Less(t, strings.Index(text, "shop/late"), strings.Index(text, "shop/fine"), "what needs attention comes first")
}

func TestFailover_Move_ShowsTheTimeInItsPhaseAndNoTargetThatKarmadaRefused(t *testing.T) {
	s := evacuating()
	s.Moves = map[string]workflows.Move{"shop/back": {
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

func TestOneFailoverShowsWhatWasOrderedByHandAndWhatIsAsked(t *testing.T) {
	s := evacuating()
	jane := workflows.ScopedOrder{Order: workflows.Order{Who: "jane", Reason: "month end"}, Scope: queue.Scope{Namespace: "shop"}}
	s.Snoozes = []workflows.Snooze{{ScopedOrder: jane, Until: now.Add(time.Hour)}}
	s.Pauses = []workflows.ScopedPause{{ScopedOrder: jane}}
	s.Items = append(s.Items, queue.Item{
		Key: karmada.BindingKey{Namespace: "shop", Name: "asked"}, State: queue.Blocked, Reason: reason.AwaitingApproval,
	})
	s.BlockedBy = map[reason.Reason]int{reason.AwaitingApproval: 1}
	text := draw(t, func(v View) { v.Failover(Failover{Cluster: "member1", WorkflowID: "id", FailoverStatus: s}) })
	for _, want := range []string{
		"paused   namespace shop  it is resumed, or this closes  jane: month end", "snoozed  namespace shop  13:00:00 UTC (in 1h)",
		"1 move awaits approval", "lifeboat approve member1",
	} {
		require.Contains(t, text, want)
	}
	for n := range 20 {
		s.Priorities = append(s.Priorities, workflows.Priority{ScopedOrder: jane, Priority: int32(n)}) //nolint:gosec // 0 to 19
	}
	require.Contains(t, draw(t, func(v View) { v.Failover(Failover{Cluster: "member1", FailoverStatus: s}) }), "... and 12 more")
}

func TestWhatIsStuckIsLookedUpInTheRunbook(t *testing.T) {
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

func TestOneFailoverShowsTaintsOfOthersAndWhatWaitsForAFence(t *testing.T) {
	s := evacuating()
	s.Cluster.Ready, s.Cluster.ReadyReason = "True", "ClusterReady"
	s.Cluster.Foreign = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
	s.Moves["shop/db"] = workflows.Move{
		Key: key("db"), Phase: phase.MigrationAwaitingFence, Reason: reason.AwaitingFence,
		Message: "member1 does not answer, and the old copy is not proven dead", Attention: reason.AwaitingFence,
	}
	text := draw(t, func(v View) { v.Failover(Failover{Cluster: "member1", WorkflowID: "id", FailoverStatus: s}) })
	require.Contains(t, text, "taint maintenance:NoExecute put by others")
	require.Regexp(t, `(?m)^shop/db +AwaitingFence +⚠ needs attention: member1 does not answer, and the old$`, text, "once, and wrapped")
	require.Contains(t, text, "lifeboat confirm-fenced shop/db --cluster member1")
	require.Contains(t, text, "Take the taint away")
}

func TestAFailoverThatDoesNotAnswerSaysWhy(t *testing.T) {
	text := draw(t, func(v View) { v.Failover(Failover{Cluster: "member1", WorkflowID: "id", Unanswered: "no worker"}) })
	require.Contains(t, text, "No answer: no worker")
}

func TestOneFailoverAsJSONIsFlat(t *testing.T) {
	encoded, err := json.Marshal(Failover{Cluster: "member1", WorkflowID: "id", FailoverStatus: evacuating()})
	require.NoError(t, err)
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

// value answers a query.
type value struct{ answer any }

func (v value) HasValue() bool { return true }

func (v value) Get(into any) error {
	encoded, err := json.Marshal(v.answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(encoded, into)
}

// bindings is a Karmada with one page.
type bindings struct {
	all []karmada.Binding
	err error
}

func (b bindings) Bindings(context.Context, activities.Page) (activities.BindingPage, error) {
	return activities.BindingPage{Bindings: b.all}, b.err
}

func running(ids ...string) *workflowservice.ListWorkflowExecutionsResponse {
	list := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, id := range ids {
		list.Executions = append(list.Executions, &workflowpb.WorkflowExecutionInfo{Execution: &common.WorkflowExecution{WorkflowId: id}})
	}
	return list
}

func TestTheOverviewAsksEachFailoverOfItsInstance(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.Anything).
		Return(running("eu/cluster-failover/member1", "cluster-failover/other", "eu/cluster-failover/closed"), nil)
	c.On("QueryWorkflow", mock.Anything, "eu/fleet-pacer", "", workflows.QueryStatus).Return(nil, serviceerror.NewNotFound("gone"))
	c.On("QueryWorkflow", mock.Anything, "eu/cluster-failover/member1", "", workflows.QueryStatus).Return(value{evacuating()}, nil)
	c.On("QueryWorkflow", mock.Anything, "eu/cluster-failover/closed", "", workflows.QueryStatus).Return(nil, serviceerror.NewNotFound("gone"))
	kept := karmada.Task{FromCluster: "member3", Producer: karmada.Producer, Reason: karmada.TaskReasonNeedsOperator, Message: "m"}
	all, err := Source{Client: c, Instance: "eu", Bindings: bindings{all: []karmada.Binding{
		{Key: key("cart"), Tasks: []karmada.Task{kept, {FromCluster: "x", Producer: "TaintManager", Reason: kept.Reason}}},
	}}}.Overview(t.Context())
	require.NoError(t, err)
	require.Len(t, all.Failovers, 1)
	require.Equal(t, 2, all.Failovers[0].Attempt)
	require.Equal(t, []Kept{{Binding: "shop/cart", Cluster: "member3", Reason: kept.Reason, Owner: "m"}}, all.Kept)
	require.Equal(t, []string{"pacer: not running"}, all.Unread)
}

func TestWhatKarmadaDoesNotTellIsSaid(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(running(), nil)
	c.On("QueryWorkflow", mock.Anything, mock.Anything, "", workflows.QueryStatus).Return(value{workflows.PacerStatus{}}, nil)
	all, err := Source{Client: c, Bindings: bindings{err: errors.New("no kubeconfig")}}.Overview(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"what was kept or left to an operator: no kubeconfig"}, all.Unread)
}

func TestAClusterWithoutAFailoverIsNotFoundAndOneWithoutAnAnswerIsShown(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("QueryWorkflow", mock.Anything, "cluster-failover/none", "", workflows.QueryStatus).Return(nil, serviceerror.NewNotFound("gone"))
	c.On("QueryWorkflow", mock.Anything, "cluster-failover/mute", "", workflows.QueryStatus).Return(nil, serviceerror.NewDeadlineExceeded("late"))
	_, err := Source{Client: c}.Failover(t.Context(), "none")
	require.ErrorIs(t, err, ErrNotFound)
	f, err := Source{Client: c}.Failover(t.Context(), "mute")
	require.NoError(t, err)
	require.Contains(t, f.Unanswered, "is a lifeboat-worker running?")
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
	require.Contains(t, head(), "Fleet: normal", "a pacer that no worker of this release has told its configuration")
}

// Rules: R4.9-59.
func TestStatus_TaintThatWasPutBack_NamesTheOrderThatEndsTheFailover(t *testing.T) {
	s := evacuating()
	s.TakenAway = &workflows.TakenAway{AddedTaint: karmada.AddedTaint{Key: "down", Effect: corev1.TaintEffectNoExecute, Rule: "not-ready"}, At: now.Add(-12 * time.Second)}
	show := func() string {
		return draw(t, func(v View) { v.Failover(Failover{Cluster: "member1", FailoverStatus: s}) })
	}
	require.Contains(t, show(), "11:59:48 UTC (12s ago): down:NoExecute of ClusterTaintRule not-ready was taken away and put back")
	require.Contains(t, show(), "lifeboat cancel member1")
	s.TakenAway.Twice = true
	require.NotContains(t, show(), "was taken away", "the pause says it")
}
