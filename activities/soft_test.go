package activities_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

const slowKey = "failover.example.org/slow"

// softRule puts a soft taint while the network is not ready; ripeSoft asks for it.
func (b *bench) softRule() {
	b.world.AddRule(rules.Rule{
		Name: "network",
		MatchConditions: []rules.MatchCondition{{
			ConditionType: "NetworkReady", Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionFalse},
		}},
		Taints: []karmada.RuleTaint{{Key: slowKey, Effect: karmada.EffectPreferNoExecute}},
	})
	b.network(corev1.ConditionFalse)
}

func (b *bench) network(status corev1.ConditionStatus) {
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) {
		c.Conditions = append(c.Conditions[:1:1], karmada.Condition{Type: "NetworkReady", Status: status})
	})
}

func (b *bench) putSoft() activities.TaintResult {
	b.t.Helper()
	return must[activities.TaintResult](b, activities.NameWriteTaints, activities.TaintRequest{
		Cluster: "m1", UID: "uid-m1", FailoverID: "e1", Mode: rules.ModeEnforce, EvacuationTaint: activities.EvacuationTaintPut,
		Add: []rules.RuleObservation{{Rule: "network", Taint: karmada.RuleTaint{Key: slowKey, Effect: karmada.EffectPreferNoExecute}}},
	})
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
	must[activities.TaintResult](b, activities.NameWriteTaints, activities.TaintRequest{
		Cluster: "m1", UID: "uid-m1", FailoverID: "e1", Mode: rules.ModeEnforce, Add: b.ripe(),
	})
	b.world.SetReady("m1", true)
	remove := activities.TaintRequest{
		Cluster: "m1", UID: "uid-m1", Mode: rules.ModeEnforce, EvacuationTaint: activities.EvacuationTaintDrop,
		Remove: []karmada.AddedTaint{{Key: downKey, Effect: corev1.TaintEffectNoExecute}},
	}
	out := must[activities.TaintResult](b, activities.NameWriteTaints, remove)
	require.Equal(t, []string{slowKey + ":PreferNoExecute", karmada.EvacuatingTaintKey + ":NoSchedule"}, out.Standing)

	all := activities.TaintRequest{Cluster: "m1", UID: "uid-m1", Mode: rules.ModeEnforce, RemoveAll: true}
	require.Equal(t, reason.ConditionsMatch, must[activities.TaintResult](b, activities.NameWriteTaints, all).Refused,
		"its rule still asks for it")
	b.network(corev1.ConditionTrue)
	require.Empty(t, must[activities.TaintResult](b, activities.NameWriteTaints, all).Standing)
}

// The annotation cannot be written without overwriting what somebody garbled: hard
// taints go and come, soft ones wait, and Lifeboat's record of them stays.
//
// Rules: R4.2-9.
func TestWhatIsGarbledIsNotOverwritten(t *testing.T) {
	b := newBench(t)
	b.softRule()
	b.putSoft()
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) {
		c.Taints, c.SoftUnreadable, c.SoftMalformed = nil, true, "no list"
	})
	require.Equal(t, reason.ClusterRecovered, b.putSoft().Refused)
	b.network(corev1.ConditionTrue)
	out := must[activities.TaintResult](b, activities.NameWriteTaints, activities.TaintRequest{
		Cluster: "m1", UID: "uid-m1", Mode: rules.ModeEnforce, RemoveAll: true,
	})
	require.Len(t, out.Ours, 1)
	require.Equal(t, slowKey, out.Ours[0].Key)
	a := must[activities.Assessment](b, activities.NameAssessCluster, activities.AssessRequest{Cluster: "m1"})
	require.True(t, a.SoftUnreadable)
	require.Equal(t, "no list", a.Malformed)
}

// Rules: R4.3-11, R4.3-12, R4.3-13.
func TestAnEvictionUnderASoftTaintAsksWhetherItsOwnSecondsHaveRunOut(t *testing.T) {
	for name, c := range map[string]struct {
		policy  rules.Policy
		arrange func(*bench)
		end     activities.EvictEnd
	}{
		"they have":                     {policy: softPolicy(60), arrange: func(*bench) {}, end: activities.EvictWritten},
		"they have not":                 {policy: softPolicy(61), arrange: func(*bench) {}, end: activities.EvictNotAffected},
		"it has no spec.failover":       {policy: rules.Policy{}, arrange: func(*bench) {}, end: activities.EvictNotAffected},
		"nobody read how long":          {policy: rules.Policy{ClusterFailover: true}, arrange: func(*bench) {}, end: activities.EvictNotAffected},
		"its rule matches no more":      {policy: softPolicy(60), arrange: func(b *bench) { b.network(corev1.ConditionTrue) }, end: activities.EvictNotAffected},
		"a human took the taint away":   {policy: softPolicy(60), arrange: func(b *bench) { b.world.DropTaint("m1", slowKey) }, end: activities.EvictNotAffected},
		"clusterTolerations do not aid": {policy: rules.Policy{ClusterFailover: true, SoftSeconds: softPolicy(60).SoftSeconds, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}, arrange: func(*bench) {}, end: activities.EvictWritten},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.softRule()
			b.putSoft()
			b.pass(time.Minute)
			c.arrange(b)
			r := b.evictRequest()
			r.Policy = c.policy
			require.Equal(t, c.end, must[activities.EvictResult](b, activities.NameEvict, r).End)
			require.Len(t, b.world.Log("evict"), map[bool]int{true: 1}[c.end == activities.EvictWritten])
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
		page := must[activities.TargetingPage](b, activities.NameListTargeting, activities.ListRequest{Cluster: "m1", Mode: rules.ModeEnforce, Soft: soft})
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

// A cluster under a soft taint is no place to go, and its copies prove nothing.
//
// Rules: R4.2-2.
func TestASoftTaintedClusterIsNoTargetAndNoProof(t *testing.T) {
	b := newBench(t)
	b.fail()
	b.world.PutTaint("m2", corev1.Taint{Key: "maintenance", Effect: karmada.EffectPreferNoExecute})
	out := b.evict()
	require.Equal(t, activities.EvictRefused, out.End)
	require.Equal(t, reason.NoTarget, out.Reason)
}
