package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/scheduling"
)

// settled is what the lab's scheduler leaves when it rests.
type settled struct {
	clusters  []api.TargetCluster
	scheduled metav1.ConditionStatus
	observed  bool // the generation
	message   string
}

// placed tells that every replica has a place: by the condition, or where Divided by the sum.
func (s settled) placed(b *api.Binding) bool {
	if len(s.clusters) == 0 {
		return false
	}
	var sum int32
	for _, target := range s.clusters {
		sum += target.Replicas
	}
	r := b.Spec.Placement.ReplicaScheduling
	divided := r != nil && r.Type == "Divided" && b.Spec.Replicas > 0
	return s.scheduled == metav1.ConditionTrue || (s.observed && divided && sum == b.Spec.Replicas)
}

// settle runs the lab's scheduler on a binding until a pass changes nothing.
func settle(t *testing.T, f scheduling.Flags, b *api.Binding, clusters []*api.Cluster) settled {
	var s settled
	if c := meta.FindStatusCondition(b.Status.Conditions, "Scheduled"); c != nil {
		s.scheduled = c.Status
	}
	at := metav1.NewTime(evictedAt.Add(24 * time.Hour))
	for range 10 {
		d := f.Decide(b, clusters)
		s.clusters, s.message = b.Spec.Clusters, d.Message
		switch d.Outcome {
		case scheduling.NotNeeded:
			s.observed = true
			return s
		case scheduling.Failed:
			s.scheduled = metav1.ConditionFalse
			return s
		case scheduling.NoFit:
			s.scheduled = metav1.ConditionFalse
		case scheduling.Placed:
			s.scheduled = metav1.ConditionTrue
			b.Status.LastScheduledTime, b.Status.SchedulerObservingAffinityName = &at, d.AffinityName
		}
		if b.Annotations[api.AnnotationAppliedPlacement] == b.PlacementJSON && scheduling.SameResult(b.Spec.Clusters, d.Clusters) {
			return s
		}
		b.Annotations = map[string]string{api.AnnotationAppliedPlacement: b.PlacementJSON}
		b.Spec.Clusters = d.Clusters
	}
	require.Fail(t, "the scheduler does not come to rest")
	return s
}

// difference tells how the lab's scheduler departs from Karmada's; empty where it does not.
func (r record) difference(t *testing.T, reschedule bool) string {
	q := r.question()
	b := q.evicted(t, reschedule)
	got, want := settle(t, scheduling.Flags{EmptyWorkloads: r.EmptyWorkloads}, b, q.fleet(t)), r.answer(reschedule)
	if scheduling.SameResult(got.clusters, want.Clusters) && got.placed(b) == want.Placed {
		return ""
	}
	return fmt.Sprintf("%s %d (reschedule %t): the lab has %s, scheduled %s (%s); Karmada %s, scheduled %s (%s %s)",
		r.File, r.N, reschedule, written(got.clusters), got.scheduled, got.message, written(want.Clusters), want.Scheduled, want.Why, want.Message)
}

// The lab's scheduler gives Karmada's answer to every question.
func TestOracle_LabSchedulerPlacesAsKarmadaDoes(t *testing.T) {
	for _, file := range oracleFiles {
		t.Run(file, func(t *testing.T) {
			answers := 0
			var differences []string
			eachRecord(t, file, func(r record) {
				for _, reschedule := range []bool{false, true} {
					answers++
					if d := r.difference(t, reschedule); d != "" {
						differences = append(differences, d)
					}
				}
			})
			t.Logf("%d answers to the questions of %s: the lab's scheduler differs in %d", answers, file, len(differences))
			require.Empty(t, differences, strings.Join(differences[:min(len(differences), 20)], "\n"))
		})
	}
}

func written(targets []api.TargetCluster) string {
	var out []string
	for _, target := range targets {
		out = append(out, fmt.Sprintf("%s=%d", target.Name, target.Replicas))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
