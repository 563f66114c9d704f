package status

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
)

// moved is the report of an application that went from member1 to member2.
func moved() workflows.ApplicationReport {
	return workflows.ApplicationReport{
		Binding: key("web"), FailoverID: "f", Ended: phase.ApplicationMigrated, Began: now.Add(-time.Hour), Until: now.Add(-30 * time.Minute),
		Attempt: 2, Cluster: "member1", Last: &record.Result{
			Key: key("web"), Outcome: phase.OutcomeMigrated, Reason: reason.Purged, Cause: record.CauseApplication, To: []string{"member2"}, At: now.Add(-31 * time.Minute),
		},
	}
}

func TestHistory_OfApplications_ReadsTheirReports(t *testing.T) {
	c := mocks.NewClient(t)
	const ofType = "WorkflowType = 'ApplicationFailover' AND " + closedRuns
	for query, runs := range map[string][]*workflowpb.WorkflowExecutionInfo{
		"WorkflowType = 'ClusterFailover' AND " + closedRuns: {closedRun("cluster-failover/member9", "old", 3*time.Hour, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED)},
		ofType: {
			closedRun("application-failover/shop/web", "new", time.Hour, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED),
			closedRun("application-failover/shop/api", "cut", 4*time.Hour, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED),
		},
		ofType + " AND WorkflowId = 'application-failover/shop/api'": nil,
	} {
		c.On("ListWorkflow", mock.Anything, mock.MatchedBy(func(r *workflowservice.ListWorkflowExecutionsRequest) bool { return r.GetQuery() == query })).
			Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: runs}, nil)
	}
	c.On("GetWorkflow", mock.Anything, "application-failover/shop/web", "new").Return(flowtest.Reporting(t, moved()))
	s := Source{Client: c}
	all := fixtures.Must(s.History(t.Context(), HistoryRequest{}))(t)
	require.Len(t, all, 3)
	require.Equal(t, "shop/web", all[0].Binding)
	require.Equal(t, phase.Failover("Migrated"), all[0].Ended)
	require.Equal(t, []string{"member2"}, all[0].Last().To)
	require.Equal(t, "terminated", all[2].Closed)
	text := draw(t, func(v View) { v.History(all, true) })
	require.Regexp(t, `member9 +2026.*terminated`, text)
	require.Regexp(t, `shop/web +2026.* 30m +Migrated +member1 -> member2 +Purged: application`, text)
	require.Contains(t, text, "shop/web, attempt 2")

	require.Empty(t, fixtures.Must(s.History(t.Context(), HistoryRequest{Binding: key("api")}))(t))
	require.Len(t, fixtures.Must(s.History(t.Context(), HistoryRequest{Most: 1}))(t), 1)
}

// mute is a Temporal in which failovers of applications run, some of which never answer.
type mute struct {
	client.Client
	runs    int
	silent  func(n int) bool
	queried atomic.Int32
}

func (*mute) idOf(n int) string {
	return workflows.ApplicationFailoverID("", key(fmt.Sprintf("web%03d", n)))
}

func (m *mute) ListWorkflow(_ context.Context, _ *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	var ids []string
	for n := range m.runs {
		ids = append(ids, m.idOf(n))
	}
	return running(ids...), nil
}

func (m *mute) QueryWorkflowWithOptions(ctx context.Context, r *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	if r.WorkflowID == workflows.FleetPacerID("") {
		return nil, serviceerror.NewNotFound("no pacer")
	}
	m.queried.Add(1)
	for n := range m.runs {
		if r.WorkflowID == m.idOf(n) && !m.silent(n) && ctx.Err() == nil {
			return flowtest.Answer(workflows.ApplicationStatus{}), nil
		}
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// Without a worker each query takes its whole timeout.
func TestOverview_SilentApplications_AreCountedAndDoNotHoldItUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mute{runs: 300, silent: func(n int) bool { return n >= 2 }}
		began := time.Now()
		all := fixtures.Must(Source{Client: m}.Overview(t.Context()))(t)
		require.LessOrEqual(t, time.Since(began), applicationsWithin)
		require.LessOrEqual(t, int(m.queried.Load()), mostApplications)
		require.Len(t, all.Applications, 2)
		unread := []string{
			"pacer: not running", "applications: more than 100 fail over, and no more were queried",
			"applications: 98 of 100 did not answer: no answer within 5s; is a lifeboat-worker running?",
		}
		require.Equal(t, unread, all.Unread)
		require.Contains(t, draw(t, func(v View) { v.Overview(all) }), "Not read: applications: 98 of 100 did not answer")
	})
}

