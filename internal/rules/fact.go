package rules

import (
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ClusterFact is what the controller saw of a cluster at one resourceVersion. It
// wakes a workflow and may show a state between two reads; it carries no time,
// for the controller's clock decides nothing.
type ClusterFact struct {
	Cluster         string          `json:"cluster"`
	UID             types.UID       `json:"uid"`
	ResourceVersion string          `json:"resourceVersion"`
	Deleted         bool            `json:"deleted,omitempty"`
	Conditions      []FactCondition `json:"conditions,omitempty"`
	// ExternalProbe is what the controller's own probe says at this time, empty when it has none.
	ExternalProbe ExternalProbe `json:"externalProbe,omitempty"`
}

// Probed has the results of the external probe for the members that it has reached, by cluster. The
// pacer keeps it, so that it survives a change of leader and a restart of the controller.
type Probed map[string]ProbedMember

// ProbedMember is one of them.
type ProbedMember struct {
	// Endpoint is a digest of the address at which it answered: at another address it is another member.
	Endpoint string `json:"endpoint"`
	// Up is the word of the probe: the member answers.
	Up bool `json:"up,omitempty"`
}

// maxProbed bounds how many members the pacer remembers, far above any fleet.
const maxProbed = 10_000

// Oversized reports whether it is beyond those bounds: then it is not kept.
func (p Probed) Oversized() bool {
	for name, m := range p {
		if max(len(name), len(m.Endpoint)) > reason.MaxConditionText {
			return true
		}
	}
	return len(p) > maxProbed
}

// FactCondition is a condition without its times.
type FactCondition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// MaxConditions is how many conditions a cluster may have, far above what any controller
// reports. More would not fit into one call of an activity with the other facts.
const MaxConditions = 100

// Oversized reports whether a fact is beyond those bounds: then it is not kept.
func (f ClusterFact) Oversized() bool {
	return max(len(f.UID), len(f.ResourceVersion), len(f.ExternalProbe)) > reason.MaxConditionText || len(f.Conditions) > MaxConditions ||
		slices.ContainsFunc(f.Conditions, func(c FactCondition) bool {
			return max(len(c.Type), len(c.Status), len(c.Reason)) > reason.MaxConditionText
		})
}

// Turns notes, by type, the status of each condition and when it turned to that, as
// Karmada wrote it (status.conditions[].lastTransitionTime). The times are compared with
// each other for being the same, and never reckoned with: they come from another clock.
type Turns map[string]string

// TurnsOf notes how a cluster's conditions stand.
func TurnsOf(c karmada.Cluster) Turns {
	t := make(Turns, len(c.Conditions))
	for _, x := range c.Conditions {
		if at := x.Turned(); at != "" {
			t[x.Type] = at
		}
	}
	return t
}

// Outage names the outage that was seen, see [karmada.Cluster.Outage].
func (t Turns) Outage() string { return karmada.OutageOf(t[karmada.ConditionReady]) }

// Unseen are the types of condition that have turned away and back again since, of which
// no fact speaks: each stands as it stood, and turned to that at another time.
func (t Turns) Unseen(now Turns, facts []ClusterFact) []string {
	var unseen []string
	for kind, is := range now {
		was := t[kind]
		status, _, _ := strings.Cut(is, "@")
		before, _, noted := strings.Cut(was, "@")
		seen := func(f ClusterFact) bool {
			return slices.ContainsFunc(f.Conditions, func(c FactCondition) bool { return c.Type == kind && c.Status != status })
		}
		if noted && was != is && before == status && !slices.ContainsFunc(facts, seen) {
			unseen = append(unseen, kind)
		}
	}
	slices.Sort(unseen)
	return unseen
}

// Turned is the fact with some conditions inverted, as they were between two looks.
func (f ClusterFact) Turned(types []string) ClusterFact {
	f.Conditions = slices.Clone(f.Conditions)
	for i, c := range f.Conditions {
		if !slices.Contains(types, c.Type) {
			continue
		}
		other := corev1.ConditionTrue
		if c.Status == string(corev1.ConditionTrue) {
			other = corev1.ConditionFalse
		}
		f.Conditions[i] = FactCondition{Type: c.Type, Status: string(other)}
	}
	return f
}
