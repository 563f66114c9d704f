package controllers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

func TestGracefulEvictionDropsATaskByTheFirstRuleThatApplies(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	settled := func(health string) *api.Binding {
		b := &api.Binding{ObjectMeta: metav1.ObjectMeta{Generation: 5}}
		b.Spec.Clusters = []api.TargetCluster{{Name: "m2"}}
		b.Status.SchedulerObservedGeneration = 5
		b.Status.AggregatedStatus = []api.AggregatedStatus{{ClusterName: "m2", Health: health}}
		return b
	}
	behind := settled("Healthy")
	behind.Generation = 6
	nowhere := settled("Unhealthy")
	nowhere.Spec.Clusters = nil
	elsewhere := settled("Healthy")
	elsewhere.Spec.Clusters[0].Name = "m3"

	cases := map[string]struct {
		binding *api.Binding
		task    api.EvictionTask
		age     time.Duration
		done    bool
	}{
		"held for ever with suppressDeletion":           {binding: settled("Healthy"), task: api.EvictionTask{SuppressDeletion: new(true)}, age: time.Hour, done: false},
		"let go at once without suppressDeletion":       {binding: settled("Unhealthy"), task: api.EvictionTask{SuppressDeletion: new(false)}, age: 0, done: true},
		"times out into deletion, whatever the health":  {binding: settled("Unhealthy"), task: api.EvictionTask{}, age: 11 * time.Minute, done: true},
		"its own grace period overrides the timeout":    {binding: settled("Unhealthy"), task: api.EvictionTask{GracePeriodSeconds: new(int32(3600))}, age: 11 * time.Minute, done: false},
		"done when the new copy is healthy":             {binding: settled("Healthy"), task: api.EvictionTask{}, age: 0, done: true},
		"waits while the new copy is not healthy":       {binding: settled("Unknown"), task: api.EvictionTask{}, age: 0, done: false},
		"waits while the scheduler is behind":           {binding: behind, task: api.EvictionTask{}, age: 0, done: false},
		"waits for a target without a status":           {binding: elsewhere, task: api.EvictionTask{}, age: 0, done: false},
		"vacuously done with no target at all":          {binding: nowhere, task: api.EvictionTask{}, age: 0, done: true},
		"purgeMode is never looked at, not even Never!": {binding: settled("Healthy"), task: api.EvictionTask{PurgeMode: "Never"}, age: 0, done: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.task.CreationTimestamp = new(metav1.NewTime(now.Add(-c.age)))
			require.Equal(t, c.done, isDone(c.binding, &c.task, now, 10*time.Minute))
		})
	}
}

func TestReadyFollowsAnObservationThatLasts(t *testing.T) {
	knobs := Knobs{}
	knobs.FailureThreshold.Duration, knobs.SuccessThreshold.Duration = 4*time.Second, 2*time.Second
	up := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue}
	down := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := &api.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}
	d := newDebouncer()
	at := func(second int, observed metav1.Condition) metav1.ConditionStatus {
		result := d.adjust(c, observed, knobs, start.Add(time.Duration(second)*time.Second))
		c.Status.Conditions = []metav1.Condition{result}
		return result.Status
	}
	require.Equal(t, down.Status, at(0, down), "the first observation counts at once")
	require.Equal(t, down.Status, at(1, up))
	require.Equal(t, up.Status, at(3, up), "two seconds up")
	require.Equal(t, up.Status, at(4, down))
	require.Equal(t, up.Status, at(7, down))
	require.Equal(t, up.Status, at(7, up), "a flap")
	require.Equal(t, up.Status, at(8, down), "starts the clock anew")
	require.Equal(t, up.Status, at(11, down))
	require.Equal(t, down.Status, at(12, down))
}

func TestTaintsFollowReadyAndOthersStay(t *testing.T) {
	mine := corev1.Taint{Key: "mine", Effect: corev1.TaintEffectNoExecute, TimeAdded: new(metav1.Now())}
	c := &api.Cluster{}
	c.Spec.Taints = []corev1.Taint{mine}
	taints, changed := conditionTaints(c)
	require.True(t, changed, "a cluster without condition is not ready")
	require.Equal(t, []string{"mine", api.TaintNotReady}, keysOf(taints))

	c.Spec.Taints = taints
	c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionUnknown}}
	taints, _ = conditionTaints(c)
	require.Equal(t, []string{"mine", api.TaintUnreachable}, keysOf(taints))

	c.Spec.Taints = taints
	c.Status.Conditions[0].Status = metav1.ConditionTrue
	taints, changed = conditionTaints(c)
	require.True(t, changed)
	require.Equal(t, []corev1.Taint{mine}, taints)

	c.Spec.Taints = taints
	_, changed = conditionTaints(c)
	require.False(t, changed)
}

