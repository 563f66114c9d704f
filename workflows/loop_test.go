package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// What is ordered of a migration whose cluster is gone has nothing to go back to: the
// task goes, and the failover closes.
//
// Rules: R4.9-51.
func TestAnOrderDoesNotKeepTheTaskOfADeletedCluster(t *testing.T) {
	arrange := map[string]func(*testing.T) (*story, failover.BindingKey){
		"placed":   slowHealth,
		"unplaced": func(t *testing.T) (*story, failover.BindingKey) { s := newStory(t); return s, unplaceable(s) },
		"Directly": func(t *testing.T) (*story, failover.BindingKey) {
			s, key := direct(t)
			s.world.DeleteAfter = 20 * time.Second
			diesAfterTheWrite(s)
			return s, key
		},
	}
	for name, begin := range arrange {
		for order, putBack := range map[string]bool{"cancel": false, "cancel and put back": true} {
			t.Run(name+"/"+order, func(t *testing.T) {
				s, key := begin(t)
				if name != "Directly" {
					s.world.SetReady("m1", false)
				}
				s.at(3*time.Minute, func() {
					require.Len(t, s.world.Peek(key).Tasks, 1)
					s.world.DeleteCluster("m1")
					s.accepted = append(s.accepted, s.orderChild(workflows.UpdateCancel, key, putBack))
				})
				r := s.play()
				require.Equal(t, failover.EpisodeGone, r.Ended)
				require.Empty(t, s.world.Leftovers())
			})
		}
	}
}

// Directly waits for the old copy when another hand puts the binding back.
func TestADirectlyThatAnotherHandPutsBackIsSeenThrough(t *testing.T) {
	s, key := direct(t)
	s.world.DeleteAfter = 20 * time.Second
	died := diesAfterTheWrite(s)
	s.at(5*time.Minute, func() {
		require.Len(t, s.world.Peek(key).Tasks, 1)
		s.world.Change(key, func(b *failover.Binding) {
			b.Clusters, b.Tasks = []failover.TargetCluster{{Name: "m1", Replicas: 2}}, nil
			b.Generation++
			b.Status.ObservedGeneration = b.Generation
		})
		s.world.SetReady("m1", true)
		s.world.DropTaint("m1", maintenance)
	})
	r := s.play()
	require.True(t, *died)
	got := resultOf(t, r)
	// Which of two signals comes first decides how it is called; that it ends, and where it is, not.
	require.Contains(t, []failover.Outcome{failover.OutcomeRestored, failover.OutcomeAbandoned}, got.Outcome)
	require.Equal(t, "m1", s.world.Peek(key).Clusters[0].Name)
	require.Empty(t, s.world.Leftovers())
}

// Somebody edits the task of a Directly that waits: orders are taken as of any other. A
// put-back is refused, for Karmada is deleting the old copy; and then it goes on.
func TestATaskThatIsNoLongerDirectlyTakesOrders(t *testing.T) {
	for verb, byHand := range map[string]bool{workflows.UpdatePutBack: false, workflows.UpdateRelease: true} {
		t.Run(verb, func(t *testing.T) {
			s, key := direct(t)
			s.world.DeleteAfter = 20 * time.Minute
			s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
			s.at(3*time.Minute, func() {
				s.world.Change(key, func(b *failover.Binding) { b.Tasks[0].PurgeMode = failover.PurgeGracefully })
			})
			s.at(4*time.Minute, func() { s.world.DropTaint("m1", maintenance) })
			s.at(5*time.Minute, func() { s.must(verb, key, false) })
			r := s.play()
			require.Equal(t, failover.OutcomeMigrated, resultOf(t, r).Outcome)
			require.Empty(t, s.world.Log("restore"))
			require.Equal(t, byHand, s.world.Log("release")[0].At.Sub(storyBegins) < 6*time.Minute)
			require.Empty(t, s.world.Leftovers())
		})
	}
}
