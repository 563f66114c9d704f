package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// tooOften is more than any wait allows a plug-in to be asked within a story.
const tooOften = 200

// The word of a plug-in may not stand: here the cluster changes all the time. It is
// asked again at the pace of the safety poll, not at once.
//
// Rules: R4.8-5, R4.8-6.
func TestAFenceThatDoesNotStandIsAskedForAgainAfterAWait(t *testing.T) {
	s, key := direct(t)
	vouches := storyBegins.Add(4 * time.Minute)
	var bmc *checks
	bmc, p := s.plug("bmc", func(r activities.PluginRequest) (activities.PluginAnswer, error) {
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
			c.Conditions[0].LastTransition = c.Conditions[0].LastTransition.Add(time.Second)
		})
		return says(!s.env.Now().Before(vouches) && len(bmc.asked) < tooOften)(r)
	})
	s.settings.Terms.Fences = []proof.Plugin{p}
	s.world.SetReady("m1", false)
	s.at(9*time.Minute, func() {
		st := s.standing(key)
		require.Equal(t, reason.AwaitingFence, st.Reason)
		require.Contains(t, st.Message, "is void")
	})
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.NotEmpty(t, bmc.asked)
	require.Less(t, len(bmc.asked), tooOften)
	require.Empty(t, s.world.Log("evict"))
}

// Where health need not hold, a look is content at once, and the release that refuses
// is what has to wait.
//
// Rules: R4.7-32.
func TestARefusedReleaseWaitsAlsoWhereHealthNeedNotHold(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.MinHealthy = 0
	s.bind("app", []string{"m1"}, "m1", "m2")
	ready := storyBegins.Add(6 * time.Minute)
	var dns *checks
	dns, p := s.plug("dns", func(r activities.PluginRequest) (activities.PluginAnswer, error) {
		first := len(dns.asked) == 1 // the look is content, and the release is not
		return says(first || len(dns.asked) >= tooOften || !s.env.Now().Before(ready))(r)
	})
	s.settings.Terms.Plugins = proof.Plugins{List: []proof.Plugin{builtIn, p}, Mode: proof.PluginsAll}
	s.world.SetReady("m1", false)
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	require.Less(t, len(dns.asked), tooOften)
	require.False(t, s.world.Log("release")[0].At.Before(ready))
}

// A failover's own terms count, also where they say 0 and the worker's config says more.
func TestAFailoverWhoseHealthNeedNotHoldIsReleasedByAWorkerThatWantsMore(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.MinHealthy, s.settings.Terms.Detection = 0, 0
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
	s.world.HealthyAfter = 2 * time.Minute
	s.at(time.Minute, func() {
		s.acts.Settings.Terms.MinHealthy, s.acts.Settings.Terms.Detection = 10*time.Second, 90*time.Second
	})
	s.at(5*time.Minute, func() { require.Len(t, s.world.Log("release"), 1) })
	s.at(10*time.Minute, func() { s.world.DropTaint("m1", maintenance) })
	s.play()
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
}
