package rules_test

import (
	"math"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// Rules: R4.3-10.
func TestPolicyOf(t *testing.T) {
	defaults := []corev1.Toleration{fixtures.Tolerate("default", 300)}
	own := fixtures.Tolerate("own", 60)
	for name, tc := range map[string]struct {
		binding *karmada.Binding
		want    rules.Policy
	}{
		"the placement's own tolerations count": {
			fixtures.With(fixtures.Duplicated("m1"), fixtures.Tolerating(own), func(b *karmada.Binding) { b.Priority, b.HasClusterFailover = 7, true }),
			rules.Policy{Tolerations: []corev1.Toleration{own}, Priority: 7, ClusterFailover: true},
		},
		"the defaults stand in only where there are none": {fixtures.Duplicated("m1"), rules.Policy{Tolerations: defaults}},
		"also without a placement": {
			fixtures.With(fixtures.Duplicated("m1"), func(b *karmada.Binding) { b.Placement = nil }), rules.Policy{Tolerations: defaults},
		},
		"an annotation overrides the purge mode": {
			fixtures.With(fixtures.Duplicated("m1"), func(b *karmada.Binding) {
				b.PurgeMode = karmada.PurgeGracefully
				b.Annotations = map[string]string{karmada.AnnotationPurgeMode: "Never"}
			}),
			rules.Policy{Tolerations: defaults, PurgeMode: karmada.PurgeNever},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, rules.PolicyOf(tc.binding, defaults))
		})
	}
}

// Rules: R4.3-15.
func TestAFrozenPolicyDoesNotFollowTheBinding(t *testing.T) {
	b := fixtures.With(fixtures.Duplicated("m1"), fixtures.Tolerating(fixtures.Tolerate("a", 60)))
	p := rules.PolicyOf(b, nil)
	b.Placement.ClusterTolerations[0].Key = "changed"
	require.Equal(t, "a", p.Tolerations[0].Key)
}

