package clusterfailover

import (
	"errors"
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
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
)

// moving is a failover with one move of binding app, and that move's report of an end in
// which nothing was written.
func moving(ctx workflow.Context) (*failover, workflows.BindingOrder, activities.MigrationReport) {
	f := newFailover(ctx, workflows.ClusterFailoverParams{Cluster: "m1"})
	f.st.FailoverID, f.st.Attempt, f.st.Phase, f.st.UID = "e", 1, phase.FailoverEvacuating, "uid-m1"
	f.st.Terms = world.Terms()
	f.st.Terms.Mode = rules.ModeEnforce
	f.st.Policy = []rules.Policy{{}}
	key := karmada.BindingKey{Namespace: "shop", Name: "app"}
	f.st.Migrations[key.String()] = workflows.Migration{Key: key, UID: "u", Attempt: 1, Phase: phase.MigrationEvicting}
	o := workflows.BindingOrder{Binding: key}
	o.Who, o.Reason = "jane", "a drill"
	blocked := record.Result{Key: key, UID: "u", Outcome: phase.OutcomeBlocked, Reason: reason.Forbidden}
	return f, o, activities.MigrationReport{FailoverID: "e", Attempt: 1, Key: key, UID: "u", Result: &blocked}
}

// relisted has the list bring the binding again.
func relisted(f *failover, key karmada.BindingKey) {
	f.st.Queue.Index()
	f.affected.join(activities.Targeting{Key: key, UID: "u"}, rules.Policy{}, map[string]int{})
}

// An order that was accepted reaches its migration too late to be seen: the migration has just ended
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
					f, o, report := moving(ctx)
					f.bindingOrders.obeyOne(bindingVerb{verb: verb, BindingOrder: o})
					if answer != nil && verb == workflows.UpdateCancel {
						f.st.Items = []queue.Item{{Key: karmada.BindingKey{Namespace: "shop", Name: "other"}, State: queue.Ready}}
						require.Empty(t, f.dispatcher.ready(queue.Ready, 1), "nothing begins before it is known what became of that move")
						f.st.Items = nil
						again := f.orders.bindings
						f.orders = failoverOrders{}
						require.Len(t, again, 1)
						f.bindingOrders.obeyOne(again[0])
					} else if answer != nil {
						// Somebody runs as that migration again, and ends the same way.
						m := workflows.Migration{Key: o.Binding, UID: "u", Attempt: 1, Named: true, Ordered: f.orders.bindings[0].asMigrationOrder()}
						f.st.Migrations[o.Binding.String()], f.orders = m, failoverOrders{}
					}
					f.reported(report)
					relisted(f, o.Binding)
					require.Empty(t, f.st.Items, "it does not move in this attempt")
					require.Len(t, f.st.Results, 1)
					got := f.st.Results[0]
					require.Equal(t, want, record.Result{Outcome: got.Outcome, Reason: got.Reason, Cause: got.Cause})
				})
			})
		}
	}
}

// The answer to a put-back says what became of the binding, and not why its migration could not write.
//
// Rules: R4.9-32, R4.9-57.
func TestPutBackThatItsMigrationDoesNotSee_IsAnsweredAsCarriedOut(t *testing.T) {
	flowtest.Signalled(t, nil, func(ctx workflow.Context) {
		f, o, report := moving(ctx)
		o.ID = "put-back-1"
		f.bindingOrders.obeyOne(bindingVerb{verb: workflows.UpdatePutBack, BindingOrder: o})
		workflow.Go(ctx, func(workflow.Context) { f.reported(report) })
		answer, err := f.bindingOrders.held.Await(ctx, workflows.UpdatePutBack, o, "ordered")
		require.NoError(t, err)
		require.Equal(t, "Abandoned: shop/app", answer)
	})
}

// What a migration wrote before it vanished is told by its report, however late that comes.
func TestTheLateEndOfAMoveThatWroteTakesThePlaceOfTheOrders(t *testing.T) {
	flowtest.Signalled(t, errors.New("not found"), func(ctx workflow.Context) {
		f, o, report := moving(ctx)
		f.bindingOrders.obeyOne(bindingVerb{verb: workflows.UpdateCancel, BindingOrder: o})
		f.bindingOrders.obeyOne(f.orders.bindings[0])
		report.Result.Outcome, report.Result.Wrote = phase.OutcomeNeedsOperator, true
		f.reported(report)
		require.Equal(t, map[string]int{"Abandoned": 0, "NeedsOperator": 1}, f.st.Counts)
	})
}

