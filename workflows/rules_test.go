package workflows_test

import (
	"fmt"
	"slices"
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
	"k8s.io/apimachinery/pkg/types"
)

// policy replaces the story's rule by a ClusterTaintPolicy: taint when not Ready,
// untaint when the network is ready, which it is not.
func (s *story) policy() {
	s.world.ClearRules()
	rule := notReady()
	rule.Name, rule.Policy = rules.PolicyPrefix+"p", true
	rule.RemoveConditions = []rules.MatchCondition{{ConditionType: networkReady, Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionTrue}}}
	s.world.AddRule(rule)
	s.network(corev1.ConditionFalse)
}

// Rules: R4.1-10.
func TestAPolicysTaintGoesByTheConditionsThatRemoveItAndNotBefore(t *testing.T) {
	s, _ := outage(t, 5*time.Minute)
	s.policy()
	s.tolerates(s.bind("late", []string{"m1"}, "m1", "m2"), 600)
	s.at(20*time.Minute, func() {
		require.Len(t, s.hard(), 1, "Ready again is no condition of its own that removes it")
		require.Len(t, s.world.Log("evict"), 1, "and nothing is evicted under a taint whose policy matches no more")
		s.network(corev1.ConditionTrue)
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "late": "Abandoned"}, outcomes(s.play()))
	writes := s.world.Log("taint")
	require.GreaterOrEqual(t, writes[0].At.Sub(storyBegins), addAfter)
	require.GreaterOrEqual(t, writes[len(writes)-1].At.Sub(storyBegins), 20*time.Minute+wellFor)
}

// In Karmada the taints of a deleted policy stay for ever. Lifeboat's do not: nobody else
// would take them away.
//
// Rules: R4.1-23.
func TestADeletedPolicyLeavesNoTaintBehind(t *testing.T) {
	s, _ := failing(t)
	s.policy()
	s.at(5*time.Minute, func() { s.world.ClearRules() })
	s.play()
}

// A cancelled failover closes when nothing has matched for the removal window, also
// where the conditions that remove are not the others' opposite.
func TestACancelledFailoverOfAPolicyCloses(t *testing.T) {
	s, _ := outage(t, 6*time.Minute)
	s.policy()
	s.at(3*time.Minute, func() { s.order(workflows.UpdateCancel, "a drill") })
	s.playTo(phase.FailoverCancelled)
}

// Windows that run are measured by what the rule says now: longer ones end no sooner, and
// shorter ones end though the old duration would have outlasted the story's end.
//
// Rules: R4.1-22.
func TestAWindowThatRunsIsMeasuredByTheRulesNewDurations(t *testing.T) {
	const never = 100 * time.Hour
	s, _ := outage(t, 40*time.Minute)
	durations := func(at, add, remove time.Duration) {
		s.at(at, func() {
			s.world.ChangeRule("not-ready", func(r *rules.Rule) { r.Taints[0].AddOnMatch, r.Taints[0].RemoveOnMismatch = add, remove })
		})
	}
	durations(20*time.Second, never, never)
	s.at(10*time.Minute, func() { require.Empty(t, s.world.Log("taint"), "not by the duration that it began with") })
	durations(11*time.Minute, 20*time.Minute, never)
	s.at(40*time.Minute-time.Second, func() { require.NotEmpty(t, s.world.Log("taint")) })
	durations(60*time.Minute, never, 40*time.Minute)
	r := s.play()
	tainted := s.world.Log("taint")[0].At.Sub(storyBegins)
	require.GreaterOrEqual(t, tainted, 20*time.Minute, "by the new one, from when it began to match")
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), 80*time.Minute)
	require.Less(t, r.Until.Sub(storyBegins), never)
}

// Rules: R4.1-23, R4.1-28.
func TestARuleThatIsChangedInMidFailoverIsFollowedAtOnce(t *testing.T) {
	for name, c := range map[string]func(*rules.Rule){
		"its taint is another": func(r *rules.Rule) { r.Taints[0].Key = "failover.example.org/other" },
		"it aims elsewhere":    func(r *rules.Rule) { r.TargetClusters = &karmada.ClusterAffinity{ClusterNames: []string{"m6"}} },
		"it asks for what is not": func(r *rules.Rule) {
			r.MatchConditions[0].StatusValues = []corev1.ConditionStatus{corev1.ConditionUnknown}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := outage(t, 10*time.Minute)
			s.at(3*time.Minute, func() { s.world.ChangeRule("not-ready", c) })
			s.at(10*time.Minute-time.Second, func() {
				for _, taint := range s.hard() {
					require.NotEqual(t, taintKey, taint.Key, "what the rule asks for no more has gone")
				}
			})
			r := s.play()
			require.Equal(t, phase.OutcomeMigrated, r.Attempts[0].Results[0].Outcome)
		})
	}
}

