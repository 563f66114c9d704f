package clusterfailover

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
)

// evacuates is a failover in the middle of an attempt, with so many bindings that are ready.
func evacuates(ctx workflow.Context, ready int) *failover {
	f := newFailover(ctx, workflows.ClusterFailoverParams{Cluster: "m1"})
	f.st.FailoverID, f.st.Attempt, f.st.UID, f.st.Phase, f.st.Terms.Mode = "e", 1, "u", phase.FailoverEvacuating, rules.ModeEnforce
	f.st.Terms.InFlight, f.st.Terms.Waiting, f.st.Terms.AskAgain = 5000, 5000, time.Minute
	for n := range ready {
		f.getsReady(fmt.Sprint(n))
	}
	return f
}

func (f *failover) getsReady(name string) {
	f.st.Items = append(f.st.Items, queue.Item{Key: karmada.BindingKey{Namespace: "shop", Name: name}, Policy: -1, State: queue.Ready})
}

// signalled runs do, and returns what it sent to other workflows, of which each answers after a second.
func signalled(t *testing.T, do func(ctx workflow.Context)) (sent []any) {
	t.Helper()
	env := flowtest.PatientEnv()
	var mu sync.Mutex
	env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).
		After(time.Second).Return(func(_, _, _, _ string, arg any) error {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, arg)
		return nil
	})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		do(ctx)
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
	return sent
}

// A busy failover wants more permits at nearly every turn: that is said once the last request has its answer. That
// it wants fewer is said at once.
//
// Rules: R4.5-12.
func TestMorePermitsAreRequestedOnceTheLastRequestIsAnswered(t *testing.T) {
	var wants []int
	for _, sent := range signalled(t, func(ctx workflow.Context) {
		f := evacuates(ctx, 5)
		f.dispatcher.requestPermits()
		f.getsReady("one-more")
		f.dispatcher.requestPermits()
		f.st.Items = f.st.Items[:3]
		f.dispatcher.requestPermits()
		f.getsReady("again")
		f.dispatcher.requestPermits()
		now := f.now()
		f.dispatcher.granted(workflows.Grant{FailoverID: "e", Permits: pace.Permits{Number: 1, Size: 1, First: now, Window: time.Second}})
		f.dispatcher.requestPermits()
	}) {
		request, _ := sent.(activities.PermitRequest)
		wants = append(wants, request.Want)
	}
	require.Equal(t, []int{5, 3, 3}, wants)
}

// A signal to all is on its way to many at a time: a recovery that reached one migration after the other would come late.
//
// Rules: R4.9-10.
func TestASignalToAllWaitsForManyAnswersAtATime(t *testing.T) {
	const migrations = 2*flow.SignalsAtOnce + 1
	sent := signalled(t, func(ctx workflow.Context) {
		f := evacuates(ctx, 0)
		for n := range migrations {
			key := karmada.BindingKey{Namespace: "shop", Name: fmt.Sprint(n)}
			f.st.Migrations[key.String()] = workflows.Migration{Key: key, Attempt: 1}
		}
		began := f.now()
		f.migrations.signalRecovery(nil)
		require.Equal(t, 3*time.Second, f.now().Sub(began))
		f.migrations.pokeSilent()
		require.Equal(t, 6*time.Second, f.now().Sub(began), "those that were silent for long are asked together, too")
		f.migrations.pokeSilent()
		require.Equal(t, 6*time.Second, f.now().Sub(began), "once in a while")
	})
	require.Len(t, sent, 2*migrations)
}

// The page over a long queue is written at most so often, and what it lacks is written in time.
func TestThePageOverALongQueueIsWrittenAtMostSoOften(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := evacuates(ctx, longList)
		f.nextAssess, f.st.ListDirty, f.st.Listed, f.st.Terms.Relist = f.now().Add(time.Hour), false, f.now(), time.Hour
		f.st.AskedAt = f.now().Add(time.Hour)
		f.publisher.publish()
		first := f.publisher.paged
		require.Equal(t, f.now(), first)
		require.NoError(t, workflow.Sleep(ctx, time.Second))
		f.publisher.publish()
		require.Equal(t, first, f.publisher.paged)
		at, _ := f.nextWake()
		require.Equal(t, first.Add(pageApart), at)

		f.st.Phase = phase.FailoverRecovering
		f.publisher.publish()
		require.Equal(t, f.now(), f.publisher.paged, "a new phase is shown at once")
		require.NoError(t, workflow.Sleep(ctx, pageApart))
		f.publisher.publish()
		require.Equal(t, f.now(), f.publisher.paged)
		require.Zero(t, f.publisher.nextPage)
	})
}

