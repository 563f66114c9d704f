package rules_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

func softly(change ...func(*karmada.Binding)) *karmada.Binding {
	b := fixtures.With(fixtures.Duplicated("m1"), func(b *karmada.Binding) { b.HasClusterFailover = true })
	return fixtures.With(b, change...)
}

func TestHowLongASoftTaintIsBorneIsTheFieldThenTheAnnotationThenThePolicysThenTheDefault(t *testing.T) {
	for name, tc := range map[string]struct {
		binding *karmada.Binding
		policy  string // the annotation of its policy
		want    int64  // -1: not moved by soft taints at all; -2: not understood
	}{
		"nobody says anything":              {binding: softly(), want: 300},
		"the policy's annotation":           {binding: softly(), policy: "60", want: 60},
		"the binding's own wins":            {binding: softly(annotated(karmada.AnnotationTolerationSeconds, "20")), policy: "60", want: 20},
		"the API's field wins over both":    {binding: softly(annotated(karmada.AnnotationTolerationSeconds, "20"), func(b *karmada.Binding) { b.SoftTolerationSeconds = fixtures.Ptr(int64(5)) }), policy: "60", want: 5},
		"the field may say zero":            {binding: softly(func(b *karmada.Binding) { b.SoftTolerationSeconds = fixtures.Ptr(int64(0)) }), policy: "60", want: 0},
		"an annotation that is no number":   {binding: softly(annotated(karmada.AnnotationTolerationSeconds, "5m")), policy: "60", want: -2},
		"one below zero":                    {binding: softly(annotated(karmada.AnnotationTolerationSeconds, "-1")), want: -2},
		"the policy's that is no number":    {binding: softly(), policy: "soon", want: -2},
		"one without spec.failover.cluster": {binding: fixtures.Duplicated("m1"), policy: "60", want: -1},
	} {
		t.Run(name, func(t *testing.T) {
			p := rules.PolicyOf(tc.binding, nil).ReadSoft(tc.policy)
			require.True(t, p.SoftRead())
			due := rules.DueUnder(p, []corev1.Taint{fixtures.SoftTaint("s", fixtures.T0)}, fixtures.At(1))
			switch tc.want {
			case -1:
				require.Equal(t, rules.Due{Reason: reason.Tolerated}, due)
			case -2:
				require.Contains(t, p.SoftMalformed, karmada.AnnotationTolerationSeconds)
				require.Equal(t, rules.Due{Reason: reason.Malformed}, due)
			default:
				require.True(t, due.Affected)
				require.True(t, fixtures.T0.Add(time.Duration(tc.want)*time.Second).Equal(due.At), due.At)
				require.Equal(t, karmada.EffectPreferNoExecute, due.Taint.Effect)
			}
		})
	}
}

func TestDueUnderSoftTaints(t *testing.T) {
	bears := func(seconds int64, tolerations ...corev1.Toleration) rules.Policy {
		return rules.Policy{ClusterFailover: true, SoftSeconds: &seconds, Tolerations: tolerations}
	}
	for name, tc := range map[string]struct {
		policy   rules.Policy
		taints   []corev1.Taint
		affected bool
		at       time.Time
		by       string
		reason   reason.Reason
	}{
		"due when its seconds have run out": {policy: bears(60), taints: []corev1.Taint{fixtures.SoftTaint("s", fixtures.At(5))}, affected: true, at: fixtures.At(65), by: "s", reason: reason.TolerationExpired},
		"the earliest of several counts":    {policy: bears(60), taints: []corev1.Taint{fixtures.SoftTaint("s", fixtures.At(5)), fixtures.SoftTaint("r", fixtures.T0)}, affected: true, at: fixtures.At(60), by: "r", reason: reason.TolerationExpired},
		"clusterTolerations play no part":   {policy: bears(60, fixtures.Tolerate(""), fixtures.Tolerate("s")), taints: []corev1.Taint{fixtures.SoftTaint("s", fixtures.At(5))}, affected: true, at: fixtures.At(65), by: "s", reason: reason.TolerationExpired},
		"a taint without a clock moves nothing": {
			policy: bears(60), taints: []corev1.Taint{fixtures.SoftTaint("s", time.Time{})}, affected: false, at: time.Time{}, reason: reason.Tolerated,
		},
		"what was not read is not guessed at": {
			policy: rules.Policy{ClusterFailover: true}, taints: []corev1.Taint{fixtures.SoftTaint("s", fixtures.T0)}, affected: false, at: time.Time{}, reason: reason.PolicyUnread,
		},
		"both kinds: the hard one when it is earlier": {
			policy: bears(60), taints: []corev1.Taint{fixtures.SoftTaint("s", fixtures.At(5)), fixtures.NoExecute("h", fixtures.At(40))}, affected: true, at: fixtures.At(40), by: "h", reason: reason.TaintUntolerated,
		},
		"both kinds: the soft one when it is earlier": {
			policy: bears(10), taints: []corev1.Taint{fixtures.SoftTaint("s", fixtures.At(5)), fixtures.NoExecute("h", fixtures.At(40))}, affected: true, at: fixtures.At(15), by: "s", reason: reason.TolerationExpired,
		},
		"both at the same time: the hard one is named": {
			policy: bears(35), taints: []corev1.Taint{fixtures.SoftTaint("s", fixtures.At(5)), fixtures.NoExecute("h", fixtures.At(40))}, affected: true, at: fixtures.At(40), by: "h", reason: reason.TaintUntolerated,
		},
		"a hard one tolerated for ever leaves the soft one": {
			policy: bears(60, fixtures.Tolerate("h")), taints: []corev1.Taint{fixtures.SoftTaint("s", fixtures.At(5)), fixtures.NoExecute("h", fixtures.T0)}, affected: true, at: fixtures.At(65), by: "s", reason: reason.TolerationExpired,
		},
		"a hard one moves what cannot say how long it bears soft ones": {
			policy:   rules.Policy{ClusterFailover: true, SoftMalformed: "x"},
			taints:   []corev1.Taint{fixtures.SoftTaint("s", fixtures.At(5)), fixtures.NoExecute("h", fixtures.At(40))},
			affected: true, at: fixtures.At(40), by: "h", reason: reason.TaintUntolerated,
		},
		"and its trouble is named where the hard one is tolerated": {
			policy:   rules.Policy{ClusterFailover: true, SoftMalformed: "x", Tolerations: []corev1.Toleration{fixtures.Tolerate("h")}},
			taints:   []corev1.Taint{fixtures.SoftTaint("s", fixtures.At(5)), fixtures.NoExecute("h", fixtures.At(40))},
			affected: false,
			at:       time.Time{}, reason: reason.Malformed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			due := rules.DueUnder(tc.policy, tc.taints, fixtures.At(100))
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
		p := rules.Policy{Tolerations: tolerations, ClusterFailover: rapid.Bool().Draw(t, "soft"), SoftSeconds: fixtures.Ptr(rapid.Int64Range(0, 300).Draw(t, "bears"))}
		before := rules.DueUnder(p, taints, fixtures.At(100))
		after := rules.DueUnder(p, append(taints, fixtures.SoftTaint("soft", fixtures.At(rapid.IntRange(0, 100).Draw(t, "stands since")))), fixtures.At(100))
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
