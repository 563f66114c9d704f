package proof_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.7-16, R4.7-17, R4.6-18.
func TestPlaced(t *testing.T) {
	noFit := scheduled(corev1.ConditionFalse, proof.ScheduledNoClusterFit, fixtures.T0)
	unaccepted := scheduled(corev1.ConditionFalse, "Unschedulable", fixtures.T0)
	unset := func(b *karmada.Binding) { b.Status.Scheduled = nil }
	zero := func(b *karmada.Binding) { b.Replicas, b.HasRequirements = 0, true }
	for name, tc := range map[string]struct {
		binding *karmada.Binding
		reason  reason.Reason
		held    bool // though it has 0 replicas
		message string
	}{
		"settled elsewhere":                                        {binding: duplicated("m2", "m3"), reason: reason.Placed, message: "on m2, m3"},
		"the failed cluster is back":                               {binding: duplicated("m2", "m1"), reason: reason.PutBack, message: "m1 is among the targets m1, m2"},
		"nothing is never placed":                                  {binding: duplicated(), reason: reason.NotPlaced, message: "no target cluster"},
		"nothing is never placed, though the scheduler is content": {binding: with(nonWorkload(), generation(7, 7)), reason: reason.NotPlaced, message: "no target cluster"},
		"nothing fits":                                             {binding: with(duplicated(), noFit, generation(3, 2)), reason: reason.NoClusterFit, message: "found no cluster"},
		"an old no-fit is no news with targets":                    {binding: with(duplicated("m2"), noFit), reason: reason.NotPlaced, message: "has not accepted"},
		"the scheduler has yet to look":                            {binding: with(duplicated("m2"), generation(3, 2)), reason: reason.NotPlaced, message: "seen generation 2 of 3"},
		"it never looked":                                          {binding: with(duplicated("m2"), unset), reason: reason.NotPlaced, message: "has not accepted its targets m2"},
		"it could not place all replicas":                          {binding: with(duplicated("m2"), unaccepted), reason: reason.NotPlaced, message: "has not accepted"},
		"the scheduler says why not": {
			binding: with(duplicated(), scheduled(corev1.ConditionFalse, "SchedulerError", fixtures.T0), func(b *karmada.Binding) { b.Status.Scheduled.Message = "estimator: refused" }),
			reason:  reason.NotPlaced, message: "no target cluster; Scheduled=False, SchedulerError: estimator: refused",
		},
		"divided replicas that add up need no True": {binding: with(divided(on("m2", 3)), unset), reason: reason.Placed, message: "on m2"},
		"divided replicas that do not, do": {
			binding: with(divided(on("m2", 3)), unset, func(b *karmada.Binding) { b.Replicas = 4 }), reason: reason.NotPlaced, message: "has not accepted",
		},
		"Karmada applies nothing": {
			binding: with(duplicated("m2"), func(b *karmada.Binding) { b.DispatchingSuspended = true }), reason: reason.DispatchingSuspended, message: "to m2 is suspended",
		},
		"Karmada applies nothing on one of its targets": {
			binding: with(duplicated("m2", "m3"), func(b *karmada.Binding) { b.SuspendedOn = []string{"m3"} }), reason: reason.DispatchingSuspended, message: "to m3 is suspended",
		},
		"Karmada applies nothing on one where it ran before": {
			binding: with(duplicated("m2", "m3"), func(b *karmada.Binding) {
				hold := fixtures.Held("m1", 2)
				hold.ClustersBeforeFailover = []string{"m1", "m3"}
				b.Tasks, b.SuspendedOn = []karmada.Task{hold}, []string{"m3"}
			}),
			reason: reason.Placed, message: "on m2, m3",
		},
		"Karmada applies nothing on another cluster": {
			binding: with(duplicated("m2"), func(b *karmada.Binding) { b.SuspendedOn = []string{"m1", "m3"} }), reason: reason.Placed, message: "on m2",
		},
		"divided into nothing adds up to nothing": {
			binding: with(divided(on("m2", 0)), unset), reason: reason.NotPlaced, message: "has not accepted",
		},
		"0 replicas":                                   {binding: with(duplicated(), zero), reason: reason.NoReplicas, message: "spec.replicas is 0"},
		"0 replicas, divided":                          {binding: with(divided(), zero), reason: reason.NoReplicas, message: "on no cluster"},
		"0 replicas, on clusters all the same":         {binding: with(duplicated("m2"), zero), reason: reason.Placed, message: "on m2"},
		"0 replicas, the failed cluster is back":       {binding: with(duplicated("m1"), zero), reason: reason.PutBack, message: "m1"},
		"0 replicas, the scheduler has yet to look":    {binding: with(duplicated(), zero, generation(3, 2)), reason: reason.NoReplicas, held: true, message: "spec.replicas is 0; the scheduler has seen"},
		"0 replicas, and nothing fits":                 {binding: with(duplicated(), zero, noFit), reason: reason.NoReplicas, held: true, message: "Scheduled=False, NoClusterFit"},
		"0 replicas, divided, and nothing fitted":      {binding: with(divided(), zero, noFit), reason: reason.NoReplicas, held: true, message: "Scheduled=False, NoClusterFit"},
		"0 replicas, and the scheduler failed":         {binding: with(divided(), zero, unaccepted), reason: reason.NoReplicas, held: true, message: "spec.replicas is 0; the scheduler has seen"},
		"0 replicas, the scheduler never looked":       {binding: with(divided(), zero, unset), reason: reason.NoReplicas, held: true, message: "spec.replicas is 0; the scheduler has seen"},
		"0 replicas, and no policy claims it":          {binding: with(duplicated(), zero, func(b *karmada.Binding) { b.Unclaimed = true }), reason: reason.NoReplicas, held: true, message: "spec.replicas is 0, and no policy claims it"},
		"0 replicas, and its scheduling is suspended":  {binding: with(duplicated(), zero, func(b *karmada.Binding) { b.SchedulingSuspended = true }), reason: reason.NoReplicas, held: true, message: "spec.replicas is 0, and its scheduling is suspended"},
		"0 replicas, and its dispatching is suspended": {binding: with(duplicated(), zero, func(b *karmada.Binding) { b.DispatchingSuspended = true }), reason: reason.NoReplicas, held: true, message: "spec.replicas is 0, and spec.suspension.dispatching is set"},
		"0 replicas, by another scheduler":             {binding: with(duplicated(), zero, func(b *karmada.Binding) { b.SchedulerName = "own" }), reason: reason.NoReplicas, held: true, message: "spec.replicas is 0, and scheduler \"own\""},
		"0 replicas, beside components":                {binding: with(duplicated(), zero, func(b *karmada.Binding) { b.Components = []karmada.Component{{Name: "a", Replicas: 1}} }), reason: reason.NotPlaced, message: "no target cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			v := proof.Placed(tc.binding, "m1")
			require.Equal(t, tc.reason, v.Reason)
			require.Equal(t, tc.reason == reason.Placed || tc.reason == reason.NoReplicas && !tc.held, v.OK)
			require.Contains(t, v.Message, tc.message)
		})
	}
}

