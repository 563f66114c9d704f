package workflows_test

import (
	"sync"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
)

// hostBehindOlder is host with migrations of an earlier failover on the way.
func hostBehindOlder(ctx workflow.Context, cluster string, older []workflows.BindingMigrationParams) (workflows.FailoverReport, error) {
	for _, p := range older {
		c := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
			WorkflowID: workflows.BindingMigrationID("", cluster, p.State.Ref.Key), ParentClosePolicy: enums.PARENT_CLOSE_POLICY_ABANDON,
		})
		child := workflow.ExecuteChildWorkflow(c, workflows.TypeBindingMigration, p)
		if err := child.GetChildWorkflowExecution().Get(ctx, nil); err != nil {
			return workflows.FailoverReport{}, err
		}
	}
	return host(ctx, cluster)
}

// A failover was terminated while one of its migrations waited for the old copy to
// go. Its end is no outcome of the failover that came after it.
// Rules: R4.9-4, R4.9-53, R4.9-54.
func TestTemporalUI325And1399AMigrationOfATerminatedFailoverIsNoOutcomeOfTheNext(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.older = []workflows.BindingMigrationParams{{State: workflows.MigrationState{
		Ref: activities.MoveRef{
			Cluster: "m1", ClusterUID: "uid-m1", Key: key, UID: "uid-shop/app", Mode: rules.ModeEnforce,
			Owner: workflows.BindingMigrationID("", "m1", key), Written: storyBegins.Add(-time.Minute),
		},
		Parent: workflows.ClusterFailoverID("", "m1"), FailoverID: "terminated", Attempt: 1, Terms: s.settings.Terms,
		Phase: phase.MigrationPurging, Began: storyBegins.Add(-time.Minute), Placed: true, Evicted: workflows.WriteStands,
		OldWork: &karmada.Work{Namespace: "karmada-es-m1", Name: "dies-slowly", UID: "old"},
	}}}
	s.world.PutWork(karmada.Work{Namespace: "karmada-es-m1", Name: "dies-slowly", Cluster: "m1", UID: "old", Deleting: true})
	// m1 answers, and fails by another word: its old copies are still seen to go.
	s.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	s.at(2*time.Minute, func() { s.world.DropWork("karmada-es-m1", "dies-slowly") })
	s.at(10*time.Minute, func() { s.world.DropTaint("m1", "maintenance") })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Len(t, s.world.Log("evict"), 1, "it is moved by this failover: %v", ops(s))
	require.Empty(t, s.world.Leftovers())
}

// A migration was told to recover and had no answer of the scheduler; then the
// cluster failed again. The order of the attempt before must not restore it.
// Rules: R4.9-28.
func TestARecoveryOfAnOlderAttemptRestoresNothingOntoAClusterThatFailsAgain(t *testing.T) {
	s := newStory(t)
	unplaceable(s)
	s.world.ScheduleAfter = 20 * time.Minute
	s.world.SetReady("m1", false)
	s.at(2*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(6*time.Minute, func() {
		require.Empty(t, s.world.PeekCluster("m1").Added, "the untaint does not wait for ever")
		s.world.SetReady("m1", false)
	})
	s.at(40*time.Minute, func() {
		require.Empty(t, s.world.Log("restore"))
		s.world.SetReady("m1", true)
	})
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Len(t, r.Attempts, 2)
	require.Equal(t, phase.OutcomeRestored, r.Attempts[0].Results[0].Outcome, "its outcome is that of the attempt in which it began")
	require.Len(t, s.world.Log("restore"), 1)
	require.Empty(t, s.world.Leftovers())
}

func TestAHumansOrderDoesNotWaitForAnActThatWasRefused(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Recheck, s.settings.Terms.ClusterPoll = 10*time.Minute, 10*time.Minute
	s.bind("app", []string{"m1"}, "m1", "m2")
	ordered := false
	s.world.Fail = func(op, _ string) error {
		if op != "taint" || ordered {
			return nil
		}
		ordered = true
		s.order(workflows.UpdateCancel, "it was us")
		return karmada.ErrInvalid
	}
	s.world.SetReady("m1", false)
	s.at(addAfter+3*time.Second, func() {
		require.True(t, ordered)
		require.NotNil(t, s.world.PeekCluster("m1").Stopped, "obeyed at once")
	})
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, phase.FailoverCancelled, r.Ended)
	require.Empty(t, s.world.Log("evict"))
}

// The taint stands, and before its answer has come the failure is over: nobody was listed
// yet. Whom the taint moves is told of in the report all the same.
//
// Rules: R4.9-10, R4.9-37, R4.9-52.
func TestWhomATaintMovesHasAnOutcomeThoughItWasOverBeforeTheList(t *testing.T) {
	for name, c := range map[string]struct {
		over func(*story)
		why  reason.Reason
	}{
		"it recovers":     {over: func(s *story) { s.world.SetReady("m1", true) }, why: reason.ClusterRecovered},
		"a human cancels": {over: func(s *story) { s.order(workflows.UpdateCancel, "it was us") }, why: reason.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.bind("app", []string{"m1"}, "m1", "m2")
			stoic := s.bind("stoic", []string{"m1"}, "m1", "m2")
			s.world.Change(stoic, func(b *karmada.Binding) {
				b.Placement.ClusterTolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			})
			s.world.SetReady("m1", false)
			s.tainted = sync.OnceFunc(func() { c.over(s) })
			s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
			r := s.play()
			require.Empty(t, s.world.Log("evict"))
			require.Equal(t, map[string]phase.Outcome{"app": "Abandoned"}, outcomes(r))
			require.Equal(t, c.why, r.Attempts[0].Results[0].Reason)
			require.Empty(t, s.world.Leftovers())
		})
	}
}
