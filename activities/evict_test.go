package activities_test

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.7-7, R4.7-12, R4.9-45.
func TestAnEvictionIsOneWriteThatHoldsTheOldCopy(t *testing.T) {
	b := failing(t)
	out := b.evict()
	require.Equal(t, activities.EvictWritten, out.End)
	require.NotNil(t, out.OldWork)
	require.Equal(t, on("m1"), out.Baseline.Clusters)
	require.Equal(t, []use{{7, "shop/app"}}, b.used)
	after := b.world.Peek(appKey("app"))
	require.Empty(t, after.Clusters)
	require.Len(t, after.Tasks, 1)
	require.True(t, after.Tasks[0].IsLifeboat() && *after.Tasks[0].SuppressDeletion)
	require.Equal(t, "owner-1", after.Tasks[0].Message)
	again := b.evict()
	require.Equal(t, activities.EvictWritten, again.End, "a repeat is content with what stands")
	require.Equal(t, out.OldWork, again.OldWork, "and knows the old copy")
	b.acts.Reader = noWork{around{b.world, b}}
	require.Equal(t, activities.EvictUnknown, b.evict().End, "where that cannot be read, the migration looks itself")
	require.Len(t, b.world.Log("evict"), 1)
}

// evictRow is an eviction after a change, of the world or of the request.
type evictRow struct {
	world  func(*bench)
	ask    func(*bench, *activities.EvictRequest)
	end    activities.EvictEnd // refused, where it is empty
	reason reason.Reason
}

// run evicts app: every end but written leaves no write behind.
func (c evictRow) run(t *testing.T, b *bench, r activities.EvictRequest) {
	t.Helper()
	b.does(c.world)
	out := b.evicts(asked(b, r, c.ask))
	require.Equal(t, cmp.Or(c.end, activities.EvictRefused), out.End, "%+v", out)
	require.Equal(t, c.reason, out.Reason, out.Message)
	require.Equal(t, out.End == activities.EvictWritten, len(b.world.Log("evict")) == 1)
}

// allFail has every write end with an error.
func allFail(err error) func(*bench) {
	return func(b *bench) { b.world.Fail = func(string, string) error { return err } }
}

func noTaint(b *bench) { b.world.DropTaint("m1", downKey) }

func nothingFits(b *bench) { b.world.SetReady("m2", false) }

func movedByOthers(x *karmada.Binding) { x.Clusters[0].Name = "m2" }

func excluded(b *bench) { b.optedOut = "by namespace shop" }

