package activities_test

import (
	"errors"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.7-7, R4.9-45.
func TestAnEvictionIsOneWriteThatHoldsTheOldCopy(t *testing.T) {
	b := newBench(t)
	b.fail()
	out := b.evict()
	require.Equal(t, activities.EvictWritten, out.End)
	require.NotNil(t, out.OldWork)
	require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 2}}, out.Baseline.Clusters)
	require.Equal(t, []use{{7, "shop/app"}}, b.used)
	after := b.world.Peek(appKey("app"))
	require.Empty(t, after.Clusters)
	require.Len(t, after.Tasks, 1)
	require.True(t, after.Tasks[0].Ours() && *after.Tasks[0].SuppressDeletion)
	require.Equal(t, "owner-1", after.Tasks[0].Message)
	require.Len(t, b.world.Log("evict"), 1)
}

// Rules: R4.7-12.
func TestARepeatedEvictionIsContentWithWhatStands(t *testing.T) {
	b := newBench(t)
	b.fail()
	b.evict()
	out := b.evict()
	require.Equal(t, activities.EvictWritten, out.End)
	require.Len(t, b.world.Log("evict"), 1)
}

// Every end but written leaves no write behind.
//
// Rules: R4.3-3, R4.3-18, R4.3-21, R4.4-2, R4.5-7, R4.5-10, R4.5-14, R4.6-28, R4.7-2, R4.7-3, R4.7-4, R4.7-5, R4.7-6, R4.7-14,
// R4.7-15, R4.8-2, R4.15-10.
func TestEveryOtherEndOfAnEvictionWritesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*bench, *activities.EvictRequest)
		end     activities.EvictEnd
		reason  reason.Reason
	}{
		"the failover observes": {
			func(_ *bench, r *activities.EvictRequest) { r.Mode = rules.ModeObserve }, activities.EvictRefused, reason.ModeObserve,
		},
		"the worker observes": {
			func(b *bench, _ *activities.EvictRequest) { b.acts.Settings.Terms.Mode = rules.ModeObserve },
			activities.EvictRefused, reason.ModeObserve,
		},
		"without a permit": {
			func(_ *bench, r *activities.EvictRequest) { r.Permit = pace.Permit{} }, activities.EvictRefused, reason.PermitPassed,
		},
		"a permit that lasts for ever": {
			func(_ *bench, r *activities.EvictRequest) { r.Permit.Latest = r.Permit.Earliest.AddDate(1, 0, 0) },
			activities.EvictRefused, reason.PermitPassed,
		},
		"its permit has passed": {
			func(b *bench, _ *activities.EvictRequest) { b.now = b.now.Add(pace.PermitsEnd) }, activities.EvictRefused, reason.PermitPassed,
		},
		"its permit has passed on the way to this worker": {
			func(b *bench, r *activities.EvictRequest) {
				r.Permit.Earliest = b.now.Add(-1500 * time.Millisecond)
				r.Permit.Latest = r.Permit.Earliest.Add(time.Second)
			},
			activities.EvictRefused, reason.PermitPassed,
		},
		"this worker's clock is ahead of the server's": {
			func(b *bench, _ *activities.EvictRequest) { b.skew = 3 * time.Second }, activities.EvictRefused, reason.ClockSkew,
		},
		"this worker's clock is behind the server's": {
			func(b *bench, _ *activities.EvictRequest) { b.skew = -3 * time.Second }, activities.EvictRefused, reason.ClockSkew,
		},
		"the cluster is another one now": {
			func(_ *bench, r *activities.EvictRequest) { r.ClusterUID = "older" }, activities.EvictClusterGone, reason.ClusterGone,
		},
		"the cluster was deleted": {
			func(b *bench, _ *activities.EvictRequest) { b.world.DeleteCluster("m1") }, activities.EvictClusterGone, reason.ClusterGone,
		},
		"the binding is another one now": {
			func(_ *bench, r *activities.EvictRequest) { r.UID = "older" }, activities.EvictGone, reason.BindingGone,
		},
		"the binding is not there": {
			func(_ *bench, r *activities.EvictRequest) { r.Key.Name = "other" }, activities.EvictGone, reason.BindingGone,
		},
		"the rule of Lifeboat's taint matches no more": {
			func(b *bench, _ *activities.EvictRequest) { b.world.SetReady("m1", true) }, activities.EvictNotAffected, reason.NoTaint,
		},
		"the taint was removed": {
			func(b *bench, _ *activities.EvictRequest) { b.world.DropTaint("m1", downKey) }, activities.EvictNotAffected, reason.NoTaint,
		},
		"its toleration still runs": {
			func(_ *bench, r *activities.EvictRequest) {
				seconds := int64(60)
				r.Policy.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}
			}, activities.EvictNotAffected, reason.TolerationExpired,
		},
		"another hand moved it": {
			func(b *bench, _ *activities.EvictRequest) {
				b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Clusters[0].Name = "m2" })
			}, activities.EvictElsewhere, reason.NotTargeting,
		},
		"another hand moved it, and a task was left to a human": {
			func(b *bench, _ *activities.EvictRequest) {
				b.world.Change(appKey("app"), func(x *karmada.Binding) {
					x.Clusters[0].Name = "m2"
					x.Tasks = []karmada.Task{{FromCluster: "m1", Producer: karmada.Producer, Reason: karmada.TaskReasonNeedsOperator}}
				})
			}, activities.EvictElsewhere, reason.NotTargeting,
		},
		"a second evictor": {
			func(b *bench, _ *activities.EvictRequest) {
				b.world.Change(appKey("app"), func(x *karmada.Binding) {
					x.Tasks = []karmada.Task{{FromCluster: "m1", Producer: "TaintManager"}}
				})
			}, activities.EvictRefused, reason.ForeignTask,
		},
		"malformed": {
			func(b *bench, _ *activities.EvictRequest) {
				b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Malformed = "spec.clusters: not a list" })
			}, activities.EvictRefused, reason.Malformed,
		},
		"opted out by its surroundings": {
			func(b *bench, _ *activities.EvictRequest) { b.optedOut = "by namespace shop" }, activities.EvictOptedOut, reason.OptedOut,
		},
		"opted out by config": {
			func(b *bench, _ *activities.EvictRequest) { b.acts.Settings.ExcludeNamespaces = []string{"shop"} },
			activities.EvictOptedOut, reason.OptedOut,
		},
		"a purge mode that nobody knows": {
			func(b *bench, _ *activities.EvictRequest) { b.purge = "Softly" },
			activities.EvictRefused, reason.Malformed,
		},
		"nowhere to go": {
			func(b *bench, _ *activities.EvictRequest) { b.world.SetReady("m2", false) }, activities.EvictRefused, reason.NoTarget,
		},
		"forbidden": {
			func(b *bench, _ *activities.EvictRequest) {
				b.world.Fail = func(string, string) error { return karmada.ErrForbidden }
			}, activities.EvictRefused, reason.Forbidden,
		},
		"invalid": {
			func(b *bench, _ *activities.EvictRequest) {
				b.world.Fail = func(string, string) error { return karmada.ErrInvalid }
			}, activities.EvictRefused, reason.Invalid,
		},
		"an admission webhook cannot be called": {
			func(b *bench, _ *activities.EvictRequest) {
				b.world.Fail = func(string, string) error { return karmada.ErrRefused }
			}, activities.EvictRefused, reason.Forbidden,
		},
		"in conflict to the end": {
			func(b *bench, _ *activities.EvictRequest) {
				b.world.Fail = func(string, string) error { return karmada.ErrConflict }
			}, activities.EvictRefused, reason.Conflict,
		},
		"no answer": {
			func(b *bench, _ *activities.EvictRequest) {
				b.world.Fail = func(string, string) error { return karmada.ErrUnreachable }
			}, activities.EvictUnknown, reason.Unverified,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.fail()
			r := b.evictRequest()
			c.arrange(b, &r)
			out := must[activities.EvictResult](b, activities.NameEvict, r)
			require.Equal(t, c.end, out.End, "%+v", out)
			require.Equal(t, c.reason, out.Reason)
			require.Empty(t, b.world.Log("evict"))
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
		"nothing that matters": {func(*bench) {}, activities.EvictWritten, 1},
		"recovered":            {func(b *bench) { b.world.SetReady("m1", true) }, activities.EvictNotAffected, 0},
		"opted out":            {func(b *bench) { b.optedOut = "by namespace shop" }, activities.EvictOptedOut, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.fail()
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

// Rules: R4.5-10, R4.5-14.
func TestNothingIsSentAfterThePermitHasPassed(t *testing.T) {
	b := newBench(t)
	b.fail()
	b.acts.Reader = slowWork{around{b.world, b}, b}
	out := b.evict()
	require.Equal(t, activities.EvictRefused, out.End)
	require.Equal(t, reason.PermitPassed, out.Reason)
	require.Empty(t, b.world.Log("evict"))
}

// Rules: R4.7-11, R4.5-11.
func TestALostAnswerIsUnknownAndNotTriedAgain(t *testing.T) {
	b := newBench(t)
	b.fail()
	b.world.Lost = func(string, string) bool { return true }
	out := b.evict()
	require.Equal(t, activities.EvictUnknown, out.End)
	require.NotEmpty(t, out.Baseline.Clusters, "the measure of what follows is kept")
	require.Len(t, b.world.Log("evict"), 1)
}

// Rules: R4.5-19, R4.5-20, R4.7-13, R4.7-18.
func TestRemovingAgainNeedsNoPermitButObeysEveryStop(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*bench)
		end     activities.ActEnd
		reason  reason.Reason
	}{
		"put back": {func(*bench) {}, activities.ActDone, reason.Written},
		"halted": {
			func(b *bench) { b.mayRemove = func() error { return errors.New("halted") } },
			activities.ActRefused, reason.Halted,
		},
		"asked too long ago": {
			func(b *bench) {
				b.mayRemove = func() error {
					b.pass(pace.PermitsEnd)
					b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Clusters = []karmada.TargetCluster{{Name: "m1", Replicas: 2}} })
					return nil
				}
			}, activities.ActRefused, reason.PermitPassed,
		},
		"recovered":    {func(b *bench) { b.world.SetReady("m1", true) }, activities.ActRefused, reason.NoTaint},
		"cluster gone": {func(b *bench) { b.world.DeleteCluster("m1") }, activities.ActRefused, reason.ClusterGone},
		"not put back": {
			func(b *bench) { b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Clusters = nil }) }, activities.ActAlready, "",
		},
		"left to a human": {
			func(b *bench) {
				b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Tasks[0].Reason = karmada.TaskReasonNeedsOperator })
			}, activities.ActAlready, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.fail()
			b.evict()
			b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Clusters = []karmada.TargetCluster{{Name: "m1", Replicas: 2}} })
			c.arrange(b)
			r := b.evictRequest()
			r.Permit = pace.Permit{}
			out := must[activities.ActResult](b, activities.NameRemoveAgain, r)
			require.Equal(t, c.end, out.End, "%+v", out)
			require.Equal(t, c.reason, out.Reason)
			after := b.world.Peek(appKey("app"))
			require.Len(t, after.Tasks, 1, "one task per cluster and binding")
			require.Equal(t, 1, b.removals)
		})
	}
}

