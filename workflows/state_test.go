package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

var carried = map[string]string{"checkpoint": "17"}

// stateful binds app Directly to m1, where it has reported checkpoint 17, and may go to m2.
func stateful(t *testing.T) (*story, karmada.BindingKey) {
	s, key := direct(t)
	s.world.DeleteAfter = 20 * time.Second
	s.preserving(key)
	s.world.Collect(key, "m1", `{"jobStatus":{"checkpoint":17}}`)
	return s, key
}

func (s *story) preserving(key karmada.BindingKey) {
	s.world.Change(key, func(b *karmada.Binding) {
		b.StateRules = []karmada.StateRule{{Label: "checkpoint", Path: "{.jobStatus.checkpoint}"}}
	})
}

// vouchAs confirms at a workflow that old copies are dead.
func (s *story) vouchAs(id string, o workflows.FenceOrder) *answer {
	o.Order = workflows.Order{Who: "jane", Reason: "power is off"}
	return s.update(id, workflows.UpdateConfirmFenced, "vouch|"+id+"|"+s.env.Now().String(), o)
}

func (s *story) maintain() {
	s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
}

// A Flink job resumes from where it stood: its new copy is told the checkpoint, and
// the label stays on it until it is healthy.
//
// Rules: R4.11-1, R4.11-2, R4.8-8, R4.8-13.
func TestKarmada5006TheNewCopyIsToldWhereTheOldOneStood(t *testing.T) {
	s, key := stateful(t)
	s.world.HealthyAfter = 4 * time.Minute
	s.maintain()
	s.at(4*time.Minute, func() {
		now, _ := s.world.Wears(key, "m2")
		require.Equal(t, carried, now, "it runs with its state, and is not healthy yet")
		require.Empty(t, s.world.Log("release"))
		require.Equal(t, phase.MigrationAwaitingHealth, s.status().Moves["shop/app"].Phase)
	})
	s.at(15*time.Minute, func() { s.world.DropTaint("m1", maintenance) })
	s.play()
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	require.Equal(t, []string{"taint", "evict", "release", "taint"}, ops(s))
	s.oneAtATime(time.Time{})
	evicted, released := s.world.Log("evict")[0].At, s.world.Log("release")[0].At
	require.GreaterOrEqual(t, released.Sub(evicted), s.world.HealthyAfter)
	now, ever := s.world.Wears(key, "m2")
	require.Empty(t, now)
	require.Equal(t, carried, ever)
	require.Empty(t, s.world.Leftovers())
}