// Rules: R4.2-2, R4.3-3, R4.3-18, R4.3-21, R4.4-2, R4.5-7, R4.5-10, R4.5-14, R4.6-28, R4.7-2, R4.7-3, R4.7-4, R4.7-5, R4.7-6, R4.7-14,
// R4.7-15, R4.8-2, R4.15-10.
func TestEveryOtherEndOfAnEvictionWritesNothing(t *testing.T) {
	seconds := int64(60)
	for name, c := range map[string]evictRow{
		"the failover observes": {ask: func(_ *bench, r *activities.EvictRequest) { r.Mode = rules.ModeObserve }, reason: reason.ModeObserve},
		"the worker observes":   {world: workerObserves, reason: reason.ModeObserve},
		"without a permit":      {ask: func(_ *bench, r *activities.EvictRequest) { r.Permit = pace.Permit{} }, reason: reason.PermitPassed},
		"a permit that lasts for ever": {
			ask: func(_ *bench, r *activities.EvictRequest) { r.Permit.Latest = r.Permit.Earliest.AddDate(1, 0, 0) }, reason: reason.PermitPassed,
		},
		"its permit has passed": {world: func(b *bench) { b.now = b.now.Add(pace.PermitsEnd) }, reason: reason.PermitPassed},
		"its permit has passed on the way to this worker": {
			ask: func(b *bench, r *activities.EvictRequest) {
				r.Permit.Earliest = b.now.Add(-1500 * time.Millisecond)
				r.Permit.Latest = r.Permit.Earliest.Add(time.Second)
			}, reason: reason.PermitPassed,
		},
		"its permit passes while the old Work is looked for": {
			world: func(b *bench) { b.acts.Reader = slowWork{around{b.world, b}, b} }, reason: reason.PermitPassed,
		},
		"this worker's clock is ahead of the server's": {world: func(b *bench) { b.skew = 3 * time.Second }, reason: reason.ClockSkew},
		"this worker's clock is behind the server's":   {world: func(b *bench) { b.skew = -3 * time.Second }, reason: reason.ClockSkew},
		"the cluster is another one now": {
			ask: func(_ *bench, r *activities.EvictRequest) { r.ClusterUID = "older" }, end: activities.EvictClusterGone, reason: reason.ClusterGone,
		},
		"the cluster was deleted": {
			world: func(b *bench) { b.world.DeleteCluster("m1") }, end: activities.EvictClusterGone, reason: reason.ClusterGone,
		},
		"the binding is another one now": {
			ask: func(_ *bench, r *activities.EvictRequest) { r.UID = "older" }, end: activities.EvictGone, reason: reason.BindingGone,
		},
		"the binding is not there": {
			ask: func(_ *bench, r *activities.EvictRequest) { r.Key.Name = "other" }, end: activities.EvictGone, reason: reason.BindingGone,
		},
		"the rule of Lifeboat's taint matches no more": {world: recovered, end: activities.EvictNotAffected, reason: reason.NoTaint},
		"the taint was removed":                        {world: noTaint, end: activities.EvictNotAffected, reason: reason.NoTaint},
		"its toleration still runs": {
			ask: func(_ *bench, r *activities.EvictRequest) {
				r.Policy.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}
			}, end: activities.EvictNotAffected, reason: reason.TolerationExpired,
		},
		"another hand moved it": {world: app(movedByOthers), end: activities.EvictElsewhere, reason: reason.NotTargeting},
		"another hand moved it, and a task was left to an operator": {
			world: app(func(x *karmada.Binding) {
				x.Clusters[0].Name, x.Tasks = "m2", task(karmada.TaskReasonNeedsOperator, "")
			}),
			end: activities.EvictElsewhere, reason: reason.NotTargeting,
		},
		"a second evictor": {
			world:  app(func(x *karmada.Binding) { x.Tasks = []karmada.Task{{FromCluster: "m1", Producer: "TaintManager"}} }),
			reason: reason.ForeignTask,
		},
		"malformed":                     {world: app(malformed), reason: reason.Malformed},
		"opted out by its surroundings": {world: excluded, end: activities.EvictOptedOut, reason: reason.OptedOut},
		"opted out by config": {
			world: func(b *bench) { b.acts.Settings.ExcludeNamespaces = []string{"shop"} }, end: activities.EvictOptedOut, reason: reason.OptedOut,
		},
		"a purge mode that nobody knows": {world: func(b *bench) { b.purge = "Softly" }, reason: reason.Malformed},
		"nowhere to go":                  {world: nothingFits, reason: reason.NoTarget},
		"nowhere but under a soft taint": {world: func(b *bench) {
			b.world.PutTaint("m2", corev1.Taint{Key: "maintenance", Effect: karmada.EffectPreferNoExecute})
		}, reason: reason.NoTarget},
		"forbidden":                             {world: allFail(karmada.ErrForbidden), reason: reason.Forbidden},
		"invalid":                               {world: allFail(karmada.ErrInvalid), reason: reason.Invalid},
		"an admission webhook cannot be called": {world: allFail(karmada.ErrRefused), reason: reason.Forbidden},
		"in conflict to the end":                {world: allFail(karmada.ErrConflict), reason: reason.Conflict},
		"no answer":                             {world: allFail(karmada.ErrUnreachable), end: activities.EvictUnknown, reason: reason.Unverified},
	} {
		t.Run(name, func(t *testing.T) {
			b := failing(t)
			c.run(t, b, b.evictRequest())
		})
	}
}

