package world

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
)

// State evaluates state rules as the adapter does.
func (w *World) State(status json.RawMessage, rules []karmada.StateRule) (map[string]string, error) {
	return k8sadapter.PreservedState(status, rules)
}

// Collect sets what a copy last reported of itself; nil was never collected.
func (w *World) Collect(key karmada.BindingKey, cluster, status string) {
	w.Change(key, func(b *karmada.Binding) {
		if item := b.Item(cluster); item != nil {
			item.Status = json.RawMessage(status)
		}
	})
}

// carry puts preserved state into Lifeboat's task, which Karmada reads off the last one only.
func carry(b *karmada.Binding, cluster string, state map[string]string) {
	_, at := b.TaskFor(cluster)
	if len(state) == 0 || at < 0 {
		return
	}
	task := b.Tasks[at]
	task.State = maps.Clone(state)
	b.Tasks = append(slices.Delete(slices.Clone(b.Tasks), at, at+1), task)
}

// inject plays Karmada's state injection: the copy on a single new target wears the
// labels of the last task while that stands and says Directly.
func (w *World) inject(b *karmada.Binding) {
	for cluster := range w.clusters {
		namespace, name := workName(b.Key, cluster)
		work := namespace + "/" + name
		if _, stands := w.works[work]; !stands {
			delete(w.worn, work)
			continue
		}
		if _, at := b.Target(cluster); at < 0 || w.directlyBlocks(b) {
			continue // not rendered anew
		}
		w.worn[work] = preserved(b, cluster)
		if len(w.worn[work]) > 0 {
			w.everWorn[work] = w.worn[work]
		}
	}
}

func preserved(b *karmada.Binding, target string) map[string]string {
	if len(b.Tasks) == 0 || len(b.Clusters) != 1 {
		return nil
	}
	last := b.Tasks[len(b.Tasks)-1]
	if !last.Carries() || slices.Contains(last.ClustersBeforeFailover, target) {
		return nil
	}
	return last.State
}

// Wears are the labels that a copy wears by preserved state now, and those that it
// ever wore.
func (w *World) Wears(key karmada.BindingKey, cluster string) (now, ever map[string]string) {
	defer w.lock()()
	w.advance()
	namespace, name := workName(key, cluster)
	return maps.Clone(w.worn[namespace+"/"+name]), maps.Clone(w.everWorn[namespace+"/"+name])
}
