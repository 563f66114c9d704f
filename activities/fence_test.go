package activities_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
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
	b := failing(t)
	b.pass(2 * time.Minute)
	void, old := b.vouched(), b.vouched()
	void.Outage = "False@" + b.now.Add(-time.Hour).UTC().Format(time.RFC3339)
	old.Outage = "" // of a state that did not know yet
	for name, fence := range map[string]*proof.Fence{"none": nil, "void": void, "old": old} {
		t.Run(name, func(t *testing.T) { evictRow{reason: reason.AwaitingFence}.run(t, b, b.directly(fence)) })
	}
	evictRow{end: activities.EvictWritten, reason: reason.Written}.run(t, b, b.directly(b.vouched()))
	require.Equal(t, karmada.PurgeDirectly, b.task().PurgeMode)
	require.True(t, *b.task().SuppressDeletion)
}

func TestASourceThatAnswersNeedsNoFence(t *testing.T) {
	b := newBench(t)
	maintained(b)
	evictRow{end: activities.EvictWritten, reason: reason.Written}.run(t, b, b.directly(nil))
}

func TestThePreCheckSaysWhoWaitsForAFence(t *testing.T) {
	b := failing(t)
	b.pass(2 * time.Minute)
	check := func(mode karmada.PurgeMode, fence *proof.Fence) activities.Check {
		return b.preCheck(func(r *activities.PreCheckRequest) { r.Items[0].Purge, r.Items[0].Fence = mode, fence })
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
	maintained(b)
	ref := b.ref(b.evicts(b.directly(nil)))
	require.Equal(t, reason.NotPlaced, b.release(healthy(ref)).Reason)
	b.pass(time.Minute)
	require.Equal(t, reason.OldCopyGoing, b.release(healthy(ref)).Reason, "the source deletes it still")
	b.world.SetReady("m1", false)
	b.pass(time.Minute)
	require.Equal(t, reason.AwaitingFence, b.release(healthy(ref)).Reason, "the source died in between")
	require.NotContains(t, b.world.Copies(appKey("app")), "m2")
	ref.Fence = b.vouched()
	require.Equal(t, activities.ActDone, b.release(healthy(ref)).End)
	require.Contains(t, b.world.Copies(appKey("app")), "m2", "Karmada goes on")
}

func TestADirectlyHoldGoesOnceKarmadaHasDeletedTheOldCopy(t *testing.T) {
	b := newBench(t)
	maintained(b)
	ref := b.ref(b.evicts(b.directly(nil)))
	b.pass(time.Minute)
	require.NotContains(t, b.world.Copies(appKey("app")), "m1")
	require.Equal(t, activities.ActDone, b.release(activities.ReleaseRequest{MigrationRef: ref}).End)
}

// Whoever changes the label that Works are found by makes no copy end: the Work that was
// held is asked for as well, and another one in its place is not it.
//
// Rules: R4.8-8, R4.8-13.
func TestAnOldCopyIsGoneOnlyWhenTheWorkThatWasHeldIs(t *testing.T) {
	b := newBench(t)
	b.world.DeleteAfter = time.Hour
	maintained(b)
	evicted := b.evicts(b.directly(nil))
	ref := b.ref(evicted)
	ref.OldWork = evicted.OldWork
	b.pass(time.Minute)
	b.world.Relabelled = map[karmada.BindingKey]bool{appKey("app"): true}
	seen := func() *karmada.Work {
		r := ref
		r.WantWork = true
		return b.look(r).OldWork
	}
	require.Equal(t, evicted.OldWork.UID, seen().UID)
	require.Equal(t, reason.OldCopyGoing, b.release(healthy(ref)).Reason)
	require.NotContains(t, b.world.Copies(appKey("app")), "m2")

	another := *evicted.OldWork
	another.UID = "another"
	ref.OldWork = &another
	require.Nil(t, seen(), "the one that was held is gone, whoever has its name")
	ref.OldWork = evicted.OldWork
	b.pass(2 * time.Hour)
	require.Nil(t, seen())
	require.Equal(t, activities.ActDone, b.release(healthy(ref)).End)
}

// Rules: R4.8-11.
func TestPurgeModeNeverIsNeverReleased(t *testing.T) {
	b := failing(t)
	r := b.evictRequest()
	r.Purge = karmada.PurgeNever
	ref := b.ref(b.evicts(r))
	b.pass(10 * time.Minute)
	require.Equal(t, reason.PurgeNever, b.release(healthy(ref)).Reason)
	require.Empty(t, b.world.Log("release"))
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
	look := func(name string, old karmada.Work) activities.WorkState {
		return b.work(activities.WorkRequest{Cluster: "m1", Key: appKey(name), Work: old})
	}
	require.Equal(t, activities.WorkState{Away: true}, look("app", *out.OldWork), "held, on a cluster that is away")
	b.pass(time.Minute)
	b.pass(time.Minute)
	require.Equal(t, activities.ActDone, b.release(healthy(b.ref(out))).End)
	require.Equal(t, activities.WorkState{Deleting: true, Away: true}, look("app", *out.OldWork), "issued, and owed")
	b.world.SetReady("m1", true)
	require.Equal(t, activities.WorkState{Gone: true}, look("app", *out.OldWork), "paid when the cluster is back")

	other := *out.OldWork
	other.UID = "another"
	b.bind("other")
	require.True(t, look("other", other).Gone, "a Work of another uid is another Work")
	standing := b.world.Copies(appKey("other"))["m1"]
	require.Equal(t, activities.WorkState{Superseded: true}, look("other", standing), "its cluster is a target")
	for _, why := range []string{karmada.TaskReasonDependent, karmada.TaskReasonKept, karmada.TaskReasonNeedsOperator} {
		b.world.Change(appKey("other"), func(x *karmada.Binding) { x.Clusters, x.Tasks = on("m2"), task(why, "parent") })
		require.Equal(t, activities.WorkState{Held: why}, look("other", standing), "its parents hold it")
	}
	b.world.Change(appKey("other"), func(x *karmada.Binding) { x.Tasks = task(karmada.TaskReason, "own") })
	require.Equal(t, activities.WorkState{}, look("other", standing), "its own migration holds it")

	b.world.Change(appKey("other"), func(x *karmada.Binding) {
		x.RequiredBy = []karmada.RequiredBy{{Name: "parent", Clusters: []string{"m1"}}}
	})
	require.Equal(t, activities.WorkState{Superseded: true}, look("other", standing), "Karmada keeps it for a parent that runs there")
	b.world.Change(appKey("other"), func(x *karmada.Binding) { x.RequiredBy = nil })
	require.False(t, look("other", standing).Superseded)
}

// Under Directly Karmada starts the new copy as soon as the old Work is gone, and the preserved
// copy of that Work runs on: nothing is written, neither where the source answers nor behind a fence.
//
// Rules: R4.8-13, R4.8-16.
func TestEvict_PreservedCopyDirectly_WritesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		silent bool
		by     func(*bench)
	}{
		"source answers":                            {by: app(fixtures.Preserves)},
		"source away and fenced":                    {by: app(fixtures.Preserves), silent: true},
		"source answers, the Work alone":            {by: workPreserves},
		"source away and fenced, by the Work alone": {by: workPreserves, silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.does(c.by)
			maintained(b)
			var fence *proof.Fence
			if c.silent {
				b.world.SetReady("m1", false)
				fence = b.vouched()
			}
			evictRow{reason: reason.CopyPreserved}.run(t, b, b.directly(fence))
		})
	}
}