// A permit is granted ahead of its moment: whoever writes waits for that, and reads only then.
// Rules: R4.5-15.
func TestAPermitIsUsedNoSoonerThanItsMoment(t *testing.T) {
	for name, c := range map[string]struct {
		early  time.Duration
		waits  []time.Duration
		arise  func(*bench) // while it waits
		end    activities.EvictEnd
		reason reason.Reason
	}{
		"it waits, then writes": {200 * time.Millisecond, []time.Duration{200 * time.Millisecond}, func(*bench) {}, activities.EvictWritten, reason.Written},
		"what it read is newer than its wait": {
			time.Second, []time.Duration{time.Second}, func(b *bench) { b.world.DropTaint("m1", downKey) }, activities.EvictNotAffected, reason.NoTaint,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.fail()
			var waits []time.Duration
			b.early = c.early
			begun := b.now
			b.world.OnWait = func(d time.Duration) {
				waits = append(waits, d)
				b.now = b.now.Add(d)
				c.arise(b)
			}
			out := b.evict()
			require.Equal(t, c.end, out.End)
			require.Equal(t, c.reason, out.Reason)
			require.Equal(t, c.waits, waits)
			for _, w := range b.world.Log("evict") {
				require.GreaterOrEqual(t, w.At.Sub(begun), c.early)
			}
		})
	}
}

