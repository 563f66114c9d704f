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
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/bindingmigration"
	"github.com/lifeboat-failover/lifeboat/workflows/clusterfailover"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	corev1 "k8s.io/api/core/v1"
)

// explain asks m1's failover about one binding.
func (s *story) explain(key karmada.BindingKey) workflows.Explanation {
	s.t.Helper()
	value, err := s.env.QueryWorkflowByID(workflows.ClusterFailoverID("", "m1"), workflows.QueryExplain, workflows.ExplainRequest{Binding: key})
	require.NoError(s.t, err)
	var x workflows.Explanation
	require.NoError(s.t, value.Get(&x))
	return x
}

// What moves has the priority that it waited with; a move of an earlier attempt has no policy of this one.
func TestWhatMovesIsExplainedByItsOwnPolicy(t *testing.T) {
	s := newStory(t)
	s.world.HealthyAfter = 30 * time.Minute
	key := s.bind("a", []string{"m1"}, "m1", "m2")
	s.world.Change(key, func(b *karmada.Binding) { b.Priority = 100 })
	s.outage(2 * time.Minute)
	s.at(100*time.Second, func() {
		x := s.explain(key)
		require.NotNil(t, x.Move)
		require.EqualValues(t, 100, x.Priority)
		require.NotNil(t, x.Policy)
	})
	s.at(4*time.Minute, func() {
		s.tolerates(s.bind("0z", []string{"m1"}, "m1", "m2"), 7777)
		s.world.SetReady("m1", false)
	})
	s.at(6*time.Minute, func() {
		x := s.explain(key)
		require.Equal(t, 2, x.Attempt)
		require.NotNil(t, x.Move)
		require.Nil(t, x.Policy, "the newcomer's is none of its")
		require.Zero(t, x.DueAt)
	})
	s.at(7*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(8*time.Minute, func() { s.order(workflows.UpdateCancel, "done") })
	s.run()
}

func TestEachBindingsReasonsAreToldFromTheRuleToWhatItWaitsFor(t *testing.T) {
	s := newStory(t)
	moved := s.bind("moved", []string{"m1"}, "m1", "m2")
	patient, later := s.bind("patient", []string{"m1"}, "m1", "m2"), s.bind("later", []string{"m1"}, "m1", "m2")
	stuck := s.bind("stuck", []string{"m1"}, "m1")
	s.tolerates(patient, 600)
	s.tolerates(later, 900)
	s.outage(2 * time.Minute)
	s.at(30*time.Second, func() {
		x := s.explain(moved)
		require.False(t, x.Known(), "nothing is listed before the failure is confirmed")
		require.True(t, x.Unlisted)
		require.Equal(t, phase.FailoverSuspected, x.Phase)
		require.Equal(t, "not-ready", x.Rules[0].Rule)
		require.True(t, x.Rules[0].Deadline.Equal(storyBegins.Add(addAfter)))
	})
	s.at(2*time.Minute-time.Second, func() {
		x := s.explain(patient)
		require.Equal(t, queue.Tolerating, x.Item.State)
		require.False(t, x.Unlisted)
		require.Len(t, x.Taints, 1)
		require.Equal(t, int64(600), *x.Taints[0].Toleration.TolerationSeconds)
		require.True(t, x.DueAt.Equal(x.Taints[0].Until), "nothing stood still")
		require.Equal(t, reason.TolerationExpired, x.Why.Reason)
		require.Zero(t, x.Ahead)
		require.Equal(t, 1, s.explain(later).Ahead)
		x = s.explain(stuck)
		require.Equal(t, reason.Pinned, x.Item.Reason)
		require.Equal(t, reason.TaintUntolerated, x.Taints[0].Reason)
		require.Nil(t, x.Taints[0].Toleration)
		x = s.explain(moved)
		require.Equal(t, phase.OutcomeMigrated, x.Results[0].Outcome)
		require.Nil(t, x.Item)
		require.False(t, s.explain(karmada.BindingKey{Namespace: "shop", Name: "none"}).Known())
	})
	s.play()
}

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
		c.Capacity = &karmada.Capacity{Allocatable: fixtures.Quantities("pods", pods, "cpu", 1000), Allocated: fixtures.Quantities("pods", 0)}
	})
}

