package workflows_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
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
	cancelled  happening = "a human cancels the failover"
	inTheUI    happening = "the failover is cancelled in the UI"
	oneOnly    happening = "a human cancels this move"
	oneInTheUI happening = "this move is cancelled in the UI"
	putsBack   happening = "the cluster recovers, a human cancels the failover with put-back"
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

// same is a row in which whoever cancels gets the same, in whatever way.
func same(r, byHuman ending, more map[happening]ending) map[happening]ending {
	out := map[happening]ending{recovers: r, cancelled: byHuman, inTheUI: byHuman, oneOnly: byHuman, oneInTheUI: byHuman}
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
			arrange: func(s *story, _ karmada.BindingKey) {
				s.world.Fail = func(op, _ string) error {
					if op == "evict" {
						return errors.New("the connection broke")
					}
					return nil
				}
			},
			phase: phase.MigrationEvicting, early: true, ends: same(abandoned, abandoned, nil),
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
				s.world.Fail = func(op, _ string) error {
					if op == "release" && s.env.Now().Before(storyBegins.Add(5*time.Minute)) {
						return karmada.ErrUnreachable
					}
					return nil
				}
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
	s := newStory(t)
	s.cancellable()
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	if r.arrange != nil {
		r.arrange(s, key)
	}
	s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
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
	report := s.play()
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
	move, moving := status.Moves["shop/app"]
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
			s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
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
