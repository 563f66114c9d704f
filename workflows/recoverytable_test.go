package workflows_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// comesBetween is when something comes in between, in the stories of the recovery table; by then
// each has long come to where it stands.
const comesBetween = time.Minute

// happening is what comes in between.
type happening string

const (
	recovers   happening = "the cluster recovers"
	cancelled  happening = "an operator cancels the failover"
	inTheUI    happening = "the failover is cancelled in the UI"
	oneOnly    happening = "an operator cancels this move"
	oneInTheUI happening = "this move is cancelled in the UI"
	putsBack   happening = "the cluster recovers, an operator cancels the failover with put-back"
	failsAgain happening = "the cluster recovers, and fails again before that is over"
)

// ending is what becomes of the binding, and where it then is.
type ending struct {
	outcome phase.Outcome
	on      string // its targets
	task    string // reason of the task that is left, empty for none
}

var (
	abandoned = ending{outcome: phase.OutcomeAbandoned, on: "m1"}
	restored  = ending{outcome: phase.OutcomeRestored, on: "m1"}
	migrated  = ending{outcome: phase.OutcomeMigrated, on: "m2"}
	left      = ending{outcome: phase.OutcomeNeedsOperator, on: "m2", task: karmada.TaskReasonNeedsOperator}
	kept      = ending{outcome: phase.OutcomeKept, on: "m2", task: karmada.TaskReasonKept}
)

// row is one place where a migration can stand, and what the table says of it.
type row struct {
	arrange func(*story, karmada.BindingKey)
	queued  queue.State     // where it stands, in the queue
	phase   phase.Migration // or in a migration; neither: it has ended
	// early comes in between as soon as the first eviction was tried.
	early bool
	ends  map[happening]ending
	// writes are those on the binding when the cluster recovers.
	writes []string
}

// same is a row in which who cancels gets the same, in whatever way.
func same(r, byOperator ending, more map[happening]ending) map[happening]ending {
	out := map[happening]ending{recovers: r, cancelled: byOperator, inTheUI: byOperator, oneOnly: byOperator, oneInTheUI: byOperator}
	for h, e := range more {
		out[h] = e
	}
	return out
}

// queuedRow is same for what has no migration yet.
func queuedRow() map[happening]ending {
	out := same(abandoned, abandoned, nil)
	delete(out, oneInTheUI)
	return out
}

func tolerating(s *story, key karmada.BindingKey) {
	seconds := int64(600)
	s.world.Change(key, func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = []corev1.Toleration{{Key: maintenance, Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}
	})
}

// noFit cordons the only candidate as soon as the eviction stands.
func noFit(s *story, _ karmada.BindingKey) {
	s.onEvict(func() { s.world.PutTaint("m2", corev1.Taint{Key: "cordon", Effect: corev1.TaintEffectNoSchedule}) })
}

// onEvict does something right after the first eviction.
func (s *story) onEvict(do func()) {
	done := false
	before := s.world.Lost
	s.world.Lost = func(op, key string) bool {
		if op == "evict" && !done {
			done = true
			s.at(time.Millisecond, do)
		}
		return before != nil && before(op, key)
	}
}

func slow(s *story, _ karmada.BindingKey) { s.world.HealthyAfter = 15 * time.Minute }

// quickRelease lets the hold go soon, although the source answers.
func quickRelease(s *story, _ karmada.BindingKey) { s.settings.Terms.Detection = 5 * time.Second }

func purged(mode karmada.PurgeMode) func(*story, karmada.BindingKey) {
	return func(s *story, key karmada.BindingKey) { s.purging(key, mode) }
}

func all(arrange ...func(*story, karmada.BindingKey)) func(*story, karmada.BindingKey) {
	return func(s *story, key karmada.BindingKey) {
		for _, a := range arrange {
			a(s, key)
		}
	}
}