// Rules: R4.3-18, R4.7-10.
func TestKarmada7483AnEvictionThatLostARaceReadsAndDecidesAnew(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*bench)
		end       activities.EvictEnd
		writes    int
	}{
		"nothing that matters": {end: activities.EvictWritten, writes: 1},
		"recovered":            {meanwhile: recovered, end: activities.EvictNotAffected},
		"opted out":            {meanwhile: excluded, end: activities.EvictOptedOut},
	} {
		t.Run(name, func(t *testing.T) {
			b := failing(t)
			first := true
			b.world.Fail = func(string, string) error {
				if !first {
					return nil
				}
				first = false
				return karmada.ErrConflict
			}
			meter := &meanwhile{b: b, do: c.meanwhile}
			b.acts.Meter = meter
			require.Equal(t, c.end, b.evict().End)
			require.Len(t, b.world.Log("evict"), c.writes)
			require.Equal(t, 1, meter.conflicts)
		})
	}
}

// Rules: R4.7-11, R4.5-11.
func TestALostAnswerIsUnknownAndNotTriedAgain(t *testing.T) {
	b := failing(t)
	b.world.Lost = func(string, string) bool { return true }
	out := b.evict()
	require.Equal(t, activities.EvictUnknown, out.End)
	require.NotEmpty(t, out.Baseline.Clusters, "the measure of what follows is kept")
	require.Len(t, b.world.Log("evict"), 1)
}

// Rules: R4.5-19, R4.5-20, R4.7-13, R4.7-18.
func TestRemovingAgainNeedsNoPermitButObeysEveryStop(t *testing.T) {
	back := app(func(x *karmada.Binding) { x.Clusters = on("m1") })
	for name, c := range map[string]struct {
		world  func(*bench)
		reason reason.Reason
		end    activities.ActEnd // as the reason says, where it is empty
		tasks  int               // 1, where it is empty
	}{
		"put back": {reason: reason.Written},
		"halted":   {world: func(b *bench) { b.mayRemove = func() error { return errors.New("halted") } }, reason: reason.Halted},
		"asked too long ago": {world: func(b *bench) {
			b.mayRemove = func() error {
				b.pass(pace.PermitsEnd)
				back(b)
				return nil
			}
		}, reason: reason.PermitPassed},
		"another producer evicts it, too": {world: app(func(x *karmada.Binding) {
			x.Tasks = append(x.Tasks, karmada.Task{FromCluster: "m1", Producer: "other"})
		}), reason: reason.ForeignTask, tasks: 2},
		"recovered, and another producer evicts it": {world: func(b *bench) {
			b.does(recovered, app(func(x *karmada.Binding) {
				x.Tasks = append(x.Tasks, karmada.Task{FromCluster: "m1", Producer: "other"})
			}))
		}, reason: reason.NoTaint, tasks: 2},
		"recovered":    {world: recovered, reason: reason.NoTaint},
		"cluster gone": {world: func(b *bench) { b.world.DeleteCluster("m1") }, reason: reason.ClusterGone},
		"not put back": {world: app(func(x *karmada.Binding) { x.Clusters = nil }), end: activities.ActAlready},
		"left to an operator": {
			world: app(func(x *karmada.Binding) { x.Tasks[0].Reason = karmada.TaskReasonNeedsOperator }), end: activities.ActAlready,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := failing(t)
			b.evict()
			b.does(back, c.world)
			r := b.evictRequest()
			r.Permit = pace.Permit{}
			out := must[activities.ActResult](b, activities.NameEvictAgain, r)
			require.Equal(t, cmp.Or(c.end, endOf(c.reason)), out.End, "%+v", out)
			require.Equal(t, c.reason, out.Reason)
			require.Len(t, b.world.Peek(appKey("app")).Tasks, cmp.Or(c.tasks, 1), "one task per cluster and binding")
			require.Equal(t, 1, b.removals)
		})
	}
}

