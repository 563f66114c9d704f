package activities_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// moved is a bench whose binding was evicted, placed on m2 and is healthy there.
func moved(t *testing.T) (*bench, activities.MigrationRef) {
	t.Helper()
	b := failing(t)
	ref := b.evicted(2*time.Second, 10*time.Second)
	require.Equal(t, "m2", b.world.Peek(ref.Key).Clusters[0].Name)
	return b, ref
}

// Rules: R4.7-17, R4.7-24, R4.7-27, R4.7-29, R4.7-33, R4.15-11, R4.3-23.
func TestAReleaseLooksOnceMoreBeforeItDropsTheHold(t *testing.T) {
	placedOn := func(clusters ...karmada.TargetCluster) func(*bench, *activities.ReleaseRequest) {
		return func(_ *bench, r *activities.ReleaseRequest) { r.ProvenOn = clusters }
	}
	for name, c := range map[string]struct {
		world  func(*bench)
		ask    func(*bench, *activities.ReleaseRequest)
		reason reason.Reason
		end    activities.ActEnd // as the reason says, where it is empty
	}{
		"placed and healthy":            {reason: reason.Written},
		"the failover observes":         {ask: func(_ *bench, r *activities.ReleaseRequest) { r.Mode = rules.ModeObserve }, reason: reason.ModeObserve},
		"the worker observes by now":    {world: workerObserves, reason: reason.Written},
		"put back":                      {world: app(func(x *karmada.Binding) { x.Clusters = append(x.Clusters, on("m1")...) }), reason: reason.PutBack},
		"placed on paper, not observed": {world: app(func(x *karmada.Binding) { x.Generation++ }), reason: reason.NotPlaced},
		"emptied":                       {world: app(func(x *karmada.Binding) { x.Clusters = nil }), reason: reason.NotPlaced},
		"scaled to 0":                   {world: app(scaledToZero), reason: reason.Written},
		"scaled to 0, not observed":     {world: app(func(x *karmada.Binding) { scaledToZero(x); x.Generation++ }), reason: reason.NoReplicas},
		"scaled to 0 too soon": {
			world: app(scaledToZero), ask: func(_ *bench, r *activities.ReleaseRequest) { r.HealthyFor = 9 * time.Second }, reason: reason.NotHealthy,
		},
		"not healthy any more":        {world: app(unhealthy), reason: reason.NotHealthy},
		"the new target died":         {world: notReady("m2"), reason: reason.TargetNotReady},
		"not healthy for long enough": {ask: func(_ *bench, r *activities.ReleaseRequest) { r.HealthyFor = 9 * time.Second }, reason: reason.NotHealthy},
		"placed elsewhere since":      {ask: placedOn(on("m3")...), reason: reason.NotHealthy},
		"proven where it is":          {ask: placedOn(karmada.TargetCluster{Name: "m2", Replicas: 1}), reason: reason.Written},
		"the source is Ready":         {world: recovered, reason: reason.NotHealthy},
		"the source is Ready, detection is over": {
			world: recovered, ask: func(_ *bench, r *activities.ReleaseRequest) { r.HealthyFor = 90 * time.Second }, reason: reason.Written,
		},
		"its former Work there is being deleted": {world: workOnTarget(true), reason: reason.NotHealthy},
		"no Work of it stands there":             {world: workOnTarget(false), reason: reason.NotHealthy},
		"no Work of it stands there, and unproven will do": {
			world: workOnTarget(false), ask: func(_ *bench, r *activities.ReleaseRequest) { r.Unproven = true }, reason: reason.TargetNotReady,
		},
		"its held Work is of another version": {world: versionedWork("apps/v1beta1"), reason: reason.NotHealthy},
		"its held Work is of its version":     {world: versionedWork("apps/v1"), reason: reason.Written},
		"not understood any more":             {world: app(malformed), reason: reason.Malformed},
		"older than it was before": {
			ask:    func(b *bench, r *activities.ReleaseRequest) { r.Seen = b.world.Peek(r.Key).ResourceVersion + "0" },
			reason: reason.StaleRead,
		},
		"as old as it was before": {
			ask: func(b *bench, r *activities.ReleaseRequest) { r.Seen = b.world.Peek(r.Key).ResourceVersion }, reason: reason.Written,
		},
		"the source is gone": {
			world: func(b *bench) { b.world.DeleteCluster("m1") }, ask: func(_ *bench, r *activities.ReleaseRequest) { r.HealthyFor = 0 },
			reason: reason.Written,
		},
		"left to an operator": {world: app(func(x *karmada.Binding) { x.Tasks[0].Reason = karmada.TaskReasonKept }), reason: reason.ForeignTask},
		"released already":    {world: app(func(x *karmada.Binding) { x.Tasks = nil }), end: activities.ActAlready},
		"another binding of that name": {
			ask: func(_ *bench, r *activities.ReleaseRequest) { r.UID = "older" }, reason: reason.BindingGone, end: activities.ActGone,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, ref := moved(t)
			b.does(c.world)
			out := b.release(asked(b, activities.ReleaseRequest{MigrationRef: ref, HealthyFor: time.Minute}, c.ask))
			require.Equal(t, cmp.Or(c.end, endOf(c.reason)), out.End, "%+v", out)
			require.Equal(t, c.reason, out.Reason)
			require.Equal(t, c.reason == reason.Written, len(b.world.Log("release")) == 1)
		})
	}
}

