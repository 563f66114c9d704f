package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// policy replaces the story's rule by a ClusterTaintPolicy: taint when not Ready,
// untaint when the network is ready.
func (s *story) policy() {
	s.world.ClearRules()
	s.world.AddRule(rules.Rule{
		Name: rules.PolicyPrefix + "p", Policy: true,
		MatchConditions:  []rules.MatchCondition{{ConditionType: "Ready", Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionFalse}}},
		RemoveConditions: []rules.MatchCondition{{ConditionType: networkReady, Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionTrue}}},
		Taints:           []karmada.RuleTaint{{Key: taintKey, Effect: corev1.TaintEffectNoExecute, AddOnMatch: addAfter, RemoveOnMismatch: wellFor}},
	})
}

// Rules: R4.1-10.
func TestAPolicysTaintGoesByTheConditionsThatRemoveItAndNotBefore(t *testing.T) {
	s := newStory(t)
	s.policy()
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.bind("late", []string{"m1"}, "m1", "m2")
	s.world.Change(karmada.BindingKey{Namespace: "shop", Name: "late"}, func(b *karmada.Binding) {
		seconds := int64(600)
		b.Placement.ClusterTolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}
	})
	s.network(corev1.ConditionFalse)
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(20*time.Minute, func() {
		hard, _ := karmada.Triggering(s.world.PeekCluster("m1").Taints)
		require.Len(t, hard, 1, "Ready again is no condition of its own that removes it")
		require.Len(t, s.world.Log("evict"), 1, "and nothing is evicted under a taint whose policy matches no more")
		s.network(corev1.ConditionTrue)
	})
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "late": "Abandoned"}, outcomes(r))
	writes := s.world.Log("taint")
	require.GreaterOrEqual(t, writes[0].At.Sub(storyBegins), addAfter)
	require.GreaterOrEqual(t, writes[len(writes)-1].At.Sub(storyBegins), 20*time.Minute+wellFor)
	require.Empty(t, s.world.Leftovers())
}

// In Karmada the taints of a deleted policy stay for ever. Ours do not: nobody else
// would take them away.
//
// Rules: R4.1-23.
func TestADeletedPolicyLeavesNoTaintBehind(t *testing.T) {
	s := newStory(t)
	s.policy()
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.network(corev1.ConditionFalse)
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.ClearRules() })
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Empty(t, s.world.Leftovers())
}

// A cancelled failover closes when nothing has matched for the removal window, also
// where the conditions that remove are not the others' opposite.
func TestACancelledFailoverOfAPolicyCloses(t *testing.T) {
	s := newStory(t)
	s.policy()
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.network(corev1.ConditionFalse)
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.order(workflows.UpdateCancel, "a drill") })
	s.at(6*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, phase.FailoverCancelled, r.Ended)
}

// Windows that run are measured by what the rule says now: longer ones end no sooner, and
// shorter ones end though the old duration would have outlasted the story's end.
//
// Rules: R4.1-22.
func TestAWindowThatRunsIsMeasuredByTheRulesNewDurations(t *testing.T) {
	const never = 100 * time.Hour
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	durations := func(at, add, remove time.Duration) {
		s.at(at, func() {
			s.world.ChangeRule("not-ready", func(r *rules.Rule) { r.Taints[0].AddOnMatch, r.Taints[0].RemoveOnMismatch = add, remove })
		})
	}
	s.world.SetReady("m1", false)
	durations(20*time.Second, never, never)
	s.at(10*time.Minute, func() { require.Empty(t, s.world.Log("taint"), "not by the duration that it began with") })
	durations(11*time.Minute, 20*time.Minute, never)
	s.at(40*time.Minute, func() {
		require.NotEmpty(t, s.world.Log("taint"))
		s.world.SetReady("m1", true)
	})
	durations(60*time.Minute, never, 40*time.Minute)
	r := s.play()
	tainted := s.world.Log("taint")[0].At.Sub(storyBegins)
	require.GreaterOrEqual(t, tainted, 20*time.Minute, "by the new one, from when it began to match")
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), 80*time.Minute)
	require.Less(t, r.Until.Sub(storyBegins), never)
	require.Empty(t, s.world.Leftovers())
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
			s := newStory(t)
			s.bind("app", []string{"m1"}, "m1", "m2")
			s.world.SetReady("m1", false)
			s.at(3*time.Minute, func() { s.world.ChangeRule("not-ready", c) })
			s.at(10*time.Minute, func() {
				hard, _ := karmada.Triggering(s.world.PeekCluster("m1").Taints)
				for _, taint := range hard {
					require.NotEqual(t, taintKey, taint.Key, "what the rule asks for no more has gone")
				}
				s.world.SetReady("m1", true)
			})
			r := s.play()
			require.Equal(t, phase.FailoverRecovered, r.Ended)
			require.Equal(t, phase.OutcomeMigrated, r.Attempts[0].Results[0].Outcome)
			require.Empty(t, s.world.Leftovers())
		})
	}
}