// A rule that has become invalid removes nothing and confirms nothing; corrected, it
// goes on.
//
// Rules: R4.1-24.
func TestARuleThatBecameInvalidKeepsItsTaintUntilItIsMended(t *testing.T) {
	s, _ := outage(t, 3*time.Minute)
	s.at(3*time.Minute-time.Second, func() {
		s.world.ChangeRule("not-ready", func(r *rules.Rule) { r.Malformed = "spec.taints: not a list" })
	})
	s.at(10*time.Minute, func() {
		require.Len(t, s.hard(), 1)
		s.world.ChangeRule("not-ready", func(r *rules.Rule) { r.Malformed = "" })
	})
	r := s.play()
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), 10*time.Minute+wellFor)
}

// A taint that an operator put by the key of a rule is the operator's: it is not recorded,
// not removed, and counts for as long as it stands.
//
// Rules: R4.1-13, R4.1-28, R4.1-29.
func TestATaintThatAnOperatorPutByTheKeyOfARuleStaysTheOperators(t *testing.T) {
	s, _ := outage(t, 5*time.Minute)
	s.world.PutTaint("m1", corev1.Taint{Key: taintKey, Value: "by-hand", Effect: corev1.TaintEffectNoExecute})
	s.at(10*time.Minute, func() {
		require.Len(t, s.hard(), 1)
		require.Equal(t, "by-hand", s.hard()[0].Value)
		require.False(t, karmada.IsLifeboatTaint(s.world.PeekCluster("m1"), s.hard()[0]))
		s.world.DropTaint("m1", taintKey)
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
}

// The cluster that comes back under the same name is another one: the failover of the
// first ends, and nothing that it had begun is done to the second.
//
// Rules: R4.1-38.
func TestAClusterThatIsReCreatedUnderTheSameNameIsAnotherOne(t *testing.T) {
	s, _ := failing(t)
	s.bind("stays", []string{"m1"}, "m1")
	s.at(4*time.Minute, func() {
		s.joinAgain()
		s.world.SetReady("m1", false)
	})
	s.playTo(phase.FailoverGone)
	c := s.world.PeekCluster("m1")
	require.Empty(t, c.Taints)
	require.Empty(t, c.Added)
	for _, w := range s.world.Log("evict") {
		require.Less(t, w.At.Sub(storyBegins), 4*time.Minute)
	}
}

// Karmada's status flaps: each blip is shorter than the window, and none of them adds up.
//
// Rules: R4.1-16, R4.1-18, R4.1-40.
func TestKarmada1082FlapsNeverAddUp(t *testing.T) {
	s, _ := outage(t, 630*time.Second)
	for i := range 12 {
		at := time.Duration(i) * 50 * time.Second
		s.at(at+45*time.Second, func() { s.world.SetReady("m1", true); s.world.SetReady("m1", false) })
	}
	s.playTo(phase.FailoverFalseAlarm)
	require.Empty(t, s.world.Log(""), "ten minutes of flapping, and nothing was written")
}

// Unhealthy and Unknown in turn: Unknown does not reset the clock, so the failover
// fires; it does not confirm either.
//
// Rules: R4.1-19.
func TestKarmada7431UnknownNeitherStartsNorResetsTheWindow(t *testing.T) {
	s, _ := outage(t, 10*time.Minute)
	unknown := func() {
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
			c.Conditions[0].Status, c.Conditions[0].Reason = corev1.ConditionUnknown, "ClusterStatusUnknown"
		})
	}
	for i := range 4 {
		at := time.Duration(i) * 20 * time.Second
		s.at(at+10*time.Second, unknown)
		s.at(at+20*time.Second, func() { s.world.SetReady("m1", false) })
	}
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	tainted := s.world.Log("taint")[0].At.Sub(storyBegins)
	require.GreaterOrEqual(t, tainted, addAfter)
	require.Less(t, tainted, 2*addAfter, "the clock was not reset")
}

// A rotated secret makes Karmada say Ready=False by a reason that speaks of us.
//
// Rules: R4.1-32.
func TestKarmada7408ItsOwnCredentialsNeverConfirmAFailure(t *testing.T) {
	s, _ := outage(t, 30*time.Minute)
	s.at(30*time.Second, func() {
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Conditions[0].Reason = "StatusCollectionFailed" })
	})
	s.at(30*time.Minute-time.Second, func() { require.Empty(t, s.world.Log("")) })
	s.playTo(phase.FailoverFalseAlarm)
}

// testify has the external probe send its word, as the controller does, with the cluster as it stands.
func (s *story) testify(w rules.ExternalProbe, uid types.UID) {
	fact := rules.FactOf(s.world.PeekCluster("m1")).Testified(w)
	if uid != "" {
		fact.UID = uid
	}
	s.hint(workflows.ClusterFailoverID("", "m1"), workflows.SignalClusterObserved, workflows.ClusterObserved{Fact: fact})
}

