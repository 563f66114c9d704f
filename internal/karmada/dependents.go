package karmada

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Dependent is one entry of AnnotationDependencies: what a parent takes along.
type Dependent struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// LabelSelector names dependents by their labels, without a name.
	LabelSelector json.RawMessage `json:"labelSelector,omitempty"`
}

// Dependencies is what a parent's binding says of its dependents.
type Dependencies struct {
	// Known reports that Karmada has listed them.
	Known bool
	// Keys are the bindings of those with a name.
	Keys []BindingKey
	// Selected reports that some are named by their labels alone, or that Karmada lists none for a
	// workload: only a search for bindings that name this parent in requiredBy finds them.
	Selected bool
	// Malformed says what could not be understood, empty when fine.
	Malformed string
}

// Any reports whether there are dependents at all.
func (d Dependencies) Any() bool { return len(d.Keys) > 0 || d.Selected }

// DependenciesOf reads the list on a parent's binding. Karmada writes none for a kind whose
// references nothing interprets, and where it writes one, it does so before it makes the binding of any
// dependent: those that stand name the parent.
func DependenciesOf(b *Binding) Dependencies {
	raw, known := b.Annotations[AnnotationDependencies]
	out := Dependencies{Known: known, Selected: !known && b.PropagateDeps && b.Workload}
	if raw = strings.TrimSpace(raw); raw == "" {
		return out
	}
	var listed []Dependent
	if err := json.Unmarshal([]byte(raw), &listed); err != nil {
		out.Malformed = fmt.Sprintf("annotation %s: %v", AnnotationDependencies, err)
		return out
	}
	for _, d := range listed {
		switch {
		case d.Name == "" && len(d.LabelSelector) > 0:
			out.Selected = true
		case d.Name == "" || d.Kind == "":
			out.Malformed = fmt.Sprintf("annotation %s: a dependent without kind or name", AnnotationDependencies)
		default:
			// Karmada makes the binding in the parent's namespace, wherever the dependent is.
			key := BindingKey{Namespace: b.Key.Namespace, Name: bindingName(d.Name, d.Kind)}
			if !slices.Contains(out.Keys, key) {
				out.Keys = append(out.Keys, key)
			}
		}
	}
	return out
}

// bindingName is the name that Karmada gives the binding of a resource.
func bindingName(name, kind string) string {
	return strings.ReplaceAll(strings.ToLower(name+"-"+kind), ":", ".")
}

// RequiredIn reports whether a binding names a parent in requiredBy.
func (b *Binding) RequiredIn(parent BindingKey) bool {
	return slices.ContainsFunc(b.RequiredBy, func(r RequiredBy) bool { return r.Namespace == parent.Namespace && r.Name == parent.Name })
}

// NeedsOn reports whether a parent is on the cluster and takes the dependent along: only
// then will Karmada name the cluster in the dependent's requiredBy again. A list that
// cannot be read counts as one that names it.
func NeedsOn(parent, dependent *Binding, cluster string) bool {
	if !parent.Targets(cluster) || !parent.PropagateDeps {
		return false
	}
	listed := DependenciesOf(parent)
	return listed.Malformed != "" || slices.Contains(listed.Keys, dependent.Key) ||
		listed.Selected && dependent.RequiredIn(parent.Key)
}

// ServesOn reports whether Karmada keeps a Work of a binding on a cluster without any
// Lifeboat task: it is a target, or a parent runs there.
func (b *Binding) ServesOn(cluster string) bool {
	return b.Targets(cluster) || b.RequiredOn(cluster)
}

// OnlyRequiredOn reports whether parents alone keep the Work of a binding on a cluster: it is no target itself.
func (b *Binding) OnlyRequiredOn(cluster string) bool {
	return b.RequiredOn(cluster) && !b.Targets(cluster)
}

// RequiredOn reports whether a parent of the binding runs on a cluster: Karmada keeps a Work there for it.
func (b *Binding) RequiredOn(cluster string) bool {
	return slices.ContainsFunc(b.RequiredBy, func(r RequiredBy) bool { return slices.Contains(r.Clusters, cluster) })
}

// RunsOn is on how many clusters a binding runs: those of its own, and those of the workloads that it is needed by.
func (b *Binding) RunsOn() int {
	names := sets.New(TargetNames(b.Clusters)...)
	for _, parent := range b.RequiredBy {
		names.Insert(parent.Clusters...)
	}
	return names.Len()
}
