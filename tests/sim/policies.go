package sim

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
)

const (
	// policyTaint is what the one ClusterTaintPolicy of a story puts, while the condition
	// networkReady of a cluster that may well be Ready is False.
	policyTaint  = "failover.example.org/cut-off"
	networkReady = "NetworkReady"
)

// policy is Karmada's own way to say when a cluster is tainted, and when no more.
func policy() rules.Rule {
	when := func(status corev1.ConditionStatus) []rules.MatchCondition {
		return []rules.MatchCondition{{
			ConditionType: networkReady, Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{status},
		}}
	}
	return rules.Rule{
		Name: rules.PolicyPrefix + "network", Policy: true,
		MatchConditions: when(corev1.ConditionFalse), RemoveConditions: when(corev1.ConditionTrue),
		Taints: []karmada.RuleTaint{{Key: policyTaint, Effect: corev1.TaintEffectNoExecute, AddOnMatch: addAfter, RemoveOnMismatch: wellFor}},
	}
}

// putPolicy puts or removes the ClusterTaintPolicy.
func (s *sim) putPolicy(there bool) {
	s.policed = there
	s.rules(s.judge.ruling)
}

// network turns the condition that only the policy looks at.
func (s *sim) network(cluster string, status corev1.ConditionStatus) {
	if !s.there(cluster) {
		return
	}
	s.world.ChangeCluster(cluster, func(c *karmada.Cluster) {
		next := karmada.Condition{Type: networkReady, Status: status, Reason: "Probe", LastTransition: s.now()}
		conditions := slices.Clone(c.Conditions)
		if at := slices.IndexFunc(conditions, func(x karmada.Condition) bool { return x.Type == networkReady }); at >= 0 {
			conditions[at] = next
		} else {
			conditions = append(conditions, next)
		}
		c.Conditions = conditions
	})
}

// networkIs is what the condition of a cluster says, empty when it has none.
func networkIs(c karmada.Cluster) corev1.ConditionStatus {
	for _, x := range c.Conditions {
		if x.Type == networkReady {
			return x.Status
		}
	}
	return ""
}

// garble makes an object one that nobody understands, or mends it.
func (s *sim) garble(x Step, why string) {
	if x.Cluster != "" {
		if s.there(x.Cluster) {
			s.world.ChangeCluster(x.Cluster, func(c *karmada.Cluster) { c.Malformed = why })
		}
		return
	}
	s.world.Edit(Binding{Name: x.Binding}.key(), func(b *karmada.Binding) { b.Malformed = why })
}

// malformed is what a garbled object says of itself.
const malformed = "a story made it so"

func putPolicy(there bool) func(*sim, workflow.Context, Step) {
	return func(s *sim, _ workflow.Context, _ Step) { s.putPolicy(there) }
}

func network(status corev1.ConditionStatus) func(*sim, workflow.Context, Step) {
	return func(s *sim, _ workflow.Context, x Step) { s.network(x.Cluster, status) }
}

// ungarble mends whatever was garbled.
func (s *sim) ungarble() {
	for _, b := range s.world.Everything() {
		if b.Malformed != "" {
			s.garble(Step{Binding: b.Key.Name}, "")
		}
	}
	for n := range s.schedule.Fleet {
		if c, there := s.world.Standing(clusterName(n)); there && c.Malformed != "" {
			s.garble(Step{Cluster: clusterName(n)}, "")
		}
	}
}