// recoveryTable is the recovery table, by where a migration stands.
func recoveryTable() map[string]row {
	return map[string]row{
		"tolerating": {arrange: tolerating, queued: queue.Tolerating, ends: queuedRow()},
		"blocked": {
			arrange: func(s *story, key karmada.BindingKey) {
				s.world.Change(key, func(b *karmada.Binding) { b.Placement.ClusterAffinity.ClusterNames = []string{"m1"} })
			},
			queued: queue.Blocked, ends: queuedRow(),
		},
		"waiting for its turn": {
			arrange: func(s *story, _ karmada.BindingKey) { s.settings.Terms.InFlight = 0 },
			queued:  queue.Ready, ends: queuedRow(),
		},
		"waiting for a fence": {
			arrange: all(purged(karmada.PurgeDirectly), func(s *story, _ karmada.BindingKey) { s.world.SetReady("m1", false) }),
			phase:   phase.MigrationAwaitingFence, ends: same(abandoned, abandoned, nil),
		},
		"checking, and nothing was written": {
			arrange: func(s *story, _ karmada.BindingKey) { s.fails("evict", errors.New("the connection broke")) },
			phase:   phase.MigrationEvicting, early: true, ends: same(abandoned, abandoned, nil),
		},
		"checking, and it was written": {
			arrange: func(s *story, key karmada.BindingKey) {
				s.world.Lost = func(op, _ string) bool { return op == "evict" }
				noFit(s, key)
			},
			phase: phase.MigrationEvicting, early: true, writes: []string{"evict", "restore"}, ends: same(restored, restored, nil),
		},
		"evicted, no answer yet, and it will be no": {
			arrange: all(noFit, func(s *story, _ karmada.BindingKey) { s.world.ScheduleAfter = 3 * time.Minute }),
			phase:   phase.MigrationPlacing, writes: []string{"evict", "restore"},
			ends: same(restored, restored, map[happening]ending{failsAgain: restored}),
		},
		"evicted, no answer yet, and it will be a placement": {
			arrange: func(s *story, _ karmada.BindingKey) { s.world.ScheduleAfter = 3 * time.Minute },
			phase:   phase.MigrationPlacing, writes: []string{"evict", "release"},
			ends: same(migrated, left, map[happening]ending{failsAgain: migrated}),
		},
		"evicted, no fit": {
			arrange: noFit, phase: phase.MigrationPlacing, writes: []string{"evict", "restore"}, ends: same(restored, restored, nil),
		},
		"evicted with Directly, no fit": {
			arrange: all(noFit, purged(karmada.PurgeDirectly), func(s *story, key karmada.BindingKey) {
				s.at(10*time.Minute, func() { s.world.DropTaint("m2", "cordon"); s.world.Requeue(key) })
			}),
			phase: phase.MigrationPlacing, writes: []string{"evict", "release"}, ends: same(migrated, restored, nil),
		},
		"evicted with Never, no fit": {
			arrange: all(noFit, purged(karmada.PurgeNever)), phase: phase.MigrationPlacing, writes: []string{"evict", "restore"}, ends: same(restored, restored, nil),
		},
		"placed with Directly, the old copy is going": {
			arrange: all(purged(karmada.PurgeDirectly), func(s *story, _ karmada.BindingKey) { s.world.DeleteAfter = 12 * time.Minute }),
			phase:   phase.MigrationAwaitingFence, writes: []string{"evict", "release"},
			ends: same(migrated, left, map[happening]ending{putsBack: left, failsAgain: migrated}),
		},
		"placed, not healthy": {
			arrange: slow, phase: phase.MigrationAwaitingHealth, writes: []string{"evict", "release"},
			ends: same(migrated, left, map[happening]ending{putsBack: restored, failsAgain: migrated}),
		},
		"placed, healthy, not for long enough": {
			phase: phase.MigrationAwaitingHealth, writes: []string{"evict", "release"},
			ends: same(migrated, left, map[happening]ending{putsBack: restored, failsAgain: migrated}),
		},
		"placed, and it would go straight back": {
			arrange: func(s *story, key karmada.BindingKey) {
				s.world.Change(key, func(b *karmada.Binding) { b.Placement.SpreadConstraints = nil })
			},
			phase: phase.MigrationAwaitingHealth, writes: []string{"evict", "restore"},
			ends: same(ending{outcome: phase.OutcomeRestored, on: "m1 m2"}, left, map[happening]ending{
				putsBack: {outcome: phase.OutcomeRestored, on: "m1 m2"}, failsAgain: migrated,
			}),
		},
		"releasing": {
			arrange: all(quickRelease, func(s *story, _ karmada.BindingKey) {
				s.fails("release", karmada.ErrUnreachable)
				s.at(5*time.Minute, func() { s.world.Fail = nil })
			}),
			phase: phase.MigrationReleasing, writes: []string{"evict", "release"},
			ends: same(migrated, left, map[happening]ending{putsBack: restored, failsAgain: migrated}),
		},
		"purging": {
			arrange: all(quickRelease, func(s *story, _ karmada.BindingKey) { s.world.DeleteAfter = 12 * time.Minute }),
			phase:   phase.MigrationPurging, writes: []string{"evict", "release"},
			ends: map[happening]ending{recovers: migrated, cancelled: migrated, inTheUI: migrated, oneInTheUI: migrated, failsAgain: migrated},
		},
		"kept for good": {
			arrange: all(quickRelease, purged(karmada.PurgeNever)), writes: []string{"evict", "mark"},
			ends: map[happening]ending{recovers: kept, cancelled: kept, inTheUI: kept},
		},
	}
}

