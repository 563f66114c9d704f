package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
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

// kindDefaults are the kinds whose bindings lose something when they move like a
// ConfigMap: the end of the old copy ends more than that copy, or the new copy does work
// that was done. R4.6-45 has the table. Every other kind moves.
var kindDefaults = map[string]struct {
	rule KindRule
	why  string
}{
	karmada.KindCRD:         {KindKeep, "the end of its old copy deletes every object of that kind on the cluster"},
	"Namespace":             {KindKeep, "the end of its old copy deletes everything in it on the cluster"},
	"PersistentVolumeClaim": {KindKeep, "the data does not move with it, and the end of its old copy can delete the data"},
	"PersistentVolume":      {KindKeep, "the data does not move with it"},
	karmada.KindJob:         {KindAsk, "a Job that runs begins again on another cluster: what it has done so far is lost, or is done twice"},
}

// Judge is the rule for one binding on one cluster, and why in words. The binding's own
// annotation AnnotationEnabled "true" lets it move whatever its kind.
func (r KindRules) Judge(b *karmada.Binding, cluster string) (KindRule, string) {
	kind := b.Resource.GroupKind()
	if b.Annotations[karmada.AnnotationEnabled] == "true" {
		return KindMove, ""
	}
	known, listed := kindDefaults[kind]
	rule, configured := r[kind]
	switch {
	case configured && rule == KindMove, !configured && !listed:
		return KindMove, ""
	case kind == karmada.KindJob && b.JobFinished(cluster):
		return KindKeep, "a Job that has finished on " + cluster + " would run again elsewhere"
	case configured:
		return rule, "the configuration (kinds) says " + string(rule) + " for " + kind
	}
	return known.rule, "a " + kind + ": " + known.why
}

// NeedsDefinition reports whether a binding needs the CustomResourceDefinition of another
// one on a cluster: its resource is of that API group, and a copy of it stands or is held
// there. The name of a CRD is "<plural>.<group>"; which kind the plural belongs to is not
// known, so every kind of the group counts.
func NeedsDefinition(b, crd *karmada.Binding, cluster string) bool {
	_, group, _ := strings.Cut(crd.Resource.Name, ".")
	held := slices.ContainsFunc(b.Tasks, func(t karmada.Task) bool { return t.FromCluster == cluster })
	return b.Key != crd.Key && b.Resource.Group() == group && (b.ServesOn(cluster) || held)
}

// DefinitionInUse is the no to the end of a CRD's copy.
func DefinitionInUse(cluster string, users []karmada.BindingKey) reason.Verdict {
	if len(users) == 0 {
		return reason.Verdict{OK: true}
	}
	return reason.Verdict{Reason: reason.KindInUse, Message: fmt.Sprintf(
		"%s of its API group stands or is held on %s (%s): without the CustomResourceDefinition every object of its kind there is deleted",
		reason.Count(len(users), "binding"), cluster, users[0])}
}