// workPreserves sets the flag in the Work of app on m1 alone.
func workPreserves(b *bench) {
	old := b.world.Copies(appKey("app"))["m1"]
	old.PreservesCopy = true
	b.world.PutWork(old)
}

// Karmada obeys the Work, to which a change of the binding comes late, or no more once the cluster is out of it.
//
// Rules: R4.8-15.
func TestEvict_WorkThatPreservesItsCopyGracefully_IsKept(t *testing.T) {
	b := failing(t)
	workPreserves(b)
	evicted := b.evict()
	require.Equal(t, activities.EvictWritten, evicted.End)
	require.Equal(t, karmada.PurgeNever, b.task().PurgeMode)
	ref := b.ref(evicted)
	ref.OldWork = evicted.OldWork
	b.pass(10 * time.Minute)
	out := b.release(healthy(ref))
	require.Equal(t, reason.PurgeNever, out.Reason)
	require.True(t, out.Look.Preserved)

	ref.OldWork, ref.WantWork = nil, true
	adopted := b.look(ref)
	require.True(t, adopted.Preserved, "a run that takes over reads the Work")
	metadata := *evicted.OldWork
	metadata.PreservesCopy = false
	b.world.PutWork(metadata)
	b.world.Relabelled = map[karmada.BindingKey]bool{appKey("app"): true}
	ref.OldWork = evicted.OldWork
	require.True(t, b.look(ref).OldWork.PreservesCopy, "found by its name, where only metadata is read, it is what it was")
}

