package explain

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/plan"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/controller/subject"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"
	corev1 "k8s.io/api/core/v1"
)

var (
	now  = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	cart = karmada.BindingKey{Namespace: "shop", Name: "cart-deployment"}
)

// fleet has two clusters, a rule, and a binding on both.
func fleet(t *testing.T) (*world.World, Source) {
	t.Helper()
	w := world.New(func() time.Time { return now })
	for _, name := range []string{"m1", "m2", "m3"} {
		w.AddCluster(name)
	}
	w.AddRule(rules.Rule{
		Name: "not-ready",
		MatchConditions: []rules.MatchCondition{{
			ConditionType: "Ready", Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionFalse},
		}},
		Taints: []karmada.RuleTaint{{Key: "example.org/down", Effect: corev1.TaintEffectNoExecute, AddOnMatch: time.Minute}},
	})
	w.AddBinding(karmada.Binding{
		Key: cart, Replicas: 2, SchedulerName: karmada.DefaultSchedulerName,
		Resource: karmada.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "cart"},
		Clusters: []karmada.TargetCluster{{Name: "m1", Replicas: 2}, {Name: "m2", Replicas: 2}},
		Placement: &karmada.Placement{
			ClusterAffinity:   &karmada.ClusterAffinity{ClusterNames: []string{"m1", "m2", "m3"}},
			ReplicaScheduling: &karmada.ReplicaScheduling{Type: karmada.SchedulingDuplicated},
		},
	})
	settings := activities.Settings{Terms: world.Terms(), Pace: world.Pace()}
	return w, Source{Source: plan.Source{
		Karmada: w, Settings: settings, Away: errors.New("no route"), Now: func() time.Time { return now }, Runbook: "http://runbook",
	}}
}

// asked answers queries by "<workflow> <query>"; running are the running failovers, report is of a closed one.
func asked(t *testing.T, s Source, by map[string]any, running []string, report *workflows.FailoverReport) Source {
	t.Helper()
	c := mocks.NewClient(t)
	for what, answer := range by {
		id, query, _ := strings.Cut(what, " ")
		c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query(id, query)).Return(flowtest.Answer(answer), nil).Maybe()
	}
	none := serviceerror.NewNotFound("none")
	c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query("", workflows.QueryExplain)).Return(nil, none).Maybe()
	c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query("", workflows.QueryStatus)).Return(nil, none).Maybe()
	c.On("ListWorkflow", mock.Anything, mock.MatchedBy(func(r *workflowservice.ListWorkflowExecutionsRequest) bool {
		return !strings.Contains(r.GetQuery(), "!= 'Running'")
	})).Return(listed(running), nil).Maybe()
	var closed []string
	if report != nil {
		closed = []string{report.Cluster}
	}
	c.On("ListWorkflow", mock.Anything, mock.MatchedBy(func(r *workflowservice.ListWorkflowExecutionsRequest) bool {
		return strings.Contains(r.GetQuery(), "!= 'Running'")
	})).Return(listed(closed), nil).Maybe()
	if report != nil {
		c.On("GetWorkflow", mock.Anything, mock.Anything, "r").Return(flowtest.Reporting(t, *report))
	}
	s.Status = &status.Source{Client: c, UI: "http://ui", Namespace: "n"}
	return s
}

// listed are failovers in Temporal's words.
func listed(clusters []string) *workflowservice.ListWorkflowExecutionsResponse {
	response := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, name := range clusters {
		response.Executions = append(response.Executions, &workflowpb.WorkflowExecutionInfo{
			Execution: &common.WorkflowExecution{WorkflowId: "cluster-failover/" + name, RunId: "r"},
			Status:    enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED,
		})
	}
	return response
}

func explained(t *testing.T, s Source, only string) (Explained, string) {
	t.Helper()
	x := fixtures.Must(s.Binding(t.Context(), fixtures.Must(subject.Parse("deployment/cart", "shop"))(t), only))(t)
	var out strings.Builder
	View{show.Page{Out: &out, Now: now}}.Binding(x)
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), show.Width, line)
	}
	return x, joined(out.String())
}

// joined puts leaves that were wrapped on one line again.
func joined(tree string) string {
	return regexp.MustCompile(`\s*\n[│ ]*([^├└│ ])`).ReplaceAllString(tree, " $1")
}

