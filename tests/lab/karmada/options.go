package karmada

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/controllers"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/crds"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/members"
)

// MemberSpec describes a member cluster.
type MemberSpec struct {
	Name     string            `json:"name"`
	Region   string            `json:"region,omitempty"`
	Zone     string            `json:"zone,omitempty"`
	Provider string            `json:"provider,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	// CPUs is the cluster's size; 0 means plenty.
	CPUs int64 `json:"cpus,omitempty"`
	// SameAs names a member before this one in the list whose API server this cluster has as well, in
	// a real Karmada: a cluster without workloads costs no processes then.
	SameAs string `json:"sameAs,omitempty"`
}

// MemberStatus is a member as it really is, whatever Karmada believes.
type MemberStatus struct {
	Name  string `json:"name"`
	Alive bool   `json:"alive"`
	// Readyz is the URL that Karmada probes.
	Readyz    string             `json:"readyz"`
	Workloads []members.Workload `json:"workloads"`
}

// Knobs are the periods and switches of the simulation; see controllers.Knobs.
type Knobs = controllers.Knobs

// DefaultKnobs are those of the recordings: probes every second, two-second thresholds, graceful
// eviction on.
func DefaultKnobs() Knobs {
	of := func(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
	return Knobs{
		StatusPeriod: of(time.Second), FailureThreshold: of(2 * time.Second), SuccessThreshold: of(2 * time.Second),
		SchedulerLatency: of(20 * time.Millisecond), SchedulerBackoff: of(time.Second),
		BindingLatency: of(50 * time.Millisecond),
		ApplyLatency:   of(100 * time.Millisecond), ReportLatency: of(100 * time.Millisecond),
		WorkloadReadyAfter: of(time.Second),
		ExecutionRetry:     of(2 * time.Second), DirectlyRetry: of(time.Second),
		GracefulEvictionTimeout: of(10 * time.Minute), GracefulEvictionEnabled: true,
	}
}

// Options make a Sim.
type Options struct {
	Members []MemberSpec
	Knobs   Knobs
	Logger  *slog.Logger
	// MemberDir keeps the members' copies from one run to the next; empty forgets them.
	MemberDir string
}

// InstallCRDs puts Karmada's API on the API server and returns when it is served.
func InstallCRDs(ctx context.Context, cfg *rest.Config) error { return crds.Install(ctx, cfg) }

// validateKnobs refuses periods that would make a controller spin or never act.
func validateKnobs(k Knobs) error {
	var problems []error
	positive := map[string]metav1.Duration{
		"statusPeriod": k.StatusPeriod, "executionRetry": k.ExecutionRetry, "directlyRetry": k.DirectlyRetry,
		"schedulerBackoff": k.SchedulerBackoff, "gracefulEvictionTimeout": k.GracefulEvictionTimeout,
	}
	for name, value := range positive {
		if value.Duration <= 0 {
			problems = append(problems, fmt.Errorf("knob %s is %s, must be above 0", name, value.Duration))
		}
	}
	notNegative := map[string]metav1.Duration{
		"failureThreshold": k.FailureThreshold, "successThreshold": k.SuccessThreshold,
		"schedulerLatency": k.SchedulerLatency, "bindingLatency": k.BindingLatency, "applyLatency": k.ApplyLatency,
		"reportLatency": k.ReportLatency, "workloadReadyAfter": k.WorkloadReadyAfter,
	}
	for name, value := range notNegative {
		if value.Duration < 0 {
			problems = append(problems, fmt.Errorf("knob %s is %s, must not be negative", name, value.Duration))
		}
	}
	if k.SchedulerRate < 0 {
		problems = append(problems, fmt.Errorf("knob schedulerRate is %g, must not be negative", k.SchedulerRate))
	}
	return errors.Join(problems...)
}
