package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// recorder is a Post that writes down what it is given.
type recorder struct {
	said    []string
	verdict *proof.HoldVerdict // the last one
}

func (r *recorder) say(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *recorder) Cluster(f rules.ClusterFact, start bool) {
	verb := "tell"
	if start {
		verb = "start"
	}
	if f.Deleted {
		verb += " deleted"
	}
	r.say("%s %s@%s", verb, f.Cluster, f.ResourceVersion)
}

func (r *recorder) Changed(cluster string, f proof.BindingFact) {
	r.say("changed %s: %s", cluster, factText(f))
}

func (r *recorder) Owner(owner string, f proof.BindingFact) {
	r.say("owner %s: %s", owner, factText(f))
	r.verdict = f.Verdict
}

func (r *recorder) Adopt(cluster string, f proof.BindingFact) {
	r.say("adopt %s: %s", cluster, factText(f))
}
func (r *recorder) Fleet(rules.Probed) { r.say("fleet") }

func factText(f proof.BindingFact) string {
	text := f.Key.String() + "@" + f.ResourceVersion
	if f.Deleted {
		text += " deleted"
	}
	if f.SecondEvictor {
		text += " second evictor"
	}
	return text
}

// heard returns what was said since it was last asked.
func (r *recorder) heard() []string {
	said := r.said
	r.said = nil
	return said
}

// runs is who runs; nil means that Temporal does not answer.
type runs map[string]bool

func (r runs) Running(_ context.Context, id string) (bool, error) {
	if r == nil {
		return false, errors.New("no answer")
	}
	return r[id], nil
}

func notReady() rules.Rule {
	return rules.Rule{
		Name: "not-ready",
		MatchConditions: []rules.MatchCondition{{
			ConditionType: karmada.ConditionReady, Operator: rules.OperatorNotIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionTrue},
		}},
		Taints: []karmada.RuleTaint{{Key: "not-ready", Effect: corev1.TaintEffectNoExecute}},
	}
}

func cluster(name, version string, ready corev1.ConditionStatus) *karmada.Cluster {
	return &karmada.Cluster{
		Name: name, UID: "uid", ResourceVersion: version,
		Conditions: []karmada.Condition{{Type: karmada.ConditionReady, Status: ready}},
	}
}

func newScene() (*recorder, *Router) {
	post := &recorder{}
	router := NewRouter(post)
	router.RulesChanged([]rules.Rule{notReady()})
	return post, router
}

func TestAClusterThatLooksFailedIsStartedAndAHealthyOneIsLeftAlone(t *testing.T) {
	post, router := newScene()
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionTrue))
	require.Equal(t, []string{"fleet"}, post.heard())
	router.ClusterChanged(cluster("a", "1", corev1.ConditionTrue), cluster("a", "2", corev1.ConditionFalse))
	require.Equal(t, []string{"fleet", "start a@2"}, post.heard())
}

func TestAHeartbeatWakesNobody(t *testing.T) {
	post, router := newScene()
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionFalse))
	post.heard()
	router.ClusterChanged(cluster("a", "1", corev1.ConditionFalse), cluster("a", "2", corev1.ConditionFalse))
	require.Empty(t, post.heard())
}

func TestARunningFailoverHearsThatItsClusterIsWell(t *testing.T) {
	post, router := newScene()
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionFalse))
	router.Opened("a")
	post.heard()
	router.ClusterChanged(cluster("a", "1", corev1.ConditionFalse), cluster("a", "2", corev1.ConditionTrue))
	require.Equal(t, []string{"fleet", "tell a@2"}, post.heard())
}

func TestAClosedFailoverIsStartedAgainWhileItsClusterLooksFailed(t *testing.T) {
	post, router := newScene()
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionFalse))
	router.Opened("a")
	post.heard()
	router.Closed("a")
	require.Equal(t, []string{"start a@1"}, post.heard())
}

func TestANewRuleMayMakeAClusterSuspect(t *testing.T) {
	post := &recorder{}
	router := NewRouter(post)
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionFalse))
	require.Equal(t, []string{"fleet"}, post.heard())
	router.RulesChanged([]rules.Rule{notReady()})
	require.Equal(t, []string{"fleet", "start a@1"}, post.heard())
}

// Rules: R4.3-2.
func TestAnOptedOutClusterIsStartedOnlyForWhatIsOursOnIt(t *testing.T) {
	post, router := newScene()
	c := cluster("a", "1", corev1.ConditionFalse)
	c.Annotations = map[string]string{karmada.AnnotationEnabled: "false"}
	router.ClusterChanged(nil, c)
	require.Equal(t, []string{"fleet"}, post.heard())
	ours := *c
	ours.ResourceVersion, ours.Added = "2", []karmada.AddedTaint{{Key: "not-ready", Effect: corev1.TaintEffectNoExecute}}
	router.ClusterChanged(c, &ours)
	require.Contains(t, post.heard(), "start a@2")
}

