package karmada_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/members"
)

// TestBehaviour runs the simulation's traps and faults on one lab, each case on members of its own.
func TestBehaviour(t *testing.T) {
	knobs := karmada.DefaultKnobs()
	knobs.WorkloadReadyAfter.Duration = 200 * time.Millisecond
	knobs.ExecutionRetry.Duration = 200 * time.Millisecond
	knobs.StatefulFailoverInjection = true
	o := karmada.Options{Knobs: knobs, MemberDir: t.TempDir()}
	for name := range behaviours {
		for i := range 2 {
			o.Members = append(o.Members, karmada.MemberSpec{Name: fmt.Sprintf("%s-%d", short(name), i+1)})
		}
	}
	w := start(t, o)
	t.Run("in parallel", func(t *testing.T) {
		for name, run := range behaviours {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(&scene{world: w, t: t, home: short(name) + "-1", away: short(name) + "-2"})
			})
		}
	})
	t.Run("members keep their copies from one run to the next", func(t *testing.T) { keepsCopies(t, w, o) })
}

var behaviours = map[string]func(*scene){
	"invalid writes are refused":                       refusesInvalid,
	"a lost update puts the cluster back once":         putsBack,
	"a released cluster is chosen again":               putsBackAfterRelease,
	"directly deadlocks on a dead cluster":             directlyDeadlocks,
	"directly deletes first where the cluster answers": directlyDeletesFirst,
	"graceful eviction ends by health":                 endsByHealth,
	"state goes along with directly":                   handsStateOn,
	"gracefully hands no state on":                     handsNothingOn,
	"status of a dead member":                          statusOfADeadMember,
	"leaving and joining":                              leavesAndJoins,
	"needs: dependents leave at once":                  dependentsLeaveAtOnce,
	"placements at the rate of the scheduler":          placesAtItsRate,
}

func short(name string) string {
	words := strings.Fields(name)
	for i := range words {
		words[i] = words[i][:min(3, len(words[i]))]
	}
	return strings.Join(words, "")
}

// scene is one case: a binding on two members of its own.
type scene struct {
	*world
	t          *testing.T
	home, away string
}

func (s *scene) name() string { return s.home }

func (s *scene) bindings() dynamic.ResourceInterface {
	return s.client.Resource(api.ResourceBindings).Namespace("default")
}

// create makes a Deployment's binding; Divided ones weigh both members the same.
func (s *scene) create(replicas int64, division string, annotations map[string]string) {
	placement := map[string]any{
		"clusterAffinity":   map[string]any{"clusterNames": []any{s.home, s.away}},
		"replicaScheduling": map[string]any{"replicaSchedulingType": division},
	}
	if division == "Divided" {
		placement["replicaScheduling"] = map[string]any{"replicaSchedulingType": division, "replicaDivisionPreference": "Weighted"}
	}
	if division == "Duplicated" {
		placement["spreadConstraints"] = []any{map[string]any{"spreadByField": "cluster", "minGroups": int64(1), "maxGroups": int64(1)}}
	}
	b := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
		"spec": map[string]any{
			"resource":  map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": s.name()},
			"placement": placement, "replicas": replicas,
		},
	}}
	b.SetName(s.name())
	b.SetAnnotations(annotations)
	_, err := s.bindings().Create(s.t.Context(), b, metav1.CreateOptions{})
	require.NoError(s.t, err)
}

func (s *scene) get() *api.Binding {
	return read[api.Binding](s.t, s.bindings(), s.name())
}

func (s *scene) await(what string, condition func(*api.Binding) bool) {
	require.True(s.t, eventually(func() bool { return condition(s.get()) }), what)
}

// settled: the scheduler has seen the last write and placed the binding exactly there, healthy.
func settled(clusters ...string) func(*api.Binding) bool {
	return func(b *api.Binding) bool {
		if b.Status.SchedulerObservedGeneration != b.Generation || len(b.Spec.Clusters) != len(clusters) {
			return false
		}
		for _, name := range clusters {
			if b.Target(name) == nil || healthOf(b, name) != "Healthy" {
				return false
			}
		}
		return true
	}
}

func healthOf(b *api.Binding, cluster string) string {
	for _, item := range b.Status.AggregatedStatus {
		if item.ClusterName == cluster {
			return item.Health
		}
	}
	return ""
}

func (s *scene) patchSpec(spec map[string]any) error {
	_, err := api.MergePatch(s.t.Context(), s.bindings(), s.name(), map[string]any{
		"metadata": map[string]any{"resourceVersion": s.get().ResourceVersion}, "spec": spec,
	})
	return err
}

// annotate sets an annotation; nil removes it.
func (s *scene) annotate(name string, value any) {
	_, err := api.MergePatch(s.t.Context(), s.bindings(), s.name(), map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}})
	require.NoError(s.t, err)
}

