package activities_test

import (
	"encoding/json"
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
	return &proof.Fence{By: proof.FenceByOperator, Who: "jane", Message: "power is off", At: b.now, Outage: b.world.PeekCluster("m1").Outage()}
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
		return must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref, HealthyFor: time.Hour})
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
	require.Equal(t, activities.ActDone, must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref}).End)
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
		return must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref, HealthyFor: time.Hour})
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
	out := must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref, HealthyFor: time.Hour})
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
	release := must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: b.ref(out), HealthyFor: time.Hour})
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
				fence = &proof.Fence{By: proof.FenceByOperator, Who: "jane", Message: "power is off", Outage: b.world.PeekCluster("m1").Outage()}
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
	out := must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref, HealthyFor: time.Hour})
	require.Equal(t, activities.ActRefused, out.End)
	require.Equal(t, reason.PurgeNever, out.Reason)
	require.True(t, out.Look.Preserved)
}

var (
	checkpoint = []karmada.StateRule{{Label: "checkpoint", Path: "{.jobStatus.checkpoint}"}}
	carried    = map[string]string{"checkpoint": "17"}
)

// stateful lets app on m1 have reported checkpoint 17, on a cluster that answers.
func stateful(t *testing.T) *bench {
	b := newBench(t)
	b.world.Collect(appKey("app"), "m1", `{"jobStatus":{"checkpoint":17}}`)
	b.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	return b
}

func (b *bench) withState(fence *proof.Fence) activities.EvictRequest {
	r := b.directly(fence)
	r.Policy.State = checkpoint
	return r
}

func (b *bench) withoutState() *proof.Fence {
	f := b.vouched()
	f.WithoutState = true
	return f
}

func (b *bench) task() karmada.Task {
	app := b.world.Peek(appKey("app"))
	task, at := app.TaskFor("m1")
	require.GreaterOrEqual(b.t, at, 0)
	return *task
}

// The status is read in the same act that writes, and what it says is in the one patch.
//
// Rules: R4.11-1.
func TestTheOneEvictPatchCarriesWhatTheOldCopyLastReported(t *testing.T) {
	b := stateful(t)
	out := must[activities.EvictResult](b, activities.NameEvict, b.withState(nil))
	require.Equal(t, activities.EvictWritten, out.End)
	require.Equal(t, "its state goes along: checkpoint", out.Message)
	require.Equal(t, carried, b.task().State)
	require.Len(t, b.world.Log(""), 1, "one patch")

	look := must[activities.Observation](b, activities.NameObserve, b.ref(out))
	require.Equal(t, carried, look.State, "and every later look sees it in the task")
}

// The rules are frozen: what the binding itself says by now does not count.
//
// Rules: R4.11-1, R4.3-15.
func TestStateRulesAreFrozenWithThePolicy(t *testing.T) {
	b := stateful(t)
	b.world.Change(appKey("app"), func(x *karmada.Binding) {
		x.StateRules = []karmada.StateRule{{Label: "later", Path: "{.nothing}"}}
	})
	must[activities.EvictResult](b, activities.NameEvict, b.withState(nil))
	require.Equal(t, carried, b.task().State)

	page := must[activities.TargetingPage](b, activities.NameListTargeting, activities.ListRequest{Cluster: "m2"})
	require.Empty(t, page.Policies)
	b.bind("other", func(x *karmada.Binding) { x.StateRules = checkpoint })
	b.bind("third", func(x *karmada.Binding) { x.StateRules = nil })
	page = must[activities.TargetingPage](b, activities.NameListTargeting, activities.ListRequest{Cluster: "m1"})
	require.Len(t, page.Policies, 2, "different rules are different policies")
	require.Equal(t, checkpoint, page.Policies[page.Items[0].Policy].State)
}

// Rules: R4.8-10, R4.11-3, R4.11-4, R4.11-5.
func TestWhatCannotTakeItsStateAlongStaysAndNothingIsWritten(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*bench, *activities.EvictRequest)
		want   reason.Reason
	}{
		"the source is silent": {change: func(b *bench, _ *activities.EvictRequest) { b.world.SetReady("m1", false) }, want: reason.StateNeedsSource},
		"it is proven dead, and silent still": {change: func(b *bench, r *activities.EvictRequest) {
			b.world.SetReady("m1", false)
			b.pass(time.Minute)
			r.Fence = b.vouched()
		}, want: reason.StateNeedsSource},
		"its status was never collected": {change: func(b *bench, _ *activities.EvictRequest) { b.world.Collect(appKey("app"), "m1", "") }, want: reason.StateNotCollected},
		"the path finds nothing":         {change: func(b *bench, _ *activities.EvictRequest) { b.world.Collect(appKey("app"), "m1", `{"jobStatus":{}}`) }, want: reason.StateUnreadable},
		"the path is none": {change: func(_ *bench, r *activities.EvictRequest) {
			r.Policy.State = []karmada.StateRule{{Label: "x", Path: "{.a"}}
		}, want: reason.StateUnreadable},
		"Gracefully": {change: func(_ *bench, r *activities.EvictRequest) { r.Purge = karmada.PurgeGracefully }, want: reason.StateNotCarried},
	} {
		t.Run(name, func(t *testing.T) {
			b := stateful(t)
			r := b.withState(nil)
			tc.change(b, &r)
			r.Permit = b.permit()
			out := must[activities.EvictResult](b, activities.NameEvict, r)
			require.Equal(t, activities.EvictRefused, out.End)
			require.Equal(t, tc.want, out.Reason, out.Message)
			require.Empty(t, b.world.Log("evict"))
			check := must[activities.PreCheckResult](b, activities.NamePreCheck, activities.PreCheckRequest{
				Cluster: "m1", Mode: rules.ModeEnforce,
				Items: []activities.Checked{{Key: appKey("app"), Purge: r.Purge, State: r.Policy.State, Fence: r.Fence}},
			}).Checks[0]
			require.Equal(t, activities.CheckBlocked, check.End, "and it takes no lease to know")
			require.Equal(t, tc.want, check.Reason)
		})
	}
}