// Rules: R4.9-19, R4.9-20.
func TestAnswered(t *testing.T) {
	heldSince := func(since time.Time) func(*karmada.Binding) {
		return func(b *karmada.Binding) {
			hold := fixtures.Held("m1", 2)
			hold.CreationTimestamp = &since
			b.Tasks = append(b.Tasks, hold)
		}
	}
	foreign := func(b *karmada.Binding) {
		b.Tasks = []karmada.Task{{FromCluster: "m1", Producer: "TaintManager", CreationTimestamp: &fixtures.T0}}
	}
	noFit := func(since time.Time) func(*karmada.Binding) {
		return scheduled(corev1.ConditionFalse, proof.ScheduledNoClusterFit, since)
	}
	for name, tc := range map[string]struct {
		binding *karmada.Binding
		again   time.Time
		reason  reason.Reason
		ok      bool
	}{
		"it had said so before it was written again":  {binding: with(duplicated(), generation(5, 4), heldSince(fixtures.T0), noFit(fixtures.At(2))), again: fixtures.At(3), reason: reason.RestoreUnanswered, ok: false},
		"it said so after it was written again":       {binding: with(duplicated(), generation(5, 4), heldSince(fixtures.T0), noFit(fixtures.At(4))), again: fixtures.At(3), reason: reason.NoClusterFit, ok: true},
		"it has observed Lifeboat's generation":       {binding: with(duplicated(), generation(5, 5)), reason: reason.None, ok: true},
		"it has observed a later one":                 {binding: with(duplicated(), generation(7, 6)), reason: reason.None, ok: true},
		"it has not looked since":                     {binding: with(duplicated(), generation(5, 4), heldSince(fixtures.T0)), reason: reason.RestoreUnanswered, ok: false},
		"it said that nothing fits, after Lifeboat's": {binding: with(duplicated(), generation(5, 4), heldSince(fixtures.T0), noFit(fixtures.At(2))), reason: reason.NoClusterFit, ok: true},
		"in the same second, as the API stores it":    {binding: with(duplicated(), generation(5, 4), heldSince(fixtures.T0.Add(400*time.Millisecond)), noFit(fixtures.T0)), reason: reason.NoClusterFit, ok: true},
		"no policy claims it, so it never looks":      {binding: with(duplicated(), generation(5, 4), heldSince(fixtures.T0), func(b *karmada.Binding) { b.Unclaimed = true }), reason: reason.None, ok: true},
		"it had said so before":                       {binding: with(duplicated(), generation(5, 4), heldSince(fixtures.At(5)), noFit(fixtures.At(2))), reason: reason.RestoreUnanswered, ok: false},
		"it could not place all replicas":             {binding: with(duplicated(), generation(5, 4), heldSince(fixtures.T0), scheduled(corev1.ConditionFalse, "Unschedulable", fixtures.At(2))), reason: reason.NotPlaced, ok: true},
		"an old success is no answer":                 {binding: with(duplicated(), generation(5, 4), heldSince(fixtures.T0), scheduled(corev1.ConditionTrue, "Success", fixtures.At(2))), reason: reason.RestoreUnanswered, ok: false},
		"without a Lifeboat task nothing is timed":    {binding: with(duplicated(), generation(5, 4), foreign, noFit(fixtures.At(2))), reason: reason.RestoreUnanswered, ok: false},
	} {
		t.Run(name, func(t *testing.T) {
			v := proof.Answered(tc.binding, 5, tc.again)
			require.Equal(t, tc.ok, v.OK, v.Message)
			require.Equal(t, tc.reason, v.Reason)
			require.NotEmpty(t, v.Message)
		})
	}
}

// Rules: R4.9-20, R4.9-24.
func TestIgnored(t *testing.T) {
	for name, tc := range map[string]struct {
		binding *karmada.Binding
		want    string
	}{
		"it answers":            {binding: duplicated("m1")},
		"its scheduling is off": {binding: with(duplicated("m1"), func(b *karmada.Binding) { b.SchedulingSuspended = true }), want: "its scheduling is suspended"},
		"another scheduler's":   {binding: with(duplicated("m1"), func(b *karmada.Binding) { b.SchedulerName = "own" }), want: "scheduler \"own\""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := proof.Ignored(tc.binding); tc.want == "" {
				require.Empty(t, got)
			} else {
				require.Contains(t, got, tc.want)
			}
		})
	}
}
