package workflows_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// drain orders a drain of m1 as jane.
func (s *story) drain(o workflows.DrainOrder) *answer {
	o.Who, o.Reason = "jane", "new kernel"
	return s.update(workflows.ClusterFailoverID("", "m1"), workflows.UpdateDrain, "drain at "+s.env.Now().String(), o)
}

// tolerant lets a binding tolerate everything, for ever.
func (s *story) tolerant(key karmada.BindingKey) {
	s.world.Change(key, func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	})
}

// labelled gives the workload of a binding one label, "key=value".
func (s *story) labelled(key karmada.BindingKey, label string) {
	name, value, _ := strings.Cut(label, "=")
	s.world.Change(key, func(b *karmada.Binding) { b.WorkloadLabels = map[string]string{name: value} })
}

// Drain before unjoin, as kubectl does it for a node. The old copy takes its time to go: the migration
// sees that to its end.
//
// Rules: R4.12-1, R4.12-2, R4.12-4, R4.12-8.
func TestKarmada1995And1762ADrainMovesEverythingOffAHealthyCluster(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2", "m3")
	s.bind("stays", []string{"m1"}, "m1")
	s.world.DeleteAfter = 10 * time.Minute
	s.drains(workflows.DrainOrder{}, 4*time.Minute)
	s.at(3*time.Minute, func() {
		c := s.world.PeekCluster("m1")
		require.Equal(t, "jane", c.Drain.Who)
		require.Equal(t, "new kernel", c.Drain.Why)
		require.Len(t, c.Added, 2, "Lifeboat's hard taint and Lifeboat's NoSchedule")
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "stays": "Abandoned"}, outcomes(s.play()))
	require.Equal(t, reason.Purged, s.appResult().Reason, "it ended when the old copy was gone, not with a pending purge")
	require.Nil(t, s.appResult().PendingPurge)
	require.GreaterOrEqual(t, s.appResult().At.Sub(s.world.Log("release")[0].At), s.world.DeleteAfter)
}

// keepOpen has m1 look bad for a moment, so that its failover runs when the order comes.
func (s *story) keepOpen() {
	s.outage(2 * time.Second)
}

// drains has jane drain m1, and end that at a moment.
func (s *story) drains(o workflows.DrainOrder, end time.Duration) {
	s.keepOpen()
	s.at(time.Second, func() { s.accept(s.drain(o)) })
	s.at(end, func() { s.order(workflows.UpdateUndrain, "done") })
}

// serving makes a binding a ConfigMap of the policy of another one.
func (s *story) serving(config, workload karmada.BindingKey) {
	for _, key := range []karmada.BindingKey{config, workload} {
		s.world.Change(key, func(b *karmada.Binding) {
			b.Annotations = map[string]string{karmada.AnnotationPolicyNamespace: key.Namespace, karmada.AnnotationPolicyName: "web"}
		})
	}
	s.world.Change(workload, func(b *karmada.Binding) { b.Workload = true })
	s.world.Change(config, func(b *karmada.Binding) {
		b.Resource.APIVersion, b.Resource.Kind, b.Replicas, b.Workload = "v1", "ConfigMap", 0, false
	})
}