func TestOverview_SomeSilentApplications_DoNotHideTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mute{runs: 30, silent: func(n int) bool { return n < 10 }}
		all := fixtures.Must(Source{Client: m}.Overview(t.Context()))(t)
		require.Len(t, all.Applications, 20, "they are queried beside the silent ones")
		require.Contains(t, strings.Join(all.Unread, "; "), "applications: 10 of 30 did not answer")
	})
}

func TestOverview_ApplicationsThatAllAnswer_LeaveNoRemark(t *testing.T) {
	m := &mute{runs: mostApplications, silent: func(int) bool { return false }}
	all := fixtures.Must(Source{Client: m}.Overview(t.Context()))(t)
	require.Len(t, all.Applications, mostApplications)
	require.Equal(t, []string{"pacer: not running"}, all.Unread)
}

// Rules: R4.16-7.
func TestWith_ApplicationOnlyInTheTrail(t *testing.T) {
	at := func(ago time.Duration, kind record.Kind, edit func(*record.Audit)) record.Audit {
		r := record.Audit{
			Time: now.Add(-ago), Kind: kind, Attempt: 1, FailoverID: "app", Cluster: "member1", Workflow: "application-failover/shop/web", Bindings: []string{"shop/web"},
		}
		if edit != nil {
			edit(&r)
		}
		return r
	}
	records := []record.Audit{
		at(3*time.Hour, record.AuditBindingBegun, nil),
		at(2*time.Hour, record.AuditBindingEvicted, func(r *record.Audit) { r.Workflow = "binding-migration/member1/shop/web" }),
		at(time.Hour, record.AuditBindingOutcome, func(r *record.Audit) { r.Outcome, r.To = phase.OutcomeMigrated, []string{"member2"} }),
		at(time.Hour, record.AuditFailoverClosed, func(r *record.Audit) { r.Phase = "Migrated" }),
	}
	cluster := record.Audit{
		Time: now, Kind: record.AuditFailoverClosed, FailoverID: "c", Cluster: "member1", Workflow: "cluster-failover/member1", Phase: "Recovered",
	}
	for name, c := range map[string]struct {
		request HistoryRequest
		want    []string
	}{
		"all":             {want: []string{"member1", "shop/web"}},
		"of a cluster":    {request: HistoryRequest{Cluster: "member1"}, want: []string{"member1"}},
		"of clusters":     {request: HistoryRequest{Type: workflows.TypeClusterFailover}, want: []string{"member1"}},
		"of a binding":    {request: HistoryRequest{Binding: key("web")}, want: []string{"shop/web"}},
		"of another one":  {request: HistoryRequest{Binding: key("api")}},
		"of applications": {request: HistoryRequest{Type: workflows.TypeApplicationFailover}, want: []string{"shop/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range (Source{}).With(t.Context(), nil, append(records, cluster), c.request) {
				got = append(got, e.Name())
				if e.Binding != "" {
					require.Equal(t, "application-failover/shop/web", e.WorkflowID)
					require.Equal(t, []string{"member2"}, e.Last().To)
					require.Len(t, e.Trail, 4)
				}
			}
			require.Equal(t, c.want, got)
		})
	}
	own := HistoryRequest{Binding: key("web")}.Selects("")
	require.True(t, own(&records[0]))
	require.False(t, own(&cluster))
}