func TestBinding_WithoutAFailover_ExplainsWhyNothingMovesIt(t *testing.T) {
	w, s := fleet(t)
	x, text := explained(t, s, "")
	require.Len(t, x.Clusters, 2)
	require.True(t, strings.HasPrefix(text, "shop/cart-deployment"), text)
	fixtures.ContainsAll(t, text,
		"shop/cart-deployment (deployment/cart) on m1:2, m2:2", "m1: no failover of the cluster moves it", "observe mode",
		"rule not-ready: Mismatches", "if it failed now: due 12:01:00 UTC (in 1m) by example.org/down:NoExecute, to m2 or m3",
		"not read: Temporal: no route",
	)

	w.Change(cart, func(b *karmada.Binding) { b.Annotations = map[string]string{karmada.AnnotationEnabled: "false"} })
	x, text = explained(t, s, "m1")
	require.Len(t, x.Clusters, 1)
	require.Contains(t, text, "opted out: by its own annotation or by config")
	require.Equal(t, "http://runbook#optedout", x.Runbook[reason.OptedOut])
	require.Contains(t, text, "http://runbook#optedout")
	w.Change(cart, func(b *karmada.Binding) { b.Annotations = nil })
	w.Change(cart, func(b *karmada.Binding) {
		b.Tasks = []karmada.Task{{FromCluster: "m3", Producer: karmada.Producer, Reason: karmada.TaskReasonKept, SuppressDeletion: fixtures.Ptr(true)}}
	})
	_, text = explained(t, s, "m3")
	require.Contains(t, text, "m3: no failover; it is no target, and a task holds its old copy there")
	require.NotContains(t, text, "it is not there")
	w.Change(cart, func(b *karmada.Binding) { b.Tasks = nil })
	w.ClearRules()
	_, text = explained(t, s, "m1")
	require.Contains(t, text, "it would stay: no rule puts a taint")
	w.PutTaint("m1", corev1.Taint{Key: "example.org/maintenance", Effect: corev1.TaintEffectNoExecute})
	_, text = explained(t, s, "m1")
	require.Contains(t, text, "is lifeboat controller running?", "no failover runs in spite of the taint")
}

// evacuating is the answer of m1's failover about the binding.
func evacuating() workflows.Explanation {
	seconds := int64(300)
	return workflows.Explanation{
		Now: now, Cluster: "m1", Attempt: 1, Mode: "enforce", Phase: phase.FailoverEvacuating, Ready: "False", ReadyReason: "ClusterNotReachable",
		Rules: []view.WindowLine{
			{Rule: "not-ready", Taint: "example.org/down:NoExecute", State: rules.Matches, Matching: true, Since: now.Add(-3 * time.Minute), Stands: true},
			{Rule: "slow", Taint: "example.org/slow:PreferNoExecute", State: rules.Matches, Matching: true, Since: now, Deadline: now.Add(time.Minute)},
			{Rule: "other", Taint: "x:NoExecute", State: rules.Mismatches},
		},
		Policy: &rules.Policy{Priority: 3},
		Taints: []rules.TaintWord{{
			Taint:      rules.TaintRef{Key: "example.org/down", Effect: corev1.TaintEffectNoExecute, TimeAdded: now.Add(-2 * time.Minute)},
			Toleration: &corev1.Toleration{Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds},
			Until:      now.Add(3 * time.Minute), Reason: reason.TolerationExpired,
		}},
		DueAt: now.Add(3 * time.Minute), Pace: pace.Pace{Tier: pace.TierNormal, Rate: 0.5, Reason: reason.FleetHealthy},
	}
}

