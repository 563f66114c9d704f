package fleetpacer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
)

func TestWhatIsTooLongToBeCarriedByThePacerIsNotKept(t *testing.T) {
	long := strings.Repeat("x", 600_000)
	p := &pacer{log: flowtest.Silent()}
	p.st.Requests, p.st.Pace.Tier = map[string]workflows.Request{}, pace.TierNormal
	p.requested(activities.PermitRequest{Cluster: long, FailoverID: "e", Open: true})
	p.requested(activities.PermitRequest{Cluster: "m1", FailoverID: long, Open: true})
	require.Empty(t, p.st.Requests)
	p.st.Requests["m1"] = workflows.Request{PermitRequest: activities.PermitRequest{Cluster: "m1"}}
	require.NoError(t, p.refuseClaim(workflows.Claim{Cluster: "m1", Binding: "shop/cart"}))
	require.Error(t, p.refuseClaim(workflows.Claim{Cluster: "m1", Binding: long}))
}

// The server takes 2,000 signals that wait for their answer, and fails the task of a run that sends more.
//
// Rules: R4.13-8.
func TestTheNewsOfASuspicionWaitsForManyAnswersAtATime(t *testing.T) {
	env := flowtest.PatientEnv()
	env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).After(time.Second).Return(nil)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		p := &pacer{ctx: ctx, log: flowtest.Silent()}
		p.st.Requests = map[string]workflows.Request{}
		for n := range maxRequests + 7 {
			key := karmada.BindingKey{Namespace: "shop", Name: fmt.Sprint(n)}
			p.requested(activities.PermitRequest{Cluster: "m1", FailoverID: "e", Want: 1, Open: true, Application: &key})
		}
		require.Len(t, p.st.Requests, maxRequests, "a run carries no more")
		began := p.now()
		p.broadcast(false, true)
		require.Equal(t, maxRequests/flow.SignalsAtOnce*time.Second, p.now().Sub(began))
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
}
