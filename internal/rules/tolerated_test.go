package rules

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// What is told of each taint adds up to what is decided of all of them.
func TestTheWordsAboutTaintsAddUpToTheDueTime(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		policy, taints := anyPolicy(t), anyTaints(t, now)
		due := DueUnder(policy, taints, now)
		var first, untolerated time.Time
		for _, w := range TaintWords(policy, taints, now) {
			require.Equal(t, w.Until.IsZero(), w.Reason != reason.TaintUntolerated && w.Reason != reason.TolerationExpired)
			if w.Reason == reason.TaintUntolerated && (untolerated.IsZero() || w.Until.Before(untolerated)) {
				untolerated = w.Until
			}
			if !w.Until.IsZero() && (first.IsZero() || w.Until.Before(first)) {
				first = w.Until
			}
		}
		require.Equal(t, due.Affected, !first.IsZero())
		switch {
		case !due.Affected:
		case due.Reason == reason.TaintUntolerated:
			require.Equal(t, untolerated, due.At, "one that is not tolerated counts at once, whatever is")
		default:
			require.False(t, due.At.Before(first))
		}
	})
}

func anyPolicy(t *rapid.T) Policy {
	p := Policy{ClusterFailover: rapid.Bool().Draw(t, "soft matters")}
	if rapid.Bool().Draw(t, "read") {
		seconds := int64(rapid.IntRange(0, 600).Draw(t, "soft seconds"))
		p.SoftSeconds = &seconds
	}
	for range rapid.IntRange(0, 3).Draw(t, "tolerations") {
		x := corev1.Toleration{Key: rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(t, "tolerates"), Operator: corev1.TolerationOpExists}
		if rapid.Bool().Draw(t, "limited") {
			seconds := int64(rapid.IntRange(0, 600).Draw(t, "seconds"))
			x.TolerationSeconds = &seconds
		}
		p.Tolerations = append(p.Tolerations, x)
	}
	return p
}

func anyTaints(t *rapid.T, now time.Time) []corev1.Taint {
	effects := []corev1.TaintEffect{corev1.TaintEffectNoExecute, karmada.EffectPreferNoExecute, corev1.TaintEffectNoSchedule}
	var taints []corev1.Taint
	for range rapid.IntRange(0, 3).Draw(t, "taints") {
		at := metav1.NewTime(now.Add(-time.Duration(rapid.IntRange(0, 600).Draw(t, "age")) * time.Second))
		taints = append(taints, corev1.Taint{
			Key: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"), TimeAdded: &at, Effect: rapid.SampledFrom(effects).Draw(t, "effect"),
		})
	}
	return taints
}
