package k8sadapter

import (
	"context"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	expiring "k8s.io/apimachinery/pkg/util/cache"
)

const (
	// eventTimeout bounds how long a best-effort Event may hold up its caller.
	eventTimeout = 3 * time.Second
	// sameEventPause is how long the same Event on the same object is not repeated.
	sameEventPause = 5 * time.Minute
	// maxEventMessage is how many bytes a message may have.
	maxEventMessage = 1024
)

// Recorder writes Kubernetes Events on clusters and bindings. It implements
// activities.EventRecorder.
type Recorder struct {
	client    *Client
	component string
	recent    *expiring.Expiring
}

// NewRecorder makes a Recorder whose Events name a component: "lifeboat-worker".
func NewRecorder(c *Client, component string) *Recorder {
	return &Recorder{client: c, component: component, recent: expiring.NewExpiring()}
}

// Record writes one Event, also when the caller's own deadline has just passed.
// What cannot be written is lost, with a line in the debug log.
func (r *Recorder) Record(ctx context.Context, e activities.Event) {
	event := r.event(e)
	object := event.InvolvedObject
	key := strings.Join([]string{object.Kind, object.Namespace, object.Name, string(object.UID), event.Reason, event.Message}, "\x00")
	if _, repeated := r.recent.Get(key); repeated {
		return
	}
	r.recent.Set(key, true, sameEventPause)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), eventTimeout)
	defer cancel()
	if _, err := r.client.typed.CoreV1().Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{}); err != nil {
		r.recent.Delete(key)
		r.client.log.DebugContext(ctx, "lost an event", "kind", object.Kind, "name", object.Name,
			"reason", event.Reason, "error", classify(request{verb: "create", resource: eventResource, namespace: event.Namespace}, err, 0))
	}
}

// event is the Event object. Those on cluster-scoped objects live in namespace default.
func (r *Recorder) event(e activities.Event) *corev1.Event {
	object := involved(e)
	now := metav1.NewTime(r.client.now())
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: object.Name + ".", Namespace: orDefault(object.Namespace, metav1.NamespaceDefault)},
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
	return event
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

var eventResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}
