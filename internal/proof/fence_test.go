package proof_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

var diedAt = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

// readySince is a cluster whose Ready condition has said so since a moment.
func readySince(status corev1.ConditionStatus, at time.Time) karmada.Cluster {
	return karmada.Cluster{Name: "m1", Conditions: []karmada.Condition{{
		Type: karmada.ConditionReady, Status: status, LastTransition: at,
	}}}
}

// The two clocks need not agree: a word counts for the outage that was seen when it was
// given, by Karmada's own moment, and for no other, however early or late it is.
//
// Rules: R4.8-14.
func TestAFenceIsAboutOneOutage(t *testing.T) {
	dead, unknown := readySince(corev1.ConditionFalse, diedAt), readySince(corev1.ConditionUnknown, diedAt)
	fence := func(given time.Duration, saw karmada.Cluster) *proof.Fence {
		return &proof.Fence{By: proof.FenceByOperator, Who: "jane", Message: "power is off", At: diedAt.Add(given), Outage: saw.Outage()}
	}
	for name, tc := range map[string]struct {
		fence  *proof.Fence
		source karmada.Cluster
		stands bool
	}{
		"given after it died":                        {fence: fence(time.Minute, dead), source: dead, stands: true},
		"Karmada's clock is an hour ahead":           {fence: fence(-time.Hour, dead), source: dead, stands: true},
		"Ready Unknown is no answer either":          {fence: fence(time.Minute, unknown), source: unknown, stands: true},
		"nobody gave one":                            {source: dead, stands: false},
		"of an older state: about no outage":         {fence: &proof.Fence{By: "bmc", At: diedAt.Add(time.Minute)}, source: dead, stands: false},
		"it came back and died again":                {fence: fence(time.Minute, readySince(corev1.ConditionFalse, diedAt.Add(-time.Minute))), source: dead, stands: false},
		"the same, with Karmada's clock behind":      {fence: fence(time.Hour, dead), source: readySince(corev1.ConditionFalse, diedAt.Add(time.Second)), stands: false},
		"it changed from False to Unknown":           {fence: fence(time.Minute, dead), source: unknown, stands: false},
		"the cluster answers: what it says is void":  {fence: fence(time.Minute, dead), source: readySince(corev1.ConditionTrue, diedAt), stands: false},
		"it answered when the word was given":        {fence: fence(time.Minute, readySince(corev1.ConditionTrue, diedAt)), source: dead, stands: false},
		"a cluster that says nothing proves nothing": {fence: fence(time.Minute, dead), source: karmada.Cluster{Name: "m1"}, stands: false},
		"nobody says since when":                     {fence: fence(time.Minute, readySince(corev1.ConditionFalse, time.Time{})), source: readySince(corev1.ConditionFalse, time.Time{}), stands: false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.stands, tc.fence.Stands(tc.source)) })
	}
}

// What a failover notes of the conditions names the outage as the cluster itself does.
func TestTurnsNameTheSameOutage(t *testing.T) {
	for _, c := range []karmada.Cluster{
		{Name: "m1"},
		readySince(corev1.ConditionTrue, diedAt), readySince(corev1.ConditionFalse, diedAt),
		readySince(corev1.ConditionUnknown, diedAt), readySince(corev1.ConditionFalse, time.Time{}),
	} {
		require.Equal(t, c.Outage(), rules.TurnsOf(c).Outage(), "%v", c.Conditions)
	}
	require.Equal(t, "False@2026-03-01T03:00:00Z", readySince(corev1.ConditionFalse, diedAt).Outage())
}

// Users lost exactly-once jobs because nothing asked whether the old side was dead.
func TestKarmada5006OnlyDirectlyOnASilentClusterNeedsAFence(t *testing.T) {
	alive, dead := readySince(corev1.ConditionTrue, diedAt), readySince(corev1.ConditionFalse, diedAt)
	given := &proof.Fence{By: "bmc", At: diedAt.Add(time.Minute), Outage: dead.Outage()}
	require.True(t, proof.NeedsFence(karmada.PurgeDirectly, dead, nil))
	require.False(t, proof.NeedsFence(karmada.PurgeDirectly, dead, given))
	require.False(t, proof.NeedsFence(karmada.PurgeDirectly, alive, nil), "Karmada deletes the old copy itself")
	require.False(t, proof.NeedsFence(karmada.PurgeGracefully, dead, nil))
	require.False(t, proof.NeedsFence(karmada.PurgeNever, dead, nil))
}

// Rules: R4.8-9, R4.8-13.
func TestTheHoldOfADirectlyMoveGoesOnlyWithTheOldCopy(t *testing.T) {
	alive, dead := readySince(corev1.ConditionTrue, diedAt), readySince(corev1.ConditionFalse, diedAt)
	given := &proof.Fence{By: proof.FenceByOperator, Who: "jane", Message: "power is off", At: diedAt.Add(time.Minute), Outage: dead.Outage()}
	void := &proof.Fence{By: proof.FenceByOperator, Who: "jane", Message: "power is off", At: diedAt.Add(time.Minute), Outage: readySince(corev1.ConditionFalse, diedAt.Add(-time.Hour)).Outage()}
	old := &proof.Fence{By: proof.FenceByOperator, Who: "jane", Message: "power is off", At: diedAt.Add(time.Minute)}
	for name, tc := range map[string]struct {
		copy    proof.OldCopy
		ok      bool
		reason  reason.Reason
		message string
	}{
		"Karmada has deleted it":              {copy: proof.OldCopy{Source: alive, Gone: true}, ok: true, reason: reason.Purged, message: "deleted"},
		"gone, and then the source died":      {copy: proof.OldCopy{Source: dead, Gone: true}, ok: true, reason: reason.Purged, message: "deleted"},
		"being deleted":                       {copy: proof.OldCopy{Source: alive}, ok: false, reason: reason.OldCopyGoing, message: "m1 first"},
		"a fence does not count for the live": {copy: proof.OldCopy{Source: alive, Fence: given}, ok: false, reason: reason.OldCopyGoing, message: "m1 first"},
		"fenced":                              {copy: proof.OldCopy{Source: dead, Fence: given}, ok: true, reason: reason.Fenced, message: "operator jane: power is off"},
		"nobody vouches":                      {copy: proof.OldCopy{Source: dead}, ok: false, reason: reason.AwaitingFence, message: "does not answer"},
		"a word from before":                  {copy: proof.OldCopy{Source: dead, Fence: void}, ok: false, reason: reason.AwaitingFence, message: "is void: the cluster has changed"},
		"a word of an older state":            {copy: proof.OldCopy{Source: dead, Fence: old}, ok: false, reason: reason.AwaitingFence, message: "is void: it does not say about which outage"},
	} {
		t.Run(name, func(t *testing.T) {
			v := tc.copy.Dead()
			require.Equal(t, tc.ok, v.OK)
			require.Equal(t, tc.reason, v.Reason)
			require.Contains(t, v.Message, tc.message)
		})
	}
}