// A drain has room for a ConfigMap and none for the Deployment that it belongs to: the ConfigMap is on both clusters until
// the Deployment has moved, and where the drain ends before that, it is back.
//
// Rules: R4.7-61, R4.9-16, R4.9-17, R4.4-5.
func TestDrain_WhatServesABlockedWorkload_StaysWithIt(t *testing.T) {
	const room = 20 * time.Minute
	for name, c := range map[string]struct {
		room   bool // for the Deployment, in the end
		spread bool // the ConfigMap runs on one cluster at a time
		lost   bool // somebody deletes its old Work
		order  string
		want   map[string]phase.Outcome
		on     []string // the ConfigMap, in the end
	}{
		"there is room at last":                      {room: true, want: map[string]phase.Outcome{"web": "Migrated", "front": "Migrated"}, on: []string{"m2"}},
		"the drain ends":                             {want: map[string]phase.Outcome{"web": "Abandoned", "front": "Restored"}, on: []string{"m1", "m2"}},
		"the drain ends, and it runs on one cluster": {spread: true, want: map[string]phase.Outcome{"web": "Abandoned", "front": "Restored"}, on: []string{"m1"}},
		"the drain ends, and its old Work is gone":   {spread: true, lost: true, want: map[string]phase.Outcome{"web": "Abandoned", "front": "Migrated"}, on: []string{"m2"}},
		"an operator releases":                       {order: workflows.UpdateRelease, want: map[string]phase.Outcome{"web": "Abandoned", "front": "Migrated"}, on: []string{"m2"}},
		"an operator cancels it":                     {order: workflows.UpdateCancel, want: map[string]phase.Outcome{"web": "Abandoned", "front": "NeedsOperator"}, on: []string{"m2"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			web, front := s.bind("web", []string{"m1"}, "m1"), s.bind("front", []string{"m1"}, "m1", "m2")
			s.serving(front, web)
			if !c.spread {
				s.world.Change(front, func(b *karmada.Binding) { b.Placement.SpreadConstraints = nil })
			}
			s.drains(workflows.DrainOrder{}, 2*room)
			s.at(room, func() {
				waits := s.status().Migrations[front.String()]
				require.Equal(t, reason.HeldForParents, waits.Reason)
				require.Equal(t, "waits for 1 workload of PropagationPolicy shop/web on m1, shop/web first", waits.Message)
				require.Empty(t, waits.Attention)
				require.Equal(t, phase.FailoverEvacuated, s.status().Phase, "all that can move has moved")
				require.NotNil(t, s.task(front))
				switch {
				case c.room:
					s.world.Change(web, func(b *karmada.Binding) { b.Placement.ClusterAffinity.ClusterNames = []string{"m1", "m2"} })
				case c.lost:
					s.world.DropWork("karmada-es-m1", "shop-front")
				case c.order != "":
					s.must(c.order, front, false)
				}
			})
			begun := s.started()
			require.Equal(t, c.want, outcomes(s.play()))
			require.Equal(t, c.on, karmada.TargetNames(s.world.Peek(front).Clusters))
			require.LessOrEqual(t, begun[activities.NameRelease], int(2*room/s.settings.Terms.HealthPoll), "no oftener than it looks")
			if released := s.world.Log("release"); c.room {
				require.Equal(t, []string{web.String(), front.String()}, []string{released[0].Binding, released[1].Binding})
			}
		})
	}
}

// An evacuated cluster says so until the order is answered, and again only once all that the drain moves is known: what
// asks in between, as drain --wait does, must not find that nothing is left.
//
// Rules: R4.12-1.
func TestADrainOfAnEvacuatedClusterIsNotEvacuatedUntilItIsListedAndJudged(t *testing.T) {
	const at = 2 * time.Minute
	s, key := withApp(t)
	s.slow = map[string]time.Duration{}
	for _, slow := range []string{activities.NameAssessCluster, activities.NameWriteTaints, activities.NameListTargeting, activities.NameAssessPolicies} {
		s.slow[slow] = time.Second
	}
	s.keepOpen()
	s.at(time.Second, func() { s.accept(s.taints(workflows.UpdateTaint, "degraded:PreferNoExecute")) })
	var ordered *answer
	s.at(at, func() {
		require.Equal(t, phase.FailoverEvacuated, s.status().Phase, "the soft taint moves nothing")
		ordered = s.accept(s.drain(workflows.DrainOrder{}))
	})
	waited := 0
	for n := range 300 {
		s.at(at+time.Duration(n)*100*time.Millisecond, func() {
			if now := s.status(); ordered.done && len(s.world.Log("evict")) == 0 {
				waited++
				require.NotEqual(t, phase.FailoverEvacuated, now.Phase)
			}
		})
	}
	s.at(6*time.Minute, func() { s.order(workflows.UpdateUndrain, "done") })
	s.at(7*time.Minute, func() { s.accept(s.taints(workflows.UpdateUntaint, "")) })
	require.Equal(t, map[string]phase.Outcome{key.Name: "Migrated"}, outcomes(s.play()))
	require.Greater(t, waited, 20)
}