// Its cluster is away: nothing is written, and when it is back the binding stays.
//
// Rules: R4.8-10.
func TestKarmada5788StateWaitsForASilentSource(t *testing.T) {
	s, key := stateful(t)
	s.world.SetReady("m1", false)
	id := workflows.ClusterFailoverID("", "m1")
	s.at(10*time.Minute, func() { s.accepted = append(s.accepted, s.vouchAs(id, workflows.FenceOrder{})) })
	s.at(20*time.Minute, func() {
		i := s.status().Items[0]
		require.Equal(t, []any{queue.Blocked, reason.StateNeedsSource}, []any{i.State, i.Reason}, "dead is not enough")
	})
	s.at(30*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Equal(t, phase.OutcomeAbandoned, s.appResult().Outcome)
	require.Empty(t, s.world.Log("evict"))
	require.Contains(t, s.world.Copies(key), "m1")
}

// A human has it go on without: for the cluster, or for this binding alone.
//
// Rules: R4.8-7, R4.8-10, R4.11-6.
func TestAHumanMayHaveItGoOnWithoutItsState(t *testing.T) {
	for name, one := range map[string]bool{"for the cluster": false, "for one binding": true} {
		t.Run(name, func(t *testing.T) {
			s, key := stateful(t)
			other := s.bind("other", []string{"m1"}, "m1", "m3")
			s.purging(other, karmada.PurgeDirectly)
			s.preserving(other)
			s.world.Collect(other, "m1", `{"jobStatus":{"checkpoint":9}}`)
			s.world.SetReady("m1", false)
			var vouched time.Time
			order := workflows.FenceOrder{WithoutState: true}
			if one {
				order.Binding = key
			}
			s.at(5*time.Minute, func() {
				vouched = s.env.Now()
				s.accepted = append(s.accepted, s.vouchAs(workflows.ClusterFailoverID("", "m1"), order))
			})
			s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
			r := s.play()
			want := map[string]phase.Outcome{"app": phase.OutcomeMigrated, "other": phase.OutcomeMigrated}
			if one {
				want["other"] = phase.OutcomeAbandoned
			}
			require.Equal(t, want, outcomes(r))
			require.True(t, s.appResult().Fence.WithoutState, "on record")
			require.False(t, s.world.Log("evict")[0].At.Before(vouched))
			_, ever := s.world.Wears(key, "m2")
			require.Empty(t, ever)
			s.oneAtATime(vouched)
		})
	}
}

// Nobody is told that a binding goes on which stays for want of its state.
//
// Rules: R4.8-10, R4.11-6.
func TestAWordAboutOneBindingThatLeavesItsStateOutIsRefused(t *testing.T) {
	s, key := stateful(t)
	s.world.SetReady("m1", false)
	id := workflows.ClusterFailoverID("", "m1")
	var refused *answer
	s.at(10*time.Minute, func() { refused = s.vouchAs(id, workflows.FenceOrder{Binding: key}) })
	s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.ErrorContains(t, refused.err, "withoutState")
	require.Equal(t, phase.OutcomeAbandoned, s.appResult().Outcome)
	require.Empty(t, s.world.Log("evict"))
}

// The source dies between the write and the end of the old copy: what the task carries
// would be lost with it, so that it waits, whatever is proven.
//
// Rules: R4.8-9, R4.8-10, R4.11-2.
func TestKarmada5251StateOfASourceThatDiesAfterTheWriteWaitsForIt(t *testing.T) {
	for name, without := range map[string]bool{"it comes back": false, "a human goes on without": true} {
		t.Run(name, func(t *testing.T) {
			s, key := stateful(t)
			died := diesAfterTheWrite(s)
			var refused *answer
			s.at(5*time.Minute, func() {
				m := s.status().Moves["shop/app"]
				require.Equal(t, reason.StateNeedsSource, m.Reason)
				require.NotEmpty(t, m.Attention)
				refused = s.vouchAs(s.migration(key), workflows.FenceOrder{})
			})
			s.at(6*time.Minute, func() {
				s.accepted = append(s.accepted, s.vouchAs(workflows.ClusterFailoverID("", "m1"), workflows.FenceOrder{}))
			})
			s.at(8*time.Minute, func() {
				require.Empty(t, s.world.Log("release"), "dead is not enough, and nothing is claimed purged")
				if without {
					s.accepted = append(s.accepted, s.vouchAs(s.migration(key), workflows.FenceOrder{WithoutState: true}))
				}
			})
			s.at(12*time.Minute, func() { s.world.SetReady("m1", true); s.world.DropTaint("m1", maintenance) })
			r := s.play()
			require.True(t, *died)
			require.ErrorContains(t, refused.err, "withoutState")
			result := s.appResult()
			require.Equal(t, phase.OutcomeMigrated, result.Outcome)
			_, ever := s.world.Wears(key, "m2")
			if without {
				require.Empty(t, ever)
				require.NotNil(t, result.PendingPurge, "not purged: owed, by the old Work's uid")
			} else {
				require.Equal(t, carried, ever, "Karmada deleted the old copy and handed its state on")
				require.Nil(t, result.PendingPurge)
			}
			require.Empty(t, r.PendingPurges)
			require.Empty(t, s.world.Leftovers())
		})
	}
}

// Rules: R4.11-3.
func TestAStatusThatWasNeverCollectedKeepsItWhereItIs(t *testing.T) {
	for name, missingOK := range map[string]bool{"block": false, "proceed": true} {
		t.Run(name, func(t *testing.T) {
			s, key := stateful(t)
			s.settings.StateMissingOK = missingOK
			s.world.Collect(key, "m1", "")
			s.maintain()
			s.at(10*time.Minute, func() { s.world.DropTaint("m1", maintenance) })
			s.play()
			if missingOK {
				require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
				return
			}
			require.Equal(t, phase.OutcomeAbandoned, s.appResult().Outcome)
			require.Contains(t, s.appResult().Message, "StateNotCollected")
			require.Empty(t, s.world.Log("evict"))
		})
	}
}

// The old copy is gone and the new one never becomes healthy: the labels stay, until
// a human has them go.
//
// Rules: R4.11-2, R4.7-38.
func TestAHumanReleasesAHoldThatOnlyCarriesState(t *testing.T) {
	s, key := stateful(t)
	s.world.HealthyAfter, s.world.DeleteAfter = 24*time.Hour, 5*time.Minute
	s.maintain()
	var early *answer
	s.at(2*time.Minute, func() { early = s.orderMove(key, workflows.UpdateRelease) })
	s.at(20*time.Minute, func() {
		now, _ := s.world.Wears(key, "m2")
		require.Equal(t, carried, now)
		s.accepted = append(s.accepted, s.orderMove(key, workflows.UpdateRelease))
	})
	s.at(25*time.Minute, func() { s.world.DropTaint("m1", maintenance) })
	s.play()
	require.ErrorContains(t, early.err, "purge mode Directly", "the old copy was still going")
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	require.Contains(t, s.appResult().Cause, "released by")
}

func (s *story) orderMove(key karmada.BindingKey, verb string) *answer {
	o := workflows.Order{Who: "jane", Reason: "it is enough"}
	return s.update(s.migration(key), verb, verb+s.env.Now().String(), o)
}

// The setting is off by default; where it is on, the record says that it was it.
//
// Rules: R4.7-37, R4.7-38.
func TestAfterGracefulTimeoutAnUnprovenHoldGoesOnlyWhereTheSettingSaysSo(t *testing.T) {
	for name, on := range map[string]bool{"off": false, "on": true} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			key := s.bind("app", []string{"m1"}, "m1", "m2")
			s.settings.Terms.ReleaseUnproven = on
			s.settings.Terms.GracefulTimeout = 5 * time.Minute
			s.world.HealthyAfter = 40 * time.Minute
			s.world.SetReady("m1", false)
			s.at(30*time.Minute, func() {
				require.Equal(t, on, len(s.world.Log("release")) > 0)
				if !on {
					m := s.status().Moves["shop/app"]
					require.NotEmpty(t, m.Attention)
					require.Contains(t, s.world.Copies(key), "m1", "held, however long it takes")
				}
			})
			s.at(60*time.Minute, func() { s.world.SetReady("m1", true) })
			s.play()
			result := s.appResult()
			require.Equal(t, phase.OutcomeMigrated, result.Outcome)
			evicted, released := s.world.Log("evict")[0].At, s.world.Log("release")[0].At
			require.Greater(t, released.Sub(evicted), s.settings.Terms.GracefulTimeout)
			if on {
				require.Contains(t, result.Cause, "health.releaseUnproven")
			} else {
				require.NotContains(t, result.Cause, "releaseUnproven")
				require.GreaterOrEqual(t, released.Sub(evicted), s.world.HealthyAfter)
			}
		})
	}
}

