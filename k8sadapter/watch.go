package k8sadapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// Handlers hear what a Watch sees. Any may be nil. Each resource calls its own
// handlers one after the other; a handler that is slow delays its resource, and
// what it is given is shared and must not be changed.
type Handlers struct {
	// OnCluster hears of a cluster that is new (old is nil) or changed.
	OnCluster func(old, current *karmada.Cluster)
	// OnClusterDeleted hears of a deletion, with the last sight of the cluster.
	OnClusterDeleted func(last *karmada.Cluster)
	// OnRules hears all rules of every source, once they are all known and then whenever
	// one changed.
	OnRules func(rules []rules.Rule)
	// OnBinding hears of a binding of either kind that is new (old is nil) or changed.
	OnBinding func(old, current *karmada.Binding)
	// OnBindingDeleted hears of a deletion, with the last sight of the binding.
	OnBindingDeleted func(last *karmada.Binding)
}

// WatchConfig says what a Watch speaks through.
type WatchConfig struct {
	Client *Client
}

// Watch follows clusters, rules and bindings, and keeps what of them
// the rules read. It is news and a way to find what news missed; decisions re-read
// the API server.
type Watch struct {
	client   *Client
	handlers Handlers

	clusters, rules, rbs, crbs cache.SharedIndexInformer
	// policies follows ClusterTaintPolicies, nil where they are not honoured; unknown
	// tells that this Karmada does not know the kind, which is no reason to wait.
	policies cache.SharedIndexInformer
	unknown  atomic.Bool

	// telling makes the newest OnRules the last one.
	telling sync.Mutex
	// complaints are the newest log line of each resource, and when it was written.
	complaints sync.Map
}

// NewWatch prepares a Watch; Run starts it.
func NewWatch(cfg WatchConfig, handlers Handlers) *Watch {
	w := &Watch{client: cfg.Client, handlers: handlers}
	w.clusters = w.informer(clusterResource, keeping(DecodeCluster))
	w.rules = w.informer(ruleResource, keeping(DecodeRule))
	w.rbs = w.informer(rbResource, keeping(slimBinding))
	w.crbs = w.informer(crbResource, keeping(slimBinding))
	if w.client.policies != nil {
		w.policies = w.informer(policyResource, keeping(w.client.decodePolicy))
	}
	return w
}

// kept is what a cache holds instead of the whole object.
type kept[T any] struct {
	metav1.ObjectMeta
	value T
}

// bulky are annotations that repeat the object and that no rule reads.
var bulky = []string{"policy.karmada.io/applied-placement", "kubectl.kubernetes.io/last-applied-configuration"}

// keeping turns an object into what is kept of it. A malformed object is kept as
// malformed: the cache knows that it exists.
func keeping[T any](decode func([]byte) T) cache.TransformFunc {
	return func(seen any) (any, error) {
		u, whole := seen.(*unstructured.Unstructured)
		if !whole {
			return seen, nil // a tombstone of what is kept already
		}
		unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
		for _, name := range bulky {
			unstructured.RemoveNestedField(u.Object, "metadata", "annotations", name)
		}
		raw, err := u.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", u.GetName(), err)
		}
		return &kept[T]{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
			},
			value: decode(raw),
		}, nil
	}
}

// slimBinding is a binding without the raw statuses of its copies: the cache keeps
// every binding, and only an eviction reads those.
func slimBinding(raw []byte) karmada.Binding { return slimmed(DecodeBinding(raw)) }

func slimmed(b karmada.Binding) karmada.Binding {
	b.Status.Aggregated = slices.Clone(b.Status.Aggregated)
	for i := range b.Status.Aggregated {
		b.Status.Aggregated[i].Status = nil
	}
	return b
}

func (w *Watch) informer(resource schema.GroupVersionResource, keep cache.TransformFunc) cache.SharedIndexInformer {
	informer := dynamicinformer.NewFilteredDynamicInformer(
		w.client.dynamic, resource, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	// Neither can fail before the informer was started.
	_ = informer.SetTransform(keep)
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		w.complain(ctx, resource, err)
	})
	return informer
}