// workOnTarget has the new copy's Work on m2 be a former one that is being deleted, or be none. Karmada reports the copy as
// it was.
func workOnTarget(deleted bool) func(*bench) {
	return func(b *bench) {
		work, _ := b.world.StandingWork(appKey("app"), "m2")
		b.world.DropWork(work.Namespace, work.Name)
		if work.Deleting = true; deleted {
			b.world.PutWork(work)
		}
	}
}

// versionedWork has the manifest in the Work of the old copy be of a version of its kind.
func versionedWork(version string) func(*bench) {
	return func(b *bench) {
		work, _ := b.world.StandingWork(appKey("app"), "m1")
		work.APIVersion = version
		b.world.PutWork(work)
	}
}

// A Service keeps its old copy for as long as that of a workload of its policy is held, or has yet to leave a cluster
// that answers. An operator releases it all the same. At a recovery it goes back to those that stay.
//
// Rules: R4.7-61, R4.9-17.
func TestRelease_WorkloadOfItsPolicyIsThere_IsRefused(t *testing.T) {
	answers := recovered // its taints stand
	untainted := func(b *bench) {
		answers(b)
		b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Taints, c.Added = nil, nil })
	}
	drains := func(selector string) func(*bench) {
		return func(b *bench) {
			untainted(b)
			b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Drain = &karmada.Drain{Selector: selector} })
			b.world.PutTaint("m1", corev1.Taint{Key: karmada.DrainTaintKey, Effect: corev1.TaintEffectNoExecute})
			b.world.Change(appKey("web"), func(x *karmada.Binding) { x.WorkloadLabels = map[string]string{"tier": "web"} })
		}
	}
	soft := func(moves bool) func(*bench) {
		return func(b *bench) {
			untainted(b)
			b.world.PutTaint("m1", corev1.Taint{Key: "slow", Effect: karmada.EffectPreferNoExecute})
			b.world.Change(appKey("web"), func(x *karmada.Binding) { x.HasClusterFailover = moves })
		}
	}
	beside := func(since time.Duration) func(*bench) { // another workload was scheduled elsewhere
		return func(b *bench) {
			untainted(b)
			web, at := b.world.Peek(appKey("web")), b.now.Add(since)
			b.bind("api", func(x *karmada.Binding) {
				x.Annotations, x.Workload, x.Clusters, x.Status.LastScheduled = web.Annotations, true, on("m2"), &at
			})
		}
	}
	web := func(change func(*karmada.Binding)) func(*bench) {
		return func(b *bench) { answers(b); b.world.Change(appKey("web"), change) }
	}
	for name, c := range map[string]struct {
		world     func(b *bench)
		on        string // where the workload runs
		ordered   bool
		recovered bool // so its failover says
		reason    reason.Reason
	}{
		"it is held":              {on: "m2", world: func(b *bench) { b.held(appKey("web"), karmada.TaskReason, "") }, reason: reason.HeldForParents},
		"it is held, on an order": {on: "m2", world: func(b *bench) { b.held(appKey("web"), karmada.TaskReason, "") }, ordered: true, reason: reason.Written},
		"it has moved":            {on: "m2", reason: reason.Written},
		"it is there still, and the cluster is dead": {on: "m1", reason: reason.Written},
		"it is there still":                          {on: "m1", world: answers, reason: reason.HeldForParents},
		"it is there still, on an order":             {on: "m1", world: answers, ordered: true, reason: reason.Written},
		"it has moved, and the cluster answers":      {on: "m2", world: answers, reason: reason.Written},
		"it stays: it tolerates the taint": {on: "m1", reason: reason.Written, world: web(func(x *karmada.Binding) {
			x.Placement.ClusterTolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		})},
		"it stays: it is opted out": {on: "m1", reason: reason.Written, world: web(func(x *karmada.Binding) {
			x.Annotations[karmada.AnnotationEnabled] = "false"
		})},
		"a soft taint moves it":               {on: "m1", world: soft(true), reason: reason.HeldForParents},
		"a soft taint does not move it":       {on: "m1", world: soft(false), reason: reason.Written},
		"a drain selects it":                  {on: "m1", world: drains("tier=web"), reason: reason.HeldForParents},
		"a drain does not select it":          {on: "m1", world: drains("tier=db"), reason: reason.Written},
		"it goes: it is deleted":              {on: "m1", reason: reason.Written, world: web(func(x *karmada.Binding) { x.Deleting = true })},
		"at a recovery, tainted still":        {on: "m1", world: answers, recovered: true, reason: reason.HeldForParents},
		"at a recovery it stays":              {on: "m1", world: untainted, recovered: true, reason: reason.ClusterRecovered},
		"at a recovery it stays, on an order": {on: "m1", world: untainted, recovered: true, ordered: true, reason: reason.Written},
		"at a recovery it has moved":          {on: "m2", world: untainted, recovered: true, reason: reason.Written},
		"at a recovery it is on its way":      {on: "m2", world: func(b *bench) { untainted(b); b.held(appKey("web"), karmada.TaskReason, "") }, recovered: true, reason: reason.HeldForParents},
		"at a recovery it is deleted": {on: "m1", recovered: true, reason: reason.Written, world: func(b *bench) {
			untainted(b)
			b.world.Change(appKey("web"), func(x *karmada.Binding) { x.Deleting = true })
		}},
		"at a recovery one stays, one has moved":       {on: "m1", recovered: true, reason: reason.Written, world: beside(time.Second)},
		"at a recovery one stays, one was never there": {on: "m1", recovered: true, reason: reason.ClusterRecovered, world: beside(-time.Second)},
	} {
		ask := func(t *testing.T, cached bool) {
			b, ref := moved(t)
			if cached {
				b.acts.Cached = cacheOf{b: b}
			}
			ofPolicy := func() map[string]string {
				return map[string]string{karmada.AnnotationPolicyNamespace: "shop", karmada.AnnotationPolicyName: "cart"}
			}
			b.world.Change(ref.Key, func(x *karmada.Binding) {
				x.Resource.APIVersion, x.Resource.Kind, x.Annotations = "v1", "Service", ofPolicy()
				x.Replicas, x.Workload = 0, false
			})
			b.bind("web", func(x *karmada.Binding) {
				x.Annotations, x.Workload, x.Clusters = ofPolicy(), true, on(c.on)
			})
			b.does(c.world)
			r := healthy(ref)
			r.Ordered, r.Recovered, r.QueuedAt = c.ordered, c.recovered, b.now
			out := b.release(r)
			require.Equal(t, c.reason, out.Reason, "%+v", out)
			require.Equal(t, c.reason == reason.HeldForParents, out.Message == "waits for 1 workload of PropagationPolicy shop/cart on m1, shop/web first", out.Message)
		}
		t.Run(name, func(t *testing.T) { ask(t, false) })
		t.Run(name+", by the cache", func(t *testing.T) { ask(t, true) })
	}
}

