package failover

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// ClusterFact is what the starter saw of a cluster at one resourceVersion. It
// wakes a workflow and may show a state between two reads; it carries no time,
// for the starter's clock decides nothing.
type ClusterFact struct {
	Cluster         string          `json:"cluster"`
	UID             types.UID       `json:"uid"`
	ResourceVersion string          `json:"resourceVersion"`
	Deleted         bool            `json:"deleted,omitempty"`
	Conditions      []FactCondition `json:"conditions,omitempty"`
	// Witness is what the starter's own probe says at this time, empty when it has none.
	Witness Witness `json:"witness,omitempty"`
}

// FactCondition is a condition without its times.
type FactCondition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// Bounds of a cluster's conditions, far above what any controller reports: how many there
// may be, and how long each of their texts, in bytes. What is beyond them would not fit
// into one call of an activity with the other facts.
const (
	MaxConditions    = 100
	MaxConditionText = 1024
)

// Oversized tells a fact that is beyond those bounds: nobody keeps it.
func (f ClusterFact) Oversized() bool {
	return len(f.ResourceVersion) > MaxConditionText || len(f.Conditions) > MaxConditions ||
		slices.ContainsFunc(f.Conditions, func(c FactCondition) bool {
			return max(len(c.Type), len(c.Status), len(c.Reason)) > MaxConditionText
		})
}

// BindingFact says that a binding changed.
type BindingFact struct {
	Key             BindingKey `json:"key"`
	UID             types.UID  `json:"uid"`
	ResourceVersion string     `json:"resourceVersion"`
	Deleted         bool       `json:"deleted,omitempty"`
}

// Result is what a migration hands in when it ends, and what the report keeps.
type Result struct {
	Key      BindingKey `json:"key"`
	UID      types.UID  `json:"uid,omitempty"`
	Resource string     `json:"resource,omitempty"` // "Deployment shop/cart"
	Outcome  Outcome    `json:"outcome"`
	Reason   Reason     `json:"reason,omitempty"`
	// Cause says what ended it when that was not its own course: recovery, who cancelled.
	Cause   string    `json:"cause,omitempty"`
	Message string    `json:"message,omitempty"`
	To      []string  `json:"to,omitempty"` // the clusters that serve it now
	At      time.Time `json:"at,omitzero"`
	Debt    *Debt     `json:"debt,omitempty"`
	Fence   *Fence    `json:"fence,omitempty"` // what a Directly move went on by
	// Banned tells that a task of ours keeps the scheduler from putting it back, until undrain.
	Banned bool `json:"banned,omitempty"`
	// Wrote tells whether an eviction of ours was written.
	Wrote bool `json:"wrote,omitempty"`
}

// Debt is an old Work that stays on an absent cluster until it is back.
type Debt struct {
	Key       BindingKey `json:"key"`
	Namespace string     `json:"namespace"`
	Work      string     `json:"work"`
	UID       types.UID  `json:"uid"`
}