// A rule that has become invalid removes nothing and confirms nothing; mended, it
// goes on.
//
// Rules: R4.1-24.
func TestARuleThatBecameInvalidKeepsItsTaintUntilItIsMended(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() {
		s.world.ChangeRule("not-ready", func(r *rules.Rule) { r.Malformed = "spec.taints: not a list" })
		s.world.SetReady("m1", true)
	})
	s.at(10*time.Minute, func() {
		hard, _ := karmada.Triggering(s.world.PeekCluster("m1").Taints)
		require.Len(t, hard, 1)
		s.world.ChangeRule("not-ready", func(r *rules.Rule) { r.Malformed = "" })
	})
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), 10*time.Minute+wellFor)
	require.Empty(t, s.world.Leftovers())
}

// A taint that a human put by the key of a rule is the human's: it is not recorded,
// not removed, and counts for as long as it stands.
//
// Rules: R4.1-13, R4.1-28, R4.1-29.
func TestATaintThatAHumanPutByTheKeyOfARuleStaysTheHumans(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.PutTaint("m1", corev1.Taint{Key: taintKey, Value: "by-hand", Effect: corev1.TaintEffectNoExecute})
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(10*time.Minute, func() {
		c := s.world.PeekCluster("m1")
		hard, _ := karmada.Triggering(c.Taints)
		require.Len(t, hard, 1)
		require.Equal(t, "by-hand", hard[0].Value)
		require.False(t, karmada.OursAdded(c, hard[0]))
		s.world.DropTaint("m1", taintKey)
	})
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Empty(t, s.world.Leftovers())
}

// The cluster that comes back under the same name is another one: the failover of the
// first ends, and nothing that it had begun is done to the second.
//
// Rules: R4.1-38.
func TestAClusterThatIsReCreatedUnderTheSameNameIsAnotherOne(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.bind("stays", []string{"m1"}, "m1")
	s.world.SetReady("m1", false)
	s.at(4*time.Minute, func() {
		s.world.DeleteCluster("m1")
		s.world.AddCluster("m1")
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.UID = "another" })
		s.world.SetReady("m1", false)
	})
	r := s.play()
	require.Equal(t, phase.FailoverGone, r.Ended)
	c := s.world.PeekCluster("m1")
	require.Empty(t, c.Taints)
	require.Empty(t, c.Added)
	for _, w := range s.world.Log("evict") {
		require.Less(t, w.At.Sub(storyBegins), 4*time.Minute)
	}
	require.Empty(t, s.world.Leftovers())
}

// Karmada's status flaps: each blip is shorter than the window, and none of them adds up.
//
// Rules: R4.1-16, R4.1-18, R4.1-40.
func TestKarmada1082FlapsNeverAddUp(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	for i := range 12 {
		at := time.Duration(i) * 50 * time.Second
		s.at(at+45*time.Second, func() { s.world.SetReady("m1", true); s.world.SetReady("m1", false) })
	}
	s.at(630*time.Second, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, phase.FailoverFalseAlarm, r.Ended)
	require.Empty(t, s.world.Log(""), "ten minutes of flapping, and nothing was written")
}