// Every row of the recovery table, with everything that can come in between, and with
// what stands in the binding afterwards. A cancel in Temporal's UI is a cancel.
//
// Rules: R4.9-5, R4.9-10, R4.9-11, R4.9-12, R4.9-13, R4.9-14, R4.9-16, R4.9-17, R4.9-18, R4.9-19,
// R4.9-31, R4.9-32, R4.9-33, R4.9-34, R4.9-35, R4.9-36, R4.9-37, R4.9-43, R4.9-52.
func TestTheRecoveryTable(t *testing.T) {
	for name, r := range recoveryTable() {
		for h, want := range r.ends {
			t.Run(name+"/"+string(h), func(t *testing.T) {
				t.Parallel()
				playRow(t, r, h, want)
			})
		}
	}
}

func playRow(t *testing.T, r row, h happening, want ending) {
	s, key := withApp(t)
	s.cancellable()
	if r.arrange != nil {
		r.arrange(s, key)
	}
	s.maintain()
	stood := false
	comes := func() {
		stood = true
		s.standsAt(r)
		s.happens(h, key)
	}
	if r.early {
		s.afterTheFirstEviction(comes)
	} else {
		s.at(comesBetween, comes)
	}
	if h != recovers && h != putsBack { // those begin with it
		s.at(8*time.Minute, s.well)
	}
	s.run()
	report := s.report
	require.True(t, stood)

	attempts := 1
	if h == failsAgain {
		attempts = 2
	}
	require.Len(t, report.Attempts, attempts)
	var got []phase.Outcome
	for _, attempt := range report.Attempts {
		for _, result := range attempt.Results {
			got = append(got, result.Outcome)
		}
	}
	require.Equal(t, []phase.Outcome{want.outcome}, got, "one outcome: %+v", report.Attempts)
	ended := phase.FailoverRecovered
	if h == cancelled || h == inTheUI || h == putsBack {
		ended = phase.FailoverCancelled
	}
	require.Equal(t, ended, report.Ended)
	s.standsThere(key, want)
	if h == recovers {
		require.Equal(t, r.writes, s.writesOn(key))
	}
}

// well takes everything away that speaks against m1.
func (s *story) well() {
	if c := s.world.PeekCluster("m1"); !c.Ready() {
		s.world.SetReady("m1", true)
	}
	s.world.DropTaint("m1", maintenance)
}

