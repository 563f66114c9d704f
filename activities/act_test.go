package activities_test

import (
	"context"
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
)

// moved is a bench whose binding was evicted, placed on m2 and is healthy there.
func moved(t *testing.T) (*bench, activities.MigrationRef) {
	t.Helper()
	b := newBench(t)
	b.fail()
	ref := b.ref(b.evict())
	b.pass(2 * time.Second)
	b.pass(10 * time.Second)
	require.Equal(t, "m2", b.world.Peek(ref.Key).Clusters[0].Name)
	return b, ref
}

// Rules: R4.7-17, R4.7-24, R4.7-27, R4.7-29, R4.7-33, R4.15-11, R4.3-23.
func TestAReleaseLooksOnceMoreBeforeItDropsTheHold(t *testing.T) {
	const well = time.Minute
	for name, c := range map[string]struct {
		arrange func(*bench, *activities.ReleaseRequest)
		end     activities.ActEnd
		reason  reason.Reason
	}{
		"placed and healthy": {arrange: func(*bench, *activities.ReleaseRequest) {}, end: activities.ActDone, reason: reason.Written},
		"the failover observes": {
			arrange: func(_ *bench, r *activities.ReleaseRequest) { r.Mode = rules.ModeObserve }, end: activities.ActRefused, reason: reason.ModeObserve,
		},
		"the worker observes by now": {
			arrange: func(b *bench, _ *activities.ReleaseRequest) { b.acts.Settings.Terms.Mode = rules.ModeObserve },
			end:     activities.ActDone, reason: reason.Written,
		},
		"put back": {
			arrange: func(b *bench, r *activities.ReleaseRequest) {
				b.world.Change(r.Key, func(x *karmada.Binding) { x.Clusters = append(x.Clusters, karmada.TargetCluster{Name: "m1"}) })
			}, end: activities.ActRefused, reason: reason.PutBack,
		},
		"placed on paper, not observed": {
			arrange: func(b *bench, r *activities.ReleaseRequest) {
				b.world.Change(r.Key, func(x *karmada.Binding) { x.Generation++ })
			}, end: activities.ActRefused, reason: reason.NotPlaced,
		},
		"emptied": {
			arrange: func(b *bench, r *activities.ReleaseRequest) {
				b.world.Change(r.Key, func(x *karmada.Binding) { x.Clusters = nil })
			}, end: activities.ActRefused, reason: reason.NotPlaced,
		},
		"not healthy any more": {
			arrange: func(b *bench, r *activities.ReleaseRequest) {
				b.world.Change(r.Key, func(x *karmada.Binding) {
					for i := range x.Status.Aggregated {
						x.Status.Aggregated[i].Health = karmada.HealthUnhealthy
					}
				})
			}, end: activities.ActRefused, reason: reason.NotHealthy,
		},
		"the new target died while its copy is healthy on paper": {
			arrange: func(b *bench, _ *activities.ReleaseRequest) { b.world.SetReady("m2", false) },
			end:     activities.ActRefused, reason: reason.TargetNotReady,
		},
		"not healthy for long enough": {
			arrange: func(_ *bench, r *activities.ReleaseRequest) { r.HealthyFor = 9 * time.Second }, end: activities.ActRefused, reason: reason.NotHealthy,
		},
		"placed elsewhere since": {
			arrange: func(_ *bench, r *activities.ReleaseRequest) {
				r.ProvenOn = []karmada.TargetCluster{{Name: "m3", Replicas: 2}}
			},
			end: activities.ActRefused, reason: reason.NotHealthy,
		},
		"proven where it is": {
			arrange: func(_ *bench, r *activities.ReleaseRequest) {
				r.ProvenOn = []karmada.TargetCluster{{Name: "m2", Replicas: 1}}
			},
			end: activities.ActDone, reason: reason.Written,
		},
		"the source is Ready: health must outlast detection": {
			arrange: func(b *bench, _ *activities.ReleaseRequest) { b.world.SetReady("m1", true) }, end: activities.ActRefused, reason: reason.NotHealthy,
		},
		"the source is Ready, and detection is over": {
			arrange: func(b *bench, r *activities.ReleaseRequest) {
				b.world.SetReady("m1", true)
				r.HealthyFor = 90 * time.Second
			}, end: activities.ActDone, reason: reason.Written,
		},
		"not understood any more": {
			arrange: func(b *bench, r *activities.ReleaseRequest) {
				b.world.Change(r.Key, func(x *karmada.Binding) { x.Malformed = "spec.placement: a number" })
			}, end: activities.ActRefused, reason: reason.Malformed,
		},
		"older than it was before": {
			arrange: func(b *bench, r *activities.ReleaseRequest) { r.Seen = b.world.Peek(r.Key).ResourceVersion + "0" },
			end:     activities.ActRefused, reason: reason.StaleRead,
		},
		"as old as it was before": {
			arrange: func(b *bench, r *activities.ReleaseRequest) { r.Seen = b.world.Peek(r.Key).ResourceVersion },
			end:     activities.ActDone, reason: reason.Written,
		},
		"the source is gone": {
			arrange: func(b *bench, r *activities.ReleaseRequest) {
				b.world.DeleteCluster("m1")
				r.HealthyFor = 0
			}, end: activities.ActDone, reason: reason.Written,
		},
		"left to an operator": {
			arrange: func(b *bench, r *activities.ReleaseRequest) {
				b.world.Change(r.Key, func(x *karmada.Binding) { x.Tasks[0].Reason = karmada.TaskReasonKept })
			}, end: activities.ActRefused, reason: reason.ForeignTask,
		},
		"released already": {
			arrange: func(b *bench, r *activities.ReleaseRequest) {
				b.world.Change(r.Key, func(x *karmada.Binding) { x.Tasks = nil })
			}, end: activities.ActAlready,
		},
		"another binding of that name": {
			arrange: func(_ *bench, r *activities.ReleaseRequest) { r.UID = "older" }, end: activities.ActGone, reason: reason.BindingGone,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, ref := moved(t)
			r := activities.ReleaseRequest{MigrationRef: ref, HealthyFor: well}
			c.arrange(b, &r)
			out := must[activities.ActResult](b, activities.NameRelease, r)
			require.Equal(t, c.end, out.End, "%+v", out)
			require.Equal(t, c.reason, out.Reason)
			require.Equal(t, c.end == activities.ActDone, len(b.world.Log("release")) == 1)
		})
	}
}

