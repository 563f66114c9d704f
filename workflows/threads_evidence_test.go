package workflows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
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
// created anew.
// Rules: R4.1-40, R4.9-12, R4.9-21.
func TestLiqo1194AShortOutageCreatesNothingAnew(t *testing.T) {
	for name, c := range map[string]struct {
		back   time.Duration
		writes int
	}{
		"back before the window has run out":     {back: addAfter - 5*time.Second, writes: 0},
		"back before the new copy has its place": {back: 4 * time.Minute, writes: 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			key := unplaceable(s)
			before := s.workOn(key, "m1")
			require.NotEmpty(t, before)
			s.looks = append(s.looks, func() { require.Equal(t, before, s.workOn(key, "m1")) })
			s.world.SetReady("m1", false)
			s.at(c.back, func() { s.world.SetReady("m1", true) })
			s.play()
			require.Len(t, s.world.Log(""), c.writes, "%v", s.world.Log(""))
			require.Equal(t, before, s.workOn(key, "m1"), "the copy that ran is the copy that runs")
			require.Empty(t, s.workOn(key, "m2"))
			require.Empty(t, s.world.Leftovers())
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
	s.bind("ours", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.at(addAfter+time.Minute, func() {
		for _, key := range []karmada.BindingKey{whole, shared} {
			s.world.Change(key, func(b *karmada.Binding) { b.Clusters = []karmada.TargetCluster{{Name: "m2", Replicas: 2}} })
		}
	})
	s.at(6*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"whole": "MovedByOthers", "shared": "MovedByOthers", "ours": "Migrated"}, outcomes(r))
	for _, w := range s.world.Log("") {
		require.NotContains(t, []string{whole.String(), shared.String()}, w.Binding, "%+v", w)
	}
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
		b.Placement.ClusterTolerations = []corev1.Toleration{{Key: "maintenance", Operator: corev1.TolerationOpExists}}
	})
	s.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
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
		s.world.DropTaint("m1", "maintenance")
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
	s.world.SetReady("m1", false)
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
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
	s.world.SetReady("m1", false)
	for i := range 30 {
		s.at(time.Duration(i)*7*time.Second+3*time.Second, func() {
			s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Labels["heartbeat"] = time.Duration(i).String() })
		})
	}
	before := 0
	s.at(addAfter-time.Second, func() { before = c.runs[workflows.TypeClusterFailover] })
	s.at(8*time.Minute, func() { s.world.SetReady("m1", true) })
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
	s := newStory(t)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.world.Change(s.bind(name, []string{"m1"}, "m1", "m2"), func(b *karmada.Binding) {
			b.Placement.ClusterTolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			b.Priority = 9
		})
	}
	s.bind("pinned", []string{"m1"}, "m1")
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "pinned": "Abandoned"}, outcomes(r))
	require.Equal(t, 1, s.pacer.used)
	require.Less(t, s.evictedAt("app")-s.world.Log("taint")[0].At.Sub(storyBegins), time.Minute)
}

// At edge sites everything is made to tolerate every taint, so that nothing moves when the
// site is cut off. One opt-out of the cluster says the same of all that stands there.
// Rules: R4.3-2, R4.3-18.
func TestPolicyGenerator148AndAIEdge170AnEdgeSiteIsOptedOutAndNothingMoves(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.tolerant(s.bind("tolerant", []string{"m1"}, "m1", "m2"))
	s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Annotations[karmada.AnnotationEnabled] = "false" })
	s.world.SetReady("m1", false)
	s.at(time.Hour, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, phase.FailoverFalseAlarm, r.Ended)
	require.Empty(t, s.world.Log(""), "not even a taint")
}

// An eviction request without a requester is cancelled: a move lives while some reason
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
			s := newStory(t)
			key := s.bind("app", []string{"m1"}, "m1", "m2")
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
