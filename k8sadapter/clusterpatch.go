package k8sadapter

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
)

// clusterPatch is everything that Lifeboat ever writes to a Cluster.
type clusterPatch struct {
	Metadata patchMetadata     `json:"metadata"`
	Spec     *clusterSpecPatch `json:"spec,omitempty"`
}

type clusterSpecPatch struct {
	Taints []json.RawMessage `json:"taints"`
}

// taintItem is the part of a listed taint that tells it from others.
type taintItem struct {
	Key    string             `json:"key"`
	Effect corev1.TaintEffect `json:"effect"`
}

// rawList is a list of JSON items of which only Lifeboat's are ever looked into.
type rawList struct {
	items   []json.RawMessage
	effect  corev1.TaintEffect // of items that do not say: the soft list's
	err     error              // why the list cannot be read, and so must not be written
	changed bool
}

func (l *rawList) append(item any) error {
	raw, err := encode(item)
	if err != nil {
		return err
	}
	l.items = append(l.items, raw)
	l.changed = true
	return nil
}

// drop removes the items that a taint names.
func (l *rawList) drop(taint taintItem) {
	before := len(l.items)
	l.items = slices.DeleteFunc(l.items, func(raw json.RawMessage) bool { return l.read(raw) == taint })
	l.changed = l.changed || len(l.items) != before
}

// find is the index of the item that a taint names, or -1.
func (l *rawList) find(taint taintItem) int {
	return slices.IndexFunc(l.items, func(raw json.RawMessage) bool { return l.read(raw) == taint })
}

// read is empty for an item that is no taint: nothing names it, so it stays.
func (l *rawList) read(raw json.RawMessage) taintItem {
	item := taintItem{Effect: l.effect}
	if err := json.Unmarshal(raw, &item); err != nil {
		return taintItem{}
	}
	return item
}

// clusterEdit collects the changes of one write to a Cluster.
type clusterEdit struct {
	cluster     karmada.Cluster
	hard, soft  rawList
	added       rawList // AnnotationAddedTaints
	ordered     rawList // AnnotationOrderedTaints
	annotations map[string]*string
}

func newClusterEdit(c karmada.Cluster) (*clusterEdit, error) {
	if c.Name == "" || c.ResourceVersion == "" {
		return nil, fmt.Errorf("%w: no cluster, or no resourceVersion, given", karmada.ErrInvalid)
	}
	hard := slices.ContainsFunc(c.Taints, func(t corev1.Taint) bool { return t.Effect != karmada.EffectPreferNoExecute })
	if hard && len(c.RawTaints) == 0 {
		return nil, fmt.Errorf("%w: the cluster's own JSON taints are missing", karmada.ErrInvalid)
	}
	edit := &clusterEdit{
		cluster: c, hard: rawList{items: slices.Clone(c.RawTaints)}, annotations: map[string]*string{},
	}
	var err error
	if edit.added.items, err = annotationItems(c, karmada.AnnotationAddedTaints); err != nil {
		return nil, err
	}
	if edit.ordered.items, err = annotationItems(c, karmada.AnnotationOrderedTaints); err != nil {
		return nil, err
	}
	edit.soft.effect = karmada.EffectPreferNoExecute
	edit.soft.items, edit.soft.err = annotationItems(c, karmada.AnnotationSoftTaints)
	return edit, nil
}

// annotationItems reads an annotation that holds a JSON list. What cannot be read
// must not be overwritten.
func annotationItems(c karmada.Cluster, name string) ([]json.RawMessage, error) {
	value, found := c.Annotations[name]
	if !found {
		return nil, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(value), &items); err != nil {
		return nil, fmt.Errorf("%w: annotation %s: %w", karmada.ErrInvalid, name, err)
	}
	return items, nil
}

// standing is the list that a taint of this effect stands in.
func (e *clusterEdit) standing(effect corev1.TaintEffect) *rawList {
	if effect == karmada.EffectPreferNoExecute {
		return &e.soft
	}
	return &e.hard
}

// add puts a taint and records it as Lifeboat's. One that others put stays theirs; one
// of Lifeboat's from an earlier failover is recorded for this one.
func (e *clusterEdit) add(taint karmada.RuleTaint, record karmada.AddedTaint, now time.Time) error {
	item := taintItem{Key: taint.Key, Effect: taint.Effect}
	if karmadasOwn(taint.Key, taint.Effect) {
		return fmt.Errorf("%w: taint %s:%s belongs to Karmada", karmada.ErrInvalid, taint.Key, taint.Effect)
	}
	list := e.standing(taint.Effect)
	if list.err != nil {
		return list.err
	}
	stands, recorded := list.find(item) >= 0, e.added.find(item)
	if stands && recorded < 0 {
		return nil
	}
	if !stands {
		if err := list.append(newTaint(taint, now)); err != nil {
			return err
		}
	}
	if recorded >= 0 && e.recordedFor(recorded, record) {
		return nil
	}
	e.added.drop(item)
	return e.added.append(record)
}

