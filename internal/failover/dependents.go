package failover

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// RequiredBy is one of spec.requiredBy: a parent of a dependent, and where that runs.
type RequiredBy struct {
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name"`
	Clusters  []string `json:"clusters,omitempty"`
}

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
	// Known tells that Karmada has listed them.
	Known bool
	// Keys are the bindings of those with a name.
	Keys []BindingKey
	// Selected tells that some are named by their labels alone: only a search for
	// bindings that name this parent in requiredBy finds them.
	Selected bool
	// Malformed says what could not be understood, empty when fine.
	Malformed string
}

// Any tells whether there are dependents at all.
func (d Dependencies) Any() bool { return len(d.Keys) > 0 || d.Selected }

// DependenciesOf reads the list on a parent's binding.
func DependenciesOf(b *Binding) Dependencies {
	raw, known := b.Annotations[AnnotationDependencies]
	out := Dependencies{Known: known}
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
			key := BindingKey{Namespace: d.Namespace, Name: bindingName(d.Name, d.Kind)}
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

// RequiredIn tells whether a binding names a parent in requiredBy.
func (b *Binding) RequiredIn(parent BindingKey) bool {
	return slices.ContainsFunc(b.RequiredBy, func(r RequiredBy) bool { return r.Namespace == parent.Namespace && r.Name == parent.Name })
}

// NeedsOn tells whether a parent is on the cluster and takes the dependent along: only
// then will Karmada name the cluster in the dependent's requiredBy again. A list that
// cannot be read counts as one that names it.
func NeedsOn(parent, dependent *Binding, cluster string) bool {
	if _, at := parent.Target(cluster); at < 0 || !parent.PropagateDeps {
		return false
	}
	listed := DependenciesOf(parent)
	return listed.Malformed != "" || slices.Contains(listed.Keys, dependent.Key) ||
		listed.Selected && dependent.RequiredIn(parent.Key)
}

// ServesOn tells whether Karmada keeps a Work of a binding on a cluster without any
// task of ours: it is a target, or a parent runs there.
func (b *Binding) ServesOn(cluster string) bool {
	if _, at := b.Target(cluster); at >= 0 {
		return true
	}
	return slices.ContainsFunc(b.RequiredBy, func(r RequiredBy) bool { return slices.Contains(r.Clusters, cluster) })
}

// maxMessage is how many bytes a task's message may have.
const maxMessage = 1024

// Holders are the workflows for whose sake a hold task stands, the binding's own
// migration first where it is one of them. They are counted in the task's message.
func (t Task) Holders() []string { return strings.Fields(t.Message) }

// HoldersMessage is the message that names them; not ok when it would not fit.
func HoldersMessage(holders []string) (message string, ok bool) {
	message = strings.Join(holders, " ")
	return message, len(message) <= maxMessage
}

// ForDependent tells a task that stands for the sake of parents alone: the binding
// itself is on no migration of its own.
func (t Task) ForDependent() bool { return t.Ours() && t.Reason == TaskReasonDependent }

// Owned tells a task that a migration of the binding itself works on, or left to a human.
func (t Task) Owned() bool { return t.Ours() && t.Reason != TaskReasonDependent && !t.Bans() }

// LeftForGood tells a task that a migration kept, or left to a human.
func (t Task) LeftForGood() bool {
	return t.Ours() && (t.Reason == TaskReasonKept || t.Reason == TaskReasonLeftToHuman)
}

// OnItsWay tells a task that a migration of the binding itself works on, and has left to nobody.
func (t Task) OnItsWay() bool { return t.Owned() && !t.LeftForGood() }

// Unfinished tells a task that some workflow of ours has yet to end.
func (t Task) Unfinished() bool {
	return t.Ours() && t.Reason == TaskReason || t.ForDependent() || t.Bans()
}

// Bans tells a task that keeps a drained cluster from the scheduler until undrain.
func (t Task) Bans() bool { return t.Ours() && t.Reason == TaskReasonBanned }

// Owner is the binding's own migration, empty where none of its own holds it.
func (t Task) Owner() string {
	if holders := t.Holders(); !t.ForDependent() && len(holders) > 0 {
		return holders[0]
	}
	return ""
}

// Others are the holders beside the binding's own migration.
func (t Task) Others() []string {
	holders := t.Holders()
	if t.ForDependent() || len(holders) == 0 {
		return holders
	}
	return holders[1:]
}

// maxOwner is how long the id of a workflow may be.
const maxOwner = 240

// MigrationKey is the binding whose move off a cluster the workflow of that id is. Not
// whole where the id may have been cut, or is of another form.
func MigrationKey(id, cluster string) (key BindingKey, whole bool) {
	_, named, found := strings.Cut(id, "binding-migration/"+cluster+"/")
	key, both := ParseBindingKey(named)
	return key, found && both && len(id) < maxOwner
}

// HeldForParents refuses two moves of a dependent that parents hold: Directly, which
// would take its Work from under their running pods, and one whose own migration would
// not fit beside them.
func HeldForParents(b *Binding, cluster string, mode PurgeMode) (Reason, string) {
	task, _ := b.TaskFor(cluster)
	switch {
	case task == nil || !task.Ours() || len(task.Others()) == 0:
	case mode == PurgeDirectly:
		return ReasonHeldForParents, fmt.Sprintf("%d migrations of its parents hold it on %s", len(task.Others()), cluster)
	case task.ForDependent() && len(task.Message)+1+maxOwner > maxMessage:
		return ReasonTooManyHolders, fmt.Sprintf("%d migrations of its parents hold it on %s; its own would not fit beside them", len(task.Others()), cluster)
	}
	return ReasonNone, ""
}

// HoldPlan is what one write does to the holders of a dependent's task.
type HoldPlan struct {
	// Done: nothing to write. Holders are those after the write; none drops the task.
	Done    bool
	Holders []string
	// Keep: nobody holds it any more, and the rule of its kind keeps its copy. The task
	// stays, marked as kept.
	Keep    bool
	Reason  Reason
	Message string
}

// PlanHold enters a parent's migration as a holder of a dependent's task for the
// cluster. One that another hand holds, or that is left to a human, holds already.
func PlanHold(b *Binding, cluster, holder string) HoldPlan {
	if b.Malformed != "" {
		return HoldPlan{Reason: ReasonMalformed, Message: "dependent " + b.Key.String() + ": " + b.Malformed}
	}
	task, _ := b.TaskFor(cluster)
	switch {
	case task == nil && !b.ServesOn(cluster):
		return HoldPlan{Done: true} // it is not there: there is no Work to keep
	case task == nil:
		return HoldPlan{Holders: []string{holder}}
	case !task.Ours():
		return HoldPlan{Reason: ReasonForeignTask, Message: fmt.Sprintf("a task of producer %q for %s stands on dependent %s", task.Producer, cluster, b.Key)}
	case task.keepsNothing(b):
		return HoldPlan{Reason: ReasonForeignTask, Message: fmt.Sprintf(
			"the task (%s) of dependent %s says Directly: its Work on %s would go first", task.Reason, b.Key, cluster)}
	case !task.active(), slices.Contains(task.Holders(), holder):
		return HoldPlan{Done: true}
	}
	next := append(task.Holders(), holder)
	if _, fits := HoldersMessage(next); !fits {
		return HoldPlan{
			Reason:  ReasonTooManyHolders,
			Message: fmt.Sprintf("%d migrations hold dependent %s already; no more fit into its task's message", len(next)-1, b.Key),
		}
	}
	return HoldPlan{Holders: next}
}

// PlanLeave takes a holder out. Only whoever removes the last one drops the task; and
// where the parent is back on the cluster, not before the dependent is wanted there
// again: its Work would be deleted and made anew under the running pods.
func PlanLeave(b *Binding, cluster, holder string, back bool) HoldPlan {
	task, _ := b.TaskFor(cluster)
	if task == nil || !task.active() || !slices.Contains(task.Holders(), holder) {
		return HoldPlan{Done: true} // or left to a human, who ends it
	}
	next := slices.DeleteFunc(task.Holders(), func(h string) bool { return h == holder })
	if len(next) == 0 && back && !b.ServesOn(cluster) {
		return HoldPlan{
			Holders: next, Reason: ReasonDependentsNotBack,
			Message: fmt.Sprintf("dependent %s is not wanted on %s again yet", b.Key, cluster),
		}
	}
	return HoldPlan{Holders: next}
}

// KeptBy is the plan where the rule of the dependent's kind is known: a copy that its kind
// keeps does not end with its last holder, but is left to an operator.
func (p HoldPlan) KeptBy(rule KindRule, b *Binding, cluster string) HoldPlan {
	p.Keep = rule == KindKeep && !p.Done && p.Reason == ReasonNone && len(p.Holders) == 0 && !b.ServesOn(cluster)
	return p
}

// HeldFor tells whether a dependent's Work on the cluster stays whatever becomes of
// its parent there: nothing of it is there, or a task keeps it in the holder's name.
func HeldFor(b *Binding, cluster, holder string) bool {
	task, _ := b.TaskFor(cluster)
	if task == nil {
		return !b.ServesOn(cluster)
	}
	if !task.Ours() || task.keepsNothing(b) {
		return false
	}
	return !task.active() || slices.Contains(task.Holders(), holder)
}

// keepsNothing tells a task that is no hold: Karmada keeps a Work for the sake of a task
// only where its mode is another than Directly. Where nothing but a ban stands there is
// no Work to keep either.
func (t Task) keepsNothing(b *Binding) bool {
	return t.PurgeMode == PurgeDirectly && (t.active() || b.ServesOn(t.FromCluster))
}
