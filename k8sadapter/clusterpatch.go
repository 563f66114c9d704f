package k8sadapter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// clusterPatch is everything that Lifeboat ever writes to a Cluster.
type clusterPatch struct {
	Metadata patchMetadata     `json:"metadata"`
	Spec     *clusterSpecPatch `json:"spec,omitempty"`
}

type clusterSpecPatch struct {
	Taints []json.RawMessage `json:"taints"`
}

// taintItem is the part of a listed taint that identifies it.
type taintItem struct {
	Key    string             `json:"key"`
	Effect corev1.TaintEffect `json:"effect"`
}

// rawList is a list of raw JSON items, of which only Lifeboat's are decoded.
type rawList struct {
	annotation string // that holds the list; "" is spec.taints
	items      []json.RawMessage
	effect     corev1.TaintEffect // of items without one, in the list of soft taints
	err        error              // why the list cannot be read, and so must not be written
	changed    bool
}

// readList reads an annotation that holds a JSON list.
func readList(c karmada.Cluster, annotation string) rawList {
	list := rawList{annotation: annotation}
	if value, found := c.Annotations[annotation]; found {
		if err := json.Unmarshal([]byte(value), &list.items); err != nil {
			list.err = fmt.Errorf("%w: annotation %s: %w", karmada.ErrInvalid, annotation, err)
		}
	}
	return list
}

// drop removes the items of a taint.
func (l *rawList) drop(taint taintItem) {
	before := len(l.items)
	l.items = slices.DeleteFunc(l.items, func(raw json.RawMessage) bool { return l.read(raw) == taint })
	l.changed = l.changed || len(l.items) != before
}

// find is the index of the item of a taint, or -1.
func (l *rawList) find(taint taintItem) int {
	return slices.IndexFunc(l.items, func(raw json.RawMessage) bool { return l.read(raw) == taint })
}

// read is empty for an item that is no taint, so that no write ever removes it.
func (l *rawList) read(raw json.RawMessage) taintItem {
	item := taintItem{Effect: l.effect}
	if err := json.Unmarshal(raw, &item); err != nil {
		return taintItem{}
	}
	return item
}

// clusterEdit collects the changes of one write to a Cluster. A step that fails sets err;
// patch returns it.
type clusterEdit struct {
	cluster     karmada.Cluster
	hard, soft  rawList
	added       rawList // AnnotationAddedTaints
	ordered     rawList // AnnotationOrderedTaints
	annotations map[string]*string
	err         error // the first
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
		cluster: c, hard: rawList{items: slices.Clone(c.RawTaints)}, soft: readList(c, karmada.AnnotationSoftTaints),
		added: readList(c, karmada.AnnotationAddedTaints), ordered: readList(c, karmada.AnnotationOrderedTaints),
		annotations: map[string]*string{},
	}
	edit.soft.effect = karmada.EffectPreferNoExecute
	return edit, cmp.Or(edit.added.err, edit.ordered.err)
}

// fail records an error, unless an earlier one stands.
func (e *clusterEdit) fail(err error) { e.err = cmp.Or(e.err, err) }

// listOf is the list of the taints with this effect.
func (e *clusterEdit) listOf(effect corev1.TaintEffect) *rawList {
	if effect == karmada.EffectPreferNoExecute {
		return &e.soft
	}
	return &e.hard
}

func (e *clusterEdit) append(list *rawList, item any) {
	raw, err := encode(item)
	e.fail(cmp.Or(list.err, err))
	list.items = append(list.items, raw)
	list.changed = true
}

// add puts a taint and records it as Lifeboat's. A taint of another writer stays that
// writer's; one that Lifeboat put in an earlier failover, or for another rule, is recorded for this one.
func (e *clusterEdit) add(taint karmada.RuleTaint, record karmada.AddedTaint, now time.Time) {
	item := taintItem{Key: taint.Key, Effect: taint.Effect}
	if karmadasOwn(taint.Key, taint.Effect) {
		e.fail(fmt.Errorf("%w: taint %s:%s belongs to Karmada", karmada.ErrInvalid, taint.Key, taint.Effect))
	}
	list := e.listOf(taint.Effect)
	e.fail(list.err)
	stands, recorded := list.find(item) >= 0, e.added.find(item)
	if stands && recorded < 0 {
		return
	}
	if !stands {
		e.append(list, newTaint(taint, now))
	}
	if recorded < 0 || !e.isRecordedFor(recorded, record) {
		e.added.drop(item)
		e.append(&e.added, record)
	}
}

// isRecordedFor reports whether the record at an index names this rule and failover.
func (e *clusterEdit) isRecordedFor(index int, as karmada.AddedTaint) bool {
	var standing karmada.AddedTaint
	return json.Unmarshal(e.added.items[index], &standing) == nil && standing.FailoverID == as.FailoverID && standing.Rule == as.Rule
}

// newTaint leaves timeAdded of a hard taint to the server: tolerations count from its clock.
func newTaint(taint karmada.RuleTaint, now time.Time) any {
	if taint.Effect == karmada.EffectPreferNoExecute {
		return softTaintWire{Key: taint.Key, Value: taint.Value, TimeAdded: &metav1.Time{Time: now}}
	}
	return taintWire{taint.Key, taint.Value, taint.Effect}
}

// remove takes a taint away if the annotation says that it is Lifeboat's.
func (e *clusterEdit) remove(taint karmada.AddedTaint) {
	item := taintItem{Key: taint.Key, Effect: taint.Effect}
	if e.added.find(item) < 0 || karmadasOwn(taint.Key, taint.Effect) {
		return
	}
	list := e.listOf(taint.Effect)
	e.fail(list.err)
	list.drop(item)
	e.added.drop(item)
}

// annotate sets an annotation to JSON.
func (e *clusterEdit) annotate(name string, value any) {
	raw, err := encode(value)
	e.fail(err)
	e.annotations[name] = new(string(raw))
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
		edit.remove(taint)
	}
	for i, taint := range w.Add {
		edit.add(taint, karmada.AddedTaint{Key: taint.Key, Effect: taint.Effect, Rule: w.AddRules[i], FailoverID: w.FailoverID}, now)
	}
	edit.orders(w)
	return edit.patch()
}

// orders sets and removes the annotations of operators' orders.
func (e *clusterEdit) orders(w activities.TaintWrite) {
	if w.StoppedBy != nil {
		e.annotate(karmada.AnnotationStoppedBy, w.StoppedBy)
	} else if w.ClearStopped {
		e.annotations[karmada.AnnotationStoppedBy] = nil
	}
	for _, o := range w.EndOrders {
		e.ordered.drop(taintItem{Key: o.Key, Effect: o.Effect})
	}
	if w.Order != nil {
		e.append(&e.ordered, w.Order)
	}
	if w.Drain != nil {
		e.annotate(karmada.AnnotationDrain, w.Drain)
	} else if w.ClearDrain {
		e.annotations[karmada.AnnotationDrain] = nil
	}
}

func (e *clusterEdit) patch() ([]byte, error) {
	for _, list := range []rawList{e.added, e.ordered, e.soft} {
		switch {
		case !list.changed:
		case len(list.items) == 0:
			e.annotations[list.annotation] = nil
		default:
			e.annotate(list.annotation, list.items)
		}
	}
	if e.err != nil {
		return nil, e.err
	}
	patch := clusterPatch{Metadata: patchMetadata{ResourceVersion: e.cluster.ResourceVersion, Annotations: e.annotations}}
	if e.hard.changed {
		patch.Spec = &clusterSpecPatch{Taints: e.hard.items}
	}
	return encode(patch)
}
