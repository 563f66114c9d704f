package clusterfailover

import (
	"context"
	"fmt"
	"math"
	"strconv"
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
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
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
	f := bare()
	f.dispatcher.granted(workflows.Grant{Permits: pace.Permits{Number: 1, Size: 1, Window: math.MaxInt64}})
	f.dispatcher.granted(workflows.Grant{Permits: pace.Permits{Number: 2, Size: 1, Window: pace.PermitsEnd + 1}})
	f.dispatcher.granted(workflows.Grant{Permits: pace.Permits{Number: 2, Size: math.MaxInt, Window: time.Second}})
	require.Empty(t, f.st.Grants)
	f.dispatcher.granted(workflows.Grant{Permits: pace.Permits{Number: 3, Size: 1, Window: pace.PermitsEnd}})
	require.Len(t, f.st.Grants, 1)
}

// A fact too large to be handed on wakes, and is not kept.
func TestAFactTooLargeToBeHandedOnOnlyWakes(t *testing.T) {
	for name, conditions := range map[string][]rules.FactCondition{
		"a long text": {{Type: "Ready", Status: "False", Reason: strings.Repeat("x", reason.MaxConditionText+1)}},
		"many":        make([]rules.FactCondition, rules.MaxConditions+1),
	} {
		t.Run(name, func(t *testing.T) {
			f := bare()
			f.judgement.observed(workflows.ClusterObserved{Fact: rules.ClusterFact{Cluster: "m1", UID: "u", ResourceVersion: "7", Conditions: conditions}})
			require.Empty(t, f.st.Facts)
			require.True(t, f.clusterDirty && f.dirty, "the re-read tells what it would have")
		})
	}
	f := bare()
	f.judgement.observed(workflows.ClusterObserved{Fact: rules.ClusterFact{
		Cluster: "m1", UID: "u", ResourceVersion: "7", Conditions: []rules.FactCondition{{Type: "Ready", Status: "False"}},
	}})
	require.Len(t, f.st.Facts, 1)
}

// Facts that come while older ones are judged are judged next, also where the bound drops some of the older ones meanwhile.
func TestFactsThatComeWhileOthersAreJudgedAreKept(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := bare()
		f.ctx = ctx
		observe := func(from, to int) {
			for n := from; n < to; n++ {
				f.judgement.observed(workflows.ClusterObserved{Fact: rules.ClusterFact{Cluster: "m1", UID: "u", ResourceVersion: fmt.Sprint(100 + n)}})
			}
		}
		observe(-7, maxFacts-5) // the bound has dropped some before, too
		heard := f.judgement.heard()
		observe(maxFacts-5, maxFacts+5)
		f.judgement.take(activities.Assessment{Gone: true}, time.Time{}, heard)
		require.Len(t, f.st.Facts, 10)
		require.Equal(t, fmt.Sprint(100+maxFacts-5), f.st.Facts[0].ResourceVersion)
	})
}

// What migrations of an older failover owe is bounded as all pending purge is: the state is
// carried from run to run.
//
// Rules: R4.8-12.
func TestThePendingPurgeOfAnOlderFailoverIsBoundedToo(t *testing.T) {
	f := bare()
	for n := range record.MaxPendingPurges + 7 {
		f.migrations.finishedElsewhere(activities.MigrationReport{FailoverID: "before", Result: &record.Result{PendingPurge: &record.PendingPurge{Work: fmt.Sprint(n)}}})
	}
	require.Len(t, f.st.PendingPurges, record.MaxPendingPurges)
	require.Equal(t, 7, f.st.PendingPurgesBeyond)
	f.migrations.finishedElsewhere(activities.MigrationReport{FailoverID: "before", Result: &record.Result{}})
	require.Equal(t, 7, f.st.PendingPurgesBeyond)
}

// A search for orphans that failed for good is made again with the next turn.
func TestASearchForOrphansThatFailedIsMadeAgain(t *testing.T) {
	fails := func(context.Context, activities.OrphanRequest) (activities.OrphanPage, error) {
		return activities.OrphanPage{}, temporal.NewNonRetryableApplicationError("the definition is gone", activities.ErrorGone, nil)
	}
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := bare()
		f.ctx, f.st.AdoptDirty, f.st.UID = ctx, true, "u"
		f.orphans.search()
		require.True(t, f.st.AdoptDirty)
	}, flowtest.Acts{activities.NameFindOrphans: fails})
}

