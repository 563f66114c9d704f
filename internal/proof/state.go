package proof

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
)

// StateInput is all that decides what of a binding's state goes along with it.
type StateInput struct {
	Rules  []karmada.StateRule // as frozen
	Purge  karmada.PurgeMode
	Source karmada.Cluster
	Fence  *Fence
	// Targets is how many clusters it runs on now, the failed one counted.
	Targets int
	// Status is what the old copy last reported; null or empty was never collected.
	Status json.RawMessage
	// Read evaluates the rules over Status: labels by name, or why one of them cannot be read.
	Read func(json.RawMessage, []karmada.StateRule) (map[string]string, error)
	// MissingOK lets a binding go without state that cannot come along, except where a
	// rule cannot be read, or where the source has yet to delete the old copy.
	MissingOK bool
}

// PlanState says which labels the task is to carry, or why the binding has to stay for
// the sake of its state. OK with a message goes without it. Karmada puts the labels on
// the new copy only in purge mode Directly, on one target, while the task stands, so
// that it takes a source which deletes the old copy first.
func PlanState(in StateInput) (map[string]string, reason.Verdict) {
	if len(in.Rules) == 0 {
		return nil, reason.Verdict{OK: true}
	}
	labels, v := in.read()
	switch {
	case in.Fence.WaivesState(in.Source):
		return labels, reason.Verdict{OK: true, Message: "without its state: " + in.Fence.String()}
	case v.Reason == reason.StateUnreadable:
		return nil, v
	case in.notCarried() != "":
		v = reason.Verdict{Reason: reason.StateNotCarried, Message: in.notCarried()}
	case !v.OK:
	case !in.Source.Ready():
		return nil, NeedsSource(in.Source.Name)
	default:
		return labels, v
	}
	if in.MissingOK {
		return labels, reason.Verdict{OK: true, Message: "without its state: " + v.Message}
	}
	return nil, v
}

func (in StateInput) notCarried() string {
	switch {
	case in.Purge != karmada.PurgeDirectly:
		return fmt.Sprintf("its state is to be preserved, and Karmada hands it on only in purge mode Directly, not %s", in.Purge)
	case in.Targets != 1:
		return fmt.Sprintf("its state is to be preserved, and Karmada hands it on only to a single target; it runs on %d", in.Targets)
	default:
		return ""
	}
}

// read evaluates the rules, and holds what they found to what a label may be: a Work
// with a label that no cluster accepts would never run.
func (in StateInput) read() (map[string]string, reason.Verdict) {
	if why := badRules(in.Rules); why != "" {
		return nil, unreadable("%s", why)
	}
	if len(in.Status) == 0 || string(in.Status) == "null" {
		return nil, Refuse(reason.StateNotCollected, "its status on %s was never collected: there is no state to preserve", in.Source.Name)
	}
	labels, err := in.Read(in.Status, in.Rules)
	if err != nil {
		return nil, unreadable("%v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if bad := validation.IsValidLabelValue(labels[name]); len(bad) > 0 {
			return nil, unreadable("%q is no value for label %s: %s", labels[name], name, bad[0])
		}
	}
	return labels, reason.Verdict{OK: true}
}

// badRules says what is wrong with rules whatever a status says, empty when fine.
func badRules(rules []karmada.StateRule) string {
	seen := sets.New[string]()
	for _, r := range rules {
		if bad := validation.IsQualifiedName(r.Label); len(bad) > 0 {
			return fmt.Sprintf("aliasLabelName %q: %s", r.Label, bad[0])
		}
		if seen.Has(r.Label) {
			return fmt.Sprintf("two rules for label %s", r.Label)
		}
		seen.Insert(r.Label)
		if strings.TrimSpace(r.Path) == "" {
			return "the rule for label " + r.Label + " has no jsonPath"
		}
	}
	return ""
}

func unreadable(format string, args ...any) reason.Verdict {
	return reason.Verdict{Reason: reason.StateUnreadable, Message: "its state cannot be read: " + fmt.Sprintf(format, args...)}
}
