package karmada

import (
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// Karmada's purge modes.
const (
	PurgeGracefully PurgeMode = "Gracefully"
	PurgeDirectly   PurgeMode = "Directly"
	PurgeNever      PurgeMode = "Never"
)

// Known reports whether it is one of Karmada's modes.
func (m PurgeMode) Known() bool {
	return m == PurgeGracefully || m == PurgeDirectly || m == PurgeNever
}

// Bounded is the mode, cut where it is longer than any mode of Karmada.
func (m PurgeMode) Bounded() PurgeMode { return PurgeMode(reason.Shortened(string(m), maxMode)) }

// maxMode bounds an unknown mode, in bytes: it comes from an annotation, which may
// have 256 kB, and it is frozen and shown.
const maxMode = 64

// EffectivePurge is how the old copy of a binding goes under a purge mode. Where Karmada
// preserves copies, a graceful release would leave one that runs on and that no Work shows:
// the old copy is kept, as with Never.
func (b *Binding) EffectivePurge(mode PurgeMode) PurgeMode {
	if b.PreservesCopies && (mode == "" || mode == PurgeGracefully) {
		return PurgeNever
	}
	return mode
}

// IsLifeboat reports whether it is a Lifeboat hold task.
func (t Task) IsLifeboat() bool { return t.Producer == Producer }

// Active reports whether a running Lifeboat migration may own the task; what was kept or
// left to an operator is off limits.
func (t Task) Active() bool {
	return t.IsLifeboat() && t.Reason != TaskReasonKept && t.Reason != TaskReasonNeedsOperator && t.Reason != TaskReasonBanned
}

// Alone reports whether the binding's own migration holds the task and no other does beside
// it: its end takes nothing from a parent.
func (t Task) Alone() bool { return t.Active() && !t.ForDependent() && len(t.Others()) == 0 }

// Holders are the workflows for whose sake a hold task stands, the binding's own
// migration first where it is one of them. They are counted in the task's message.
func (t Task) Holders() []string { return strings.Fields(t.Message) }

// ForDependent reports whether the task stands for the sake of parents alone: the binding
// itself is on no migration of its own.
func (t Task) ForDependent() bool { return t.IsLifeboat() && t.Reason == TaskReasonDependent }

// Owned reports whether a migration of the binding itself works on the task, or left it to an operator.
func (t Task) Owned() bool { return t.IsLifeboat() && t.Reason != TaskReasonDependent && !t.Bans() }

// LeftForGood reports whether a migration kept the task, or left it to an operator.
func (t Task) LeftForGood() bool {
	return t.IsLifeboat() && (t.Reason == TaskReasonKept || t.Reason == TaskReasonNeedsOperator)
}

// OnItsWay reports whether a migration of the binding itself works on the task.
func (t Task) OnItsWay() bool { return t.Owned() && !t.LeftForGood() }

// Unfinished reports whether a Lifeboat workflow has yet to end the task.
func (t Task) Unfinished() bool {
	return t.IsLifeboat() && t.Reason == TaskReason || t.ForDependent() || t.Bans()
}

// Bans reports whether the task keeps the scheduler off a drained cluster until the drain ends.
func (t Task) Bans() bool { return t.IsLifeboat() && t.Reason == TaskReasonBanned }

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

// Carried is the state that Karmada hands on by this task, nil where it hands none on.
func (t Task) Carried() map[string]string {
	if !t.Carries() {
		return nil
	}
	return t.State
}

// Carries reports whether Karmada hands state on by this task: the new copy wears the
// labels only while it stands.
func (t Task) Carries() bool { return t.PurgeMode == PurgeDirectly && len(t.State) > 0 }

// HeldCopy is the task that keeps the old copy of a binding on a cluster, for its own migration or for an operator; nil is none.
func (b *Binding) HeldCopy(cluster string) *Task {
	return find(b.Tasks, func(t Task) bool { return t.FromCluster == cluster && t.Owned() && !t.KeepsNothing(b) })
}

// KeepsNothing reports whether the task is no hold: Karmada keeps a Work for the sake of a task
// only where its mode is another than Directly. Where nothing but a ban stands there is
// no Work to keep either.
func (t Task) KeepsNothing(b *Binding) bool {
	return t.PurgeMode == PurgeDirectly && (t.Active() || b.ServesOn(t.FromCluster))
}

// MaxMessage is how many bytes a task's message may have.
const MaxMessage = 1024

// MaxOwner is how long the id of a workflow may be.
const MaxOwner = 240

// HoldersMessage is the message that names them; not ok when it would not fit.
func HoldersMessage(holders []string) (message string, ok bool) {
	message = strings.Join(holders, " ")
	return message, len(message) <= MaxMessage
}

// MigrationKey is the binding of the migration off a cluster with that workflow id. Not
// whole where the id may have been cut, or is of another form.
func MigrationKey(id, cluster string) (key BindingKey, whole bool) {
	_, named, found := strings.Cut(id, "binding-migration/"+cluster+"/")
	key, both := ParseBindingKey(named)
	return key, found && both && len(id) < MaxOwner
}

// TaskFor finds the task for a cluster, of any producer, Lifeboat's where there are
// several; index is -1 when there is none.
func (b *Binding) TaskFor(cluster string) (task *Task, index int) {
	index = -1
	for i := range b.Tasks {
		t := &b.Tasks[i]
		if t.FromCluster == cluster && (index < 0 || t.IsLifeboat() && !task.IsLifeboat()) {
			task, index = t, i
		}
	}
	return task, index
}

// Held reports whether a task of Lifeboat's stands for any cluster.
func (b *Binding) Held() bool { return slices.ContainsFunc(b.Tasks, Task.IsLifeboat) }

// ForeignTask is a task of another producer for a cluster, nil without one.
func (b *Binding) ForeignTask(cluster string) *Task {
	return find(b.Tasks, func(t Task) bool { return t.FromCluster == cluster && !t.IsLifeboat() })
}

// HeldElsewhere reports whether a Lifeboat hold task for another cluster stands that a
// migration may own.
func (b *Binding) HeldElsewhere(cluster string) bool {
	return slices.ContainsFunc(b.Tasks, func(t Task) bool { return t.FromCluster != cluster && t.Active() && !t.ForDependent() })
}

// EvictedByKarmada is the task of Karmada's own taint manager for a cluster, nil without one.
func (b *Binding) EvictedByKarmada(cluster string) *Task {
	return find(b.Tasks, func(t Task) bool { return t.FromCluster == cluster && t.Producer == TaintManager })
}
