package karmada_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// The bindings that are compared, in the order the operator wrote to them.
var compared = []string{"onecfg-configmap", "div-deployment", "one-deployment", "demo-reader-clusterrole", "only1-deployment"}

// bystander was there too and filled its clusters.
const bystander = "dup2-deployment"

// phases are the moments between which the operator did something; states up to a phase's end must
// have been reached before the next act.
var phases = []string{"2026-11-21T00:18:01Z", "2026-11-21T00:18:41Z", "2026-11-21T00:18:49Z", "2026-11-21T00:19:10Z", "2026-11-21T00:20:00Z"}

const failed = "failover.lifeboat.dev/failed"

// banned is the recorded message when only1's task alone keeps it from member1.
const banned = "0/3 clusters are available: 1 cluster(s) is in the process of eviction, 2 cluster(s) did not match the placement cluster affinity constraint."

// TestTheSameWritesGiveTheSameStatesAsTheRecordedKarmada is what makes the simulation believable.
func TestTheSameWritesGiveTheSameStatesAsTheRecordedKarmada(t *testing.T) {
	knobs := karmada.DefaultKnobs()
	// The recorded Karmada stamped a new task before its scheduler answered; the scheduler was quicker
	// than the binding controller, and that than the members; replicas became ready all at once. Wide
	// gaps keep this order on a busy machine.
	knobs.SchedulerLatency.Duration = time.Second
	knobs.BindingLatency.Duration = 4 * time.Second
	knobs.ApplyLatency.Duration = time.Second
	knobs.ReportLatency.Duration = time.Second
	knobs.WorkloadReadyAfter.Duration = 0
	world := start(t, karmada.Options{
		Knobs: knobs, Members: []karmada.MemberSpec{{Name: "member1"}, {Name: "member2"}, {Name: "member3"}},
	})
	r := &replay{world: world, t: t, want: recording(t), got: map[string][]recorded{}}
	r.createAsRecorded()
	r.watch()
	r.reach(0)

	require.NoError(t, world.sim.Kill("member1"))
	r.awaitCluster(func(c *api.Cluster) bool { return !c.IsReady() && hasTaint(c, api.TaintNotReady) })
	r.setTaint(true)
	for _, name := range compared {
		r.evict(name)
	}
	r.reach(1)
	before := r.works("only1-")

	for _, name := range compared[:4] {
		r.patch(name, map[string]any{"gracefulEvictionTasks": nil})
	}
	r.reach(2)
	r.await("the released Works are on their way out and stay while the cluster is away", func() bool {
		released := r.works("onecfg-", "div-", "one-", "demo-reader-")
		return len(released) == 4 && !slices.ContainsFunc(released, func(w unstructured.Unstructured) bool {
			return w.GetDeletionTimestamp() == nil || !slices.Equal(w.GetFinalizers(), []string{api.FinalizerWork})
		})
	})

	require.NoError(t, world.sim.Revive("member1"))
	r.awaitCluster(func(c *api.Cluster) bool { return c.IsReady() && !hasTaint(c, api.TaintNotReady) })
	r.reach(3)
	r.setTaint(false)
	r.await("the scheduler looks again, and the task still bans the cluster", func() bool {
		b := read[api.Binding](t, r.bindings("only1-deployment"), "only1-deployment")
		return meta.FindStatusCondition(b.Status.Conditions, "Scheduled").Message == banned
	})
	r.patch("only1-deployment", map[string]any{
		"clusters": []any{map[string]any{"name": "member1", "replicas": 2}}, "gracefulEvictionTasks": nil,
	})
	r.reach(4)

	after := r.works("only1-")
	require.Len(t, after, 1)
	require.Equal(t, before[0].GetUID(), after[0].GetUID(), "the restored binding's Work was never replaced")
	require.Empty(t, r.works("onecfg-", "div-", "one-", "demo-reader-"))
	for _, name := range compared {
		assert.Equal(t, collapse(t, r.want[name]), collapse(t, r.states(name)), name)
	}
}

type replay struct {
	*world
	t    *testing.T
	want map[string][]recorded

	mu  sync.Mutex
	got map[string][]recorded
}

func (r *replay) bindings(name string) dynamic.ResourceInterface {
	if strings.HasSuffix(name, "-clusterrole") {
		return r.client.Resource(api.ClusterResourceBindings)
	}
	return r.client.Resource(api.ResourceBindings).Namespace("default")
}

// createAsRecorded creates the bindings with the recorded spec, unscheduled, the bystander when the
// others run: then the scheduler finds the recorded results.
func (r *replay) createAsRecorded() {
	for _, name := range compared {
		r.create(name)
	}
	r.await("the first bindings run", func() bool {
		return !slices.ContainsFunc(compared, func(name string) bool { return !r.stands(name, 0) })
	})
	r.await("capacity of member1 is reported", func() bool {
		pods := r.cluster("member1").Status.ResourceSummary.Allocated[corev1.ResourcePods]
		return pods.Value() == 5
	})
	r.create(bystander)
	r.await("the bystander runs", func() bool { return r.stands(bystander, 0) })
}

