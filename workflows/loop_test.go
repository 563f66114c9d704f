package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// What is ordered of a migration whose cluster is gone has nothing to go back to: the
// task goes, and the failover closes.
//
// Rules: R4.9-51.
func TestAnOrderDoesNotKeepTheTaskOfADeletedCluster(t *testing.T) {
	arrange := map[string]func(*testing.T) (*story, karmada.BindingKey){
		"placed":   slowHealth,
		"unplaced": func(t *testing.T) (*story, karmada.BindingKey) { s := newStory(t); return s, unplaceable(s) },
		"Directly": func(t *testing.T) (*story, karmada.BindingKey) {
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
				require.Equal(t, phase.FailoverGone, r.Ended)
				require.Empty(t, s.world.Leftovers())
			})
		}
	}
}

// Directly waits for the old copy when another hand puts the binding back. Its move saw
// that through, however it is found: by the move before the recovery, whereupon the
// binding is listed anew and abandoned with nothing more written, or by the recovery itself.
//
// Rules: R4.9-52.
func TestADirectlyThatAnotherHandPutsBackIsSeenThrough(t *testing.T) {
	for name, first := range map[string]time.Duration{"its move looks first": 5 * time.Minute, "the recovery comes first": 0} {
		t.Run(name, func(t *testing.T) {
			s, key := direct(t)
			s.world.DeleteAfter = 20 * time.Second
			died := diesAfterTheWrite(s)
			s.at(5*time.Minute, func() {
				require.Len(t, s.world.Peek(key).Tasks, 1)
				s.world.Change(key, func(b *karmada.Binding) {
					b.Clusters, b.Tasks = []karmada.TargetCluster{{Name: "m1", Replicas: 2}}, nil
					b.Generation++
					b.Status.ObservedGeneration = b.Generation
				})
			})
			s.at(5*time.Minute+first, func() {
				s.world.SetReady("m1", true)
				s.world.DropTaint("m1", maintenance)
			})
			r := s.play()
			require.True(t, *died)
			got := resultOf(t, r)
			require.Equal(t, phase.OutcomeRestored, got.Outcome)
			require.Equal(t, reason.Swapped, got.Reason)
			require.Equal(t, map[string]int{"Restored": 1}, nonZero(r.Attempts[0].Counts))
			require.Len(t, s.world.Log("evict"), 1)
			require.Equal(t, "m1", s.world.Peek(key).Clusters[0].Name)
			require.Empty(t, s.world.Leftovers())
		})
	}
}

// nonZero are the counts that count anything.
func nonZero(counts map[string]int) map[string]int {
	out := map[string]int{}
	for outcome, n := range counts {
		if n != 0 {
			out[outcome] = n
		}
	}
	return out
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
				s.world.Change(key, func(b *karmada.Binding) { b.Tasks[0].PurgeMode = karmada.PurgeGracefully })
			})
			s.at(4*time.Minute, func() { s.world.DropTaint("m1", maintenance) })
			if verb == workflows.UpdatePutBack {
				s.refuses(5*time.Minute, key, "its old copy on m1 is being deleted")
			} else {
				s.at(5*time.Minute, func() { s.must(verb, key, false) })
			}
			r := s.play()
			require.Equal(t, phase.OutcomeMigrated, resultOf(t, r).Outcome)
			require.Empty(t, s.world.Log("restore"))
			require.Equal(t, byHand, s.world.Log("release")[0].At.Sub(storyBegins) < 6*time.Minute)
			require.Empty(t, s.world.Leftovers())
		})
	}
}