// The task says what counted at the eviction. The flag of the Work counts all the same where a task says Gracefully.
//
// Rules: R4.8-15.
func TestRelease_WorkThatPreservesItsCopyUnderAGracefulTask_IsNotReleased(t *testing.T) {
	b := failing(t)
	evicted := b.evict()
	ref := b.ref(evicted)
	require.Equal(t, karmada.PurgeGracefully, b.task().PurgeMode)
	workPreserves(b)
	ref.WantWork = true
	look := b.look(ref)
	require.Equal(t, karmada.PurgeNever, look.Purge)
	ref.OldWork = look.OldWork
	b.pass(10 * time.Minute)
	require.Equal(t, reason.PurgeNever, b.release(healthy(ref)).Reason)
	require.Empty(t, b.world.Log("release"))
}

// The flag counts as it stands at the release, whatever the task says.
//
// Rules: R4.8-15.
func TestRelease_PreservedCopyIsNotReleased(t *testing.T) {
	b := failing(t)
	ref := b.evicted(10 * time.Minute)
	b.does(app(fixtures.Preserves))
	b.pass(time.Minute)
	out := b.release(healthy(ref))
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
	maintained(b)
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
	out := b.evicts(b.withState(nil))
	require.Equal(t, activities.EvictWritten, out.End)
	require.Equal(t, "its state goes along: checkpoint", out.Message)
	require.Equal(t, carried, b.task().State)
	require.Len(t, b.world.Log(""), 1, "one patch")

	require.Equal(t, carried, b.look(b.ref(out)).State, "and every later look sees it in the task")
}

// The rules are frozen: what the binding itself says by now does not count.
//
// Rules: R4.11-1, R4.3-15.
func TestStateRulesAreFrozenWithThePolicy(t *testing.T) {
	b := stateful(t)
	b.does(app(func(x *karmada.Binding) { x.StateRules = []karmada.StateRule{{Label: "later", Path: "{.nothing}"}} }))
	b.evicts(b.withState(nil))
	require.Equal(t, carried, b.task().State)

	page := b.list(activities.ListRequest{Cluster: "m2"})
	require.Empty(t, page.Policies)
	b.bind("other", func(x *karmada.Binding) { x.StateRules = checkpoint })
	b.bind("third", func(x *karmada.Binding) { x.StateRules = nil })
	page = b.list(activities.ListRequest{Cluster: "m1"})
	require.Len(t, page.Policies, 2, "different rules are different policies")
	require.Equal(t, checkpoint, page.Policies[page.Items[0].Policy].State)
}

// Rules: R4.8-10, R4.11-3, R4.11-4, R4.11-5.
func TestWhatCannotTakeItsStateAlongStaysAndNothingIsWritten(t *testing.T) {
	collected := func(status string) func(*bench) {
		return func(b *bench) { b.world.Collect(appKey("app"), "m1", status) }
	}
	for name, c := range map[string]evictRow{
		"the source is silent": {world: notReady("m1"), reason: reason.StateNeedsSource},
		"it is proven dead, and silent still": {
			world: func(b *bench) { b.does(notReady("m1")).pass(time.Minute) },
			ask:   func(b *bench, r *activities.EvictRequest) { r.Fence = b.vouched() }, reason: reason.StateNeedsSource,
		},
		"its status was never collected": {world: collected(""), reason: reason.StateNotCollected},
		"the path finds nothing":         {world: collected(`{"jobStatus":{}}`), reason: reason.StateUnreadable},
		"the path is none": {ask: func(_ *bench, r *activities.EvictRequest) {
			r.Policy.State = []karmada.StateRule{{Label: "x", Path: "{.a"}}
		}, reason: reason.StateUnreadable},
		"Gracefully": {ask: func(_ *bench, r *activities.EvictRequest) { r.Purge = karmada.PurgeGracefully }, reason: reason.StateNotCarried},
	} {
		t.Run(name, func(t *testing.T) {
			b := stateful(t)
			b.does(c.world)
			r := asked(b, b.withState(nil), c.ask)
			evictRow{reason: c.reason}.run(t, b, r)
			check := b.preCheck(func(pre *activities.PreCheckRequest) {
				pre.Items[0] = activities.Checked{Key: appKey("app"), Purge: r.Purge, State: r.Policy.State, Fence: r.Fence}
			})
			require.Equal(t, activities.CheckBlocked, check.End, "and it takes no lease to know")
			require.Equal(t, c.reason, check.Reason)
		})
	}
}