// A word that nobody repeats is a controller that died: it neither fires a window later
// nor keeps the taint from following what is known.
//
// Rules: R4.1-34, R4.1-37.
func TestARuleThatRequiresTheExternalProbeFiresOnlyOnItsLivingWord(t *testing.T) {
	says := func(s *story, at time.Duration, word rules.ExternalProbe) { s.at(at, func() { s.testify(word, "") }) }
	for name, c := range map[string]struct {
		says    func(s *story)
		window  time.Duration
		evicted int
	}{
		"it says so again and again": {says: func(s *story) { s.probes(0, time.Second, 8*time.Minute) }, evicted: 1},
		"nobody testifies":           {says: func(*story) {}},
		"it sees the member alive":   {says: func(s *story) { says(s, time.Second, rules.ExternalProbeUp) }},
		"its word is about another one": {says: func(s *story) {
			s.at(time.Second, func() { s.testify(rules.ExternalProbeDown, "another") })
		}},
		"it changed its mind in between": {says: func(s *story) {
			says(s, time.Second, rules.ExternalProbeDown)
			says(s, addAfter/2, rules.ExternalProbeUp)
		}},
		"it says so once, and the window is longer": {window: 5 * time.Minute, says: func(s *story) { says(s, time.Second, rules.ExternalProbeDown) }},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := outage(t, 9*time.Minute)
			s.world.ChangeRule("not-ready", func(r *rules.Rule) {
				r.RequireExternalProbe, r.Taints[0].AddOnMatch = true, max(r.Taints[0].AddOnMatch, c.window)
			})
			// A taint of another rule that never comes keeps the failover open meanwhile.
			s.world.AddRule(whileFalse("keeps-it-open", "Ready", karmada.RuleTaint{Key: "slow", Effect: corev1.TaintEffectNoExecute, AddOnMatch: time.Hour, RemoveOnMismatch: time.Second}))
			c.says(s)
			s.playTo(map[int]phase.Failover{0: phase.FailoverFalseAlarm, 1: phase.FailoverRecovered}[c.evicted])
			require.Len(t, s.world.Log("evict"), c.evicted)
		})
	}
}

// Not Ready for an hour as Unknown never triggered a rule that listed False. Under
// NotIn every status that is not listed matches.
//
// Rules: R4.1-20.
func TestKarmada2096UnknownForAnHourTriggersUnderNotIn(t *testing.T) {
	s, _ := withApp(t)
	s.world.ChangeRule("not-ready", func(r *rules.Rule) {
		r.MatchConditions[0].Operator = rules.OperatorNotIn
		r.MatchConditions[0].StatusValues = []corev1.ConditionStatus{corev1.ConditionTrue}
	})
	s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
		c.Conditions[0].Status, c.Conditions[0].Reason = corev1.ConditionUnknown, "ClusterStatusUnknown"
	})
	s.at(time.Hour, func() { s.world.SetReady("m1", true) })
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	require.GreaterOrEqual(t, s.world.Log("taint")[0].At.Sub(storyBegins), addAfter)
}

