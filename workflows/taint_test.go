package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// taints orders a taint of m1, or the end of it, as jane.
func (s *story) taints(verb, taint string) *answer {
	o := workflows.TaintOrder{Order: workflows.Order{Who: "jane", Reason: "disks"}, Taint: taint}
	return s.update(workflows.ClusterFailoverID("", "m1"), verb, verb+taint+s.env.Now().String(), o)
}

// Rules: R4.1-42, R4.1-43, R4.2-4, R4.3-4.
func TestATaintByOrderMovesWhatDoesNotTolerateItUntilUntaint(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2", "m3")
	s.bind("stays", []string{"m1"}, "m1")
	s.tolerant(s.bind("tolerant", []string{"m1"}, "m1", "m2"))
	s.keepOpen()
	var put, gone *answer
	s.at(time.Second, func() { put = s.taints(workflows.UpdateTaint, "disks=old:NoExecute") })
	s.at(3*time.Minute, func() {
		c := s.world.PeekCluster("m1")
		require.Equal(t, "jane", c.Ordered[0].Who)
		require.Equal(t, "disks", c.Ordered[0].Why)
		require.Len(t, c.Added, 2, "the taint and Lifeboat's NoSchedule")
		require.Equal(t, karmada.TaintRule, c.Added[0].Rule)
		require.Len(t, s.world.Log("release"), 1)
	})
	s.at(4*time.Minute, func() { gone = s.taints(workflows.UpdateUntaint, "") })
	r := s.play()

	require.NoError(t, put.err)
	require.NoError(t, gone.err)
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Less(t, r.Until.Sub(storyBegins), 4*time.Minute+wellFor, "its end has no window")
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "stays": "Abandoned"}, outcomes(r))
	require.Empty(t, s.world.Leftovers())
}

// A cluster that fails meanwhile goes on under its own rules when the order has ended.
//
// Rules: R4.1-43.
func TestUntaintLeavesWhatARuleAndWhatOthersPut(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.keepOpen()
	s.at(time.Second, func() { s.taints(workflows.UpdateTaint, "disks:NoExecute") })
	s.at(time.Minute, func() { s.world.SetReady("m1", false) })
	var ruled, theirs, none *answer
	s.at(3*time.Minute, func() {
		s.world.PutTaint("m1", corev1.Taint{Key: "theirs", Effect: corev1.TaintEffectNoExecute})
		ruled = s.taints(workflows.UpdateUntaint, taintKey+":NoExecute")
	})
	s.at(3*time.Minute+30*time.Second, func() {
		theirs = s.taints(workflows.UpdateUntaint, "theirs:NoExecute")
		none = s.taints(workflows.UpdateUntaint, "nobodys:NoExecute")
		s.taints(workflows.UpdateUntaint, "disks:NoExecute")
	})
	s.at(4*time.Minute, func() {
		c := s.world.PeekCluster("m1")
		require.Empty(t, c.Ordered)
		require.True(t, karmada.OursAdded(c, corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoExecute}), "the rule's taint stays")
		require.Equal(t, "theirs", karmada.Foreign(c)[0].Key)
		require.False(t, karmada.OursAdded(c, corev1.Taint{Key: "disks", Effect: corev1.TaintEffectNoExecute}))
		s.world.DropTaint("m1", "theirs")
		s.world.SetReady("m1", true)
	})
	r := s.play()
	require.ErrorContains(t, ruled.err, "follows from rule")
	require.ErrorContains(t, theirs.err, "is not Lifeboat's")
	require.ErrorContains(t, none.err, "does not carry")
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.1-42, R4.9-42.
func TestACancelEndsTheOrderOfATaint(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.keepOpen()
	var again *answer
	s.at(time.Second, func() { s.taints(workflows.UpdateTaint, "disks:NoExecute") })
	s.at(50*time.Second, func() { s.world.SetReady("m1", false) })
	s.at(time.Minute, func() { s.order(workflows.UpdateCancel, "no") })
	left := -1
	s.at(2*time.Minute, func() {
		left = len(s.world.PeekCluster("m1").Ordered)
		s.world.SetReady("m1", true)
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Ordered = nil }) // a story that fails has an end, too
	})
	s.at(time.Minute+30*time.Second, func() { again = s.taints(workflows.UpdateTaint, "disks:NoExecute") })
	r := s.play()
	require.ErrorContains(t, again.err, "stopped by")
	require.Zero(t, left, "the order went with Lifeboat's taints")
	require.Equal(t, phase.FailoverCancelled, r.Ended)
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.15-7.
func TestATaintInObserveIsRefusedAndWritesNothing(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.keepOpen()
	var a *answer
	s.at(time.Second, func() { a = s.taints(workflows.UpdateTaint, "disks:NoExecute") })
	s.play()
	require.ErrorContains(t, a.err, "observes")
	require.Empty(t, s.world.Log(""))
}

// Rules: R4.9-44, R4.1-42.
func TestTaintOrdersThatMakeNoSenseAreRefused(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.keepOpen()
	jane := workflows.Order{Who: "jane", Reason: "disks"}
	said := map[string]*answer{}
	s.at(time.Second, func() {
		for what, o := range map[string]struct {
			verb  string
			order workflows.TaintOrder
		}{
			"no taint":           {verb: workflows.UpdateTaint, order: workflows.TaintOrder{Order: jane}},
			"nobody":             {verb: workflows.UpdateTaint, order: workflows.TaintOrder{Taint: "disks:NoExecute"}},
			"what moves nothing": {verb: workflows.UpdateTaint, order: workflows.TaintOrder{Order: jane, Taint: "disks:NoSchedule"}},
			"a reserved key":     {verb: workflows.UpdateTaint, order: workflows.TaintOrder{Order: jane, Taint: karmada.DrainTaintKey + ":NoExecute"}},
			"nobody's end":       {verb: workflows.UpdateUntaint, order: workflows.TaintOrder{}},
			"the end of none":    {verb: workflows.UpdateUntaint, order: workflows.TaintOrder{Order: jane}},
			"the end of what":    {verb: workflows.UpdateUntaint, order: workflows.TaintOrder{Order: jane, Taint: "disks"}},
		} {
			said[what] = s.update(workflows.ClusterFailoverID("", "m1"), o.verb, what, o.order)
		}
	})
	s.play()
	for what, a := range said {
		require.Error(t, a.err, what)
	}
	require.Empty(t, s.world.Log(""))
}