// standsAt asserts that app stands where the row says.
func (s *story) standsAt(r row) {
	status := s.status()
	move, moving := status.Migrations["shop/app"]
	require.Equal(s.t, r.phase != "", moving, "%+v", status.Items)
	if r.phase != "" && !r.early { // its report comes when the answer is known
		require.Equal(s.t, r.phase, s.standing(karmada.BindingKey{Namespace: "shop", Name: "app"}).Phase, "%s", move.Reason)
	}
	if r.queued != "" {
		item, is := s.queued()
		require.True(s.t, is)
		require.Equal(s.t, r.queued, item.State)
	}
}

func (s *story) happens(h happening, key karmada.BindingKey) {
	switch h {
	case recovers:
		s.well()
	case cancelled:
		s.order(workflows.UpdateCancel, "it was us")
	case inTheUI:
		s.cancelInTheUI(workflows.ClusterFailoverID("", "m1"))
	case oneOnly:
		s.must(workflows.UpdateCancel, key, false)
	case oneInTheUI:
		s.cancelInTheUI(s.migration(key))
	case putsBack:
		s.well()
		s.at(time.Second, func() { s.must(workflows.UpdateCancel, karmada.BindingKey{}, true) })
	case failsAgain:
		s.well()
		s.at(10*time.Second, func() {
			require.Equal(s.t, phase.FailoverSettling, s.status().Phase)
			s.maintain()
		})
	}
}

// afterTheFirstEviction does something a second after the first attempt, whatever became of it.
func (s *story) afterTheFirstEviction(do func()) {
	tried, fail := false, s.world.Fail
	s.world.Fail = func(op, key string) error {
		if op == "evict" && !tried {
			tried = true
			s.at(time.Second, do)
		}
		if fail != nil {
			return fail(op, key)
		}
		return nil
	}
}

// standsThere asserts where a binding is at the end, and what is left in it.
func (s *story) standsThere(key karmada.BindingKey, want ending) {
	b := s.world.Peek(key)
	var on []string
	for _, target := range b.Clusters {
		require.EqualValues(s.t, 2, target.Replicas)
		on = append(on, target.Name)
	}
	slices.Sort(on)
	require.Equal(s.t, want.on, strings.Join(on, " "))
	task, _ := b.TaskFor("m1")
	if want.task == "" {
		require.Nil(s.t, task)
	} else {
		require.NotNil(s.t, task)
		require.Equal(s.t, want.task, task.Reason)
		if want == left {
			require.Equal(s.t, cmp.Or(karmada.PurgeMode(b.Annotations[karmada.AnnotationPurgeMode]), karmada.PurgeGracefully), task.PurgeMode)
		}
		if task.PurgeMode != karmada.PurgeDirectly {
			require.Contains(s.t, s.world.Copies(key), "m1", "and both copies with it")
		}
	}
	require.Empty(s.t, s.world.Leftovers())
}

// writesOn are the operations on one binding, in their order.
func (s *story) writesOn(key karmada.BindingKey) []string {
	var out []string
	for _, w := range s.world.Log("") {
		if w.Binding == key.String() {
			out = append(out, w.Op)
		}
	}
	return out
}

// A deleted binding ends its migration as Gone, wherever that stands.
//
// Rules: R4.7-39, R4.9-52.
func TestADeletedBindingEndsItsMigrationAtEveryPhase(t *testing.T) {
	rows := recoveryTable()
	restoring := rows["evicted, no answer yet, and it will be no"]
	restoring.phase = phase.MigrationRestoring
	rows["restoring"] = restoring
	seen := map[phase.Migration]bool{phase.MigrationDone: true}
	for name, r := range rows {
		if r.phase == "" {
			continue // nothing of Lifeboat's runs for it
		}
		seen[r.phase] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, key := withApp(t)
			if r.arrange != nil {
				r.arrange(s, key)
			}
			s.maintain()
			deleted := func() {
				s.standsAt(r)
				s.world.DeleteBinding(key)
			}
			switch {
			case r.early:
				s.afterTheFirstEviction(deleted)
			case name == "restoring":
				s.at(comesBetween, s.well)
				s.at(comesBetween+5*time.Second, deleted)
			default:
				s.at(comesBetween, deleted)
			}
			s.at(8*time.Minute, s.well)
			report := s.play()
			require.Equal(t, phase.OutcomeGone, s.appResult().Outcome, "%+v", s.appResult())
			require.Len(t, report.Attempts[0].Results, 1)
			require.Less(t, s.appResult().At.Sub(storyBegins), 8*time.Minute, "nobody has to come for that")
		})
	}
	seen[phase.MigrationChecking] = true // TestAParentThatWaitsForItsPermitLetsGoAtEveryEnd
	for _, phase := range []phase.Migration{
		phase.MigrationChecking, phase.MigrationEvicting, phase.MigrationAwaitingFence, phase.MigrationPlacing,
		phase.MigrationAwaitingHealth, phase.MigrationReleasing, phase.MigrationPurging, phase.MigrationRestoring, phase.MigrationDone,
	} {
		require.True(t, seen[phase], "no row stands at %s", phase)
	}
}