func TestADeletedClustersFailoverIsTold(t *testing.T) {
	post, router := newScene()
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionFalse))
	router.Opened("a")
	post.heard()
	router.ClusterDeleted(cluster("a", "2", corev1.ConditionFalse))
	require.Equal(t, []string{"fleet", "tell deleted a@2"}, post.heard())
}

func binding(version string, targets []string, tasks ...karmada.Task) *karmada.Binding {
	b := &karmada.Binding{
		Key: karmada.BindingKey{Namespace: "shop", Name: "cart"}, UID: "b", ResourceVersion: version, Tasks: tasks,
	}
	// Any write to spec moves the generation; here each version is one.
	b.Generation = int64(version[0])
	for _, target := range targets {
		b.Clusters = append(b.Clusters, karmada.TargetCluster{Name: target})
	}
	return b
}

func task(from, owner, reason string) karmada.Task {
	return karmada.Task{FromCluster: from, Producer: karmada.Producer, Message: owner, Reason: reason}
}

// Rules: R4.7-50.
func TestOwnerOfAHoldTask_IsToldWhenAVerdictChanges(t *testing.T) {
	post, router := newScene()
	held := task("a", "migration", karmada.TaskReason)
	versions := []*karmada.Binding{
		binding("0", nil, held), binding("1", []string{"b"}, held), binding("2", []string{"b"}, held), binding("3", []string{"b"}, held),
		binding("4", []string{"b"}, held), binding("5", []string{"b", "c"}, held),
	}
	for _, b := range versions[2:] {
		b.Status.ObservedGeneration = b.Generation // placed
		b.Status.Scheduled = &karmada.Condition{Status: corev1.ConditionTrue}
	}
	versions[3].Status.Aggregated = []karmada.AggregatedItem{{Cluster: "b", Applied: true, Health: karmada.HealthUnhealthy}}
	versions[4].Status.Aggregated = []karmada.AggregatedItem{{Cluster: "b", Applied: true, Health: karmada.HealthHealthy}}
	versions[5].Status.Aggregated = versions[4].Status.Aggregated
	router.BindingChanged(nil, versions[0])
	for n := range versions[1:] {
		router.BindingChanged(versions[n], versions[n+1])
	}
	router.BindingDeleted(versions[5])
	require.Equal(t, []string{
		"owner migration: shop/cart@0", "owner migration: shop/cart@2", // not 1 and 3: not placed, and not proven, before and after
		"owner migration: shop/cart@4", "owner migration: shop/cart@5", "owner migration: shop/cart@5 deleted",
	}, post.heard())
}

// Rules: R4.7-55.
func TestOwnerOfAPlainHold_IsToldTheVerdict(t *testing.T) {
	post, router := newScene()
	for _, name := range []string{"a", "b"} {
		router.ClusterChanged(nil, cluster(name, "1", corev1.ConditionTrue))
	}
	held := task("a", "migration", karmada.TaskReason)
	held.PurgeMode = karmada.PurgeGracefully
	b := binding("1", []string{"b"}, held)
	b.Status.ObservedGeneration, b.Status.Scheduled = b.Generation, &karmada.Condition{Status: corev1.ConditionTrue}
	b.Status.Aggregated = []karmada.AggregatedItem{{Cluster: "b", Applied: true, Health: karmada.HealthHealthy}}
	router.BindingChanged(nil, b)
	require.NotNil(t, post.verdict)
	require.True(t, post.verdict.Placed.OK)
	require.True(t, post.verdict.Health.OK)
	require.Equal(t, b.Clusters, post.verdict.On)

	held.PurgeMode = karmada.PurgeDirectly
	router.BindingChanged(b, binding("2", []string{"b"}, held))
	require.Nil(t, post.verdict, "it has to look itself")
}

// The binding stays the same, and what it says is evidence no more.
//
// Rules: R4.7-57.
func TestOwners_LookWhenATargetIsLostOrIsBack(t *testing.T) {
	post, router := newScene()
	router.ClusterChanged(nil, cluster("b", "1", corev1.ConditionTrue))
	router.BindingChanged(nil, binding("1", []string{"b"}, task("a", "migration", karmada.TaskReason)))
	post.heard()
	router.ClusterChanged(cluster("b", "1", corev1.ConditionTrue), cluster("b", "2", corev1.ConditionFalse))
	require.Contains(t, post.heard(), "owner migration: shop/cart@", "without a version: look")
	router.ClusterChanged(cluster("b", "2", corev1.ConditionFalse), cluster("b", "3", corev1.ConditionFalse))
	require.Empty(t, post.heard())
	router.ClusterChanged(cluster("b", "3", corev1.ConditionFalse), cluster("b", "4", corev1.ConditionTrue))
	require.Contains(t, post.heard(), "owner migration: shop/cart@")
	router.ClusterDeleted(cluster("b", "5", corev1.ConditionTrue))
	require.Contains(t, post.heard(), "owner migration: shop/cart@")
}

