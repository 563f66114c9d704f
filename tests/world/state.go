package world

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/record"
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
		work := workKey(b.Key, cluster)
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
	work := workKey(key, cluster)
	return maps.Clone(w.worn[work]), maps.Clone(w.everWorn[work])
}

// Terms are those of the default configuration, without an audit trail, links and a length at
// which a history is cut: a test that wants those says so.
func Terms() activities.Terms {
	t := process.Settings(config.Default()).Terms
	t.Audit, t.Runbook, t.HistoryEvents, t.Plugins = false, "", 0, proof.Plugins{}
	return t
}

// Pace is that of the default configuration.
func Pace() pace.Config { return config.Default().Pace }

// Trail keeps records where a test finds them.
type Trail struct {
	mu      sync.Mutex
	records []record.Audit
	down    error
}

// Append keeps records, unless it was taken down.
func (m *Trail) Append(_ context.Context, records []record.Audit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down == nil {
		m.records = append(m.records, records...)
	}
	return m.down
}

// Fail has every Append fail with err from now on; nil has them succeed again.
func (m *Trail) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = err
}

// Records are those kept so far, in the order in which they came.
func (m *Trail) Records() []record.Audit {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.records)
}

// recordOrders sets and removes the records of drains and of ordered taints.
func (w *World) recordOrders(c *karmada.Cluster, r activities.TaintWrite) {
	c.Ordered = slices.DeleteFunc(c.Ordered, func(o karmada.OrderedTaint) bool {
		return karmada.OrderedOn(r.EndOrders, o.Name()) != nil
	})
	if r.Order != nil {
		c.Ordered = append(c.Ordered, *r.Order)
	}
	switch {
	case r.Drain != nil:
		d := *r.Drain
		c.Drain = &d
	case r.ClearDrain:
		c.Drain = nil
	}
}
