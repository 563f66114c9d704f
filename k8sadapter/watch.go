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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// Handlers are called with what a Watch sees. Any may be nil. Calls for one resource are
// sequential, so a slow handler delays its resource. Arguments are shared: do not change them.
type Handlers struct {
	// OnCluster is called for a new (old is nil) or changed cluster.
	OnCluster func(old, current *karmada.Cluster)
	// OnClusterDeleted is called after a deletion, with the last known state.
	OnClusterDeleted func(last *karmada.Cluster)
	// OnRules is called with all rules of every source, first when all are listed and then
	// after each change.
	OnRules func(rules []rules.Rule)
	// OnBinding is called for a new (old is nil) or changed binding of either kind.
	OnBinding func(old, current *karmada.Binding)
	// OnBindingDeleted is called after a deletion, with the last known state.
	OnBindingDeleted func(last *karmada.Binding)
}

// Watch follows clusters, rules and bindings, and caches the parts that the rules read.
// Decisions never use the cache: they read the API server again.
type Watch struct {
	client   *Client
	handlers Handlers

	clusters, rules, rbs, crbs cache.SharedIndexInformer
	// policies follows ClusterTaintPolicies, nil where they are not honoured.
	policies cache.SharedIndexInformer
	// policiesAbsent: this Karmada does not serve ClusterTaintPolicy, so nothing waits for it.
	policiesAbsent atomic.Bool

	// reporting orders the calls of OnRules, so that the newest is the last one.
	reporting sync.Mutex
	// handled are the registrations of the handlers, by informer.
	handled sync.Map
	// logged is the newest problem of each resource, and when it was logged.
	logged sync.Map
}

// NewWatch prepares a Watch; Run starts it.
func NewWatch(client *Client, handlers Handlers) *Watch {
	w := &Watch{client: client, handlers: handlers}
	w.clusters = w.informer(clusterResource, keeping(client.decodeCluster))
	w.rules = w.informer(ruleResource, keeping(DecodeRule))
	w.rbs = w.informer(rbResource, keeping(slimBinding))
	w.crbs = w.informer(crbResource, keeping(slimBinding))
	if client.policies != nil {
		w.policies = w.informer(policyResource, keeping(client.decodePolicy))
	}
	return w
}

// kept is what a cache holds instead of the whole object.
type kept[T any] struct {
	namespace, name string
	uid             types.UID
	version         string
	value           T
}

// GetObjectMeta tells an informer which object it is. The whole metadata would be a third of an entry.
func (k *kept[T]) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: k.namespace, Name: k.name, UID: k.uid, ResourceVersion: k.version}
}

// valueOf is the value in a cache's entry, or in the tombstone of one; nil for anything else.
func valueOf[T any](object any) *T {
	if tombstone, isTombstone := object.(cache.DeletedFinalStateUnknown); isTombstone {
		object = tombstone.Obj
	}
	entry, isKept := object.(*kept[T])
	if !isKept {
		return nil
	}
	return &entry.value
}

// annotationLastApplied repeats the object, and no rule reads it.
const annotationLastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// keeping turns an object into its cache entry. A malformed object has an entry, too.
func keeping[T any](decode func([]byte) T) cache.TransformFunc {
	return func(seen any) (any, error) {
		u, whole := seen.(*unstructured.Unstructured)
		if !whole {
			return seen, nil // a tombstone of an entry
		}
		unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations", annotationLastApplied)
		raw, err := u.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", u.GetName(), err)
		}
		return &kept[T]{namespace: u.GetNamespace(), name: u.GetName(), uid: u.GetUID(), version: u.GetResourceVersion(), value: decode(raw)}, nil
	}
}

// slimBinding is a binding without the raw statuses of its copies and without the raw items of its lists. The cache
// keeps every binding; only a write needs these parts, and it reads the binding again. A Job keeps its raw statuses,
// which say whether it has finished: a list without them would queue a finished one again.
func slimBinding(raw []byte) karmada.Binding { return slimmed(DecodeBinding(raw)) }

func slimmed(b karmada.Binding) karmada.Binding {
	b.RawClusters, b.RawTasks = nil, nil
	b.Labels, b.Annotations = shareTexts(b.Labels), shareTexts(b.Annotations)
	for _, text := range []*string{&b.Key.Namespace, &b.Resource.APIVersion, &b.Resource.Kind, &b.Resource.Namespace} {
		*text = interned(*text)
	}
	if b.Resource.GroupKind() == karmada.KindJob {
		return b
	}
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
		w.logBroken(ctx, resource, err)
	})
	return informer
}

