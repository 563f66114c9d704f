package activities_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	corev1 "k8s.io/api/core/v1"
)

func readyFact(version string, ready string) rules.ClusterFact {
	return rules.ClusterFact{
		Cluster: "m1", UID: "uid-m1", ResourceVersion: version, Conditions: []rules.FactCondition{{Type: "Ready", Status: ready}},
	}
}

func matches(a activities.Assessment) []rules.Match {
	var out []rules.Match
	for _, sight := range a.Sights {
		for _, o := range sight {
			out = append(out, o.Match)
		}
	}
	return out
}

// Rules: R4.1-18, R4.1-39.
func TestStatesBetweenTwoLooksAreJudgedInOrderAndOlderOnesIgnored(t *testing.T) {
	b := newBench(t)
	b.world.SetReady("m1", false)
	now := b.world.PeekCluster("m1").ResourceVersion
	foreign := readyFact("4", "True")
	foreign.UID = "older"
	b.world.SetReady("m1", false) // a newer version than every fact
	a := b.assess(activities.AssessRequest{
		Cluster: "m1", UID: "uid-m1", Seen: "3",
		Facts: []rules.ClusterFact{readyFact(now, "False"), readyFact("5", "True"), readyFact("2", "True"), foreign, readyFact("999", "True")},
	})
	require.Equal(t, []rules.Match{rules.Mismatches, rules.Matches}, matches(a), "oldest first; the re-read last, which says what the newest fact did")
	require.Equal(t, b.world.PeekCluster("m1").ResourceVersion, a.Seen)
}

// Of a flap that no fact tells of, the condition's own transition time does.
//
// Rules: R4.1-18.
func TestAFlapThatNobodySawIsJudgedByTheTimeOfTheTransition(t *testing.T) {
	b := newBench(t)
	b.world.SetReady("m1", false)
	assess := func(r activities.AssessRequest) activities.Assessment {
		r.Cluster, r.UID = "m1", "uid-m1"
		return b.assess(r)
	}
	first := assess(activities.AssessRequest{})
	require.Equal(t, []rules.Match{rules.Matches}, matches(first))
	again := assess(activities.AssessRequest{Turns: first.Turns, Seen: first.Seen})
	require.Equal(t, []rules.Match{rules.Matches}, matches(again), "nothing turned")

	b.now = b.now.Add(time.Minute)
	b.world.SetReady("m1", true)
	told := b.world.PeekCluster("m1").ResourceVersion
	b.now = b.now.Add(time.Minute)
	b.world.SetReady("m1", false)
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Labels["zone"] = "a" })
	flap := []rules.Match{rules.Mismatches, rules.Matches}
	require.Equal(t, flap, matches(assess(activities.AssessRequest{Turns: first.Turns, Seen: first.Seen})))
	seen := assess(activities.AssessRequest{Turns: first.Turns, Seen: first.Seen, Facts: []rules.ClusterFact{readyFact(told, "True")}})
	require.Equal(t, flap, matches(seen), "told once, it is judged once")

	b.now = b.now.Add(time.Minute)
	b.world.SetReady("m1", true)
	require.Equal(t, []rules.Match{rules.Mismatches}, matches(assess(activities.AssessRequest{Turns: seen.Turns, Seen: seen.Seen})), "this is what it is now")
}

// Nor is a flap lost that came and went while the cluster could not be read.
//
// Rules: R4.1-18.
func TestAFlapWhileNothingCouldBeReadIsJudgedOnceItCan(t *testing.T) {
	b := newBench(t)
	b.world.SetReady("m1", false)
	assess := func(before activities.Assessment) activities.Assessment {
		return b.assess(activities.AssessRequest{
			Cluster: "m1", UID: "uid-m1", Turns: before.Turns, Seen: before.Seen,
		})
	}
	first := assess(activities.Assessment{})
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Malformed = "spec.taints: garbled" })
	for _, ready := range []bool{true, false} {
		b.now = b.now.Add(time.Minute)
		b.world.SetReady("m1", ready)
		first = assess(first)
		require.Equal(t, []rules.Match{rules.Undecided}, matches(first))
	}
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Malformed = "" })
	require.Equal(t, []rules.Match{rules.Mismatches, rules.Matches}, matches(assess(first)))
}

