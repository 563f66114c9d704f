package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

const maintenance = "example.com/maintenance"

// vouch confirms at a workflow that the old copy is dead.
func (s *story) vouch(id string) *answer {
	o := workflows.Order{Who: "jane", Reason: "power is off"}
	return s.update(id, workflows.UpdateConfirmFenced, "vouch|"+id+"|"+s.env.Now().String(), o)
}

func (s *story) migration(key karmada.BindingKey) string {
	return workflows.BindingMigrationID("", "m1", key)
}

// direct binds app to m1 in purge mode Directly.
func direct(t *testing.T) (*story, karmada.BindingKey) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
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

// Rules: R4.8-4, R4.8-13.
func TestDirectlyWritesNothingWhileASilentSourceIsNotFenced(t *testing.T) {
	s, key := direct(t)
	s.world.SetReady("m1", false)
	s.at(20*time.Minute, func() {
		var st workflows.FailoverStatus
		answer, err := s.env.QueryWorkflowByID(workflows.ClusterFailoverID("", "m1"), workflows.QueryStatus)
		require.NoError(t, err)
		require.NoError(t, answer.Get(&st))
		require.Equal(t, phase.FailoverEvacuated, st.Phase, "nothing left to do but wait")
		require.Equal(t, reason.AwaitingFence, st.Moves["shop/app"].Reason)
		require.NotEmpty(t, st.Moves["shop/app"].Attention)
		page := s.pageOf(s.migration(key))
		require.Contains(t, page, "**Why it moves:** **TaintUntolerated**: taint")
		require.Contains(t, page, "**Could go to:** m2;")
		require.Contains(t, page, "**Why a proof:** its purge mode is Directly")
		require.Contains(t, page, "**How far:** **AwaitingFence** → Checking")
	})
	s.at(30*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Equal(t, phase.OutcomeAbandoned, s.appResult().Outcome)
	require.Equal(t, []string{"taint", "taint"}, ops(s), "not one write to the binding")
	require.Empty(t, s.world.Leftovers())
}

// What Bloomberg asked for: stop first, and where the old side is silent wait for a human.
//
// Rules: R4.8-7, R4.8-8, R4.8-12.
func TestKarmada5788DirectlyGoesOnWhenAHumanVouches(t *testing.T) {
	s, key := direct(t)
	s.world.SetReady("m1", false)
	var vouched time.Time
	s.at(5*time.Minute, func() {
		vouched = s.env.Now()
		s.accepted = append(s.accepted, s.vouch(s.migration(key)))
	})
	s.at(8*time.Minute, func() {
		require.Contains(t, s.world.Copies(key), "m1", "the old Work is pending purge until the cluster is back")
	})
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()

	require.Equal(t, phase.FailoverRecovered, r.Ended)
	result := s.appResult()
	require.Equal(t, phase.OutcomeMigrated, result.Outcome)
	require.Equal(t, proof.Fence{By: proof.FenceByHuman, Who: "jane", Message: "power is off", At: result.Fence.At, Outage: "False@" + storyBegins.UTC().Format(time.RFC3339)}, *result.Fence)
	require.Equal(t, []string{"taint", "evict", "release", "taint"}, ops(s))
	require.False(t, s.world.Log("evict")[0].At.Before(vouched))
	s.oneAtATime(vouched)
	require.NotEmpty(t, s.world.Beside)
	require.NotNil(t, result.PendingPurge, "followed by the old Work's uid")
	require.Empty(t, r.PendingPurges, "and paid when the cluster came back")
	require.NotContains(t, s.world.Copies(key), "m1")
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.8-7.
func TestAHumanMayVouchForTheWholeCluster(t *testing.T) {
	s, key := direct(t)
	other := s.bind("other", []string{"m1"}, "m1", "m3")
	s.purging(other, karmada.PurgeDirectly)
	plain := s.bind("plain", []string{"m1"}, "m1", "m4")
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.accepted = append(s.accepted, s.vouch(workflows.ClusterFailoverID("", "m1"))) })
	s.at(7*time.Minute, func() {
		late := s.bind("late", []string{"m1"}, "m1", "m5")
		s.purging(late, karmada.PurgeDirectly)
	})
	s.at(15*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "other": "Migrated", "plain": "Migrated", "late": "Migrated"}, outcomes(r))
	for _, x := range r.Attempts[0].Results {
		require.Equal(t, x.Key == plain, x.Fence == nil, "recorded where it counted: %s", x.Key)
	}
	require.Contains(t, s.world.Copies(key), "m2")
}