// A concurrent writer of the whole list lost Lifeboat's taint. While the rule matches it is
// put again, and goes at the end.
//
// Rules: R4.1-1.
func TestKarmada7348ATaintThatAnotherWriterLostIsPutAgain(t *testing.T) {
	s, _ := outage(t, 6*time.Minute)
	s.at(4*time.Minute, func() {
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Taints, c.Added = nil, nil })
	})
	s.at(6*time.Minute-time.Second, func() {
		require.Len(t, s.hard(), 1)
		require.Len(t, s.world.PeekCluster("m1").Added, 2, "recorded as Lifeboat's again, the evacuation taint too")
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
}

// The master's own outage once evicted every node. When every cluster looks failed
// it is probably us: the failure is found, and nothing moves.
//
// Rules: R4.1-33.
func TestKubernetes28832And24200And28897NothingMovesWhileEveryClusterLooksFailed(t *testing.T) {
	s, _ := withApp(t)
	for i := range 6 {
		name := fmt.Sprintf("m%d", i+1)
		s.world.SetReady(name, false)
		s.at(20*time.Minute, func() {
			require.Empty(t, s.world.Log("evict"))
			s.world.SetReady(name, true)
		})
	}
	require.Equal(t, map[string]phase.Outcome{"app": "Abandoned"}, outcomes(s.play()))
	require.Empty(t, s.world.Log("evict"))
}

// What one attempt has frozen of a binding binds that attempt alone.
//
// Rules: R4.3-15, R4.3-22.
func TestTheNextAttemptFreezesPoliciesAnew(t *testing.T) {
	s, key := failing(t)
	s.bind("slow", []string{"m1"}, "m1", "m2")
	s.world.HealthyAfter = 8 * time.Minute // it keeps the failover open between the attempts
	s.world.Change(key, func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = []corev1.Toleration{{Key: taintKey, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
	})
	s.at(2*time.Minute, func() {
		s.world.Change(key, func(b *karmada.Binding) { b.Placement.ClusterTolerations = nil })
	})
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(5*time.Minute, func() {
		require.Len(t, s.world.Log("evict"), 1, "in the first attempt it tolerates, whatever it says now")
		s.world.SetReady("m1", false)
	})
	s.at(40*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Len(t, r.Attempts, 2)
	require.GreaterOrEqual(t, s.evictedAt("app"), 5*time.Minute+addAfter)
}

// Two rules for one condition: the taint with the longer removal window outlives the recovery that
// the shorter one confirms.
//
// Rules: R4.1-17, R4.1-21.
func TestAtRecoveryEachTaintGoesByItsOwnWindow(t *testing.T) {
	const longer = 10 * time.Minute
	s, _ := failing(t)
	s.cordonRule(time.Second, longer)
	back := 5 * time.Minute
	s.at(back, func() { s.world.SetReady("m1", true) })
	s.at(back+wellFor+20*time.Second, func() {
		require.Empty(t, s.hard(), "the rule with the shorter window untaints first")
		require.True(t, s.cordoned())
	})
	s.at(back+longer-time.Second, func() { require.True(t, s.cordoned()) })
	r := s.play()
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), back+longer)
	require.Len(t, r.Attempts, 1)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
}

// Two rules may ask for one taint. When the one that put it matches no more, the other takes it over: the
// failover goes on, and the taint stays as it is until the other's own removal window has passed.
//
// Rules: R4.1-17, R4.1-21, R4.1-25.
func TestTwoRulesWithOneTaint_ThatGoesWithTheLastOfThem(t *testing.T) {
	const back, whole = 5 * time.Minute, 20 * time.Minute
	s, _ := outage(t, back)
	taint := notReady().Taints[0]
	s.world.AddRule(whileFalse("out-of-reach", networkReady, taint))
	s.network(corev1.ConditionFalse)
	var put []corev1.Taint
	s.at(back-time.Second, func() { put = s.hard() })
	s.at(back+wellFor+time.Minute, func() {
		require.Len(t, put, 1)
		require.Equal(t, put, s.hard())
		require.Equal(t, "out-of-reach", s.world.PeekCluster("m1").Added[0].Rule)
	})
	s.at(whole, func() { s.network(corev1.ConditionTrue) })
	s.at(whole+wellFor-time.Second, func() { require.Equal(t, put, s.hard()) })
	r := s.play()
	require.Len(t, r.Attempts, 1)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Less(t, r.Until.Sub(storyBegins), whole+wellFor+time.Minute)
}

// A taint that was put back and that another rule takes over within a minute stands; one that is taken away again is disputed,
// whichever rule asks for it.
//
// Rules: R4.1-25, R4.9-60.
func TestATaintThatWasPutBackAndIsTakenOver_IsDisputedOnceItIsGoneAgain(t *testing.T) {
	const back = 5 * time.Minute
	s, _ := outage(t, back)
	s.world.AddRule(whileFalse("out-of-reach", networkReady, notReady().Taints[0]))
	s.network(corev1.ConditionFalse)
	take := func() { s.world.DropTaint("m1", taintKey) }
	s.at(back-20*time.Second, take)
	s.at(back+20*time.Second, func() {
		require.True(t, slices.ContainsFunc(s.world.PeekCluster("m1").Added, func(t karmada.AddedTaint) bool { return t.Rule == "out-of-reach" }))
		require.Nil(t, s.status().Paused)
		take()
	})
	s.at(back+30*time.Second, func() {
		require.Equal(t, "lifeboat", s.status().Paused.Who)
		require.Empty(t, s.hard())
		s.network(corev1.ConditionTrue)
	})
	s.play()
}

// A duplicated workload that its placement would take straight back is released instead where a cordon of Lifeboat's
// own keeps the scheduler away: the rule of that taint still matches. A taint that goes with the recovery keeps nobody away.
//
// Rules: R4.1-45, R4.9-17.
func TestACordonThatStaysKeepsTheBindingAwayAtRecovery(t *testing.T) {
	for condition, want := range map[string]ending{networkReady: migrated, "Ready": {outcome: phase.OutcomeRestored, on: "m1 m2"}} {
		t.Run(condition, func(t *testing.T) {
			s, key := outage(t, 5*time.Minute)
			s.world.Change(key, func(b *karmada.Binding) { b.Placement.SpreadConstraints = nil })
			s.world.HealthyAfter = 10 * time.Minute
			s.cordonRuleOn(condition, time.Second, 20*time.Minute)
			s.network(corev1.ConditionFalse)
			s.at(20*time.Minute, func() {
				require.True(t, s.cordoned())
				s.network(corev1.ConditionTrue)
			})
			require.Equal(t, want.outcome, s.playApp().Outcome)
			s.standsThere(key, want)
		})
	}
}

// A rule that becomes invalid while the failover settles removes nothing until it is corrected.
//
// Rules: R4.1-24.
func TestARuleThatBecomesInvalidWhileSettlingKeepsItsTaint(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	s.settings.Terms.RestoreWait = 5 * time.Minute
	s.world.ScheduleAfter = 4 * time.Minute
	s.outage(addAfter + 10*time.Second)
	s.at(addAfter+wellFor+20*time.Second, func() {
		require.NotEmpty(t, s.world.Peek(key).Tasks, "it settles, and the restore waits for the scheduler")
		s.world.ChangeRule("not-ready", func(r *rules.Rule) { r.Malformed = "spec.taints: not a list" })
	})
	s.at(20*time.Minute, func() {
		require.Len(t, s.hard(), 1)
		s.world.ChangeRule("not-ready", func(r *rules.Rule) { r.Malformed = "" })
	})
	r := s.play()
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), 20*time.Minute)
}