func TestBinding_Queued_ShowsEveryReason(t *testing.T) {
	_, s := fleet(t)
	x := evacuating()
	x.Item, x.Ahead = &queue.Item{Key: cart, State: queue.Tolerating, Reason: reason.AwaitingDue}, 4
	x.Paused = &workflows.Order{Who: "ada", Reason: "wait"}
	x.Priority = 100
	shop := workflows.ScopedOrder{Scope: queue.Scope{Namespace: "shop"}, Order: workflows.Order{Who: "kim", Reason: "soon"}}
	x.SnoozedBy = &workflows.Snooze{ScopedOrder: shop, Until: now.Add(time.Minute)}
	x.PausedBy = &workflows.ScopedPause{ScopedOrder: shop}
	s = asked(t, s, map[string]any{"cluster-failover/m1 explain": x}, []string{"m1"}, nil)
	_, text := explained(t, s, "")
	fixtures.ContainsAll(t, text,
		"m1 fails over: Evacuating, attempt 1, enforce mode (cluster-failover/m1)", "Ready False ClusterNotReachable",
		"rule not-ready: match since 11:57:00 UTC (3m ago), example.org/down:NoExecute: tainted",
		"rule slow: match since 12:00:00 UTC (now), example.org/slow:PreferNoExecute: taint at 12:01:00 UTC (in 1m)",
		"rule other: well since ",
		"tolerated by [any key any effect, 300 s] until 12:03:00 UTC (in 3m)", "priority 100 by hand, it was 3",
		"namespace shop is snoozed until 12:01:00 UTC (in 1m) by kim: soon", "namespace shop is paused by kim: soon",
		"queue: tolerating, 4 come before it", "paused by ada: wait", "pace: normal, one every 2s (0.5/s): FleetHealthy; this cluster requests 0",
		"waits for: AwaitingDue: its toleration to run out, 12:03:00 UTC", "http://ui/namespaces/n/workflows/cluster-failover%2Fm1",
		"m2: no failover of the cluster moves it",
	)
	for _, c := range []struct {
		item queue.Item
		want string
	}{
		{item: queue.Item{State: queue.Blocked, Reason: reason.NoTarget, Message: "0 candidates", RetryAt: now.Add(time.Minute)}, want: "blocked: NoTarget: 0 candidates"},
		{item: queue.Item{State: queue.Blocked, Reason: reason.Malformed, Permanent: true}, want: "unless it changes"},
		{item: queue.Item{State: queue.Ready, Reason: reason.AwaitingPermit, To: []string{"m2"}}, want: "waits for: AwaitingPermit: its turn at the fleet's pace; it could go to m2"},
		{item: queue.Item{State: queue.Due, Reason: reason.Waiting}, want: "waits for: Waiting: the check for somewhere to go"},
		{item: queue.Item{State: queue.Idle, Reason: reason.Tolerated}, want: "nothing moves it: Tolerated"},
	} {
		x.Item = &c.item
		require.Contains(t, strings.Join((View{show.Page{Now: now}}).standing(&x), "\n"), c.want)
	}
}

// A move that holds its dependents and waits for a permit gets none while an operator keeps it back.
func TestBinding_WaitingForItsPermit_NamesTheOrderThatKeepsItBack(t *testing.T) {
	by := workflows.Order{Who: "jane", Reason: "a look first"}
	of := workflows.ScopedOrder{Order: by, Scope: queue.ScopeOf(cart)}
	for want, x := range map[string]workflows.Explanation{
		"paused by jane: a look first":                    {Paused: &by},
		"shop/cart-deployment is paused by jane":          {PausedBy: &workflows.ScopedPause{ScopedOrder: of}},
		"shop/cart-deployment is snoozed until 13:00:00 ": {SnoozedBy: &workflows.Snooze{ScopedOrder: of, Until: now.Add(time.Hour)}},
	} {
		x.Move = &workflows.Migration{Key: cart, WantsPermit: true}
		require.Contains(t, strings.Join((View{show.Page{Now: now}}).standing(&x), "\n"), want)
	}
}

func TestBinding_Moving_ShowsItsMigration(t *testing.T) {
	_, s := fleet(t)
	x := evacuating()
	x.Move = &workflows.Migration{Key: cart, Phase: phase.MigrationAwaitingHealth, To: []string{"m3"}, Since: now.Add(-time.Minute), Attention: reason.GracefulTimeout, Reason: reason.NotHealthy}
	m := workflows.MigrationStatus{}
	m.Ref.Key, m.Ref.Cluster, m.Phase, m.Reason, m.To, m.Attention = cart, "m1", x.Move.Phase, x.Move.Reason, x.Move.To, x.Move.Attention
	m.Permit.Number, m.Proof.Since, m.Terms.MinHealthy = 42, now.Add(-5*time.Second), 10*time.Second
	m.Dependents.Keys = []karmada.BindingKey{cart}
	s = asked(t, s, map[string]any{
		"cluster-failover/m1 explain": x, "binding-migration/m1/shop/cart-deployment status": m,
	}, []string{"m1"}, nil)
	_, text := explained(t, s, "m1")
	fixtures.ContainsAll(t, text,
		"Moving shop/cart-deployment off m1 to m3", "⚠ Needs attention: GracefulTimeout", "Now: NotHealthy", "went under permit 42",
		"the old copy goes when that has held for 10s, at 12:00:05 UTC (in 5s)", "you can: lifeboat release shop/cart-deployment --cluster m1", "holds 1 dependent on m1", "http://runbook#nothealthy",
	)
}

