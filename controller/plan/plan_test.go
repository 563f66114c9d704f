package plan

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/mocks"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const taintKey = "failover.example.org/down"

// fleet has three clusters, a rule, and bindings on m1 and m2.
func fleet(t *testing.T) (*world.World, Source) {
	t.Helper()
	w := world.New(func() time.Time { return now })
	for _, name := range []string{"m1", "m2", "m3"} {
		w.AddCluster(name)
	}
	w.AddRule(rules.Rule{
		Name: "not-ready",
		MatchConditions: []rules.MatchCondition{{
			ConditionType: "Ready", Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionFalse},
		}},
		Taints: []karmada.RuleTaint{{Key: taintKey, Effect: corev1.TaintEffectNoExecute, AddOnMatch: time.Minute}},
	})
	bind(w, "cart", 0, "m1", "m2")
	bind(w, "till", 5, "m1", "m1")
	bind(w, "other", 0, "m2", "m3")
	settings := activities.Settings{Terms: world.Terms(), Pace: world.Pace()}
	return w, Source{Karmada: w, Settings: settings, Away: errors.New("no route"), Now: func() time.Time { return now }}
}

// Rules: R4.13-5, R4.13-6.
func TestApplication_JudgesEachCopyAsIfItsTimeWereOver(t *testing.T) {
	w, source := fleet(t)
	of := func(name string) (string, Application) {
		b := w.Peek(karmada.BindingKey{Namespace: "shop", Name: name})
		a := fixtures.Must(source.Application(t.Context(), &b))(t)
		var out strings.Builder
		View{Page: show.Page{Out: &out, Now: now}}.Application(a)
		return out.String(), a
	}
	text, a := of("cart")
	require.Contains(t, text, "it has no spec.failover.application")
	require.False(t, a.Follows)

	for _, name := range []string{"cart", "till"} {
		w.Change(karmada.BindingKey{Namespace: "shop", Name: name}, func(b *karmada.Binding) {
			b.Application = &karmada.ApplicationFailover{TolerationSeconds: 300}
			b.Status.Aggregated = []karmada.AggregatedItem{{Cluster: "m1", Applied: true, Health: karmada.HealthUnhealthy}}
		})
	}
	text, a = of("cart")
	require.Equal(t, activities.ProspectMoves, a.Copies[0].IfOver.Prospect)
	require.Regexp(t, `m1 +Unhealthy +Moves +m2`, text)
	text, a = of("till")
	require.Equal(t, activities.ProspectBlocked, a.Copies[0].IfOver.Prospect)
	require.Contains(t, text, string(reason.NoTarget))
}

func bind(w *world.World, name string, priority int32, on, may string) {
	w.AddBinding(karmada.Binding{
		Key: karmada.BindingKey{Namespace: "shop", Name: name}, Replicas: 2, Priority: priority, SchedulerName: karmada.DefaultSchedulerName,
		Resource: karmada.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name},
		Clusters: []karmada.TargetCluster{{Name: on, Replicas: 2}},
		Placement: &karmada.Placement{
			ClusterAffinity:   &karmada.ClusterAffinity{ClusterNames: []string{on, may}},
			ReplicaScheduling: &karmada.ReplicaScheduling{Type: karmada.SchedulingDuplicated},
		},
	})
}

func draw(t *testing.T, render func(View)) string {
	t.Helper()
	var out strings.Builder
	render(View{Page: show.Page{Out: &out, Now: now}, Rows: 5})
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), show.Width, line)
	}
	return out.String()
}

func TestPlan_HealthyCluster_CountsItsBindings(t *testing.T) {
	_, s := fleet(t)
	p := fixtures.Must(s.Cluster(t.Context(), "m1"))(t)
	require.Equal(t, now.Add(time.Minute), p.Confirmed)
	require.Equal(t, Totals{Migrations: 1, Blocked: 1}, p.Totals)
	require.Equal(t, []PriorityTotal{
		{Priority: 5, Totals: Totals{Blocked: 1}}, {Priority: 0, Totals: Totals{Migrations: 1}, Ends: now.Add(time.Minute)},
	}, p.Priorities)
	require.Equal(t, []string{"Temporal: no route"}, p.Unread)
	require.Equal(t, []string{"m1"}, p.Pace.Faulty, "the fleet as it would be")

	text := draw(t, func(v View) { v.Cluster(p) })
	fixtures.ContainsAll(t, text,
		"m1, if it failed now (observe mode)", "Confirmed +1m", "not-ready "+taintKey+":NoExecute Matches, ConditionsMatch: its taint would stand +1m",
		"1 would move, 1 could not", "shop/cart", "NoTarget", "Not read: Temporal: no route",
	)
}