// However long a new copy takes, the old one is held. The timeout only raises the flag.
//
// Rules: R4.7-19, R4.7-37.
func TestGracefulTimeoutRaisesTheFlagAndDeletesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*story, karmada.BindingKey)
		end     phase.Outcome
	}{
		"not healthy": {arrange: func(s *story, _ karmada.BindingKey) { s.world.HealthyAfter = 3 * time.Hour }, end: phase.OutcomeMigrated},
		"no fit":      {arrange: noFit, end: phase.OutcomeRestored},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := outage(t, 2*time.Hour)
			c.arrange(s, key)
			timeout := addAfter + s.settings.Terms.GracefulTimeout
			s.at(timeout-time.Minute, func() { require.Empty(t, s.status().Migrations["shop/app"].Attention) })
			s.at(2*time.Hour-time.Second, func() {
				move := s.status().Migrations["shop/app"]
				require.NotEmpty(t, move.Attention)
				require.Equal(t, reason.GracefulTimeout, s.standing(key).Attention)
				task := s.task(key)
				require.NotNil(t, task)
				require.True(t, *task.SuppressDeletion)
				require.True(t, s.world.HasWork(key, "m1"), "the old copy stays")
				require.Equal(t, []string{"evict"}, s.writesOn(key))
			})
			require.Equal(t, c.end, s.playApp().Outcome)
		})
	}
}

// The conditions turn bad again while the removal window runs: nothing was abandoned or
// restored, and the same attempt goes on, wherever a migration stands. When the window has then
// passed, the recovery table applies.
//
// Rules: R4.9-1, R4.9-2, R4.9-10, R4.9-12, R4.9-14.
func TestBadAgainWhileRecoveringIsTheSameAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*story, karmada.BindingKey)
		want    ending
	}{
		"tolerating":          {arrange: func(s *story, key karmada.BindingKey) { s.tolerates(key, 1200) }, want: abandoned},
		"no fit":              {arrange: noFit, want: restored},
		"placed, not healthy": {arrange: slow, want: migrated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, key := outage(t, 9*time.Minute)
			c.arrange(s, key)
			var before []string
			s.at(4*time.Minute, func() { before = s.writesOn(key); s.world.SetReady("m1", true) })
			s.at(4*time.Minute+wellFor/2, func() {
				require.Equal(t, phase.FailoverRecovering, s.status().Phase)
				late := s.bind("late", []string{"m1"}, "m1", "m3")
				require.Empty(t, s.writesOn(late))
			})
			s.at(4*time.Minute+wellFor-5*time.Second, func() {
				require.Empty(t, s.writesOn(karmada.BindingKey{Namespace: "shop", Name: "late"}), "nothing new is dispatched")
				s.world.SetReady("m1", false)
			})
			s.at(5*time.Minute, func() {
				status := s.status()
				require.Contains(t, []phase.Failover{phase.FailoverEvacuating, phase.FailoverEvacuated}, status.Phase)
				require.Equal(t, 1, status.Attempt)
				require.NotContains(t, outcomesOf(status.Results), "app")
				require.Equal(t, before, s.writesOn(key), "neither abandoned nor restored")
			})
			r := s.play()
			require.Len(t, r.Attempts, 1)
			require.Equal(t, want(c.want, "late"), outcomes(r))
			s.standsThere(key, c.want)
		})
	}
}