// Rules: R4.9-49.
func TestTasksOfOthersAndThoseLeftToAHumanAreNobodysBusiness(t *testing.T) {
	post, router := newScene()
	others := karmada.Task{FromCluster: "a", Producer: "TaintManager", Message: "x"}
	router.BindingChanged(nil, binding("1", nil, others, task("b", "m", karmada.TaskReasonKept), task("c", "m", karmada.TaskReasonNeedsOperator)))
	require.Empty(t, post.heard())
	require.NoError(t, router.Resync(t.Context(), runs{"fleet-pacer": true}, ""))
	require.Empty(t, post.heard())
}

func TestABindingThatComesOrGoesIsToldToTheOpenFailoversOfItsClusters(t *testing.T) {
	post, router := newScene()
	router.Opened("a")
	router.BindingChanged(nil, binding("1", []string{"a", "b"}))
	router.BindingChanged(binding("1", []string{"a", "b"}), binding("2", []string{"b"}))
	router.BindingChanged(binding("2", []string{"b"}), binding("3", []string{"b"}))
	require.Equal(t, []string{"changed a: shop/cart@1", "changed a: shop/cart@2"}, post.heard())
}

func TestAStatusChangeIsNoNewsForTheQueue(t *testing.T) {
	post, router := newScene()
	router.Opened("a")
	before, after := binding("1", []string{"a"}), binding("1", []string{"a"})
	after.ResourceVersion = "2"
	after.Status.Aggregated = []karmada.AggregatedItem{{Cluster: "a", Health: karmada.HealthHealthy}}
	router.BindingChanged(before, after)
	require.Empty(t, post.heard())
}

// Rules: R4.7-50.
func TestOwnEviction_IsToldToNobody(t *testing.T) {
	post, router := newScene()
	router.Opened("a")
	router.BindingChanged(binding("1", []string{"a"}), binding("2", nil, task("a", "migration", karmada.TaskReason)))
	require.Empty(t, post.heard(), "its migration wrote it")
}

func TestAResyncStartsThePacerAndWhoeverShouldRun(t *testing.T) {
	post, router := newScene()
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionFalse))
	router.ClusterChanged(nil, cluster("b", "1", corev1.ConditionTrue))
	post.heard()
	require.NoError(t, router.Resync(t.Context(), runs{}, ""))
	require.Equal(t, []string{"fleet", "start a@1"}, post.heard())

	running := runs{"fleet-pacer": true, "cluster-failover/a": true}
	require.NoError(t, router.Resync(t.Context(), running, ""))
	require.Empty(t, post.heard(), "everybody runs and knows")
}

func TestTheFirstResyncFindsFailoversThatOthersStarted(t *testing.T) {
	post, router := newScene()
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionTrue))
	post.heard()
	require.NoError(t, router.Resync(t.Context(), runs{"eu/fleet-pacer": true, "eu/cluster-failover/a": true}, "eu"))
	require.Equal(t, []string{"tell a@1"}, post.heard())
}

func TestAResyncThatCannotAskSaysSo(t *testing.T) {
	_, router := newScene()
	require.ErrorContains(t, router.Resync(t.Context(), runs(nil), ""), "no answer")
}

// Rules: R4.9-46, R4.9-47.
func TestATaskWhoseOwnerDoesNotRunIsAdopted(t *testing.T) {
	post, router := newScene()
	router.BindingChanged(nil, binding("1", []string{"b"}, task("a", "migration", karmada.TaskReason)))
	router.BindingChanged(nil, &karmada.Binding{
		Key: karmada.BindingKey{Name: "role"}, ResourceVersion: "1", Tasks: []karmada.Task{task("a", "", karmada.TaskReason)},
	})
	post.heard()
	require.NoError(t, router.Resync(t.Context(), runs{"fleet-pacer": true, "migration": true}, ""))
	require.Equal(t, []string{"adopt a: -/role@1"}, post.heard(), "without a name nobody owns it")
	require.NoError(t, router.Resync(t.Context(), runs{"fleet-pacer": true}, ""))
	require.ElementsMatch(t, []string{"adopt a: -/role@1", "adopt a: shop/cart@1"}, post.heard())
}

func TestAMigrationThatHasJustEndedIsNotAdopted(t *testing.T) {
	post, router := newScene()
	held := binding("1", []string{"b"}, task("a", "migration", karmada.TaskReason))
	router.BindingChanged(nil, held)
	router.OwnerMissing(held.Key)
	router.BindingChanged(held, binding("2", []string{"b"})) // released
	post.heard()
	require.NoError(t, router.Resync(t.Context(), runs{"fleet-pacer": true}, ""))
	require.Empty(t, post.heard())
}