// Rules: R4.3-4, R4.3-5, R4.3-6, R4.3-7, R4.3-8, R4.3-9.
func TestOCM48And20And22EvictedAfterACertainTime(t *testing.T) {
	now := fixtures.At(100)
	equal := func(key, value string, seconds int64) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpEqual, Value: value, TolerationSeconds: &seconds}
	}
	for name, tc := range map[string]struct {
		tolerations []corev1.Toleration
		taints      []corev1.Taint
		affected    bool
		at          time.Time
		by          string
		reason      reason.Reason
	}{
		"no taint moves nothing":                        {nil, nil, false, time.Time{}, "", reason.NoTaint},
		"a NoSchedule taint moves nothing":              {nil, []corev1.Taint{fixtures.NoSchedule("a")}, false, time.Time{}, "", reason.NoTaint},
		"an untolerated taint is due since it stands":   {nil, []corev1.Taint{fixtures.NoExecute("a", fixtures.At(40))}, true, fixtures.At(40), "a", reason.TaintUntolerated},
		"without a timeAdded it is due now":             {nil, []corev1.Taint{fixtures.NoExecute("a", time.Time{})}, true, now, "a", reason.TaintUntolerated},
		"a clock ahead of Lifeboat's does not delay it": {nil, []corev1.Taint{fixtures.NoExecute("a", fixtures.At(900))}, true, now, "a", reason.TaintUntolerated},
		"of several the one that stands longest": {
			nil, []corev1.Taint{fixtures.NoExecute("a", fixtures.At(40)), fixtures.NoExecute("b", fixtures.At(30))}, true, fixtures.At(30), "b", reason.TaintUntolerated,
		},
		"one untolerated taint outweighs all tolerated ones": {
			[]corev1.Toleration{fixtures.Tolerate("a", 10)}, []corev1.Taint{fixtures.NoExecute("a", fixtures.T0), fixtures.NoExecute("b", fixtures.At(90))}, true, fixtures.At(90), "b", reason.TaintUntolerated,
		},
		"tolerated for ever never moves": {[]corev1.Toleration{fixtures.Tolerate("a")}, []corev1.Taint{fixtures.NoExecute("a", fixtures.T0)}, false, time.Time{}, "", reason.Tolerated},
		"tolerated for a while is due when it ends": {
			[]corev1.Toleration{fixtures.Tolerate("a", 300)}, []corev1.Taint{fixtures.NoExecute("a", fixtures.T0)}, true, fixtures.At(300), "a", reason.TolerationExpired,
		},
		"the earliest end counts": {
			[]corev1.Toleration{fixtures.Tolerate("a", 300), fixtures.Tolerate("b", 20)}, []corev1.Taint{fixtures.NoExecute("a", fixtures.T0), fixtures.NoExecute("b", fixtures.At(50))}, true, fixtures.At(70), "b", reason.TolerationExpired,
		},
		"only the first toleration that matches is used": {
			[]corev1.Toleration{fixtures.Tolerate("a"), fixtures.Tolerate("a", 20)}, []corev1.Taint{fixtures.NoExecute("a", fixtures.T0)}, false, time.Time{}, "", reason.Tolerated,
		},
		"a finite one in use counts for every taint it matches": {
			[]corev1.Toleration{fixtures.Tolerate("", 60)},
			[]corev1.Taint{fixtures.NoExecute("a", fixtures.At(90)), fixtures.NoExecute("b", fixtures.T0)},
			true, fixtures.At(60), "b", reason.TolerationExpired,
		},
		"and so even where another toleration matched that taint first": {
			[]corev1.Toleration{fixtures.Tolerate("b"), fixtures.Tolerate("", 60)},
			[]corev1.Taint{fixtures.NoExecute("a", fixtures.At(90)), fixtures.NoExecute("b", fixtures.T0)},
			true, fixtures.At(60), "b", reason.TolerationExpired,
		},
		"no seconds at all are due at once":  {[]corev1.Toleration{fixtures.Tolerate("a", 0)}, []corev1.Taint{fixtures.NoExecute("a", fixtures.At(10))}, true, fixtures.At(10), "a", reason.TolerationExpired},
		"negative seconds are due at once":   {[]corev1.Toleration{fixtures.Tolerate("a", -30)}, []corev1.Taint{fixtures.NoExecute("a", fixtures.At(10))}, true, fixtures.At(-20), "a", reason.TolerationExpired},
		"a taint without a clock never ends": {[]corev1.Toleration{fixtures.Tolerate("a", 30)}, []corev1.Taint{fixtures.NoExecute("a", time.Time{})}, false, time.Time{}, "", reason.Tolerated},
		"more seconds than a clock can count do not overflow into now": {
			[]corev1.Toleration{fixtures.Tolerate("a", math.MaxInt64)},
			[]corev1.Taint{fixtures.NoExecute("a", fixtures.T0)},
			true,
			fixtures.T0.Add(time.Duration(math.MaxInt64/int64(time.Second)) * time.Second), "a", reason.TolerationExpired,
		},
		"the value must be equal":    {[]corev1.Toleration{equal("a", "x", 300)}, []corev1.Taint{fixtures.NoExecute("a", fixtures.T0)}, true, fixtures.T0, "a", reason.TaintUntolerated},
		"Lt and Gt tolerate nothing": {[]corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpGt, Value: "1"}}, []corev1.Taint{{Key: "a", Value: "2", Effect: corev1.TaintEffectNoExecute}}, true, now, "a", reason.TaintUntolerated},
		"a toleration of another effect does not count": {
			[]corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
			[]corev1.Taint{fixtures.NoExecute("a", fixtures.T0)},
			true, fixtures.T0, "a", reason.TaintUntolerated,
		},
		"a soft taint leaves alone what has no failover": {nil, []corev1.Taint{fixtures.SoftTaint("s", fixtures.T0)}, false, time.Time{}, "", reason.Tolerated},
	} {
		t.Run(name, func(t *testing.T) {
			due := rules.DueUnder(rules.Policy{Tolerations: tc.tolerations}, tc.taints, now)
			require.Equal(t, tc.affected, due.Affected)
			require.Equal(t, tc.reason, due.Reason)
			require.True(t, tc.at.Equal(due.At), "due at %s, want %s", due.At, tc.at)
			require.Equal(t, tc.by, due.Taint.Key)
		})
	}
}