// Run follows all resources until the context ends. A resource that cannot be
// watched is logged and tried again with growing pauses; the others go on.
func (w *Watch) Run(ctx context.Context) error {
	var registered []error
	register := func(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) {
		_, err := informer.AddEventHandler(handler)
		registered = append(registered, err)
	}
	register(w.clusters, hear(w.handlers.OnCluster, w.handlers.OnClusterDeleted))
	anyRule := hear(func(_, _ *rules.Rule) { w.tellRules() }, func(*rules.Rule) { w.tellRules() })
	register(w.rules, anyRule)
	if w.policies != nil {
		register(w.policies, anyRule)
	}
	register(w.rbs, hear(w.handlers.OnBinding, w.handlers.OnBindingDeleted))
	register(w.crbs, hear(w.handlers.OnBinding, w.handlers.OnBindingDeleted))
	if err := errors.Join(registered...); err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	var running sync.WaitGroup
	for _, informer := range w.informers() {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	if cache.WaitForCacheSync(ctx.Done(), w.rulesKnown) {
		w.tellRules()
	}
	running.Wait()
	return nil
}

func (w *Watch) informers() []cache.SharedIndexInformer {
	all := []cache.SharedIndexInformer{w.clusters, w.rules, w.rbs, w.crbs}
	if w.policies != nil {
		all = append(all, w.policies)
	}
	return all
}

// rulesKnown tells whether the rules of every source have been listed once.
func (w *Watch) rulesKnown() bool {
	return w.rules.HasSynced() && (w.policies == nil || w.policies.HasSynced() || w.unknown.Load())
}

// HasSynced tells whether every resource has been listed in full once.
func (w *Watch) HasSynced() bool {
	for _, informer := range w.informers() {
		if informer != w.policies && !informer.HasSynced() {
			return false
		}
	}
	return w.rulesKnown()
}

// Clusters are all clusters as last seen.
func (w *Watch) Clusters() []karmada.Cluster { return contents[karmada.Cluster](w.clusters) }

// Rules are all ClusterTaintRules and, where honoured, ClusterTaintPolicies as last seen.
func (w *Watch) Rules() []rules.Rule {
	list := contents[rules.Rule](w.rules)
	if w.policies != nil {
		list = append(list, contents[rules.Rule](w.policies)...)
	}
	return list
}

// Bindings are all bindings of both kinds as last seen.
func (w *Watch) Bindings() []karmada.Binding {
	return append(contents[karmada.Binding](w.rbs), contents[karmada.Binding](w.crbs)...)
}

func contents[T any](informer cache.SharedIndexInformer) []T {
	objects := informer.GetStore().List()
	values := make([]T, 0, len(objects))
	for _, object := range objects {
		if entry, isKept := object.(*kept[T]); isKept {
			values = append(values, entry.value)
		}
	}
	return values
}

// tellRules says nothing before all rules are known: half of them would look as if
// the others had been deleted.
func (w *Watch) tellRules() {
	if w.handlers.OnRules == nil || !w.rulesKnown() {
		return
	}
	w.telling.Lock()
	defer w.telling.Unlock()
	w.handlers.OnRules(w.Rules())
}

// hear turns informer events into calls with Lifeboat's own types.
func hear[T any](changed func(old, current *T), deleted func(last *T)) cache.ResourceEventHandler {
	value := func(object any) *T {
		if tombstone, isTombstone := object.(cache.DeletedFinalStateUnknown); isTombstone {
			object = tombstone.Obj
		}
		entry, isKept := object.(*kept[T])
		if !isKept {
			return nil
		}
		return &entry.value
	}
	tell := func(old, current *T) {
		if changed != nil && current != nil {
			changed(old, current)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { tell(nil, value(object)) },
		UpdateFunc: func(old, current any) {
			if !sameVersion(old, current) {
				tell(value(old), value(current))
			}
		},
		DeleteFunc: func(object any) {
			if last := value(object); last != nil && deleted != nil {
				deleted(last)
			}
		},
	}
}

// sameVersion tells a re-list that brought nothing new.
func sameVersion(old, current any) bool {
	before, isObject := old.(metav1.Object)
	after, areObjects := current.(metav1.Object)
	return isObject && areObjects && before.GetResourceVersion() == after.GetResourceVersion() &&
		before.GetUID() == after.GetUID()
}

// absentKind notes that this Karmada does not know ClusterTaintPolicy. Should the kind
// come, the informer finds it.
func (w *Watch) absentKind(resource schema.GroupVersionResource, err error) bool {
	if resource != policyResource || !errors.Is(err, karmada.ErrGone) {
		return false
	}
	w.unknown.Store(true)
	return true
}

// complaintPause is how long the same trouble with a resource is not logged again.
const complaintPause = time.Minute

type complaint struct {
	text string
	at   time.Time
}

// complain logs why a watch broke, classified, and what it means. client-go tries
// again by itself, waiting longer each time, up to half a minute.
func (w *Watch) complain(ctx context.Context, resource schema.GroupVersionResource, err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) ||
		apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // a watch that ended in good order
	}
	classified := classify(request{verb: "list and watch", resource: resource}, err, 0)
	if w.absentKind(resource, classified) {
		return
	}
	now := w.client.now()
	last, known := w.complaints.Load(resource)
	if before, isComplaint := last.(complaint); known && isComplaint &&
		before.text == classified.Error() && now.Sub(before.at) < complaintPause {
		return
	}
	w.complaints.Store(resource, complaint{text: classified.Error(), at: now})
	level := slog.LevelWarn
	if errors.Is(classified, karmada.ErrForbidden) || errors.Is(classified, karmada.ErrGone) {
		level = slog.LevelError // nothing but a human changes that
	}
	w.client.log.Log(ctx, level, "watch broke", "resource", resource.GroupResource().String(), "error", classified)
}