// unplaced is a bench whose binding was evicted and found no fit.
func unplaced(t *testing.T) (*bench, activities.MigrationRef) {
	t.Helper()
	b := newBench(t)
	b.fail()
	ref := b.ref(b.evict())
	b.world.PutTaint("m2", corev1.Taint{Key: "cordon", Effect: corev1.TaintEffectNoSchedule})
	b.pass(2 * time.Second)
	require.Empty(t, b.world.Peek(ref.Key).Clusters)
	b.world.SetReady("m1", true)
	return b, ref
}

// Rules: R4.9-19.
func TestARestoreWaitsForTheSchedulersAnswer(t *testing.T) {
	b := newBench(t)
	b.fail()
	ref := b.ref(b.evict())
	b.world.SetReady("m1", true)
	b.world.Change(ref.Key, func(x *karmada.Binding) { x.Status.Scheduled = nil })
	out := must[activities.ActResult](b, activities.NameRestore, activities.RestoreRequest{MigrationRef: ref})
	require.Equal(t, activities.ActRefused, out.End)
	require.Equal(t, reason.RestoreUnanswered, out.Reason)
	require.Empty(t, b.world.Log("restore"))
}

// Rules: R4.9-21.
func TestARestorePutsBackInOneWriteWhatWasTakenOut(t *testing.T) {
	b, ref := unplaced(t)
	out := must[activities.ActResult](b, activities.NameRestore, activities.RestoreRequest{MigrationRef: ref})
	require.Equal(t, activities.ActDone, out.End, "%+v", out)
	after := b.world.Peek(ref.Key)
	require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 2}}, after.Clusters)
	require.Empty(t, after.Tasks)
	require.Equal(t, activities.ActAlready, must[activities.ActResult](b, activities.NameRestore, activities.RestoreRequest{MigrationRef: ref}).End)
	require.Len(t, b.world.Log("restore"), 1)
}