// The write asks for a reschedule by what it has just read: a survivor that came since the
// pre-check would be divided from scratch, and no Lifeboat task holds its copy.
//
// Rules: R4.7-20, R4.7-21.
func TestTheWriteAsksForARescheduleOnlyWhereNothingSurvives(t *testing.T) {
	earlier := func(b *karmada.Binding) {
		b.Placement.ClusterAffinity = nil
		b.Placement.ClusterAffinities = []karmada.ClusterAffinityTerm{
			{AffinityName: "primary", ClusterAffinity: karmada.ClusterAffinity{ClusterNames: []string{"m2"}}},
			{AffinityName: "backup", ClusterAffinity: karmada.ClusterAffinity{ClusterNames: []string{"m1", "m3"}}},
		}
		b.Status.ObservedAffinity = "backup"
	}
	for name, c := range map[string]struct {
		arrange func(*bench)
		end     activities.EvictEnd
		asked   bool
	}{
		"the scheduler looks by itself": {func(*bench) {}, activities.EvictWritten, false},
		"only an earlier group fits": {func(b *bench) {
			b.world.Change(appKey("app"), earlier)
			b.world.SetReady("m3", false)
		}, activities.EvictWritten, true},
		"only an earlier group fits, and a survivor came": {func(b *bench) {
			b.world.Change(appKey("app"), earlier)
			b.world.SetReady("m3", false)
			b.meanwhile(func() {
				b.world.Change(appKey("app"), func(x *karmada.Binding) {
					x.Clusters = append(x.Clusters, karmada.TargetCluster{Name: "m3", Replicas: 2})
				})
			})
		}, activities.EvictRefused, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.fail()
			c.arrange(b)
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
