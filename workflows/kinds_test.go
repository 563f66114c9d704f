package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
)

// Rules: R4.6-45, R4.6-46.
func TestFailover_KindThatStays_EndsSkippedOnceUntilItIsAnnotated(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Audit = true
	claim := func(name string) karmada.BindingKey {
		key := s.bind(name, []string{"m1"}, "m1", "m2")
		s.world.Change(key, func(b *karmada.Binding) {
			b.Replicas, b.Workload = 0, false
			b.Resource.APIVersion, b.Resource.Kind = "v1", "PersistentVolumeClaim"
		})
		return key
	}
	claim("stays")
	asked := claim("asked")
	s.world.ChangeCluster("m2", func(c *karmada.Cluster) { c.APIEnablements = append(c.APIEnablements, "v1/PersistentVolumeClaim") })
	s.world.SetReady("m1", false)
	s.at(10*time.Minute, func() {
		s.world.Change(asked, func(b *karmada.Binding) { b.Annotations = map[string]string{karmada.AnnotationEnabled: "true"} })
	})
	s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()

	require.Equal(t, map[string]phase.Outcome{"stays": phase.OutcomeSkipped, "asked": phase.OutcomeMigrated}, outcomes(r))
	ended := map[string]int{}
	for _, record := range s.trail.Records() {
		if record.Reason == reason.KindStays {
			for _, binding := range record.Bindings {
				ended[binding]++
			}
		}
	}
	require.Equal(t, map[string]int{"shop/stays": 1, "shop/asked": 1}, ended, "not once more at every listing")
	require.Empty(t, s.world.Leftovers())
}
