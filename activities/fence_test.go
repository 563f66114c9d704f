package activities_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// vouched is an operator's word about the outage that the bench's cluster is in.
func (b *bench) vouched() *proof.Fence {
	return &proof.Fence{By: proof.FenceByHuman, Who: "jane", Message: "power is off", At: b.now, Outage: b.world.PeekCluster("m1").Outage()}
}

func (b *bench) directly(fence *proof.Fence) activities.EvictRequest {
	r := b.evictRequest()
	r.Purge, r.Fence = karmada.PurgeDirectly, fence
	return r
}

// Rules: R4.8-4, R4.8-7.
func TestTheWriteItselfAsksForTheFence(t *testing.T) {
	b := newBench(t)
	b.fail()
	b.pass(2 * time.Minute)
	void, old := b.vouched(), b.vouched()
	void.Outage = "False@" + b.now.Add(-time.Hour).UTC().Format(time.RFC3339)
	old.Outage = "" // of a state that did not know yet
	for name, fence := range map[string]*proof.Fence{"none": nil, "void": void, "old": old} {
		out := must[activities.EvictResult](b, activities.NameEvict, b.directly(fence))
		require.Equal(t, activities.EvictRefused, out.End, name)
		require.Equal(t, reason.AwaitingFence, out.Reason)
	}
	require.Empty(t, b.world.Log("evict"))

	out := must[activities.EvictResult](b, activities.NameEvict, b.directly(b.vouched()))
	require.Equal(t, activities.EvictWritten, out.End)
	app := b.world.Peek(appKey("app"))
	task, _ := app.TaskFor("m1")
	require.Equal(t, karmada.PurgeDirectly, task.PurgeMode)
	require.True(t, *task.SuppressDeletion)
}

func TestASourceThatAnswersNeedsNoFence(t *testing.T) {
	b := newBench(t)
	b.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	out := must[activities.EvictResult](b, activities.NameEvict, b.directly(nil))
	require.Equal(t, activities.EvictWritten, out.End)
}

func TestThePreCheckSaysWhoWaitsForAFence(t *testing.T) {
	b := newBench(t)
	b.fail()
	b.pass(2 * time.Minute)
	check := func(mode karmada.PurgeMode, fence *proof.Fence) activities.Check {
		return must[activities.PreCheckResult](b, activities.NamePreCheck, activities.PreCheckRequest{
			Cluster: "m1", Mode: rules.ModeEnforce, Items: []activities.Checked{{Key: appKey("app"), Purge: mode, Fence: fence}},
		}).Checks[0]
	}
	require.Equal(t, activities.CheckFence, check(karmada.PurgeDirectly, nil).End)
	require.Equal(t, activities.CheckPass, check(karmada.PurgeDirectly, b.vouched()).End)
	require.Equal(t, activities.CheckPass, check(karmada.PurgeGracefully, nil).End)
	b.world.SetReady("m2", false)
	require.Equal(t, activities.CheckBlocked, check(karmada.PurgeDirectly, nil).End, "with nowhere to go nobody is asked to vouch")
}

// Invariant 11, at the drop: once the task is gone Karmada starts the new copy at once.
//
// Rules: R4.8-8, R4.8-9, R4.8-13.
func TestADirectlyHoldIsDroppedOnlyWithProofThatTheOldCopyIsDead(t *testing.T) {
	b := newBench(t)
	b.world.DeleteAfter = time.Hour
	b.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	ref := b.ref(must[activities.EvictResult](b, activities.NameEvict, b.directly(nil)))
	release := func() activities.ActResult {
		return must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MoveRef: ref, HealthyFor: time.Hour})
	}
	require.Equal(t, reason.NotPlaced, release().Reason)
	b.pass(time.Minute)
	require.Equal(t, reason.OldCopyGoing, release().Reason, "the source deletes it still")
	b.world.SetReady("m1", false)
	b.pass(time.Minute)
	require.Equal(t, reason.AwaitingFence, release().Reason, "the source died in between")
	require.NotContains(t, b.world.Copies(appKey("app")), "m2")
	ref.Fence = b.vouched()
	require.Equal(t, activities.ActDone, release().End)
	require.Contains(t, b.world.Copies(appKey("app")), "m2", "Karmada goes on")
}

func TestADirectlyHoldGoesOnceKarmadaHasDeletedTheOldCopy(t *testing.T) {
	b := newBench(t)
	b.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	ref := b.ref(must[activities.EvictResult](b, activities.NameEvict, b.directly(nil)))
	b.pass(time.Minute)
	require.NotContains(t, b.world.Copies(appKey("app")), "m1")
	require.Equal(t, activities.ActDone, must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MoveRef: ref}).End)
}