func (r *replay) create(name string) {
	object := &unstructured.Unstructured{Object: normalized(r.t, r.want[name][0].Object)}
	fresh := &unstructured.Unstructured{Object: map[string]any{"spec": object.Object["spec"]}}
	fresh.SetGroupVersionKind(object.GroupVersionKind())
	fresh.SetName(name)
	fresh.SetNamespace(object.GetNamespace())
	fresh.SetLabels(object.GetLabels())
	annotations := maps.Clone(object.GetAnnotations())
	delete(annotations, api.AnnotationAppliedPlacement)
	fresh.SetAnnotations(annotations)
	unstructured.RemoveNestedField(fresh.Object, "spec", "clusters")
	unstructured.RemoveNestedField(fresh.Object, "spec", "requiredBy")            // for the dependencies-distributor to say
	unstructured.RemoveNestedField(fresh.Object, "spec", "rescheduleTriggeredAt") // long past then; not so on this machine's clock
	_, err := r.bindings(name).Create(r.t.Context(), fresh, metav1.CreateOptions{})
	require.NoError(r.t, err)
}

// stands says whether a binding is in the state recorded last in a phase.
func (r *replay) stands(name string, phase int) bool {
	object, err := r.bindings(name).Get(r.t.Context(), name, metav1.GetOptions{})
	require.NoError(r.t, err)
	return project(r.t, object.Object) == r.lastOf(name, phase)
}

func (r *replay) lastOf(name string, phase int) string {
	var last recorded
	for _, state := range r.want[name] {
		if state.At <= phases[phase] {
			last = state
		}
	}
	return project(r.t, last.Object)
}

// watch notes every state of the compared bindings from now on.
func (r *replay) watch() {
	ctx, cancel := context.WithCancel(r.t.Context())
	var watching sync.WaitGroup
	r.t.Cleanup(func() { cancel(); watching.Wait() })
	for _, name := range compared {
		object, err := r.bindings(name).Get(ctx, name, metav1.GetOptions{})
		require.NoError(r.t, err)
		r.got[name] = []recorded{{Object: object.Object}}
		stream, err := r.bindings(name).Watch(ctx, metav1.ListOptions{
			FieldSelector: "metadata.name=" + name, ResourceVersion: object.GetResourceVersion(),
		})
		require.NoError(r.t, err)
		watching.Go(func() {
			for event := range stream.ResultChan() {
				if object, ok := event.Object.(*unstructured.Unstructured); ok {
					r.mu.Lock()
					r.got[name] = append(r.got[name], recorded{Type: string(event.Type), Object: object.Object})
					r.mu.Unlock()
				}
			}
		})
	}
}

func (r *replay) states(name string) []recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got[name])
}

// reach waits until every compared binding has been seen in the state recorded last in a phase.
func (r *replay) reach(phase int) {
	for _, name := range compared {
		reached := eventually(func() bool {
			states := r.states(name)
			return project(r.t, states[len(states)-1].Object) == r.lastOf(name, phase)
		})
		if !reached {
			require.Equal(r.t, collapse(r.t, r.want[name]), collapse(r.t, r.states(name)), "%s did not reach phase %d", name, phase)
		}
	}
}

func (r *replay) evict(name string) {
	for _, state := range r.want[name] {
		spec := normalized(r.t, state.Object)["spec"].(map[string]any)
		if tasks, evicted := spec["gracefulEvictionTasks"]; evicted {
			r.patch(name, map[string]any{"clusters": spec["clusters"], "gracefulEvictionTasks": tasks})
			return
		}
	}
	require.Fail(r.t, "no eviction was recorded", name)
}

// patch is the operator's write: one merge patch with the resourceVersion just read, anew after a conflict, for the
// controllers write their status at any time.
func (r *replay) patch(name string, spec map[string]any) {
	require.NoError(r.t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := r.bindings(name).Get(r.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, err = api.MergePatch(r.t.Context(), r.bindings(name), name, map[string]any{
			"metadata": map[string]any{"resourceVersion": object.GetResourceVersion()}, "spec": spec,
		})
		return err
	}))
}

func (r *replay) setTaint(on bool) {
	var c *api.Cluster
	require.NoError(r.t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		c = r.cluster("member1")
		taints := slices.DeleteFunc(c.Spec.Taints, func(t corev1.Taint) bool { return t.Key == failed })
		if on {
			taints = append(taints, corev1.Taint{Key: failed, Effect: corev1.TaintEffectNoExecute})
		}
		patched, err := api.MergePatch(r.t.Context(), r.client.Resource(api.Clusters), c.Name, map[string]any{
			"metadata": map[string]any{"resourceVersion": c.ResourceVersion}, "spec": map[string]any{"taints": taints},
		})
		if err != nil {
			return err
		}
		c, err = api.From[api.Cluster](patched.Object)
		return err
	}))
	for _, taint := range c.Spec.Taints {
		require.NotNil(r.t, taint.TimeAdded, "the server stamps %s", taint.Key)
	}
}

func (r *replay) cluster(name string) *api.Cluster {
	return read[api.Cluster](r.t, r.client.Resource(api.Clusters), name)
}

func (r *replay) awaitCluster(condition func(*api.Cluster) bool) {
	r.await("member1 changes", func() bool { return condition(r.cluster("member1")) })
}

func (r *replay) await(what string, condition func() bool) {
	require.True(r.t, eventually(condition), what)
}

// works lists the Works on member1 by name prefix.
func (r *replay) works(prefixes ...string) []unstructured.Unstructured {
	list, err := r.client.Resource(api.Works).Namespace(api.ExecutionNamespace("member1")).List(r.t.Context(), metav1.ListOptions{})
	require.NoError(r.t, err)
	return slices.DeleteFunc(list.Items, func(w unstructured.Unstructured) bool {
		return !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(w.GetName(), prefix) })
	})
}

func hasTaint(c *api.Cluster, key string) bool {
	return slices.ContainsFunc(c.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}
