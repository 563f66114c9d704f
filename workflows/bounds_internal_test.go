package workflows

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
	"k8s.io/apimachinery/pkg/types"
)

// bare is a failover of which only what it has heard matters.
func bare() *clusterFailover {
	e := &clusterFailover{cluster: "m1", lookedAt: map[string]bool{}, log: silent()}
	e.st.FailoverID, e.st.Attempt = "this", 1
	return e
}

// A state that somebody made up must not turn in its loop without ever waiting: the
// worker, and every other workflow on it, would pay for that.
func TestAMigrationOfAMadeUpStateEndsAtOnce(t *testing.T) {
	ref := activities.MoveRef{Cluster: "m1", Key: karmada.BindingKey{Namespace: "shop", Name: "cart"}}
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, st := range map[string]MigrationState{
		"a phase that is none":        {Ref: ref, Began: began, Phase: "Nonsense"},
		"no phase":                    {Ref: ref, Began: began},
		"an end without an outcome":   {Ref: ref, Began: began, Phase: phase.MigrationDone},
		"no cluster and no binding":   {},
		"a cluster without a binding": {Ref: activities.MoveRef{Cluster: "m1"}},
	} {
		t.Run(name, func(t *testing.T) {
			env := patientEnv()
			env.ExecuteWorkflow(BindingMigration, BindingMigrationParams{State: st})
			var refused *temporal.ApplicationError
			require.ErrorAs(t, env.GetWorkflowError(), &refused)
			require.Equal(t, "Malformed", refused.Type())
			require.True(t, refused.NonRetryable())
		})
	}
}

func TestAnOrderTooLongToBeCarriedIsRefused(t *testing.T) {
	require.NoError(t, refuseOrder(Order{Who: "jane", Reason: strings.Repeat("x", maxReason)}))
	require.Error(t, refuseOrder(Order{Who: "jane", Reason: strings.Repeat("x", maxReason+1)}))
	require.Error(t, refuseOrder(Order{Who: strings.Repeat("x", maxWho+1), Reason: "a drill"}))
	long := queue.Scope{Namespace: strings.Repeat("x", 254)}
	require.NotEmpty(t, long.Check())
	require.Empty(t, queue.Scope{Namespace: strings.Repeat("x", 253)}.Check())
}

// What bounds the activity that uses a permit is reckoned from the permit: one that lasts for
// ever would be refused by the server for ever.
func TestAPermitOfAHundredYearsIsNone(t *testing.T) {
	e := bare()
	e.granted(Grant{Permits: pace.Permits{Number: 1, Size: 1, Window: math.MaxInt64}})
	e.granted(Grant{Permits: pace.Permits{Number: 2, Size: 1, Window: pace.PermitsEnd + 1}})
	e.granted(Grant{Permits: pace.Permits{Number: 2, Size: math.MaxInt, Window: time.Second}})
	require.Empty(t, e.st.Grants)
	e.granted(Grant{Permits: pace.Permits{Number: 3, Size: 1, Window: pace.PermitsEnd}})
	require.Len(t, e.st.Grants, 1)
}

func TestTakePermit_OfAHundredYears_IsNone(t *testing.T) {
	m := &migration{log: silent()}
	m.st.Phase, m.st.Held = phase.MigrationChecking, true
	now := time.Now()
	m.takePermit(pace.Permit{Number: 1, Earliest: now, Latest: now.AddDate(100, 0, 0)})
	m.takePermit(pace.Permit{Number: 2, Earliest: now, Latest: now})
	require.Zero(t, m.st.Permit)
	m.takePermit(pace.Permit{Number: 3, Earliest: now, Latest: now.Add(time.Second)})
	require.EqualValues(t, 3, m.st.Permit.Number)
}

