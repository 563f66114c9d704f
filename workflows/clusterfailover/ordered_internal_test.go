package clusterfailover

import (
	"errors"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flowtest"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
)

// moving is a failover with one move of binding app, and that move's report of an end in
// which nothing was written.
func moving(ctx workflow.Context) (*failover, workflows.BindingOrder, workflows.MigrationReport) {
	e := newFailover(ctx, workflows.ClusterFailoverParams{Cluster: "m1"})
	e.st.FailoverID, e.st.Attempt, e.st.Phase, e.st.UID = "e", 1, phase.FailoverEvacuating, "uid-m1"
	e.st.Terms = world.Terms()
	e.st.Terms.Mode = rules.ModeEnforce
	e.st.Policy = []rules.Policy{{}}
	key := karmada.BindingKey{Namespace: "shop", Name: "app"}
	e.st.Moves[key.String()] = workflows.Move{Key: key, UID: "u", Attempt: 1, Phase: phase.MigrationEvicting}
	o := workflows.BindingOrder{Binding: key}
	o.Who, o.Reason = "jane", "a drill"
	blocked := record.Result{Key: key, UID: "u", Outcome: phase.OutcomeBlocked, Reason: reason.Forbidden}
	return e, o, workflows.MigrationReport{FailoverID: "e", Attempt: 1, Key: key, UID: "u", Result: &blocked}
}

// relisted has the list bring the binding again.
func relisted(e *failover, key karmada.BindingKey) {
	e.st.Queue.Index()
	e.affected.join(activities.Targeting{Key: key, UID: "u"}, rules.Policy{}, map[string]int{})
}

// An order that was accepted reaches its move too late to be seen: the move has just ended
// with nothing written. It is carried out on the queue.
//
// Rules: R4.9-32, R4.9-52.
func TestAnOrderThatItsMoveDidNotSeeAnyMoreIsCarriedOut(t *testing.T) {
	for verb, want := range map[string]record.Result{
		workflows.UpdateCancel:  {Outcome: phase.OutcomeAbandoned, Reason: reason.Cancelled, Cause: "cancelled by jane: a drill"},
		workflows.UpdatePutBack: {Outcome: phase.OutcomeAbandoned, Reason: reason.PutBackOrdered, Cause: "put back by jane: a drill"},
	} {
		for name, answer := range map[string]error{"its end is on its way": nil, "it does not run any more": errors.New("not found")} {
			t.Run(verb+"/"+name, func(t *testing.T) {
				flowtest.Signalled(t, answer, func(ctx workflow.Context) {
					e, o, report := moving(ctx)
					e.bindingOrders.obeyOne(bindingVerb{verb: verb, BindingOrder: o})
					if answer != nil && verb == workflows.UpdateCancel {
						require.False(t, e.dispatcher.mayBegin(), "nothing begins before it is known what became of that move")
						again := e.orders.bindings
						e.orders = failoverOrders{}
						require.Len(t, again, 1)
						e.bindingOrders.obeyOne(again[0])
					} else if answer != nil {
						// Somebody runs as that migration again, and ends the same way.
						m := workflows.Move{Key: o.Binding, UID: "u", Attempt: 1, Named: true, Ordered: e.orders.bindings[0].forMove()}
						e.st.Moves[o.Binding.String()], e.orders = m, failoverOrders{}
					}
					e.reported(report)
					relisted(e, o.Binding)
					require.Empty(t, e.st.Items, "it does not move in this attempt")
					require.Len(t, e.st.Results, 1)
					got := e.st.Results[0]
					require.Equal(t, want, record.Result{Outcome: got.Outcome, Reason: got.Reason, Cause: got.Cause})
				})
			})
		}
	}
}

// What a move wrote before it vanished is told by its report, however late that comes.
func TestTheLateEndOfAMoveThatWroteTakesThePlaceOfTheOrders(t *testing.T) {
	flowtest.Signalled(t, errors.New("not found"), func(ctx workflow.Context) {
		e, o, report := moving(ctx)
		e.bindingOrders.obeyOne(bindingVerb{verb: workflows.UpdateCancel, BindingOrder: o})
		e.bindingOrders.obeyOne(e.orders.bindings[0])
		report.Result.Outcome, report.Result.Wrote = phase.OutcomeNeedsOperator, true
		e.reported(report)
		require.Equal(t, map[string]int{"Abandoned": 0, "NeedsOperator": 1}, e.st.Counts)
	})
}

// A release of what holds nothing has nothing to do, and says so.
func TestAReleaseOfWhatWroteNothingIsAnsweredInTheStatus(t *testing.T) {
	flowtest.Signalled(t, nil, func(ctx workflow.Context) {
		e, o, report := moving(ctx)
		e.bindingOrders.obeyOne(bindingVerb{verb: workflows.UpdateRelease, BindingOrder: o})
		e.reported(report)
		require.Len(t, e.st.Items, 1)
		require.Contains(t, e.st.Items[0].Message, "release ordered by jane came to nothing")
	})
}

// A result of an older attempt is filed under its own, and closes nothing of this one; one
// about another uid under the same name ends another binding.
//
// Rules: R4.7-1.
func TestAResultOfAnOlderAttemptClosesNothingOfThisOne(t *testing.T) {
	flowtest.Signalled(t, nil, func(ctx workflow.Context) {
		e, o, report := moving(ctx)
		report.Result.Outcome, report.Result.Wrote = phase.OutcomeMigrated, true
		e.newAttempt()
		e.st.Phase = phase.FailoverEvacuating
		relisted(e, o.Binding)
		require.True(t, e.st.Moves[o.Binding.String()].Again, "queued behind the older one")
		require.Empty(t, e.st.Items)
		e.listDirty = false
		e.reported(report)
		require.Empty(t, e.st.Results, "nothing of this attempt is closed")
		require.Equal(t, map[string]int{"Migrated": 1}, e.st.Past[0].Counts)
		require.True(t, e.listDirty, "it is read anew")
		relisted(e, o.Binding)
		require.Len(t, e.st.Items, 1)

		late := report
		late.Result = &record.Result{Key: o.Binding, UID: "u", Outcome: phase.OutcomeRestored, Wrote: true}
		e.reported(late)
		require.Len(t, e.st.Items, 1, "a second word of it takes nothing from the queue")
		require.Empty(t, e.st.Results)

		another := report
		another.Attempt = e.st.Attempt
		another.Result = &record.Result{Key: o.Binding, UID: "another", Outcome: phase.OutcomeMigrated, Wrote: true}
		e.reported(another)
		require.Len(t, e.st.Items, 1)
		require.Equal(t, -1, e.st.Ledger.At(o.Binding, "u"))
	})
}
