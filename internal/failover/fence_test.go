package failover_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

var diedAt = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

// readySince is a cluster whose Ready condition has said so since a moment.
func readySince(status corev1.ConditionStatus, at time.Time) failover.Cluster {
	return failover.Cluster{Name: "m1", Conditions: []failover.Condition{{
		Type: failover.ConditionReady, Status: status, LastTransition: at,
	}}}
}

func TestAFenceIsAboutOneOutage(t *testing.T) {
	fence := func(at time.Time) *failover.Fence {
		return &failover.Fence{By: failover.FenceByHuman, Who: "jane", Message: "power is off", At: at}
	}
	dead := readySince(corev1.ConditionFalse, diedAt)
	for name, tc := range map[string]struct {
		fence  *failover.Fence
		source failover.Cluster
		stands bool
	}{
		"given after it died":                        {fence(diedAt.Add(time.Minute)), dead, true},
		"Ready Unknown is no answer either":          {fence(diedAt.Add(time.Minute)), readySince(corev1.ConditionUnknown, diedAt), true},
		"nobody gave one":                            {nil, dead, false},
		"without a moment it is none":                {&failover.Fence{By: "bmc"}, dead, false},
		"given before it died (again)":               {fence(diedAt.Add(-time.Minute)), dead, false},
		"given in the very second of the change":     {fence(diedAt.Add(400 * time.Millisecond)), dead, false},
		"the cluster answers: what it says is void":  {fence(diedAt.Add(time.Minute)), readySince(corev1.ConditionTrue, diedAt), false},
		"a cluster that says nothing proves nothing": {fence(diedAt.Add(time.Minute)), failover.Cluster{Name: "m1"}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.stands, tc.fence.Stands(tc.source)) })
	}
}

// Users lost exactly-once jobs because nothing asked whether the old side was dead.
func TestKarmada5006OnlyDirectlyOnASilentClusterNeedsAFence(t *testing.T) {
	alive, dead := readySince(corev1.ConditionTrue, diedAt), readySince(corev1.ConditionFalse, diedAt)
	given := &failover.Fence{By: "bmc", At: diedAt.Add(time.Minute)}
	require.True(t, failover.NeedsFence(failover.PurgeDirectly, dead, nil))
	require.False(t, failover.NeedsFence(failover.PurgeDirectly, dead, given))
	require.False(t, failover.NeedsFence(failover.PurgeDirectly, alive, nil), "Karmada deletes the old copy itself")
	require.False(t, failover.NeedsFence(failover.PurgeGracefully, dead, nil))
	require.False(t, failover.NeedsFence(failover.PurgeNever, dead, nil))
}

// Rules: R4.8-9, R4.8-13.
func TestTheHoldOfADirectlyMoveGoesOnlyWithTheOldCopy(t *testing.T) {
	alive, dead := readySince(corev1.ConditionTrue, diedAt), readySince(corev1.ConditionFalse, diedAt)
	given := &failover.Fence{By: failover.FenceByHuman, Who: "jane", Message: "power is off", At: diedAt.Add(time.Minute)}
	void := &failover.Fence{By: failover.FenceByHuman, Who: "jane", Message: "power is off", At: diedAt.Add(-time.Minute)}
	for name, tc := range map[string]struct {
		copy    failover.OldCopy
		ok      bool
		reason  failover.Reason
		message string
	}{
		"Karmada has deleted it":              {failover.OldCopy{Source: alive, Gone: true}, true, failover.ReasonPurged, "deleted"},
		"gone, and then the source died":      {failover.OldCopy{Source: dead, Gone: true}, true, failover.ReasonPurged, "deleted"},
		"being deleted":                       {failover.OldCopy{Source: alive}, false, failover.ReasonOldCopyGoing, "m1 first"},
		"a fence does not count for the live": {failover.OldCopy{Source: alive, Fence: given}, false, failover.ReasonOldCopyGoing, "m1 first"},
		"fenced":                              {failover.OldCopy{Source: dead, Fence: given}, true, failover.ReasonFenced, "human jane: power is off"},
		"nobody vouches":                      {failover.OldCopy{Source: dead}, false, failover.ReasonAwaitingFence, "does not answer"},
		"a word from before":                  {failover.OldCopy{Source: dead, Fence: void}, false, failover.ReasonAwaitingFence, "is void"},
	} {
		t.Run(name, func(t *testing.T) {
			v := tc.copy.Dead()
			require.Equal(t, tc.ok, v.OK)
			require.Equal(t, tc.reason, v.Reason)
			require.Contains(t, v.Message, tc.message)
		})
	}
}
