package rules_test

import (
	"math"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
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
			binding: fixtures.With(fixtures.Duplicated("m1"), fixtures.Tolerating(own), func(b *karmada.Binding) { b.Priority, b.HasClusterFailover = 7, true }),
			want:    rules.Policy{Tolerations: []corev1.Toleration{own}, Priority: 7, ClusterFailover: true},
		},
		"the defaults stand in only where there are none": {binding: fixtures.Duplicated("m1"), want: rules.Policy{Tolerations: defaults}},
		"also without a placement": {
			binding: fixtures.With(fixtures.Duplicated("m1"), func(b *karmada.Binding) { b.Placement = nil }), want: rules.Policy{Tolerations: defaults},
		},
		"an annotation overrides the purge mode": {
			binding: fixtures.With(fixtures.Duplicated("m1"), func(b *karmada.Binding) {
				b.PurgeMode = karmada.PurgeGracefully
				b.Annotations = map[string]string{karmada.AnnotationPurgeMode: "Never"}
			}),
			want: rules.Policy{Tolerations: defaults, PurgeMode: karmada.PurgeNever},
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
		"no taint moves nothing":                        {affected: false, at: time.Time{}, reason: reason.NoTaint},
		"a NoSchedule taint moves nothing":              {taints: []corev1.Taint{fixtures.NoSchedule("a")}, affected: false, at: time.Time{}, reason: reason.NoTaint},
		"an untolerated taint is due since it stands":   {taints: []corev1.Taint{fixtures.NoExecute("a", fixtures.At(40))}, affected: true, at: fixtures.At(40), by: "a", reason: reason.TaintUntolerated},
		"without a timeAdded it is due now":             {taints: []corev1.Taint{fixtures.NoExecute("a", time.Time{})}, affected: true, at: now, by: "a", reason: reason.TaintUntolerated},
		"a clock ahead of Lifeboat's does not delay it": {taints: []corev1.Taint{fixtures.NoExecute("a", fixtures.At(900))}, affected: true, at: now, by: "a", reason: reason.TaintUntolerated},
		"of several the one that stands longest": {
			taints: []corev1.Taint{fixtures.NoExecute("a", fixtures.At(40)), fixtures.NoExecute("b", fixtures.At(30))}, affected: true, at: fixtures.At(30), by: "b", reason: reason.TaintUntolerated,
		},
		"one untolerated taint outweighs all tolerated ones": {
			tolerations: []corev1.Toleration{fixtures.Tolerate("a", 10)}, taints: []corev1.Taint{fixtures.NoExecute("a", fixtures.T0), fixtures.NoExecute("b", fixtures.At(90))}, affected: true, at: fixtures.At(90), by: "b", reason: reason.TaintUntolerated,
		},
		"tolerated for ever never moves": {tolerations: []corev1.Toleration{fixtures.Tolerate("a")}, taints: []corev1.Taint{fixtures.NoExecute("a", fixtures.T0)}, affected: false, at: time.Time{}, reason: reason.Tolerated},
		"tolerated for a while is due when it ends": {
			tolerations: []corev1.Toleration{fixtures.Tolerate("a", 300)}, taints: []corev1.Taint{fixtures.NoExecute("a", fixtures.T0)}, affected: true, at: fixtures.At(300), by: "a", reason: reason.TolerationExpired,
		},
		"the earliest end counts": {
			tolerations: []corev1.Toleration{fixtures.Tolerate("a", 300), fixtures.Tolerate("b", 20)}, taints: []corev1.Taint{fixtures.NoExecute("a", fixtures.T0), fixtures.NoExecute("b", fixtures.At(50))}, affected: true, at: fixtures.At(70), by: "b", reason: reason.TolerationExpired,
		},
		"only the first toleration that matches is used": {
			tolerations: []corev1.Toleration{fixtures.Tolerate("a"), fixtures.Tolerate("a", 20)}, taints: []corev1.Taint{fixtures.NoExecute("a", fixtures.T0)}, affected: false, at: time.Time{}, reason: reason.Tolerated,
		},
		"a finite one in use counts for every taint it matches": {
			tolerations: []corev1.Toleration{fixtures.Tolerate("", 60)},
			taints:      []corev1.Taint{fixtures.NoExecute("a", fixtures.At(90)), fixtures.NoExecute("b", fixtures.T0)},
			affected:    true, at: fixtures.At(60), by: "b", reason: reason.TolerationExpired,
		},
		"and so even where another toleration matched that taint first": {
			tolerations: []corev1.Toleration{fixtures.Tolerate("b"), fixtures.Tolerate("", 60)},
			taints:      []corev1.Taint{fixtures.NoExecute("a", fixtures.At(90)), fixtures.NoExecute("b", fixtures.T0)},
			affected:    true, at: fixtures.At(60), by: "b", reason: reason.TolerationExpired,
		},
		"no seconds at all are due at once":  {tolerations: []corev1.Toleration{fixtures.Tolerate("a", 0)}, taints: []corev1.Taint{fixtures.NoExecute("a", fixtures.At(10))}, affected: true, at: fixtures.At(10), by: "a", reason: reason.TolerationExpired},
		"negative seconds are due at once":   {tolerations: []corev1.Toleration{fixtures.Tolerate("a", -30)}, taints: []corev1.Taint{fixtures.NoExecute("a", fixtures.At(10))}, affected: true, at: fixtures.At(-20), by: "a", reason: reason.TolerationExpired},
		"a taint without a clock never ends": {tolerations: []corev1.Toleration{fixtures.Tolerate("a", 30)}, taints: []corev1.Taint{fixtures.NoExecute("a", time.Time{})}, affected: false, at: time.Time{}, reason: reason.Tolerated},
		"more seconds than a clock can count do not overflow into now": {
			tolerations: []corev1.Toleration{fixtures.Tolerate("a", math.MaxInt64)},
			taints:      []corev1.Taint{fixtures.NoExecute("a", fixtures.T0)},
			affected:    true,
			at:          fixtures.T0.Add(time.Duration(math.MaxInt64/int64(time.Second)) * time.Second), by: "a", reason: reason.TolerationExpired,
		},
		"the value must be equal":    {tolerations: []corev1.Toleration{equal("a", "x", 300)}, taints: []corev1.Taint{fixtures.NoExecute("a", fixtures.T0)}, affected: true, at: fixtures.T0, by: "a", reason: reason.TaintUntolerated},
		"Lt and Gt tolerate nothing": {tolerations: []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpGt, Value: "1"}}, taints: []corev1.Taint{{Key: "a", Value: "2", Effect: corev1.TaintEffectNoExecute}}, affected: true, at: now, by: "a", reason: reason.TaintUntolerated},
		"a toleration of another effect does not count": {
			tolerations: []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
			taints:      []corev1.Taint{fixtures.NoExecute("a", fixtures.T0)},
			affected:    true, at: fixtures.T0, by: "a", reason: reason.TaintUntolerated,
		},
		"a soft taint leaves alone what has no failover": {taints: []corev1.Taint{fixtures.SoftTaint("s", fixtures.T0)}, affected: false, at: time.Time{}, reason: reason.Tolerated},
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
		"nothing frozen changes nothing":                  {since: 0, due: 100, now: 50, want: 100},
		"a freeze in between moves it":                    {since: 0, due: 100, frozen: []rules.Interval{span(10, 40)}, now: 50, want: 130},
		"a freeze before it began does not":               {since: 50, due: 100, frozen: []rules.Interval{span(10, 40)}, now: 60, want: 100},
		"a freeze that it began in counts in part":        {since: 20, due: 100, frozen: []rules.Interval{span(10, 40)}, now: 60, want: 120},
		"a freeze after it was due does not":              {since: 0, due: 100, frozen: []rules.Interval{span(100, 150)}, now: 160, want: 100},
		"a freeze just before it was due does":            {since: 0, due: 100, frozen: []rules.Interval{span(99, 150)}, now: 160, want: 151},
		"two freezes add up":                              {since: 0, due: 100, frozen: []rules.Interval{span(60, 70), span(10, 40)}, now: 80, want: 140},
		"the second may fall into the moved time":         {since: 0, due: 100, frozen: []rules.Interval{span(10, 40), span(110, 120)}, now: 120, want: 140},
		"overlapping freezes count once":                  {since: 0, due: 100, frozen: []rules.Interval{span(10, 40), span(20, 60)}, now: 80, want: 150},
		"one inside another counts once":                  {since: 0, due: 100, frozen: []rules.Interval{span(10, 60), span(20, 30)}, now: 80, want: 150},
		"an open freeze stops the clock until now":        {since: 0, due: 100, frozen: []rules.Interval{open(40)}, now: 90, want: 150},
		"an open freeze of no length yet changes nothing": {since: 0, due: 100, frozen: []rules.Interval{open(90)}, now: 90, want: 100},
		"a freeze that begins after now is none yet":      {since: 0, due: 100, frozen: []rules.Interval{open(95)}, now: 90, want: 100},
		"what was due at once stays due":                  {since: 50, due: 50, frozen: []rules.Interval{span(10, 90)}, now: 90, want: 50},
		"what was due before it began stays due":          {since: 50, due: 30, frozen: []rules.Interval{span(10, 90)}, now: 90, want: 30},
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