// scaledToZero: the scheduler has seen 0 replicas, and dropped every cluster.
func scaledToZero(x *karmada.Binding) { x.Clusters, x.Replicas, x.HasRequirements = nil, 0, true }

func unhealthy(x *karmada.Binding) {
	for i := range x.Status.Aggregated {
		x.Status.Aggregated[i].Health = karmada.HealthUnhealthy
	}
}

// unplaced is a bench whose binding was evicted and found no fit.
func unplaced(t *testing.T) (*bench, activities.MigrationRef) {
	t.Helper()
	b := failing(t)
	ref := b.evicted()
	b.world.PutTaint("m2", corev1.Taint{Key: "cordon", Effect: corev1.TaintEffectNoSchedule})
	b.pass(2 * time.Second)
	require.Empty(t, b.world.Peek(ref.Key).Clusters)
	b.world.SetReady("m1", true)
	return b, ref
}

// Rules: R4.9-21.
func TestARestorePutsBackInOneWriteWhatWasTakenOut(t *testing.T) {
	b, ref := unplaced(t)
	out := b.restore(activities.RestoreRequest{MigrationRef: ref})
	require.Equal(t, activities.ActDone, out.End, "%+v", out)
	after := b.world.Peek(ref.Key)
	require.Equal(t, on("m1"), after.Clusters)
	require.Empty(t, after.Tasks)
	require.Equal(t, activities.ActAlready, b.restore(activities.RestoreRequest{MigrationRef: ref}).End)
	require.Len(t, b.world.Log("restore"), 1)
}

