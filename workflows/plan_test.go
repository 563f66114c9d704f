package workflows_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// plan foresees the failure of m1 at this moment.
func (s *story) plan() activities.Foresight {
	s.t.Helper()
	snapshot, err := activities.TakeSnapshot(s.t.Context(), s.world, nil)
	require.NoError(s.t, err)
	now := s.env.Now()
	planner := activities.NewPlanner(snapshot.Failed("m1", now), s.world, s.world, s.settings)
	f, err := planner.Foresee(s.t.Context(), activities.ForeseeRequest{Cluster: "m1", At: now})
	require.NoError(s.t, err)
	return f
}

// room gives a cluster a summary: room for so many pods.
func (s *story) room(cluster string, pods int64) {
	s.world.ChangeCluster(cluster, func(c *karmada.Cluster) {
		c.Capacity = &karmada.Capacity{
			Allocatable: corev1.ResourceList{
				corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI), corev1.ResourceCPU: resource.MustParse("1000"),
			},
			Allocated: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(0, resource.DecimalSI)},
		}
	})
}

// divide shares a binding's replicas out by room.
func (s *story) divide(key karmada.BindingKey) {
	s.world.Change(key, func(b *karmada.Binding) {
		b.Placement.ReplicaScheduling = &karmada.ReplicaScheduling{Type: karmada.SchedulingDivided, DivisionPreference: "Aggregated"}
		b.Request = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	})
}

// dueOfEvictions are the due times that evictions were asked for with, by binding.
func (s *story) dueOfEvictions() map[string]time.Time {
	due := map[string]time.Time{}
	s.env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, args converter.EncodedValues) {
		var r activities.EvictRequest
		if info.ActivityType.Name == activities.NameEvict && args.Get(&r) == nil {
			due[r.Key.Name] = r.DueAt
		}
	})
	return due
}

// variety is a fleet in which every prospect occurs.
func (s *story) variety() {
	edit := func(name string, change func(*karmada.Binding)) karmada.BindingKey {
		key := s.bind(name, []string{"m1"}, "m1", "m2", "m3")
		if change != nil {
			s.world.Change(key, change)
		}
		return key
	}
	for i := range 4 {
		edit(fmt.Sprintf("app%d", i), func(b *karmada.Binding) { b.Priority = int32(i % 2) })
	}
	s.bind("stuck", []string{"m1"}, "m1")
	s.bind("wide", []string{"m1", "m2"}, "m1", "m2", "m3")
	s.tolerates(edit("patient", nil), 90)
	s.tolerates(edit("urgent", func(b *karmada.Binding) { b.Priority = 7 }), 40)
	edit("stoic", func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	})
	edit("exempt", func(b *karmada.Binding) { b.Annotations = map[string]string{karmada.AnnotationEnabled: "false"} })
	stateful := edit("stateful", nil)
	s.purging(stateful, karmada.PurgeDirectly)
	s.preserving(stateful)
	s.world.Collect(stateful, "m1", `{"jobStatus":{"checkpoint":17}}`)
	edit("contested", func(b *karmada.Binding) {
		b.Tasks = []karmada.Task{{FromCluster: "m1", Producer: "resource-binding-application-failover-controller", Reason: "ApplicationFailure"}}
	})
	edit("broken", func(b *karmada.Binding) { b.Malformed = "spec.placement: no" })
	s.purging(edit("lonely", nil), karmada.PurgeDirectly)
	softly := s.bindSoftly("softly", "30")
	s.world.Change(softly, func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = []corev1.Toleration{{Key: taintKey, Operator: corev1.TolerationOpExists}}
	})
	for i := range 5 {
		s.divide(edit(fmt.Sprintf("piece%d", i), nil))
	}
	// Four apps come first, of two replicas each; then there is room for two of the pieces.
	s.room("m2", 4*2+2*2)
	s.room("m3", 0)
	s.world.AddRule(rules.Rule{
		Name: "slow-after-a-while",
		MatchConditions: []rules.MatchCondition{{
			ConditionType: "Ready", Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionFalse},
		}},
		Taints: []karmada.RuleTaint{{Key: softKey, Effect: karmada.EffectPreferNoExecute, AddOnMatch: addAfter + time.Minute, RemoveOnMismatch: wellFor}},
	})
}

// A plan and the failover that follows agree about every binding: whether it moves,
// what keeps it, when it is due, in which order they go, and where to.
func TestAPlanSaysOfEveryBindingWhatThenHappens(t *testing.T) {
	s := newStory(t)
	s.world.HealthyAfter = time.Hour // what moved stays on its way, so that its room stays promised
	s.variety()
	plan := s.plan()
	require.Equal(t, storyBegins.Add(addAfter), plan.Confirmed)

	s.world.SetReady("m1", false)
	due := s.dueOfEvictions()
	var after workflows.FailoverStatus
	targets := map[string][]string{}
	s.at(6*time.Minute, func() {
		after = s.status()
		for _, f := range plan.Bindings {
			b := s.world.Peek(f.Key)
			for _, c := range b.Clusters {
				targets[f.Key.Name] = append(targets[f.Key.Name], c.Name)
			}
		}
		s.order(workflows.UpdateCancel, "seen enough")
		s.world.SetReady("m1", true)
	})
	s.play()

	evictions := s.world.Log("evict")
	var order []string
	for _, f := range plan.Bindings {
		name := f.Key.Name
		at := slices.IndexFunc(evictions, func(w world.Write) bool { return w.Binding == f.Key.String() })
		item := slices.IndexFunc(after.Items, func(i queue.Item) bool { return i.Key == f.Key })
		switch f.Prospect {
		case activities.ProspectMoves:
			require.GreaterOrEqual(t, at, 0, "%s was to move: %+v", name, after.Items)
			require.WithinDuration(t, f.Due, due[name], 2*time.Second, name)
			require.False(t, evictions[at].At.Before(f.Begins), "%s went before its turn", name)
			require.Subset(t, f.Candidates, slices.DeleteFunc(targets[name], func(c string) bool { return c == "m1" }), name)
			require.NotContains(t, targets[name], "m1", name)
			order = append(order, name)
		case activities.ProspectBlocked:
			require.Negative(t, at, "%s was to be blocked", name)
			require.GreaterOrEqual(t, item, 0, name)
			require.Equal(t, queue.Blocked, after.Items[item].State, name)
			require.Equal(t, f.Reason, after.Items[item].Reason, name)
		case activities.ProspectFence:
			require.Negative(t, at, name)
			require.Equal(t, phase.MigrationAwaitingFence, after.Moves[f.Key.String()].Phase, name)
		case activities.ProspectStays:
			require.Negative(t, at, name)
			if item >= 0 {
				require.Equal(t, queue.Idle, after.Items[item].State, name)
			}
		}
	}
	var went []string
	for _, w := range evictions {
		went = append(went, w.Binding[len("shop/"):])
	}
	require.Equal(t, went, order, "they go in the order of the plan")

	prospects := map[activities.Prospect]int{}
	for _, f := range plan.Bindings {
		prospects[f.Prospect]++
	}
	require.Equal(t, map[activities.Prospect]int{
		activities.ProspectMoves: 10, activities.ProspectBlocked: 7, activities.ProspectFence: 1, activities.ProspectStays: 2,
	}, prospects, "every prospect occurs")
}
