package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

const maintenance = "example.com/maintenance"

func (s *story) migration(key karmada.BindingKey) string {
	return workflows.BindingMigrationID("", "m1", key)
}

// direct binds app to m1 in purge mode Directly.
func direct(t *testing.T) (*story, karmada.BindingKey) {
	s, key := withApp(t)
	s.purging(key, karmada.PurgeDirectly)
	return s, key
}

// oneAtATime: no copy began beside another before somebody vouched that it is dead;
// a zero moment means that nobody did.
func (s *story) oneAtATime(vouched time.Time) {
	s.t.Helper()
	for _, began := range s.world.Beside {
		require.False(s.t, vouched.IsZero() || began.At.Before(vouched), "%+v", began)
	}
}

// Rules: R4.9-32.
func TestRelease_NothingIsWrittenBehindAFence_IsRefused(t *testing.T) {
	s, key := direct(t)
	s.outage(10 * time.Minute)
	var released, own *answer
	s.at(5*time.Minute, func() {
		released = s.orderOne(workflows.UpdateRelease, key, false)
		own = s.orderChild(workflows.UpdateRelease, key, false)
	})
	s.at(6*time.Minute, func() {
		require.ErrorContains(t, released.err, "nothing of Lifeboat's stands yet")
		require.ErrorContains(t, own.err, "confirm-fenced")
		move := s.status().Migrations["shop/app"]
		require.Equal(t, reason.AwaitingFence, move.Reason, "it goes on")
		require.Nil(t, move.Ordered, "the failover keeps no order for later")
	})
	require.Equal(t, phase.OutcomeAbandoned, s.playApp().Outcome)
}

// The eviction of a run that was lost, found while this one waits for a fence, has an old copy, too.
//
// Rules: R4.7-34, R4.8-12.
func TestMigration_FindsAnEvictionBehindAFence_FollowsItsOldCopy(t *testing.T) {
	s, key := direct(t)
	s.outage(15 * time.Minute)
	s.at(5*time.Minute, func() {
		require.Equal(t, phase.MigrationAwaitingFence, s.standing(key).Phase)
		placedNow(s, key)
		taskMode(karmada.PurgeDirectly)(s, key)
	})
	s.at(7*time.Minute, func() { s.vouch(s.migration(key)) })
	got := s.playApp()
	require.Equal(t, phase.OutcomeMigrated, got.Outcome)
	require.NotNil(t, got.PendingPurge)
}

// Rules: R4.8-4, R4.8-13.
func TestDirectlyWritesNothingWhileASilentSourceIsNotFenced(t *testing.T) {
	s, key := direct(t)
	s.outage(30 * time.Minute)
	s.at(20*time.Minute, func() {
		st := s.status()
		require.Equal(t, phase.FailoverEvacuated, st.Phase, "nothing left to do but wait")
		require.Equal(t, reason.AwaitingFence, st.Migrations["shop/app"].Reason)
		require.NotEmpty(t, st.Migrations["shop/app"].Attention)
		page := s.pageOf(s.migration(key))
		require.Contains(t, page, "**Why it moves:** **TaintUntolerated**: taint")
		require.Contains(t, page, "**Could go to:** m2;")
		require.Contains(t, page, "**Why a proof:** its purge mode is Directly")
		require.Contains(t, page, "**How far:** **AwaitingFence** → Checking")
	})
	require.Equal(t, phase.OutcomeAbandoned, s.playApp().Outcome)
	require.Equal(t, []string{"taint", "taint"}, ops(s), "not one write to the binding")
}