// Rules: R4.1-38.
func TestAClusterThatIsAnotherOneNowIsGone(t *testing.T) {
	b := newBench(t)
	a := b.assess(activities.AssessRequest{Cluster: "m1", UID: "older"})
	require.True(t, a.Gone)
	b.world.DeleteCluster("m1")
	a = b.assess(activities.AssessRequest{Cluster: "m1"})
	require.True(t, a.Gone)
	require.True(t, b.taint(activities.TaintRequest{AssessRequest: m1, Mode: rules.ModeEnforce}).Gone)
	require.True(t, b.policies(activities.PoliciesRequest{Cluster: "m1", UID: "uid-m1"}).Gone)
}

func (b *bench) optOutCluster() {
	b.does(m1Is(func(c *karmada.Cluster) { c.Annotations[karmada.AnnotationEnabled] = "false" }))
}

// Rules: R4.3-2.
func TestNothingFollowsFromAnOptedOutCluster(t *testing.T) {
	b := failing(t)
	b.optOutCluster()
	a := b.assess(activities.AssessRequest{Cluster: "m1"})
	require.True(t, a.OptedOut)
	require.Empty(t, matches(a))
	require.Empty(t, a.Hard)
	require.Len(t, a.Added, 2, "what is Lifeboat's is still seen, so that it can go")
	p := b.policies(activities.PoliciesRequest{Cluster: "m1", UID: "uid-m1", Policies: []rules.Policy{{}}})
	require.False(t, p.Dues[0].Affected)
	require.Equal(t, activities.EvictNotAffected, b.evict().End)
}

// taintRow is a write of taints after a change, of the world or of the request.
type taintRow struct {
	world   func(*bench)
	ask     func(*bench, *activities.TaintRequest)
	refused reason.Reason
	writes  int
}

func (c taintRow) run(t *testing.T, b *bench, r activities.TaintRequest) activities.TaintResult {
	t.Helper()
	b.does(c.world)
	before := len(b.world.Log("taint"))
	out := b.taint(asked(b, r, c.ask))
	require.Equal(t, c.refused, out.Refused, out.Message)
	require.Len(t, b.world.Log("taint"), before+c.writes)
	return out
}

func failoverObserves(_ *bench, r *activities.TaintRequest) { r.Mode = rules.ModeObserve }

// Rules: R4.1-1, R4.2-4, R4.15-10.
func TestTaintsFollowTheRulesAndTheMode(t *testing.T) {
	for name, c := range map[string]taintRow{
		"both, in one patch":       {writes: 1},
		"the failover observes":    {ask: failoverObserves, refused: reason.ModeObserve},
		"the worker observes":      {world: workerObserves, refused: reason.ModeObserve},
		"the rule matches no more": {world: recovered, refused: reason.ClusterRecovered},
		"its window is longer now": {
			world: func(b *bench) {
				b.world.ChangeRule("not-ready", func(r *rules.Rule) { r.Taints[0].AddOnMatch = 2 * time.Minute })
			},
			refused: reason.ClusterRecovered,
		},
		"its window is shorter now": {
			world: func(b *bench) {
				b.world.ChangeRule("not-ready", func(r *rules.Rule) { r.Taints[0].AddOnMatch = time.Second })
			},
			writes: 1,
		},
		"opted out": {world: (*bench).optOutCluster, refused: reason.ClusterRecovered},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.world.SetReady("m1", false)
			c.run(t, b, b.taints())
			require.Len(t, b.world.PeekCluster("m1").Added, 2*c.writes)
		})
	}
}

// Two rules may ask for one taint. It is recorded for the one that put it until that matches no more.
//
// Rules: R4.1-25, R4.1-31.
func TestWriteTaints_TwoRulesWithOneTaint_GoesOverToTheOneThatMatches(t *testing.T) {
	b := failing(t)
	for name, status := range map[string]corev1.ConditionStatus{"also": corev1.ConditionFalse, "well": corev1.ConditionTrue} {
		b.world.AddRule(downWhile(name, status))
	}
	asks := func(rule string) func(*bench, *activities.TaintRequest) {
		return func(_ *bench, r *activities.TaintRequest) { r.Add[0].Rule, r.EvacuationTaint = rule, "" }
	}
	put := b.world.PeekCluster("m1").Taints
	taintRow{ask: asks("also"), refused: reason.ClusterRecovered}.run(t, b, b.taints())
	recovered(b)
	require.Equal(t, activities.EvictNotAffected, b.evict().End, "whether the window of the other has run out is not known here")
	taintRow{ask: asks("well"), writes: 1}.run(t, b, b.taints())
	require.Equal(t, "well", b.world.PeekCluster("m1").Added[0].Rule)
	require.Equal(t, put, b.world.PeekCluster("m1").Taints, "tolerations go on")
	require.Equal(t, activities.EvictWritten, b.evict().End)
}