// No text of a message is carried without a bound: one of 2 MB would end who hands it
// on, or its next run.
func TestWhatIsTooLongToBeCarriedIsNotKept(t *testing.T) {
	long, key := strings.Repeat("x", 600_000), karmada.BindingKey{Namespace: "shop", Name: "cart"}
	f, fact := bare(), rules.ClusterFact{Cluster: "m1", UID: "u", ResourceVersion: "7"}
	fact.UID = types.UID(long)
	f.judgement.observed(workflows.ClusterObserved{Fact: fact})
	fact.UID, fact.ExternalProbe = "u", rules.ExternalProbe(long)
	f.judgement.observed(workflows.ClusterObserved{Fact: fact})
	require.Empty(t, f.st.Facts)
	require.Zero(t, f.st.ExternalProbe)

	f.dispatcher.granted(workflows.Grant{Permits: pace.Permits{Number: 1, Size: 1, Window: time.Second}, FailoverID: long})
	require.Empty(t, f.st.Grants)
	f.waiting.paced(workflows.PaceChanged{Pace: pace.Pace{Tier: pace.TierNormal, Reason: reason.Reason(long)}})
	require.Zero(t, f.st.Pace)
	f.st.Migrations = map[string]workflows.Migration{key.String(): {Key: key}}
	f.reported(activities.MigrationReport{FailoverID: "this", Attempt: 1, Key: key, Message: long})
	f.reported(activities.MigrationReport{FailoverID: "this", Attempt: 1, Key: key, Result: &record.Result{Key: key, Outcome: phase.OutcomeGone, Cause: long}})
	require.Equal(t, map[string]workflows.Migration{key.String(): {Key: key}}, f.st.Migrations)
	require.Empty(t, f.st.Results)

	order := workflows.Order{Who: "jane", Reason: "a drill"}
	named := workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: order}, Binding: karmada.BindingKey{Namespace: "shop", Name: long}}
	require.ErrorContains(t, f.bindingOrders.refuseOne(workflows.UpdateRelease, named), "253 bytes")
	require.Error(t, refuseDrain(workflows.DrainOrder{Order: order, Selector: long}))
	require.NoError(t, refuseDrain(workflows.DrainOrder{Order: order, Selector: "tier=gold"}))
}

// Frozen policies are judged in as many calls as it takes: each call, and each answer, has
// to stay below 2 MB.
func TestAnyNumberOfPoliciesIsJudged(t *testing.T) {
	var asked []int
	judge := func(_ context.Context, r activities.PoliciesRequest) (activities.PoliciesResult, error) {
		var out activities.PoliciesResult
		for _, p := range r.Policies {
			out.Dues = append(out.Dues, rules.Due{Affected: true, Taint: rules.TaintRef{Key: strconv.Itoa(int(p.Priority))}})
		}
		asked = append(asked, len(r.Policies))
		return out, nil
	}
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := bare()
		f.ctx = ctx
		for n := range maxPolicies + 4 {
			f.st.Policy = append(f.st.Policy, rules.Policy{Priority: int32(n)}) //nolint:gosec // a few thousand
		}
		for n := maxPolicies; n < len(f.st.Policy); n++ {
			f.st.Policy[n].SoftMalformed = strings.Repeat("x", maxPolicyBytes/2-1000)
		}
		f.affected.policies.judge()
		require.Len(t, f.st.Dues, len(f.st.Policy))
		for n, d := range f.st.Dues {
			require.Equal(t, strconv.Itoa(n), d.Taint.Key)
		}
	}, flowtest.Acts{activities.NameAssessPolicies: judge})
	require.Equal(t, []int{maxPolicies, 2, 2}, asked)
}

// What comes to be owed while old pending purges are looked at is not forgotten. The others are looked at in as many shares as
// the limit of patches is divided by.
func TestPendingPurgeThatComesWhileOthersAreLookedAtIsKept(t *testing.T) {
	shares := make(chan int, 100)
	ends := func(_ context.Context, r activities.EndRequest) (activities.EndResult, error) {
		shares <- len(r.PendingPurges)
		return activities.EndResult{Ended: r.PendingPurges}, nil
	}
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := bare()
		f.ctx = ctx
		for i := range 50 {
			f.st.Ledger.Owe(&record.PendingPurge{Work: fmt.Sprint("first", i)})
		}
		workflow.Go(ctx, func(workflow.Context) { f.st.Ledger.Owe(&record.PendingPurge{Work: "second"}) })
		f.oldCopies.endOnce(ctx)
		require.Equal(t, []record.PendingPurge{{Work: "second"}}, f.st.PendingPurges)
		require.True(t, f.dirty)
	}, flowtest.Acts{activities.NameEndOldCopies: ends})
	require.Len(t, shares, activities.EndShares)
}

// An order that was taken, and answered, while the last act of a failover was on its way is
// carried out before that closes.
func TestAnOrderThatCameWithTheLastActIsObeyedBeforeTheClose(t *testing.T) {
	writes := func(context.Context, activities.TaintRequest) (activities.TaintResult, error) {
		return activities.TaintResult{}, nil
	}
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := newFailover(ctx, workflows.ClusterFailoverParams{Cluster: "m1"})
		f.st.FailoverID, f.st.Attempt, f.st.Phase, f.st.Terms.Mode = "e", 1, phase.FailoverStopped, rules.ModeEnforce
		f.st.Stopped = &workflows.Order{Who: "jane", Reason: "a drill"}
		f.st.ClosedAt, f.st.Untainted, f.st.AdoptDirty = workflow.Now(ctx), workflow.Now(ctx), false
		workflow.Go(ctx, func(workflow.Context) {
			f.wholeOrders.acceptResume(workflows.ScopedOrder{Order: workflows.Order{Who: "joe", Reason: "go on"}})
		})
		f.actStopped()
		require.Equal(t, phase.FailoverStopped, f.st.Phase)
		require.True(t, f.dirty, "the next turn obeys")
		f.obey()
		require.Equal(t, phase.FailoverSuspected, f.st.Phase)
		require.Equal(t, 2, f.st.Attempt)
	}, flowtest.Acts{activities.NameWriteTaints: writes})
}
