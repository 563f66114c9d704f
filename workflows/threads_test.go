package workflows_test

import (
	"slices"
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

// The tests of this file are named after public threads about what counts as a failure,
// about who moved what, and about why nothing moved. docs/results/threads.md lists all of them.

// workOn is the uid of a binding's Work on a cluster, empty where there is none.
func (s *story) workOn(key karmada.BindingKey, cluster string) string {
	work, err := s.world.Work(s.t.Context(), "karmada-es-"+cluster, key.Namespace+"-"+key.Name)
	if err != nil || work.Deleting {
		return ""
	}
	return string(work.UID)
}

// A short outage repatriated every offloaded pod at once; users wanted theirs not to be
// created again.
// Rules: R4.1-40, R4.9-12, R4.9-21.
func TestLiqo1194AShortOutageCreatesNothingAnew(t *testing.T) {
	for name, c := range map[string]struct {
		back   time.Duration
		writes int
		end    phase.Failover
	}{
		"back before the window has run out":     {back: addAfter - 5*time.Second, writes: 0, end: phase.FailoverFalseAlarm},
		"back before the new copy has its place": {back: 4 * time.Minute, writes: 4, end: phase.FailoverRecovered},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			key := unplaceable(s)
			before := s.workOn(key, "m1")
			require.NotEmpty(t, before)
			s.looks = append(s.looks, func() { require.Equal(t, before, s.workOn(key, "m1")) })
			s.outage(c.back)
			s.playTo(c.end)
			require.Len(t, s.world.Log(""), c.writes, "%v", s.world.Log(""))
			require.Equal(t, before, s.workOn(key, "m1"), "the copy that ran is the copy that runs")
			require.Empty(t, s.workOn(key, "m2"))
		})
	}
}

// With failover off, any scale or update while a cluster is not Ready has Karmada's
// scheduler move replicas by itself: 1 and 1 become 0 and 2. What others move is told
// as theirs, and nothing of Lifeboat's is written on it.
// Rules: R4.7-15.
func TestKarmada6951And1640And1717WhatOthersMoveIsToldAsTheirs(t *testing.T) {
	s := newStory(t)
	whole := s.bind("whole", []string{"m1"}, "m1", "m2")
	s.tolerates(whole, 120)
	shared := s.bind("shared", []string{"m1", "m2"}, "m1", "m2", "m3")
	s.tolerates(shared, 120)
	s.world.Change(shared, func(b *karmada.Binding) {
		b.Placement.ReplicaScheduling.Type = karmada.SchedulingDivided
		b.Clusters[0].Replicas, b.Clusters[1].Replicas = 1, 1
	})
	s.bind("own", []string{"m1"}, "m1", "m2")
	s.outage(6 * time.Minute)
	s.at(addAfter+time.Minute, func() {
		for _, key := range []karmada.BindingKey{whole, shared} {
			s.returns(key, "m2")
		}
	})
	require.Equal(t, map[string]phase.Outcome{"whole": "MovedByOthers", "shared": "MovedByOthers", "own": "Migrated"}, outcomes(s.play()))
	for _, w := range s.world.Log("") {
		require.NotContains(t, []string{whole.String(), shared.String()}, w.Binding, "%+v", w)
	}
}

// The owner deletes workloads that wait: nobody moved them. One comes back under its name, on the failed cluster:
// both have their outcome.
// Rules: R4.7-39, R4.9-52.
func TestWhatIsDeletedInTheQueueIsGone(t *testing.T) {
	s := newStory(t)
	keys := map[string]karmada.BindingKey{}
	for _, name := range []string{"deleted", "again", "theirs", "out"} {
		keys[name] = s.bind(name, []string{"m1"}, "m1", "m2")
		s.tolerates(keys[name], 120)
	}
	s.outage(6 * time.Minute)
	s.at(addAfter+time.Minute, func() {
		for _, name := range []string{"deleted", "again"} {
			s.world.DeleteBinding(keys[name])
		}
		s.bind("again", []string{"m1"}, "m1", "m2")
		s.returns(keys["theirs"], "m2")
		s.world.Change(keys["out"], func(b *karmada.Binding) { b.Annotations = map[string]string{karmada.AnnotationEnabled: "false"} })
		s.bindingsChanged(proof.BindingFact{Key: keys["deleted"], Deleted: true})
	})
	ends := map[string][]phase.Outcome{}
	for _, r := range s.play().Attempts[0].Results {
		ends[r.Key.Name] = append(ends[r.Key.Name], r.Outcome)
	}
	require.Equal(t, map[string][]phase.Outcome{
		"deleted": {phase.OutcomeGone}, "again": {phase.OutcomeGone, phase.OutcomeMigrated}, "theirs": {phase.OutcomeMovedByOthers},
		"out": {phase.OutcomeSkipped},
	}, ends)
}

