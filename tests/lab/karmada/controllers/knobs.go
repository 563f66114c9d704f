package controllers

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Knobs are the periods and switches of the simulated control plane. Each is read anew whenever it
// matters, so a change takes effect at once.
type Knobs struct {
	// StatusPeriod is the time between two probes of a member.
	StatusPeriod metav1.Duration `json:"statusPeriod"`
	// FailureThreshold and SuccessThreshold are how long a changed probe result must last before the
	// Ready condition follows it.
	FailureThreshold metav1.Duration `json:"failureThreshold"`
	SuccessThreshold metav1.Duration `json:"successThreshold"`
	// SchedulerLatency passes between an event and the scheduler's look at the binding.
	SchedulerLatency metav1.Duration `json:"schedulerLatency"`
	// SchedulerBackoff is the first delay after a SchedulerError; it doubles up to ten times itself.
	SchedulerBackoff metav1.Duration `json:"schedulerBackoff"`
	// BindingLatency passes between a binding's change and the binding controller's look at it.
	BindingLatency metav1.Duration `json:"bindingLatency"`
	// ApplyLatency passes between a Work's change and its arrival in the member.
	ApplyLatency metav1.Duration `json:"applyLatency"`
	// ReportLatency is what a member needs to act on a change.
	ReportLatency metav1.Duration `json:"reportLatency"`
	// WorkloadReadyAfter passes until the last replica of a new copy is ready.
	WorkloadReadyAfter metav1.Duration `json:"workloadReadyAfter"`
	// ExecutionRetry is the delay before a Work on a cluster that is away is tried again.
	ExecutionRetry metav1.Duration `json:"executionRetry"`
	// DirectlyRetry is the delay before a binding blocked by a Directly task is looked at again.
	DirectlyRetry metav1.Duration `json:"directlyRetry"`
	// GracefulEvictionTimeout is when a task without suppressDeletion is dropped whatever the health.
	GracefulEvictionTimeout metav1.Duration `json:"gracefulEvictionTimeout"`
	// GracefulEvictionEnabled turns Karmada's graceful eviction controller on.
	GracefulEvictionEnabled bool `json:"gracefulEvictionEnabled"`
	// TaintManager turns Karmada's own eviction by NoExecute taints on: its gate Failover and the flag
	// --enable-no-execute-taint-eviction.
	TaintManager bool `json:"taintManager"`
	// StatefulFailoverInjection turns Karmada's feature gate of that name on: preserved labels reach the new copy.
	StatefulFailoverInjection bool `json:"statefulFailoverInjection"`
}