// Whoever changes the label that Works are found by makes no copy end: the Work that was
// held is asked for as well, and another one in its place is not it.
//
// Rules: R4.8-8, R4.8-13.
func TestAnOldCopyIsGoneOnlyWhenTheWorkThatWasHeldIs(t *testing.T) {
	b := newBench(t)
	b.world.DeleteAfter = time.Hour
	b.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	evicted := must[activities.EvictResult](b, activities.NameEvict, b.directly(nil))
	ref := b.ref(evicted)
	ref.OldWork = evicted.OldWork
	b.pass(time.Minute)
	b.world.Relabelled = map[karmada.BindingKey]bool{appKey("app"): true}
	seen := func() *karmada.Work {
		r := ref
		r.WantWork = true
		return must[activities.Observation](b, activities.NameObserve, r).OldWork
	}
	release := func() activities.ActResult {
		return must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MoveRef: ref, HealthyFor: time.Hour})
	}
	require.Equal(t, evicted.OldWork.UID, seen().UID)
	require.Equal(t, reason.OldCopyGoing, release().Reason)
	require.NotContains(t, b.world.Copies(appKey("app")), "m2")

	another := *evicted.OldWork
	another.UID = "another"
	ref.OldWork = &another
	require.Nil(t, seen(), "the one that was held is gone, whoever has its name")
	ref.OldWork = evicted.OldWork
	b.pass(2 * time.Hour)
	require.Nil(t, seen())
	require.Equal(t, activities.ActDone, release().End)
}

// Rules: R4.8-11.
func TestPurgeModeNeverIsNeverReleased(t *testing.T) {
	b := newBench(t)
	b.fail()
	r := b.evictRequest()
	r.Purge = karmada.PurgeNever
	ref := b.ref(must[activities.EvictResult](b, activities.NameEvict, r))
	b.pass(10 * time.Minute)
	out := must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MoveRef: ref, HealthyFor: time.Hour})
	require.Equal(t, activities.ActRefused, out.End)
	require.Equal(t, reason.PurgeNever, out.Reason)
}

// A member that never finishes the delete must be seen, not forgotten: issued, then
// gone, wanted again, or owed while its cluster is away.
//
// Rules: R4.7-34, R4.7-35, R4.7-36, R4.8-12.
func TestKarmada5752PurgeIsFollowedByTheOldWorksUID(t *testing.T) {
	b := newBench(t)
	b.world.DeleteAfter = time.Hour
	b.fail()
	out := b.evict()
	look := func() activities.WorkState {
		return must[activities.WorkState](b, activities.NameObserveWork, activities.WorkRequest{Cluster: "m1", Key: appKey("app"), Work: *out.OldWork})
	}
	require.Equal(t, activities.WorkState{Away: true}, look(), "held, on a cluster that is away")
	b.pass(time.Minute)
	b.pass(time.Minute)
	release := must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MoveRef: b.ref(out), HealthyFor: time.Hour})
	require.Equal(t, activities.ActDone, release.End)
	require.Equal(t, activities.WorkState{Deleting: true, Away: true}, look(), "issued, and owed")
	b.world.SetReady("m1", true)
	require.Equal(t, activities.WorkState{Gone: true}, look(), "paid when the cluster is back")

	other := *out.OldWork
	other.UID = "another"
	b.bind("other")
	now := must[activities.WorkState](b, activities.NameObserveWork, activities.WorkRequest{Cluster: "m1", Key: appKey("other"), Work: other})
	require.True(t, now.Gone, "a Work of another uid is another Work")
	copies := b.world.Copies(appKey("other"))
	wanted := must[activities.WorkState](b, activities.NameObserveWork, activities.WorkRequest{Cluster: "m1", Key: appKey("other"), Work: copies["m1"]})
	require.Equal(t, activities.WorkState{Superseded: true}, wanted, "its cluster is a target")
}

// Under Directly Karmada starts the new copy as soon as the old Work is gone, and the preserved
// copy of that Work runs on: nothing is written, neither where the source answers nor behind a fence.
//
// Rules: R4.8-13, R4.8-16.
func TestEvict_PreservedCopyDirectly_WritesNothing(t *testing.T) {
	for name, silent := range map[string]bool{"source answers": false, "source away and fenced": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.world.Change(appKey("app"), func(b *karmada.Binding) { b.PreservesCopies = true })
			b.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
			var fence *proof.Fence
			if silent {
				b.world.SetReady("m1", false)
				fence = &proof.Fence{By: proof.FenceByHuman, Who: "jane", Message: "power is off", Outage: b.world.PeekCluster("m1").Outage()}
			}
			out := must[activities.EvictResult](b, activities.NameEvict, b.directly(fence))
			require.Equal(t, activities.EvictRefused, out.End)
			require.Equal(t, reason.CopyPreserved, out.Reason)
			require.Empty(t, b.world.Log("evict"))
		})
	}
}

// The flag counts as it stands at the release, whatever the task says.
//
// Rules: R4.8-15.
func TestRelease_PreservedCopyIsNotReleased(t *testing.T) {
	b := newBench(t)
	b.fail()
	ref := b.ref(must[activities.EvictResult](b, activities.NameEvict, b.evictRequest()))
	b.pass(10 * time.Minute)
	b.world.Change(appKey("app"), func(b *karmada.Binding) { b.PreservesCopies = true })
	b.pass(time.Minute)
	out := must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MoveRef: ref, HealthyFor: time.Hour})
	require.Equal(t, activities.ActRefused, out.End)
	require.Equal(t, reason.PurgeNever, out.Reason)
	require.True(t, out.Look.Preserved)
}
