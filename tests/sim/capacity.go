package sim

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// capacity has a cluster say that it is full, or nothing of what it has room for.
func capacity(full bool) func(*sim, workflow.Context, Step) {
	return func(s *sim, _ workflow.Context, x Step) {
		if !s.there(x.Cluster) {
			return
		}
		s.world.ChangeCluster(x.Cluster, func(c *karmada.Cluster) {
			c.Capacity = nil
			if full {
				pods := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
				c.Capacity = &karmada.Capacity{Allocatable: pods, Allocated: pods}
			}
		})
	}
}

func full(c karmada.Cluster) bool { return c.Capacity != nil }

// crammed judges that no divided workload is evicted where all that it may use beside
// the failed cluster are its own other targets, and full: they would be overfilled
// without a word.
func (j *judge) crammed(w world.Write, b *karmada.Binding) {
	p := b.Placement
	if !p.Divided() || b.Replicas == 0 || p.ClusterAffinity == nil {
		return
	}
	rest := slices.DeleteFunc(slices.Clone(p.ClusterAffinity.ClusterNames), func(name string) bool { return name == w.Cluster })
	for _, name := range rest {
		at := j.since(name)
		roomy := slices.ContainsFunc(at, func(x sight) bool { return x.there && !full(x.c) })
		if !targets(b, name) || roomy || len(at) == 0 {
			return
		}
	}
	if len(rest) > 0 {
		j.violates("3: %s is evicted from %s, and wherever it may go is full", w.Binding, w.Cluster)
	}
}
