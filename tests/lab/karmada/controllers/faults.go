package controllers

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/scheduling"
)

// backoffSteps bounds the doubling of the delay after SchedulerErrors.
const backoffSteps = 10

// schedulerFaults makes the scheduler misbehave where a binding's annotations ask for it, and
// remembers how far each misbehaviour has come.
type schedulerFaults struct {
	mu       sync.Mutex
	stages   map[types.UID]*faultStages
	failures map[string]int
}

// faultStages is the memory of one binding.
type faultStages struct {
	putBack putBackStage
	// released: a task for the cluster of put-back-after-release stands or stood, and its end has not been answered.
	taskSeen bool
}

type putBackStage int

const (
	armed   putBackStage = iota // the next task is answered with a put-back
	holding                     // put back; the scheduler lets the cluster stand until somebody takes it out
	spent                       // this task has been answered
)

func newSchedulerFaults() *schedulerFaults {
	return &schedulerFaults{stages: map[types.UID]*faultStages{}, failures: map[string]int{}}
}

func (f *schedulerFaults) forget(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.stages, uid)
}

// backoff is the delay before a failed binding is scheduled again: doubling, ten times the first at most.
func (f *schedulerFaults) backoff(ref string, first time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	delay := min(first<<min(f.failures[ref], backoffSteps), backoffSteps*first)
	f.failures[ref]++
	return delay
}

func (f *schedulerFaults) settle(ref string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.failures, ref)
}

// distort returns the decision that the faults make of an honest one.
func (f *schedulerFaults) distort(b *api.Binding, clusters []*api.Cluster, honest scheduling.Decision) scheduling.Decision {
	f.mu.Lock()
	defer f.mu.Unlock()
	stages := f.stages[b.UID]
	if stages == nil {
		stages = &faultStages{}
		f.stages[b.UID] = stages
	}
	if cluster := b.Annotations[api.FaultPutBack]; cluster != "" {
		if d, distorted := stages.distortPutBack(b, cluster); distorted {
			return d
		}
	}
	if cluster := b.Annotations[api.FaultPutBackAfterRelease]; cluster != "" {
		if d, distorted := stages.distortAfterRelease(b, cluster, clusters); distorted {
			return d
		}
	}
	return honest
}

// distortPutBack plays the lost update: the result the scheduler had before the eviction is written
// after it. It happens once per task, and stands until somebody takes the cluster out again.
func (s *faultStages) distortPutBack(b *api.Binding, cluster string) (scheduling.Decision, bool) {
	task := b.Task(cluster)
	switch {
	case task == nil:
		s.putBack = armed
		return scheduling.Decision{}, false
	case s.putBack == armed && b.Target(cluster) == nil:
		s.putBack = holding
		back := api.TargetCluster{Name: cluster}
		if task.Replicas != nil {
			back.Replicas = *task.Replicas
		}
		return placedOn(b, append(slices.Clone(b.Spec.Clusters), back)), true
	case s.putBack == holding && b.Target(cluster) != nil:
		return scheduling.Decision{Outcome: scheduling.NotNeeded}, true
	case s.putBack == holding:
		s.putBack = spent
	}
	return scheduling.Decision{}, false
}

// distortAfterRelease puts the cluster back once, as soon as its task is gone, whatever taints say.
func (s *faultStages) distortAfterRelease(b *api.Binding, cluster string, clusters []*api.Cluster) (scheduling.Decision, bool) {
	if b.Task(cluster) != nil {
		s.taskSeen = true
		return scheduling.Decision{}, false
	}
	if !s.taskSeen {
		return scheduling.Decision{}, false
	}
	s.taskSeen = false
	if b.Target(cluster) != nil {
		return scheduling.Decision{}, false
	}
	names := []string{cluster}
	for _, target := range b.Spec.Clusters {
		names = append(names, target.Name)
	}
	names = names[:min(len(names), maxGroups(b))]
	return placedOn(b, scheduling.DivideOver(b, clustersNamed(clusters, names))), true
}

func placedOn(b *api.Binding, targets []api.TargetCluster) scheduling.Decision {
	return scheduling.Decision{
		Outcome: scheduling.Placed, Clusters: targets, AffinityName: b.Status.SchedulerObservingAffinityName,
		Reason: scheduling.ReasonSuccess, Message: scheduling.SuccessMessage,
	}
}

func maxGroups(b *api.Binding) int {
	limit := 1 << 16
	for _, constraint := range b.Spec.Placement.SpreadConstraints {
		if constraint.MaxGroups > 0 {
			limit = min(limit, constraint.MaxGroups)
		}
	}
	return limit
}