// Rules: R4.9-19, R4.9-49.
func TestARestoreIsRefusedWhereItWouldUndoAnothersWork(t *testing.T) {
	for name, c := range map[string]struct {
		from   func(*testing.T) (*bench, activities.MigrationRef)
		world  func(*bench)
		placed bool // the order says: even if it is placed
		reason reason.Reason
	}{
		"no answer of the scheduler": {from: unplaced, world: app(func(x *karmada.Binding) { x.Status.Scheduled = nil }), reason: reason.RestoreUnanswered},
		"placed":                     {from: moved, world: recovered, reason: reason.Placed},
		"left to an operator": {
			from: moved, world: app(func(x *karmada.Binding) { x.Tasks[0].Reason = karmada.TaskReasonNeedsOperator }), placed: true,
			reason: reason.ForeignTask,
		},
		"released":                {from: moved, world: app(func(x *karmada.Binding) { x.Tasks = nil }), reason: reason.NotTargeting},
		"the cluster is gone":     {from: unplaced, world: func(b *bench) { b.world.DeleteCluster("m1") }, reason: reason.ClusterGone},
		"the cluster fails again": {from: unplaced, world: notReady("m1"), reason: reason.ConditionsMatch},
		"an operator tainted it":  {from: unplaced, world: maintained, reason: reason.ConditionsMatch},
	} {
		t.Run(name, func(t *testing.T) {
			b, ref := c.from(t)
			b.does(recovered, c.world)
			out := b.restore(activities.RestoreRequest{MigrationRef: ref, EvenIfPlaced: c.placed})
			require.Equal(t, activities.ActRefused, out.End)
			require.Equal(t, c.reason, out.Reason)
			require.Empty(t, b.world.Log("restore"))
		})
	}
	b, ref := unplaced(t)
	maintained(b)
	out := b.restore(activities.RestoreRequest{MigrationRef: ref, EvenIfFailing: true})
	require.Equal(t, activities.ActDone, out.End, "an operator who cancels has his way")
}

// Rules: R4.9-20.
func TestAnUnchangedNoIsAnAnswerAfterRestoreWait(t *testing.T) {
	b := newBench(t)
	b.world.ScheduleAfter = time.Hour
	b.fail()
	ref := b.evicted()
	b.world.SetReady("m1", true)
	ref.Generation = 99 // the scheduler has not seen it
	b.world.Change(ref.Key, func(x *karmada.Binding) {
		x.Tasks[0].CreationTimestamp = nil
		x.Status.Scheduled = &karmada.Condition{Status: corev1.ConditionFalse, Reason: "NoClusterFit", LastTransition: b.now.Add(-time.Hour)}
	})
	require.False(t, b.look(ref).Answered.OK)
	b.now = b.now.Add(world.Terms().RestoreWait)
	require.True(t, b.look(ref).Answered.OK)
}

