package clusterfailover

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flowtest"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
	"k8s.io/apimachinery/pkg/types"
)

// bare is a failover of which only what it has heard matters.
func bare() *failover {
	st := &workflows.FailoverState{FailoverID: "this", Attempt: 1}
	return newParts(&run{cluster: "m1", log: flowtest.Silent(), st: st, trail: trail{st: st}})
}

// What bounds the activity that uses a permit is reckoned from the permit: one that lasts for
// ever would be refused by the server for ever.
func TestAPermitOfAHundredYearsIsNone(t *testing.T) {
	e := bare()
	e.dispatcher.granted(workflows.Grant{Permits: pace.Permits{Number: 1, Size: 1, Window: math.MaxInt64}})
	e.dispatcher.granted(workflows.Grant{Permits: pace.Permits{Number: 2, Size: 1, Window: pace.PermitsEnd + 1}})
	e.dispatcher.granted(workflows.Grant{Permits: pace.Permits{Number: 2, Size: math.MaxInt, Window: time.Second}})
	require.Empty(t, e.st.Grants)
	e.dispatcher.granted(workflows.Grant{Permits: pace.Permits{Number: 3, Size: 1, Window: pace.PermitsEnd}})
	require.Len(t, e.st.Grants, 1)
}

// A fact too large to be handed on wakes, and is not kept.
func TestAFactTooLargeToBeHandedOnOnlyWakes(t *testing.T) {
	for name, conditions := range map[string][]rules.FactCondition{
		"a long text": {{Type: "Ready", Status: "False", Reason: strings.Repeat("x", reason.MaxConditionText+1)}},
		"many":        make([]rules.FactCondition, rules.MaxConditions+1),
	} {
		t.Run(name, func(t *testing.T) {
			e := bare()
			e.judgement.observed(workflows.ClusterObserved{Fact: rules.ClusterFact{Cluster: "m1", UID: "u", ResourceVersion: "7", Conditions: conditions}})
			require.Empty(t, e.st.Facts)
			require.True(t, e.clusterDirty && e.dirty, "the re-read tells what it would have")
		})
	}
	e := bare()
	e.judgement.observed(workflows.ClusterObserved{Fact: rules.ClusterFact{
		Cluster: "m1", UID: "u", ResourceVersion: "7", Conditions: []rules.FactCondition{{Type: "Ready", Status: "False"}},
	}})
	require.Len(t, e.st.Facts, 1)
}

// What migrations of an older failover owe is bounded as all pending purge is: the state is
// carried from run to run.
//
// Rules: R4.8-12.
func TestThePendingPurgeOfAnOlderFailoverIsBoundedToo(t *testing.T) {
	e := bare()
	for n := range record.MaxPendingPurges + 7 {
		e.children.finishedElsewhere(workflows.MigrationReport{FailoverID: "before", Result: &record.Result{PendingPurge: &record.PendingPurge{Work: fmt.Sprint(n)}}})
	}
	require.Len(t, e.st.PendingPurges, record.MaxPendingPurges)
	require.Equal(t, 7, e.st.PendingPurgesBeyond)
	e.children.finishedElsewhere(workflows.MigrationReport{FailoverID: "before", Result: &record.Result{}})
	require.Equal(t, 7, e.st.PendingPurgesBeyond)
}

// A search for orphans that failed for good is made again with the next turn.
func TestASearchForOrphansThatFailedIsMadeAgain(t *testing.T) {
	env := flowtest.PatientEnv()
	env.RegisterActivityWithOptions(func(context.Context, activities.OrphanRequest) (activities.OrphanPage, error) {
		return activities.OrphanPage{}, temporal.NewNonRetryableApplicationError("the definition is gone", activities.ErrorGone, nil)
	}, activity.RegisterOptions{Name: activities.NameFindOrphans})
	env.ExecuteWorkflow(func(ctx workflow.Context) (bool, error) {
		e := bare()
		e.ctx, e.adoptDirty, e.st.UID = ctx, true, "u"
		e.orphans.search()
		return e.adoptDirty, nil
	})
	require.NoError(t, env.GetWorkflowError())
	var again bool
	require.NoError(t, env.GetWorkflowResult(&again))
	require.True(t, again)
}

// No text of a message is carried without a bound: one of 2 MB would end whoever hands it
// on, or its next run.
func TestWhatIsTooLongToBeCarriedIsNotKept(t *testing.T) {
	long, key := strings.Repeat("x", 600_000), karmada.BindingKey{Namespace: "shop", Name: "cart"}
	e, fact := bare(), rules.ClusterFact{Cluster: "m1", UID: "u", ResourceVersion: "7"}
	fact.UID = types.UID(long)
	e.judgement.observed(workflows.ClusterObserved{Fact: fact})
	fact.UID, fact.ExternalProbe = "u", rules.ExternalProbe(long)
	e.judgement.observed(workflows.ClusterObserved{Fact: fact})
	require.Empty(t, e.st.Facts)
	require.Zero(t, e.st.ExternalProbe)

	e.dispatcher.granted(workflows.Grant{Permits: pace.Permits{Number: 1, Size: 1, Window: time.Second}, FailoverID: long})
	require.Empty(t, e.st.Grants)
	e.waiting.paced(workflows.PaceChanged{Pace: pace.Pace{Tier: pace.TierNormal, Reason: reason.Reason(long)}})
	require.Zero(t, e.st.Pace)
	e.st.Moves = map[string]workflows.Move{key.String(): {Key: key}}
	e.reported(workflows.MigrationReport{FailoverID: "this", Attempt: 1, Key: key, Message: long})
	e.reported(workflows.MigrationReport{FailoverID: "this", Attempt: 1, Key: key, Result: &record.Result{Key: key, Outcome: phase.OutcomeGone, Cause: long}})
	require.Equal(t, map[string]workflows.Move{key.String(): {Key: key}}, e.st.Moves)
	require.Empty(t, e.st.Results)

	order := workflows.Order{Who: "jane", Reason: "a drill"}
	named := workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: order}, Binding: karmada.BindingKey{Namespace: "shop", Name: long}}
	require.ErrorContains(t, e.bindingOrders.refuseOne(workflows.UpdateRelease, named), "253 bytes")
	require.Error(t, refuseDrain(workflows.DrainOrder{Order: order, Selector: long}))
	require.NoError(t, refuseDrain(workflows.DrainOrder{Order: order, Selector: "tier=gold"}))
}
