package workflows_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// status asks the failover of m1 where it stands.
func (s *story) status() workflows.FailoverStatus {
	s.t.Helper()
	var status workflows.FailoverStatus
	value, err := s.env.QueryWorkflowByID(workflows.ClusterFailoverID("", "m1"), workflows.QueryStatus)
	require.NoError(s.t, err)
	require.NoError(s.t, value.Get(&status))
	return status
}

// bindingsChanged tells the failover of m1 of a binding that changed, as the controller does.
func (s *story) bindingsChanged(f proof.BindingFact) {
	s.signal(workflows.ClusterFailoverID("", "m1"), workflows.SignalBindingsChanged, workflows.BindingsChanged{Bindings: []proof.BindingFact{f}})
}

// tooOften asks the pacer whether shop/app, and another, were moved too often, at a time of the asker.
func (p *pacing) tooOften(at time.Time) map[string]time.Time {
	p.t.Helper()
	value, err := p.env.QueryWorkflow(workflows.QueryMigratedTooOften, workflows.MigratedTooOften{Bindings: []string{"shop/app", "shop/other"}, At: at})
	require.NoError(p.t, err)
	var until map[string]time.Time
	require.NoError(p.t, value.Get(&until))
	return until
}

// Karmada#4480, #7479: a binding that every cluster drives away is not chased attempt
// the fleet for ever, whichever failovers drive it. Only evictions that are seen to stand
// are moves, and only under a permit that was granted.
//
// Rules: R4.4-10, R4.4-17.
func TestKarmada4480ABindingMovesAtMostThreeTimesAnHour(t *testing.T) {
	p := newPacing(t)
	began := p.env.Now()
	p.at(time.Second, func() { p.ask("m1", 1); p.ask("m2", 1); p.ask("m3", 1) })
	for i, number := range []int64{1, 99, 2, 3} {
		p.at(time.Duration(i+1)*time.Minute, func() {
			require.Empty(t, p.tooOften(p.env.Now()))
			p.used(number, "shop/app")
			p.used(number, "shop/app") // its activity and its migration both say so
		})
	}
	p.at(5*time.Minute, func() {
		until := p.tooOften(time.Time{})
		require.Len(t, until, 1, "nobody else is held back")
		require.WithinDuration(t, began.Add(61*time.Minute), until["shop/app"], 2*time.Second)
		require.Equal(t, until, p.tooOften(began.Add(time.Hour)))
		require.Empty(t, p.tooOften(began.Add(62*time.Minute)), "time passes also for a pacer that nothing wakes")
	})
	p.at(62*time.Minute, func() { require.Empty(t, p.tooOften(p.env.Now()), "the first of its moves is more than an hour ago") })
	p.run(63 * time.Minute)
}

