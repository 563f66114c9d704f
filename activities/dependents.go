package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// Names of the activities about dependents. They live in histories: never rename one.
const (
	NameHoldDependents = "HoldDependents"
	NameDropDependents = "DropDependents"
	NameDropHolder     = "DropHolder"
)

// HoldersWrite sets who holds a dependent's task for a cluster, in one patch. Without
// a task it appends one, and it makes a ban a hold; no holder drops it. Targets are never touched.
type HoldersWrite struct {
	Binding *karmada.Binding // as read
	Cluster string
	Holders []string
	Now     time.Time // creationTimestamp of a new task
}

// DependentsRequest is about the dependents of one parent's migration.
type DependentsRequest struct {
	MigrationRef
	// Held are those that the migration entered itself on.
	Held []karmada.BindingKey `json:"held,omitempty"`
	// Search looks through all bindings for tasks that name the migration: one that
	// was adopted does not know which it holds.
	Search bool `json:"search,omitempty"`
	// Lost forces the search: the answer that would have named those that it holds is lost.
	Lost bool `json:"lost,omitempty"`
}

// DependentsResult is what became of them.
type DependentsResult struct {
	// Held are those whose task names the migration.
	Held    []karmada.BindingKey `json:"held,omitempty"`
	Reason  reason.Reason        `json:"reason,omitempty"` // not none: refused, or not yet
	Message string               `json:"message,omitempty"`
}

func (out *DependentsResult) refuse(reason reason.Reason, message string) {
	out.Reason, out.Message = reason, message
}

// dependents keeps what a moved binding depends on, for as long as its old copy runs.
type dependents struct {
	guard
	writer
	owners Owners
}

// HoldDependents enters a parent's migration as a holder on every dependent that is
// on the cluster, each by a write of its own. It stops at the first that cannot be
// held; what it had entered by then is in Held.
func (d dependents) HoldDependents(ctx context.Context, r DependentsRequest) (DependentsResult, error) {
	out := DependentsResult{Held: slices.Clone(r.Held)}
	c, gone, err := d.cluster(ctx, r.Cluster, "")
	if gone || err != nil {
		return out, classify("read cluster", r.Cluster, err) // of one that is gone the eviction will say so
	}
	if cause, why := d.beginsNothing(r.Mode, c); cause != reason.None {
		out.refuse(cause, why)
		return out, nil
	}
	parent, gone, err := d.binding(ctx, r.Key, r.UID)
	if gone || err != nil {
		return out, classify("read parent", r.Key.String(), err) // of one that is gone the eviction will say so
	}
	keys, unknown, err := d.dependentsOf(ctx, &parent)
	if err != nil {
		return out, classify("find dependents of", r.Key.String(), err)
	}
	out.refuse(unknown.Reason, unknown.Message)
	for _, key := range keys {
		if out.Reason != reason.None {
			return out, nil
		}
		d.holdDependent(ctx, key, r.MigrationRef, &out)
	}
	return out, nil
}

// holdDependent enters the migration on one dependent.
func (d dependents) holdDependent(ctx context.Context, key karmada.BindingKey, r MigrationRef, out *DependentsResult) {
	plan, err := d.rewriteHolders(ctx, key, r.Cluster, func(b *karmada.Binding) (proof.HoldPlan, error) {
		return proof.PlanHold(b, r.Cluster, r.Owner), nil
	})
	why, definite := failureOf(err)
	switch {
	case err != nil:
		if !definite { // the write may stand: the holder is taken out again with the others
			out.Held = appendKey(out.Held, key)
		}
		out.refuse(why.reason, err.Error())
	case plan.Reason != reason.None:
		out.refuse(plan.Reason, plan.Message)
	default:
		out.Held = appendKey(out.Held, key)
	}
}

func appendKey(keys []karmada.BindingKey, key karmada.BindingKey) []karmada.BindingKey {
	if slices.Contains(keys, key) {
		return keys
	}
	return append(keys, key)
}