// A permit is granted ahead of its moment: whoever writes waits for that, and reads only then.
// Rules: R4.5-15.
func TestAPermitIsUsedNoSoonerThanItsMoment(t *testing.T) {
	for name, c := range map[string]struct {
		early  time.Duration
		arise  func(*bench) // while it waits
		end    activities.EvictEnd
		reason reason.Reason
	}{
		"it waits, then writes":               {early: 200 * time.Millisecond, end: activities.EvictWritten, reason: reason.Written},
		"what it read is newer than its wait": {early: time.Second, arise: noTaint, end: activities.EvictNotAffected, reason: reason.NoTaint},
	} {
		t.Run(name, func(t *testing.T) {
			b := failing(t)
			var waits []time.Duration
			b.early = c.early
			begun := b.now
			b.world.OnWait = func(d time.Duration) {
				waits = append(waits, d)
				b.now = b.now.Add(d)
				b.does(c.arise)
			}
			evictRow{end: c.end, reason: c.reason}.run(t, b, b.evictRequest())
			require.Equal(t, []time.Duration{c.early}, waits)
			for _, w := range b.world.Log("evict") {
				require.GreaterOrEqual(t, w.At.Sub(begun), c.early)
			}
		})
	}
}

// earlier puts the scheduler at the second affinity group; m2 is in the first.
func earlier(b *karmada.Binding) {
	b.Placement.ClusterAffinity = nil
	b.Placement.ClusterAffinities = []karmada.ClusterAffinityTerm{
		{AffinityName: "primary", ClusterAffinity: karmada.ClusterAffinity{ClusterNames: []string{"m2"}}},
		{AffinityName: "backup", ClusterAffinity: karmada.ClusterAffinity{ClusterNames: []string{"m1", "m3"}}},
	}
	b.Status.ObservedAffinity = "backup"
}

// A decision that had begun before the eviction is later than the trigger of the eviction, and ends it: once its status is
// written, a moment after its targets. Without targets of its own it finds the cluster among those that it has read.
//
// Rules: R4.7-20, R4.6-25.
func TestEvictAgain_AfterADecisionThatSpentTheTrigger_AsksForARescheduleAgain(t *testing.T) {
	back := func(x *karmada.Binding) { x.Clusters = on("m1") }
	spent := func(at time.Time) func(*karmada.Binding) {
		return func(x *karmada.Binding) { x.Status.LastScheduled = &at }
	}
	for name, c := range map[string]struct {
		decided func(*bench)
		end     activities.ActEnd // done, where it is empty
		keeps   bool
	}{
		"put back":                        {decided: func(b *bench) { b.does(app(back), app(spent(b.now))) }},
		"put back, its status unwritten":  {decided: func(b *bench) { b.does(app(back)) }},
		"not put back":                    {decided: func(b *bench) { b.does(app(spent(b.now))) }},
		"not put back, a survivor came":   {decided: func(b *bench) { b.does(app(spent(b.now)), app(func(x *karmada.Binding) { x.Clusters = on("m3") })) }, end: activities.ActAlready, keeps: true},
		"not put back, the trigger holds": {end: activities.ActAlready, keeps: true},
		"not put back, its group fits":    {decided: func(b *bench) { b.does(app(spent(b.now)), func(b *bench) { b.world.SetReady("m3", true) }) }, end: activities.ActAlready, keeps: true},
		"not put back, it could not be scheduled": {decided: func(b *bench) {
			b.does(app(spent(b.now)), app(func(x *karmada.Binding) { x.Status.Scheduled.Reason = "Unschedulable" }))
		}},
		"not put back, the scheduler is content": {decided: func(b *bench) {
			b.does(app(spent(b.now)), app(func(x *karmada.Binding) { x.Status.Scheduled.Status = corev1.ConditionTrue }))
		}},
		"not put back, a placement is pending": {decided: func(b *bench) {
			b.does(app(spent(b.now)), app(func(x *karmada.Binding) { x.PlacementPending = true }))
		}, end: activities.ActAlready, keeps: true},
		"not put back, it has no replicas": {decided: func(b *bench) {
			b.does(app(spent(b.now)), app(func(x *karmada.Binding) { x.Replicas, x.HasRequirements = 0, true }))
		}, end: activities.ActAlready, keeps: true},
		"not put back, it is suspended": {decided: func(b *bench) {
			b.does(app(spent(b.now)), app(func(x *karmada.Binding) { x.SchedulingSuspended = true }))
		}, end: activities.ActAlready, keeps: true},
		"not put back, its placement cannot be read": {decided: func(b *bench) {
			b.does(app(spent(b.now)), app(func(x *karmada.Binding) { x.Malformed, x.Placement = "spec.placement", nil }))
		}, end: activities.ActRefused, keeps: true},
		"not put back, it is paused by halt": {decided: func(b *bench) {
			b.does(app(spent(b.now)))
			b.mayRemove = func() error { return errors.New("halted") }
		}, end: activities.ActRefused, keeps: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := failing(t)
			b.does(app(earlier), notReady("m3"))
			require.Equal(t, activities.EvictWritten, b.evict().End)
			b.pass(2 * time.Second)
			b.does(app(func(x *karmada.Binding) {
				x.Clusters, x.Status.ObservedAffinity, x.Status.LastScheduled = nil, "backup", new(b.now.Add(-time.Hour))
				x.Status.Scheduled = &karmada.Condition{Status: corev1.ConditionFalse, Reason: proof.ScheduledNoClusterFit}
			}))
			b.does(c.decided)
			before := b.world.Peek(appKey("app"))
			r := b.evictRequest()
			r.Permit = pace.Permit{}
			require.Equal(t, cmp.Or(c.end, activities.ActDone), must[activities.ActResult](b, activities.NameEvictAgain, r).End)
			after := b.world.Peek(appKey("app"))
			require.Equal(t, before.Tasks[0].Replicas, after.Tasks[0].Replicas)
			if c.keeps {
				require.Equal(t, before.RescheduleTriggeredAt, after.RescheduleTriggeredAt)
				return
			}
			require.True(t, after.RescheduleTriggeredAt.After(b.now) && after.RescheduleRequired(), "%v, last %v", after.RescheduleTriggeredAt, after.Status.LastScheduled)
		})
	}
}