// Rules: R4.4-10.
func TestABindingThatMovedTooOftenIsBlockedWithThatReason(t *testing.T) {
	s, _ := outage(t, 20*time.Minute)
	s.pacer.tooOften = true
	s.at(3*time.Minute, func() {
		require.Greater(t, s.blocked(reason.PingPong).RetryAt.Sub(s.env.Now()), time.Minute)
		s.world.SetReady("m6", false) // the fleet changes: that does not make it younger
	})
	s.at(4*time.Minute, func() {
		require.Equal(t, 1, s.pacer.asked)
		s.world.SetReady("m6", true)
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Abandoned"}, outcomes(s.play()))
	require.Greater(t, s.pacer.asked, 1, "it asks again in time")
	require.Empty(t, s.world.Log("evict"))
}

// A yes for a namespace or all is no word about one that moves too often.
//
// Rules: R4.4-10, R4.6-22.
func TestPingPong_AYesForTheBindingAloneLiftsTheCap(t *testing.T) {
	s := newStory(t)
	s.pacer.tooOften = true
	app, other := s.in("shop", "app", 0), s.in("shop", "other", 0)
	s.outage(20 * time.Minute)
	var all, one *answer
	s.at(3*time.Minute, func() { all = s.ordered(workflows.UpdateApprove, by(queue.Scope{All: true})) })
	s.at(9*time.Minute, func() {
		require.Empty(t, s.world.Log("evict"))
		require.Contains(t, queued(s.status(), app).Message, "lifeboat approve shop/app --cluster m1")
		one = s.ordered(workflows.UpdateApprove, by(queue.ScopeOf(app)))
	})
	s.at(11*time.Minute, func() { require.Equal(t, reason.PingPong, queued(s.status(), other).Reason) })
	s.play()
	require.Contains(t, all.value, "2 bindings, 0 of them waited for it")
	require.Contains(t, one.value, "1 bindings, 1 of them waited for it")
	require.InDelta(t, (9 * time.Minute).Seconds(), s.movedAt()["shop/app"].Seconds(), 30, "it does not wait for the next look")
	require.Equal(t, []string{"shop/app"}, slices.Sorted(maps.Keys(s.movedAt())))
}

// Those that wait for health have a bound of their own: then nothing more moves,
// and an operator is asked to look.
// Rules: R4.4-5, R4.4-6.
func TestTooManyThatWaitForHealthStopTheDispatchVisibly(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Waiting = 2
	s.bindAll([]string{"a", "b", "c", "d"}, "m1", "m2", "m3")
	s.world.HealthyAfter = 6 * time.Minute
	s.outage(25 * time.Minute)
	s.at(5*time.Minute, func() {
		status := s.status()
		require.Equal(t, []reason.Reason{reason.WaitingFull}, status.Attention)
		require.Equal(t, map[reason.Reason]int{reason.WaitingFull: 2}, status.WaitingBy)
		require.Len(t, status.Migrations, 2)
		require.Len(t, status.Items, 2)
		require.Len(t, s.world.Log("evict"), 2)
	})
	s.at(25*time.Minute-time.Second, func() { require.Empty(t, s.status().Attention) })
	require.Equal(t, map[string]phase.Outcome{"a": "Migrated", "b": "Migrated", "c": "Migrated", "d": "Migrated"}, outcomes(s.play()))
}

// Rules: R4.4-4.
func TestTheWindowBoundsWhatIsInFlight(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.InFlight = 2
	s.bindAll([]string{"a", "b", "c", "d", "e"}, "m1", "m2", "m3")
	s.world.ScheduleAfter = 2 * time.Minute
	s.outage(20 * time.Minute)
	s.at(2*time.Minute, func() {
		status := s.status()
		require.Len(t, status.Migrations, 2)
		require.Equal(t, map[reason.Reason]int{reason.WindowFull: 3}, status.WaitingBy)
	})
	require.Len(t, outcomes(s.play()), 5)
	require.Len(t, s.world.Log("evict"), 5)
}

// Priority first, then who has been due for longer, then the name; and nobody
// before its time, however urgent.
// Rules: R4.4-1, R4.4-2, R4.5-22.
func TestTheMostUrgentGoesFirstAndNobodyBeforeItsTime(t *testing.T) {
	s := newStory(t)
	tolerate := func(name string, priority int32, seconds int64) {
		key := s.bind(name, []string{"m1"}, "m1", "m2", "m3")
		s.world.Change(key, func(b *karmada.Binding) {
			b.Priority = priority
			b.Placement.ClusterTolerations = tolerations(seconds)
		})
	}
	tolerate("d-late", 9, 120)
	tolerate("c-low", 0, 0)
	tolerate("b-low", 0, 0)
	tolerate("z-high", 5, 0)
	tolerate("a-later", 0, 30)
	s.bind("nowhere", []string{"m1"}, "m1")
	s.outage(10 * time.Minute)
	s.play()
	var order []string
	for _, w := range s.world.Log("evict") {
		order = append(order, w.Binding)
	}
	require.GreaterOrEqual(t, s.evictedAt("d-late"), addAfter+2*time.Minute)
	require.Equal(t, []string{"shop/z-high", "shop/b-low", "shop/c-low", "shop/a-later", "shop/d-late"}, order)
}

func tolerations(seconds int64) []corev1.Toleration {
	if seconds == 0 {
		return nil
	}
	return []corev1.Toleration{{
		Key: taintKey, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
	}}
}

// However many are due at different times, one timer waits for the next of them.
//
// Rules: R4.4-3.
func TestOneTimerStandsForTheNextDueItem(t *testing.T) {
	s := newStory(t)
	s.settings.Pace.EvictionRate = 100
	for n := range 30 {
		key := s.bind(fmt.Sprintf("app%02d", n), []string{"m1"}, "m1", "m2", "m3")
		s.world.Change(key, func(b *karmada.Binding) { b.Placement.ClusterTolerations = tolerations(int64(300 + n)) })
	}
	open, looks := map[string]bool{}, 0
	s.env.SetOnTimerScheduledListener(func(id string, _ time.Duration) { open[id] = true })
	gone := func(id string) { delete(open, id) }
	s.env.SetOnTimerFiredListener(gone)
	s.env.SetOnTimerCanceledListener(gone)
	for at := addAfter + 10*time.Second; at < addAfter+290*time.Second; at += 7 * time.Second {
		s.at(at, func() {
			require.Len(t, s.status().Items, 30)
			require.LessOrEqual(t, len(open), 2, "thirty are due, and only the story's host may wait as well")
			looks++
		})
	}
	s.outage(15 * time.Minute)
	s.play()
	require.NotZero(t, looks)
	evictions := s.world.Log("evict")
	require.Len(t, evictions, 30)
	tainted := s.world.Log("taint")[0].At
	for n, w := range evictions {
		require.Equal(t, fmt.Sprintf("shop/app%02d", n), w.Binding)
		require.GreaterOrEqual(t, w.At.Sub(tainted), time.Duration(300+n)*time.Second-time.Second)
	}
}

func TestStatus_MoveAndTolerating_TellSinceWhenAndUntilWhen(t *testing.T) {
	s, _ := outage(t, 25*time.Minute)
	s.tolerates(s.bind("patient", []string{"m1"}, "m1", "m2"), 600)
	s.world.HealthyAfter = 6 * time.Minute
	s.at(5*time.Minute, func() {
		status := s.status()
		m := status.Migrations["shop/app"]
		require.Equal(t, phase.MigrationAwaitingHealth, m.Phase)
		require.True(t, m.Entered.After(m.Since), "the phase began after the move")
		require.Len(t, status.Items, 1)
		require.Equal(t, queue.Tolerating, status.Items[0].State)
		left := status.Items[0].RetryAt.Sub(status.Now)
		require.Greater(t, left, 5*time.Minute)
		require.Less(t, left, 10*time.Minute)
	})
	s.play()
}

// A pre-check of a large batch takes its time: orders and the cluster's recovery do not wait for it.
//
// Rules: R4.6-50.
func TestPreCheck_TakesLong_HoldsNothingUp(t *testing.T) {
	s, _ := outage(t, addAfter+20*time.Second)
	s.slow = map[string]time.Duration{activities.NamePreCheck: time.Minute}
	s.at(addAfter+10*time.Second, func() {
		require.Equal(t, queue.Due, s.status().Items[0].State)
		s.order(workflows.UpdatePause, "look first")
	})
	s.at(addAfter+15*time.Second, func() { require.NotNil(t, s.status().Paused) })
	s.at(addAfter+40*time.Second, func() { require.Equal(t, phase.FailoverRecovering, s.status().Phase) })
	require.Equal(t, map[string]phase.Outcome{"app": "Abandoned"}, outcomes(s.play()))
	require.Empty(t, s.world.Log("evict"))
}

// A webhook that cannot be called refuses every write: the API server says so, and who
// asks why a binding stands reads it there.
func TestAWriteThatDidNotStandSaysWhatTheServerSaid(t *testing.T) {
	const said = `Internal error occurred: failed calling webhook "work.karmada.io": connection refused`
	s, key := outage(t, 10*time.Minute)
	s.fails("evict", fmt.Errorf("patch resourcebindings shop/app: %w: %s", karmada.ErrUnreachable, strings.ReplaceAll(said, ": ", ":\n\t\x1b")))
	s.at(4*time.Minute, func() {
		require.Equal(t, "the write did not stand: "+said, s.blocked(reason.Unverified).Message)
		require.Contains(t, s.explain(key).Item.Message, said)
		require.Contains(t, s.page(), "failed calling webhook")
	})
	s.play()
}

// What nobody can place is blocked with its reason, and looked at again as soon as the
// binding itself changes, however long its back-off.
//
// Rules: R4.6-18, R4.6-19, R4.6-23.
func TestABlockedBindingIsLookedAtAgainWhenItChanges(t *testing.T) {
	for reason, block := range map[reason.Reason]func(b *karmada.Binding, on bool){
		reason.SchedulingSuspended:   func(b *karmada.Binding, on bool) { b.SchedulingSuspended = on },
		reason.NotSupportedPlacement: func(b *karmada.Binding, on bool) { b.Unclaimed = on },
		reason.ForeignScheduler: func(b *karmada.Binding, on bool) {
			if b.SchedulerName = karmada.DefaultSchedulerName; on {
				b.SchedulerName = "another"
			}
		},
	} {
		t.Run(string(reason), func(t *testing.T) {
			s, key := outage(t, 20*time.Minute)
			s.settings.Terms.Recheck = time.Hour
			s.world.Change(key, func(b *karmada.Binding) { block(b, true) })
			looked := false
			s.at(4*time.Minute, func() {
				s.blocked(reason)
				require.Empty(t, s.world.Log("evict"))
				s.world.Change(key, func(b *karmada.Binding) { block(b, false); b.Generation++ })
				b := s.world.Peek(key)
				s.bindingsChanged(proof.BindingFact{Key: key, UID: b.UID, ResourceVersion: b.ResourceVersion})
				looked = true
			})
			s.at(6*time.Minute, func() { require.Len(t, s.world.Log("evict"), 1, "it does not wait for its back-off") })
			r := s.play()
			require.True(t, looked)
			require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
		})
	}
}

// Rules: R4.6-45, R4.6-46.
func TestFailover_KindThatStays_EndsSkippedOnceUntilItIsAnnotated(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Audit = true
	claim := func(name string) karmada.BindingKey {
		key := s.bind(name, []string{"m1"}, "m1", "m2")
		s.world.Change(key, func(b *karmada.Binding) {
			b.Replicas, b.Workload = 0, false
			b.Resource.APIVersion, b.Resource.Kind = "v1", "PersistentVolumeClaim"
		})
		return key
	}
	claim("stays")
	asked := claim("asked")
	s.world.ChangeCluster("m2", func(c *karmada.Cluster) { c.APIEnablements = append(c.APIEnablements, "v1/PersistentVolumeClaim") })
	s.outage(20 * time.Minute)
	s.at(10*time.Minute, func() {
		s.world.Change(asked, func(b *karmada.Binding) { b.Annotations = map[string]string{karmada.AnnotationEnabled: "true"} })
	})
	require.Equal(t, map[string]phase.Outcome{"stays": phase.OutcomeSkipped, "asked": phase.OutcomeMigrated}, outcomes(s.play()))
	ended := map[string]int{}
	for _, record := range s.trail.Records() {
		if record.Reason == reason.KindStays {
			for _, binding := range record.Bindings {
				ended[binding]++
			}
		}
	}
	require.Equal(t, map[string]int{"shop/stays": 1, "shop/asked": 1}, ended, "not once more at every listing")
}

// fleetOrder gives the pacer an order.
func (s *story) fleetOrder(update string) {
	s.t.Helper()
	s.accept(s.update(workflows.FleetPacerID(""), update, "fleet "+update, jane))
}

// evictedAfterAHalt is how long after its taint a binding was evicted that tolerates
// it for a minute, when the fleet was halted for three of them meanwhile.
func evictedAfterAHalt(t *testing.T, freeze bool) time.Duration {
	t.Helper()
	s, key := outage(t, 10*time.Minute)
	s.settings.Terms.FreezeWhenHalted = freeze
	s.tolerates(key, 60)
	s.at(80*time.Second, func() {
		require.Len(t, s.world.Log("taint"), 1)
		s.fleetOrder(workflows.UpdateHalt)
	})
	s.at(260*time.Second, func() {
		require.Empty(t, s.world.Log("evict"))
		s.fleetOrder(workflows.UpdateResume)
	})
	s.play()
	require.Len(t, s.world.Log("evict"), 1)
	return s.world.Log("evict")[0].At.Sub(s.world.Log("taint")[0].At)
}

// The configured tolerations stand in for bindings without any of their own.
//
// Rules: R4.3-10.
func TestDefaultTolerationsStandInForBindingsWithoutAny(t *testing.T) {
	s, _ := outage(t, time.Hour)
	s.settings.DefaultTolerations = tolerations(1200)
	s.tolerates(s.bind("own", []string{"m1"}, "m1", "m2"), 60)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "own": "Migrated"}, outcomes(s.play()))
	require.GreaterOrEqual(t, s.evictedAt("app"), addAfter+20*time.Minute)
	require.Less(t, s.evictedAt("own"), s.evictedAt("app"))
}