const cordonKey = "failover.example.org/cordon"

// cordonRule adds a rule that only cordons: while m1 is not Ready.
func (s *story) cordonRule(add, remove time.Duration) { s.cordonRuleOn("Ready", add, remove) }

func (s *story) cordonRuleOn(condition string, add, remove time.Duration) {
	s.world.AddRule(whileFalse("cordons", condition, karmada.RuleTaint{Key: cordonKey, Effect: corev1.TaintEffectNoSchedule, AddOnMatch: add, RemoveOnMismatch: remove}))
}

// onlyCordonRule makes that rule the only one.
func (s *story) onlyCordonRule(add, remove time.Duration) {
	s.world.ClearRules()
	s.cordonRule(add, remove)
}

// cordoned reports whether the taint of the rule that only cordons stands on m1.
func (s *story) cordoned() bool {
	return slices.ContainsFunc(s.world.PeekCluster("m1").Taints, func(t corev1.Taint) bool { return t.Key == cordonKey })
}

// Rules: R4.1-45, R4.1-46, R4.1-47.
func TestCordonRule_TaintsByItsWindowsWithoutAFailoverOfWorkloads(t *testing.T) {
	const add, remove = 2 * time.Minute, 5 * time.Minute
	s, _ := outage(t, 30*time.Minute)
	s.onlyCordonRule(add, remove)
	ran := s.started()
	s.at(add-time.Second, func() {
		require.False(t, s.cordoned())
		require.Equal(t, phase.FailoverSuspected, s.status().Phase)
		require.Equal(t, reason.WindowRunning, s.status().Reason)
	})
	s.at(30*time.Minute-time.Second, func() {
		require.True(t, s.cordoned())
		now := s.status()
		require.Equal(t, phase.FailoverCordoned, now.Phase)
		require.Equal(t, reason.Cordoned, now.Reason)
		require.Empty(t, now.Asked.Cluster, "the pacer is not asked")
		require.Empty(t, now.Items)
	})
	s.at(30*time.Minute+remove-time.Second, func() { require.True(t, s.cordoned()) })
	r := s.playTo(phase.FailoverUncordoned)
	require.Empty(t, r.Attempts[0].Results)
	writes := s.world.Log("")
	require.Len(t, writes, 2, "the taint is put and removed, and nothing else is written")
	require.WithinDuration(t, storyBegins.Add(add), writes[0].At, 2*time.Second)
	require.WithinDuration(t, storyBegins.Add(30*time.Minute+remove), writes[1].At, 2*time.Second)
	for _, dear := range []string{activities.NameFindOrphans, activities.NameListTargeting, activities.NamePreCheck} {
		require.Zero(t, ran[dear], "%s lists or reads bindings", dear)
	}
}

// Rules: R4.1-45.
func TestCordonRule_ABlipIsAFalseAlarm(t *testing.T) {
	s := newStory(t)
	s.onlyCordonRule(time.Minute, time.Minute)
	s.outage(50 * time.Second)
	s.playTo(phase.FailoverFalseAlarm)
	require.Empty(t, s.world.Log(""))
}

// Rules: R4.1-46.
func TestCordonRule_InObserveNothingIsWritten(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.onlyCordonRule(time.Minute, time.Minute)
	s.outage(10 * time.Minute)
	s.at(10*time.Minute-time.Second, func() {
		now := s.status()
		require.Equal(t, phase.FailoverCordoned, now.Phase)
		require.Len(t, now.Virtual, 1)
	})
	r := s.playTo(phase.FailoverUncordoned)
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), 11*time.Minute)
	require.Empty(t, s.world.Log(""))
}

// Two rules for the same condition: the cordon comes first, the failover by its own window, and at
// the return the cordon goes by its own window while that of the other still runs.
//
// Rules: R4.1-17, R4.1-47.
func TestCordonRule_BesideOneThatMovesEachTaintHasItsOwnWindow(t *testing.T) {
	const back = 5 * time.Minute
	s, _ := failing(t)
	s.cordonRule(10*time.Second, 5*time.Second)
	s.at(addAfter-time.Second, func() {
		require.True(t, s.cordoned(), "while the window of the rule that moves still runs")
		require.Equal(t, phase.FailoverSuspected, s.status().Phase)
	})
	s.at(back, func() { s.world.SetReady("m1", true) })
	s.at(back+wellFor-2*time.Second, func() {
		require.False(t, s.cordoned())
		require.Len(t, s.hard(), 1)
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
}

// The window of a rule that only cordons is not begun again because a failover of the same
// cluster ends meanwhile.
//
// Rules: R4.1-26, R4.1-45.
func TestCordonRule_ItsWindowOutlivesTheFailover(t *testing.T) {
	const add = 20 * time.Minute
	s, _ := outage(t, 3*time.Minute)
	s.cordonRuleOn(networkReady, add, time.Second)
	s.network(corev1.ConditionFalse)
	s.at(add-time.Second, func() { require.False(t, s.cordoned()) })
	s.at(add+5*time.Second, func() {
		require.True(t, s.cordoned())
		require.Equal(t, reason.Cordoned, s.status().Reason)
	})
	s.at(add+time.Minute, func() { s.network(corev1.ConditionTrue) })
	r := s.play()
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), add+time.Minute)
	require.Len(t, r.Attempts, 1)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
}

