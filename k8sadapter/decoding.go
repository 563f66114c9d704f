package k8sadapter

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
)

// decoding reads an object field by field and collects the problems, so that a malformed
// field leaves the others readable.
type decoding struct{ problems []string }

// problem records what is wrong at a path of the object.
func (d *decoding) problem(path, format string, args ...any) {
	d.problems = append(d.problems, path+": "+fmt.Sprintf(format, args...))
}

// malformed is all problems in one line, empty without any. It is bounded: the writer of an
// object determines their number, and a list carries them for every object.
func (d *decoding) malformed() string { return reason.Bounded(strings.Join(d.problems, "; ")) }

// into decodes one part; an absent one leaves the target alone.
func (d *decoding) into(path string, raw json.RawMessage, target any) {
	if absent(raw) {
		return
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, target); err != nil {
		d.problem(path, "%v", err)
	}
}

// items splits an array into its raw items.
func (d *decoding) items(path string, raw json.RawMessage) []json.RawMessage {
	var items []json.RawMessage
	d.into(path, raw, &items)
	return items
}

// section is one JSON object inside a Kubernetes object, of which each field is read alone.
type section struct {
	d      *decoding
	path   string
	fields map[string]json.RawMessage
}

// section splits a JSON object into its fields: none when it is absent or malformed.
func (d *decoding) section(path string, raw json.RawMessage) section {
	s := section{d: d, path: path}
	d.into(path, raw, &s.fields)
	return s
}

func (s section) pathOf(name string) string { return strings.TrimPrefix(s.path+"."+name, ".") }

// read decodes one field; an absent one leaves the target alone.
func (s section) read(name string, target any) { s.d.into(s.pathOf(name), s.fields[name], target) }

func (s section) items(name string) []json.RawMessage {
	return s.d.items(s.pathOf(name), s.fields[name])
}

func (s section) section(name string) section { return s.d.section(s.pathOf(name), s.fields[name]) }

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// objectWire is the outline of every Kubernetes object.
type objectWire struct {
	Metadata json.RawMessage `json:"metadata"`
	Spec     json.RawMessage `json:"spec"`
	Status   json.RawMessage `json:"status"`
}

// metaWire is the part of metadata that Lifeboat reads.
type metaWire struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	UID               types.UID         `json:"uid"`
	ResourceVersion   string            `json:"resourceVersion"`
	Generation        int64             `json:"generation"`
	DeletionTimestamp *metav1.Time      `json:"deletionTimestamp"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
}

// object reads the outline and the metadata. Of malformed metadata it reads the identity
// alone, so that the object can be named.
func (d *decoding) object(raw []byte) (objectWire, metaWire) {
	var outline objectWire
	d.into("object", raw, &outline)
	var meta metaWire
	before := len(d.problems)
	d.into("metadata", outline.Metadata, &meta)
	if len(d.problems) > before {
		meta = identity(outline.Metadata)
	}
	if meta.Name == "" {
		d.problem("metadata.name", "missing")
	}
	if meta.UID == "" {
		d.problem("metadata.uid", "missing")
	}
	return outline, meta
}

// identity reads the strings of metadata that name an object, each alone.
func identity(raw json.RawMessage) (meta metaWire) {
	fields := new(decoding).section("metadata", raw)
	fields.read("name", &meta.Name)
	fields.read("namespace", &meta.Namespace)
	fields.read("uid", &meta.UID)
	fields.read("resourceVersion", &meta.ResourceVersion)
	return meta
}

// conditions reads status.conditions.
func (d *decoding) conditions(raw json.RawMessage) []karmada.Condition {
	var wire []metav1.Condition
	d.into("status.conditions", raw, &wire)
	conditions := make([]karmada.Condition, 0, len(wire))
	if len(wire) > rules.MaxConditions {
		d.problem("status.conditions", "%d of them, more than %d", len(wire), rules.MaxConditions)
		return nil
	}
	// The member's agent may write these: workflows carry them, so their length is bounded.
	bounded := func(text string) string { return interned(reason.Bounded(text)) }
	for _, c := range wire {
		conditions = append(conditions, karmada.Condition{
			Type: bounded(c.Type), Status: corev1.ConditionStatus(bounded(string(c.Status))),
			Reason: bounded(c.Reason), Message: bounded(c.Message), LastTransition: c.LastTransitionTime.Time,
		})
	}
	return conditions
}

// time reads a time; nil when absent or malformed.
func (s section) time(name string) (t *time.Time) {
	s.read(name, &t)
	if t != nil && t.IsZero() {
		return nil
	}
	return t
}