// karmadaWait is the taint manager's answer, written down from the facts word by
// word: -1 never, 0 now, else how long from now.
func karmadaWait(taints []corev1.Taint, tolerations []corev1.Toleration, now time.Time) time.Duration {
	var noExec []corev1.Taint
	for _, t := range taints {
		if t.Effect == corev1.TaintEffectNoExecute {
			noExec = append(noExec, t)
		}
	}
	if len(noExec) == 0 {
		return -1
	}
	var used []corev1.Toleration
	for _, t := range noExec {
		first := firstMatch(tolerations, t)
		if first == nil {
			return 0
		}
		used = append(used, *first)
	}
	wait := time.Duration(-1)
	for _, tol := range used {
		for _, t := range noExec {
			if left := leftOf(tol, t, now); left >= 0 && (wait < 0 || left < wait) {
				wait = left
			}
		}
	}
	return wait
}

func factsMatch(tol corev1.Toleration, t corev1.Taint) bool {
	return (tol.Effect == "" || tol.Effect == t.Effect) && (tol.Key == "" || tol.Key == t.Key) &&
		(tol.Operator == corev1.TolerationOpExists || tol.Value == t.Value)
}

func firstMatch(tolerations []corev1.Toleration, t corev1.Taint) *corev1.Toleration {
	for i := range tolerations {
		if factsMatch(tolerations[i], t) {
			return &tolerations[i]
		}
	}
	return nil
}

// leftOf is how long a toleration still runs for a taint, -1 when it has no say.
func leftOf(tol corev1.Toleration, t corev1.Taint, now time.Time) time.Duration {
	if tol.TolerationSeconds == nil || t.TimeAdded == nil || !factsMatch(tol, t) {
		return -1
	}
	return max(0, t.TimeAdded.Add(time.Duration(*tol.TolerationSeconds)*time.Second).Sub(now))
}

func drawTaints(t *rapid.T) []corev1.Taint {
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) corev1.Taint {
		taint := corev1.Taint{
			Key:    rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"),
			Value:  rapid.SampledFrom([]string{"", "x"}).Draw(t, "value"),
			Effect: rapid.SampledFrom([]corev1.TaintEffect{corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule}).Draw(t, "effect"),
		}
		if rapid.Bool().Draw(t, "has a clock") {
			taint.TimeAdded = &metav1.Time{Time: fixtures.At(rapid.IntRange(0, 100).Draw(t, "added"))}
		}
		return taint
	}), 0, 4, func(t corev1.Taint) string { return t.Key + string(t.Effect) }).Draw(t, "taints")
}

func drawTolerations(t *rapid.T) []corev1.Toleration {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) corev1.Toleration {
		tol := corev1.Toleration{
			Key:      rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "key"),
			Value:    rapid.SampledFrom([]string{"", "x"}).Draw(t, "value"),
			Effect:   rapid.SampledFrom([]corev1.TaintEffect{"", corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule}).Draw(t, "effect"),
			Operator: rapid.SampledFrom([]corev1.TolerationOperator{"", corev1.TolerationOpEqual, corev1.TolerationOpExists}).Draw(t, "operator"),
		}
		if rapid.Bool().Draw(t, "limited") {
			tol.TolerationSeconds = fixtures.Ptr(rapid.Int64Range(-10, 200).Draw(t, "seconds"))
		}
		return tol
	}), 0, 4).Draw(t, "tolerations")
}

// People who migrate from Karmada's taint manager expect the same seconds.
//
// Rules: R4.3-5, R4.3-7, R4.3-8.
func TestDueIsKarmadasToTheSecond(t *testing.T) {
	now := fixtures.At(100)
	rapid.Check(t, func(t *rapid.T) {
		taints, tolerations := drawTaints(t), drawTolerations(t)
		due := rules.DueUnder(rules.Policy{Tolerations: tolerations}, taints, now)
		switch want := karmadaWait(taints, tolerations, now); {
		case want < 0 && due.Affected:
			t.Fatalf("Karmada would never move it, we would at %s", due.At)
		case want >= 0 && !due.Affected:
			t.Fatalf("Karmada would move it in %s, we never would (%s)", want, due.Reason)
		case want >= 0 && max(0, due.At.Sub(now)) != want:
			t.Fatalf("Karmada would move it in %s, we in %s", want, due.At.Sub(now))
		}
	})
}