// Rules: R4.8-8, R4.8-13.
func TestDirectlyOnASourceThatAnswersDeletesFirst(t *testing.T) {
	s, _ := direct(t)
	s.world.DeleteAfter = 20 * time.Second
	s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
	s.at(5*time.Minute, func() { s.world.DropTaint("m1", maintenance) })
	s.play()
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	require.Nil(t, s.appResult().Fence)
	s.oneAtATime(time.Time{})
	evicted, released := s.world.Log("evict")[0].At, s.world.Log("release")[0].At
	require.GreaterOrEqual(t, released.Sub(evicted), s.world.DeleteAfter, "the task stands until the old copy is gone")
}

// Whoever changes the binding's label makes the old copy look gone, and no more.
//
// Rules: R4.8-8, R4.8-13.
func TestALostLabelMakesNoOldCopyEnd(t *testing.T) {
	s, key := direct(t)
	s.world.DeleteAfter = 5 * time.Minute
	s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
	s.world.OnWrite = func(w world.Write, _, _ karmada.Binding) {
		if w.Op == "evict" {
			s.world.Relabelled = map[karmada.BindingKey]bool{key: true}
		}
	}
	s.at(15*time.Minute, func() { s.world.DropTaint("m1", maintenance) })
	s.play()
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	s.oneAtATime(time.Time{})
	evicted, released := s.world.Log("evict")[0].At, s.world.Log("release")[0].At
	require.GreaterOrEqual(t, released.Sub(evicted), s.world.DeleteAfter, "the task stands until the Work that was held is gone")
}

// The fence is honoured after the write too.
//
// Rules: R4.8-5, R4.8-9, R4.8-13.
func TestASourceThatDiesAfterTheWriteIsFencedBeforeTheDrop(t *testing.T) {
	for name, vouches := range map[string]bool{"somebody vouches": true, "nobody does; it comes back": false} {
		t.Run(name, func(t *testing.T) {
			s, key := direct(t)
			s.world.DeleteAfter = 20 * time.Second
			died := diesAfterTheWrite(s)
			var vouched time.Time
			if vouches {
				s.at(5*time.Minute, func() { vouched = s.env.Now(); s.accepted = append(s.accepted, s.vouch(s.migration(key))) })
			}
			s.at(10*time.Minute, func() { s.world.SetReady("m1", true); s.world.DropTaint("m1", maintenance) })
			s.play()
			require.True(t, *died)
			s.oneAtATime(vouched)
			require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
			released := s.world.Log("release")[0].At
			if vouches {
				require.False(t, released.Before(storyBegins.Add(5*time.Minute)))
				require.NotNil(t, s.appResult().PendingPurge)
			} else {
				require.False(t, released.Before(storyBegins.Add(10*time.Minute)), "until Karmada could delete the old copy")
			}
			require.Empty(t, s.world.Leftovers())
		})
	}
}

// diesAfterTheWrite taints m1 by hand, and lets it die right after the eviction.
func diesAfterTheWrite(s *story) *bool {
	died := false
	s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
	s.world.Lost = func(op, _ string) bool {
		if op == "evict" && !died {
			died = true
			s.at(2*time.Second, func() { s.world.SetReady("m1", false) })
		}
		return false
	}
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
			s.at(4*time.Minute, func() { s.accepted = append(s.accepted, s.vouch(s.migration(key))) })
			s.at(4*time.Minute+5*time.Second, func() { s.accepted = append(s.accepted, s.vouch(workflows.ClusterFailoverID("", "m1"))) })
			s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
			s.at(5*time.Minute+5*time.Second, dies)
			s.at(6*time.Minute, func() { s.order(workflows.UpdateResume, "go on") })
			s.at(15*time.Minute, func() { s.world.SetReady("m1", true) })
			s.play()
			require.Equal(t, phase.OutcomeAbandoned, s.appResult().Outcome)
			require.Empty(t, s.world.Log("evict"))
		})
	}
}

// Whatever Karmada's clock says, a word about the outage that lasts is good.
//
// Rules: R4.8-7, R4.8-14.
func TestAFenceCountsWhereKarmadasClockIsAhead(t *testing.T) {
	s, key := direct(t)
	s.world.SetReady("m1", false)
	s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Conditions[0].LastTransition = s.env.Now().Add(time.Hour) })
	s.at(5*time.Minute, func() { s.accepted = append(s.accepted, s.vouch(s.migration(key))) })
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	require.Equal(t, "False@"+storyBegins.Add(time.Hour).UTC().Format(time.RFC3339), s.appResult().Fence.Outage)
}

// A word for a cluster that was not seen to be silent would count for nothing; better to
// hear so than to wait for it.
//
// Rules: R4.8-7, R4.8-14.
func TestAWordForAClusterThatWasNotSeenSilentIsRefused(t *testing.T) {
	s, key := direct(t)
	s.world.DeleteAfter = 5 * time.Minute
	s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
	var early *answer
	s.at(2*time.Minute, func() { early = s.vouch(s.migration(key)) })
	s.at(12*time.Minute, func() { s.world.DropTaint("m1", maintenance) })
	s.play()
	require.ErrorContains(t, early.err, "was not silent when it was last looked at")
}