// Rules: R4.7-38.
func TestAnUnprovenReleaseWaitsForATargetThatAnswers(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.settings.Terms.ReleaseUnproven = true
	s.settings.Terms.GracefulTimeout = 5 * time.Minute
	s.world.HealthyAfter = 24 * time.Hour
	s.world.SetReady("m1", false)
	s.at(4*time.Minute, func() {
		s.world.ChangeCluster("m2", func(c *karmada.Cluster) { c.Conditions[0].Status = corev1.ConditionFalse })
	})
	var back time.Time
	s.at(20*time.Minute, func() {
		require.Empty(t, s.world.Log("release"), "the held copy may be the last one")
		back = s.env.Now()
		s.world.ChangeCluster("m2", func(c *karmada.Cluster) { c.Conditions[0].Status = corev1.ConditionTrue })
	})
	s.at(30*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	require.False(t, s.world.Log("release")[0].At.Before(back))
}

// Rules: R4.8-7.
func TestAWordAboutOneBindingReachesTheMigrationThatWaitsForIt(t *testing.T) {
	s, key := direct(t)
	other := s.bind("other", []string{"m1"}, "m1", "m3")
	s.purging(other, karmada.PurgeDirectly)
	s.world.SetReady("m1", false)
	id := workflows.ClusterFailoverID("", "m1")
	var nobody *answer
	s.at(5*time.Minute, func() {
		nobody = s.vouchAs(id, workflows.FenceOrder{Binding: karmada.BindingKey{Namespace: "shop", Name: "nobody"}})
	})
	s.at(6*time.Minute, func() {
		s.accepted = append(s.accepted, s.vouchAs(id, workflows.FenceOrder{Binding: key}))
	})
	s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.ErrorContains(t, nobody.err, "neither waits nor moves")
	require.Equal(t, map[string]phase.Outcome{"app": phase.OutcomeMigrated, "other": phase.OutcomeAbandoned}, outcomes(r))
}