func keysOf(taints []corev1.Taint) []string {
	var keys []string
	for _, taint := range taints {
		keys = append(keys, taint.Key)
	}
	return keys
}

func TestSchedulerErrorsBackOffToTenTimesTheFirstDelay(t *testing.T) {
	f := newSchedulerFaults()
	for _, want := range []int{1, 2, 4, 8, 10, 10} {
		require.Equal(t, time.Duration(want)*time.Second, f.backoff("b", time.Second))
	}
	f.settle("b")
	require.Equal(t, time.Second, f.backoff("b", time.Second))
}

func TestPreservedLabelsReachASingleNewCopyWhileItsTaskStands(t *testing.T) {
	labels := map[string]string{"state": "7"}
	binding := func(edit func(*api.Binding)) *api.Binding {
		b := &api.Binding{}
		b.Spec.Clusters = []api.TargetCluster{{Name: "m2"}}
		b.Spec.GracefulEvictionTasks = []api.EvictionTask{{
			FromCluster: "m1", PurgeMode: "Directly", PreservedLabelState: labels, ClustersBeforeFailover: []string{"m1"},
		}}
		edit(b)
		return b
	}
	last := api.EvictionTask{FromCluster: "m3", PurgeMode: "Directly"}
	for name, c := range map[string]struct {
		edit func(*api.Binding)
		want map[string]string
	}{
		"the one new copy":                    {edit: func(*api.Binding) {}, want: labels},
		"not once the task has gone":          {edit: func(b *api.Binding) { b.Spec.GracefulEvictionTasks = nil }},
		"not with Gracefully":                 {edit: func(b *api.Binding) { b.Spec.GracefulEvictionTasks[0].PurgeMode = "Gracefully" }},
		"not with two targets":                {edit: func(b *api.Binding) { b.Spec.Clusters = append(b.Spec.Clusters, api.TargetCluster{Name: "m4"}) }},
		"not where it served before":          {edit: func(b *api.Binding) { b.Spec.GracefulEvictionTasks[0].ClustersBeforeFailover = []string{"m2"} }},
		"of the last task in the list, alone": {edit: func(b *api.Binding) { b.Spec.GracefulEvictionTasks = append(b.Spec.GracefulEvictionTasks, last) }},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, preservedLabels(binding(c.edit), "m2")) })
	}
	manifest := object{"metadata": object{"name": "n"}}
	inject(manifest, labels)
	require.Equal(t, object{"metadata": object{"name": "n", "labels": object{"state": "7"}}}, manifest)
}

// Karmada copies the labels of a workload into the manifest of its Work, and not to its binding.
func TestManifest_CarriesTheLabelsOfTheTemplate(t *testing.T) {
	b := &api.Binding{}
	b.Spec.Resource = api.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Name: "n"}
	labels := func() any { return manifestFor(b, api.TargetCluster{Name: "m1"})["metadata"].(object)["labels"] } //nolint:errcheck,forcetypeassert // the simulation's own
	require.Nil(t, labels())
	b.Annotations = map[string]string{api.TemplateLabels: `{"app":"one"}`}
	require.Equal(t, object{"app": "one"}, labels())
	b.Annotations[api.TemplateLabels] = "no object"
	require.Nil(t, labels())
	b.Annotations[api.TemplateLabels] = `{"app":"one"}`
	manifest := manifestFor(b, api.TargetCluster{Name: "m1"})
	inject(manifest, map[string]string{"state": "7"})
	require.Equal(t, object{"app": "one", "state": "7"}, manifest["metadata"].(object)["labels"]) //nolint:errcheck,forcetypeassert // the simulation's own
}

func TestDependentsAreReadFromTheirParentsList(t *testing.T) {
	b := &api.Binding{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		api.AnnotationDependencies: `[{"apiVersion":"v1","kind":"ConfigMap","namespace":"default","name":"one:cfg"}]`,
	}}}
	listed := dependenciesOf(b)
	require.Len(t, listed, 1)
	require.Equal(t, "one.cfg-configmap", bindingName(listed[0]))
	b.Annotations[api.AnnotationDependencies] = "{"
	require.Empty(t, dependenciesOf(b))
}