// Kubernetes halts evictions in a full disruption while the timers of its taints run
// on (kubernetes#70501, enhancements#5263, kubernetes#110114, #131182): whatever was
// tolerated meanwhile moves at once when it goes on. Here a halt stops the clocks.
// Rules: R4.3-20, R4.5-26.
func TestKubernetes70501And5263AHaltStopsTolerationClocks(t *testing.T) {
	frozen, running := evictedAfterAHalt(t, true), evictedAfterAHalt(t, false)
	require.GreaterOrEqual(t, frozen, 4*time.Minute-time.Second, "its minute, and the three of the halt")
	require.GreaterOrEqual(t, running, 3*time.Minute, "no eviction while halted")
	require.Less(t, running, frozen, "where configured, the clock runs on")
}

// One of two taints goes while the other stays: who tolerates the other for ever does
// not move any more.
// Rules: R4.3-16, R4.3-17.
func TestKubernetes90794ATaintThatGoesCallsOffItsEvictionsThoughAnotherStays(t *testing.T) {
	s, key := withApp(t)
	const stays = "example.com/stays"
	s.world.Change(key, func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = append(tolerations(120), corev1.Toleration{Key: stays, Operator: corev1.TolerationOpExists})
	})
	s.bind("other", []string{"m1"}, "m1", "m2")
	s.world.PutTaint("m1", corev1.Taint{Key: stays, Effect: corev1.TaintEffectNoExecute})
	s.world.PutTaint("m1", corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoExecute})
	s.at(time.Minute, func() { s.world.DropTaint("m1", taintKey) })
	s.at(6*time.Minute, func() { s.world.DropTaint("m1", stays) })
	require.Equal(t, map[string]phase.Outcome{"app": "Abandoned", "other": "Migrated"}, outcomes(s.play()))
	require.Len(t, s.world.Log("evict"), 1, "only what the taint that stays moves")
}

