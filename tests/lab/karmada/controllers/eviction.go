package controllers

import (
	"context"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
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