// Rules: R4.9-19, R4.9-49.
func TestARestoreIsRefusedWhereItWouldUndoAnothersWork(t *testing.T) {
	b, ref := moved(t)
	b.world.SetReady("m1", true)
	out := must[activities.ActResult](b, activities.NameRestore, activities.RestoreRequest{MigrationRef: ref})
	require.Equal(t, reason.Placed, out.Reason)
	b.world.Change(ref.Key, func(x *karmada.Binding) { x.Tasks[0].Reason = karmada.TaskReasonNeedsOperator })
	out = must[activities.ActResult](b, activities.NameRestore, activities.RestoreRequest{MigrationRef: ref, EvenIfPlaced: true})
	require.Equal(t, reason.ForeignTask, out.Reason)
	b.world.Change(ref.Key, func(x *karmada.Binding) { x.Tasks = nil })
	out = must[activities.ActResult](b, activities.NameRestore, activities.RestoreRequest{MigrationRef: ref})
	require.Equal(t, reason.NotTargeting, out.Reason)
	gone, ref := unplaced(t)
	gone.world.DeleteCluster("m1")
	out = must[activities.ActResult](gone, activities.NameRestore, activities.RestoreRequest{MigrationRef: ref})
	require.Equal(t, reason.ClusterGone, out.Reason)
	require.Empty(t, append(b.world.Log("restore"), gone.world.Log("restore")...))
}

// Rules: R4.9-20.
func TestAnUnchangedNoIsAnAnswerAfterRestoreWait(t *testing.T) {
	b := newBench(t)
	b.world.ScheduleAfter = time.Hour
	b.fail()
	ref := b.ref(b.evict())
	b.world.SetReady("m1", true)
	ref.Generation = 99 // the scheduler has not seen it
	b.world.Change(ref.Key, func(x *karmada.Binding) {
		x.Tasks[0].CreationTimestamp = nil
		x.Status.Scheduled = &karmada.Condition{Status: corev1.ConditionFalse, Reason: "NoClusterFit", LastTransition: b.now.Add(-time.Hour)}
	})
	require.False(t, must[activities.Observation](b, activities.NameObserve, ref).Answered.OK)
	b.now = b.now.Add(world.Terms().RestoreWait)
	require.True(t, must[activities.Observation](b, activities.NameObserve, ref).Answered.OK)
}

// Rules: R4.9-25.
func TestAHoldGoesBackOnlyWhereNothingElseHolds(t *testing.T) {
	b, ref := unplaced(t)
	require.Equal(t, activities.ActAlready, must[activities.ActResult](b, activities.NameHoldAgain, ref).End)
	b.world.Change(ref.Key, func(x *karmada.Binding) { x.Tasks = nil })
	require.Equal(t, activities.ActDone, must[activities.ActResult](b, activities.NameHoldAgain, ref).End)
	task := b.world.Peek(ref.Key).Tasks[0]
	require.True(t, task.Ours() && *task.SuppressDeletion)
	require.EqualValues(t, 2, *task.Replicas)
	b.world.Change(ref.Key, func(x *karmada.Binding) {
		x.Tasks, x.Clusters = nil, []karmada.TargetCluster{{Name: "m1", Replicas: 2}}
	})
	require.Equal(t, activities.ActRefused, must[activities.ActResult](b, activities.NameHoldAgain, ref).End)
	require.Len(t, b.world.Log("hold"), 1)
}

// Rules: R4.9-49.
func TestAMarkedTaskIsLeftAloneByEveryLaterWrite(t *testing.T) {
	b, ref := moved(t)
	mark := activities.MarkRequest{MigrationRef: ref, Reason: karmada.TaskReasonNeedsOperator}
	require.Equal(t, activities.ActDone, must[activities.ActResult](b, activities.NameMarkTask, mark).End)
	require.Equal(t, activities.ActAlready, must[activities.ActResult](b, activities.NameMarkTask, mark).End)
	require.Equal(t, karmada.TaskReasonNeedsOperator, must[activities.Observation](b, activities.NameObserve, ref).TaskNote)
	require.Equal(t, reason.ForeignTask, must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref, HealthyFor: time.Hour}).Reason)
	require.Empty(t, must[activities.OrphanPage](b, activities.NameFindOrphans, activities.OrphanRequest{Cluster: "m1"}).Orphans)
}

func TestAnObservationSaysWhereTheMoveStands(t *testing.T) {
	b, ref := moved(t)
	ref.WantWork = true
	o := must[activities.Observation](b, activities.NameObserve, ref)
	require.True(t, o.Held && o.Placed.OK && o.Health.OK && o.Observed)
	require.False(t, o.Targeted || o.SourceGone || o.SourceReady)
	require.Equal(t, []string{"m2"}, o.Targets)
	require.NotNil(t, o.OldWork, "the held copy's Work still stands")
	b.world.SetReady("m1", true)
	require.True(t, must[activities.Observation](b, activities.NameObserve, ref).SourceReady)
	b.world.DeleteCluster("m1")
	require.True(t, must[activities.Observation](b, activities.NameObserve, ref).SourceGone)
	ref.UID = "older"
	require.True(t, must[activities.Observation](b, activities.NameObserve, ref).Gone)
}