// Rules: R4.9-20.
func TestWhatTheSchedulerIgnoresIsAnsweredAfterRestoreWait(t *testing.T) {
	b := newBench(t)
	b.world.ScheduleAfter = time.Hour
	b.fail()
	ref := b.evicted()
	b.world.Change(ref.Key, func(x *karmada.Binding) { x.SchedulingSuspended = true })
	require.False(t, b.look(ref).Answered.OK, "an answer may be on its way")
	b.now = b.now.Add(world.Terms().RestoreWait)
	require.True(t, b.look(ref).Answered.OK)
	require.NotEmpty(t, b.look(ref).Unobserved)
	b.world.Change(ref.Key, func(x *karmada.Binding) { x.SchedulingSuspended = false })
	require.False(t, b.look(ref).Answered.OK)
}

// Rules: R4.9-25.
func TestAHoldGoesBackOnlyWhereNothingElseHolds(t *testing.T) {
	b, ref := unplaced(t)
	require.Equal(t, activities.ActAlready, b.holdAgain(ref).End)
	b.world.Change(ref.Key, func(x *karmada.Binding) { x.Tasks = nil })
	require.Equal(t, activities.ActDone, b.holdAgain(ref).End)
	task := b.world.Peek(ref.Key).Tasks[0]
	require.True(t, task.IsLifeboat() && *task.SuppressDeletion)
	require.EqualValues(t, 2, *task.Replicas)
	b.world.Change(ref.Key, func(x *karmada.Binding) { x.Tasks, x.Clusters = nil, on("m1") })
	require.Equal(t, activities.ActRefused, b.holdAgain(ref).End)
	require.Len(t, b.world.Log("hold"), 1)
}

// Rules: R4.9-49.
func TestAMarkedTaskIsLeftAloneByEveryLaterWrite(t *testing.T) {
	b, ref := moved(t)
	mark := activities.MarkRequest{MigrationRef: ref, Reason: karmada.TaskReasonNeedsOperator}
	for _, end := range []activities.ActEnd{activities.ActDone, activities.ActAlready} {
		require.Equal(t, end, must[activities.ActResult](b, activities.NameMarkTask, mark).End)
	}
	require.Equal(t, karmada.TaskReasonNeedsOperator, b.look(ref).TaskNote)
	require.Equal(t, reason.ForeignTask, b.release(healthy(ref)).Reason)
	require.Empty(t, b.orphans("m1").Orphans)
}

// The release judges as the look does, and by what the Work says then.
//
// Rules: R4.7-23, R4.7-33.
func TestObserve_OverridePolicyGivesFewerReplicas_CountsByTheWork(t *testing.T) {
	b, ref := moved(t)
	one := int64(1)
	b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Item("m2").Replicas, x.Item("m2").ReadyReplicas = &one, &one })
	require.False(t, b.look(ref).Health.OK)
	require.Equal(t, reason.NotHealthy, b.release(healthy(ref)).Reason)
	b.world.Overridden = map[karmada.BindingKey]int64{appKey("app"): 1}
	require.True(t, b.look(ref).Health.OK)
	require.Equal(t, activities.ActDone, b.release(healthy(ref)).End)
}

// Rules: R4.1-45, R4.9-17.
func TestObserve_CordonOfLifeboat_KeepsAwayWhileItsRuleMatches(t *testing.T) {
	b, ref := moved(t)
	b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Placement.SpreadConstraints = nil })
	require.True(t, b.look(ref).StraightBack, "the taints that stand go with the recovery")
	cordon := downWhile("disk", corev1.ConditionFalse)
	cordon.Taints[0] = karmada.RuleTaint{Key: "disk", Effect: corev1.TaintEffectNoSchedule}
	b.world.AddRule(cordon)
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) {
		c.Taints = append(c.Taints, corev1.Taint{Key: "disk", Effect: corev1.TaintEffectNoSchedule})
		c.Added = append(c.Added, karmada.AddedTaint{Key: "disk", Effect: corev1.TaintEffectNoSchedule, Rule: "disk"})
	})
	require.False(t, b.look(ref).StraightBack)
	recovered(b)
	require.True(t, b.look(ref).StraightBack)
}