// A run with a long queue is as long as others, and the next one has the whole queue of 20,000: a worker that reads
// a run from the beginning does so within a workflow task.
//
// Rules: R4.4-7.
func TestARunWithALongQueueIsNoLongerThanOthers(t *testing.T) {
	env := flowtest.PatientEnv()
	env.SetCurrentHistoryLength(2000)
	env.SetCurrentHistorySize(1000)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		f := evacuates(ctx, 20_000)
		f.st.Terms.HistoryEvents, f.st.Policy = 2000, []rules.Policy{{}}
		for at := range f.st.Items {
			f.st.Items[at].Policy = 0
		}
		require.True(t, f.fullHistory())
		f.carry()
		require.Equal(t, 20_000, f.st.Queue.Count(queue.In(queue.Ready)))
		require.Empty(t, f.st.Later)
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
}

// A failover that settles, or is stopped, for hours beside old copies that are late does not turn every second: what
// their lateness changes, the turn in which they became late has seen to.
//
// Rules: R4.9-8.
func TestAFailoverBesideLateOldCopiesRests(t *testing.T) {
	for _, closes := range []phase.Failover{phase.FailoverSettling, phase.FailoverStopped} {
		flowtest.InWorkflow(t, func(ctx workflow.Context) {
			f := evacuates(ctx, 0)
			f.st.Phase, f.st.ClosedAt, f.st.Untainted, f.st.AskedAt = closes, f.now(), f.now(), f.now().Add(24*time.Hour)
			f.st.Terms.PendingPurgeWait = time.Hour
			f.st.PendingPurges = []record.PendingPurge{{Work: "w"}}
			f.nextAssess = f.now().Add(10 * time.Hour)
			var waits []time.Duration
			for range 3 {
				at, _ := f.nextWake()
				waits = append(waits, at.Sub(f.st.Untainted))
				require.NoError(t, workflow.Sleep(ctx, at.Sub(f.now())))
			}
			require.Equal(t, []time.Duration{pendingPurgeLate, time.Hour + time.Second, 10 * time.Hour}, waits, closes)
		})
	}
}

// A cluster that was deleted has no taint that waits for a restore.
//
// Rules: R4.9-51.
func TestAFailoverOfADeletedClusterRests(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := evacuates(ctx, 0)
		f.st.Phase, f.st.ClosedAt, f.st.AskedAt, f.st.GoneAt = phase.FailoverSettling, f.now(), f.now().Add(24*time.Hour), f.now()
		f.nextAssess = f.now().Add(10 * time.Hour)
		at, _ := f.nextWake()
		require.Equal(t, f.nextAssess, at)
	})
}

// What was paused before it was placed follows verdicts again once it is resumed.
//
// Rules: R4.4-15.
func TestAResumeReachesWhatIsPlacedMeanwhile(t *testing.T) {
	key := karmada.BindingKey{Namespace: "shop", Name: "cart"}
	for _, verb := range []string{workflows.UpdatePause, workflows.UpdateResume} {
		sent := signalled(t, func(ctx workflow.Context) {
			f := evacuates(ctx, 0)
			f.st.Migrations[key.String()] = workflows.Migration{Key: key, Attempt: 1, Placed: true}
			if verb == workflows.UpdatePause {
				f.st.Pause(workflows.ScopedPause{ScopedOrder: workflows.ScopedOrder{Scope: queue.ScopeOf(key)}})
			}
			f.migrations.signalScoped(scopedVerb{verb: verb, ScopedOrder: workflows.ScopedOrder{Scope: queue.ScopeOf(key)}})
		})
		require.Len(t, sent, map[string]int{workflows.UpdatePause: 0, workflows.UpdateResume: 1}[verb], verb)
	}
}

// Nothing ends an old copy on a cluster that is dead, so nobody asks for it.
//
// Rules: R4.9-8.
func TestOldCopies_OfAStoppedFailover_EndWhenTheClusterIsBack(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := evacuates(ctx, 0)
		f.st.Phase, f.st.Untainted, f.st.PendingPurges = phase.FailoverStopped, f.now(), []record.PendingPurge{{Work: "w"}}
		f.st.Cluster.Ready = "Unknown"
		require.False(t, f.oldCopies.canEnd())
		f.st.Cluster.Ready = "True"
		require.True(t, f.oldCopies.canEnd())
		f.st.Cluster.Ready, f.st.Phase = "Unknown", phase.FailoverSettling
		require.True(t, f.oldCopies.canEnd(), "it waits for them alone")
	})
}

// A recovery restores before it untaints: old copies are not late meanwhile.
//
// Rules: R4.8-18.
func TestOldCopies_BeforeTheUntaint_NeedNoAttention(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := evacuates(ctx, 0)
		f.st.Phase, f.st.PendingPurges = phase.FailoverSettling, []record.PendingPurge{{Work: "w"}}
		f.publisher.attend()
		require.Empty(t, f.st.Attention)
		f.st.Untainted = f.now().Add(-pendingPurgeLate)
		f.publisher.attend()
		require.Equal(t, []reason.Reason{reason.PendingPurge}, f.st.Attention)
	})
}