// "I put a NoExecute taint and nothing happened": no task, a replica that stays. What
// moves moves at once, and each of the others says why it does not.
// Rules: R4.1-13, R4.3-6, R4.6-1, R4.6-10, R4.6-18.
func TestKarmada3623And3194And744ATaintMovesAtOnceOrSaysWhyNot(t *testing.T) {
	s := newStory(t)
	s.bind("moves", []string{"m1"}, "m1", "m2")
	s.bind("pinned", []string{"m1"}, "m1")
	s.world.Change(s.bind("spread", []string{"m1", "m2"}, "m1", "m2"), func(b *karmada.Binding) {
		b.Placement.SpreadConstraints[0].MinGroups = 2
	})
	s.world.Change(s.bind("suspended", []string{"m1"}, "m1", "m2"), func(b *karmada.Binding) { b.SchedulingSuspended = true })
	bears := s.bind("bears", []string{"m1"}, "m1", "m2")
	s.world.Change(bears, func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = []corev1.Toleration{{Key: maintenance, Operator: corev1.TolerationOpExists}}
	})
	s.maintain()
	s.at(3*time.Minute, func() {
		why := map[string]reason.Reason{}
		for _, i := range s.status().Items {
			if i.Key == bears {
				require.NotEqual(t, queue.Blocked, i.State)
				continue
			}
			require.Equal(t, queue.Blocked, i.State)
			require.NotEmpty(t, i.Message, "%+v", i)
			why[i.Key.Name] = i.Reason
		}
		require.Equal(t, map[string]reason.Reason{
			"pinned": reason.Pinned, "spread": reason.SpreadUnsatisfied, "suspended": reason.SchedulingSuspended,
		}, why)
		s.world.DropTaint("m1", maintenance)
	})
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{
		"moves": "Migrated", "pinned": "Abandoned", "spread": "Abandoned", "suspended": "Abandoned",
	}, outcomes(r), "what bears the taint for ever owes no outcome")
	require.Len(t, s.world.Log("evict"), 1)
}

// A toleration of five seconds took between 12 and 29 minutes: what is waited for is
// what was asked for, not a resync.
// Rules: R4.3-5, R4.4-2.
func TestKarmada4208FiveSecondsAreFiveSeconds(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.ClusterPoll = time.Hour
	s.tolerates(s.bind("app", []string{"m1"}, "m1", "m2"), 5)
	s.outage(10 * time.Minute)
	s.play()
	late := s.evictedAt("app") - s.world.Log("taint")[0].At.Sub(storyBegins)
	require.GreaterOrEqual(t, late, 5*time.Second)
	require.Less(t, late, 2*time.Minute)
}

// The clock of an application failover was in memory: each change of the leader started
// it again. Here each fact is answered by a new run.
// Rules: R4.1-17, R4.1-26, R4.4-14.
func TestKarmada7181And7171ANewRunNeitherRestartsNorShortensAWindow(t *testing.T) {
	s := newStory(t)
	c := &continueOften{after: 2, runs: map[string]int{}}
	s.intercept(c)
	s.tolerates(s.bind("app", []string{"m1"}, "m1", "m2"), 60)
	s.outage(8 * time.Minute)
	for i := range 30 {
		s.at(time.Duration(i)*7*time.Second+3*time.Second, func() {
			s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Labels["heartbeat"] = time.Duration(i).String() })
		})
	}
	before := 0
	s.at(addAfter-time.Second, func() { before = c.runs[workflows.TypeClusterFailover] })
	s.play()
	require.Greater(t, before, 1, "the window itself was cut")
	tainted, evicted := s.world.Log("taint")[0].At.Sub(storyBegins), s.evictedAt("app")
	require.GreaterOrEqual(t, tainted, addAfter)
	require.Less(t, tainted, 3*addAfter, "facts came every 7 s for 210 s: a clock that restarts would not have fired")
	require.GreaterOrEqual(t, evicted-tainted, time.Minute, "nor does a toleration run out early")
	require.Less(t, evicted-tainted, 3*time.Minute)
}

// Bindings that tolerate a taint for ever took the slots of the rate limiter, and the
// others crawled.
// Rules: R4.3-6, R4.5-22.
func TestKarmada7612WhoToleratesForEverCostsNoPermit(t *testing.T) {
	s, _ := outage(t, 5*time.Minute)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.world.Change(s.bind(name, []string{"m1"}, "m1", "m2"), func(b *karmada.Binding) {
			b.Placement.ClusterTolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			b.Priority = 9
		})
	}
	s.bind("pinned", []string{"m1"}, "m1")
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "pinned": "Abandoned"}, outcomes(s.play()))
	require.Equal(t, 1, s.pacer.used)
	require.Less(t, s.evictedAt("app")-s.world.Log("taint")[0].At.Sub(storyBegins), time.Minute)
}

