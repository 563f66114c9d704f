package clusterfailover

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows/flowtest"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"
)

// Frozen policies are judged in as many calls as it takes: each call, and each answer, has
// to stay below 2 MB.
func TestAnyNumberOfPoliciesIsJudged(t *testing.T) {
	env := flowtest.PatientEnv()
	var asked []int
	env.RegisterActivityWithOptions(func(_ context.Context, r activities.PoliciesRequest) (activities.PoliciesResult, error) {
		var out activities.PoliciesResult
		for _, p := range r.Policies {
			out.Dues = append(out.Dues, rules.Due{Affected: true, Taint: rules.TaintRef{Key: strconv.Itoa(int(p.Priority))}})
		}
		asked = append(asked, len(r.Policies))
		return out, nil
	}, activity.RegisterOptions{Name: activities.NameAssessPolicies})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		e := bare()
		e.ctx = ctx
		for n := range maxPolicies + 4 {
			e.st.Policy = append(e.st.Policy, rules.Policy{Priority: int32(n)}) //nolint:gosec // a few thousand
		}
		for n := maxPolicies; n < len(e.st.Policy); n++ {
			e.st.Policy[n].SoftMalformed = strings.Repeat("x", maxPolicyBytes/2-1000)
		}
		e.affected.policies.judge()
		require.Len(t, e.st.Dues, len(e.st.Policy))
		for n, d := range e.st.Dues {
			require.Equal(t, strconv.Itoa(n), d.Taint.Key)
		}
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []int{maxPolicies, 2, 2}, asked)
}
