package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	corev1 "k8s.io/api/core/v1"
)

// checks is a user's plug-in: what it answers may change as the story goes on.
type checks struct {
	answer func(activities.PluginRequest) (activities.PluginAnswer, error)
	asked  []activities.PluginRequest
}

func (c *checks) Check(_ context.Context, r activities.PluginRequest) (activities.PluginAnswer, error) {
	c.asked = append(c.asked, r)
	return c.answer(r)
}

// plug registers a plug-in of the user's own and configures it.
func (s *story) plug(name string, answer func(activities.PluginRequest) (activities.PluginAnswer, error)) (*checks, proof.Plugin) {
	c := &checks{answer: answer}
	p := proof.Plugin{Name: name, TaskQueue: "ops-checks", Activity: "Check-" + name, Timeout: 30 * time.Second}
	s.env.RegisterActivityWithOptions(c.Check, activity.RegisterOptions{Name: p.Activity})
	return c, p
}

func says(proven bool) func(activities.PluginRequest) (activities.PluginAnswer, error) {
	return func(activities.PluginRequest) (activities.PluginAnswer, error) {
		return activities.PluginAnswer{Version: activities.PluginVersion, Proven: proven, Message: "looked"}, nil
	}
}

// standing asks a migration where it stands.
func (s *story) standing(key karmada.BindingKey) workflows.MigrationStatus {
	s.t.Helper()
	var st workflows.MigrationStatus
	answer, err := s.env.QueryWorkflowByID(s.migration(key), workflows.QueryStatus)
	require.NoError(s.t, err)
	require.NoError(s.t, answer.Get(&st))
	return st
}

// cancelMove cancels one migration.
func (s *story) cancelMove(key karmada.BindingKey) {
	s.accepted = append(s.accepted, s.update(s.migration(key), workflows.UpdateCancel, "c", workflows.Order{Who: "jane", Reason: "not this one"}))
}

var builtIn = proof.Plugin{Name: proof.PluginResourceHealth}

// Rules: R4.7-30, R4.7-31.
func TestAPluginOfTheUsersHoldsTheReleaseUntilItPasses(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	ready := storyBegins.Add(6 * time.Minute)
	dns, p := s.plug("dns", func(r activities.PluginRequest) (activities.PluginAnswer, error) {
		return says(!s.env.Now().Before(ready))(r)
	})
	s.settings.Terms.Plugins = proof.Plugins{List: []proof.Plugin{builtIn, p}, Mode: proof.PluginsAll}
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() {
		st := s.standing(key)
		require.Equal(t, phase.MigrationAwaitingHealth, st.Phase)
		require.Equal(t, reason.PluginRefuses, st.Reason)
		require.Equal(t, "dns: looked", st.Message)
	})
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	require.False(t, s.world.Log("release")[0].At.Before(ready))
	asked := dns.asked[0]
	require.NotEmpty(t, asked.FailoverID)
	asked.FailoverID = ""
	require.Equal(t, activities.PluginRequest{
		Version: 1, Question: activities.AskHealth, Plugin: "dns", Cluster: "m1", ClusterUID: "uid-m1", Namespace: "shop", Name: "app",
		UID: "uid-shop/app", Resource: "Deployment shop/app", Targets: []activities.PluginTarget{{Cluster: "m2", Replicas: 2}},
		Workflow: s.migration(key), Attempt: 1,
	}, asked)
}

func TestByTheProposalsRuleOnePluginIsEnough(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.HealthyAfter = time.Hour
	_, p := s.plug("prometheus", says(true))
	s.settings.Terms.Plugins = proof.Plugins{List: []proof.Plugin{builtIn, p}, Mode: proof.PluginsAny}
	s.world.SetReady("m1", false)
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	evicted, released := s.world.Log("evict")[0].At, s.world.Log("release")[0].At
	require.GreaterOrEqual(t, released.Sub(evicted), s.settings.Terms.MinHealthy)
	require.Less(t, released.Sub(evicted), s.world.HealthyAfter)
}