// Rules: R4.9-45, R4.9-46.
func TestOnlyTasksWhoseOwnerDoesNotRunAreOrphans(t *testing.T) {
	b, _ := moved(t)
	page := must[activities.OrphanPage](b, activities.NameFindOrphans, activities.OrphanRequest{Cluster: "m1"})
	require.Len(t, page.Orphans, 1)
	require.Equal(t, "owner-1", page.Orphans[0].Owner)
	b.world.SetRunning("owner-1", true)
	page = must[activities.OrphanPage](b, activities.NameFindOrphans, activities.OrphanRequest{Cluster: "m1"})
	require.Empty(t, page.Orphans)
	require.Len(t, page.Running, 1)
	require.Empty(t, must[activities.OrphanPage](b, activities.NameFindOrphans, activities.OrphanRequest{Cluster: "m2"}).Running)
}

// Rules: R4.7-34.
func TestAnOldWorkIsFollowedByItsUID(t *testing.T) {
	b, ref := moved(t)
	ref.WantWork = true
	r := activities.WorkRequest{Cluster: "m1", Key: ref.Key, Work: *must[activities.Observation](b, activities.NameObserve, ref).OldWork}
	require.Equal(t, activities.WorkState{Away: true}, must[activities.WorkState](b, activities.NameObserveWork, r))
	must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref, HealthyFor: time.Hour})
	require.Equal(t, activities.WorkState{Away: true, Deleting: true}, must[activities.WorkState](b, activities.NameObserveWork, r))
	b.world.SetReady("m1", true)
	require.True(t, must[activities.WorkState](b, activities.NameObserveWork, r).Gone)
}

// Rules: R4.7-59.
func TestRelease_SourceAnswers_SeesTheOldWorkGone(t *testing.T) {
	for name, answers := range map[string]bool{"source answers": true, "source is dead": false} {
		t.Run(name, func(t *testing.T) {
			b, ref := moved(t)
			ref.Purge = karmada.PurgeGracefully
			b.world.SetReady("m1", answers)
			b.pass(time.Second)
			old, err := b.world.WorkOf(t.Context(), ptr(b.world.Peek(ref.Key)), "m1")
			require.NoError(t, err)
			ref.OldWork = &old
			out := must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref, HealthyFor: time.Hour})
			require.Equal(t, activities.ActDone, out.End, "%s: %s", out.Reason, out.Message)
			require.Equal(t, answers, out.Purged)
		})
	}
}

func ptr[T any](x T) *T { return &x }

