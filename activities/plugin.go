package activities

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// PluginVersion is the version of PluginRequest and PluginAnswer. Fields may be added
// within a version; one that changed its meaning would be another version.
const PluginVersion = 1

// The questions that a plug-in is asked.
const (
	AskHealth = "health" // are the new copies good, so that the old one may go?
	AskFence  = "fence"  // is the old copy dead, so that a new one may begin?
)

// PluginRequest is the one argument of a plug-in's activity.
type PluginRequest struct {
	Version  int    `json:"version"`
	Question string `json:"question"` // AskHealth or AskFence
	Plugin   string `json:"plugin"`   // its name in the configuration
	// Cluster is the one that failed.
	Cluster    string `json:"cluster"`
	ClusterUID string `json:"clusterUID,omitempty"`
	// Namespace and Name are the binding's; Namespace is empty for a ClusterResourceBinding.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	Resource  string `json:"resource,omitempty"` // "Deployment shop/cart"
	// Targets are where the binding is placed now; empty where it has not been moved yet.
	Targets    []PluginTarget `json:"targets,omitempty"`
	Workflow   string         `json:"workflow"` // the id of the migration that asks
	FailoverID string         `json:"failoverID"`
	Attempt    int            `json:"attempt"`
}

// PluginTarget is one cluster that the binding is placed on.
type PluginTarget struct {
	Cluster  string `json:"cluster"`
	Replicas int32  `json:"replicas"`
}

// PluginAnswer is what a plug-in's activity returns. Anything else (an error, a
// timeout, another version, no worker on the task queue) is no proof.
type PluginAnswer struct {
	Version int    `json:"version"`
	Proven  bool   `json:"proven"`
	Message string `json:"message,omitempty"` // shown to people, whether proven or not
}

// Verdict is what the answer is worth.
func (a PluginAnswer) Verdict(plugin string) reason.Verdict {
	switch {
	case a.Version != PluginVersion:
		return reason.Verdict{Reason: reason.PluginSilent, Message: fmt.Sprintf(
			"plug-in %s answers in version %d, asked in version %d", plugin, a.Version, PluginVersion)}
	case !a.Proven:
		return reason.Verdict{Reason: reason.PluginRefuses, Message: cmp.Or(a.Message, "not proven")}
	default:
		return reason.Verdict{OK: true, Reason: reason.Healthy, Message: cmp.Or(a.Message, "proven")}
	}
}

// judged is what the plug-ins say at the release: the built-in ones look again, of
// the others the answers that the migration has just asked for count, for the
// placement that they were asked about.
func (r ReleaseRequest) judged(look Observation) reason.Verdict {
	proofs := append([]proof.Proof{{Plugin: proof.PluginResourceHealth, Verdict: look.Health}}, r.Proofs...)
	v := r.Plugins.Judge(proofs)
	if v.OK && len(r.Proofs) > 0 && !samePlacement(r.ProvenOn, look.On) {
		return reason.Verdict{Reason: reason.NotHealthy, Message: "its placement has changed since the plug-ins answered"}
	}
	return v
}

func samePlacement(x, y []karmada.TargetCluster) bool {
	sorted := func(targets []karmada.TargetCluster) []karmada.TargetCluster {
		return slices.SortedFunc(slices.Values(targets), func(a, b karmada.TargetCluster) int { return cmp.Compare(a.Name, b.Name) })
	}
	return slices.Equal(sorted(x), sorted(y))
}

// Prober probes a member cluster.
type Prober interface {
	// Probe returns nil only when the cluster has answered that it is well, just now.
	Probe(ctx context.Context, cluster string) error
}

// heldLongEnough reports whether health has held for as long as it must. Ready lags
// death: where the source answers and its copy is good, the new one is worth a fresh
// probe of each target, or the wait until a death would have shown.
func (a releaser) heldLongEnough(ctx context.Context, r ReleaseRequest, look Observation) reason.Verdict {
	if len(r.ProvenOn) > 0 && proof.Joined(r.ProvenOn, look.On) {
		return reason.Verdict{Reason: reason.NotHealthy, Message: "it was placed elsewhere since it was found healthy"}
	}
	must := a.mustHold(r, Observation{})
	if r.HealthyFor < must {
		return notLongEnough(r.HealthyFor, must)
	}
	must = a.mustHold(r, look)
	if r.HealthyFor >= must {
		return reason.Verdict{OK: true}
	}
	switch {
	case !r.Probe:
		return notLongEnough(r.HealthyFor, must)
	case a.prober == nil:
		// The migration counts on a probe: refused for the time, it would begin again for ever.
		return reason.Verdict{Reason: reason.ProbeFailed, Message: fmt.Sprintf(
			"this worker's own config has no probe: health must hold for %s", must)}
	}
	for _, target := range look.Targets {
		if err := a.prober.Probe(ctx, target); err != nil {
			return reason.Verdict{Reason: reason.ProbeFailed, Message: fmt.Sprintf(
				"%s did not answer a probe (%v): health must hold for %s", target, err, must)}
		}
	}
	return reason.Verdict{OK: len(look.Targets) > 0, Reason: reason.NotPlaced}
}

func notLongEnough(held, must time.Duration) reason.Verdict {
	return reason.Verdict{Reason: reason.NotHealthy, Message: fmt.Sprintf("healthy for %s of %s", held.Round(time.Second), must)}
}