// Karmada waits with the end of a cluster that is being deleted until nothing is left on it.
// Where the policy says so everything moves off meanwhile; otherwise nothing does.
//
// Rules: R4.1-15, R4.9-51, R4.12-2.
func TestADeletedClusterIsDrainedWhereThePolicySaysSo(t *testing.T) {
	for name, drains := range map[string]bool{"drain": true, "ignore": false} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.world.DrainDeleting = drains
			s.tolerant(s.bind("app", []string{"m1"}, "m1", "m2"))
			s.keepOpen()
			s.at(time.Second, func() { s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Deleting = true }) })
			if !drains {
				s.playTo(phase.FailoverFalseAlarm)
				require.Empty(t, s.world.Log(""))
				return
			}
			s.at(30*time.Minute, func() {
				require.Len(t, s.world.PeekCluster("m1").Added, 2, "Lifeboat's hard taint and Lifeboat's NoSchedule")
				require.Nil(t, s.world.PeekCluster("m1").Drain, "nobody ordered it: there is no record to leave")
				require.Equal(t, phase.FailoverEvacuated, s.status().Phase, "it stays open as long as the cluster is there")
				s.refuse("drain.onDeletion", s.orderAs(workflows.UpdateUndrain, workflows.Order{Who: "jane", Reason: "keep it"}))
			})
			s.at(40*time.Minute, func() { s.world.DeleteCluster("m1") })
			r := s.playTo(phase.FailoverGone)

			require.Len(t, r.Attempts, 1, "no write of a taint is taken for a recovery")
			require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
			require.Equal(t, reason.Purged, s.appResult().Reason)
		})
	}
}

// Karmada copies no label of a workload to its binding: a selector reads the Works.
//
// Rules: R4.12-3, R4.12-5.
func TestADrainMovesWhatToleratesIt(t *testing.T) {
	for name, c := range map[string]struct {
		order workflows.DrainOrder
		moves []string
	}{
		"no toleration is honoured": {order: workflows.DrainOrder{}, moves: []string{"shop/front", "shop/tolerant"}},
		"unless it was asked for":   {order: workflows.DrainOrder{HonourTolerations: true}, moves: []string{"shop/front"}},
		"a selector":                {order: workflows.DrainOrder{Selector: "tier=front"}, moves: []string{"shop/front"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.tolerant(s.bind("tolerant", []string{"m1"}, "m1", "m2"))
			s.labelled(s.bind("front", []string{"m1"}, "m1", "m2"), "tier=front")
			s.drains(c.order, 5*time.Minute)
			s.play()
			require.Equal(t, c.moves, slices.Sorted(maps.Keys(s.movedAt())))
		})
	}
}

// A typing error in a selector must not pass for a drained cluster, and an observing failover writes nothing.
//
// Rules: R4.12-9, R4.15-7.
func TestDrainsAndTaintsThatAreRefusedWriteNothing(t *testing.T) {
	for name, c := range map[string]struct {
		mode  rules.Mode
		order func(*story) *answer
		why   string
	}{
		"the selector matches nothing": {
			mode:  rules.ModeEnforce,
			order: func(s *story) *answer { return s.drain(workflows.DrainOrder{Selector: "teir=front"}) },
			why:   "no workload on m1 has labels that match teir=front",
		},
		"a drain in observe": {
			mode:  rules.ModeObserve,
			order: func(s *story) *answer { return s.drain(workflows.DrainOrder{}) },
			why:   "observes",
		},
		"a taint in observe": {
			mode:  rules.ModeObserve,
			order: func(s *story) *answer { return s.taints(workflows.UpdateTaint, "disks:NoExecute") },
			why:   "observes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := withApp(t)
			s.labelled(key, "tier=front")
			s.settings.Terms.Mode = c.mode
			s.keepOpen()
			s.at(time.Second, func() { s.refuse(c.why, c.order(s)) })
			s.playTo(phase.FailoverFalseAlarm)
			require.Empty(t, s.world.Log(""))
		})
	}
}

// A cluster that fails while it is drained goes on under the failure's own rules,
// also after the drain has ended.
//
// Rules: R4.12-8.
func TestAFailureInMidDrainGoesOnAfterTheDrain(t *testing.T) {
	s, _ := withApp(t)
	s.drains(workflows.DrainOrder{}, 3*time.Minute)
	s.at(time.Minute, func() { s.world.SetReady("m1", false) })
	s.at(4*time.Minute, func() {
		c := s.world.PeekCluster("m1")
		require.Nil(t, c.Drain)
		require.True(t, karmada.IsLifeboatTaint(c, corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoExecute}), "the rule's taint stays")
		require.False(t, karmada.IsLifeboatTaint(c, corev1.Taint{Key: karmada.DrainTaintKey, Effect: corev1.TaintEffectNoExecute}))
	})
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
}