// Once tainted, a cluster that flaps gets its removal window anew each time and is
// tainted once.
//
// Rules: R4.1-21.
func TestKarmada5899AFlappingClusterIsTaintedOnceAndUntaintedOnce(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	for i := range 5 {
		at := 3*time.Minute + time.Duration(i)*time.Minute
		s.at(at, func() { s.world.SetReady("m1", true) })
		s.at(at+wellFor-5*time.Second, func() { s.world.SetReady("m1", false) })
	}
	s.at(9*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Len(t, s.world.Log("taint"), 2)
	require.Len(t, s.world.Log("evict"), 1)
	require.Len(t, r.Attempts, 1)
}

// Unhealthy and Unknown in turn: Unknown does not reset the clock, so the failover
// fires; it does not confirm either.
//
// Rules: R4.1-19.
func TestKarmada7431UnknownNeitherStartsNorResetsTheWindow(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	unknown := func() {
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
			c.Conditions[0].Status, c.Conditions[0].Reason = corev1.ConditionUnknown, "ClusterStatusUnknown"
		})
	}
	s.world.SetReady("m1", false)
	for i := range 4 {
		at := time.Duration(i) * 20 * time.Second
		s.at(at+10*time.Second, unknown)
		s.at(at+20*time.Second, func() { s.world.SetReady("m1", false) })
	}
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	tainted := s.world.Log("taint")[0].At.Sub(storyBegins)
	require.GreaterOrEqual(t, tainted, addAfter)
	require.Less(t, tainted, 2*addAfter, "the clock was not reset")
}

// A rotated secret makes Karmada say Ready=False by a reason that speaks of us.
//
// Rules: R4.1-32.
func TestKarmada7408OurOwnCredentialsNeverConfirmAFailure(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.at(30*time.Second, func() {
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Conditions[0].Reason = "StatusCollectionFailed" })
	})
	s.at(30*time.Minute, func() {
		require.Empty(t, s.world.Log(""))
		s.world.SetReady("m1", true)
	})
	require.Equal(t, phase.FailoverFalseAlarm, s.play().Ended)
}

// externalProbeRule makes the story's rule wait for the external probe; testify sends its word, as
// the controller does, with the cluster as it stands.
func (s *story) externalProbeRule() {
	s.world.ChangeRule("not-ready", func(r *rules.Rule) { r.RequireExternalProbe = true })
}

func (s *story) testify(w rules.ExternalProbe, uid types.UID) {
	fact := rules.FactOf(s.world.PeekCluster("m1")).Testified(w)
	if uid != "" {
		fact.UID = uid
	}
	s.hint(workflows.ClusterFailoverID("", "m1"), workflows.SignalClusterObserved, workflows.ClusterObserved{Fact: fact})
}

// Rules: R4.1-34, R4.1-37.
func TestARuleThatRequiresTheExternalProbeFiresOnlyOnItsLivingWord(t *testing.T) {
	for name, c := range map[string]struct {
		says    func(s *story)
		evicted int
	}{
		"it says so again and again": {says: func(s *story) {
			for i := range 8 {
				s.at(time.Duration(i)*time.Minute+time.Second, func() { s.testify(rules.ExternalProbeDown, "") })
			}
		}, evicted: 1},
		"nobody testifies":              {says: func(*story) {}, evicted: 0},
		"it sees the member alive":      {says: func(s *story) { s.at(time.Second, func() { s.testify(rules.ExternalProbeUp, "") }) }, evicted: 0},
		"its word is about another one": {says: func(s *story) { s.at(time.Second, func() { s.testify(rules.ExternalProbeDown, "another") }) }, evicted: 0},
		"it changed its mind in between": {says: func(s *story) {
			s.at(time.Second, func() { s.testify(rules.ExternalProbeDown, "") })
			s.at(addAfter/2, func() { s.testify(rules.ExternalProbeUp, "") })
		}, evicted: 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.externalProbeRule()
			s.bind("app", []string{"m1"}, "m1", "m2")
			s.world.SetReady("m1", false)
			// A NoSchedule taint of another rule keeps the failover open meanwhile.
			s.world.AddRule(rules.Rule{
				Name:            "keeps-it-open",
				MatchConditions: []rules.MatchCondition{{ConditionType: "Ready", Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionFalse}}},
				Taints:          []karmada.RuleTaint{{Key: "slow", Effect: corev1.TaintEffectNoExecute, AddOnMatch: time.Hour, RemoveOnMismatch: time.Second}},
			})
			c.says(s)
			s.at(9*time.Minute, func() { s.world.SetReady("m1", true) })
			s.play()
			require.Len(t, s.world.Log("evict"), c.evicted)
			require.Empty(t, s.world.Leftovers())
		})
	}
}