// A release of what holds nothing has nothing to do, and says so.
func TestAReleaseOfWhatWroteNothingIsAnsweredInTheStatus(t *testing.T) {
	flowtest.Signalled(t, nil, func(ctx workflow.Context) {
		f, o, report := moving(ctx)
		f.bindingOrders.obeyOne(bindingVerb{verb: workflows.UpdateRelease, BindingOrder: o})
		f.reported(report)
		require.Len(t, f.st.Items, 1)
		require.Contains(t, f.st.Items[0].Message, "release ordered by jane came to nothing")
	})
}

// A result of an older attempt is filed under its own, and closes nothing of this one; one
// about another uid under the same name ends another binding.
//
// Rules: R4.7-1.
func TestAResultOfAnOlderAttemptClosesNothingOfThisOne(t *testing.T) {
	flowtest.Signalled(t, nil, func(ctx workflow.Context) {
		f, o, report := moving(ctx)
		report.Result.Outcome, report.Result.Wrote = phase.OutcomeMigrated, true
		f.newAttempt()
		f.st.Phase = phase.FailoverEvacuating
		relisted(f, o.Binding)
		require.True(t, f.st.Migrations[o.Binding.String()].Again, "queued behind the older one")
		require.Empty(t, f.st.Items)
		f.st.ListDirty = false
		f.reported(report)
		require.Empty(t, f.st.Results, "nothing of this attempt is closed")
		require.Equal(t, map[string]int{"Migrated": 1}, f.st.Past[0].Counts)
		require.True(t, f.st.ListDirty, "it is read again")
		relisted(f, o.Binding)
		require.Len(t, f.st.Items, 1)

		late := report
		late.Result = &record.Result{Key: o.Binding, UID: "u", Outcome: phase.OutcomeRestored, Wrote: true}
		f.reported(late)
		require.Len(t, f.st.Items, 1, "a second word of it takes nothing from the queue")
		require.Empty(t, f.st.Results)

		another := report
		another.Attempt = f.st.Attempt
		another.Result = &record.Result{Key: o.Binding, UID: "another", Outcome: phase.OutcomeMigrated, Wrote: true}
		f.reported(another)
		require.Len(t, f.st.Items, 1)
		require.Equal(t, -1, f.st.Ledger.At(o.Binding, "u"))
	})
}

// An order may come while one move of a turn is being started: the next one of the same
// turn is looked at again before it goes.
// Rules: R4.4-12, R4.4-15.
func TestWhatWasSnoozedOrPausedSinceItsCheckIsNotDispatched(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		for name, order := range map[string]func(f *failover, scope queue.Scope){
			"snoozed": func(f *failover, scope queue.Scope) {
				f.standing.snooze(workflows.SnoozeOrder{ScopedOrder: workflows.ScopedOrder{Scope: scope}, For: "5m"})
			},
			"paused": func(f *failover, scope queue.Scope) { f.standing.pause(workflows.ScopedOrder{Scope: scope}) },
		} {
			f := crowded(ctx, 20)
			f.st.Terms.Mode = rules.ModeObserve
			f.st.Results, f.st.Folded, f.st.Counts = nil, nil, map[string]int{}
			for at := range f.st.Items {
				f.st.Items[at].State = queue.Ready
			}
			for at := range f.st.Dues {
				f.st.Dues[at] = rules.Due{Affected: true, At: f.now().Add(-time.Minute)}
			}
			first := f.st.Items[f.st.Queue.First(f.now(), 1, queue.In(queue.Ready))[0]].Key
			order(f, queue.ScopeOf(first))
			n := len(f.st.Items)
			f.dispatcher.simulate()
			require.Len(t, f.st.Items, 1, "%s: everybody else went: %d", name, n)
			require.Equal(t, first, f.st.Items[0].Key, name)
			require.NotEqual(t, queue.Ready, f.st.Items[0].State, name)
		}
	})
}

// Rules: R4.4-12.
func TestStandingOrdersAreBoundedAndOneScopeNeedsOneEntry(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := crowded(ctx, 10)
		f.st.Listed = time.Time{}
		for n := range maxStanding {
			f.standing.snooze(workflows.SnoozeOrder{ScopedOrder: workflows.ScopedOrder{Scope: queue.Scope{Namespace: time.Duration(n).String()}}, For: "5m"})
		}
		o := workflows.SnoozeOrder{ScopedOrder: workflows.ScopedOrder{Order: workflows.Order{Who: "jane", Reason: "x"}, Scope: queue.Scope{Namespace: "new"}}, For: "5m"}
		f.st.ClosedAt = time.Time{}
		require.ErrorContains(t, f.standing.refuseSnooze(o), "stand already")
		o.Namespace = time.Duration(3).String()
		require.NoError(t, f.standing.refuseSnooze(o))
		f.standing.snooze(o)
		require.Len(t, f.st.Snoozes, maxStanding)
	})
}

