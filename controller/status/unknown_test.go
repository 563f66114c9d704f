package status

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"
	"k8s.io/apimachinery/pkg/types"
)

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
	run := mocks.NewWorkflowRun(t)
	run.On("Get", mock.Anything, mock.Anything).Return(nil).Run(func(args mock.Arguments) {
		if into, ok := args.Get(1).(*workflows.FailoverReport); ok {
			*into = owing("old", phase.FailoverGone, "cart", "till")
		}
	})
	c.On("GetWorkflow", mock.Anything, "cluster-failover/member1", "old").Return(run)
	f := Failover{Cluster: "member1", FailoverStatus: evacuating()}
	f = Source{Client: c}.WithUnknown(t.Context(), f)
	require.Len(t, f.UnknownCopies, 2)
	text := draw(t, func(v View) { v.Failover(f) })
	require.Contains(t, text, "Copies of unknown state: 2")
	require.Contains(t, text, "shop/cart, shop/till")

	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(nil, serviceerror.NewUnavailable("away"))
	require.Contains(t, draw(t, func(v View) {
		v.Failover(Source{Client: c}.WithUnknown(t.Context(), Failover{Cluster: "member1", FailoverStatus: evacuating()}))
	}),
		"Not read: copies of unknown state")
	report := PastFailover{FailoverReport: owing("old", phase.FailoverGone, "cart")}
	report.PendingPurgesBeyond = 3
	text = draw(t, func(v View) { v.History([]PastFailover{report}, true) })
	require.Contains(t, text, "Copies of unknown state: 4")
	require.Contains(t, text, "and 3 more")
	require.NotContains(t, text, "Pending purge")
}