func TestAnObservationSaysWhereTheMoveStands(t *testing.T) {
	b, ref := moved(t)
	ref.WantWork = true
	o := b.look(ref)
	require.True(t, o.Held && o.Placed.OK && o.Health.OK && o.Observed)
	require.False(t, o.Targeted || o.SourceGone || o.SourceReady)
	require.Equal(t, []string{"m2"}, o.Targets)
	require.NotNil(t, o.OldWork, "the held copy's Work still stands")
	b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Generation++ })
	require.False(t, b.look(ref).Observed)
	b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Unclaimed = true })
	require.True(t, b.look(ref).Observed, "no scheduler looks at it any more")
	b.world.SetReady("m1", true)
	require.True(t, b.look(ref).SourceReady)
	b.world.DeleteCluster("m1")
	require.True(t, b.look(ref).SourceGone)
	ref.UID = "older"
	require.True(t, b.look(ref).Gone)
}

// Rules: R4.9-45, R4.9-46.
func TestOnlyTasksWhoseOwnerDoesNotRunAreOrphans(t *testing.T) {
	b, _ := moved(t)
	page := b.orphans("m1")
	require.Len(t, page.Orphans, 1)
	require.Equal(t, "owner-1", page.Orphans[0].Owner)
	b.world.SetRunning("owner-1", true)
	page = b.orphans("m1")
	require.Empty(t, page.Orphans)
	require.Len(t, page.Running, 1)
	require.Empty(t, b.orphans("m2").Running)
}

// Rules: R4.7-59.
func TestRelease_SourceAnswers_SeesTheOldWorkGone(t *testing.T) {
	for name, answers := range map[string]bool{"source answers": true, "source is dead": false} {
		t.Run(name, func(t *testing.T) {
			b, ref := moved(t)
			ref.Purge = karmada.PurgeGracefully
			b.world.SetReady("m1", answers)
			b.pass(time.Second)
			standing := b.world.Peek(ref.Key)
			old, err := b.world.WorkOf(t.Context(), &standing, "m1")
			require.NoError(t, err)
			ref.OldWork = &old
			out := b.release(healthy(ref))
			require.Equal(t, activities.ActDone, out.End, "%s: %s", out.Reason, out.Message)
			require.Equal(t, answers, out.Purged)
		})
	}
}

// Rules: R4.9-29, R4.9-30, R4.9-31.
func TestAPutBackLooksWhetherTheFormerClusterCanTakeOver(t *testing.T) {
	work := func(r *activities.RestoreRequest) karmada.Work {
		return karmada.Work{Namespace: "karmada-es-m1", Name: "shop-app", Cluster: "m1", UID: r.OldWork.UID, Deleting: true}
	}
	for name, c := range map[string]struct {
		world  func(*bench)
		ask    func(*bench, *activities.RestoreRequest)
		reason reason.Reason // PutBackRefused, where it is empty
	}{
		"it can":                               {reason: reason.Written},
		"not Ready":                            {world: notReady("m1")},
		"Lifeboat's taint does not go with it": {ask: func(_ *bench, r *activities.RestoreRequest) { r.TaintsGo, r.Stopped = false, false }},
		"a rule asks for Lifeboat's taint again": {
			world: func(b *bench) { b.world.AddRule(downWhile("quick", corev1.ConditionTrue)) },
			ask:   func(_ *bench, r *activities.RestoreRequest) { r.Stopped = false },
		},
		"another hand's taint":        {world: maintained},
		"its old Work is gone":        {world: func(b *bench) { b.world.DropWork("karmada-es-m1", "shop-app") }},
		"its old Work is going":       {ask: func(b *bench, r *activities.RestoreRequest) { b.world.PutWork(work(r)) }},
		"another Work took its place": {ask: func(_ *bench, r *activities.RestoreRequest) { r.OldWork.UID = "older" }},
		"Directly":                    {world: app(func(x *karmada.Binding) { x.Tasks[0].PurgeMode = karmada.PurgeDirectly })},
		"nobody knows where it was": {
			world: app(func(x *karmada.Binding) { x.Tasks[0].ClustersBeforeFailover = nil }),
			ask:   func(_ *bench, r *activities.RestoreRequest) { r.Baseline = proof.Baseline{} },
		},
		"the task alone knows where it was": {
			ask: func(_ *bench, r *activities.RestoreRequest) { r.Baseline = proof.Baseline{} }, reason: reason.Written,
		},
		"another patch of the scheduler is on its way": {
			world: app(func(x *karmada.Binding) { x.Generation += 2 }), ask: func(_ *bench, r *activities.RestoreRequest) { r.Generation = 99 },
			reason: reason.RestoreUnanswered,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := failing(t)
			evicted := b.evict()
			r := activities.RestoreRequest{MigrationRef: b.ref(evicted), PutBack: true, EvenIfFailing: true, TaintsGo: true, Stopped: true}
			r.OldWork = evicted.OldWork
			b.pass(20 * time.Second)
			b.does(recovered, c.world)
			out := b.restore(asked(b, r, c.ask))
			require.Equal(t, cmp.Or(c.reason, reason.PutBackRefused), out.Reason, "%+v", out)
			after := b.world.Peek(r.Key)
			if c.reason != reason.Written {
				require.Empty(t, b.world.Log("restore"))
				require.Equal(t, "m2", after.Clusters[0].Name)
				return
			}
			require.Equal(t, on("m1"), after.Clusters, "one write: it is back and the new one is out")
			require.Empty(t, after.Tasks)
			require.Len(t, b.world.Log("restore"), 1)
		})
	}
}