// The server ignores a second cancellation request in one run, so a run that has taken one
// continues as new.
//
// Rules: R4.9-43.
func TestCancelInTheTemporalUI_NextRunTakesAnother(t *testing.T) {
	env := flowtest.PatientEnv()
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Second)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		e := newFailover(ctx, workflows.ClusterFailoverParams{Cluster: "m1"})
		e.st.FailoverID, e.st.Attempt, e.st.Phase, e.waited = "e", 1, phase.FailoverEvacuating, true
		require.NoError(t, e.serve(ctx))
		require.False(t, e.full())
		require.NoError(t, workflow.Await(e.ctx, func() bool { return e.orders.cancel != nil }))
		require.False(t, e.full(), "the order is carried out first")
		e.obey()
		require.Equal(t, phase.FailoverStopped, e.st.Phase)
		require.True(t, e.full())
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
}

// Enforcing a stopped failover ends all of its cancel, the order to put back included.
//
// Rules: R4.15-14.
func TestEnforceAfterACancel_PutBackOfTheCancelEnds(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		e := newFailover(ctx, workflows.ClusterFailoverParams{Cluster: "m1"})
		e.st.FailoverID, e.st.Attempt, e.st.Phase = "e", 1, phase.FailoverStopped
		e.st.Stopped, e.st.StopPutBack = &workflows.Order{Who: "jane", Reason: "a drill"}, true
		e.endObserving(workflows.Order{Who: "joe", Reason: "go on"})
		require.Equal(t, phase.FailoverSuspected, e.st.Phase)
		require.Nil(t, e.st.Stopped)
		require.False(t, e.st.StopPutBack)
	})
}

// A confirmation for one binding whose migration is just ending with nothing written goes with it back to the queue.
//
// Rules: R4.8-7.
func TestConfirmFenced_ItsMoveIsEnding_IsKeptInTheQueue(t *testing.T) {
	flowtest.Signalled(t, nil, func(ctx workflow.Context) {
		f, o, report := moving(ctx)
		m := f.st.Migrations[o.Binding.String()]
		m.Phase = phase.MigrationAwaitingFence
		f.migrations.note(m)
		f.fences.fencedOne(confirmation{binding: o.Binding, fence: proof.Fence{By: "jane"}})
		report.Result.Reason = reason.Unreachable
		f.reported(report)
		relisted(f, o.Binding)
		require.Len(t, f.st.Items, 1)
		require.NotNil(t, f.st.Items[0].Fence)
	})
}

// A report whose answer is lost is delivered once more. The end of an earlier migration of a binding ends no later one.
//
// Rules: R4.9-52.
func TestReport_EndOfAnEarlierMigrationOnceMore_EndsNoLaterOne(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f, o, report := moving(ctx)
		key := o.Binding.String()
		report.Asked = f.now()
		m := f.st.Migrations[key]
		m.StartedHere, m.Since = true, f.now().Add(time.Second)
		f.migrations.note(m)
		f.reported(report)
		require.Contains(t, f.st.Migrations, key)
		m.StartedHere = false // it ran already when this failover asked for it
		f.migrations.note(m)
		f.reported(report)
		require.NotContains(t, f.st.Migrations, key)
	})
}

// An order about the cluster that comes during a refused write is carried out in the next turn, unless it has to wait all the same.
//
// Rules: R4.12-1.
func TestBackOff_AnOrderAboutTheClusterWaits_IsNotDelayed(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := newFailover(ctx, workflows.ClusterFailoverParams{Cluster: "member1"})
		backsOff := func() bool {
			f.backOff()
			return f.dirty
		}
		f.st.Terms.Mode, f.st.UID = rules.ModeEnforce, "u"
		f.st.Pace.Tier = pace.TierNormal
		require.False(t, backsOff())
		f.asks = []*clusterAsk{{}}
		require.True(t, backsOff())
		f.st.Pace.Tier = ""
		require.False(t, backsOff(), "the pacer has not signalled yet")
		f.st.Terms.Mode = rules.ModeObserve
		require.True(t, backsOff())
		f.st.UID = ""
		require.False(t, backsOff(), "nothing is known of the cluster yet")
	})
}