// What Bloomberg asked for: stop first, and where the old side is silent wait for an operator. Whatever Karmada's
// clock says, a word about the outage that lasts is good.
//
// Rules: R4.8-7, R4.8-8, R4.8-12, R4.8-14.
func TestKarmada5788DirectlyGoesOnWhenAnOperatorVouches(t *testing.T) {
	for name, skew := range map[string]time.Duration{"the clocks agree": 0, "Karmada's is ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			s, key := direct(t)
			s.outage(10 * time.Minute)
			s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Conditions[0].LastTransition = s.env.Now().Add(skew) })
			const vouched = 5 * time.Minute
			s.at(vouched, func() { s.vouch(s.migration(key)) })
			s.at(8*time.Minute, func() {
				require.Contains(t, s.world.Copies(key), "m1", "the old Work is pending purge until the cluster is back")
			})
			r := s.play()

			result := s.appResult()
			require.Equal(t, phase.OutcomeMigrated, result.Outcome)
			outage := "False@" + storyBegins.Add(skew).UTC().Format(time.RFC3339)
			require.Equal(t, proof.Fence{By: proof.FenceByOperator, Who: "jane", Message: "power is off", At: result.Fence.At, Outage: outage}, *result.Fence)
			require.Equal(t, []string{"taint", "evict", "release", "taint"}, ops(s))
			s.movedOnce(vouched)
			s.oneAtATime(storyBegins.Add(vouched))
			require.NotEmpty(t, s.world.Beside)
			require.NotNil(t, result.PendingPurge, "followed by the old Work's uid")
			require.Empty(t, r.PendingPurges, "and paid when the cluster came back")
			require.NotContains(t, s.world.Copies(key), "m1")
		})
	}
}

// Rules: R4.8-7.
func TestAnOperatorMayVouchForTheWholeCluster(t *testing.T) {
	s, key := direct(t)
	other := s.bind("other", []string{"m1"}, "m1", "m3")
	s.purging(other, karmada.PurgeDirectly)
	plain := s.bind("plain", []string{"m1"}, "m1", "m4")
	s.outage(15 * time.Minute)
	s.at(5*time.Minute, func() { s.vouch(workflows.ClusterFailoverID("", "m1")) })
	s.at(7*time.Minute, func() {
		late := s.bind("late", []string{"m1"}, "m1", "m5")
		s.purging(late, karmada.PurgeDirectly)
	})
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "other": "Migrated", "plain": "Migrated", "late": "Migrated"}, outcomes(r))
	for _, x := range r.Attempts[0].Results {
		require.Equal(t, x.Key == plain, x.Fence == nil, "recorded where it counted: %s", x.Key)
	}
	require.Contains(t, s.world.Copies(key), "m2")
}

// Who changes the binding's label makes the old copy look gone, and no more.
//
// Rules: R4.8-8, R4.8-13.
func TestDirectlyOnASourceThatAnswersDeletesFirst(t *testing.T) {
	for name, relabelled := range map[string]bool{"": false, "its label is lost": true} {
		t.Run(name, func(t *testing.T) {
			s, key := direct(t)
			s.world.DeleteAfter = 5 * time.Minute
			s.maintained(15 * time.Minute)
			s.world.OnWrite = func(w world.Write, _, _ karmada.Binding) {
				if w.Op == "evict" {
					s.world.Relabelled = map[karmada.BindingKey]bool{key: relabelled}
				}
			}
			require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
			require.Nil(t, s.appResult().Fence)
			s.oneAtATime(time.Time{})
			require.GreaterOrEqual(t, s.sinceEviction(), s.world.DeleteAfter, "the task stands until the Work that was held is gone")
		})
	}
}

// The fence is honoured after the write too. Until somebody vouches, or Karmada can delete the old copy, its task
// stands.
//
// Rules: R4.8-5, R4.8-9, R4.8-13.
func TestASourceThatDiesAfterTheWriteIsFencedBeforeTheDrop(t *testing.T) {
	const vouched, back = 5 * time.Minute, 10 * time.Minute
	for name, vouches := range map[string]bool{"somebody vouches": true, "nobody does; it comes back": false} {
		t.Run(name, func(t *testing.T) {
			s, key := direct(t)
			s.world.DeleteAfter = 20 * time.Second
			died := diesAfterTheWrite(s)
			released, beside := back, time.Time{}
			if vouches {
				released, beside = vouched, storyBegins.Add(vouched)
				s.at(vouched, func() { s.vouch(s.migration(key)) })
			}
			s.at(back, s.well)
			require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
			require.True(t, *died)
			s.oneAtATime(beside)
			require.False(t, s.world.Log("release")[0].At.Before(storyBegins.Add(released)))
			require.Equal(t, vouches, s.appResult().PendingPurge != nil)
		})
	}
}