// An operator's taint moves nothing off an opted-out cluster, so it is no reason to keep
// the evacuation taint either.
//
// Rules: R4.3-2, R4.2-6.
func TestAnOptOutTakesTheEvacuationTaintAwayBesideAnOperatorsTaint(t *testing.T) {
	b := failing(t)
	maintained(b)
	b.optOutCluster()
	out := b.taint(untaint)
	require.Empty(t, out.Refused)
	require.Empty(t, out.Added)
	require.Equal(t, []string{"maintenance:NoExecute"}, out.Standing)
	require.Empty(t, out.Foreign, "as the assessment says")
	require.Empty(t, out.Hard)
}

// Rules: R4.1-28, R4.15-11.
func TestOnlyLifeboatTaintsGoAndTheEvacuationTaintLast(t *testing.T) {
	b := failing(t)
	maintained(b)
	require.Equal(t, reason.ConditionsMatch, b.taint(untaint).Refused, "its rule matches again")

	b.world.SetReady("m1", true)
	b.acts.Settings.Terms.Mode = rules.ModeObserve // what began in enforce is cleaned whatever the config says now
	out := b.taint(untaint)
	require.Equal(t, []string{karmada.EvacuatingTaintKey + ":NoSchedule", "maintenance:NoExecute"}, out.Standing,
		"an operator's taint still makes bindings move")
	require.Len(t, out.Added, 1)

	b.world.DropTaint("m1", "maintenance")
	require.Empty(t, b.taint(untaint).Standing)
	require.Empty(t, b.world.Leftovers())
}

// Rules: R4.15-2.
func TestAFailoverThatObservesRemovesNothingEither(t *testing.T) {
	b := failing(t)
	out := taintRow{ask: failoverObserves, refused: reason.ModeObserve}.run(t, b, activities.TaintRequest{
		AssessRequest: m1, RemoveAll: true, EvenIfFailing: true,
	})
	require.Len(t, out.Added, 2)
}

// Rules: R4.9-37, R4.9-38.
func TestAnOperatorsOrderRemovesWhatTheRulesWouldKeep(t *testing.T) {
	b := failing(t)
	out := b.taint(activities.TaintRequest{
		AssessRequest: m1, Mode: rules.ModeEnforce, RemoveAll: true, EvenIfFailing: true,
		StoppedBy: &karmada.StoppedBy{Who: "jane", Why: "it was us", FailoverID: "e1"},
	})
	require.Empty(t, out.Added)
	require.Equal(t, "jane", b.world.PeekCluster("m1").Stopped.Who)
}

// Rules: R4.3-1, R4.3-2, R4.3-21.
func TestTheAffectedSetLeavesOutWhatIsOptedOutAndKeepsWhatIsMalformed(t *testing.T) {
	b := newBench(t)
	b.bind("elsewhere", func(x *karmada.Binding) { x.Clusters[0].Name = "m2" })
	b.bind("optedout", optedOut)
	b.bind("deleting", func(x *karmada.Binding) { x.Deleting = true })
	b.bind("malformed", func(x *karmada.Binding) { x.Malformed = "no" })
	b.bind("urgent", func(x *karmada.Binding) { x.Priority = 3 })
	page := b.listed()
	require.Len(t, page.Items, 3)
	for i, name := range []string{"app", "malformed", "urgent"} {
		require.Equal(t, appKey(name), page.Items[i].Key)
	}
	require.Equal(t, "no", page.Items[1].Malformed)
	require.Len(t, page.Policies, 2, "policies are frozen once each")
	require.EqualValues(t, 3, page.Policies[page.Items[2].Policy].Priority)
	require.Equal(t, "Deployment shop/app", page.Items[0].Resource)
}