// Rules: R4.1-46.
func TestCordoned_ATaintThatMovesMakesItAFailover(t *testing.T) {
	for name, fails := range map[string]func(*story){
		"a rule that moves": func(s *story) { s.world.SetReady("m1", false) }, "an operator's taint": (*story).maintain,
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := withApp(t)
			s.cordonRuleOn(networkReady, 10*time.Second, time.Second)
			s.network(corev1.ConditionFalse)
			s.at(5*time.Minute, func() {
				require.Equal(t, phase.FailoverCordoned, s.status().Phase)
				fails(s)
			})
			s.at(15*time.Minute, s.well)
			s.at(25*time.Minute, func() { s.network(corev1.ConditionTrue) })
			require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
		})
	}
}

// Rules: R4.1-46, R4.9-37.
func TestCordoned_ACancelTakesTheTaintAway(t *testing.T) {
	s := newStory(t)
	s.onlyCordonRule(10*time.Second, time.Minute)
	s.outage(4 * time.Minute)
	s.at(2*time.Minute, func() { s.order(workflows.UpdateCancel, "a drill") })
	s.at(4*time.Minute-time.Second, func() { require.False(t, s.cordoned(), "stopped, no rule is applied") })
	s.playTo(phase.FailoverCancelled)
}

// A policy whose taint only an operator can take away: when the operator has, it is over.
//
// Rules: R4.1-10, R4.9-5.
func TestAnOperatorTakesAwayAPolicysTaintThatNothingElseRemoves(t *testing.T) {
	s, _ := outage(t, 6*time.Minute)
	s.policy() // what removes it never matches
	s.at(5*time.Minute, func() { s.world.DropTaint("m1", taintKey) })
	s.at(6*time.Minute-time.Second, func() { require.Len(t, s.hard(), 1, "while it matches, it is put again") })
	const taken = 20 * time.Minute
	s.at(taken, func() { s.world.DropTaint("m1", taintKey) })
	s.at(2*taken, func() { s.network(corev1.ConditionTrue) })
	r := s.play()
	require.Less(t, r.Until.Sub(storyBegins), taken+wellFor)
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), taken)
}

// What cannot be read was not taken away: Lifeboat's taint keeps its removal window.
//
// Rules: R4.1-21, R4.2-9.
func TestWhatCannotBeReadIsNoOperatorWhoTookTheTaintAway(t *testing.T) {
	for name, garble := range map[string]func(*karmada.Cluster){
		"the list of soft taints": func(c *karmada.Cluster) {
			c.Taints = slices.DeleteFunc(slices.Clone(c.Taints), func(x corev1.Taint) bool { return x.Key == softKey })
			c.SoftMalformed, c.SoftUnreadable = "soft-taints: not a list", true
		},
		"the cluster": func(c *karmada.Cluster) { c.Taints, c.Malformed = nil, "spec.taints: not a list" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			const quiet = 10 * time.Minute
			s.softRule(time.Second, quiet)
			s.bindSoftly("slow", "3600")
			s.network(corev1.ConditionFalse)
			s.at(2*time.Minute, func() { s.network(corev1.ConditionTrue) })
			var sound karmada.Cluster
			s.at(3*time.Minute, func() {
				sound = s.world.PeekCluster("m1")
				s.world.ChangeCluster("m1", garble)
			})
			s.at(5*time.Minute, func() {
				require.Len(t, s.world.PeekCluster("m1").Added, 2)
				s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
					c.Taints, c.Malformed, c.SoftMalformed, c.SoftUnreadable = sound.Taints, "", "", false
				})
			})
			r := s.play()
			require.GreaterOrEqual(t, r.Until.Sub(storyBegins), 2*time.Minute+quiet)
		})
	}
}