// Karmada drops the Works of a cluster that is deleted while it is away, before the Cluster object goes. The copy on the
// member may run on: the report says so, unless a fence says that it is dead.
//
// Rules: R4.9-61.
func TestDirectly_ClusterDeletedWhileAway_OldCopyStaysInTheReport(t *testing.T) {
	for name, vouches := range map[string]bool{"nobody vouches": false, "somebody vouches": true} {
		t.Run(name, func(t *testing.T) {
			s, key := direct(t)
			s.world.DeleteAfter = time.Minute
			diesAfterTheWrite(s)
			s.at(5*time.Minute, func() {
				s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Deleting = true })
				old := s.world.Copies(key)["m1"]
				s.world.DropWork(old.Namespace, old.Name)
				if vouches {
					s.vouch(s.migration(key))
				}
			})
			s.at(10*time.Minute, func() { s.world.DeleteCluster("m1") })
			r := s.playTo(phase.FailoverGone)
			require.Equal(t, !vouches, len(r.PendingPurges) == 1)
		})
	}
}

// diesAfterTheWrite taints m1 by hand, and lets it die right after the eviction.
func diesAfterTheWrite(s *story) *bool {
	died := false
	s.maintain()
	s.onEvict(func() {
		died = true
		s.at(2*time.Second, func() { s.world.SetReady("m1", false) })
	})
	return &died
}

// A word is about one outage: what came back meanwhile may run again. Which outage, says
// Karmada's own moment of it: its clock may be an hour behind Lifeboat's, or ahead.
//
// Rules: R4.8-5, R4.8-7, R4.8-14.
func TestAFenceIsVoidOnceTheSourceCameBack(t *testing.T) {
	for name, skew := range map[string]time.Duration{"the clocks agree": 0, "Karmada's is behind": -time.Hour, "Karmada's is ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			s, key := direct(t)
			dies := func() {
				s.world.SetReady("m1", false)
				s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Conditions[0].LastTransition = s.env.Now().Add(skew) })
			}
			dies()
			s.at(3*time.Minute, func() { s.order(workflows.UpdatePause, "wait") })
			s.at(4*time.Minute, func() { s.vouch(s.migration(key)) })
			s.at(4*time.Minute+5*time.Second, func() { s.vouch(workflows.ClusterFailoverID("", "m1")) })
			s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
			s.at(5*time.Minute+5*time.Second, dies)
			s.at(6*time.Minute, func() { s.order(workflows.UpdateResume, "go on") })
			s.at(15*time.Minute, func() { s.world.SetReady("m1", true) })
			require.Equal(t, phase.OutcomeAbandoned, s.playApp().Outcome)
			require.Empty(t, s.world.Log("evict"))
		})
	}
}

// Karmada has begun to delete the old copy, and nothing can take that back: the
// untaint does not wait for it either.
//
// Rules: R4.8-8, R4.9-13.
func TestARecoveryDoesNotTakeADirectlyMoveBack(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	s.purging(key, karmada.PurgeDirectly)
	s.maintain()
	const recovered = 2 * time.Minute
	s.at(recovered, func() { s.world.DropTaint("m1", maintenance) })
	s.at(10*time.Minute, func() { s.world.DropTaint("m2", "cordon"); s.world.Requeue(key) })
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.Equal(t, []string{"taint", "evict", "taint", "release"}, ops(s), "not restored; untainted before it was placed")
	untainted := s.world.Log("taint")[1].At
	require.Less(t, untainted.Sub(storyBegins), recovered+s.settings.Terms.RestoreWait)
	require.NotContains(t, s.world.Copies(key), "m1")
}