// Both who is listed and who is adopted is frozen with them.
//
// Rules: R4.3-10.
func TestDefaultTolerationsAreFrozenOfBindingsWithoutAny(t *testing.T) {
	b, _ := moved(t)
	own, defaults := []corev1.Toleration{fixtures.Tolerate("own", 60)}, []corev1.Toleration{fixtures.Tolerate("default")}
	b.bind("none")
	b.bind("own", fixtures.Tolerating(own...))
	frozen := func() map[string][]corev1.Toleration {
		out := map[string][]corev1.Toleration{}
		page := b.listed()
		for _, i := range page.Items {
			out[i.Key.Name] = page.Policies[i.Policy].Tolerations
		}
		for _, o := range b.orphans("m1").Orphans {
			out["adopted "+o.Key.Name] = o.Policy.Tolerations
		}
		return out
	}
	require.Equal(t, map[string][]corev1.Toleration{"none": nil, "own": own, "adopted app": nil}, frozen(), "off by default")
	b.acts.Settings.DefaultTolerations = defaults
	require.Equal(t, map[string][]corev1.Toleration{"none": defaults, "own": own, "adopted app": defaults}, frozen())
}

// Rules: R4.3-16.
func TestPoliciesAreJudgedUnderTheTaintsThatStand(t *testing.T) {
	b := failing(t)
	request := activities.PoliciesRequest{Cluster: "m1", UID: "uid-m1", Policies: []rules.Policy{
		{},
		{Tolerations: []corev1.Toleration{fixtures.Tolerate("")}},
		{Tolerations: []corev1.Toleration{fixtures.Tolerate("", 60)}},
	}}
	r := b.policies(request)
	require.True(t, r.Dues[0].Affected)
	require.False(t, r.Dues[1].Affected)
	require.True(t, r.Dues[2].At.Equal(b.now.Add(time.Minute)))
	b.world.DropTaint("m1", downKey)
	require.False(t, b.policies(request).Dues[0].Affected)
	request.Virtual = []corev1.Taint{{Key: downKey, Effect: corev1.TaintEffectNoExecute}}
	require.True(t, b.policies(request).Dues[0].Affected, "observe judges a taint that would stand")
}

func TestAPreCheckAnswersForEachBindingInOrder(t *testing.T) {
	b := failing(t)
	b.bind("stuck", func(x *karmada.Binding) { x.Placement.ClusterAffinity.ClusterNames = []string{"m1"} })
	b.bind("moved", func(x *karmada.Binding) { x.Clusters[0].Name = "m2" })
	b.bind("malformed", func(x *karmada.Binding) { x.Malformed = "no" })
	b.bind("deleting", func(x *karmada.Binding) { x.Deleting = true })
	ends := []activities.CheckEnd{
		activities.CheckPass, activities.CheckBlocked, activities.CheckNotTargeting, activities.CheckGone, activities.CheckBlocked, activities.CheckGone,
	}
	names := []string{"app", "stuck", "moved", "missing", "malformed", "deleting"}
	checks := b.check(names...)
	for i, name := range names {
		require.Equal(t, appKey(name), checks[i].Key)
		require.Equal(t, ends[i], checks[i].End, name)
	}
	require.Equal(t, []string{"m2"}, checks[0].Candidates)
	another := b.preCheck(func(r *activities.PreCheckRequest) { r.Items[0].UID = "older" })
	require.Equal(t, activities.CheckGone, another.End)
}

func TestAnErrorDecidesOnceWhetherItIsTriedAgain(t *testing.T) {
	for kind, c := range map[string]struct {
		err   error
		never bool
		wait  time.Duration
	}{
		activities.ErrorForbidden:   {err: karmada.ErrForbidden, wait: 30 * time.Second},
		activities.ErrorInvalid:     {err: karmada.ErrInvalid, never: true},
		activities.ErrorThrottled:   {err: &karmada.ThrottledError{RetryAfter: 7 * time.Second, Err: errors.New("429")}, wait: 7 * time.Second},
		activities.ErrorUnreachable: {err: karmada.ErrUnreachable},
		activities.ErrorGone:        {err: karmada.ErrGone, never: true},
		activities.ErrorConflict:    {err: karmada.ErrConflict},
	} {
		t.Run(kind, func(t *testing.T) {
			b := newBench(t)
			b.does(notReady("m1"), allFail(c.err))
			_, err := do[activities.TaintResult](b, activities.NameWriteTaints, b.taints())
			var app *temporal.ApplicationError
			require.ErrorAs(t, err, &app)
			require.Equal(t, kind, app.Type())
			require.Equal(t, c.never, app.NonRetryable())
			require.Equal(t, c.wait, app.NextRetryDelay())
			require.Contains(t, app.Error(), "m1", "the object is named")
		})
	}
}