// The write asks for a reschedule by what it has just read: a survivor that came since the
// pre-check would be divided from scratch, and no Lifeboat task holds its copy.
//
// Rules: R4.7-20, R4.7-21.
func TestTheWriteAsksForARescheduleOnlyWhereNothingSurvives(t *testing.T) {
	for name, c := range map[string]struct {
		world func(*bench)
		end   activities.EvictEnd
		asked bool
	}{
		"the scheduler looks by itself": {end: activities.EvictWritten},
		"only an earlier group fits":    {world: func(b *bench) { b.does(app(earlier), notReady("m3")) }, end: activities.EvictWritten, asked: true},
		"only an earlier group fits, and a survivor came": {world: func(b *bench) {
			b.does(app(earlier), notReady("m3"))
			b.meanwhile(app(func(x *karmada.Binding) { x.Clusters = append(x.Clusters, on("m3")...) }))
		}, end: activities.EvictRefused},
	} {
		t.Run(name, func(t *testing.T) {
			b := failing(t)
			b.does(c.world)
			out := b.evict()
			require.Equal(t, c.end, out.End, out.Message)
			after := b.world.Peek(appKey("app"))
			require.Equal(t, c.asked, after.RescheduleTriggeredAt != nil)
			if c.asked {
				require.Empty(t, after.Clusters)
			}
		})
	}
}

// meanwhile lets something happen between two tries of a write.
type meanwhile struct {
	world.Meter
	b         *bench
	do        func(*bench)
	conflicts int
}

// Conflict is counted between two tries.
func (m *meanwhile) Conflict(string) {
	m.conflicts++
	m.b.does(m.do)
}

// slowWork takes longer than any permit lasts to find the old Work.
type slowWork struct {
	around
	clock *bench
}

// WorkOf lets the permit pass.
func (s slowWork) WorkOf(ctx context.Context, b *karmada.Binding, cluster string) (karmada.Work, error) {
	s.clock.now = s.clock.now.Add(time.Minute)
	return s.around.WorkOf(ctx, b, cluster)
}

// noWork cannot read the old Work.
type noWork struct{ around }

// WorkOf gets no answer.
func (noWork) WorkOf(context.Context, *karmada.Binding, string) (karmada.Work, error) {
	return karmada.Work{}, karmada.ErrUnreachable
}