// want are the outcomes of app and of another that has moved.
func want(e ending, other string) map[string]phase.Outcome {
	return map[string]phase.Outcome{"app": e.outcome, other: phase.OutcomeMigrated}
}

// Somebody scales a binding while its old copy is held and nothing else fits. What comes
// back is what the cluster had, and no more than the binding has now; the rest is the scheduler's to divide.
//
// Rules: R4.9-21, R4.9-26.
func TestARestoreAfterAChangeOfReplicas(t *testing.T) {
	for name, c := range map[string]struct {
		replicas, back int32 // of the binding, and what the restore puts back
	}{"scaled up": {replicas: 6, back: 4}, "scaled down": {replicas: 3, back: 3}, "scaled to 0": {replicas: 0, back: 0}, "not scaled": {replicas: 4, back: 4}} {
		t.Run(name, func(t *testing.T) {
			s, key := outage(t, 5*time.Minute)
			s.world.Change(key, func(b *karmada.Binding) {
				b.Replicas, b.Clusters[0].Replicas = 4, 4
				b.Placement.ReplicaScheduling = &karmada.ReplicaScheduling{Type: karmada.SchedulingDivided, DivisionPreference: karmada.DivisionWeighted}
			})
			s.settings.RoomUnknownOK = true
			noFit(s, key)
			back := int32(-1)
			s.world.OnWrite = func(w world.Write, _, after karmada.Binding) {
				if w.Op == "restore" {
					target, _ := after.Target("m1")
					back = target.Replicas
				}
			}
			s.at(3*time.Minute, func() {
				if c.replicas != 4 {
					s.world.Edit(key, func(b *karmada.Binding) { b.Replicas = c.replicas })
				}
			})
			require.Equal(t, phase.OutcomeRestored, s.playApp().Outcome, s.appResult().Message)
			require.Equal(t, c.back, back)
			b := s.world.Peek(key)
			require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: c.replicas}}, b.Clusters)
		})
	}
}

// A stopped failover keeps its record until nothing has matched for the whole removal
// window, counted from the last match, and closes then. Meanwhile no rule is applied.
//
// Rules: R4.9-38, R4.9-39, R4.9-41.
func TestTemporalWeb210And486AStoppedFailoverWaitsUntilNothingHasMatchedForTheWholeWindow(t *testing.T) {
	s, _ := failing(t)
	tolerant := s.bind("tolerates", []string{"m1"}, "m1", "m2")
	s.tolerates(tolerant, 3600)
	s.at(3*time.Minute, func() { s.order(workflows.UpdateCancel, "it was us") })
	record := func() {
		c := s.world.PeekCluster("m1")
		require.NotNil(t, c.Stopped)
		require.Equal(t, "jane", c.Stopped.Who)
		require.Equal(t, "it was us", c.Stopped.Why)
		require.Equal(t, s.status().FailoverID, c.Stopped.FailoverID)
		require.Empty(t, c.Added, "no rule is applied")
		require.Equal(t, phase.FailoverStopped, s.status().Phase)
	}
	s.at(10*time.Minute, func() { record(); s.world.SetReady("m1", true) })
	const almost = wellFor - 2*time.Second
	s.at(10*time.Minute+almost, func() { record(); s.world.SetReady("m1", false) })
	const last = 20 * time.Minute
	s.at(last, func() { record(); s.world.SetReady("m1", true) })
	s.at(last+almost, record)
	r := s.playTo(phase.FailoverCancelled)
	require.Len(t, r.Attempts, 1)
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), last+wellFor)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "tolerates": "Abandoned"}, outcomes(r))
	require.Nil(t, s.world.PeekCluster("m1").Stopped)
	require.Len(t, s.world.Log("evict"), 1)
}