// Rules: R4.2-7.
func TestTheListTellsWhatTargetsNoOtherCluster(t *testing.T) {
	b := newBench(t)
	b.bind("both", func(x *karmada.Binding) { x.Clusters = on("m1", "m2") })
	alone := map[string]bool{}
	for _, i := range b.listed().Items {
		alone[i.Key.Name] = i.Alone
	}
	require.Equal(t, map[string]bool{"app": true, "both": false}, alone)
}

// A taint that is recorded and does not stand was taken away: the Event says that it was put
// back, and how to end that.
//
// Rules: R4.9-59.
func TestATaintThatIsPutBackIsSaidSoWithTheOrderThatEndsIt(t *testing.T) {
	b := failing(t)
	var raised events
	b.acts.Events = &raised
	b.world.SetReady("m1", false)
	r := b.taints()
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Taints = nil })
	require.Len(t, b.taint(r).PutBack, 1, "the evacuating taint follows from no rule")
	require.Len(t, raised, 2)
	said := raised[1]
	require.Equal(t, "TaintPutBack", said.Reason)
	require.True(t, said.Warning)
	require.Contains(t, said.Message, `was taken away and put back, because its rule still matches; to end this: lifeboat cancel m1 --reason`)

	raised = nil
	require.Empty(t, b.taint(r).PutBack, "it stands")
	require.NotContains(t, fmt.Sprint(raised), "TaintPutBack")
}

// Another rule that asks for the taint, and is before it in the order, is recorded for it now: what was taken away is the taint of
// the former one all the same, unless that asked for it no more.
//
// Rules: R4.9-59, R4.1-25.
func TestATaintThatAnotherRulePutsBackIsSaidSoWhileItsOwnRuleMatches(t *testing.T) {
	for name, matches := range map[string]bool{"its own rule matches": true, "its own rule does not": false} {
		t.Run(name, func(t *testing.T) {
			b := failing(t)
			other := downWhile("a-network", corev1.ConditionFalse)
			other.MatchConditions[0].ConditionType = "NetworkReady"
			b.world.AddRule(other)
			b.network(corev1.ConditionFalse)
			b.world.SetReady("m1", !matches)
			b.world.DropTaint("m1", downKey)
			r := b.taints()
			r.Add = slices.Concat([]rules.RuleObservation{{Rule: "a-network", Taint: r.Add[0].Taint}}, r.Add)
			out := b.taint(r)
			require.True(t, slices.ContainsFunc(out.Added, func(t karmada.AddedTaint) bool { return t.Rule == "a-network" }))
			require.Equal(t, matches, len(out.PutBack) == 1)
		})
	}
}

// An attempt that was thrown back comes again when the taint that asked for the
// evacuation taint has gone: nothing is put on a cluster that nothing moves bindings off.
//
// Rules: R4.2-6.
func TestTheEvacuationTaintIsPutOnlyBesideATaintThatMoves(t *testing.T) {
	b := newBench(t)
	put := b.taints()
	put.Add = nil
	r := b.taint(put)
	require.Equal(t, reason.ClusterRecovered, r.Refused)
	require.Empty(t, b.world.Log("taint"))

	maintained(b)
	r = b.taint(put)
	require.Empty(t, r.Refused)
	require.Len(t, r.Added, 1)
}

const slowKey = "failover.example.org/slow"

// softRule puts a soft taint while the network is not ready; ripeSoft asks for it.
func (b *bench) softRule() {
	rule := downWhile("network", corev1.ConditionFalse)
	rule.MatchConditions[0].ConditionType = "NetworkReady"
	rule.Taints[0] = karmada.RuleTaint{Key: slowKey, Effect: karmada.EffectPreferNoExecute}
	b.world.AddRule(rule)
	b.network(corev1.ConditionFalse)
}

func (b *bench) network(status corev1.ConditionStatus) {
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) {
		c.Conditions = append(c.Conditions[:1:1], karmada.Condition{Type: "NetworkReady", Status: status})
	})
}

func (b *bench) putSoft() activities.TaintResult {
	b.t.Helper()
	r := b.taints()
	r.Add = []rules.RuleObservation{{Rule: "network", Taint: karmada.RuleTaint{Key: slowKey, Effect: karmada.EffectPreferNoExecute}}}
	return b.taint(r)
}

func softPolicy(seconds int64) rules.Policy {
	return rules.Policy{ClusterFailover: true, SoftSeconds: &seconds}
}

