package world

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AddCluster adds a Ready cluster.
func (w *World) AddCluster(name string) {
	defer w.lock()()
	w.clusters[name] = &karmada.Cluster{
		Name: name, UID: w.uid(name), ResourceVersion: w.bump(), Labels: map[string]string{}, Annotations: map[string]string{},
		Conditions:     []karmada.Condition{{Type: karmada.ConditionReady, Status: corev1.ConditionTrue, Reason: "ClusterReady", LastTransition: w.now()}},
		APIEnablements: slices.Clone(served),
	}
	w.watchCluster(name)
	for _, b := range w.bindings { // of that name there was one a moment ago, and the scheduler has not looked since
		if b.ServesOn(name) && !w.blocks(b) {
			w.ensureWork(b, name)
		}
	}
	w.requeue()
}

// SetReady turns a cluster's Ready condition.
func (w *World) SetReady(name string, ready bool) {
	defer w.lock()()
	c := w.clusters[name]
	was := c.Conditions[0].Status
	c.Conditions[0].Status, c.Conditions[0].Reason = corev1.ConditionTrue, "ClusterReady"
	if !ready {
		c.Conditions[0].Status, c.Conditions[0].Reason = corev1.ConditionFalse, "ClusterNotReachable"
	}
	if c.Conditions[0].Status != was {
		c.Conditions[0].LastTransition = w.now()
	}
	w.notReadyTaint(c, !ready)
	w.clusterChanged(c)
	if ready {
		if !w.BacksOff {
			w.purge(name)
		}
		w.healCopies(name)
	}
}

// DeleteCluster deletes a cluster object.
func (w *World) DeleteCluster(name string) {
	defer w.lock()()
	c := w.clusters[name]
	delete(w.clusters, name)
	w.dropExecutionNamespace(name)
	w.watchCluster(name)
	w.requeue()
	if w.OnCluster != nil {
		w.OnCluster(rules.ClusterFact{Cluster: name, UID: c.UID, ResourceVersion: w.bump(), Deleted: true})
	}
}

// ChangeCluster edits a cluster as another hand would.
func (w *World) ChangeCluster(name string, edit func(*karmada.Cluster)) {
	defer w.lock()()
	edit(w.clusters[name])
	w.clusterChanged(w.clusters[name])
}

// RecordStop puts the record of a stop on a cluster.
func (w *World) RecordStop(name string, by karmada.StoppedBy) {
	defer w.lock()()
	w.clusters[name].Stopped = &by
	w.clusterChanged(w.clusters[name])
}

// PutTaint puts a taint as an operator would.
func (w *World) PutTaint(name string, t corev1.Taint) {
	defer w.lock()()
	at := metav1.NewTime(w.now())
	t.TimeAdded = &at
	w.clusters[name].Taints = append(w.clusters[name].Taints, t)
	w.clusterChanged(w.clusters[name])
}

// DropTaint removes a taint as an operator would.
func (w *World) DropTaint(name, key string) {
	defer w.lock()()
	c := w.clusters[name]
	c.Taints = slices.DeleteFunc(c.Taints, func(t corev1.Taint) bool { return t.Key == key })
	w.clusterChanged(c)
}

func (w *World) clusterChanged(c *karmada.Cluster) {
	c.ResourceVersion = w.bump()
	w.watchCluster(c.Name)
	if w.OnCluster != nil {
		w.OnCluster(rules.FactOf(*c))
	}
}

// AddRule adds a ClusterTaintRule.
func (w *World) AddRule(r rules.Rule) {
	defer w.lock()()
	w.rules = append(w.rules, r)
}

// SetPolicyAnnotation annotates the policy that a binding comes from.
func (w *World) SetPolicyAnnotation(key karmada.BindingKey, name, value string) {
	defer w.lock()()
	w.policies[key.String()+" "+name] = value
}

// ChangeRule edits a rule as its author would.
func (w *World) ChangeRule(name string, edit func(*rules.Rule)) {
	defer w.lock()()
	for i := range w.rules {
		if w.rules[i].Name == name {
			edit(&w.rules[i])
		}
	}
}

// ClearRules deletes every ClusterTaintRule.
func (w *World) ClearRules() {
	defer w.lock()()
	w.rules = nil
}

// AddBinding adds a scheduled, healthy binding.
func (w *World) AddBinding(b karmada.Binding) {
	defer w.lock()()
	b.UID, b.Generation, b.Workload = w.uid(b.Key.String()), 1, b.Replicas > 0
	b.Status.Scheduled = &karmada.Condition{Type: "Scheduled", Status: corev1.ConditionTrue, Reason: "Success", LastTransition: w.now()}
	b.Status.ObservedGeneration = 1
	if now := w.now(); b.Status.LastScheduled == nil {
		b.Status.LastScheduled = &now
	}
	w.bindings[b.Key] = &b
	for _, t := range b.Clusters {
		w.report(&b, t, true)
		w.ensureWork(&b, t.Name)
	}
	w.changed(&b)
}

// Change edits a binding as another hand would. The scheduler does not look; Works come and go.
func (w *World) Change(key karmada.BindingKey, edit func(*karmada.Binding)) {
	defer w.lock()()
	b := w.bindings[key]
	edit(b)
	w.changed(b)
	w.sweepWorks(b)
	for _, t := range b.Clusters {
		if !w.blocks(b) {
			w.ensureWork(b, t.Name)
		}
	}
}

// Rewind has a binding stand as it did, its version included: a backup was restored.
func (w *World) Rewind(was karmada.Binding) {
	defer w.lock()()
	before := clone(&was)
	w.bindings[was.Key] = &before
}

// Peek is a binding as it stands.
func (w *World) Peek(key karmada.BindingKey) karmada.Binding {
	defer w.lock()()
	w.advance()
	return clone(w.bindings[key])
}

// PeekCluster is a cluster as it stands.
func (w *World) PeekCluster(name string) karmada.Cluster {
	defer w.lock()()
	return cloneCluster(w.clusters[name])
}

func (w *World) changed(b *karmada.Binding) {
	b.ResourceVersion = w.bump()
	w.watchBinding(b.Key)
	if w.OnBinding != nil {
		w.OnBinding(proof.BindingFact{Key: b.Key, UID: b.UID, ResourceVersion: b.ResourceVersion}, clone(b))
	}
	if w.DistributeAfter == 0 {
		w.distribute(b)
		return
	}
	w.later(w.DistributeAfter, func() { w.distribute(b) })
}