// A word for a cluster that was not seen to be silent would count for nothing; better to
// hear so than to wait for it.
//
// Rules: R4.8-7, R4.8-14.
func TestAWordThatHelpsNobodyIsRefused(t *testing.T) {
	s, plain := withApp(t)
	direct := s.bind("direct", []string{"m1"}, "m1", "m3")
	s.purging(direct, karmada.PurgeDirectly)
	s.world.HealthyAfter, s.world.DeleteAfter = 5*time.Minute, 5*time.Minute
	s.maintain()
	failover := workflows.ClusterFailoverID("", "m1")
	s.at(2*time.Minute, func() {
		s.refuse("only purge mode Directly", s.vouchAs(s.migration(plain), workflows.FenceOrder{}))
		s.refuse("was not silent when it was last looked at", s.vouchAs(s.migration(direct), workflows.FenceOrder{}))
		s.refuse("m1 is Ready", s.vouchAs(failover, workflows.FenceOrder{}))
	})
	s.at(3*time.Minute, func() { s.world.SetReady("m1", false) })
	s.at(4*time.Minute, func() {
		s.refuse("reason", s.update(failover, workflows.UpdateConfirmFenced, "u", workflows.Order{Who: "jane"}))
	})
	s.at(10*time.Minute, s.well)
	s.play()
}

func TestAnAdoptedDirectlyHoldIsFencedToo(t *testing.T) {
	s, key := outage(t, 20*time.Minute)
	s.held(key, func(x *karmada.Task) { x.PurgeMode = karmada.PurgeDirectly })
	s.returns(key, "m2")
	s.at(10*time.Minute, func() { require.Empty(t, s.world.Log("release")) })
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
}

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

// vouch is vouchAs for a word that must be accepted.
func (s *story) vouch(id string) { s.accept(s.vouchAs(id, workflows.FenceOrder{})) }

// maintain has an operator taint m1, so that its workloads move while it is Ready.
func (s *story) maintain() {
	s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
}

// maintained is maintain until that is over.
func (s *story) maintained(until time.Duration) { s.taintedUntil(until, corev1.TaintEffectNoExecute) }

// taintedUntil has an operator taint m1 for a while.
func (s *story) taintedUntil(end time.Duration, effect corev1.TaintEffect) {
	s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: effect})
	s.at(end, func() { s.world.DropTaint("m1", maintenance) })
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
		require.Equal(t, phase.MigrationAwaitingHealth, s.status().Migrations["shop/app"].Phase)
	})
	s.at(15*time.Minute, func() { s.world.DropTaint("m1", maintenance) })
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.Equal(t, []string{"taint", "evict", "release", "taint"}, ops(s))
	s.oneAtATime(time.Time{})
	require.GreaterOrEqual(t, s.sinceEviction(), s.world.HealthyAfter)
	now, ever := s.world.Wears(key, "m2")
	require.Empty(t, now)
	require.Equal(t, carried, ever)
}

// Its cluster is away: nothing is written, and when it is back the binding stays.
//
// Rules: R4.8-10.
func TestKarmada5788StateWaitsForASilentSource(t *testing.T) {
	s, key := stateful(t)
	s.outage(30 * time.Minute)
	s.at(10*time.Minute, func() { s.vouch(workflows.ClusterFailoverID("", "m1")) })
	s.at(20*time.Minute, func() {
		i := s.status().Items[0]
		require.Equal(t, []any{queue.Blocked, reason.StateNeedsSource}, []any{i.State, i.Reason}, "dead is not enough")
	})
	require.Equal(t, phase.OutcomeAbandoned, s.playApp().Outcome)
	require.Empty(t, s.world.Log("evict"))
	require.Contains(t, s.world.Copies(key), "m1")
}