// A word that nobody repeats is a controller that died: it neither fires a window later
// nor keeps the taint from following what is known.
//
// Rules: R4.1-37.
func TestAWordOfTheExternalProbeDoesNotHoldForEver(t *testing.T) {
	s := newStory(t)
	s.externalProbeRule()
	s.world.ChangeRule("not-ready", func(r *rules.Rule) { r.Taints[0].AddOnMatch = 5 * time.Minute })
	s.world.AddRule(rules.Rule{
		Name:            "keeps-it-open",
		MatchConditions: []rules.MatchCondition{{ConditionType: "Ready", Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionFalse}}},
		Taints:          []karmada.RuleTaint{{Key: "slow", Effect: corev1.TaintEffectNoExecute, AddOnMatch: time.Hour, RemoveOnMismatch: time.Second}},
	})
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.at(time.Second, func() { s.testify(rules.ExternalProbeDown, "") })
	s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Empty(t, s.world.Log("evict"))
	require.Empty(t, s.world.Leftovers())
}

// Not Ready for an hour as Unknown never triggered a rule that listed False. Under
// NotIn every status that is not listed matches.
//
// Rules: R4.1-20.
func TestKarmada2096UnknownForAnHourTriggersUnderNotIn(t *testing.T) {
	s := newStory(t)
	s.world.ChangeRule("not-ready", func(r *rules.Rule) {
		r.MatchConditions[0].Operator = rules.OperatorNotIn
		r.MatchConditions[0].StatusValues = []corev1.ConditionStatus{corev1.ConditionTrue}
	})
	s.bind("app", []string{"m1"}, "m1", "m2")
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
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.at(4*time.Minute, func() {
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Taints, c.Added = nil, nil })
	})
	s.at(6*time.Minute, func() {
		c := s.world.PeekCluster("m1")
		hard, _ := karmada.Triggering(c.Taints)
		require.Len(t, hard, 1)
		require.Len(t, c.Added, 2, "recorded as Lifeboat's again, the evacuation taint too")
		s.world.SetReady("m1", true)
	})
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Empty(t, s.world.Leftovers())
}

// The taint that triggered goes while another NoExecute taint remains: what tolerates
// that one must not move any more.
//
// Rules: R4.3-16, R4.3-17.
func TestKubernetes90794ATaintThatRemainsMovesNothingThatToleratesIt(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.bind("other", []string{"m1"}, "m1", "m2")
	seconds := int64(300)
	s.world.Change(key, func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = []corev1.Toleration{
			{Key: "triggers", Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds},
			{Key: "remains", Operator: corev1.TolerationOpExists},
		}
	})
	s.world.PutTaint("m1", corev1.Taint{Key: "triggers", Effect: corev1.TaintEffectNoExecute})
	s.world.PutTaint("m1", corev1.Taint{Key: "remains", Effect: corev1.TaintEffectNoExecute})
	s.at(2*time.Minute, func() { s.world.DropTaint("m1", "triggers") })
	s.at(20*time.Minute, func() { s.world.DropTaint("m1", "remains") })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Abandoned", "other": "Migrated"}, outcomes(r))
	require.Len(t, s.world.Log("evict"), 1)
}

// The master's own outage once evicted every node. When every cluster looks failed
// it is probably us: the failure is found, and nothing moves.
//
// Rules: R4.1-33.
func TestKubernetes28832And24200And28897NothingMovesWhileEveryClusterLooksFailed(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	for i := range 6 {
		name := fmt.Sprintf("m%d", i+1)
		s.world.SetReady(name, false)
		s.at(20*time.Minute, func() {
			require.Empty(t, s.world.Log("evict"))
			s.world.SetReady(name, true)
		})
	}
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Abandoned"}, outcomes(r))
	require.Empty(t, s.world.Log("evict"))
	require.Empty(t, s.world.Leftovers())
}

// What one attempt has frozen of a binding binds that attempt alone.
//
// Rules: R4.3-15, R4.3-22.
func TestTheNextAttemptFreezesPoliciesAnew(t *testing.T) {
	s := newStory(t)
	s.bind("slow", []string{"m1"}, "m1", "m2")
	s.world.HealthyAfter = 8 * time.Minute // it keeps the failover open between the attempts
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.Change(key, func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = []corev1.Toleration{{Key: taintKey, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
	})
	s.world.SetReady("m1", false)
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
	require.Empty(t, s.world.Leftovers())
}