// patch writes until no other writer comes between.
func (s *scene) patch(spec func(*api.Binding) map[string]any) {
	require.True(s.t, eventually(func() bool {
		err := s.patchSpec(spec(s.get()))
		require.True(s.t, err == nil || apierrors.IsConflict(err), "%v", err)
		return err == nil
	}))
}

func (s *scene) evict(task map[string]any) {
	s.patch(func(b *api.Binding) map[string]any {
		full := map[string]any{"fromCluster": s.home, "reason": "Test", "producer": "test"}
		if target := b.Target(s.home); target != nil {
			full["replicas"] = target.Replicas
		}
		maps.Copy(full, task)
		return map[string]any{"clusters": without(b, s.home), "gracefulEvictionTasks": []any{full}}
	})
}

func (s *scene) release() {
	s.patch(func(*api.Binding) map[string]any { return map[string]any{"gracefulEvictionTasks": nil} })
}

func without(b *api.Binding, cluster string) []api.TargetCluster {
	return slices.DeleteFunc(slices.Clone(b.Spec.Clusters), func(t api.TargetCluster) bool { return t.Name == cluster })
}

func (s *scene) copies(member string) []members.Workload {
	for _, m := range s.sim.Members() {
		if m.Name == member {
			return m.Workloads
		}
	}
	return nil
}

func (s *scene) awaitUnready(member string) {
	require.True(s.t, eventually(func() bool { return !s.cluster(member).IsReady() }))
}

func (s *scene) cluster(name string) *api.Cluster {
	return read[api.Cluster](s.t, s.client.Resource(api.Clusters), name)
}

var held = map[string]any{"suppressDeletion": true}

func refusesInvalid(s *scene) {
	s.create(1, "Duplicated", nil)
	taint := func(list ...corev1.Taint) error {
		_, err := api.MergePatch(s.t.Context(), s.client.Resource(api.Clusters), s.home, map[string]any{"spec": map[string]any{"taints": list}})
		return err
	}
	require.True(s.t, apierrors.IsInvalid(taint(corev1.Taint{Key: "k", Effect: "PreferNoExecute"})))
	require.True(s.t, apierrors.IsInvalid(taint(corev1.Taint{Key: "k", Effect: "PreferNoSchedule"})))
	require.True(s.t, apierrors.IsInvalid(taint(
		corev1.Taint{Key: "k", Value: "a", Effect: "NoExecute"}, corev1.Taint{Key: "k", Value: "b", Effect: "NoExecute"})))

	task := func(field string, value any) error {
		full := map[string]any{"fromCluster": "x", "reason": "Test", "producer": "test"}
		full[field] = value
		var err error
		require.True(s.t, eventually(func() bool { // the scheduler writes too
			err = s.patchSpec(map[string]any{"gracefulEvictionTasks": []any{full}})
			return !apierrors.IsConflict(err)
		}))
		return err
	}
	require.True(s.t, apierrors.IsInvalid(task("purgeMode", "Immediately")))
	require.True(s.t, apierrors.IsInvalid(task("reason", "no spaces")))
	require.True(s.t, apierrors.IsInvalid(task("reason", strings.Repeat("a", 33))))
	require.True(s.t, apierrors.IsInvalid(task("message", strings.Repeat("a", 1025))))
}

func putsBack(s *scene) {
	s.create(4, "Divided", map[string]string{api.FaultPutBack: s.home})
	s.await("scheduled", settled(s.home, s.away))
	s.evict(held)
	s.await("put back although the task stands", func(b *api.Binding) bool {
		return b.Target(s.home) != nil && b.Task(s.home) != nil && b.Target(s.home).Replicas == 2
	})
	s.await("the scheduler is content with it", func(b *api.Binding) bool {
		return b.Status.SchedulerObservedGeneration == b.Generation
	})
	s.evict(held)
	s.await("honest the second time", settled(s.away))
}

func putsBackAfterRelease(s *scene) {
	s.create(2, "Duplicated", map[string]string{api.FaultPutBackAfterRelease: s.home})
	s.await("scheduled", settled(s.home))
	s.evict(held)
	s.await("moved", settled(s.away))
	s.release()
	s.await("back on the old cluster", settled(s.home))
	require.True(s.t, eventually(func() bool { return len(s.copies(s.away)) == 0 }), "and off the other")
}

