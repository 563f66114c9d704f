package ledger

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

const (
	memberPeriod = 100 * time.Millisecond
	rulePeriod   = time.Second
)

var ruleResource = schema.GroupVersionResource{Group: "failover.lifeboat.dev", Version: "v1alpha1", Resource: "clustertaintrules"}

// Recorder feeds a Journal from watches of its own.
type Recorder struct {
	*Journal
	client  dynamic.Interface
	members func() []karmada.MemberStatus
	cancel  context.CancelFunc
	done    chan struct{}
	factory dynamicinformer.DynamicSharedInformerFactory
}

// Record starts to watch and returns when the journal knows all that is there. It records until Stop
// or until ctx ends. The members are asked for as they really are, whatever Karmada believes.
func Record(ctx context.Context, cfg *rest.Config, members func() []karmada.MemberStatus) (*Recorder, error) {
	fast := rest.CopyConfig(cfg)
	fast.QPS = -1
	client, err := dynamic.NewForConfig(fast)
	if err != nil {
		return nil, fmt.Errorf("build the ledger's client: %w", err)
	}
	r := &Recorder{
		Journal: NewJournal(), client: client, members: members, done: make(chan struct{}),
		factory: dynamicinformer.NewDynamicSharedInformerFactory(client, 0),
	}
	ctx, r.cancel = context.WithCancel(ctx)
	r.SeeMembers(time.Now(), members())
	if err := r.watch(ctx); err != nil {
		r.cancel()
		close(r.done)
		return nil, err
	}
	go r.poll(ctx)
	return r, nil
}

// Stop ends the recording; the journal stays.
func (r *Recorder) Stop() {
	r.cancel()
	<-r.done
	r.factory.Shutdown()
}

func (r *Recorder) watch(ctx context.Context) error {
	bindings := func(o map[string]any, gone bool) error {
		return decoded(o, func(b *api.Binding) { r.SeeBinding(time.Now(), b, gone) })
	}
	sights := map[schema.GroupVersionResource]func(map[string]any, bool) error{
		api.ResourceBindings: bindings, api.ClusterResourceBindings: bindings,
		api.Works: func(o map[string]any, gone bool) error {
			return decoded(o, func(w *api.Work) { r.SeeWork(time.Now(), w, gone) })
		},
		api.Clusters: func(o map[string]any, gone bool) error {
			return decoded(o, func(c *api.Cluster) { r.SeeCluster(time.Now(), c, gone) })
		},
		api.Namespaces: func(o map[string]any, gone bool) error {
			namespace := unstructured.Unstructured{Object: o}
			if !gone {
				r.SeeNamespace(namespace.GetName(), namespace.GetAnnotations())
			}
			return nil
		},
	}
	for resource, see := range sights {
		_, err := r.factory.ForResource(resource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { r.take(o, false, see) },
			UpdateFunc: func(_, o any) { r.take(o, false, see) },
			DeleteFunc: func(o any) { r.take(o, true, see) },
		})
		if err != nil {
			return fmt.Errorf("watch %s: %w", resource.Resource, err)
		}
	}
	r.factory.Start(ctx.Done())
	for resource, synced := range r.factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("watch %s: %w", resource.Resource, context.Cause(ctx))
		}
	}
	return nil
}

func decoded[T api.Object](content map[string]any, see func(*T)) error {
	object, err := api.From[T](content)
	if err == nil {
		see(object)
	}
	return err
}

// take hands one watch event on. What cannot be decoded is told in the timeline: the ledger is blind there.
func (r *Recorder) take(o any, gone bool, see func(map[string]any, bool) error) {
	if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = unknown.Obj
	}
	object, ok := o.(*unstructured.Unstructured)
	if !ok {
		return
	}
	if err := see(object.Object, gone); err != nil {
		r.blind(object, err)
	}
}

func (r *Recorder) blind(object *unstructured.Unstructured, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(Entry{
		At: time.Now(), Kind: "unreadable", Binding: object.GetNamespace() + "/" + object.GetName(),
		Text: fmt.Sprintf("cannot read this %s: %v", object.GetKind(), err),
	})
}

// poll asks the members and the rules until ctx ends.
func (r *Recorder) poll(ctx context.Context) {
	defer close(r.done)
	members, rules := time.NewTicker(memberPeriod), time.NewTicker(rulePeriod)
	defer members.Stop()
	defer rules.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-members.C:
			r.SeeMembers(time.Now(), r.members())
		case <-rules.C:
			r.readRules(ctx)
		}
	}
}

// readRules is not a watch: the rules' CRD comes with Lifeboat, after the laboratory.
func (r *Recorder) readRules(ctx context.Context) {
	list, err := r.client.Resource(ruleResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		if !apierrors.IsNotFound(err) && ctx.Err() == nil {
			r.blind(&unstructured.Unstructured{Object: map[string]any{"kind": "ClusterTaintRule"}}, err)
		}
		return
	}
	var taints []string
	for _, rule := range list.Items {
		items, _, _ := unstructured.NestedSlice(rule.Object, "spec", "taints")
		for _, item := range items {
			if taint, ok := item.(map[string]any); ok {
				taints = append(taints, fmt.Sprintf("%v:%v", taint["key"], taint["effect"]))
			}
		}
	}
	r.SeeRuleTaints(taints)
}
