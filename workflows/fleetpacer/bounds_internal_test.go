package fleetpacer

import (
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
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
