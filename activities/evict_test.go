package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
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
			arrange: func(_ *bench, r *activities.EvictRequest) { r.Mode = rules.ModeObserve }, end: activities.EvictRefused, reason: reason.ModeObserve,
		},
		"the worker observes": {
			arrange: func(b *bench, _ *activities.EvictRequest) { b.acts.Settings.Terms.Mode = rules.ModeObserve },
			end:     activities.EvictRefused, reason: reason.ModeObserve,
		},
		"without a permit": {
			arrange: func(_ *bench, r *activities.EvictRequest) { r.Permit = pace.Permit{} }, end: activities.EvictRefused, reason: reason.PermitPassed,
		},
		"a permit that lasts for ever": {
			arrange: func(_ *bench, r *activities.EvictRequest) { r.Permit.Latest = r.Permit.Earliest.AddDate(1, 0, 0) },
			end:     activities.EvictRefused, reason: reason.PermitPassed,
		},
		"its permit has passed": {
			arrange: func(b *bench, _ *activities.EvictRequest) { b.now = b.now.Add(pace.PermitsEnd) }, end: activities.EvictRefused, reason: reason.PermitPassed,
		},
		"its permit has passed on the way to this worker": {
			arrange: func(b *bench, r *activities.EvictRequest) {
				r.Permit.Earliest = b.now.Add(-1500 * time.Millisecond)
				r.Permit.Latest = r.Permit.Earliest.Add(time.Second)
			},
			end: activities.EvictRefused, reason: reason.PermitPassed,
		},
		"this worker's clock is ahead of the server's": {
			arrange: func(b *bench, _ *activities.EvictRequest) { b.skew = 3 * time.Second }, end: activities.EvictRefused, reason: reason.ClockSkew,
		},
		"this worker's clock is behind the server's": {
			arrange: func(b *bench, _ *activities.EvictRequest) { b.skew = -3 * time.Second }, end: activities.EvictRefused, reason: reason.ClockSkew,
		},
		"the cluster is another one now": {
			arrange: func(_ *bench, r *activities.EvictRequest) { r.ClusterUID = "older" }, end: activities.EvictClusterGone, reason: reason.ClusterGone,
		},
		"the cluster was deleted": {
			arrange: func(b *bench, _ *activities.EvictRequest) { b.world.DeleteCluster("m1") }, end: activities.EvictClusterGone, reason: reason.ClusterGone,
		},
		"the binding is another one now": {
			arrange: func(_ *bench, r *activities.EvictRequest) { r.UID = "older" }, end: activities.EvictGone, reason: reason.BindingGone,
		},
		"the binding is not there": {
			arrange: func(_ *bench, r *activities.EvictRequest) { r.Key.Name = "other" }, end: activities.EvictGone, reason: reason.BindingGone,
		},
		"the rule of Lifeboat's taint matches no more": {
			arrange: func(b *bench, _ *activities.EvictRequest) { b.world.SetReady("m1", true) }, end: activities.EvictNotAffected, reason: reason.NoTaint,
		},
		"the taint was removed": {
			arrange: func(b *bench, _ *activities.EvictRequest) { b.world.DropTaint("m1", downKey) }, end: activities.EvictNotAffected, reason: reason.NoTaint,
		},
		"its toleration still runs": {
			arrange: func(_ *bench, r *activities.EvictRequest) {
				seconds := int64(60)
				r.Policy.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}
			}, end: activities.EvictNotAffected, reason: reason.TolerationExpired,
		},
		"another hand moved it": {
			arrange: func(b *bench, _ *activities.EvictRequest) {
				b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Clusters[0].Name = "m2" })
			}, end: activities.EvictElsewhere, reason: reason.NotTargeting,
		},
		"another hand moved it, and a task was left to an operator": {
			arrange: func(b *bench, _ *activities.EvictRequest) {
				b.world.Change(appKey("app"), func(x *karmada.Binding) {
					x.Clusters[0].Name = "m2"
					x.Tasks = []karmada.Task{{FromCluster: "m1", Producer: karmada.Producer, Reason: karmada.TaskReasonNeedsOperator}}
				})
			}, end: activities.EvictElsewhere, reason: reason.NotTargeting,
		},
		"a second evictor": {
			arrange: func(b *bench, _ *activities.EvictRequest) {
				b.world.Change(appKey("app"), func(x *karmada.Binding) {
					x.Tasks = []karmada.Task{{FromCluster: "m1", Producer: "TaintManager"}}
				})
			}, end: activities.EvictRefused, reason: reason.ForeignTask,
		},
		"malformed": {
			arrange: func(b *bench, _ *activities.EvictRequest) {
				b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Malformed = "spec.clusters: not a list" })
			}, end: activities.EvictRefused, reason: reason.Malformed,
		},
		"opted out by its surroundings": {
			arrange: func(b *bench, _ *activities.EvictRequest) { b.optedOut = "by namespace shop" }, end: activities.EvictOptedOut, reason: reason.OptedOut,
		},
		"opted out by config": {
			arrange: func(b *bench, _ *activities.EvictRequest) { b.acts.Settings.ExcludeNamespaces = []string{"shop"} },
			end:     activities.EvictOptedOut, reason: reason.OptedOut,
		},
		"a purge mode that nobody knows": {
			arrange: func(b *bench, _ *activities.EvictRequest) { b.purge = "Softly" },
			end:     activities.EvictRefused, reason: reason.Malformed,
		},
		"nowhere to go": {
			arrange: func(b *bench, _ *activities.EvictRequest) { b.world.SetReady("m2", false) }, end: activities.EvictRefused, reason: reason.NoTarget,
		},
		"forbidden": {
			arrange: func(b *bench, _ *activities.EvictRequest) {
				b.world.Fail = func(string, string) error { return karmada.ErrForbidden }
			}, end: activities.EvictRefused, reason: reason.Forbidden,
		},
		"invalid": {
			arrange: func(b *bench, _ *activities.EvictRequest) {
				b.world.Fail = func(string, string) error { return karmada.ErrInvalid }
			}, end: activities.EvictRefused, reason: reason.Invalid,
		},
		"an admission webhook cannot be called": {
			arrange: func(b *bench, _ *activities.EvictRequest) {
				b.world.Fail = func(string, string) error { return karmada.ErrRefused }
			}, end: activities.EvictRefused, reason: reason.Forbidden,
		},
		"in conflict to the end": {
			arrange: func(b *bench, _ *activities.EvictRequest) {
				b.world.Fail = func(string, string) error { return karmada.ErrConflict }
			}, end: activities.EvictRefused, reason: reason.Conflict,
		},
		"no answer": {
			arrange: func(b *bench, _ *activities.EvictRequest) {
				b.world.Fail = func(string, string) error { return karmada.ErrUnreachable }
			}, end: activities.EvictUnknown, reason: reason.Unverified,
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
		"nothing that matters": {meanwhile: func(*bench) {}, end: activities.EvictWritten, writes: 1},
		"recovered":            {meanwhile: func(b *bench) { b.world.SetReady("m1", true) }, end: activities.EvictNotAffected, writes: 0},
		"opted out":            {meanwhile: func(b *bench) { b.optedOut = "by namespace shop" }, end: activities.EvictOptedOut, writes: 0},
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
		"put back": {arrange: func(*bench) {}, end: activities.ActDone, reason: reason.Written},
		"halted": {
			arrange: func(b *bench) { b.mayRemove = func() error { return errors.New("halted") } },
			end:     activities.ActRefused, reason: reason.Halted,
		},
		"asked too long ago": {
			arrange: func(b *bench) {
				b.mayRemove = func() error {
					b.pass(pace.PermitsEnd)
					b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Clusters = []karmada.TargetCluster{{Name: "m1", Replicas: 2}} })
					return nil
				}
			}, end: activities.ActRefused, reason: reason.PermitPassed,
		},
		"recovered":    {arrange: func(b *bench) { b.world.SetReady("m1", true) }, end: activities.ActRefused, reason: reason.NoTaint},
		"cluster gone": {arrange: func(b *bench) { b.world.DeleteCluster("m1") }, end: activities.ActRefused, reason: reason.ClusterGone},
		"not put back": {
			arrange: func(b *bench) { b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Clusters = nil }) }, end: activities.ActAlready,
		},
		"left to an operator": {
			arrange: func(b *bench) {
				b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Tasks[0].Reason = karmada.TaskReasonNeedsOperator })
			}, end: activities.ActAlready,
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
		"it waits, then writes": {early: 200 * time.Millisecond, waits: []time.Duration{200 * time.Millisecond}, arise: func(*bench) {}, end: activities.EvictWritten, reason: reason.Written},
		"what it read is newer than its wait": {
			early: time.Second, waits: []time.Duration{time.Second}, arise: func(b *bench) { b.world.DropTaint("m1", downKey) }, end: activities.EvictNotAffected, reason: reason.NoTaint,
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
		"the scheduler looks by itself": {arrange: func(*bench) {}, end: activities.EvictWritten, asked: false},
		"only an earlier group fits": {arrange: func(b *bench) {
			b.world.Change(appKey("app"), earlier)
			b.world.SetReady("m3", false)
		}, end: activities.EvictWritten, asked: true},
		"only an earlier group fits, and a survivor came": {arrange: func(b *bench) {
			b.world.Change(appKey("app"), earlier)
			b.world.SetReady("m3", false)
			b.meanwhile(func() {
				b.world.Change(appKey("app"), func(x *karmada.Binding) {
					x.Clusters = append(x.Clusters, karmada.TargetCluster{Name: "m3", Replicas: 2})
				})
			})
		}, end: activities.EvictRefused, asked: false},
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
	if m.do != nil {
		m.do(m.b)
	}
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
