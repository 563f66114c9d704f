package scheduling

import (
	"errors"
	"slices"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// Reasons of the Scheduled condition.
const (
	ReasonSuccess        = "Success"
	ReasonNoClusterFit   = "NoClusterFit"
	ReasonUnschedulable  = "Unschedulable"
	ReasonSchedulerError = "SchedulerError"
	// SuccessMessage goes with ReasonSuccess.
	SuccessMessage = "Binding has been scheduled successfully."
)

// Outcome is the kind of a Decision.
type Outcome string

const (
	// NotNeeded: the result stands; only the observed generation advances.
	NotNeeded Outcome = "NotNeeded"
	// Placed: Clusters is the new result.
	Placed Outcome = "Placed"
	// NoFit: no cluster passed the filters; the result is emptied and nothing is retried until an event.
	NoFit Outcome = "NoFit"
	// Failed: the result is left alone and scheduling is retried with back-off.
	Failed Outcome = "Failed"
)

// Decision is the scheduler's answer for one binding.
type Decision struct {
	Outcome  Outcome
	Clusters []api.TargetCluster
	// AffinityName is the affinity group that Clusters was found in; empty without groups.
	AffinityName string
	// Reason and Message are those of the Scheduled condition; empty when NotNeeded.
	Reason, Message string
}

// Responsible says whether the scheduler looks at the binding at all: that takes the label of a
// policy, or of another manager.
func Responsible(b *api.Binding) bool {
	if b.Spec.Placement == nil || !api.Claimed(b.Labels) || b.DeletionTimestamp != nil {
		return false
	}
	if b.Spec.Suspension != nil && b.Spec.Suspension.Scheduling {
		return false
	}
	return b.Spec.SchedulerName == "" || b.Spec.SchedulerName == api.DefaultScheduler
}

// Flags are those of Karmada's scheduler that change its decisions; none is set by default.
type Flags struct {
	// EmptyWorkloads is --enable-empty-workload-propagation: selected clusters without replicas stay in the result.
	EmptyWorkloads bool
}

// Decide is a scheduler's decision without flags.
func Decide(b *api.Binding, clusters []*api.Cluster) Decision { return Flags{}.Decide(b, clusters) }

// Decide schedules a binding, or finds that there is no need to. Clusters are all member clusters.
func (f Flags) Decide(b *api.Binding, clusters []*api.Cluster) Decision {
	if !needed(b, clusters) {
		return Decision{Outcome: NotNeeded}
	}
	if len(b.Spec.Placement.ClusterAffinities) > 0 {
		return f.decideByGroups(b, clusters)
	}
	targets, err := f.place(b, groupOf(b, nil), clusters)
	return decision(targets, "", err)
}

// groupOf is the affinity group that clusters are matched against: clusterAffinity where there is one. The
// empty group matches every cluster.
func groupOf(b *api.Binding, group *api.ClusterAffinityTerm) api.ClusterAffinityTerm {
	switch {
	case b.Spec.Placement.ClusterAffinity != nil:
		return api.ClusterAffinityTerm{ClusterAffinity: *b.Spec.Placement.ClusterAffinity}
	case group != nil:
		return *group
	default:
		return api.ClusterAffinityTerm{}
	}
}

// needed is Karmada's order of questions before it schedules.
func needed(b *api.Binding, clusters []*api.Cluster) bool {
	switch {
	case api.PlacementChanged(b.Annotations[api.AnnotationAppliedPlacement], b.PlacementJSON, b.Status.SchedulerObservingAffinityName):
		return true
	case replicasChanged(b):
		return true
	case rescheduleRequested(b):
		return true
	case !b.IsWorkload() || duplicated(b):
		return true
	}
	return slices.ContainsFunc(clusters, func(c *api.Cluster) bool {
		return c.DeletionTimestamp != nil && b.Target(c.Name) != nil
	})
}

func replicasChanged(b *api.Binding) bool {
	if b.Spec.Placement.ReplicaScheduling == nil {
		return false
	}
	if duplicated(b) {
		return slices.ContainsFunc(b.Spec.Clusters, func(t api.TargetCluster) bool {
			return t.Replicas != b.Spec.Replicas
		})
	}
	var sum int32
	for _, target := range b.Spec.Clusters {
		sum += target.Replicas
	}
	return b.Spec.Placement.ReplicaScheduling.Type == "Divided" && sum != b.Spec.Replicas
}

// rescheduleRequested compares whole seconds, as the API stores them: a request in the same second
// as the last schedule is lost, in Karmada too.
func rescheduleRequested(b *api.Binding) bool {
	requested, last := b.Spec.RescheduleTriggeredAt, b.Status.LastScheduledTime
	return requested != nil && last != nil && requested.After(last.Time)
}

func duplicated(b *api.Binding) bool {
	strategy := b.Spec.Placement.ReplicaScheduling
	return strategy == nil || strategy.Type == "Duplicated"
}

// decideByGroups walks the affinity groups forward from the observed one.
func (f Flags) decideByGroups(b *api.Binding, clusters []*api.Cluster) Decision {
	groups := b.Spec.Placement.ClusterAffinities
	var first error
	for i := ObservedGroup(b); i < len(groups); i++ {
		targets, err := f.place(b, groupOf(b, &groups[i]), clusters)
		if err == nil {
			return decision(targets, groups[i].AffinityName, nil)
		}
		if first == nil {
			first = err
		}
	}
	return decision(nil, "", first)
}

// ObservedGroup is the index of the affinity group scheduling starts at: the observed one, or the
// first when a reschedule was asked for after the last schedule.
func ObservedGroup(b *api.Binding) int {
	if rescheduleRequested(b) {
		return 0
	}
	observed := b.Status.SchedulerObservingAffinityName
	index := slices.IndexFunc(b.Spec.Placement.ClusterAffinities, func(t api.ClusterAffinityTerm) bool {
		return t.AffinityName == observed
	})
	return max(index, 0)
}

func decision(targets []api.TargetCluster, group string, err error) Decision {
	var noFit *noFitError
	var short *shortError
	switch {
	case err == nil:
		return Decision{Outcome: Placed, Clusters: targets, AffinityName: group, Reason: ReasonSuccess, Message: SuccessMessage}
	case errors.As(err, &noFit):
		return Decision{Outcome: NoFit, Reason: ReasonNoClusterFit, Message: err.Error()}
	case errors.As(err, &short):
		return Decision{Outcome: Failed, Reason: ReasonUnschedulable, Message: err.Error()}
	default:
		return Decision{Outcome: Failed, Reason: ReasonSchedulerError, Message: err.Error()}
	}
}

// place filters, selects and divides within one affinity group.
func (f Flags) place(b *api.Binding, group api.ClusterAffinityTerm, clusters []*api.Cluster) ([]api.TargetCluster, error) {
	fitting, err := filter(b, group, clusters)
	if err != nil {
		return nil, err
	}
	selected, err := selectBySpread(b, weighChoices(b, group, fitting))
	if err != nil {
		return nil, err
	}
	targets, err := divide(b, group, selected)
	if err != nil || !f.EmptyWorkloads {
		return targets, err
	}
	return merge(everywhere(selected, 0), targets), nil
}
