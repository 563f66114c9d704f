package sim

import (
	"fmt"
	"strconv"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
)

func (b Binding) key() karmada.BindingKey {
	return karmada.BindingKey{Namespace: "shop", Name: b.Name}
}

// resource is what the binding propagates: kinds differ in what Karmada reflects of them.
func (b Binding) resource() karmada.Resource {
	r := karmada.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: b.Name}
	switch b.Replicas {
	case 0:
		r.APIVersion, r.Kind = "v1", "ConfigMap"
	case 1:
		r.Kind = "StatefulSet"
	}
	return r
}

// object is the binding as the API server has it.
func (b Binding) object() karmada.Binding {
	scheduling := karmada.SchedulingDuplicated
	if b.Divided {
		scheduling = karmada.SchedulingDivided
	}
	out := karmada.Binding{
		Key: b.key(), Replicas: b.Replicas, SchedulerName: karmada.DefaultSchedulerName, Priority: b.Priority,
		Resource:  b.resource(),
		Placement: &karmada.Placement{ReplicaScheduling: &karmada.ReplicaScheduling{Type: scheduling}},
	}
	if b.Divided {
		out.Placement.ReplicaScheduling.DivisionPreference = karmada.DivisionWeighted // as Karmada's webhook says by default
	} else {
		out.Placement.SpreadConstraints = []karmada.SpreadConstraint{{SpreadByField: "cluster", MinGroups: 1, MaxGroups: len(b.On)}}
	}
	switch len(b.May) {
	case 0:
	case 1:
		out.Placement.ClusterAffinity = &karmada.ClusterAffinity{ClusterNames: b.May[0]}
	default:
		for n, g := range b.May {
			out.Placement.ClusterAffinities = append(out.Placement.ClusterAffinities, karmada.ClusterAffinityTerm{
				AffinityName: fmt.Sprintf("group%d", n+1), ClusterAffinity: karmada.ClusterAffinity{ClusterNames: g},
			})
		}
		out.Status.ObservedAffinity = "group1"
	}
	out.Placement.ClusterTolerations = b.tolerations()
	out.PurgeMode, out.HasClusterFailover = karmada.PurgeMode(b.Purge), b.Purge != "" || b.Soft >= 0
	if b.Asks {
		out.WorkloadLabels = map[string]string{asksLabel: "yes"}
	}
	if b.Soft >= 0 {
		out.Annotations = map[string]string{karmada.AnnotationTolerationSeconds: strconv.FormatInt(b.Soft, 10)}
	}
	b.takesAlong(&out)
	b.fails(&out)
	for n, c := range b.On {
		out.Clusters = append(out.Clusters, karmada.TargetCluster{Name: c, Replicas: b.share(n)})
	}
	return out
}

// tolerations are what a binding puts up with.
func (b Binding) tolerations() []corev1.Toleration {
	switch {
	case b.Tolerate == stoic:
		return []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	case b.Tolerate < 0:
		return nil
	}
	seconds := b.Tolerate
	return []corev1.Toleration{{Key: taintKey, Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}
}

// share is how many replicas the n-th of its clusters has at first.
func (b Binding) share(n int) int32 {
	if !b.Divided {
		return b.Replicas
	}
	on := int32(len(b.On)) //nolint:gosec // a handful
	if n == 0 {
		return b.Replicas/on + b.Replicas%on
	}
	return b.Replicas / on
}
