package workflows_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
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

// tooOften asks the pacer whether shop/app, and another, were moved too often.
func (p *pacing) tooOften() map[string]time.Time {
	p.t.Helper()
	value, err := p.env.QueryWorkflow(workflows.QueryMovedTooOften, workflows.MovedTooOften{Bindings: []string{"shop/app", "shop/other"}})
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
			require.Empty(t, p.tooOften())
			p.used(number, "shop/app")
			p.used(number, "shop/app") // its activity and its migration both say so
		})
	}
	p.at(5*time.Minute, func() {
		until := p.tooOften()
		require.Len(t, until, 1, "nobody else is held back")
		require.WithinDuration(t, began.Add(61*time.Minute), until["shop/app"], 2*time.Second)
	})
	p.at(62*time.Minute, func() { require.Empty(t, p.tooOften(), "the first of its moves is more than an hour ago") })
	p.run(63 * time.Minute)
}

// Rules: R4.4-10.
func TestABindingThatMovedTooOftenIsBlockedWithThatReason(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.pacer.tooOften = true
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() {
		items := s.status().Items
		require.Len(t, items, 1)
		require.Equal(t, queue.Blocked, items[0].State)
		require.Equal(t, reason.PingPong, items[0].Reason)
		require.Greater(t, items[0].RetryAt.Sub(s.env.Now()), time.Minute)
		s.world.SetReady("m6", false) // the fleet changes: that does not make it younger
	})
	s.at(4*time.Minute, func() {
		require.Equal(t, 1, s.pacer.asked)
		s.world.SetReady("m6", true)
	})
	s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Abandoned"}, outcomes(r))
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
	s.world.SetReady("m1", false)
	var all, one *answer
	s.at(3*time.Minute, func() { all = s.ordered(workflows.UpdateApprove, by(queue.Scope{All: true})) })
	s.at(9*time.Minute, func() {
		require.Empty(t, s.world.Log("evict"))
		require.Contains(t, queued(s.status(), app).Message, "lifeboat approve shop/app --cluster m1")
		one = s.ordered(workflows.UpdateApprove, by(queue.ScopeOf(app)))
	})
	s.at(11*time.Minute, func() { require.Equal(t, reason.PingPong, queued(s.status(), other).Reason) })
	s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Contains(t, all.value, "2 bindings, 0 of them waited for it")
	require.Contains(t, one.value, "1 bindings, 1 of them waited for it")
	require.InDelta(t, (9 * time.Minute).Seconds(), s.movedAt()["shop/app"].Seconds(), 30, "it does not wait for the next look")
	require.Equal(t, []string{"shop/app"}, slices.Sorted(maps.Keys(s.movedAt())))
}

// Those that wait for health have a bound of their own: then nothing more moves,
// and a human is asked to look.
// Rules: R4.4-5, R4.4-6.
func TestTooManyThatWaitForHealthStopTheDispatchVisibly(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Waiting = 2
	for i := range 4 {
		s.bind(fmt.Sprintf("app%d", i), []string{"m1"}, "m1", "m2", "m3")
	}
	s.world.HealthyAfter = 6 * time.Minute
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() {
		status := s.status()
		require.Equal(t, []reason.Reason{reason.WaitingFull}, status.Attention)
		require.Equal(t, map[reason.Reason]int{reason.WaitingFull: 2}, status.WaitingBy)
		require.Len(t, status.Moves, 2)
		require.Len(t, status.Items, 2)
		for _, i := range status.Items {
			require.Equal(t, reason.WaitingFull, i.Reason)
		}
		require.Len(t, s.world.Log("evict"), 2)
	})
	s.at(25*time.Minute, func() {
		require.Empty(t, s.status().Attention)
		s.world.SetReady("m1", true)
	})
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app0": "Migrated", "app1": "Migrated", "app2": "Migrated", "app3": "Migrated"}, outcomes(r))
}

// Rules: R4.4-4.
func TestTheWindowBoundsWhatIsInFlight(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.InFlight = 2
	for i := range 5 {
		s.bind(fmt.Sprintf("app%d", i), []string{"m1"}, "m1", "m2", "m3")
	}
	s.world.ScheduleAfter = 2 * time.Minute
	s.world.SetReady("m1", false)
	s.at(2*time.Minute, func() {
		status := s.status()
		require.Len(t, status.Moves, 2)
		require.Len(t, status.Items, 3)
		for _, i := range status.Items {
			require.Equal(t, reason.WindowFull, i.Reason)
		}
	})
	s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Len(t, outcomes(r), 5)
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
	s.world.SetReady("m1", false)
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	var order []string
	var tainted time.Time
	for _, w := range s.world.Log("") {
		switch {
		case w.Op == "taint" && tainted.IsZero():
			tainted = w.At
		case w.Op == "evict":
			order = append(order, w.Binding)
			if w.Binding == "shop/d-late" {
				require.GreaterOrEqual(t, w.At.Sub(tainted), 2*time.Minute)
			}
		}
	}
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
	s.world.SetReady("m1", false)
	s.at(15*time.Minute, func() { s.world.SetReady("m1", true) })
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
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	seconds := int64(600)
	s.world.Change(s.bind("patient", []string{"m1"}, "m1", "m2"), func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}
	})
	s.world.HealthyAfter = 6 * time.Minute
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() {
		status := s.status()
		m := status.Moves["shop/app"]
		require.Equal(t, phase.MigrationAwaitingHealth, m.Phase)
		require.True(t, m.Entered.After(m.Since), "the phase began after the move")
		require.Len(t, status.Items, 1)
		require.Equal(t, queue.Tolerating, status.Items[0].State)
		left := status.Items[0].RetryAt.Sub(status.Now)
		require.Greater(t, left, 5*time.Minute)
		require.Less(t, left, 10*time.Minute)
	})
	s.at(25*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
}

// A pre-check of a large batch takes its time: orders and the cluster's recovery do not wait for it.
//
// Rules: R4.6-50.
func TestPreCheck_TakesLong_HoldsNothingUp(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.checks = time.Minute
	s.world.SetReady("m1", false)
	s.at(addAfter+10*time.Second, func() {
		require.Equal(t, queue.Due, s.status().Items[0].State)
		s.order(workflows.UpdatePause, "look first")
	})
	s.at(addAfter+15*time.Second, func() { require.NotNil(t, s.status().Paused) })
	s.at(addAfter+20*time.Second, func() { s.world.SetReady("m1", true) })
	s.at(addAfter+40*time.Second, func() { require.Equal(t, phase.FailoverRecovering, s.status().Phase) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Abandoned"}, outcomes(r))
	require.Empty(t, s.world.Log("evict"))
}