// What stands when a drain ends is treated as in a recovery: pending Abandoned,
// unplaced Restored. A second order for something else is refused meanwhile.
//
// Rules: R4.12-8.
func TestUndrainAbandonsWhatIsQueuedAndRestoresWhatIsUnplaced(t *testing.T) {
	s := newStory(t)
	s.settings.Pace.EvictionRate = 0.02
	unplaceable(s) // "app"
	s.bind("later", []string{"m1"}, "m1", "m3")
	s.drains(workflows.DrainOrder{}, 30*time.Second)
	s.at(20*time.Second, func() { s.refuse("lifeboat drain m1 --end", s.drain(workflows.DrainOrder{Rate: 1})) })
	require.Equal(t, map[string]phase.Outcome{"app": "Restored", "later": "Abandoned"}, outcomes(s.play()))
}

// The order's home is the cluster: a run that was terminated forgets no drain.
//
// Rules: R4.12-1.
func TestADrainOutlivesItsRun(t *testing.T) {
	s, _ := withApp(t)
	s.keepOpen()
	s.at(time.Second, func() {
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
			c.Drain = &karmada.Drain{Who: "jane", Why: "new kernel", FailoverID: "another"}
		})
	})
	s.at(3*time.Minute, func() { s.order(workflows.UpdateUndrain, "done") })
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
}

// Rules: R4.12-8.
func TestACancelledDrainLeavesNoOrderBehind(t *testing.T) {
	s, _ := withApp(t)
	s.keepOpen()
	s.at(time.Second, func() { s.drain(workflows.DrainOrder{Rate: 0.001}) })
	s.at(3*time.Minute, func() { s.order(workflows.UpdateCancel, "stop it all") })
	s.playTo(phase.FailoverCancelled)
}

// Rules: R4.12-8.
func TestAnOptOutEndsADrainAndItsRecord(t *testing.T) {
	s := newStory(t)
	s.bind("stays", []string{"m1"}, "m1")
	s.keepOpen()
	s.at(time.Second, func() { s.drain(workflows.DrainOrder{}) })
	s.at(time.Minute, func() {
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Annotations[karmada.AnnotationEnabled] = "false" })
	})
	s.play()
}