// At edge sites everything is made to tolerate every taint, so that nothing moves when the
// site is cut off. One opt-out of the cluster says the same of all that stands there.
// Rules: R4.3-2, R4.3-18.
func TestPolicyGenerator148AndAIEdge170AnEdgeSiteIsOptedOutAndNothingMoves(t *testing.T) {
	s, _ := outage(t, time.Hour)
	s.tolerant(s.bind("tolerant", []string{"m1"}, "m1", "m2"))
	s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Annotations[karmada.AnnotationEnabled] = "false" })
	s.playTo(phase.FailoverFalseAlarm)
	require.Empty(t, s.world.Log(""), "not even a taint")
}

// An eviction request without a requester is cancelled: a migration lives while some reason
// still asks for it, whichever asked first.
// Rules: R4.1-25, R4.3-16, R4.3-17.
func TestKubernetesEnhancement4565AMoveLivesWhileAReasonAsksForIt(t *testing.T) {
	for name, c := range map[string]struct {
		goes    []string
		evicted int
	}{
		"both reasons go":           {goes: []string{"first", "second"}, evicted: 0},
		"the first one goes":        {goes: []string{"first"}, evicted: 1},
		"the one that came second":  {goes: []string{"second"}, evicted: 1},
		"both stay until it is due": {evicted: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := withApp(t)
			seconds := int64(180)
			s.world.Change(key, func(b *karmada.Binding) {
				b.Placement.ClusterTolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}
			})
			for _, k := range []string{"first", "second"} {
				s.world.PutTaint("m1", corev1.Taint{Key: k, Effect: corev1.TaintEffectNoExecute})
			}
			drop := func(keys ...string) {
				for _, k := range keys {
					s.world.DropTaint("m1", k)
				}
			}
			s.at(90*time.Second, func() { drop(c.goes...) })
			s.at(10*time.Minute, func() { drop("first", "second") })
			r := s.play()
			require.Len(t, s.world.Log("evict"), c.evicted)
			want := phase.OutcomeMigrated
			if c.evicted == 0 {
				want = phase.OutcomeAbandoned
			}
			require.Equal(t, want, outcomes(r)["app"])
			require.False(t, slices.ContainsFunc(s.world.Log("evict"), func(w world.Write) bool { return w.At.Sub(storyBegins) < 3*time.Minute }))
		})
	}
}

// A flaky readyz, and a binding that can run nowhere else. Once tainted, a cluster that flaps gets its removal window
// again each time: it is tainted once, and untainted once.
// Rules: R4.1-21, R4.9-2, R4.9-10.
func TestKarmada5803And5899AFlakyClusterTakesNothingFromWhoHasNowhereToGo(t *testing.T) {
	s, _ := outage(t, 15*time.Minute)
	stays := s.bind("stays", []string{"m1"}, "m1")
	for i := range 12 {
		at := 3*time.Minute + time.Duration(i)*time.Minute
		s.at(at, func() { s.world.SetReady("m1", true) })
		s.at(at+wellFor-5*time.Second, func() { s.world.SetReady("m1", false) })
	}
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "stays": "Abandoned"}, outcomes(r))
	require.Len(t, r.Attempts, 1, "it never stayed well for the whole window")
	require.Len(t, s.world.Log("evict"), 1)
	require.Len(t, s.world.Log("taint"), 2)
	b := s.world.Peek(stays)
	require.Equal(t, "m1", b.Clusters[0].Name)
	require.Empty(t, b.Tasks)
}

// The cluster is back while its copy there still runs beside the new one: it is
// shown, goes on until the new one runs, and only then the old one goes. The failure is over only when
// the last move has ended.
// Rules: R4.9-7, R4.9-8, R4.9-14, R4.9-16, R4.9-18.
func TestKarmada3167AndRamen2268And1981BothCopiesAreSeenUntilTheNewOneRuns(t *testing.T) {
	s, key := slowHealth(t)
	s.outage(3 * time.Minute)
	s.at(10*time.Minute, func() {
		require.Empty(t, s.world.PeekCluster("m1").Added, "what is placed does not delay the untaint")
		require.Len(t, s.world.Peek(key).Tasks, 1, "and is not cut short by it")
		st := s.standing(key)
		require.True(t, st.Placed)
		require.Equal(t, phase.MigrationAwaitingHealth, st.Phase)
	})
	r := s.play()
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	require.GreaterOrEqual(t, s.sinceEviction(), s.world.HealthyAfter)
	require.False(t, r.Until.Before(s.world.Log("release")[0].At))
}