func TestPlan_UnknownCluster_IsNotFound(t *testing.T) {
	_, s := fleet(t)
	require.ErrorIs(t, fixtures.Err(s.Cluster(t.Context(), "m9")), ErrNotFound)
}

func TestPlan_WithoutARule_MovesNothing(t *testing.T) {
	w, s := fleet(t)
	w.ClearRules()
	p := fixtures.Must(s.Cluster(t.Context(), "m1"))(t)
	require.Equal(t, Totals{Stays: 2}, p.Totals)
	require.Contains(t, draw(t, func(v View) { v.Cluster(p) }), "no rule would put a taint that moves bindings")
	w.ChangeCluster("m1", func(c *karmada.Cluster) { c.Annotations = map[string]string{karmada.AnnotationEnabled: "false"} })
	p = fixtures.Must(s.Cluster(t.Context(), "m1"))(t)
	require.Contains(t, draw(t, func(v View) { v.Cluster(p) }), "the cluster is opted out")
}

func TestAll_WorstClusterComesFirst(t *testing.T) {
	_, s := fleet(t)
	plans := fixtures.Must(s.All(t.Context()))(t)
	var names []string
	for _, p := range plans {
		names = append(names, p.Cluster)
		require.Empty(t, p.Bindings)
	}
	require.Equal(t, []string{"m1", "m2", "m3"}, names)
	require.Equal(t, 1, strings.Count(draw(t, func(v View) { v.All(plans) }), "no route"), "each note once")
	require.Contains(t, draw(t, func(v View) { v.All(nil) }), "no cluster")
}

func TestWorse_ComparesStuckBindingsThenTheEnd(t *testing.T) {
	urgent := Plan{Foresight: activities.Foresight{Cluster: "urgent"}, Priorities: []PriorityTotal{{Priority: 9, Totals: Totals{AwaitsFence: 1}}}}
	many := Plan{Foresight: activities.Foresight{Cluster: "many"}, Priorities: []PriorityTotal{{Priority: 0, Totals: Totals{Blocked: 50}}}}
	long := Plan{Foresight: activities.Foresight{Cluster: "long"}, Ends: now.Add(time.Hour)}
	short := Plan{Foresight: activities.Foresight{Cluster: "short"}, Ends: now, Totals: Totals{Migrations: 9}}
	require.Negative(t, worse(urgent, many))
	require.Negative(t, worse(many, long))
	require.Negative(t, worse(long, short))
	require.Positive(t, worse(short, urgent))
}

func TestPlan_AddsUpMissingCapacity(t *testing.T) {
	var p Plan
	need := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourcePods: resource.MustParse("2")}
	blocked := activities.Foreseen{Prospect: activities.ProspectBlocked, Reason: reason.NoCapacity, Need: need}
	p.take(activities.Foresight{Bindings: []activities.Foreseen{blocked, blocked}})
	require.Equal(t, "3 cpu, 4 pods", resources(p.Deficit))
	require.Contains(t, draw(t, func(v View) { v.Cluster(p) }), "for 3 cpu, 4 pods")
}

// answers are the statuses of workflows by id; all others do not run.
func answers(t *testing.T, s Source, by map[string]any) Source {
	t.Helper()
	c := mocks.NewClient(t)
	for id, answer := range by {
		c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query(id, workflows.QueryStatus)).Return(flowtest.Answer(answer), nil)
	}
	c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query("", workflows.QueryStatus)).Return(nil, serviceerror.NewNotFound("none")).Maybe()
	s.Status = &status.Source{Client: c}
	return s
}

