package k8sadapter

import (
	"fmt"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// evictPatch takes the cluster out of spec.clusters and makes Lifeboat's task stand. Lifeboat's
// task may stand already (a repeat, or the scheduler put the cluster back): it is
// kept, and says what was taken out now.
func evictPatch(w activities.EvictWrite) ([]byte, error) {
	edit, err := newBindingEdit(w.Binding, w.Cluster)
	if err != nil {
		return nil, err
	}
	if w.Binding.Malformed != "" {
		return nil, fmt.Errorf("%w: malformed: %s", karmada.ErrInvalid, w.Binding.Malformed)
	}
	if err := edit.refuseForeign(); err != nil {
		return nil, err
	}
	if w.Back != nil {
		if err := edit.takeBack(*w.Back); err != nil {
			return nil, err
		}
	}
	held := hold{owner: w.Owner, reason: w.Reason, now: w.Now, purge: w.Purge, state: w.State}
	removed := edit.removeTarget()
	if removed == nil && len(edit.ours()) == 0 {
		return nil, fmt.Errorf("%w: %s is no target of it", karmada.ErrInvalid, w.Cluster)
	}
	if removed != nil {
		held.replicas = &removed.Replicas
	}
	if err := edit.putTask(held); err != nil {
		return nil, err
	}
	edit.reschedule(w.Reschedule, w.Now)
	return edit.patch()
}

// restorePatch puts the cluster and the others back and drops Lifeboat's task.
func restorePatch(w activities.RestoreWrite) ([]byte, error) {
	edit, err := newBindingEdit(w.Binding, w.Cluster)
	if err != nil {
		return nil, err
	}
	if err := edit.undo(w.Away, w.Shrunk); err != nil {
		return nil, err
	}
	back := append([]karmada.TargetCluster{{Name: w.Cluster, Replicas: w.Replicas}}, w.Others...)
	for i, target := range back {
		if task, _ := w.Binding.TaskFor(target.Name); i > 0 && task != nil {
			return nil, fmt.Errorf("%w: %s has a task of its own and must not come back", karmada.ErrInvalid, target.Name)
		}
		if err := edit.addTarget(target); err != nil {
			return nil, err
		}
	}
	if err := edit.letGo(); err != nil {
		return nil, err
	}
	edit.reschedule(w.Reschedule, w.Now)
	return edit.patch()
}

// holdPatch makes Lifeboat's task stand without touching spec.clusters, also beside a task of Karmada's
// own taint manager.
func holdPatch(w activities.HoldWrite) ([]byte, error) {
	edit, err := newBindingEdit(w.Binding, w.Cluster)
	if err != nil {
		return nil, err
	}
	if err := edit.refuseForeign(karmada.TaintManager); err != nil {
		return nil, err
	}
	held := hold{owner: w.Owner, reason: w.Reason, now: w.Now, replicas: &w.Replicas, purge: w.Purge, before: w.Before, state: w.State}
	if err := edit.putTask(held); err != nil {
		return nil, err
	}
	return edit.patch()
}

// releasePatch drops Lifeboat's task. Where none stands it changes nothing, and the
// server only confirms that the binding is as it was read.
func releasePatch(w activities.ReleaseWrite) ([]byte, error) {
	edit, err := newBindingEdit(w.Binding, w.Cluster)
	if err != nil {
		return nil, err
	}
	if err := edit.letGo(); err != nil {
		return nil, err
	}
	return edit.patch()
}

// markPatch changes reason and owner of Lifeboat's task.
func markPatch(w activities.MarkWrite) ([]byte, error) {
	edit, err := newBindingEdit(w.Binding, w.Cluster)
	if err != nil {
		return nil, err
	}
	ours := edit.ours()
	if len(ours) == 0 {
		return nil, fmt.Errorf("%w: no Lifeboat task for %s stands", karmada.ErrInvalid, w.Cluster)
	}
	fields := map[string]any{"reason": orDefault(w.Reason, karmada.TaskReason)}
	if w.Purge != "" {
		fields["purgeMode"] = w.Purge
	}
	if w.Owner != "" {
		if fields["message"], err = edit.owner(w.Owner); err != nil {
			return nil, err
		}
	}
	if err := edit.changeTask(ours, fields); err != nil {
		return nil, err
	}
	return edit.patch()
}