// A plug-in that is broken must not delete anything, and must be seen.
//
// Rules: R4.7-32.
func TestAPluginThatFailsProvesNothing(t *testing.T) {
	for name, answer := range map[string]func(activities.PluginRequest) (activities.PluginAnswer, error){
		"it fails": func(activities.PluginRequest) (activities.PluginAnswer, error) {
			return activities.PluginAnswer{}, errors.New("no route")
		},
		"it answers nonsense": func(activities.PluginRequest) (activities.PluginAnswer, error) {
			return activities.PluginAnswer{Proven: true}, nil
		},
		"it says not proven": says(false),
		"it panics":          func(activities.PluginRequest) (activities.PluginAnswer, error) { panic("oh") },
		"it speaks of version 2": func(activities.PluginRequest) (activities.PluginAnswer, error) {
			return activities.PluginAnswer{Version: 2, Proven: true}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			key := s.bind("app", []string{"m1"}, "m1", "m2")
			_, p := s.plug("dns", answer)
			s.settings.Terms.Plugins = proof.Plugins{List: []proof.Plugin{builtIn, p}, Mode: proof.PluginsAll}
			s.world.SetReady("m1", false)
			s.at(25*time.Minute, func() {
				require.Empty(t, s.world.Log("release"))
				st := s.standing(key)
				require.Contains(t, []reason.Reason{reason.PluginSilent, reason.PluginRefuses}, st.Reason)
				require.Contains(t, st.Message, "dns")
				require.Equal(t, reason.GracefulTimeout, st.Attention, "gracefulTimeout raises the flag and deletes nothing")
				s.cancelMove(key)
			})
			s.at(30*time.Minute, func() { s.world.SetReady("m1", true) })
			s.play()
			require.Equal(t, phase.OutcomeNeedsOperator, s.appResult().Outcome)
		})
	}
}

// Rules: R4.8-6.
func TestAFencePluginMayProveTheSourceDead(t *testing.T) {
	s, key := direct(t)
	dead := storyBegins.Add(5 * time.Minute)
	bmc, p := s.plug("bmc", func(r activities.PluginRequest) (activities.PluginAnswer, error) {
		return says(!s.env.Now().Before(dead))(r)
	})
	s.settings.Terms.Fences = []proof.Plugin{p}
	s.world.SetReady("m1", false)
	s.at(4*time.Minute, func() {
		st := s.standing(key)
		require.Equal(t, reason.AwaitingFence, st.Reason)
		require.Contains(t, st.Message, "bmc: looked")
	})
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	require.Equal(t, "bmc", s.appResult().Fence.By)
	require.False(t, s.world.Log("evict")[0].At.Before(dead))
	require.Equal(t, activities.AskFence, bmc.asked[0].Question)
	s.oneAtATime(dead)
}

// prober is how the targets answer.
type prober struct{ dead bool }

func (p *prober) Probe(context.Context, string) error {
	if p.dead {
		return errors.New("connection refused")
	}
	return nil
}

// Rules: R4.7-29.
func TestAProbeSavesTheWaitForDetection(t *testing.T) {
	for name, p := range map[string]*prober{
		"the target answers": {}, "it does not: health outlasts detection": {dead: true}, "the worker has lost its prober": nil,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.bind("app", []string{"m1"}, "m1", "m2")
			s.settings.Terms.Probe = true
			if p != nil {
				s.prober = p
			}
			s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
			s.at(10*time.Minute, func() { s.world.DropTaint("m1", maintenance) })
			s.play()
			require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
			held := s.world.Log("release")[0].At.Sub(s.world.Log("evict")[0].At)
			if p == nil || p.dead {
				require.GreaterOrEqual(t, held, s.settings.Terms.Detection)
				require.Less(t, held, s.settings.Terms.Detection+time.Minute, "a probe that fails does not restart the clock")
				return
			}
			require.GreaterOrEqual(t, held, s.settings.Terms.MinHealthy)
			require.Less(t, held, s.settings.Terms.Detection)
		})
	}
}
