package failover

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// KindRule says what becomes of the bindings of one kind when their cluster is evacuated.
type KindRule string

// The rules.
const (
	KindMove KindRule = "move" // as any other binding
	KindKeep KindRule = "keep" // it stays where it is
	KindAsk  KindRule = "ask"  // it moves once an operator has approved
)

// ParseKindRule reads "Job.batch=keep"; ok is false for anything else.
func ParseKindRule(text string) (kind string, rule KindRule, ok bool) {
	kind, word, found := strings.Cut(text, "=")
	kind, rule = strings.TrimSpace(kind), KindRule(strings.TrimSpace(word))
	known := rule == KindMove || rule == KindKeep || rule == KindAsk
	return kind, rule, found && known && kind != "" && !strings.ContainsAny(kind, " /,")
}

// KindRules are the configured rules, by "Kind.group" ("Kind" in the core group). A kind
// that they do not name has the default rule.
type KindRules map[string]KindRule

const (
	kindCRD = "CustomResourceDefinition.apiextensions.k8s.io"
	kindJob = "Job.batch"
)

// kindDefaults are the kinds whose bindings lose something when they move like a
// ConfigMap: the end of the old copy ends more than that copy, or the new copy does work
// that was done. docs/operations.md has the table. Every other kind moves.
var kindDefaults = map[string]struct {
	rule KindRule
	why  string
}{
	kindCRD:                 {KindKeep, "the end of its old copy deletes every object of that kind on the cluster"},
	"Namespace":             {KindKeep, "the end of its old copy deletes everything in it on the cluster"},
	"PersistentVolumeClaim": {KindKeep, "the data does not move with it, and the end of its old copy can delete the data"},
	"PersistentVolume":      {KindKeep, "the data does not move with it"},
	kindJob:                 {KindAsk, "a Job that runs begins again on another cluster: what it has done so far is lost, or is done twice"},
}

// Judge is the rule for one binding on one cluster, and why in words. The binding's own
// annotation AnnotationEnabled "true" lets it move whatever its kind.
func (r KindRules) Judge(b *Binding, cluster string) (KindRule, string) {
	kind := b.Resource.groupKind()
	if b.Annotations[AnnotationEnabled] == "true" {
		return KindMove, ""
	}
	known, listed := kindDefaults[kind]
	rule, configured := r[kind]
	switch {
	case configured && rule == KindMove, !configured && !listed:
		return KindMove, ""
	case kind == kindJob && b.jobFinished(cluster):
		return KindKeep, "a Job that has finished on " + cluster + " would run again elsewhere"
	case configured:
		return rule, "the configuration (kinds) says " + string(rule) + " for " + kind
	}
	return known.rule, "a " + kind + ": " + known.why
}

// groupKind is "Job.batch", or "Namespace" in the core group.
func (r Resource) groupKind() string {
	return strings.TrimSuffix(r.Kind+"."+r.group(), ".")
}

// jobFinished tells whether the Job's copy on a cluster has completed or failed for good,
// as its last collected status says. A Job without a status counts as one that runs.
func (b *Binding) jobFinished(cluster string) bool {
	item := b.Item(cluster)
	if item == nil {
		return false
	}
	var status struct {
		Conditions []struct {
			Type   string                 `json:"type"`
			Status corev1.ConditionStatus `json:"status"`
		} `json:"conditions"`
		CompletionTime string `json:"completionTime"`
	}
	if json.Unmarshal(item.Status, &status) != nil {
		return false
	}
	for _, c := range status.Conditions {
		if (c.Type == "Complete" || c.Type == "Failed") && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return status.CompletionTime != ""
}

// DefinesKind tells the binding of a CustomResourceDefinition.
func (b *Binding) DefinesKind() bool { return b.Resource.groupKind() == kindCRD }

// NeedsDefinition tells whether a binding needs the CustomResourceDefinition of another
// one on a cluster: its resource is of that API group, and a copy of it stands or is held
// there. The name of a CRD is "<plural>.<group>"; which kind the plural belongs to is not
// known, so every kind of the group counts.
func NeedsDefinition(b, crd *Binding, cluster string) bool {
	_, group, _ := strings.Cut(crd.Resource.Name, ".")
	held := slices.ContainsFunc(b.Tasks, func(t Task) bool { return t.FromCluster == cluster })
	return b.Key != crd.Key && b.Resource.group() == group && (b.ServesOn(cluster) || held)
}

// DefinitionInUse is the no to the end of a CRD's copy.
func DefinitionInUse(cluster string, users []BindingKey) Verdict {
	if len(users) == 0 {
		return Verdict{OK: true}
	}
	return Verdict{Reason: ReasonKindInUse, Message: fmt.Sprintf(
		"%s of its API group stands or is held on %s (%s): without the CustomResourceDefinition every object of its kind there is deleted",
		Count(len(users), "binding"), cluster, users[0])}
}
