package failover_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

func softly(change ...func(*failover.Binding)) *failover.Binding {
	b := with(duplicated("m1"), func(b *failover.Binding) { b.HasClusterFailover = true })
	return with(b, change...)
}

func TestHowLongASoftTaintIsBorneIsTheFieldThenTheAnnotationThenThePolicysThenTheDefault(t *testing.T) {
	for name, tc := range map[string]struct {
		binding *failover.Binding
		policy  string // the annotation of its policy
		want    int64  // -1: not moved by soft taints at all; -2: not understood
	}{
		"nobody says anything":              {softly(), "", 300},
		"the policy's annotation":           {softly(), "60", 60},
		"the binding's own wins":            {softly(annotated(failover.AnnotationTolerationSeconds, "20")), "60", 20},
		"the API's field wins over both":    {softly(annotated(failover.AnnotationTolerationSeconds, "20"), func(b *failover.Binding) { b.SoftTolerationSeconds = ptr(int64(5)) }), "60", 5},
		"the field may say zero":            {softly(func(b *failover.Binding) { b.SoftTolerationSeconds = ptr(int64(0)) }), "60", 0},
		"an annotation that is no number":   {softly(annotated(failover.AnnotationTolerationSeconds, "5m")), "60", -2},
		"one below zero":                    {softly(annotated(failover.AnnotationTolerationSeconds, "-1")), "", -2},
		"the policy's that is no number":    {softly(), "soon", -2},
		"one without spec.failover.cluster": {duplicated("m1"), "60", -1},
	} {
		t.Run(name, func(t *testing.T) {
			p := failover.PolicyOf(tc.binding, nil).ReadSoft(tc.policy)
			require.True(t, p.SoftRead())
			due := failover.DueUnder(p, []corev1.Taint{softTaint("s", t0)}, at(1))
			switch tc.want {
			case -1:
				require.Equal(t, failover.Due{Reason: failover.ReasonTolerated}, due)
			case -2:
				require.Contains(t, p.SoftMalformed, failover.AnnotationTolerationSeconds)
				require.Equal(t, failover.Due{Reason: failover.ReasonMalformed}, due)
			default:
				require.True(t, due.Affected)
				require.True(t, t0.Add(time.Duration(tc.want)*time.Second).Equal(due.At), due.At)
				require.Equal(t, failover.EffectPreferNoExecute, due.Taint.Effect)
			}
		})
	}
}

func TestDueUnderSoftTaints(t *testing.T) {
	bears := func(seconds int64, tolerations ...corev1.Toleration) failover.Policy {
		return failover.Policy{ClusterFailover: true, SoftSeconds: &seconds, Tolerations: tolerations}
	}
	for name, tc := range map[string]struct {
		policy   failover.Policy
		taints   []corev1.Taint
		affected bool
		at       time.Time
		by       string
		reason   failover.Reason
	}{
		"due when its seconds have run out": {bears(60), []corev1.Taint{softTaint("s", at(5))}, true, at(65), "s", failover.ReasonTolerationExpired},
		"the earliest of several counts":    {bears(60), []corev1.Taint{softTaint("s", at(5)), softTaint("r", t0)}, true, at(60), "r", failover.ReasonTolerationExpired},
		"clusterTolerations play no part":   {bears(60, tolerate(""), tolerate("s")), []corev1.Taint{softTaint("s", at(5))}, true, at(65), "s", failover.ReasonTolerationExpired},
		"a taint without a clock moves nothing": {
			bears(60), []corev1.Taint{softTaint("s", time.Time{})}, false, time.Time{}, "", failover.ReasonTolerated,
		},
		"what was not read is not guessed at": {
			failover.Policy{ClusterFailover: true}, []corev1.Taint{softTaint("s", t0)}, false, time.Time{}, "", failover.ReasonPolicyUnread,
		},
		"both kinds: the hard one when it is earlier": {
			bears(60), []corev1.Taint{softTaint("s", at(5)), noExecute("h", at(40))}, true, at(40), "h", failover.ReasonTaintUntolerated,
		},
		"both kinds: the soft one when it is earlier": {
			bears(10), []corev1.Taint{softTaint("s", at(5)), noExecute("h", at(40))}, true, at(15), "s", failover.ReasonTolerationExpired,
		},
		"both at the same time: the hard one is named": {
			bears(35), []corev1.Taint{softTaint("s", at(5)), noExecute("h", at(40))}, true, at(40), "h", failover.ReasonTaintUntolerated,
		},
		"a hard one tolerated for ever leaves the soft one": {
			bears(60, tolerate("h")), []corev1.Taint{softTaint("s", at(5)), noExecute("h", t0)}, true, at(65), "s", failover.ReasonTolerationExpired,
		},
		"a hard one moves what cannot say how long it bears soft ones": {
			failover.Policy{ClusterFailover: true, SoftMalformed: "x"},
			[]corev1.Taint{softTaint("s", at(5)), noExecute("h", at(40))},
			true, at(40), "h", failover.ReasonTaintUntolerated,
		},
		"and its trouble is named where the hard one is tolerated": {
			failover.Policy{ClusterFailover: true, SoftMalformed: "x", Tolerations: []corev1.Toleration{tolerate("h")}},
			[]corev1.Taint{softTaint("s", at(5)), noExecute("h", at(40))},
			false,
			time.Time{},
			"", failover.ReasonMalformed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			due := failover.DueUnder(tc.policy, tc.taints, at(100))
			require.Equal(t, tc.affected, due.Affected)
			require.Equal(t, tc.reason, due.Reason)
			require.True(t, tc.at.Equal(due.At), "due at %s, want %s", due.At, tc.at)
			require.Equal(t, tc.by, due.Taint.Key)
		})
	}
}

// Adding a soft taint makes nothing later, and moves nothing that has no spec.failover.cluster.
func TestASoftTaintOnlyEverMakesABindingDueEarlier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		taints, tolerations := drawTaints(t), drawTolerations(t)
		p := failover.Policy{Tolerations: tolerations, ClusterFailover: rapid.Bool().Draw(t, "soft"), SoftSeconds: ptr(rapid.Int64Range(0, 300).Draw(t, "bears"))}
		before := failover.DueUnder(p, taints, at(100))
		after := failover.DueUnder(p, append(taints, softTaint("soft", at(rapid.IntRange(0, 100).Draw(t, "stands since")))), at(100))
		switch {
		case !p.ClusterFailover && (before.Affected != after.Affected || !before.At.Equal(after.At)):
			t.Fatalf("moved by a soft taint without spec.failover.cluster: %+v, then %+v", before, after)
		case before.Affected && (!after.Affected || after.At.After(before.At)):
			t.Fatalf("made later by a soft taint: %+v, then %+v", before, after)
		case p.ClusterFailover && !after.Affected:
			t.Fatalf("not moved by a soft taint: %+v", after)
		}
	})
}
