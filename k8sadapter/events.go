package k8sadapter

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	expiring "k8s.io/apimachinery/pkg/util/cache"
)

const (
	// eventTimeout bounds how long a best-effort Event may take, and hold up its caller while too many are on their way.
	eventTimeout = 3 * time.Second
	// sameEventPause is how long the same Event on the same object is not repeated.
	sameEventPause = 5 * time.Minute
	// eventsAtOnce bounds the Events on their way.
	eventsAtOnce = 10
	// maxEventMessage is how many bytes a message may have.
	maxEventMessage = 1024
)

// Recorder writes Kubernetes Events on clusters, bindings and their workloads. It implements
// activities.EventRecorder.
//
// A repeat about the same object, by a retried activity or by another worker, is the same
// Event: its name is a hash of its content. Within sameEventPause a repeat changes nothing,
// later it increments the count.
type Recorder struct {
	client    *Client
	component string
	recent    *expiring.Expiring
	timeout   time.Duration
}

// NewRecorder makes a Recorder whose Events name a component: "lifeboat-worker".
func NewRecorder(c *Client, component string) *Recorder {
	return &Recorder{client: c, component: component, recent: expiring.NewExpiring(), timeout: eventTimeout}
}

// Record has an Event written, on the workload of a binding as well, also when the caller's
// own deadline has just passed. The caller waits only while too many are on their way. An Event that
// cannot be written in time is lost, with a debug log line.
func (r *Recorder) Record(ctx context.Context, e activities.Event) {
	told := []*corev1.Event{r.event(e, involved(e))}
	if w := e.Workload; w != nil && w.Kind != "" && w.Name != "" {
		told = append(told, r.event(e, corev1.ObjectReference{
			APIVersion: w.APIVersion, Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, UID: w.UID,
		}))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	if err := r.client.events.Acquire(ctx, 1); err != nil {
		cancel()
		r.lost(ctx, told[0], "create", err)
		return
	}
	go func() {
		defer cancel()
		defer r.client.events.Release(1)
		for _, event := range told {
			r.record(ctx, event)
		}
	}()
}

func (r *Recorder) record(ctx context.Context, event *corev1.Event) {
	key := event.Namespace + "/" + event.Name
	if _, repeated := r.recent.Get(key); repeated {
		return
	}
	r.recent.Set(key, true, sameEventPause)
	if verb, err := r.write(ctx, event); err != nil {
		r.recent.Delete(key)
		r.lost(ctx, event, verb, err)
	}
}

func (r *Recorder) lost(ctx context.Context, event *corev1.Event, verb string, err error) {
	r.client.log.DebugContext(ctx, "lost an event", "kind", event.InvolvedObject.Kind, "name", event.InvolvedObject.Name,
		"reason", event.Reason, "error", classify(request{verb: verb, resource: eventResource, namespace: event.Namespace}, err, 0))
}

// write creates the Event, or increments the count of an existing one. It returns the verb of
// its last request.
func (r *Recorder) write(ctx context.Context, event *corev1.Event) (verb string, err error) {
	events := r.client.typed.CoreV1().Events(event.Namespace)
	if _, err = events.Create(ctx, event, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		return "create", err
	}
	standing, err := events.Get(ctx, event.Name, metav1.GetOptions{})
	if err != nil || event.LastTimestamp.Sub(standing.LastTimestamp.Time) < sameEventPause {
		return "get", err
	}
	change, _ := json.Marshal(map[string]any{ // it cannot fail
		"metadata": map[string]any{"resourceVersion": standing.ResourceVersion},
		"count":    standing.Count + 1, "lastTimestamp": event.LastTimestamp,
	})
	_, err = events.Patch(ctx, event.Name, types.MergePatchType, change, metav1.PatchOptions{})
	if apierrors.IsConflict(err) {
		err = nil // another worker has just incremented it
	}
	return "patch", err
}

// event is the Event object. Those on cluster-scoped objects live in namespace default.
func (r *Recorder) event(e activities.Event, object corev1.ObjectReference) *corev1.Event {
	now := metav1.NewTime(r.client.now())
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: cmp.Or(object.Namespace, metav1.NamespaceDefault)},
		InvolvedObject: object,
		Reason:         e.Reason,
		Message:        strings.ToValidUTF8(e.Message[:min(len(e.Message), maxEventMessage)], ""),
		Type:           corev1.EventTypeNormal,
		Source:         corev1.EventSource{Component: r.component},
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	if e.Warning {
		event.Type = corev1.EventTypeWarning
	}
	event.Name = eventName(event)
	return event
}

// maxEventName is how many bytes of an object's name are in those of its Events.
const maxEventName = 200

// eventName is a hash of an Event's component, object and content.
func eventName(e *corev1.Event) string {
	o := e.InvolvedObject
	sum := sha256.Sum256([]byte(strings.Join([]string{
		e.Source.Component, o.APIVersion, o.Kind, o.Namespace, o.Name, string(o.UID), e.Type, e.Reason, e.Message,
	}, "\x00")))
	name := strings.TrimRight(o.Name[:min(len(o.Name), maxEventName)], ".-")
	return name + "." + hex.EncodeToString(sum[:8])
}

func involved(e activities.Event) corev1.ObjectReference {
	resource, object := clusterResource, corev1.ObjectReference{Kind: "Cluster", Name: e.Cluster, UID: e.UID}
	if e.Binding != nil {
		kind := e.Binding.Kind()
		resource = bindingResource(kind)
		object.Kind, object.Namespace, object.Name = string(kind), e.Binding.Namespace, e.Binding.Name
	}
	object.APIVersion = resource.GroupVersion().String()
	return object
}
