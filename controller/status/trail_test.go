package status

import (
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"
)

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
func TestWhatTemporalHasForgottenTheTrailStillTells(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(&workflowservice.ListWorkflowExecutionsResponse{}, nil)
	s, request := Source{Client: c, Instance: "eu"}, HistoryRequest{Cluster: "member1"}
	known, err := s.History(t.Context(), request)
	require.NoError(t, err)
	require.Empty(t, known)

	failovers := s.With(t.Context(), known, trailOf("forgotten", 90*24*time.Hour), request)
	require.Len(t, failovers, 1)
	e := failovers[0]
	require.True(t, e.FromTrail)
	require.Empty(t, e.Closed)
	require.Equal(t, phase.FailoverRecovered, e.Ended)
	require.Equal(t, 7*time.Minute, e.took())
	require.Equal(t, map[phase.Outcome]int{phase.OutcomeMigrated: 1, phase.OutcomeAbandoned: 8, phase.OutcomeSkipped: 1}, e.Totals())
	require.Len(t, e.Attempts, 2)
	require.Equal(t, phase.Failover("Settling"), e.Attempts[0].Ended)
	require.Len(t, e.Attempts[0].Results, 2, "one outcome for each binding")
	require.Equal(t, karmada.BindingKey{Name: "reader"}, e.Attempts[0].Results[1].Key)
	require.Equal(t, 7, e.Attempts[1].Folded)
	text := draw(t, func(v View) { v.History(failovers, true) })
	for _, want := range []string{"shop/cart", "member2", "ordered: skip", "jane", "it may die", "rule not-ready=down:NoExecute", "-/reader"} {
		require.Contains(t, text, want)
	}
}

// Rules: R4.16-7.
func TestTemporalAndTheTrailArePutTogether(t *testing.T) {
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

	ours := HistoryRequest{Cluster: "member1"}.Ours("eu")
	require.True(t, ours(&records[0]))
	require.False(t, ours(&record.Audit{Instance: "us", Cluster: "member1", FailoverID: "x"}))
	require.False(t, ours(&record.Audit{Instance: "eu", Cluster: "member2", FailoverID: "x"}))
	require.True(t, ours(&record.Audit{Instance: "eu"}), "the pacer's, which concerns them all")
	require.False(t, ours(&record.Audit{Instance: "us"}))
}

// Rules: R4.16-7.
func TestAFailoverThatStillRunsIsNoHistory(t *testing.T) {
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
func TestWhatBecameOfTheFleetsPaceMeanwhileIsTold(t *testing.T) {
	at := now.Add(-time.Hour) // the failover takes seven minutes from then on
	rate := func(after time.Duration, tier pace.Tier) record.Audit {
		return record.Audit{Time: at.Add(after), Kind: record.AuditPaceChanged, Instance: "eu", Phase: string(tier), Evidence: map[string]string{"rate": "0.5"}}
	}
	halt := record.Audit{
		Time: at.Add(2 * time.Minute), Kind: record.AuditOrderGiven, Instance: "eu", Order: workflows.UpdateHalt, Who: "ada", Why: "what is going on",
	}
	pacer := []record.Audit{
		rate(-2*time.Hour, pace.TierNormal), rate(-time.Hour, pace.TierSlow), halt, rate(2*time.Minute, pace.TierHalted), rate(time.Hour, pace.TierNormal),
	}
	records := append(pacer, trailOf("known", time.Hour)...)
	failovers := Source{Instance: "eu"}.With(t.Context(), nil, records, HistoryRequest{Cluster: "member1"})
	require.Len(t, failovers, 1, "the pacer's are no failover")
	require.Equal(t, pacer[1:4], failovers[0].Fleet, "what it began under, and what changed until its end")
	require.Len(t, failovers[0].Trail, 9)
	text := draw(t, func(v View) { v.History(failovers, true) })
	require.Regexp(t, `pace: slow +the fleet`, text)
	require.Regexp(t, `ordered: halt +the fleet +ada +what is going on`, text)
	require.Less(t, strings.Index(text, "ordered: halt"), strings.Index(text, "ordered: skip"), "in the order of time")

	require.Equal(t, pacer, Pacer(records))
	text = draw(t, func(v View) { v.Pacer(pacer, 2) })
	require.Contains(t, text, "3 earlier ones")
	require.Contains(t, text, "pace: halted")
	require.NotContains(t, text, "pace: slow")
	require.Contains(t, draw(t, func(v View) { v.Pacer(nil, 2) }), "--audit")
}