func TestPlan_RunningFailover_ShowsWhatIsLeft(t *testing.T) {
	w, s := fleet(t)
	w.PutTaint("m1", corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoExecute})
	bind(w, "slow", 0, "m1", "m2")
	st := workflows.FailoverStatus{}
	st.Phase, st.Paused = phase.FailoverEvacuating, &workflows.Order{Who: "ada", Reason: "wait"}
	st.Migrations = map[string]workflows.Migration{"shop/cart": {Key: key("cart")}}
	st.Counts = map[string]int{"Migrated": 3}
	st.Items = []queue.Item{{Key: key("slow"), Policy: 0}}
	st.Policy = []rules.Policy{{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists, TolerationSeconds: fixtures.Ptr(int64(600))}}}}
	st.Frozen = []rules.Interval{{From: now, To: now.Add(time.Minute)}}
	slow := workflows.ScopedOrder{Scope: queue.ScopeOf(key("slow"))}
	st.Snoozes = []workflows.Snooze{{ScopedOrder: slow, Until: now.Add(20 * time.Minute)}}
	st.Pauses = []workflows.ScopedPause{{ScopedOrder: slow}}
	st.Priorities = []workflows.Priority{{ScopedOrder: slow, Priority: 100}}
	pacer := workflows.PacerStatus{}
	pacer.Pace = pace.Pace{Tier: pace.TierNormal, Rate: 1}
	pacer.Orders.Halted, pacer.Orders.HaltReason = &workflows.Order{Who: "ada"}, reason.HaltedByOperator
	s = answers(t, s, map[string]any{"cluster-failover/m1": st, "fleet-pacer": pacer})

	p := fixtures.Must(s.Cluster(t.Context(), "m1"))(t)
	require.Equal(t, 1, p.Underway)
	require.Equal(t, 3, p.Settled)
	require.Len(t, p.Bindings, 2, "what is on its way is not left")
	require.Equal(t, pace.TierHalted, p.Pace.Tier)
	for _, b := range p.Bindings {
		require.True(t, b.Begins.IsZero(), "no turn comes while nothing is issued")
		if b.Binding == "shop/slow" {
			require.Equal(t, now.Add(20*time.Minute), b.Due, "its snooze ends after its toleration does")
			require.Equal(t, reason.Paused, b.Reason)
			require.EqualValues(t, 100, b.Priority)
		}
	}
	text := draw(t, func(v View) { v.Cluster(p) })
	fixtures.ContainsAll(t, text, "3 done, 1 moving", "Paused    by ada: wait", "never, while the fleet's pace is halted")

	st.StandingOrders, pacer.Orders.Halted = workflows.StandingOrders{}, nil
	p = fixtures.Must(answers(t, s, map[string]any{"cluster-failover/m1": st, "fleet-pacer": pacer}).Cluster(t.Context(), "m1"))(t)
	require.Equal(t, "shop/slow", p.Bindings[1].Binding)
	require.Equal(t, now.Add(11*time.Minute), p.Bindings[1].Due, "its frozen policy, and a clock that stood still for a minute")
	require.Equal(t, p.Bindings[1].Due, p.Bindings[1].Begins)

	p = fixtures.Must(answers(t, s, map[string]any{}).Cluster(t.Context(), "m2"))(t)
	require.Equal(t, []string{"pacer: not running"}, p.Unread)
}

// silent does not answer which copy is held.
type silent struct{}

func (silent) OldWork(context.Context, string) (*karmada.Work, error) {
	return nil, errors.New("no answer")
}

// chained has the cart moved from m1 to m2 by a migration that runs and holds its copy on
// m1, which is well again.
func chained(t *testing.T) (*world.World, Source) {
	t.Helper()
	w, s := fleet(t)
	const owner = "binding-migration/m1/shop/cart"
	cart := fixtures.Must(w.Binding(t.Context(), key("cart")))(t)
	_, err := w.Evict(t.Context(), activities.EvictWrite{Binding: &cart, Cluster: "m1", Owner: owner, Now: now})
	require.NoError(t, err)
	w.Change(key("cart"), func(b *karmada.Binding) {
		b.Clusters = []karmada.TargetCluster{{Name: "m2", Replicas: 2}}
		b.Status.ObservedGeneration = b.Generation
	})
	w.SetRunning(owner, true)
	s.Owners, s.Migrations = w, w
	return w, s
}

// A plan reads which copy is held, as the write does.
//
// Rules: R4.9-29, R4.9-30.
func TestPlan_Swap_NeedsTheHeldCopy(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*world.World, *Source)
		swaps   bool
	}{
		"the held copy stands": {arrange: func(*world.World, *Source) {}, swaps: true},
		"another one stands under its name": {arrange: func(w *world.World, _ *Source) {
			work, _ := w.StandingWork(key("cart"), "m1")
			w.DropWork(work.Namespace, work.Name)
			work.UID = "another"
			w.PutWork(work)
		}, swaps: false},
		"its migration does not answer": {arrange: func(_ *world.World, s *Source) { s.Migrations = silent{} }, swaps: false},
		"its migration does not run":    {arrange: func(w *world.World, _ *Source) { w.SetRunning("binding-migration/m1/shop/cart", false) }, swaps: false},
		"its cluster is not fit":        {arrange: func(w *world.World, _ *Source) { w.SetReady("m1", false) }, swaps: false},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := chained(t)
			c.arrange(w, &s)
			cart := fixtures.Must(s.Cluster(t.Context(), "m2"))(t).Bindings[0]
			require.Equal(t, "shop/cart", cart.Binding)
			if c.swaps {
				require.Equal(t, []string{"m1"}, cart.Candidates)
				require.Contains(t, cart.Message, "m1 has recovered and takes over again")
				return
			}
			require.NotContains(t, cart.Message, "takes over again")
		})
	}
}

func key(name string) karmada.BindingKey { return karmada.BindingKey{Namespace: "shop", Name: name} }