func TestBinding_ClosedFailover_ShowsItsReport(t *testing.T) {
	w, s := fleet(t)
	uid := w.Peek(cart).UID
	report := workflows.FailoverReport{Cluster: "m4", FailoverID: "e", Attempts: []workflows.AttemptReport{
		{Attempt: 1, Results: []record.Result{{Key: cart, UID: uid, Outcome: phase.OutcomeAbandoned, Reason: reason.ClusterRecovered, Cause: "recovery"}}},
		{Attempt: 2, Results: []record.Result{
			{Key: cart, UID: "another", Outcome: phase.OutcomeGone},
			{Key: cart, UID: uid, Outcome: phase.OutcomeMigrated, To: []string{"m1"}, At: now},
		}},
	}}
	s = asked(t, s, nil, nil, &report)
	x, text := explained(t, s, "")
	require.Contains(t, text, "m4: no failover, and it is not there")
	require.Contains(t, text, "before: attempt 2: Migrated, now on m1, 12:00:00 UTC (now)")
	require.Contains(t, text, "before: attempt 1: Abandoned, ClusterRecovered, by")
	require.NotContains(t, text, "Gone", "another binding of that name")
	require.Len(t, x.Clusters, 3)
}

func TestBinding_FailoverWithoutAnswer_IsNamed(t *testing.T) {
	_, s := fleet(t)
	c := mocks.NewClient(t)
	c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query("", workflows.QueryExplain)).Return(nil, context.DeadlineExceeded)
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(nil, serviceerror.NewUnavailable("away"))
	s.Status = &status.Source{Client: c}
	x, text := explained(t, s, "m1")
	require.Contains(t, text, "m1: its failover did not answer: no answer within 5s; is a lifeboat-worker running?")
	require.Len(t, x.Unread, 1)
}

func TestWord_DescribesTheTolerationOfEachTaint(t *testing.T) {
	v := View{show.Page{Now: now}}
	seconds := int64(5)
	for want, w := range map[string]rules.TaintWord{
		"no toleration matches, so it moves at once": {Reason: reason.TaintUntolerated, Until: now},
		"tolerated for ever by [a=b NoExecute, without limit]": {
			Reason: reason.Tolerated, Toleration: &corev1.Toleration{Key: "a", Value: "b", Effect: corev1.TaintEffectNoExecute},
		},
		"moves nothing of it (Tolerated)":        {Reason: reason.Tolerated},
		"tolerated until 12:00:00 UTC (now)":     {Reason: reason.TolerationExpired, Until: now},
		"tolerated by [any key any effect, 5 s]": {Until: now, Toleration: &corev1.Toleration{TolerationSeconds: &seconds}},
	} {
		require.Contains(t, v.word(w, true), want)
	}
	require.Equal(t, "it moves what does not tolerate it", v.word(rules.TaintWord{}, false))
}