// Rules: R4.9-29, R4.9-30, R4.9-31.
func TestAPutBackLooksWhetherTheFormerClusterCanTakeOver(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*bench, *activities.RestoreRequest)
		reason  reason.Reason
	}{
		"it can": {arrange: func(*bench, *activities.RestoreRequest) {}, reason: reason.Written},
		"not Ready": {
			arrange: func(b *bench, _ *activities.RestoreRequest) { b.world.SetReady("m1", false) }, reason: reason.PutBackRefused,
		},
		"Lifeboat's taint does not go with it": {
			arrange: func(_ *bench, r *activities.RestoreRequest) { r.OursGo, r.Stopped = false, false }, reason: reason.PutBackRefused,
		},
		"a rule asks for Lifeboat's taint again": {
			arrange: func(b *bench, r *activities.RestoreRequest) {
				r.Stopped = false
				b.world.AddRule(rules.Rule{
					Name:            "quick",
					MatchConditions: []rules.MatchCondition{{ConditionType: "Ready", Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionTrue}}},
					Taints:          []karmada.RuleTaint{{Key: downKey, Effect: corev1.TaintEffectNoExecute}},
				})
			}, reason: reason.PutBackRefused,
		},
		"another hand's taint": {
			arrange: func(b *bench, _ *activities.RestoreRequest) {
				b.world.PutTaint("m1", corev1.Taint{Key: "x", Effect: corev1.TaintEffectNoExecute})
			}, reason: reason.PutBackRefused,
		},
		"its old Work is gone": {
			arrange: func(b *bench, _ *activities.RestoreRequest) { b.world.DropWork("karmada-es-m1", "shop-app") }, reason: reason.PutBackRefused,
		},
		"its old Work is going": {
			arrange: func(b *bench, r *activities.RestoreRequest) {
				b.world.PutWork(karmada.Work{Namespace: "karmada-es-m1", Name: "shop-app", Cluster: "m1", UID: r.OldWork.UID, Deleting: true})
			}, reason: reason.PutBackRefused,
		},
		"another Work took its place": {
			arrange: func(_ *bench, r *activities.RestoreRequest) { r.OldWork.UID = "older" }, reason: reason.PutBackRefused,
		},
		"Directly": {
			arrange: func(b *bench, r *activities.RestoreRequest) {
				b.world.Change(r.Key, func(x *karmada.Binding) { x.Tasks[0].PurgeMode = karmada.PurgeDirectly })
			}, reason: reason.PutBackRefused,
		},
		"nobody knows where it was": {
			arrange: func(b *bench, r *activities.RestoreRequest) {
				r.Baseline = proof.Baseline{}
				b.world.Change(r.Key, func(x *karmada.Binding) { x.Tasks[0].ClustersBeforeFailover = nil })
			}, reason: reason.PutBackRefused,
		},
		"the task alone knows where it was": {
			arrange: func(_ *bench, r *activities.RestoreRequest) { r.Baseline = proof.Baseline{} }, reason: reason.Written,
		},
		"another patch of the scheduler is on its way": {
			arrange: func(b *bench, r *activities.RestoreRequest) {
				b.world.Change(r.Key, func(x *karmada.Binding) { x.Generation += 2 })
				r.Generation = 99
			}, reason: reason.RestoreUnanswered,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.fail()
			evicted := b.evict()
			ref := b.ref(evicted)
			b.pass(20e9)
			b.world.SetReady("m1", true)
			r := activities.RestoreRequest{MigrationRef: ref, PutBack: true, EvenIfFailing: true, OursGo: true, Stopped: true}
			r.OldWork = evicted.OldWork
			c.arrange(b, &r)
			out := must[activities.ActResult](b, activities.NameRestore, r)
			require.Equal(t, c.reason, out.Reason, "%+v", out)
			after := b.world.Peek(ref.Key)
			if c.reason != reason.Written {
				require.Empty(t, b.world.Log("restore"))
				require.Equal(t, "m2", after.Clusters[0].Name)
				return
			}
			require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 2}}, after.Clusters, "one write: it is back and the new one is out")
			require.Empty(t, after.Tasks)
			require.Len(t, b.world.Log("restore"), 1)
		})
	}
}

func TestARestoreStopsWhereTheClusterFailsAgain(t *testing.T) {
	b, ref := unplaced(t)
	b.world.SetReady("m1", false)
	out := must[activities.ActResult](b, activities.NameRestore, activities.RestoreRequest{MigrationRef: ref})
	require.Equal(t, reason.ConditionsMatch, out.Reason)
	b.world.SetReady("m1", true)
	b.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	out = must[activities.ActResult](b, activities.NameRestore, activities.RestoreRequest{MigrationRef: ref})
	require.Equal(t, reason.ConditionsMatch, out.Reason)
	require.Empty(t, b.world.Log("restore"))
	out = must[activities.ActResult](b, activities.NameRestore, activities.RestoreRequest{MigrationRef: ref, EvenIfFailing: true})
	require.Equal(t, activities.ActDone, out.End, "an operator who cancels has his way")
}

func TestAReleaseOnAnOperatorsOrderNeverTakesTheLastCopy(t *testing.T) {
	b, ref := unplaced(t)
	out := must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref, Ordered: true})
	require.Equal(t, activities.ActRefused, out.End)
	require.Len(t, b.world.Peek(ref.Key).Tasks, 1)
	b, ref = moved(t)
	out = must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref, Ordered: true})
	require.Equal(t, activities.ActDone, out.End)
}

// told keeps Events.
type told struct{ all []activities.Event }

func (s *told) Record(_ context.Context, e activities.Event) { s.all = append(s.all, e) }

// Rules: R4.16-10.
func TestEvents_EvictedBlockedRestored_NameTheWorkload(t *testing.T) {
	b := newBench(t)
	events := &told{}
	b.acts.Events = events
	b.fail()
	b.world.SetReady("m2", false)
	b.world.SetReady("m3", false)
	b.check("app")
	b.world.SetReady("m2", true)
	b.evict()
	want := b.world.Peek(appKey("app")).Resource
	got := map[string]karmada.Resource{}
	for _, e := range events.all {
		if e.Binding != nil {
			require.NotNil(t, e.Workload, e.Reason)
			got[e.Reason] = *e.Workload
		}
	}
	require.Equal(t, map[string]karmada.Resource{"EvictWorkloadFromClusterBlocked": want, "EvictWorkloadFromClusterSucceed": want}, got)
}