// Rules: R4.3-20.
func TestThaw(t *testing.T) {
	span := func(from, to int) rules.Interval { return rules.Interval{From: fixtures.At(from), To: fixtures.At(to)} }
	open := func(from int) rules.Interval { return rules.Interval{From: fixtures.At(from)} }
	for name, tc := range map[string]struct {
		since, due int
		frozen     []rules.Interval
		now        int
		want       int
	}{
		"nothing frozen changes nothing":                  {0, 100, nil, 50, 100},
		"a freeze in between moves it":                    {0, 100, []rules.Interval{span(10, 40)}, 50, 130},
		"a freeze before it began does not":               {50, 100, []rules.Interval{span(10, 40)}, 60, 100},
		"a freeze that it began in counts in part":        {20, 100, []rules.Interval{span(10, 40)}, 60, 120},
		"a freeze after it was due does not":              {0, 100, []rules.Interval{span(100, 150)}, 160, 100},
		"a freeze just before it was due does":            {0, 100, []rules.Interval{span(99, 150)}, 160, 151},
		"two freezes add up":                              {0, 100, []rules.Interval{span(60, 70), span(10, 40)}, 80, 140},
		"the second may fall into the moved time":         {0, 100, []rules.Interval{span(10, 40), span(110, 120)}, 120, 140},
		"overlapping freezes count once":                  {0, 100, []rules.Interval{span(10, 40), span(20, 60)}, 80, 150},
		"one inside another counts once":                  {0, 100, []rules.Interval{span(10, 60), span(20, 30)}, 80, 150},
		"an open freeze stops the clock until now":        {0, 100, []rules.Interval{open(40)}, 90, 150},
		"an open freeze of no length yet changes nothing": {0, 100, []rules.Interval{open(90)}, 90, 100},
		"a freeze that begins after now is none yet":      {0, 100, []rules.Interval{open(95)}, 90, 100},
		"what was due at once stays due":                  {50, 50, []rules.Interval{span(10, 90)}, 90, 50},
		"what was due before it began stays due":          {50, 30, []rules.Interval{span(10, 90)}, 90, 30},
	} {
		t.Run(name, func(t *testing.T) {
			before := append([]rules.Interval(nil), tc.frozen...)
			got := rules.Thaw(fixtures.At(tc.since), fixtures.At(tc.due), tc.frozen, fixtures.At(tc.now))
			require.True(t, fixtures.At(tc.want).Equal(got), "got %s, want %s", got.Sub(fixtures.T0), fixtures.At(tc.want).Sub(fixtures.T0))
			require.Equal(t, before, tc.frozen, "the intervals are left alone")
		})
	}
}

// Second by second: it is due when the unfrozen seconds since it began reach the toleration.
//
// Rules: R4.3-20.
func TestThawCountsUnfrozenSeconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		since := rapid.IntRange(0, 50).Draw(t, "since")
		tolerated := rapid.IntRange(1, 100).Draw(t, "tolerated")
		var frozen []rules.Interval
		isFrozen := map[int]bool{}
		for range rapid.IntRange(0, 4).Draw(t, "freezes") {
			from := rapid.IntRange(0, 200).Draw(t, "from")
			to := from + rapid.IntRange(0, 60).Draw(t, "for")
			frozen = append(frozen, rules.Interval{From: fixtures.At(from), To: fixtures.At(to)})
			for s := from; s < to; s++ {
				isFrozen[s] = true
			}
		}
		second, counted := since, 0
		for ; counted < tolerated; second++ {
			if !isFrozen[second] {
				counted++
			}
		}
		if got := rules.Thaw(fixtures.At(since), fixtures.At(since+tolerated), frozen, fixtures.At(1000)); !got.Equal(fixtures.At(second)) {
			t.Fatalf("due at %s, counted %ds", got.Sub(fixtures.T0), second)
		}
	})
}