// trailOf is what a trail has of a failover of m4 in which the cart moved to m1, and
// the till had a story of its own.
func trailOf(failoverID string) []record.Audit {
	at := now.Add(-time.Hour)
	rec := func(kind record.Kind, bindings []string, edit func(*record.Audit)) record.Audit {
		at = at.Add(time.Minute)
		r := record.Audit{
			ID: failoverID + string(kind) + strings.Join(bindings, ","), Time: at, Kind: kind, Attempt: 1, Cluster: "m4", FailoverID: failoverID, Bindings: bindings,
		}
		if edit != nil {
			edit(&r)
		}
		return r
	}
	cartToo := []string{"shop/till-deployment", cart.String()}
	return []record.Audit{
		rec(record.AuditFailureConfirmed, nil, func(r *record.Audit) { r.Evidence = map[string]string{"ready": "False (ClusterNotReachable)"} }),
		rec(record.AuditBindingQueued, cartToo, func(r *record.Audit) { r.Evidence = map[string]string{"taint": "down:NoExecute"} }),
		rec(record.AuditOrderGiven, []string{"shop/till-deployment"}, func(r *record.Audit) { r.Order, r.Who, r.Why = "skip", "jane", "it may die" }),
		rec(record.AuditOrderGiven, []string{cart.String()}, func(r *record.Audit) { r.Order, r.Who, r.Why = "prioritise", "ada", "money" }),
		rec(record.AuditBindingEvicted, []string{cart.String()}, nil),
		rec(record.AuditBindingOutcome, []string{cart.String()}, func(r *record.Audit) { r.Outcome, r.To = phase.OutcomeMigrated, []string{"m1"} }),
		rec(record.AuditFailoverClosed, nil, func(r *record.Audit) { r.Phase = string(phase.FailoverRecovered) }),
	}
}

// kept are the records that would be read for the cart.
func kept(records []record.Audit) []record.Audit {
	var out []record.Audit
	for _, r := range records {
		if About(cart, "")(&r) {
			out = append(out, r)
		}
	}
	return out
}

// Rules: R4.16-9.
func TestBinding_FailoverOnlyInTheTrail_IsShown(t *testing.T) {
	_, s := fleet(t)
	s = asked(t, s, nil, nil, nil)
	s.Trail = kept(trailOf("e"))
	x, text := explained(t, s, "")
	require.Contains(t, text, "before: attempt 1: Migrated, now on m1, 11:06:00 UTC (54m ago), by the audit trail")
	require.Contains(t, text, "FailureConfirmed: ready=False (ClusterNotReachable)")
	require.Contains(t, text, "11:04:00 UTC (56m ago) ordered: prioritise: by ada; money")
	require.NotContains(t, text, "jane", "it is not about this one")
	c := x.Clusters[len(x.Clusters)-1]
	require.Equal(t, "m4", c.Cluster)
	require.Equal(t, FromTrail, c.Ended[0].From)
	require.Len(t, c.Ended[0].Records, 6)

	only, _ := explained(t, s, "m1")
	require.Len(t, only.Clusters, 1, "the one that was asked about")
}

// Rules: R4.16-9.
func TestBinding_ReportAndTrail_ShowTheRecordsOfAnOutcome(t *testing.T) {
	w, s := fleet(t)
	report := workflows.FailoverReport{Cluster: "m4", FailoverID: "e", Attempts: []workflows.AttemptReport{
		{Attempt: 1, Results: []record.Result{{Key: cart, UID: w.Peek(cart).UID, Outcome: phase.OutcomeMigrated, To: []string{"m1"}, At: now}}},
	}}
	s = asked(t, s, nil, nil, &report)
	_, text := explained(t, s, "")
	require.Contains(t, text, "by the report in Temporal")
	require.NotContains(t, text, "audit trail")
	s.Trail = kept(trailOf("e"))
	x, text := explained(t, s, "")
	fixtures.ContainsAll(t, text, "by the report in Temporal; how it came to that, by the audit trail", "BindingEvicted")
	require.Equal(t, FromReport, x.Clusters[len(x.Clusters)-1].Ended[0].From)
}

// Rules: R4.16-9.
func TestBinding_Deleted_ShowsItsHistory(t *testing.T) {
	w, s := fleet(t)
	w.DeleteBinding(cart)
	ref := fixtures.Must(subject.Parse("shop/cart-deployment", ""))(t)
	s.Alone = status.Source{}
	require.ErrorIs(t, fixtures.Err(s.Binding(t.Context(), ref, "")), subject.ErrNotFound, "nothing is known of it")

	s.Trail = kept(trailOf("e")[:5])
	x := fixtures.Must(s.Binding(t.Context(), ref, ""))(t)
	require.True(t, x.Gone)
	var text strings.Builder
	View{show.Page{Out: &text, Now: now}}.Binding(x)
	fixtures.ContainsAll(t, text.String(), "does not exist any more", "no outcome on record", "not read: Temporal: no route")
}