// The scheduler does not mind Lifeboat's taints for a binding that tolerates them: it puts
// it back as soon as Lifeboat's task has gone. It is moved once more, and then kept away.
//
// Rules: R4.2-8.
func TestWhatTheSchedulerPutsBackIntoADrainIsBannedUntilUndrain(t *testing.T) {
	s, key := withApp(t)
	s.tolerant(key)
	s.drains(workflows.DrainOrder{}, 8*time.Minute)
	s.at(3*time.Minute, func() {
		require.Len(t, s.world.Log("release"), 1)
		s.returns(key, "m1")
	})
	s.at(8*time.Minute-time.Second, func() {
		require.Len(t, s.world.Log("evict"), 2, "the scheduler had put it back")
		ban := s.task(key)
		require.True(t, ban != nil && ban.Bans())
		require.Equal(t, karmada.PurgeDirectly, ban.PurgeMode)
		require.False(t, s.world.HasWork(key, "m1"), "its old copy has gone")
		require.True(t, s.world.HasWork(key, "m2"))
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	require.Len(t, s.world.Log("evict"), 2)
}

// What the scheduler would surely put back is banned at once, and does not come back first. A ban is a Lifeboat
// task, and what was released does not come back.
//
// Rules: R4.2-8, R4.7-15, R4.9-36.
func TestADrainBansAtOnceWhatWouldComeStraightBack(t *testing.T) {
	const ordered = 6 * time.Minute
	for name, c := range map[string]struct {
		drain  workflows.DrainOrder
		order  func(*story, karmada.BindingKey)
		reason reason.Reason
		says   string
	}{
		"nobody orders anything": {order: func(*story, karmada.BindingKey) {}, reason: reason.Purged},
		"a selector": {
			drain: workflows.DrainOrder{Selector: "tier=front"},
			order: func(*story, karmada.BindingKey) {}, reason: reason.Purged,
		},
		"a put-back": {
			order: func(s *story, key karmada.BindingKey) {
				s.refuses(ordered, key, "released, and kept off m1 until undrain")
			},
			reason: reason.PutBackRefused, says: "until undrain",
		},
		"a release": {
			order: func(s *story, key karmada.BindingKey) {
				s.at(ordered, func() { s.must(workflows.UpdateRelease, key, false) })
			},
			reason: reason.SchedulerReturnsIt, says: "until undrain",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := withApp(t)
			s.tolerant(key)
			s.labelled(key, "tier=front")
			s.world.Change(key, func(b *karmada.Binding) { b.Placement.SpreadConstraints = nil })
			s.drains(c.drain, 8*time.Minute)
			c.order(s, key)
			s.at(8*time.Minute-time.Second, func() { require.True(t, s.task(key) != nil && s.task(key).Bans()) })
			got := s.playApp()
			require.Equal(t, phase.OutcomeMigrated, got.Outcome)
			require.Equal(t, c.reason, got.Reason)
			require.Contains(t, got.Message, c.says)
			require.Empty(t, got.Cause, "nobody's order did that")
			require.Len(t, s.world.Log("evict"), 1)
			require.Empty(t, s.world.Log("restore"))
		})
	}
}

// A drained cluster dies before the old copy has gone: beside a ban that says Directly Karmada would bring no change of
// the binding to any cluster, for as long as that Work stands.
//
// Rules: R4.2-8.
func TestDrain_ClusterDiesBesideABan_TheBanSaysGracefully(t *testing.T) {
	s, key := withApp(t)
	s.tolerant(key)
	s.world.DeleteAfter = 30 * time.Second
	s.world.Change(key, func(b *karmada.Binding) { b.Placement.SpreadConstraints = nil })
	s.drains(workflows.DrainOrder{}, 12*time.Minute)
	var modes []karmada.PurgeMode
	s.world.Lost = func(op, _ string) bool {
		if op == "mark" {
			b := s.world.PeekLocked(key)
			task, _ := b.TaskFor("m1")
			_, stands := s.world.StandingWork(key, "m1")
			require.True(t, task.Bans() && stands)
			modes = append(modes, task.PurgeMode)
			s.at(time.Second, func() { s.world.SetReady("m1", false) })
		}
		return false
	}
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.Equal(t, []karmada.PurgeMode{karmada.PurgeDirectly, karmada.PurgeGracefully}, modes)
}

// The answer of a release is lost for good, and by then somebody has ordered otherwise:
// the next look finds the ban, which goes with the drain all the same.
//
// Rules: R4.2-8, R4.9-36.
func TestABanThatNobodyHeardOfGoesWithTheDrain(t *testing.T) {
	s, key := withApp(t)
	s.tolerant(key)
	s.world.HealthyAfter = 10 * time.Minute
	s.drains(workflows.DrainOrder{}, 8*time.Minute)
	s.at(5*time.Minute, func() {
		s.world.Change(key, func(b *karmada.Binding) {
			task, _ := b.TaskFor("m1")
			task.Reason, task.PurgeMode = karmada.TaskReasonBanned, karmada.PurgeDirectly
		})
	})
	got := s.playApp()
	require.Equal(t, phase.OutcomeMigrated, got.Outcome)
	require.True(t, got.Banned)
}

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
	s.at(time.Second, func() { s.accept(s.taints(workflows.UpdateTaint, "disks=old:NoExecute")) })
	s.at(3*time.Minute, func() {
		c := s.world.PeekCluster("m1")
		require.Equal(t, "jane", c.Ordered[0].Who)
		require.Equal(t, "disks", c.Ordered[0].Why)
		require.Len(t, c.Added, 2, "the taint and Lifeboat's NoSchedule")
		require.Equal(t, karmada.TaintRule, c.Added[0].Rule)
		require.Len(t, s.world.Log("release"), 1)
	})
	s.at(4*time.Minute, func() { s.accept(s.taints(workflows.UpdateUntaint, "")) })
	r := s.play()
	require.Less(t, r.Until.Sub(storyBegins), 4*time.Minute+wellFor, "its end has no window")
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "stays": "Abandoned"}, outcomes(r))
}