func TestLookingAfterOwnersGoesAttemptAndBeginsWithThoseMissed(t *testing.T) {
	_, router := newScene()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		router.BindingChanged(nil, &karmada.Binding{
			Key: karmada.BindingKey{Namespace: "n", Name: name}, Tasks: []karmada.Task{task("x", "m-"+name, karmada.TaskReason)},
		})
	}
	names := func() string {
		text := ""
		for _, s := range router.toLookAfter(2) {
			text += s.fact.Key.Name
		}
		return text
	}
	require.Equal(t, "ab", names())
	require.Equal(t, "cd", names())
	router.OwnerMissing(karmada.BindingKey{Namespace: "n", Name: "b"})
	require.Equal(t, "be", names())
	require.Equal(t, "ab", names())
}

func TestRuleMatchesNameTheClustersThatMatchNow(t *testing.T) {
	_, router := newScene()
	router.ClusterChanged(nil, cluster("b", "1", corev1.ConditionFalse))
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionFalse))
	router.ClusterChanged(nil, cluster("c", "1", corev1.ConditionTrue))
	matches := router.RuleMatches()
	require.Len(t, matches, 1)
	require.Equal(t, []string{"a", "b"}, matches[0].Clusters)
}

// The failover of a cluster hears at once that Karmada's own taint manager evicts from it,
// also of a binding that is seen for the first time or that Lifeboat holds there.
//
// Rules: R4.15-28.
func TestATaskOfTheTaintManagerIsToldToTheFailoverOfItsCluster(t *testing.T) {
	theirs := karmada.Task{FromCluster: "a", Producer: karmada.TaintManager}
	other := karmada.Task{FromCluster: "a", Producer: "resource-binding-application-failover-controller"}
	for name, c := range map[string]struct {
		old, now *karmada.Binding
		want     string
	}{
		"evicted just now":         {old: binding("1", []string{"a"}), now: binding("2", []string{"b"}, theirs), want: "changed a: shop/cart@2 second evictor"},
		"seen for the first time":  {now: binding("2", []string{"b"}, theirs), want: "changed a: shop/cart@2 second evictor"},
		"held by Lifeboat as well": {now: binding("2", []string{"b"}, theirs, task("a", "m", karmada.TaskReason)), want: "changed a: shop/cart@2 second evictor"},
		"by another producer":      {old: binding("1", []string{"a"}), now: binding("2", []string{"b"}, other), want: "changed a: shop/cart@2"},
		"elsewhere":                {now: binding("2", []string{"b"}, karmada.Task{FromCluster: "c", Producer: karmada.TaintManager})},
	} {
		t.Run(name, func(t *testing.T) {
			post, router := newScene()
			router.Opened("a")
			router.BindingChanged(c.old, c.now)
			var changed []string
			for _, said := range post.heard() {
				if strings.HasPrefix(said, "changed") {
					changed = append(changed, said)
				}
			}
			require.Equal(t, c.want, strings.Join(changed, ", "))
		})
	}
}

// The pacer counts a cluster as faulty while a rule's taint that moves bindings stands, also
// beside other taints of Lifeboat's, and by the rules as they are now.
//
// Rules: R4.5-35.
func TestThePacerHearsWhateverChangesHowManyClustersAreFaulty(t *testing.T) {
	post, router := newScene()
	with := func(version string, ready corev1.ConditionStatus, taints ...karmada.AddedTaint) *karmada.Cluster {
		c := cluster("a", version, ready)
		c.Added = taints
		return c
	}
	cordon := karmada.AddedTaint{Key: "cordon", Effect: corev1.TaintEffectNoSchedule, Rule: "cordon"}
	moves := karmada.AddedTaint{Key: "not-ready", Effect: corev1.TaintEffectNoExecute, Rule: "not-ready"}
	failing, recovering, well := with("1", corev1.ConditionFalse, cordon, moves), with("2", corev1.ConditionTrue, cordon, moves), with("3", corev1.ConditionTrue, cordon)
	router.ClusterChanged(nil, failing)
	post.heard()
	router.ClusterChanged(failing, recovering)
	require.NotContains(t, post.heard(), "fleet", "its taint stands: it counts as before")
	router.ClusterChanged(recovering, well)
	require.Contains(t, post.heard(), "fleet", "the last taint that moves bindings went")
	router.ClusterChanged(well, with("4", corev1.ConditionUnknown, cordon))
	require.Contains(t, post.heard(), "fleet")
	router.RulesChanged(nil)
	require.Contains(t, post.heard(), "fleet", "no rule matches any more")
	router.RulesChanged(nil)
	require.NotContains(t, post.heard(), "fleet")
}