// An operator has it go on without: for the cluster, or for this binding alone.
//
// Rules: R4.8-7, R4.8-10, R4.11-6.
func TestAnOperatorMayHaveItGoOnWithoutItsState(t *testing.T) {
	for name, one := range map[string]bool{"for the cluster": false, "for one binding": true} {
		t.Run(name, func(t *testing.T) {
			s, key := stateful(t)
			other := s.bind("other", []string{"m1"}, "m1", "m3")
			s.purging(other, karmada.PurgeDirectly)
			s.preserving(other)
			s.world.Collect(other, "m1", `{"jobStatus":{"checkpoint":9}}`)
			s.outage(20 * time.Minute)
			const vouched = 5 * time.Minute
			order := workflows.FenceOrder{WithoutState: true}
			want := map[string]phase.Outcome{"app": phase.OutcomeMigrated, "other": phase.OutcomeMigrated}
			if one {
				order.Binding, want["other"] = key, phase.OutcomeAbandoned
			}
			s.at(vouched, func() { s.accept(s.vouchAs(workflows.ClusterFailoverID("", "m1"), order)) })
			require.Equal(t, want, outcomes(s.play()))
			require.True(t, s.appResult().Fence.WithoutState, "on record")
			require.GreaterOrEqual(t, s.evictedAt("app"), vouched)
			_, ever := s.world.Wears(key, "m2")
			require.Empty(t, ever)
			s.oneAtATime(storyBegins.Add(vouched))
		})
	}
}