// A fact too large to be handed on wakes, and is not kept.
func TestAFactTooLargeToBeHandedOnOnlyWakes(t *testing.T) {
	for name, conditions := range map[string][]rules.FactCondition{
		"a long text": {{Type: "Ready", Status: "False", Reason: strings.Repeat("x", reason.MaxConditionText+1)}},
		"many":        make([]rules.FactCondition, rules.MaxConditions+1),
	} {
		t.Run(name, func(t *testing.T) {
			e := bare()
			e.observed(ClusterObserved{Fact: rules.ClusterFact{Cluster: "m1", UID: "u", ResourceVersion: "7", Conditions: conditions}})
			require.Empty(t, e.st.Facts)
			require.True(t, e.clusterDirty && e.dirty, "the re-read tells what it would have")
		})
	}
	e := bare()
	e.observed(ClusterObserved{Fact: rules.ClusterFact{
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
	for n := range maxPendingPurges + 7 {
		e.finishedElsewhere(MigrationReport{FailoverID: "before", Result: &record.Result{PendingPurge: &record.PendingPurge{Work: fmt.Sprint(n)}}})
	}
	require.Len(t, e.st.PendingPurges, maxPendingPurges)
	require.Equal(t, 7, e.st.PendingPurgesBeyond)
	e.finishedElsewhere(MigrationReport{FailoverID: "before", Result: &record.Result{}})
	require.Equal(t, 7, e.st.PendingPurgesBeyond)
}

// A search for orphans that failed for good is made again with the next turn.
func TestASearchForOrphansThatFailedIsMadeAgain(t *testing.T) {
	env := patientEnv()
	env.RegisterActivityWithOptions(func(context.Context, activities.OrphanRequest) (activities.OrphanPage, error) {
		return activities.OrphanPage{}, temporal.NewNonRetryableApplicationError("the definition is gone", activities.ErrorGone, nil)
	}, activity.RegisterOptions{Name: activities.NameFindOrphans})
	env.ExecuteWorkflow(func(ctx workflow.Context) (bool, error) {
		e := bare()
		e.ctx, e.adoptDirty, e.st.UID = ctx, true, "u"
		e.adoptOrphans()
		return e.adoptDirty, nil
	})
	require.NoError(t, env.GetWorkflowError())
	var again bool
	require.NoError(t, env.GetWorkflowResult(&again))
	require.True(t, again)
}

// A fence is about one outage: one dated ahead would never become void.
func TestAFenceFromTheFutureIsOfNow(t *testing.T) {
	env := patientEnv()
	env.ExecuteWorkflow(func(ctx workflow.Context) ([]time.Duration, error) {
		var ahead []time.Duration
		for _, by := range []time.Duration{time.Hour, -time.Hour} {
			m := &migration{ctx: ctx, log: silent()}
			m.st.Ref.Purge = karmada.PurgeDirectly
			m.fencedByAll(Fenced{Fence: proof.Fence{By: proof.FenceByHuman, Who: "jane", At: workflow.Now(ctx).Add(by)}})
			ahead = append(ahead, m.st.Ref.Fence.At.Sub(workflow.Now(ctx)))
		}
		return ahead, nil
	})
	require.NoError(t, env.GetWorkflowError())
	var ahead []time.Duration
	require.NoError(t, env.GetWorkflowResult(&ahead))
	require.Equal(t, []time.Duration{0, -time.Hour}, ahead)
}

// No text of a message is carried without a bound: one of 2 MB would end whoever hands it
// on, or its next run.
func TestWhatIsTooLongToBeCarriedIsNotKept(t *testing.T) {
	long, key := strings.Repeat("x", 600_000), karmada.BindingKey{Namespace: "shop", Name: "cart"}
	e, fact := bare(), rules.ClusterFact{Cluster: "m1", UID: "u", ResourceVersion: "7"}
	fact.UID = types.UID(long)
	e.observed(ClusterObserved{Fact: fact})
	fact.UID, fact.ExternalProbe = "u", rules.ExternalProbe(long)
	e.observed(ClusterObserved{Fact: fact})
	require.Empty(t, e.st.Facts)
	require.Zero(t, e.st.ExternalProbe)

	e.granted(Grant{Permits: pace.Permits{Number: 1, Size: 1, Window: time.Second}, FailoverID: long})
	require.Empty(t, e.st.Grants)
	e.paced(PaceChanged{Pace: pace.Pace{Tier: pace.TierNormal, Reason: reason.Reason(long)}})
	require.Zero(t, e.st.Pace)
	e.st.Moves = map[string]Move{key.String(): {Key: key}}
	e.reported(MigrationReport{FailoverID: "this", Attempt: 1, Key: key, Message: long})
	e.reported(MigrationReport{FailoverID: "this", Attempt: 1, Key: key, Result: &record.Result{Key: key, Outcome: phase.OutcomeGone, Cause: long}})
	require.Equal(t, map[string]Move{key.String(): {Key: key}}, e.st.Moves)
	require.Empty(t, e.st.Results)

	order := Order{Who: "jane", Reason: "a drill"}
	named := BindingOrder{CancelOrder: CancelOrder{Order: order}, Binding: karmada.BindingKey{Namespace: "shop", Name: long}}
	require.ErrorContains(t, e.refuseOne(UpdateRelease, named), "253 bytes")
	require.Error(t, refuseDrain(DrainOrder{Order: order, Selector: long}))
	require.NoError(t, refuseDrain(DrainOrder{Order: order, Selector: "tier=gold"}))
}

func TestWhatIsTooLongToBeCarriedByAMigrationIsNotKept(t *testing.T) {
	long := strings.Repeat("x", 600_000)
	m := &migration{log: silent()}
	m.st.FailoverID, m.st.Ref.Purge = "this", karmada.PurgeDirectly
	m.adoptedBy(MigrationAdopted{FailoverID: long, Attempt: 2})
	require.Equal(t, "this", m.st.FailoverID)
	m.fencedByAll(Fenced{Fence: proof.Fence{By: proof.FenceByHuman, Message: long, At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}})
	require.Nil(t, m.st.Ref.Fence)
}

func TestWhatIsTooLongToBeCarriedByThePacerIsNotKept(t *testing.T) {
	long := strings.Repeat("x", 600_000)
	p := &pacer{log: silent()}
	p.st.Requests, p.st.Pace.Tier = map[string]Request{}, pace.TierNormal
	p.requested(PermitRequest{Cluster: long, FailoverID: "e", Open: true})
	p.requested(PermitRequest{Cluster: "m1", FailoverID: long, Open: true})
	require.Empty(t, p.st.Requests)
	p.st.Requests["m1"] = Request{PermitRequest: PermitRequest{Cluster: "m1"}}
	require.NoError(t, p.refuseClaim(Claim{Cluster: "m1", Binding: "shop/cart"}))
	require.Error(t, p.refuseClaim(Claim{Cluster: "m1", Binding: long}))
}

// Records of one batch go in one call, which has to stay below 2 MB.
func TestABatchOfRecordsFitsIntoOneCall(t *testing.T) {
	env := patientEnv()
	var sizes []int
	records := 0
	env.RegisterActivityWithOptions(func(_ context.Context, r activities.AuditRequest) error {
		sizes, records = append(sizes, sizeOf(r)), records+len(r.Records)
		return nil
	}, activity.RegisterOptions{Name: activities.NameRecordAudit})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		dirty := false
		s := newTrailWriter(ctx, trailOf{
			Dirty: &dirty, On: func() bool { return true }, Source: func() activities.AuditSource { return activities.AuditSource{} },
		})
		for range 6 {
			s.tell(record.Audit{Kind: record.AuditOrderGiven, Message: strings.Repeat("x", 450_000)})
		}
		s.finish()
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 6, records)
	require.Less(t, slices.Max(sizes), 2_000_000)
}