func directlyDeadlocks(s *scene) {
	s.create(2, "Duplicated", nil)
	s.await("scheduled", settled(s.home))
	require.NoError(s.t, s.sim.Kill(s.home))
	s.awaitUnready(s.home)
	s.evict(map[string]any{"suppressDeletion": true, "purgeMode": "Directly"})
	s.await("placed elsewhere", func(b *api.Binding) bool { return b.Target(s.away) != nil })
	works := s.client.Resource(api.Works)
	require.True(s.t, eventually(func() bool {
		old, err := works.Namespace(api.ExecutionNamespace(s.home)).List(s.t.Context(), metav1.ListOptions{})
		require.NoError(s.t, err)
		return len(old.Items) == 1 && old.Items[0].GetDeletionTimestamp() != nil
	}), "the old Work is being deleted and stays")
	created, err := works.Namespace(api.ExecutionNamespace(s.away)).List(s.t.Context(), metav1.ListOptions{})
	require.NoError(s.t, err)
	require.Empty(s.t, created.Items, "nothing is created while it stands")
	s.release()
	s.await("dropping the task unblocks it", settled(s.away))
	require.Len(s.t, s.copies(s.home), 1, "and the dead member still has its copy")
	require.NoError(s.t, s.sim.Revive(s.home))
	require.True(s.t, eventually(func() bool { return len(s.copies(s.home)) == 0 }), "until it is back")
}

func directlyDeletesFirst(s *scene) {
	s.create(2, "Duplicated", nil)
	s.await("scheduled", settled(s.home))
	s.evict(map[string]any{"suppressDeletion": true, "purgeMode": "Directly"})
	s.await("moved", settled(s.away))
	require.Empty(s.t, s.copies(s.home))
}

func endsByHealth(s *scene) {
	s.create(2, "Duplicated", map[string]string{api.FaultNeverReadyOn: s.away})
	s.await("scheduled", settled(s.home))
	s.evict(nil)
	s.await("the new copy is not healthy", func(b *api.Binding) bool {
		task := b.Task(s.home)
		return healthOf(b, s.away) == "Unhealthy" && task != nil && task.CreationTimestamp != nil
	})
	require.Len(s.t, s.copies(s.home), 1)
	s.annotate(api.FaultNeverReadyOn, nil)
	s.await("done when it is", func(b *api.Binding) bool { return b.Task(s.home) == nil })
	require.True(s.t, eventually(func() bool { return len(s.copies(s.home)) == 0 }))
}

func statusOfADeadMember(s *scene) {
	s.create(3, "Duplicated", map[string]string{api.FaultStuckReadyAt: s.home + "=2"})
	s.await("healthy with two of three ready", func(b *api.Binding) bool {
		return healthOf(b, s.home) == "Healthy" && b.Status.AggregatedStatus[0].Status["readyReplicas"] == int64(2)
	})
	before := s.get()
	require.NoError(s.t, s.sim.Kill(s.home))
	s.awaitUnready(s.home)
	require.Equal(s.t, before.Status.AggregatedStatus, s.get().Status.AggregatedStatus, "death changes nothing on paper")
}

func leavesAndJoins(s *scene) {
	s.create(2, "Duplicated", nil)
	s.await("scheduled", settled(s.home))
	gone := func() bool {
		_, err := s.client.Resource(api.Clusters).Get(s.t.Context(), s.home, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}
	require.NoError(s.t, s.sim.Kill(s.home))
	s.awaitUnready(s.home)
	require.NoError(s.t, s.sim.Leave(s.home))
	s.await("moved off", settled(s.away))
	require.True(s.t, eventually(gone))
	require.True(s.t, eventually(func() bool { return s.sim.Kill(s.home) != nil }), "its API server ends right after its object")
	require.NoError(s.t, s.sim.Join(karmada.MemberSpec{Name: s.home, Zone: "z1"}))
	require.Equal(s.t, []string{"z1"}, s.cluster(s.home).Spec.Zones)
	s.evictTo(s.away)
	s.await("the joined cluster serves", settled(s.home))
}

// evictTo evicts from the other member, so that home is all that is left.
func (s *scene) evictTo(from string) {
	s.patch(func(b *api.Binding) map[string]any {
		return map[string]any{"clusters": without(b, from), "gracefulEvictionTasks": []any{
			map[string]any{"fromCluster": from, "reason": "Test", "producer": "test", "suppressDeletion": true},
		}}
	})
}

func keepsCopies(t *testing.T, w *world, o karmada.Options) {
	uids := func() map[string]string {
		all := map[string]string{}
		for _, m := range w.sim.Members() {
			for _, copied := range m.Workloads {
				all[m.Name+"/"+copied.Name] = copied.UID
			}
		}
		return all
	}
	before := uids()
	require.NotEmpty(t, before)
	require.NoError(t, w.sim.Close())
	again, err := karmada.Start(t.Context(), w.cfg, o)
	require.NoError(t, err)
	defer func() { require.NoError(t, again.Close()) }()
	w.sim = again
	// A case ends with what it asks for, and a copy may still have been on its way: there may be more.
	after := uids()
	for copied, uid := range before {
		require.Equal(t, uid, after[copied], copied)
	}
}