// rewriteHolders reads a dependent, lets plan decide and writes what it says.
func (d dependents) rewriteHolders(
	ctx context.Context, key karmada.BindingKey, cluster string, plan func(*karmada.Binding) (proof.HoldPlan, error),
) (proof.HoldPlan, error) {
	var p proof.HoldPlan
	err := d.retryConflict(ctx, string(key.Kind()), func() error {
		b, gone, err := d.binding(ctx, key, "")
		if err != nil || gone || b.Deleting {
			p = proof.HoldPlan{Done: true}
			return err
		}
		if p, err = plan(&b); err != nil || p.Done || p.Reason != reason.None {
			return err
		}
		if p.Keep {
			_, err = d.Writer.Mark(ctx, MarkWrite{Binding: &b, Cluster: cluster, Reason: karmada.TaskReasonKept})
			return err
		}
		_, err = d.Writer.Holders(ctx, HoldersWrite{Binding: &b, Cluster: cluster, Holders: p.Holders, Now: d.clock.Now()})
		if errors.Is(err, karmada.ErrGone) {
			return nil
		}
		return err
	})
	return p, err
}

// dependentsOf finds the bindings of a parent's dependents, in the cache where it selects them by label. The verdict
// says why they are not known.
func (d dependents) dependentsOf(ctx context.Context, parent *karmada.Binding) ([]karmada.BindingKey, reason.Verdict, error) {
	listed := karmada.DependenciesOf(parent)
	switch {
	case !parent.PropagateDeps:
		return nil, reason.Verdict{}, nil
	case listed.Malformed != "":
		return nil, proof.Refuse(reason.Malformed, "%s", listed.Malformed), nil
	case !listed.Selected:
		return listed.Keys, reason.Verdict{}, nil
	}
	err := d.each(ctx, false, func(b *karmada.Binding) {
		if b.RequiredIn(parent.Key) {
			listed.Keys = appendKey(listed.Keys, b.Key)
		}
	})
	return listed.Keys, reason.Verdict{}, err
}

// dependentsHeld looks whether the Work of every dependent stays when its parent
// leaves: the write of an eviction checks this on fresh state.
func (d dependents) dependentsHeld(ctx context.Context, parent *karmada.Binding, r EvictRequest) (reason.Reason, string, error) {
	keys, unknown, err := d.dependentsOf(ctx, parent)
	if err != nil || unknown.Reason != reason.None {
		return unknown.Reason, unknown.Message, err
	}
	for _, key := range keys {
		b, gone, err := d.binding(ctx, key, "")
		if err != nil {
			return reason.None, "", err
		}
		if !gone && !b.Deleting && !proof.HeldFor(&b, r.Cluster, r.Owner) {
			return reason.DependentsNotHeld, fmt.Sprintf("its dependent %s would leave %s before the old copy does", key, r.Cluster), nil
		}
	}
	return reason.None, "", nil
}

// heldParent finds, for a dependent that moves by a placement of its own, a parent whose old copy is held on the cluster: its
// pods run there. One that is left to an operator comes first, nil is none.
func (k reader) heldParent(ctx context.Context, b *karmada.Binding, cluster string) (parent *karmada.Binding, err error) {
	look := func(other *karmada.Binding) {
		task := other.HeldCopy(cluster)
		if task != nil && other.RunsPods() && b.RequiredIn(other.Key) && (parent == nil || task.LeftForGood()) {
			found := *other
			parent = &found
		}
	}
	if k.cached() && len(b.RequiredBy) > 0 {
		k.cache.In(b.Key.Namespace, look)
		return parent, nil
	}
	err = k.parents(ctx, b.RequiredBy, func(other *karmada.Binding) bool { look(other); return true })
	return parent, err
}

