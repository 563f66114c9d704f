package activities_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.9-29, R4.9-30, R4.9-31.
func TestAPutBackLooksWhetherTheFormerClusterCanTakeOver(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*bench, *activities.RestoreRequest)
		reason  reason.Reason
	}{
		"it can": {arrange: func(*bench, *activities.RestoreRequest) {}, reason: reason.Written},
		"not Ready": {
			arrange: func(b *bench, _ *activities.RestoreRequest) { b.world.SetReady("m1", false) }, reason: reason.PutBackRefused,
		},
		"Lifeboat's taint does not go with it": {
			arrange: func(_ *bench, r *activities.RestoreRequest) { r.OursGo, r.Stopped = false, false }, reason: reason.PutBackRefused,
		},
		"a rule asks for Lifeboat's taint again": {
			arrange: func(b *bench, r *activities.RestoreRequest) {
				r.Stopped = false
				b.world.AddRule(rules.Rule{
					Name:            "quick",
					MatchConditions: []rules.MatchCondition{{ConditionType: "Ready", Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionTrue}}},
					Taints:          []karmada.RuleTaint{{Key: downKey, Effect: corev1.TaintEffectNoExecute}},
				})
			}, reason: reason.PutBackRefused,
		},
		"another hand's taint": {
			arrange: func(b *bench, _ *activities.RestoreRequest) {
				b.world.PutTaint("m1", corev1.Taint{Key: "x", Effect: corev1.TaintEffectNoExecute})
			}, reason: reason.PutBackRefused,
		},
		"its old Work is gone": {
			arrange: func(b *bench, _ *activities.RestoreRequest) { b.world.DropWork("karmada-es-m1", "shop-app") }, reason: reason.PutBackRefused,
		},
		"its old Work is going": {
			arrange: func(b *bench, r *activities.RestoreRequest) {
				b.world.PutWork(karmada.Work{Namespace: "karmada-es-m1", Name: "shop-app", Cluster: "m1", UID: r.OldWork.UID, Deleting: true})
			}, reason: reason.PutBackRefused,
		},
		"another Work took its place": {
			arrange: func(_ *bench, r *activities.RestoreRequest) { r.OldWork.UID = "older" }, reason: reason.PutBackRefused,
		},
		"Directly": {
			arrange: func(b *bench, r *activities.RestoreRequest) {
				b.world.Change(r.Key, func(x *karmada.Binding) { x.Tasks[0].PurgeMode = karmada.PurgeDirectly })
			}, reason: reason.PutBackRefused,
		},
		"nobody knows where it was": {
			arrange: func(b *bench, r *activities.RestoreRequest) {
				r.Baseline = proof.Baseline{}
				b.world.Change(r.Key, func(x *karmada.Binding) { x.Tasks[0].ClustersBeforeFailover = nil })
			}, reason: reason.PutBackRefused,
		},
		"the task alone knows where it was": {
			arrange: func(_ *bench, r *activities.RestoreRequest) { r.Baseline = proof.Baseline{} }, reason: reason.Written,
		},
		"another patch of the scheduler is on its way": {
			arrange: func(b *bench, r *activities.RestoreRequest) {
				b.world.Change(r.Key, func(x *karmada.Binding) { x.Generation += 2 })
				r.Generation = 99
			}, reason: reason.RestoreUnanswered,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.fail()
			evicted := b.evict()
			ref := b.ref(evicted)
			b.pass(20e9)
			b.world.SetReady("m1", true)
			r := activities.RestoreRequest{MoveRef: ref, PutBack: true, EvenIfFailing: true, OursGo: true, Stopped: true}
			r.OldWork = evicted.OldWork
			c.arrange(b, &r)
			out := must[activities.ActResult](b, activities.NameRestore, r)
			require.Equal(t, c.reason, out.Reason, "%+v", out)
			after := b.world.Peek(ref.Key)
			if c.reason != reason.Written {
				require.Empty(t, b.world.Log("restore"))
				require.Equal(t, "m2", after.Clusters[0].Name)
				return
			}
			require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 2}}, after.Clusters, "one write: it is back and the new one is out")
			require.Empty(t, after.Tasks)
			require.Len(t, b.world.Log("restore"), 1)
		})
	}
}

func TestARestoreStopsWhereTheClusterFailsAgain(t *testing.T) {
	b, ref := unplaced(t)
	b.world.SetReady("m1", false)
	out := must[activities.ActResult](b, activities.NameRestore, activities.RestoreRequest{MoveRef: ref})
	require.Equal(t, reason.ConditionsMatch, out.Reason)
	b.world.SetReady("m1", true)
	b.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	out = must[activities.ActResult](b, activities.NameRestore, activities.RestoreRequest{MoveRef: ref})
	require.Equal(t, reason.ConditionsMatch, out.Reason)
	require.Empty(t, b.world.Log("restore"))
	out = must[activities.ActResult](b, activities.NameRestore, activities.RestoreRequest{MoveRef: ref, EvenIfFailing: true})
	require.Equal(t, activities.ActDone, out.End, "a human who cancels has his way")
}

func TestAReleaseOnAHumansOrderNeverTakesTheLastCopy(t *testing.T) {
	b, ref := unplaced(t)
	out := must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MoveRef: ref, Ordered: true})
	require.Equal(t, activities.ActRefused, out.End)
	require.Len(t, b.world.Peek(ref.Key).Tasks, 1)
	b, ref = moved(t)
	out = must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MoveRef: ref, Ordered: true})
	require.Equal(t, activities.ActDone, out.End)
}