// A cluster that fails meanwhile goes on under its own rules when the order has ended.
//
// Rules: R4.1-43.
func TestUntaintLeavesWhatARuleAndWhatOthersPut(t *testing.T) {
	s, _ := withApp(t)
	s.keepOpen()
	s.at(time.Second, func() { s.taints(workflows.UpdateTaint, "disks:NoExecute") })
	s.at(time.Minute, func() { s.world.SetReady("m1", false) })
	s.at(3*time.Minute, func() {
		s.world.PutTaint("m1", corev1.Taint{Key: "theirs", Effect: corev1.TaintEffectNoExecute})
		s.refuse("follows from rule", s.taints(workflows.UpdateUntaint, taintKey+":NoExecute"))
	})
	s.at(3*time.Minute+30*time.Second, func() {
		s.refuse("is not Lifeboat's", s.taints(workflows.UpdateUntaint, "theirs:NoExecute"))
		s.refuse("does not carry", s.taints(workflows.UpdateUntaint, "nobodys:NoExecute"))
		s.accept(s.taints(workflows.UpdateUntaint, "disks:NoExecute"))
	})
	s.at(4*time.Minute, func() {
		c := s.world.PeekCluster("m1")
		require.Empty(t, c.Ordered)
		require.True(t, karmada.IsLifeboatTaint(c, corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoExecute}), "the rule's taint stays")
		require.Equal(t, "theirs", karmada.Foreign(c)[0].Key)
		require.False(t, karmada.IsLifeboatTaint(c, corev1.Taint{Key: "disks", Effect: corev1.TaintEffectNoExecute}))
		s.world.DropTaint("m1", "theirs")
		s.world.SetReady("m1", true)
	})
	s.play()
}

// Rules: R4.1-42, R4.9-42.
func TestACancelEndsTheOrderOfATaint(t *testing.T) {
	s, _ := withApp(t)
	s.keepOpen()
	s.at(time.Second, func() { s.accept(s.taints(workflows.UpdateTaint, "disks:NoExecute")) })
	s.at(50*time.Second, func() { s.world.SetReady("m1", false) })
	s.at(time.Minute, func() { s.order(workflows.UpdateCancel, "no") })
	left := -1
	s.at(2*time.Minute, func() {
		left = len(s.world.PeekCluster("m1").Ordered)
		s.world.SetReady("m1", true)
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Ordered = nil }) // a story that fails has an end, too
	})
	s.at(time.Minute+30*time.Second, func() { s.refuse("stopped by", s.taints(workflows.UpdateTaint, "disks:NoExecute")) })
	s.playTo(phase.FailoverCancelled)
	require.Zero(t, left, "the order went with Lifeboat's taints")
}

// Rules: R4.9-44, R4.1-42.
func TestTaintOrdersThatMakeNoSenseAreRefused(t *testing.T) {
	s, _ := withApp(t)
	s.keepOpen()
	s.at(time.Second, func() {
		s.refuse("is no taint", s.taints(workflows.UpdateTaint, ""))
		s.refuse("moves nothing", s.taints(workflows.UpdateTaint, "disks:NoSchedule"))
		s.refuse("is reserved", s.taints(workflows.UpdateTaint, karmada.DrainTaintKey+":NoExecute"))
		s.refuse("no taint was put on it", s.taints(workflows.UpdateUntaint, ""))
		s.refuse("is no taint", s.taints(workflows.UpdateUntaint, "disks"))
		s.refuse(`"who"`, s.tellFailover(workflows.UpdateTaint, workflows.TaintOrder{Taint: "disks:NoExecute"}))
		s.refuse(`"who"`, s.tellFailover(workflows.UpdateUntaint, workflows.TaintOrder{}))
	})
	s.playTo(phase.FailoverFalseAlarm)
	require.Empty(t, s.world.Log(""))
}

// An order that is repeated lets nothing go sooner.
//
// Rules: R4.12-6.
func TestADrainKeepsToItsOwnRate(t *testing.T) {
	for name, orders := range map[string]int{"ordered once": 1, "ordered again and again": 40} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.settings.Pace.EvictionRate = 2
			s.bindAll([]string{"a", "b", "c", "d"}, "m1", "m2", "m3")
			s.keepOpen()
			for i := range orders {
				s.at(time.Second+time.Duration(i)*3*time.Second, func() { s.drain(workflows.DrainOrder{Rate: 0.1}) })
			}
			s.at(5*time.Minute, func() { s.order(workflows.UpdateUndrain, "done") })
			s.play()
			s.evictedApart(4, 10*time.Second)
		})
	}
}

// evictedApart asserts how many evictions there were, and that each came so long after the one before.
func (s *story) evictedApart(n int, least time.Duration) {
	s.t.Helper()
	evictions := s.world.Log("evict")
	require.Len(s.t, evictions, n)
	for i, w := range evictions[1:] {
		require.GreaterOrEqual(s.t, w.At.Sub(evictions[i].At), least)
	}
}
