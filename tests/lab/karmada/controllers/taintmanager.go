package controllers

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/scheduling"
)

// taintManagerRetry is the pace at which a cluster with NoExecute taints is looked at again.
const taintManagerRetry = 500 * time.Millisecond

// evictUntolerated is Karmada's taint manager, where the knob turns it on: it evicts every binding that does not
// tolerate the NoExecute taints of a cluster any longer. It reads no annotation of Lifeboat's.
func (p *Plane) evictUntolerated(ctx context.Context, cluster string) (time.Duration, error) {
	c := p.store.cluster(cluster)
	if c == nil || c.DeletionTimestamp != nil {
		return 0, nil
	}
	taints := slices.DeleteFunc(slices.Clone(c.Spec.Taints), func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectNoExecute })
	if len(taints) == 0 {
		return 0, nil
	}
	if !p.knobs().TaintManager {
		return taintManagerRetry, nil
	}
	var problems []error
	for _, b := range p.store.allBindings() {
		if b.Target(cluster) == nil || b.DeletionTimestamp != nil {
			continue
		}
		var tolerations []corev1.Toleration
		if b.Spec.Placement != nil {
			tolerations = b.Spec.Placement.ClusterTolerations
		}
		if until, forever := scheduling.ToleratedUntil(tolerations, taints); !forever && !time.Now().Before(until) {
			problems = append(problems, p.evictByTaint(ctx, b, cluster))
		}
	}
	return taintManagerRetry, errors.Join(problems...)
}

func (p *Plane) evictByTaint(ctx context.Context, b *api.Binding, cluster string) error {
	left := []any{}
	for _, t := range b.Spec.Clusters {
		if t.Name != cluster {
			left = append(left, object{"name": t.Name, "replicas": int64(t.Replicas)})
		}
	}
	task := object{
		"fromCluster": cluster, "replicas": int64(b.Target(cluster).Replicas),
		"purgeMode": "Gracefully", "producer": "TaintManager", "reason": "TaintUntolerated",
	}
	_, err := mergePatch(ctx, p.bindingClient(b), b.Name, object{
		"metadata": object{"resourceVersion": b.ResourceVersion},
		"spec":     object{"clusters": left, "gracefulEvictionTasks": append(slices.Clone(b.RawTasks), task)},
	})
	return err
}