// A failover and its migration were terminated. What the next one finds of them it takes
// over, each by where it stands: onwards while the cluster fails, and by the recovery table
// once it is well. It knows no policy: the task itself says how the old copy goes.
//
// Rules: R4.8-11, R4.9-46, R4.9-48, R4.9-53.
func TestWhatATerminatedFailoverLeftIsAdoptedWhereItStands(t *testing.T) {
	for name, c := range map[string]struct {
		fails   bool
		arrange func(*story, karmada.BindingKey)
		want    ending
		writes  []string
	}{
		"well, no fit": {fails: false, arrange: unplacedNow, want: restored, writes: []string{"restore"}},
		"well, placed": {fails: false, arrange: placedNow, want: migrated, writes: []string{"release"}},
		"well, placed, and it would go straight back": {fails: false, arrange: all(placedNow, func(s *story, key karmada.BindingKey) {
			s.world.Change(key, func(b *karmada.Binding) { b.Placement.SpreadConstraints = nil })
		}), want: ending{outcome: phase.OutcomeRestored, on: "m1 m2"}, writes: []string{"restore"}},
		"well, Directly, placed": {fails: false, arrange: all(placedNow, taskMode(karmada.PurgeDirectly)), want: migrated, writes: []string{"release"}},
		"well, Never":            {fails: false, arrange: all(placedNow, taskMode(karmada.PurgeNever)), want: kept, writes: []string{"mark"}},
		"well, put back by the scheduler": {fails: false, arrange: func(s *story, key karmada.BindingKey) {
			s.holdNow(key, "m1")
		}, want: restored, writes: []string{"restore"}},
		"fails, no fit": {fails: true, arrange: all(unplacedNow, fitsLater), want: migrated, writes: []string{"release"}},
		"fails, placed": {fails: true, arrange: placedNow, want: migrated, writes: []string{"release"}},
		"fails, put back by the scheduler": {fails: true, arrange: func(s *story, key karmada.BindingKey) {
			s.holdNow(key, "m1")
		}, want: migrated, writes: []string{"evict", "release"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, key := withApp(t)
			c.arrange(s, key)
			if c.fails {
				s.maintain()
				s.at(12*time.Minute, s.well)
			}
			require.Equal(t, c.want.outcome, s.playApp().Outcome)
			require.Equal(t, c.writes, s.writesOn(key))
			s.standsThere(key, c.want)
		})
	}
}

// holdNow lets a hold task for m1 stand that a terminated migration wrote, with targets.
func (s *story) holdNow(key karmada.BindingKey, on ...string) {
	s.held(key)
	s.world.Change(key, func(b *karmada.Binding) {
		b.Clusters = nil
		for _, name := range on {
			b.Clusters = append(b.Clusters, karmada.TargetCluster{Name: name, Replicas: 2})
			up := b.Status.Aggregated[0]
			up.Cluster = name
			b.Status.Aggregated = append(b.Status.Aggregated, up)
		}
		b.Generation++
		b.Status.ObservedGeneration = b.Generation
	})
}

func placedNow(s *story, key karmada.BindingKey) { s.holdNow(key, "m2") }

// unplacedNow: the scheduler has answered that nothing fits.
func unplacedNow(s *story, key karmada.BindingKey) {
	s.world.PutTaint("m2", corev1.Taint{Key: "cordon", Effect: corev1.TaintEffectNoSchedule})
	s.holdNow(key)
	s.world.Change(key, func(b *karmada.Binding) {
		b.Status.Scheduled = &karmada.Condition{
			Type: "Scheduled", Status: corev1.ConditionFalse, Reason: proof.ScheduledNoClusterFit, LastTransition: s.env.Now(),
		}
	})
}

func fitsLater(s *story, key karmada.BindingKey) {
	s.at(5*time.Minute, func() { s.world.DropTaint("m2", "cordon"); s.world.Requeue(key) })
}

func taskMode(mode karmada.PurgeMode) func(*story, karmada.BindingKey) {
	return func(s *story, key karmada.BindingKey) {
		s.world.Change(key, func(b *karmada.Binding) { b.Tasks[0].PurgeMode = mode })
	}
}
