package placement

import (
	"fmt"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
)

// onTheWay is a binding that left m1, with so many replicas placed on each target.
func onTheWay(t *rapid.T, n int) *karmada.Binding {
	b := &karmada.Binding{
		Key: karmada.BindingKey{Namespace: "shop", Name: fmt.Sprint("app", n)}, Replicas: 4, Workload: true,
		Placement: &karmada.Placement{
			ClusterAffinity:   &karmada.ClusterAffinity{ClusterNames: rapid.SampledFrom([][]string{{"m2"}, {"m3"}, {"m2", "m3"}}).Draw(t, "may")},
			ReplicaScheduling: &karmada.ReplicaScheduling{Type: karmada.SchedulingDivided, DivisionPreference: karmada.DivisionAggregated},
		},
		Request: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		Tasks:   []karmada.Task{{FromCluster: "m1", Producer: karmada.Producer, Reason: karmada.TaskReason}},
	}
	for _, name := range []string{"m2", "m3"} {
		if replicas := rapid.Int32Range(0, 3).Draw(t, "on "+name); replicas > 0 {
			b.Clusters = append(b.Clusters, karmada.TargetCluster{Name: name, Replicas: replicas})
		}
	}
	return b
}

// Whatever was asked and added in between, a headroom answers as one that was made of
// all of it at once: nobody's own promise counts against it, everybody else's does.
// Rules: R4.6-17.
func TestAHeadroomThatGrowsAnswersAsOneMadeAtOnce(t *testing.T) {
	var fleet []karmada.Cluster
	for _, name := range []string{"m1", "m2", "m3"} {
		fleet = append(fleet, karmada.Cluster{Name: name, Conditions: []karmada.Condition{{Type: karmada.ConditionReady, Status: corev1.ConditionTrue}}})
	}
	rapid.Check(t, func(t *rapid.T) {
		grows := NewHeadroom()
		var all []*karmada.Binding
		for n := range rapid.IntRange(1, 6).Draw(t, "bindings") {
			if rapid.Bool().Draw(t, "asked before") {
				_ = grows.For(karmada.BindingKey{Name: "nobody"}, fleet)
			}
			all = append(all, onTheWay(t, n))
			grows.Add(all[n])
		}
		for _, key := range append([]karmada.BindingKey{{Name: "nobody"}}, all[len(all)-1].Key, all[0].Key) {
			fresh := NewHeadroom()
			for _, b := range all {
				if b.Key != key {
					fresh.Add(b)
				}
			}
			require.Equal(t, told(fresh.For(karmada.BindingKey{Name: "another"}, fleet)), told(grows.For(key, fleet)), key.String())
		}
	})
}

// Only what a migration of the binding itself works on reserves room.
// Rules: R4.6-17.
func TestHeadroom_TasksThatNobodyWorksOn_ReserveNothing(t *testing.T) {
	fleet := []karmada.Cluster{{Name: "m2", Conditions: []karmada.Condition{{Type: karmada.ConditionReady, Status: corev1.ConditionTrue}}}}
	for name, c := range map[string]struct {
		change   func(*karmada.Task)
		reserves bool
	}{
		"evicted":             {reserves: true},
		"kept":                {change: func(x *karmada.Task) { x.Reason = karmada.TaskReasonKept }},
		"left to an operator": {change: func(x *karmada.Task) { x.Reason = karmada.TaskReasonNeedsOperator }},
		"held for a parent":   {change: func(x *karmada.Task) { x.Reason = karmada.TaskReasonDependent }},
		"a ban":               {change: func(x *karmada.Task) { x.Reason = karmada.TaskReasonBanned }},
		"another producer's":  {change: func(x *karmada.Task) { x.Producer = "TaintManager" }},
	} {
		t.Run(name, func(t *testing.T) {
			b := &karmada.Binding{
				Key: karmada.BindingKey{Namespace: "shop", Name: "app"}, Replicas: 4, Workload: true,
				Placement: &karmada.Placement{ReplicaScheduling: &karmada.ReplicaScheduling{Type: karmada.SchedulingDivided, DivisionPreference: karmada.DivisionAggregated}},
				Request:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
				Tasks:     []karmada.Task{{FromCluster: "m1", Producer: karmada.Producer, Reason: karmada.TaskReason}},
				Clusters:  []karmada.TargetCluster{{Name: "m2", Replicas: 3}},
			}
			if c.change != nil {
				c.change(&b.Tasks[0])
			}
			room := NewHeadroom()
			room.Add(b)
			require.Equal(t, c.reserves, len(told(room.For(karmada.BindingKey{Name: "another"}, fleet))) > 0)
		})
	}
}

// told are reservations as text: quantities remember how they came about.
func told(r Reservations) map[string]string {
	out := map[string]string{}
	say := func(of string, list corev1.ResourceList) {
		for name, q := range list {
			out[of+" "+string(name)] = q.String()
		}
	}
	for cluster, list := range r.Placed {
		say(cluster, list)
	}
	for _, u := range r.Unplaced {
		say(fmt.Sprint(u.Candidates), u.Need)
	}
	return out
}