// The source dies between the write and the end of the old copy: what the task carries
// would be lost with it, so that it waits, whatever is proven.
//
// Rules: R4.8-9, R4.8-10, R4.11-2.
func TestKarmada5251StateOfASourceThatDiesAfterTheWriteWaitsForIt(t *testing.T) {
	for name, without := range map[string]bool{"it comes back": false, "an operator goes on without": true} {
		t.Run(name, func(t *testing.T) {
			s, key := stateful(t)
			died := diesAfterTheWrite(s)
			s.at(5*time.Minute, func() {
				m := s.status().Migrations["shop/app"]
				require.Equal(t, reason.StateNeedsSource, m.Reason)
				require.NotEmpty(t, m.Attention)
				s.refuse("withoutState", s.vouchAs(s.migration(key), workflows.FenceOrder{}))
			})
			s.at(6*time.Minute, func() { s.vouch(workflows.ClusterFailoverID("", "m1")) })
			s.at(8*time.Minute, func() {
				require.Empty(t, s.world.Log("release"), "dead is not enough, and nothing is claimed purged")
				if without {
					s.accept(s.vouchAs(s.migration(key), workflows.FenceOrder{WithoutState: true}))
				}
			})
			s.at(12*time.Minute, s.well)
			r := s.play()
			require.True(t, *died)
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
			s.maintained(10 * time.Minute)
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
// an operator has them go.
//
// Rules: R4.11-2, R4.7-38.
func TestAnOperatorReleasesAHoldThatOnlyCarriesState(t *testing.T) {
	s, key := stateful(t)
	s.world.HealthyAfter, s.world.DeleteAfter = 24*time.Hour, 5*time.Minute
	s.maintain()
	s.at(2*time.Minute, func() { // the old copy is still going
		s.refuse("purge mode Directly", s.orderChild(workflows.UpdateRelease, key, false))
	})
	s.at(20*time.Minute, func() {
		now, _ := s.world.Wears(key, "m2")
		require.Equal(t, carried, now)
		s.accept(s.orderChild(workflows.UpdateRelease, key, false))
	})
	s.at(25*time.Minute, func() { s.world.DropTaint("m1", maintenance) })
	s.play()

	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	require.Contains(t, s.appResult().Cause, "released by")
}

// The setting is off by default; where it is on, the record says that it was it.
//
// Rules: R4.7-37, R4.7-38.
func TestAfterGracefulTimeoutAnUnprovenHoldGoesOnlyWhereTheSettingSaysSo(t *testing.T) {
	for name, on := range map[string]bool{"off": false, "on": true} {
		t.Run(name, func(t *testing.T) {
			s, key := outage(t, 60*time.Minute)
			s.settings.Terms.ReleaseUnproven = on
			s.settings.Terms.GracefulTimeout = 5 * time.Minute
			s.world.HealthyAfter = 40 * time.Minute
			s.at(30*time.Minute, func() {
				require.Equal(t, on, len(s.world.Log("release")) > 0)
				if !on {
					m := s.status().Migrations["shop/app"]
					require.NotEmpty(t, m.Attention)
					require.Contains(t, s.world.Copies(key), "m1", "held, however long it takes")
				}
			})
			result := s.playApp()
			require.Equal(t, phase.OutcomeMigrated, result.Outcome)
			require.Greater(t, s.sinceEviction(), s.settings.Terms.GracefulTimeout)
			if on {
				require.Contains(t, result.Cause, "health.releaseUnproven")
			} else {
				require.NotContains(t, result.Cause, "releaseUnproven")
				require.GreaterOrEqual(t, s.sinceEviction(), s.world.HealthyAfter)
			}
		})
	}
}

// Rules: R4.7-38.
func TestAnUnprovenReleaseWaitsForATargetThatAnswers(t *testing.T) {
	s, _ := outage(t, 30*time.Minute)
	s.settings.Terms.ReleaseUnproven = true
	s.settings.Terms.GracefulTimeout = 5 * time.Minute
	s.world.HealthyAfter = 24 * time.Hour
	s.at(4*time.Minute, func() {
		s.world.ChangeCluster("m2", func(c *karmada.Cluster) { c.Conditions[0].Status = corev1.ConditionFalse })
	})
	var back time.Time
	s.at(20*time.Minute, func() {
		require.Empty(t, s.world.Log("release"), "the held copy may be the last one")
		back = s.env.Now()
		s.world.ChangeCluster("m2", func(c *karmada.Cluster) { c.Conditions[0].Status = corev1.ConditionTrue })
	})
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.False(t, s.world.Log("release")[0].At.Before(back))
}

// Nobody is told that a binding goes on which stays for want of its state.
//
// Rules: R4.8-7, R4.8-10, R4.11-6.
func TestAWordAboutOneBindingReachesTheMigrationThatWaitsForIt(t *testing.T) {
	s, key := direct(t)
	for _, name := range []string{"other", "stateful"} {
		s.purging(s.bind(name, []string{"m1"}, "m1", "m3"), karmada.PurgeDirectly)
	}
	stateful := karmada.BindingKey{Namespace: "shop", Name: "stateful"}
	s.preserving(stateful)
	s.world.Collect(stateful, "m1", `{"jobStatus":{"checkpoint":17}}`)
	s.outage(20 * time.Minute)
	word := func(about karmada.BindingKey) *answer {
		return s.vouchAs(workflows.ClusterFailoverID("", "m1"), workflows.FenceOrder{Binding: about})
	}
	s.at(5*time.Minute, func() {
		s.refuse("neither waits nor moves", word(karmada.BindingKey{Namespace: "shop", Name: "nobody"}))
	})
	s.at(6*time.Minute, func() { s.accept(word(key)) })
	s.at(7*time.Minute, func() { s.refuse("withoutState", word(stateful)) })
	want := map[string]phase.Outcome{"app": phase.OutcomeMigrated, "other": phase.OutcomeAbandoned, "stateful": phase.OutcomeAbandoned}
	require.Equal(t, want, outcomes(s.play()))
}

// What is written and placed waits for its old copy, and for no order about what is yet to be written.
//
// Rules: R4.4-12.
func TestDirectly_PlacedBehindAFence_TakesNoOrderAheadOfTheWrite(t *testing.T) {
	s, key := direct(t)
	s.world.DeleteAfter = 20 * time.Second
	diesAfterTheWrite(s)
	var snoozed, approved *answer
	s.at(5*time.Minute, func() {
		require.True(t, s.status().Migrations[key.String()].Placed)
		snoozed = s.tellFailover(workflows.UpdateSnooze, snooze(queue.ScopeOf(key), "1h"))
		approved = s.tellFailover(workflows.UpdateApprove, by(queue.ScopeOf(key)))
	})
	s.at(6*time.Minute, func() {
		require.ErrorContains(t, snoozed.err, "its move has begun")
		require.ErrorContains(t, approved.err, "its move has begun")
		s.vouch(s.migration(key))
	})
	s.at(10*time.Minute, s.well)
	s.run()
}