// Run follows all resources until the context ends. It logs a resource that it cannot watch
// and retries with growing pauses; the others go on.
func (w *Watch) Run(ctx context.Context) error {
	anyRule := handler(func(_, _ *rules.Rule) { w.reportRules() }, func(*rules.Rule) { w.reportRules() })
	anyBinding := handler(w.handlers.OnBinding, w.handlers.OnBindingDeleted)
	var running sync.WaitGroup
	followed := map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		w.clusters: handler(w.handlers.OnCluster, w.handlers.OnClusterDeleted),
		w.rules:    anyRule, w.rbs: anyBinding, w.crbs: anyBinding,
	}
	if w.policies != nil {
		followed[w.policies] = anyRule
	}
	for informer, handle := range followed {
		registration, err := informer.AddEventHandler(handle)
		if err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		w.handled.Store(informer, registration)
	}
	for informer := range followed {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	if cache.WaitForCacheSync(ctx.Done(), w.rulesSynced) {
		w.reportRules()
	}
	running.Wait()
	return nil
}

// rulesSynced reports whether the rules of every source have been listed once.
func (w *Watch) rulesSynced() bool {
	return w.rules.HasSynced() && (w.policies == nil || w.policies.HasSynced() || w.policiesAbsent.Load())
}

// HasSynced reports whether every resource has been listed in full once, and the handlers got its objects.
func (w *Watch) HasSynced() bool {
	return w.ClustersSynced() && w.got(w.rbs) && w.got(w.crbs) && w.rulesSynced()
}

// ClustersSynced is HasSynced for clusters alone.
func (w *Watch) ClustersSynced() bool { return w.got(w.clusters) }

// got reports whether the handlers of an informer got all that it listed first.
func (w *Watch) got(from cache.SharedIndexInformer) bool {
	registration, _ := w.handled.Load(from)
	r, known := registration.(cache.ResourceEventHandlerRegistration)
	return known && r.HasSynced()
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
		if value := valueOf[T](object); value != nil {
			values = append(values, *value)
		}
	}
	return values
}

// reportRules does nothing before all rules are listed: with a part of them the others would
// look deleted.
func (w *Watch) reportRules() {
	if w.handlers.OnRules == nil || !w.rulesSynced() {
		return
	}
	w.reporting.Lock()
	defer w.reporting.Unlock()
	w.handlers.OnRules(w.Rules())
}

// handler turns informer events into calls with Lifeboat's own types.
func handler[T any](changed func(old, current *T), deleted func(last *T)) cache.ResourceEventHandler {
	report := func(old, current *T) {
		if changed != nil && current != nil {
			changed(old, current)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { report(nil, valueOf[T](object)) },
		UpdateFunc: func(old, current any) {
			if !sameVersion[T](old, current) {
				report(valueOf[T](old), valueOf[T](current))
			}
		},
		DeleteFunc: func(object any) {
			if last := valueOf[T](object); last != nil && deleted != nil {
				deleted(last)
			}
		},
	}
}

// sameVersion reports whether a re-list brought the same object again.
func sameVersion[T any](old, current any) bool {
	before, isKept := old.(*kept[T])
	after, areKept := current.(*kept[T])
	return isKept && areKept && before.version == after.version && before.uid == after.uid
}

// repeatPause is how long the same problem of a resource is not logged again.
const repeatPause = time.Minute

type loggedProblem struct {
	text string
	at   time.Time
}

// logBroken logs why a watch broke. client-go retries with growing pauses, up to half a minute.
func (w *Watch) logBroken(ctx context.Context, resource schema.GroupVersionResource, err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) ||
		apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // the normal end of a watch
	}
	classified := classify(request{verb: "list and watch", resource: resource}, err, 0)
	if resource == policyResource && errors.Is(classified, karmada.ErrGone) {
		w.policiesAbsent.Store(true) // if the kind comes later, the informer finds it
		return
	}
	now := w.client.now()
	last, _ := w.logged.Load(resource)
	if before, known := last.(loggedProblem); known && before.text == classified.Error() && now.Sub(before.at) < repeatPause {
		return
	}
	w.logged.Store(resource, loggedProblem{text: classified.Error(), at: now})
	level := slog.LevelWarn
	if errors.Is(classified, karmada.ErrForbidden) || errors.Is(classified, karmada.ErrGone) {
		level = slog.LevelError // only an operator can solve it
	}
	w.client.log.Log(ctx, level, "watch broke", "resource", resource.GroupResource().String(), "error", classified)
}
