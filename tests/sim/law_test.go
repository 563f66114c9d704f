package sim

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
)

// Permits that were granted before the rate fell may be used until they have passed, and no longer.
func TestTheLawLetsGrantedPermitsBeUsed(t *testing.T) {
	ordered := begins.Add(time.Minute)
	for after, broken := range map[time.Duration]bool{time.Second: false, takes: false, takes + 2*time.Second: true} {
		l := newLaw(8)
		l.paced(ordered, workflows.UpdateSetRate, workflows.SetRate{Rate: 2})
		for range 3 {
			require.Empty(t, l.evict(ordered.Add(after), "m1"))
		}
		require.Equal(t, broken, l.evict(ordered.Add(after), "m1") != "", "%s after the order", after)
	}
}

// A failover that is cancelled calls off a binding just as an older one's migration ends
// for it: that says why by itself, and its outcome is its own.
func TestAnOutcomeOfTheSameMomentIsNotInherited(t *testing.T) {
	key := karmada.BindingKey{Namespace: "shop", Name: "app"}
	end := record.Result{Key: key, UID: "u", Outcome: phase.OutcomeAbandoned, Reason: reason.ClusterRecovered, At: begins}
	for reason, inherited := range map[reason.Reason]bool{reason.ClusterRecovered: true, reason.Cancelled: false} {
		s := &sim{env: (&testsuite.WorkflowTestSuite{}).NewTestWorkflowEnvironment()}
		j := &judge{s: s, handed: map[string][]activities.MigrationReport{"m1": {{FailoverID: "older", Key: key, UID: "u", Result: &end}}}}
		recorded := end
		recorded.Reason = reason
		j.inherited(workflows.FailoverReport{Cluster: "m1", FailoverID: "newer", Attempts: []workflows.AttemptReport{{Attempt: 1, Results: []record.Result{recorded}}}})
		require.Equal(t, inherited, len(j.violations) > 0, reason)
	}
}