// Karmada has begun to delete the old copy, and nothing can take that back: the
// untaint does not wait for it either.
//
// Rules: R4.8-8, R4.9-13.
func TestARecoveryDoesNotTakeADirectlyMoveBack(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	s.purging(key, karmada.PurgeDirectly)
	s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
	const recovered = 2 * time.Minute
	s.at(recovered, func() { s.world.DropTaint("m1", maintenance) })
	s.at(10*time.Minute, func() { s.world.DropTaint("m2", "cordon"); s.world.Requeue(key) })
	s.play()
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	require.Equal(t, []string{"taint", "evict", "taint", "release"}, ops(s), "not restored; untainted before it was placed")
	untainted := s.world.Log("taint")[1].At
	require.Less(t, untainted.Sub(storyBegins), recovered+s.settings.Terms.RestoreWait)
	require.NotContains(t, s.world.Copies(key), "m1")
}

func TestACancelledDirectlyMoveIsRestoredWhileUnplacedAndLeftOnceItIsPlaced(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	s.purging(key, karmada.PurgeDirectly)
	s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
	s.at(3*time.Minute, func() { s.order(workflows.UpdateCancel, "not now") })
	s.at(6*time.Minute, func() { s.world.DropTaint("m1", maintenance) })
	s.play()
	require.Equal(t, phase.OutcomeRestored, s.appResult().Outcome)

	s, key = direct(t)
	s.world.DeleteAfter = 20 * time.Second
	diesAfterTheWrite(s)
	s.at(3*time.Minute, func() { s.order(workflows.UpdateCancel, "not now") })
	s.at(6*time.Minute, func() { s.world.SetReady("m1", true); s.world.DropTaint("m1", maintenance) })
	s.play()
	require.Equal(t, phase.OutcomeNeedsOperator, s.appResult().Outcome)
	left := s.world.Peek(key)
	task, _ := left.TaskFor("m1")
	require.Equal(t, karmada.PurgeDirectly, task.PurgeMode, "and Karmada still deletes the old copy first")
}

func TestWhoCancelsWhileItWaitsForAFenceAbandonsIt(t *testing.T) {
	s, key := direct(t)
	s.world.SetReady("m1", false)
	s.at(4*time.Minute, func() { s.cancelMove(key) })
	s.at(8*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Equal(t, phase.OutcomeAbandoned, s.appResult().Outcome)
	require.Equal(t, reason.Cancelled, s.appResult().Reason)
	require.Empty(t, s.world.Log("evict"))
}

// Rules: R4.8-7.
func TestAWordThatHelpsNobodyIsRefused(t *testing.T) {
	s := newStory(t)
	plain := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.HealthyAfter = 5 * time.Minute
	s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
	var plainly, ready, unsigned *answer
	s.at(2*time.Minute, func() {
		plainly = s.vouch(s.migration(plain))
		ready = s.vouch(workflows.ClusterFailoverID("", "m1"))
	})
	s.at(3*time.Minute, func() { s.world.SetReady("m1", false) })
	s.at(4*time.Minute, func() {
		unsigned = s.update(workflows.ClusterFailoverID("", "m1"), workflows.UpdateConfirmFenced, "u", workflows.Order{Who: "jane"})
	})
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true); s.world.DropTaint("m1", maintenance) })
	s.play()
	require.ErrorContains(t, plainly.err, "only purge mode Directly")
	require.ErrorContains(t, ready.err, "m1 is Ready")
	require.ErrorContains(t, unsigned.err, "reason")
}

func TestAnAdoptedDirectlyHoldIsFencedToo(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	hold, replicas := true, int32(2)
	s.world.SetReady("m1", false)
	s.world.Change(key, func(b *karmada.Binding) {
		b.Clusters = []karmada.TargetCluster{{Name: "m2", Replicas: 2}}
		b.Tasks = []karmada.Task{{
			FromCluster: "m1", Replicas: &replicas, Reason: karmada.TaskReason, Producer: karmada.Producer, PurgeMode: karmada.PurgeDirectly,
			Message: workflows.BindingMigrationID("", "m1", key), SuppressDeletion: &hold, ClustersBeforeFailover: []string{"m1"},
		}}
	})
	s.at(10*time.Minute, func() { require.Empty(t, s.world.Log("release")) })
	s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
}

func TestObserveSaysWhoWouldWaitForAFence(t *testing.T) {
	s, _ := direct(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Equal(t, phase.OutcomeWouldBlock, s.appResult().Outcome)
	require.Equal(t, reason.AwaitingFence, s.appResult().Reason)
	require.Empty(t, s.world.Log(""))
}
