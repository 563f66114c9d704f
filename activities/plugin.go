package activities

import (
	"cmp"
	"context"

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
		return proof.Refuse(reason.PluginSilent, "plug-in %s answers in version %d, asked in version %d",
			plugin, a.Version, PluginVersion)
	case !a.Proven:
		return reason.Verdict{Reason: reason.PluginRefuses, Message: cmp.Or(a.Message, "not proven")}
	default:
		return reason.Verdict{OK: true, Reason: reason.Healthy, Message: cmp.Or(a.Message, "proven")}
	}
}

// Prober probes a member cluster.
type Prober interface {
	// Probe returns nil only when the cluster has answered that it is well, just now.
	Probe(ctx context.Context, cluster string) error
}