// divide shares a binding's replicas out by room.
func (s *story) divide(key karmada.BindingKey) {
	s.world.Change(key, func(b *karmada.Binding) {
		b.Placement.ReplicaScheduling = &karmada.ReplicaScheduling{Type: karmada.SchedulingDivided, DivisionPreference: "Aggregated"}
		b.Request = fixtures.Quantities("cpu", 1)
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
	s.world.AddRule(whileFalse("slow-after-a-while", "Ready", karmada.RuleTaint{
		Key: softKey, Effect: karmada.EffectPreferNoExecute, AddOnMatch: addAfter + time.Minute, RemoveOnMismatch: wellFor,
	}))
}

// A plan and the failover that follows agree about every binding: whether it moves,
// what keeps it, when it is due, in which order they go, and where to.
func TestAPlanSaysOfEveryBindingWhatThenHappens(t *testing.T) {
	s := newStory(t)
	s.world.HealthyAfter = time.Hour // what moved stays on its way, so that its room stays promised
	s.variety()
	plan := s.plan()
	require.Equal(t, storyBegins.Add(addAfter), plan.Confirmed)

	s.outage(6 * time.Minute)
	due := s.dueOfEvictions()
	var after workflows.FailoverStatus
	targets := map[string][]string{}
	s.at(6*time.Minute-time.Second, func() {
		after = s.status()
		for _, f := range plan.Bindings {
			b := s.world.Peek(f.Key)
			for _, c := range b.Clusters {
				targets[f.Key.Name] = append(targets[f.Key.Name], c.Name)
			}
		}
		s.order(workflows.UpdateCancel, "seen enough")
	})
	s.playTo(phase.FailoverCancelled)

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
			require.Equal(t, phase.MigrationAwaitingFence, after.Migrations[f.Key.String()].Phase, name)
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

// The next attempt begins with nothing that held for one attempt; older attempts keep their counts,
// and the newest ones some of their results.
func TestNextAttempt_ArchivesTheOneThatIsOver(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	s := workflows.FailoverState{Attempt: 1, Since: now, Phase: phase.FailoverSettling}
	s.Ledger.Reset()
	for n := range 4 {
		s.Listed, s.ClosedAt, s.Judged = now, now, "down"
		s.Approvals, s.Asking = []workflows.Approval{{}}, []queue.ApprovalRule{queue.AskReplicas}
		s.Items = []queue.Item{{}}
		for i := range 600 {
			s.Ledger.Record(record.Result{Key: karmada.BindingKey{Name: fmt.Sprint(i)}, Outcome: phase.OutcomeKept}, false)
		}
		now = now.Add(time.Hour)
		over := s.NextAttempt(now)
		require.Equal(t, n+1, over.Attempt)
		require.Equal(t, now, over.Until)
		require.Len(t, over.Results, 600)
		require.Equal(t, n+2, s.Attempt)
		require.Equal(t, now, s.Since)
		require.Zero(t, s.Listed)
		require.Zero(t, s.ClosedAt)
		require.Empty(t, s.Judged)
		require.Zero(t, len(s.Items)+len(s.Approvals)+len(s.Asking)+len(s.Results))
	}
	for n, past := range s.Past {
		require.Equal(t, map[string]int{"Kept": 600}, past.Counts)
		if n < len(s.Past)-2 {
			require.Empty(t, past.Results)
			continue
		}
		require.Len(t, past.Results, 500)
		require.Equal(t, 100, past.Folded)
	}
	require.Len(t, s.Report("member1", now).Attempts, 5)
}

// Somebody starts a second failover of a cluster, or a second migration of a binding, by
// hand: under another id it ends before it has done anything.
func TestAWorkflowUnderAnotherIDEndsAtOnce(t *testing.T) {
	key := karmada.BindingKey{Namespace: "shop", Name: "cart"}
	st := workflows.MigrationState{Ref: activities.MigrationRef{Cluster: "m1", Key: key}}
	for name, tc := range map[string]struct {
		id   string
		args any
		runs any
	}{
		"a failover":                       {id: workflows.ClusterFailoverID("", "m1") + "-2", args: workflows.ClusterFailoverParams{Cluster: "m1"}, runs: clusterfailover.Workflow},
		"a failover of another cluster":    {id: workflows.ClusterFailoverID("", "m2"), args: workflows.ClusterFailoverParams{Cluster: "m1"}, runs: clusterfailover.Workflow},
		"a failover of another instance":   {id: workflows.ClusterFailoverID("", "m1"), args: workflows.ClusterFailoverParams{Cluster: "m1", Instance: "east"}, runs: clusterfailover.Workflow},
		"a migration":                      {id: "by-hand", args: workflows.BindingMigrationParams{State: st}, runs: bindingmigration.Workflow},
		"a migration from another cluster": {id: workflows.BindingMigrationID("", "m2", key), args: workflows.BindingMigrationParams{State: st}, runs: bindingmigration.Workflow},
		"a migration that claims to go on": {id: "by-hand", args: workflows.BindingMigrationParams{State: withPhase(st)}, runs: bindingmigration.Workflow},
		"a migration under its failover's": {id: workflows.ClusterFailoverID("", "m1"), args: workflows.BindingMigrationParams{State: st}, runs: bindingmigration.Workflow},
		"a failover that claims to go on":  {id: "by-hand", args: workflows.ClusterFailoverParams{Cluster: "m1", State: &workflows.FailoverState{Phase: phase.FailoverEvacuating}}, runs: clusterfailover.Workflow},
	} {
		t.Run(name, func(t *testing.T) {
			env := (&testsuite.WorkflowTestSuite{}).NewTestWorkflowEnvironment()
			env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: tc.id, TaskQueue: "lifeboat"})
			env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
				t.Errorf("it does %s", info.ActivityType.Name)
			})
			env.ExecuteWorkflow(tc.runs, tc.args)
			var refused *temporal.ApplicationError
			require.ErrorAs(t, env.GetWorkflowError(), &refused)
			require.Equal(t, "Misnamed", refused.Type())
			require.True(t, refused.NonRetryable())
		})
	}
}

func withPhase(st workflows.MigrationState) workflows.MigrationState {
	st.Phase, st.Began = phase.MigrationPlacing, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return st
}
