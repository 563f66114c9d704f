package failover_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.7-16, R4.7-17.
func TestPlaced(t *testing.T) {
	noFit := scheduled(corev1.ConditionFalse, failover.ScheduledNoClusterFit, t0)
	unaccepted := scheduled(corev1.ConditionFalse, "Unschedulable", t0)
	unset := func(b *failover.Binding) { b.Status.Scheduled = nil }
	for name, tc := range map[string]struct {
		binding *failover.Binding
		reason  failover.Reason
		message string
	}{
		"settled elsewhere":                                        {duplicated("m2", "m3"), failover.ReasonPlaced, "placed on m2, m3"},
		"the failed cluster is back":                               {duplicated("m2", "m1"), failover.ReasonPutBack, "m1 is among the targets m1, m2"},
		"nothing is never placed":                                  {duplicated(), failover.ReasonNotPlaced, "no target cluster"},
		"nothing is never placed, though the scheduler is content": {with(nonWorkload(), generation(7, 7)), failover.ReasonNotPlaced, "no target cluster"},
		"nothing fits":                                             {with(duplicated(), noFit, generation(3, 2)), failover.ReasonNoClusterFit, "found no cluster"},
		"an old no-fit is no news with targets":                    {with(duplicated("m2"), noFit), failover.ReasonNotPlaced, "has not accepted"},
		"the scheduler has yet to look":                            {with(duplicated("m2"), generation(3, 2)), failover.ReasonNotPlaced, "seen generation 2 of 3"},
		"it never looked":                                          {with(duplicated("m2"), unset), failover.ReasonNotPlaced, "has not accepted its targets m2"},
		"it could not place all replicas":                          {with(duplicated("m2"), unaccepted), failover.ReasonNotPlaced, "has not accepted"},
		"the scheduler says why not": {
			with(duplicated(), scheduled(corev1.ConditionFalse, "SchedulerError", t0), func(b *failover.Binding) { b.Status.Scheduled.Message = "estimator: refused" }),
			failover.ReasonNotPlaced, "no target cluster; Scheduled=False, SchedulerError: estimator: refused",
		},
		"divided replicas that add up need no True": {with(divided([]failover.TargetCluster{on("m2", 3)}), unset), failover.ReasonPlaced, "placed on m2"},
		"divided replicas that do not, do": {
			with(divided([]failover.TargetCluster{on("m2", 3)}), unset, func(b *failover.Binding) { b.Replicas = 4 }), failover.ReasonNotPlaced, "has not accepted",
		},
		"divided into nothing adds up to nothing": {
			with(divided([]failover.TargetCluster{on("m2", 0)}), unset), failover.ReasonNotPlaced, "has not accepted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := failover.Placed(tc.binding, "m1")
			require.Equal(t, tc.reason, v.Reason)
			require.Equal(t, tc.reason == failover.ReasonPlaced, v.OK)
			require.Contains(t, v.Message, tc.message)
		})
	}
}

// Rules: R4.9-19, R4.9-20.
func TestAnswered(t *testing.T) {
	ours := func(since time.Time) func(*failover.Binding) {
		return func(b *failover.Binding) {
			hold := held("m1", 2)
			hold.CreationTimestamp = &since
			b.Tasks = append(b.Tasks, hold)
		}
	}
	foreign := func(b *failover.Binding) {
		b.Tasks = []failover.Task{{FromCluster: "m1", Producer: "TaintManager", CreationTimestamp: &t0}}
	}
	noFit := func(since time.Time) func(*failover.Binding) {
		return scheduled(corev1.ConditionFalse, failover.ScheduledNoClusterFit, since)
	}
	for name, tc := range map[string]struct {
		binding *failover.Binding
		reason  failover.Reason
		ok      bool
	}{
		"it has observed our generation":           {with(duplicated(), generation(5, 5)), failover.ReasonNone, true},
		"it has observed a later one":              {with(duplicated(), generation(7, 6)), failover.ReasonNone, true},
		"it has not looked since":                  {with(duplicated(), generation(5, 4), ours(t0)), failover.ReasonRestoreUnanswered, false},
		"it said that nothing fits, after ours":    {with(duplicated(), generation(5, 4), ours(t0), noFit(at(2))), failover.ReasonNoClusterFit, true},
		"in the same second, as the API stores it": {with(duplicated(), generation(5, 4), ours(t0.Add(400*time.Millisecond)), noFit(t0)), failover.ReasonNoClusterFit, true},
		"it had said so before":                    {with(duplicated(), generation(5, 4), ours(at(5)), noFit(at(2))), failover.ReasonRestoreUnanswered, false},
		"it could not place all replicas":          {with(duplicated(), generation(5, 4), ours(t0), scheduled(corev1.ConditionFalse, "Unschedulable", at(2))), failover.ReasonNotPlaced, true},
		"an old success is no answer":              {with(duplicated(), generation(5, 4), ours(t0), scheduled(corev1.ConditionTrue, "Success", at(2))), failover.ReasonRestoreUnanswered, false},
		"without a task of ours nothing is timed":  {with(duplicated(), generation(5, 4), foreign, noFit(at(2))), failover.ReasonRestoreUnanswered, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := failover.Answered(tc.binding, 5)
			require.Equal(t, tc.ok, v.OK, v.Message)
			require.Equal(t, tc.reason, v.Reason)
			require.NotEmpty(t, v.Message)
		})
	}
}