// Twenty thousand bindings, cut into runs again and again: they go in the one global
// order, and when the cluster comes back each of them has exactly one outcome.
//
// Rules: R4.4-1, R4.4-7, R4.4-14.
func TestTwentyThousandBindingsKeepTheirOrderOverManyRuns(t *testing.T) {
	n, patience := 20_000, 3*time.Minute
	if more := os.Getenv("LIFEBOAT_CROWD"); more != "" { // make crowd
		var err error
		n, err = strconv.Atoi(more)
		require.NoError(t, err)
		patience = 2 * time.Hour
	}
	s := newStory(t)
	s.env.SetTestTimeout(patience)
	c := &continueOften{after: 40, runs: map[string]int{}}
	s.intercept(c)
	s.followChildren()
	s.settings.Pace.EvictionRate = 5
	s.settings.Terms.Detection = 5 * time.Second
	want := make([]queue.Rank, 0, n)
	for i := range n {
		key := s.bind(fmt.Sprintf("app-%05d", i*7919%n), []string{"m1"}, "m1", "m2", "m3")
		priority := int32(i % 100) //nolint:gosec // below 100
		s.world.Change(key, func(b *karmada.Binding) { b.Priority = priority })
		want = append(want, queue.Rank{Key: key, Priority: priority})
	}
	slices.SortFunc(want, queue.Compare)
	s.world.SetReady("m1", false)
	recovers := false
	for i := range 300 {
		// Activities take the time of this machine: the story goes on when enough has moved.
		s.at(70*time.Second+time.Duration(2*i)*time.Second*time.Duration(n)/20_000, func() {
			if recovers || len(s.world.Log("evict")) < 30 {
				return
			}
			recovers = true
			s.world.SetReady("m1", true)
		})
	}
	begun := time.Now()
	r := s.play()
	evictions := s.world.Log("evict")
	// Not logged: with -v a story tells every step, and this one has too many.
	_, _ = fmt.Fprintf(os.Stdout, "%d bindings, %d evictions, %d runs, %s\n",
		n, len(evictions), c.runs[workflows.TypeClusterFailover], time.Since(begun).Round(time.Millisecond))
	require.GreaterOrEqual(t, len(evictions), 30)
	require.Greater(t, c.runs[workflows.TypeClusterFailover], 2)
	// The permits are given in order. The writes may cross: a machine that is busy lets a permit
	// pass unused, and its binding gets a later one.
	require.GreaterOrEqual(t, len(c.moved), len(evictions))
	for i, key := range c.moved {
		require.Equal(t, want[i].Key.String(), key, "the %d. of all", i)
	}
	last := r.Attempts[len(r.Attempts)-1]
	require.Equal(t, map[string]int{"Migrated": len(evictions), "Abandoned": n - len(evictions)}, last.Counts)
	require.Equal(t, n, len(last.Results)+last.Folded)
}
