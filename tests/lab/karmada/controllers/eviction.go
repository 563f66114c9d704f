package controllers

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/scheduling"
	corev1 "k8s.io/api/core/v1"
)

// gracefulEvictionRetry is the pace at which tasks are looked at while the controller is off: it may be turned on.
const gracefulEvictionRetry = 500 * time.Millisecond

// evictGracefully is Karmada's graceful eviction controller: it stamps tasks and drops those that are
// done, timed out or told to go. It never reads purgeMode.
func (p *Plane) evictGracefully(ctx context.Context, ref string) (time.Duration, error) {
	knobs := p.knobs()
	b := p.store.binding(ref)
	if b == nil || b.DeletionTimestamp != nil || len(b.Spec.GracefulEvictionTasks) == 0 {
		return 0, nil
	}
	if !knobs.GracefulEvictionEnabled {
		return gracefulEvictionRetry, nil
	}
	now := time.Now()
	var kept []any
	stamped := false
	for i := range b.Spec.GracefulEvictionTasks {
		task := &b.Spec.GracefulEvictionTasks[i]
		raw := b.RawTasks[i]
		if task.CreationTimestamp == nil {
			raw, stamped = withStamp(raw), true
		} else if isDone(b, task, now, knobs.GracefulEvictionTimeout.Duration) {
			continue
		}
		kept = append(kept, raw)
	}
	if !stamped && len(kept) == len(b.Spec.GracefulEvictionTasks) {
		return nextTimeout(b, now, knobs.GracefulEvictionTimeout.Duration), nil
	}
	_, err := mergePatch(ctx, p.bindingClient(b), b.Name, object{
		"metadata": object{"resourceVersion": b.ResourceVersion},
		"spec":     object{"gracefulEvictionTasks": kept},
	})
	return 0, err
}

func withStamp(raw any) any {
	task := object{}
	if fields, ok := raw.(map[string]any); ok {
		for name, value := range fields {
			task[name] = value
		}
	}
	task["creationTimestamp"] = timestamp()
	return task
}

// isDone: the first rule that applies decides. With no target clusters the last one holds vacuously.
func isDone(b *api.Binding, task *api.EvictionTask, now time.Time, timeout time.Duration) bool {
	switch {
	case task.SuppressDeletion != nil:
		return !*task.SuppressDeletion
	case now.After(task.CreationTimestamp.Add(graceOf(task, timeout))):
		return true
	default:
		return b.Status.SchedulerObservedGeneration == b.Generation && allHealthy(b)
	}
}

func graceOf(task *api.EvictionTask, timeout time.Duration) time.Duration {
	if task.GracePeriodSeconds != nil {
		return time.Duration(*task.GracePeriodSeconds) * time.Second
	}
	return timeout
}

func allHealthy(b *api.Binding) bool {
	return !slices.ContainsFunc(b.Spec.Clusters, func(target api.TargetCluster) bool {
		return !slices.ContainsFunc(b.Status.AggregatedStatus, func(item api.AggregatedStatus) bool {
			return item.ClusterName == target.Name && item.Health == "Healthy"
		})
	})
}

// nextTimeout is when the first task runs out; zero when none does.
func nextTimeout(b *api.Binding, now time.Time, timeout time.Duration) time.Duration {
	var next time.Duration
	for i := range b.Spec.GracefulEvictionTasks {
		task := &b.Spec.GracefulEvictionTasks[i]
		if task.SuppressDeletion != nil || task.CreationTimestamp == nil {
			continue
		}
		left := max(task.CreationTimestamp.Add(graceOf(task, timeout)).Sub(now), time.Second)
		if next == 0 || left < next {
			next = left
		}
	}
	return next
}

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

// preservedLabels are those that Karmada injects into the new copy: for the last task in the list, where it
// says Directly, with one target that did not serve before; and only while the task stands.
func preservedLabels(b *api.Binding, target string) map[string]string {
	tasks := b.Spec.GracefulEvictionTasks
	if len(tasks) == 0 || len(b.Spec.Clusters) != 1 || b.Spec.Clusters[0].Name != target {
		return nil
	}
	last := tasks[len(tasks)-1]
	if last.PurgeMode != "Directly" || slices.Contains(last.ClustersBeforeFailover, target) {
		return nil
	}
	return last.PreservedLabelState
}

// inject puts labels on a manifest.
func inject(manifest object, labels map[string]string) {
	metadata, ok := manifest["metadata"].(object)
	if !ok {
		return
	}
	set, ok := metadata["labels"].(object)
	if !ok {
		set = object{}
		metadata["labels"] = set
	}
	for name, value := range labels {
		set[name] = value
	}
}
