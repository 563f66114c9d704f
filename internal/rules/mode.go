package rules

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"k8s.io/apimachinery/pkg/labels"
)

// ModeExceptions are the clusters that are handled in another mode than the
// default. Where both select a cluster, observe wins.
type ModeExceptions struct {
	Enforce ClusterSelection
	Observe ClusterSelection
}

// ClusterSelection picks clusters by name, or by a label selector as text
// ("tier=gold,env!=prod"); an empty one picks none.
type ClusterSelection struct {
	Names    []string
	Selector string
}

// Of is the mode of a cluster. A selector that cannot be read leaves the cluster
// to observe: nothing is enforced by a selector that is not understood.
func (m ModeExceptions) Of(c karmada.Cluster, otherwise Mode) Mode {
	observe, observeRead := m.Observe.picks(c)
	enforce, enforceRead := m.Enforce.picks(c)
	switch {
	case observe, !observeRead, !enforceRead:
		return ModeObserve
	case enforce, otherwise == ModeEnforce:
		return ModeEnforce
	default:
		return ModeObserve
	}
}

// MayEnforce reports whether any cluster could be handled in enforce.
func (m ModeExceptions) MayEnforce(otherwise Mode) bool {
	return otherwise == ModeEnforce || len(m.Enforce.Names) > 0 || m.Enforce.Selector != ""
}

// ByLabel reports whether a cluster's labels are needed to know its mode.
func (m ModeExceptions) ByLabel() bool { return m.Enforce.Selector != "" || m.Observe.Selector != "" }

func (s ClusterSelection) picks(c karmada.Cluster) (picked, read bool) {
	if slices.Contains(s.Names, c.Name) {
		return true, true
	}
	if s.Selector == "" {
		return false, true
	}
	selector, err := labels.Parse(s.Selector)
	if err != nil {
		return false, false
	}
	return selector.Matches(labels.Set(c.Labels)), true
}

// Mode is whether Lifeboat acts. It is frozen per failover.
type Mode string

// The modes.
const (
	ModeObserve Mode = "observe"
	ModeEnforce Mode = "enforce"
)