// recordedFor tells whether the record at an index already says the same failover.
func (e *clusterEdit) recordedFor(index int, record karmada.AddedTaint) bool {
	var standing karmada.AddedTaint
	return json.Unmarshal(e.added.items[index], &standing) == nil && standing.FailoverID == record.FailoverID
}

// newTaint leaves timeAdded of a hard taint to the server, whose clock counts.
func newTaint(taint karmada.RuleTaint, now time.Time) any {
	if taint.Effect == karmada.EffectPreferNoExecute {
		return softTaintWire{Key: taint.Key, Value: taint.Value, TimeAdded: timestamp(now)}
	}
	return struct {
		Key    string             `json:"key"`
		Value  string             `json:"value,omitempty"`
		Effect corev1.TaintEffect `json:"effect"`
	}{taint.Key, taint.Value, taint.Effect}
}

// remove takes a taint away if the annotation says that it is Lifeboat's.
func (e *clusterEdit) remove(taint karmada.AddedTaint) error {
	item := taintItem{Key: taint.Key, Effect: taint.Effect}
	if e.added.find(item) < 0 || karmadasOwn(taint.Key, taint.Effect) {
		return nil
	}
	list := e.standing(taint.Effect)
	if list.err != nil {
		return list.err
	}
	list.drop(item)
	e.added.drop(item)
	return nil
}

// annotate sets the annotation that holds a list, and removes it with its last item.
func (e *clusterEdit) annotate(name string, list rawList) error {
	if !list.changed {
		return nil
	}
	e.annotations[name] = nil
	if len(list.items) == 0 {
		return nil
	}
	return e.annotateJSON(name, list.items)
}

func (e *clusterEdit) annotateJSON(name string, value any) error {
	raw, err := encode(value)
	if err != nil {
		return err
	}
	text := string(raw)
	e.annotations[name] = &text
	return nil
}

// taintPatch is the one write of a TaintWrite.
func taintPatch(w activities.TaintWrite, now time.Time) ([]byte, error) {
	edit, err := newClusterEdit(w.Cluster)
	if err != nil {
		return nil, err
	}
	if len(w.AddRules) != len(w.Add) {
		return nil, fmt.Errorf("%w: %d taints of %d rules", karmada.ErrInvalid, len(w.Add), len(w.AddRules))
	}
	for _, taint := range w.Remove {
		if err := edit.remove(taint); err != nil {
			return nil, err
		}
	}
	for i, taint := range w.Add {
		record := karmada.AddedTaint{Key: taint.Key, Effect: taint.Effect, Rule: w.AddRules[i], FailoverID: w.FailoverID}
		if err := edit.add(taint, record, now); err != nil {
			return nil, err
		}
	}
	if err := edit.records(w); err != nil {
		return nil, err
	}
	return edit.patch()
}

// records sets and removes the annotations that say who ordered what.
func (e *clusterEdit) records(w activities.TaintWrite) error {
	switch {
	case w.StoppedBy != nil:
		if err := e.annotateJSON(karmada.AnnotationStoppedBy, w.StoppedBy); err != nil {
			return err
		}
	case w.ClearStopped:
		e.annotations[karmada.AnnotationStoppedBy] = nil
	}
	for _, o := range w.EndOrders {
		e.ordered.drop(taintItem{Key: o.Key, Effect: o.Effect})
	}
	if w.Order != nil {
		if err := e.ordered.append(w.Order); err != nil {
			return err
		}
	}
	switch {
	case w.Drain != nil:
		return e.annotateJSON(karmada.AnnotationDrain, w.Drain)
	case w.ClearDrain:
		e.annotations[karmada.AnnotationDrain] = nil
	}
	return nil
}

func (e *clusterEdit) patch() ([]byte, error) {
	if err := e.annotate(karmada.AnnotationAddedTaints, e.added); err != nil {
		return nil, err
	}
	if err := e.annotate(karmada.AnnotationOrderedTaints, e.ordered); err != nil {
		return nil, err
	}
	if err := e.annotate(karmada.AnnotationSoftTaints, e.soft); err != nil {
		return nil, err
	}
	patch := clusterPatch{Metadata: patchMetadata{
		ResourceVersion: e.cluster.ResourceVersion, Annotations: e.annotations,
	}}
	if e.hard.changed {
		patch.Spec = &clusterSpecPatch{Taints: e.hard.items}
	}
	return encode(patch)
}