// It fails and is back quickly: for a moment the same cluster stood in spec.clusters and
// in a task. Each of Lifeboat's writes moves it from one to the other.
// Rules: R4.7-7, R4.9-12, R4.9-21.
func TestKarmada3283NoClusterIsTargetAndUnderEvictionAtOnce(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	held := 0
	s.world.OnWrite = func(w world.Write, _, after karmada.Binding) {
		_, target := after.Target("m1")
		task, _ := after.TaskFor("m1")
		require.Equal(t, target < 0, task != nil, "%s: a target or held, never both, never neither", w.Op)
		if task != nil {
			held++
		}
	}
	s.outage(addAfter + 20*time.Second)
	require.Equal(t, map[string]phase.Outcome{"app": "Restored"}, outcomes(s.play()))
	require.Positive(t, held)
	b := s.world.Peek(key)
	require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 2}}, b.Clusters)
}

// The network was away and comes back, and a member in pull mode deleted everything that it had. What did not
// move is wanted there as before; what moved is shown as pending purge until it is gone.
// Rules: R4.7-36, R4.8-12, R4.9-1, R4.9-10, R4.9-36.
func TestKarmada5406And2364AMemberThatIsBackDeletesOnlyWhatMoved(t *testing.T) {
	s := newStory(t)
	moves := s.bind("moves", []string{"m1"}, "m1", "m2")
	stays := s.bind("stays", []string{"m1"}, "m1")
	before := s.workOn(stays, "m1")
	require.NotEmpty(t, before)
	s.outage(10 * time.Minute)
	s.at(10*time.Minute-time.Second, func() {
		owed := s.status().PendingPurges
		require.Len(t, owed, 1, "what waits to be deleted there is shown while it is away")
		require.Equal(t, moves, owed[0].Key)
		require.Equal(t, before, s.workOn(stays, "m1"))
	})
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"moves": "Migrated", "stays": "Abandoned"}, outcomes(r))
	require.Equal(t, before, s.workOn(stays, "m1"), "not deleted and made again")
	require.Equal(t, "m1", s.world.Peek(stays).Clusters[0].Name)
	require.False(t, s.world.HasWork(moves, "m1"))
	require.Equal(t, "m2", s.world.Peek(moves).Clusters[0].Name, "what was released is listed, not returned")
	require.Empty(t, r.PendingPurges, "paid")
	require.Less(t, s.evictedAt("moves"), 10*time.Minute)
	require.Len(t, s.world.Log("evict"), 1, "nothing is dispatched once it is back")
}

// Getting away from a cluster that did not answer hung on steps which needed it, and a
// condition that had flipped never flipped back. Here everything that moves is at its end
// while the cluster is silent, and what is owed there is paid once it answers.
// Rules: R4.7-36, R4.8-12.
func TestRamen1139And329NoStepWaitsForTheDeadCluster(t *testing.T) {
	s := newStory(t)
	s.bindAll([]string{"a", "b", "c"}, "m1", "m2")
	s.outage(time.Hour)
	s.at(time.Hour-time.Second, func() {
		status := s.status()
		require.Empty(t, status.Migrations, "nobody waits for it")
		require.Equal(t, map[string]int{"Migrated": 3}, status.Counts)
		require.Len(t, status.PendingPurges, 3)
		require.Equal(t, phase.FailoverEvacuated, status.Phase)
	})
	r := s.play()
	require.Empty(t, r.PendingPurges, "paid")
}

// The hub was lost with everything that the orchestrator knew: it is rebuilt from what
// is found, and where that does not tell, an operator is waited for.
// Rules: R4.5-30, R4.5-31, R4.9-46, R4.9-47, R4.9-48, R4.9-53.
func TestRamen1165And2038WhatIsLostIsRebuiltFromKarmada(t *testing.T) {
	s := newStory(t)
	next := s.bind("next", []string{"m1"}, "m1", "m2")
	moved := s.bind("moved", []string{"m2"}, "m1", "m2")
	s.held(moved)
	s.leave("not-ready", corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoExecute})
	s.outage(20 * time.Minute)
	s.at(10*time.Minute, func() {
		require.Empty(t, s.world.Peek(moved).Tasks, "what had begun is finished")
		require.Equal(t, reason.StateLost, s.status().Pace.Reason)
		require.Empty(t, s.world.Log("evict"), "nobody knows what was granted: an operator says when it goes on")
		s.fleetOrder(workflows.UpdateResume)
	})
	require.Equal(t, map[string]phase.Outcome{"next": "Migrated", "moved": "Migrated"}, outcomes(s.play()))
	require.Equal(t, "m2", s.world.Peek(next).Clusters[0].Name)
}