// Rules: R4.8-10, R4.11-3, R4.11-5.
func TestWithoutItsStateItGoesOnlyWhereSomebodySaidSo(t *testing.T) {
	b := stateful(t)
	b.world.Collect(appKey("app"), "m1", "")
	b.acts.Settings.StateMissingOK = true
	out := b.evicts(b.withState(nil))
	require.Equal(t, activities.EvictWritten, out.End)
	require.Contains(t, out.Message, "without its state: its status on m1 was never collected")
	require.Empty(t, b.task().State)

	b = stateful(t)
	b.fail()
	b.pass(2 * time.Minute)
	out = b.evicts(b.withState(b.withoutState()))
	require.Equal(t, activities.EvictWritten, out.End)
	require.Contains(t, out.Message, "without its state: operator jane, without state: power is off")
	require.Equal(t, carried, b.task().State, "should the source come back in time, it goes along after all")
	b.pass(time.Minute)
	require.NotContains(t, b.world.Copies(appKey("app")), "m2", "Karmada waits for the old copy")
	ref := b.ref(out)
	ref.Fence = b.vouched()
	require.Equal(t, reason.StateNeedsSource, b.release(healthy(ref)).Reason, "dead is not enough")
	ref.Fence = b.withoutState()
	require.Equal(t, activities.ActDone, b.release(healthy(ref)).End, "no health is asked for: the new copy has yet to begin")
}

// Karmada takes the labels off as soon as the task goes, so that it stays until the
// new copy needs them no more.
//
// Rules: R4.11-2.
func TestAHoldThatCarriesStateGoesOnlyWhenTheNewCopyIsHealthy(t *testing.T) {
	b := stateful(t)
	b.world.DeleteAfter, b.world.HealthyAfter = 10*time.Second, 2*time.Minute
	out := b.evicts(b.withState(nil))
	release := activities.ReleaseRequest{MigrationRef: b.ref(out)}
	b.pass(time.Second)
	b.pass(time.Second)
	require.Equal(t, reason.OldCopyGoing, b.release(release).Reason)
	b.pass(20 * time.Second)
	now, _ := b.world.Wears(appKey("app"), "m2")
	require.Equal(t, carried, now, "the new copy began with its state")
	require.Equal(t, reason.NotHealthy, b.release(release).Reason)
	b.pass(5 * time.Minute)
	require.Contains(t, b.release(release).Message, "healthy for 0s", "not for long enough")
	release.HealthyFor = time.Hour
	require.Equal(t, activities.ActDone, b.release(release).End)
	now, ever := b.world.Wears(appKey("app"), "m2")
	require.Empty(t, now, "its labels went with the task")
	require.Equal(t, carried, ever)
}

// What the scheduler took out again after a restore carries its state as before.
//
// Rules: R4.11-1.
func TestWhatIsHeldAgainCarriesItsStateAgain(t *testing.T) {
	b := stateful(t)
	ref := b.ref(b.evicts(b.withState(nil)))
	ref.Purge, ref.State = karmada.PurgeDirectly, b.task().State
	b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Tasks = nil })
	require.Equal(t, activities.ActDone, b.holdAgain(ref).End)
	require.Equal(t, carried, b.task().State)
}

// Rules: R4.7-38.
func TestAnUnprovenReleaseNeverTakesTheLastCopy(t *testing.T) {
	b := newBench(t)
	b.world.HealthyAfter = 24 * time.Hour
	b.fail()
	r := b.evictRequest()
	out := b.evicts(r)
	release := func(unproven bool, purge karmada.PurgeMode) activities.ActResult {
		b.world.Change(appKey("app"), func(x *karmada.Binding) {
			if task, at := x.TaskFor("m1"); at >= 0 {
				task.PurgeMode = purge
			}
		})
		return b.release(activities.ReleaseRequest{MigrationRef: b.ref(out), Unproven: unproven})
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
	require.NotContains(t, string(fixtures.Must(json.Marshal(b.evicts(b.withState(nil))))(t)), "jobStatus")
}