// parents reads the parents of a dependent, until do says no.
func (k reader) parents(ctx context.Context, named []karmada.RequiredBy, do func(*karmada.Binding) bool) error {
	for _, r := range named {
		parent, gone, err := k.binding(ctx, karmada.BindingKey{Namespace: r.Namespace, Name: r.Name}, "")
		if err != nil {
			return classify("read parent", r.Namespace+"/"+r.Name, err)
		}
		if !gone && !do(&parent) {
			return nil
		}
	}
	return nil
}

func waitsFor(parent *karmada.Binding, cluster string) string {
	return fmt.Sprintf("waits for its parent %s, whose old copy on %s is held", parent.Key, cluster)
}

// DropDependents takes a parent's migration out of every dependent that it holds, for
// whatever reason that migration ends. Where a task of the parent stays for an operator,
// so do those of its dependents: the old pods still run.
func (d dependents) DropDependents(ctx context.Context, r DependentsRequest) (DependentsResult, error) {
	var out DependentsResult
	if r.Mode != rules.ModeEnforce {
		return out, nil // it never held anything
	}
	parent, gone, err := d.binding(ctx, r.Key, r.UID)
	if err != nil {
		return out, classify("read parent", r.Key.String(), err)
	}
	keys := r.Held
	// One that has no dependents, and had none before propagateDeps was switched off, needs no search.
	had := gone || parent.PropagateDeps || karmada.DependenciesOf(&parent).Known
	if r.Lost || r.Search && had {
		named, err := d.search(ctx, func(b *karmada.Binding) bool { return heldBy(b, r.MigrationRef) })
		if err != nil {
			return out, classify("search dependents of", r.Key.String(), err)
		}
		known := func(key karmada.BindingKey) bool { return slices.Contains(r.Held, key) }
		keys = append(keys, slices.DeleteFunc(named, known)...)
	}
	for _, key := range keys {
		plan, err := d.leave(ctx, key, r.MigrationRef, &parent, gone)
		if err != nil {
			return out, classify("drop dependent", key.String(), err)
		}
		if plan.Reason != reason.None {
			out.Held = append(out.Held, key)
			out.refuse(plan.Reason, plan.Message)
		}
	}
	return out, nil
}

func heldBy(b *karmada.Binding, r MigrationRef) bool {
	task, _ := b.TaskFor(r.Cluster)
	return b.Key != r.Key && task != nil && task.IsLifeboat() && slices.Contains(task.Others(), r.Owner)
}

// leave takes the migration out of one dependent, or leaves its task to an operator.
func (d dependents) leave(ctx context.Context, key karmada.BindingKey, r MigrationRef, parent *karmada.Binding, gone bool) (proof.HoldPlan, error) {
	if task, _ := parent.TaskFor(r.Cluster); !gone && task != nil && task.LeftForGood() {
		return proof.HoldPlan{Done: true}, d.markDependent(ctx, key, r, task.Reason)
	}
	return d.rewriteHolders(ctx, key, r.Cluster, func(b *karmada.Binding) (proof.HoldPlan, error) {
		return d.planLeave(ctx, b, r.Cluster, r.Owner, !gone && karmada.NeedsOn(parent, b, r.Cluster))
	})
}

// markDependent gives a dependent's task the reason of its parent's. Where a migration of
// the dependent itself holds it too, the holder stays in it; it is marked once that is over.
func (d dependents) markDependent(ctx context.Context, key karmada.BindingKey, r MigrationRef, reason string) error {
	return d.retryConflict(ctx, string(key.Kind()), func() error {
		b, gone, err := d.binding(ctx, key, "")
		if gone || err != nil {
			return err
		}
		if task, _ := b.TaskFor(r.Cluster); task == nil || !task.ForDependent() || !heldBy(&b, r) {
			return nil
		}
		_, err = d.Writer.Mark(ctx, MarkWrite{Binding: &b, Cluster: r.Cluster, Reason: reason})
		return err
	})
}
