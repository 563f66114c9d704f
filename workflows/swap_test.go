package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
)

// chained are the reports of m1's failover and of m2's.
type chained struct {
	First, Second workflows.FailoverReport
}

// hostChained runs m1's failover, and m2's from a moment on.
func hostChained(ctx workflow.Context, second time.Duration) (chained, error) {
	var out chained
	first, settle := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		var err error
		out.First, err = host(ctx, "m1")
		settle.Set(nil, err)
	})
	if err := workflow.Sleep(ctx, second); err != nil {
		return out, err
	}
	if err := failover(ctx, "m2").Get(ctx, &out.Second); err != nil {
		return out, err
	}
	return out, first.Get(ctx, nil)
}

// hostAgain runs m1's failover, and from a moment on, when that has ended, another one.
func hostAgain(ctx workflow.Context, from time.Duration) (chained, error) {
	var out chained
	began := workflow.Now(ctx)
	var err error
	if out.First, err = host(ctx, "m1"); err != nil {
		return out, err
	}
	if err := workflow.Sleep(ctx, from-workflow.Now(ctx).Sub(began)); err != nil {
		return out, err
	}
	return out, failover(ctx, "m1").Get(ctx, &out.Second)
}

// playBoth plays a chained failure, or two failovers of one cluster, to the end.
func (s *story) playBoth() (first, second workflows.FailoverReport) {
	s.t.Helper()
	s.run()
	var both chained
	require.NoError(s.t, s.env.GetWorkflowResult(&both))
	return both.First, both.Second
}

// chain is a story in which m1 fails, its binding goes to m2 and is not released, and
// m2 fails after six minutes. m1 is back after three, or after twenty.
func chain(t *testing.T, back time.Duration) (*story, karmada.BindingKey) {
	t.Helper()
	s := newStory(t)
	s.world.HealthyAfter = 10 * time.Minute
	key := s.bind("app", []string{"m1"}, "m1", "m2", "m3")
	const second = 6 * time.Minute
	s.host, s.args = hostChained, []any{second}
	// Whether a workflow runs is the environment's to say, and it does not.
	s.world.SetRunning(s.migration(key), true)
	s.world.SetRunning(workflows.BindingMigrationID("", "m2", key), true)
	s.outage(back)
	s.at(second-time.Second, func() {
		require.Equal(t, "m2", s.world.Peek(key).Clusters[0].Name)
		require.Len(t, s.world.Peek(key).Tasks, 1)
		s.world.SetReady("m2", false)
	})
	s.at(30*time.Minute, func() { s.world.SetReady("m2", true) })
	return s, key
}

// Rules: R4.9-14, R4.9-15, R4.9-29.
func TestAFailingTargetHandsBackToTheRecoveredSourceInOneWrite(t *testing.T) {
	s, key := chain(t, 3*time.Minute)
	s.world.Lost = func(op, _ string) bool {
		if op == "evict" && len(s.world.Writes) > 4 {
			b := s.world.PeekLocked(key)
			require.Equal(t, "m1", b.Clusters[0].Name, "the source is back …")
			require.Len(t, b.Tasks, 1)
			require.Equal(t, "m2", b.Tasks[0].FromCluster, "… and the failing target is out, under a hold of its own")
		}
		return false
	}
	first, second := s.playBoth()
	require.Equal(t, phase.OutcomeRestored, resultOf(t, first).Outcome)
	require.Equal(t, reason.Swapped, resultOf(t, first).Reason)
	got := resultOf(t, second)
	require.Equal(t, phase.OutcomeMigrated, got.Outcome)
	require.Equal(t, []string{"m1"}, got.To)
	require.Len(t, s.world.Log("evict"), 2)
	require.Empty(t, s.world.Log("restore"), "the eviction itself was the restore")
	require.Equal(t, "m1", s.world.Peek(key).Clusters[0].Name)
	require.Empty(t, s.world.Leftovers())
	for _, w := range s.world.Log("release") {
		require.Equal(t, "m2", w.Cluster, "the copy on m1 was never given up")
	}
}

// Rules: R4.9-30.
func TestAFailingTargetMovesOnWhereTheSourceCannotTakeOver(t *testing.T) {
	for name, arrange := range map[string]func(*story, karmada.BindingKey){
		"its old copy is gone": func(s *story, _ karmada.BindingKey) {
			s.at(5*time.Minute, func() { s.world.DropWork("karmada-es-m1", "shop-app") })
		},
		"another Work took its place": func(s *story, _ karmada.BindingKey) {
			s.at(5*time.Minute, func() {
				s.world.DropWork("karmada-es-m1", "shop-app")
				s.world.PutWork(karmada.Work{Namespace: "karmada-es-m1", Name: "shop-app", UID: "another"})
			})
		},
		"nobody knows which Work was held": func(s *story, key karmada.BindingKey) {
			s.at(5*time.Minute, func() { s.world.ForgetWork(s.migration(key)) })
		},
		"the workflow that holds it does not run": func(s *story, key karmada.BindingKey) {
			s.at(5*time.Minute, func() { s.world.SetRunning(s.migration(key), false) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := chain(t, 3*time.Minute)
			arrange(s, key)
			first, second := s.playBoth()
			require.Equal(t, phase.OutcomeMigrated, resultOf(t, first).Outcome)
			require.Equal(t, []string{"m3"}, resultOf(t, second).To)
			require.Equal(t, "m3", s.world.Peek(key).Clusters[0].Name)
			require.Empty(t, s.world.Leftovers())
		})
	}
}

func TestBothHoldsStandWhileTheSecondTargetProvesItself(t *testing.T) {
	s, key := chain(t, 40*time.Minute)
	s.at(10*time.Minute, func() {
		b := s.world.Peek(key)
		require.Equal(t, "m3", b.Clusters[0].Name)
		require.Len(t, b.Tasks, 2, "neither old copy goes before the third is proven")
	})
	first, second := s.playBoth()
	require.Equal(t, phase.OutcomeMigrated, resultOf(t, first).Outcome)
	require.Equal(t, phase.OutcomeMigrated, resultOf(t, second).Outcome)
	require.Len(t, s.world.Log("release"), 2)
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.9-24, R4.9-25.
func TestASwapThatTheSchedulerUndoesIsHeldAgain(t *testing.T) {
	s, key := chain(t, 3*time.Minute)
	undone := false
	s.world.Lost = func(op, _ string) bool {
		if op == "evict" && len(s.world.PeekLocked(key).Tasks) == 1 && s.world.PeekLocked(key).Tasks[0].FromCluster == "m2" && !undone {
			undone = true
			s.at(1500*time.Millisecond, func() {
				s.world.Change(key, func(b *karmada.Binding) {
					b.Clusters = []karmada.TargetCluster{{Name: "m3", Replicas: 2}}
					b.Generation++
					b.Status.ObservedGeneration = b.Generation
					up := b.Status.Aggregated[0]
					up.Cluster = "m3"
					b.Status.Aggregated = append(b.Status.Aggregated, up)
				})
			})
		}
		return false
	}
	first, second := s.playBoth()
	require.True(t, undone)
	require.Len(t, s.world.Log("hold"), 1)
	require.Equal(t, "m1", s.world.Log("hold")[0].Cluster)
	require.Less(t, s.world.Log("hold")[0].At.Sub(s.world.Log("evict")[1].At), 5*time.Second, "it looks at once, and often")
	require.Equal(t, []string{"m3"}, resultOf(t, first).To, "placed elsewhere by then: it goes on")
	require.Equal(t, []string{"m3"}, resultOf(t, second).To)
	require.Empty(t, s.world.Leftovers())
}