func TestAReleaseOnAnOperatorsOrderNeverTakesTheLastCopy(t *testing.T) {
	b, ref := unplaced(t)
	require.Equal(t, activities.ActRefused, b.release(activities.ReleaseRequest{MigrationRef: ref, Ordered: true}).End)
	b.world.Change(ref.Key, scaledToZero)
	require.Equal(t, activities.ActRefused, b.release(activities.ReleaseRequest{MigrationRef: ref, Ordered: true}).End, "nothing fits")
	require.Len(t, b.world.Peek(ref.Key).Tasks, 1)
	for _, now := range []func(*karmada.Binding){func(*karmada.Binding) {}, scaledToZero} {
		b, ref = moved(t)
		b.world.Change(ref.Key, now)
		require.Equal(t, activities.ActDone, b.release(activities.ReleaseRequest{MigrationRef: ref, Ordered: true}).End)
	}
}

// Rules: R4.16-10.
func TestEvents_EvictedBlockedRestored_NameTheWorkload(t *testing.T) {
	b := newBench(t)
	var raised events
	b.acts.Events = &raised
	b.fail()
	b.world.SetReady("m2", false)
	b.world.SetReady("m3", false)
	b.check("app")
	b.world.SetReady("m2", true)
	b.evict()
	want := b.world.Peek(appKey("app")).Resource
	got := map[string]karmada.Resource{}
	for _, e := range raised {
		if e.Binding != nil {
			require.NotNil(t, e.Workload, e.Reason)
			got[e.Reason] = *e.Workload
		}
	}
	require.Equal(t, map[string]karmada.Resource{"EvictWorkloadFromClusterBlocked": want, "EvictWorkloadFromClusterSucceed": want}, got)
}

// One that has a target, and to which Karmada dispatches nothing, is taken back whole: without the hold the scheduler might
// prefer the new target. Where the old copy cannot take over, the new one is all there is.
//
// Rules: R4.9-12, R4.9-21.
func TestRestore_OfWhatIsNotDispatched_TakesTheNewTargetAway(t *testing.T) {
	for name, c := range map[string]struct {
		world func(*bench)
		work  types.UID
		on    []string
	}{
		"the old copy stands":         {world: recovered, on: []string{"m1"}},
		"the old copy is another one": {world: recovered, work: "another", on: []string{"m2", "m1"}},
		"the cluster is dead":         {on: []string{"m2", "m1"}},
	} {
		t.Run(name, func(t *testing.T) {
			b, ref := moved(t)
			b.world.Change(ref.Key, func(x *karmada.Binding) { x.DispatchingSuspended = true })
			b.does(c.world)
			if c.work != "" {
				ref.OldWork = &karmada.Work{UID: c.work}
			}
			out := b.restore(activities.RestoreRequest{MigrationRef: ref, EvenIfFailing: true})
			require.Equal(t, reason.Written, out.Reason, out.Message)
			require.ElementsMatch(t, c.on, karmada.TargetNames(b.world.Peek(ref.Key).Clusters))
		})
	}
}