// Controllers lose a taint by a lost update: it is put back while its rule matches. Who
// takes it away twice within a minute means it: the failover is paused, as by an operator.
//
// Rules: R4.9-59, R4.9-60.
func TestATaintThatIsTakenAwayIsPutBackOnceAndTwiceWithinAMinutePauses(t *testing.T) {
	s := newStory(t)
	s.settings.Pace.EvictionRate = 0.01
	s.bindAll([]string{"a", "b", "c", "d"}, "m1", "m2")
	s.outage(15 * time.Minute)
	take := func() { s.world.DropTaint("m1", taintKey) }
	s.at(3*time.Minute, take)
	s.at(3*time.Minute+40*time.Second, func() {
		st := s.status()
		require.Len(t, s.hard(), 1)
		require.Nil(t, st.Paused)
		require.Equal(t, "not-ready", st.TakenAway[0].Rule)
	})
	s.at(5*time.Minute, take) // by accident again
	s.at(5*time.Minute+40*time.Second, func() {
		require.Len(t, s.hard(), 1)
		require.Nil(t, s.status().Paused)
		take()
	})
	var moved int
	s.at(6*time.Minute+20*time.Second, func() {
		st := s.status()
		require.Empty(t, s.hard(), "it is not put back a second time")
		require.Equal(t, "lifeboat", st.Paused.Who)
		require.Contains(t, st.Paused.Reason, "lifeboat cancel m1")
		require.Equal(t, []reason.Reason{reason.Conflict}, st.Attention)
		moved = len(s.world.Log("evict"))
	})
	s.at(9*time.Minute, func() {
		require.Len(t, s.world.Log("evict"), moved, "nothing new moves")
		s.order(workflows.UpdateResume, "it was the pipeline")
	})
	s.at(15*time.Minute-time.Second, func() {
		require.Len(t, s.hard(), 1)
		require.Empty(t, s.status().Attention)
		require.Greater(t, len(s.world.Log("evict")), moved)
	})
	s.play()
}

// Two taints that are taken away once each are no dispute.
//
// Rules: R4.9-60.
func TestTwoTaintsThatAreTakenAwayOnceEachArePutBack(t *testing.T) {
	s := newStory(t)
	s.settings.Pace.EvictionRate = 0.05
	s.bindAll([]string{"a", "b", "c", "d"}, "m1", "m2")
	s.outage(15 * time.Minute)
	s.at(30*time.Second, func() { s.accept(s.taints(workflows.UpdateTaint, "disks=old:NoExecute")) })
	s.at(3*time.Minute, func() { s.world.DropTaint("m1", taintKey) })
	s.at(3*time.Minute+20*time.Second, func() { s.world.DropTaint("m1", "disks") })
	s.at(4*time.Minute, func() {
		require.Nil(t, s.status().Paused)
		require.Len(t, s.hard(), 2)
	})
	s.at(5*time.Minute, func() { s.taints(workflows.UpdateUntaint, "") })
	s.play()
}

// What may not be put any more keeps nothing there that has to go: a worker was switched to observe meanwhile.
//
// Rules: R4.15-11.
func TestATaintThatIsRefusedKeepsNoOtherOnTheCluster(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.ClearRules()
	s.cordonRuleOn("Net", 10*time.Second, 20*time.Second)
	s.world.AddRule(whileFalse("second", "Ready", karmada.RuleTaint{
		Key: "x.io/second", Effect: corev1.TaintEffectNoSchedule, AddOnMatch: 10 * time.Second, RemoveOnMismatch: 20 * time.Second,
	}))
	network := func(status corev1.ConditionStatus) {
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
			c.Conditions = slices.DeleteFunc(c.Conditions, func(x karmada.Condition) bool { return x.Type == "Net" })
			c.Conditions = append(c.Conditions, karmada.Condition{Type: "Net", Status: status, LastTransition: s.env.Now()})
		})
	}
	network(corev1.ConditionFalse)
	s.at(time.Minute, func() {
		require.True(t, s.cordoned())
		s.setMode(rules.ModeObserve)
		s.world.SetReady("m1", false)
	})
	s.at(2*time.Minute, func() { network(corev1.ConditionTrue) })
	s.at(3*time.Minute, func() {
		require.False(t, s.cordoned())
		require.Equal(t, phase.FailoverCordoned, s.status().Phase)
	})
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	s.playTo(phase.FailoverUncordoned)
}

// A second actor that takes two taints away in turn, or both at once, is told from an accident for each of them.
//
// Rules: R4.9-60.
func TestTwoTaintsThatAreTakenAwayTwiceEachPause(t *testing.T) {
	for name, takes := range map[string][]struct {
		at   time.Duration
		keys []string
	}{
		"in turn":                  {{3 * time.Minute, []string{taintKey}}, {3*time.Minute + 10*time.Second, []string{"disks"}}, {3*time.Minute + 20*time.Second, []string{taintKey}}},
		"at once, then the first":  {{3 * time.Minute, []string{taintKey, "disks"}}, {3*time.Minute + 20*time.Second, []string{taintKey}}},
		"at once, then the second": {{3 * time.Minute, []string{taintKey, "disks"}}, {3*time.Minute + 20*time.Second, []string{"disks"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.settings.Pace.EvictionRate = 0.05
			s.bindAll([]string{"a", "b", "c", "d"}, "m1", "m2")
			s.outage(15 * time.Minute)
			s.at(30*time.Second, func() { s.accept(s.taints(workflows.UpdateTaint, "disks=old:NoExecute")) })
			for _, take := range takes {
				s.at(take.at, func() {
					require.Nil(t, s.status().Paused)
					s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
						c.Taints = slices.DeleteFunc(c.Taints, func(t corev1.Taint) bool { return slices.Contains(take.keys, t.Key) })
					})
				})
			}
			s.at(4*time.Minute, func() {
				require.Equal(t, "lifeboat", s.status().Paused.Who)
				require.Equal(t, []reason.Reason{reason.Conflict}, s.status().Attention)
			})
			s.at(5*time.Minute, func() {
				s.order(workflows.UpdateResume, "it was the pipeline")
				s.taints(workflows.UpdateUntaint, "")
			})
			s.play()
		})
	}
}