// Rules: R4.8-10, R4.11-3, R4.11-5.
func TestWithoutItsStateItGoesOnlyWhereSomebodySaidSo(t *testing.T) {
	b := stateful(t)
	b.world.Collect(appKey("app"), "m1", "")
	b.acts.Settings.StateMissingOK = true
	out := must[activities.EvictResult](b, activities.NameEvict, b.withState(nil))
	require.Equal(t, activities.EvictWritten, out.End)
	require.Contains(t, out.Message, "without its state: its status on m1 was never collected")
	require.Empty(t, b.task().State)

	b = stateful(t)
	b.fail()
	b.pass(2 * time.Minute)
	out = must[activities.EvictResult](b, activities.NameEvict, b.withState(b.withoutState()))
	require.Equal(t, activities.EvictWritten, out.End)
	require.Contains(t, out.Message, "without its state: operator jane, without state: power is off")
	require.Equal(t, carried, b.task().State, "should the source come back in time, it goes along after all")
	b.pass(time.Minute)
	require.NotContains(t, b.world.Copies(appKey("app")), "m2", "Karmada waits for the old copy")
	ref := b.ref(out)
	release := func() activities.ActResult {
		return must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref, HealthyFor: time.Hour})
	}
	ref.Fence = b.vouched()
	require.Equal(t, reason.StateNeedsSource, release().Reason, "dead is not enough")
	ref.Fence = b.withoutState()
	require.Equal(t, activities.ActDone, release().End, "no health is asked for: the new copy has yet to begin")
}

// Karmada takes the labels off as soon as the task goes, so that it stays until the
// new copy needs them no more.
//
// Rules: R4.11-2.
func TestAHoldThatCarriesStateGoesOnlyWhenTheNewCopyIsHealthy(t *testing.T) {
	b := stateful(t)
	b.world.DeleteAfter, b.world.HealthyAfter = 10*time.Second, 2*time.Minute
	out := must[activities.EvictResult](b, activities.NameEvict, b.withState(nil))
	ref, held := b.ref(out), time.Duration(0)
	release := func() activities.ActResult {
		return must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref, HealthyFor: held})
	}
	b.pass(time.Second)
	b.pass(time.Second)
	require.Equal(t, reason.OldCopyGoing, release().Reason)
	b.pass(20 * time.Second)
	now, _ := b.world.Wears(appKey("app"), "m2")
	require.Equal(t, carried, now, "the new copy began with its state")
	require.Equal(t, reason.NotHealthy, release().Reason)
	b.pass(5 * time.Minute)
	require.Contains(t, release().Message, "healthy for 0s", "not for long enough")
	held = time.Hour
	require.Equal(t, activities.ActDone, release().End)
	now, ever := b.world.Wears(appKey("app"), "m2")
	require.Empty(t, now, "its labels went with the task")
	require.Equal(t, carried, ever)
}

// What the scheduler took out again after a restore carries its state as before.
//
// Rules: R4.11-1.
func TestWhatIsHeldAgainCarriesItsStateAgain(t *testing.T) {
	b := stateful(t)
	ref := b.ref(must[activities.EvictResult](b, activities.NameEvict, b.withState(nil)))
	ref.Purge, ref.State = karmada.PurgeDirectly, b.task().State
	b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Tasks = nil })
	require.Equal(t, activities.ActDone, must[activities.ActResult](b, activities.NameHoldAgain, ref).End)
	require.Equal(t, carried, b.task().State)
}

// Rules: R4.7-38.
func TestAnUnprovenReleaseNeverTakesTheLastCopy(t *testing.T) {
	b := newBench(t)
	b.world.HealthyAfter = 24 * time.Hour
	b.fail()
	r := b.evictRequest()
	out := must[activities.EvictResult](b, activities.NameEvict, r)
	release := func(unproven bool, purge karmada.PurgeMode) activities.ActResult {
		b.world.Change(appKey("app"), func(x *karmada.Binding) {
			if task, at := x.TaskFor("m1"); at >= 0 {
				task.PurgeMode = purge
			}
		})
		return must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: b.ref(out), Unproven: unproven})
	}
	require.Equal(t, reason.NotPlaced, release(true, karmada.PurgeGracefully).Reason)
	b.pass(time.Minute)
	require.Equal(t, reason.NotHealthy, release(false, karmada.PurgeGracefully).Reason)
	require.Equal(t, reason.PurgeNever, release(true, karmada.PurgeNever).Reason)
	require.Equal(t, reason.AwaitingFence, release(true, karmada.PurgeDirectly).Reason, "it proves nobody dead")
	b.world.SetReady("m2", false)
	require.Equal(t, reason.TargetNotReady, release(true, karmada.PurgeGracefully).Reason, "its only target is away, too")
	b.world.SetReady("m2", true)
	require.Equal(t, activities.ActDone, release(true, karmada.PurgeGracefully).End)
}

func TestNothingOfAStatusGetsIntoHistoryButTheLabels(t *testing.T) {
	b := stateful(t)
	raw, err := json.Marshal(must[activities.EvictResult](b, activities.NameEvict, b.withState(nil)))
	require.NoError(t, err)
	require.NotContains(t, string(raw), "jobStatus")
}
