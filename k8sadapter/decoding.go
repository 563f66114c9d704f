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

// decoding reads an object part by part and collects what it cannot understand,
// so that one bad field costs that field and the rest stays readable.
type decoding struct{ problems []string }

// problem records what is wrong at a path of the object.
func (d *decoding) problem(path, format string, args ...any) {
	d.problems = append(d.problems, path+": "+fmt.Sprintf(format, args...))
}

// malformed is all problems in one line, empty without any. It is bounded: whoever writes
// an object says how many there are, and it is carried to who lists others as well.
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

// items splits an array into its items as they stand.
func (d *decoding) items(path string, raw json.RawMessage) []json.RawMessage {
	var items []json.RawMessage
	d.into(path, raw, &items)
	return items
}

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

// object reads the outline and the metadata. When metadata as a whole is not
// readable, the identity alone is tried, so that the object can be named.
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

// identity reads the strings of metadata that name an object, each for itself.
func identity(raw json.RawMessage) metaWire {
	var fields map[string]json.RawMessage
	var scrap decoding
	scrap.into("metadata", raw, &fields)
	var meta metaWire
	scrap.into("name", fields["name"], &meta.Name)
	scrap.into("namespace", fields["namespace"], &meta.Namespace)
	scrap.into("uid", fields["uid"], &meta.UID)
	scrap.into("resourceVersion", fields["resourceVersion"], &meta.ResourceVersion)
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
	for _, c := range wire {
		// An agent of the member may write these: they must not outgrow who judges them.
		conditions = append(conditions, karmada.Condition{
			Type: reason.Bounded(c.Type), Status: corev1.ConditionStatus(reason.Bounded(string(c.Status))),
			Reason: reason.Bounded(c.Reason), Message: reason.Bounded(c.Message), LastTransition: c.LastTransitionTime.Time,
		})
	}
	return conditions
}

// maxResourcePart is how long a name, kind or version of what a binding propagates may be,
// in bytes: it is told in the list of all bindings.
const maxResourcePart = 512

// timeOf is nil for an absent time.
func timeOf(t *metav1.Time) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	return &t.Time
}