// Rules: R4.2-2, R4.2-6.
func TestTheEvacuationTaintStaysWhileASoftTaintDoes(t *testing.T) {
	b := newBench(t)
	b.softRule()
	require.Len(t, b.putSoft().Soft, 1)
	b.world.SetReady("m1", false)
	b.taint(b.taints())
	b.world.SetReady("m1", true)
	remove := activities.TaintRequest{
		AssessRequest: m1, Mode: rules.ModeEnforce, EvacuationTaint: activities.EvacuationTaintDrop,
		Remove: []karmada.AddedTaint{{Key: downKey, Effect: corev1.TaintEffectNoExecute}},
	}
	out := b.taint(remove)
	require.Equal(t, []string{slowKey + ":PreferNoExecute", karmada.EvacuatingTaintKey + ":NoSchedule"}, out.Standing)

	require.Equal(t, reason.ConditionsMatch, b.taint(untaint).Refused, "its rule still asks for it")
	b.network(corev1.ConditionTrue)
	require.Empty(t, b.taint(untaint).Standing)
}

// The annotation cannot be written without overwriting what somebody garbled: hard
// taints go and come, soft ones wait, and Lifeboat's record of them stays.
//
// Rules: R4.2-9.
func TestWhatIsGarbledIsNotOverwritten(t *testing.T) {
	b := newBench(t)
	b.softRule()
	b.putSoft()
	b.does(m1Is(func(c *karmada.Cluster) { c.Taints, c.SoftUnreadable, c.SoftMalformed = nil, true, "no list" }))
	require.Equal(t, reason.ClusterRecovered, b.putSoft().Refused)
	b.network(corev1.ConditionTrue)
	out := b.taint(untaint)
	require.Len(t, out.Added, 1)
	require.Equal(t, slowKey, out.Added[0].Key)
	a := b.assess(activities.AssessRequest{Cluster: "m1"})
	require.True(t, a.SoftUnreadable)
	require.Equal(t, "no list", a.Malformed)
}

// Rules: R4.3-11, R4.3-12, R4.3-13.
func TestAnEvictionUnderASoftTaintAsksWhetherItsOwnSecondsHaveRunOut(t *testing.T) {
	tolerant := softPolicy(60)
	tolerant.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	for name, c := range map[string]struct {
		policy rules.Policy
		world  func(*bench)
		moves  bool
	}{
		"they have":                       {policy: softPolicy(60), moves: true},
		"they have not":                   {policy: softPolicy(61)},
		"it has no spec.failover":         {},
		"how long was not read":           {policy: rules.Policy{ClusterFailover: true}},
		"its rule matches no more":        {policy: softPolicy(60), world: func(b *bench) { b.network(corev1.ConditionTrue) }},
		"an operator took the taint away": {policy: softPolicy(60), world: func(b *bench) { b.world.DropTaint("m1", slowKey) }},
		"clusterTolerations do not aid":   {policy: tolerant, moves: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.softRule()
			b.putSoft()
			b.pass(time.Minute)
			b.does(c.world)
			r := b.evictRequest()
			r.Policy = c.policy
			end := map[bool]activities.EvictEnd{true: activities.EvictWritten, false: activities.EvictNotAffected}[c.moves]
			require.Equal(t, end, b.evicts(r).End)
			require.Equal(t, c.moves, len(b.world.Log("evict")) == 1)
		})
	}
}

// Rules: R4.3-12.
func TestPoliciesAreAskedForSoftTolerationsOnlyWhereThatMatters(t *testing.T) {
	b := newBench(t)
	from := func(policy string) func(*karmada.Binding) {
		return func(x *karmada.Binding) {
			x.HasClusterFailover = true
			x.Annotations = map[string]string{karmada.AnnotationClusterPolicyName: policy}
		}
	}
	b.bind("first", from("p"))
	b.bind("second", from("p"))
	b.world.SetPolicyAnnotation(appKey("first"), karmada.AnnotationTolerationSeconds, "42")
	read := map[bool]map[string]*int64{}
	for _, soft := range []bool{false, true} {
		page := b.list(activities.ListRequest{Cluster: "m1", Mode: rules.ModeEnforce, Soft: soft})
		read[soft] = map[string]*int64{}
		for _, i := range page.Items {
			read[soft][i.Key.Name] = page.Policies[i.Policy].SoftSeconds
		}
	}
	require.Nil(t, read[false]["first"])
	require.EqualValues(t, 42, *read[true]["first"])
	require.EqualValues(t, 42, *read[true]["second"], "one policy is read once for a page")
	require.Nil(t, read[true]["app"], "what soft taints do not move is not asked about")
}