// Also where the evacuating taint was taken along, the pause holds and the recovery cleans up.
//
// Rules: R4.9-60.
func TestAFailoverWhoseTaintsAreAllTakenAwayTwiceStillRecovers(t *testing.T) {
	s := newStory(t)
	s.settings.Pace.EvictionRate = 0.01
	s.bindAll([]string{"a", "b"}, "m1", "m2")
	s.outage(5 * time.Minute)
	take := func() {
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Taints = nil })
		s.testify("", "")
	}
	s.at(3*time.Minute, take)
	s.at(3*time.Minute+5*time.Second, take)
	s.at(5*time.Minute-time.Second, func() {
		st := s.status()
		require.True(t, st.Disputed())
		require.Equal(t, "lifeboat", st.Paused.Who)
		require.Empty(t, s.hard())
	})
	s.play()
}

// probes has the external probe see the member up from one moment to another, and down from
// there on; the controller repeats the word each minute.
func (s *story) probes(up, down, until time.Duration) {
	for at := up; at < until; at += time.Minute {
		says := rules.ExternalProbeUp
		if at >= down {
			says = rules.ExternalProbeDown
		}
		s.at(at, func() { s.testify(says, "") })
	}
}

// An expired credential looks like a dead cluster.
//
// Rules: R4.1-48, R4.1-50.
func TestAMemberThatAnswersTheProbeIsNotFailedOver(t *testing.T) {
	for name, mode := range map[string]rules.Mode{"enforce": rules.ModeEnforce, "observe": rules.ModeObserve} {
		t.Run(name, func(t *testing.T) {
			s, _ := outage(t, 30*time.Minute)
			s.settings.Terms.Mode = mode
			s.probes(time.Second, time.Hour, 30*time.Minute)
			s.at(20*time.Minute, func() {
				now := s.status()
				require.Equal(t, phase.FailoverSuspected, now.Phase)
				require.Equal(t, reason.MemberAnswers, now.Reason)
				require.Equal(t, []reason.Reason{reason.MemberAnswers}, now.Attention)
				require.Empty(t, s.world.Log(""))
			})
			s.playTo(phase.FailoverFalseAlarm)
		})
	}
}

// A member that answers no more is failed over after its whole window. A word that nobody repeats contradicts
// nothing: no controller leads.
//
// Rules: R4.1-37, R4.1-50.
func TestAMemberThatAnswersNoMoreIsFailedOverAfterItsWholeWindow(t *testing.T) {
	const dies = 10*time.Minute + time.Second
	for name, c := range map[string]struct {
		says  func(*story)
		since time.Duration
	}{
		"it is seen down":       {says: func(s *story) { s.probes(time.Second, dies, 20*time.Minute) }, since: dies},
		"nobody looks any more": {says: func(s *story) { s.at(time.Second, func() { s.testify(rules.ExternalProbeUp, "") }) }, since: 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := outage(t, 20*time.Minute)
			c.says(s)
			s.at(20*time.Minute-time.Second, func() { require.Empty(t, s.status().Attention) })
			s.play()
			s.movedOnce(c.since + addAfter)
		})
	}
}

// Rules: R4.1-51.
func TestAFailoverGoesOnWhenItsMemberAnswersAgain(t *testing.T) {
	s, _ := outage(t, 20*time.Minute)
	s.probes(addAfter+30*time.Second, time.Hour, 20*time.Minute)
	s.at(20*time.Minute-time.Second, func() {
		require.Equal(t, phase.FailoverEvacuated, s.status().Phase)
		require.Len(t, s.world.PeekCluster("m1").Added, 2, "the taint and the evacuation NoSchedule taint")
	})
	s.play()
}

// Rules: R4.1-53.
func TestAnOperatorOverrulesTheExternalProbeWithATaint(t *testing.T) {
	s, _ := failing(t)
	s.probes(time.Second, time.Hour, 20*time.Minute)
	s.at(10*time.Minute, func() { s.taints(workflows.UpdateTaint, "outage:NoExecute") })
	s.at(15*time.Minute, func() {
		require.Len(t, s.world.Log("evict"), 1)
		require.False(t, karmada.IsLifeboatTaint(s.world.PeekCluster("m1"), corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoExecute}), "the rule's own taint is not put")
	})
	s.at(20*time.Minute, func() {
		s.world.SetReady("m1", true)
		s.taints(workflows.UpdateUntaint, "outage:NoExecute")
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
}
