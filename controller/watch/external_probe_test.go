package watch

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

var twoOfThree = ExternalProbeConfig{Interval: time.Second, Timeout: time.Second, FailureThreshold: 3, SuccessThreshold: 2}

// told is an external probe whose probes answer as they are told.
func told(answers map[string]answer) *ExternalProbe {
	w := NewExternalProbe(twoOfThree)
	w.probe = func(_ context.Context, c karmada.Cluster) answer { return answers[c.Name] }
	return w
}

func members(names ...string) []karmada.Cluster {
	var fleet []karmada.Cluster
	for _, name := range names {
		fleet = append(fleet, karmada.Cluster{Name: name, Endpoint: "https://" + name})
	}
	return fleet
}

// Seen: a member that came back was reported as one that Karmada cannot reach, until Karmada had
// noticed.
//
// Rules: R4.1-54.
func TestExternalProbe_MemberThatIsBack_GivesKarmadaTimeToNotice(t *testing.T) {
	answers := map[string]answer{"a": healthy, "other": healthy}
	w := told(answers)
	attempts := func(n int, a answer) {
		answers["a"] = a
		for range n {
			w.Probe(t.Context(), members("a", "other"))
		}
	}
	attempts(60, healthy)
	require.False(t, w.justBack("a"), "it was never down")
	attempts(1, noAnswer)
	require.Equal(t, rules.ExternalProbeUp, w.Says("a"), "a blip")
	attempts(39, healthy)
	require.True(t, w.justBack("a"))
	attempts(1, healthy)
	require.False(t, w.justBack("a"), "after 40 s")
	require.False(t, w.justBack("formerChild"))
}

// Rules: R4.1-36, R4.1-37.
func TestTheExternalProbeChangesItsMindOnlyAtItsThresholds(t *testing.T) {
	answers := map[string]answer{"other": healthy}
	w := told(answers)
	says := func(a answer) rules.ExternalProbe {
		answers["a"] = a
		w.Probe(t.Context(), members("a", "other"))
		return w.Says("a")
	}
	for i, step := range []struct {
		probe answer
		want  rules.ExternalProbe
	}{
		{probe: noAnswer},
		{probe: noAnswer},
		{probe: noAnswer},
		{probe: noAnswer}, // never seen up: it has nothing to say
		{probe: healthy},
		{probe: noAnswer},
		{probe: healthy},
		{probe: healthy, want: "Up"},
		{probe: noAnswer, want: "Up"},
		{probe: noAnswer, want: "Up"},
		{probe: healthy, want: "Up"}, // a blip
		{probe: noAnswer, want: "Up"},
		{probe: noAnswer, want: "Up"},
		{probe: unclear, want: "Up"}, // an answer that is none breaks the row
		{probe: noAnswer, want: "Up"},
		{probe: noAnswer, want: "Up"},
		{probe: noAnswer, want: "Down"},
		{probe: healthy, want: "Down"},
		{probe: noAnswer, want: "Down"},
		{probe: healthy, want: "Down"},
		{probe: healthy, want: "Up"},
	} {
		require.Equal(t, step.want, says(step.probe), "probe %d", i)
	}
	require.Equal(t, rules.ExternalProbeAbsent, w.Says("formerChild"))
	require.Equal(t, rules.ExternalProbeAbsent, (*ExternalProbe)(nil).Says("a"), "no external probe, no word")
}

// One failed refresh repatriated everybody at once: errors of Lifeboat's own must not count
// as evidence against all members.
//
// Rules: R4.1-37.
func TestLiqo1030AnExternalProbeThatReachesNobodyTestifiesToNothing(t *testing.T) {
	answers := map[string]answer{"a": healthy, "b": healthy}
	w := told(answers)
	attempt := func(times int) {
		for range times {
			w.Probe(t.Context(), members("a", "b"))
		}
	}
	attempt(2)
	answers["a"] = noAnswer
	attempt(3)
	require.Equal(t, rules.ExternalProbeDown, w.Says("a"))
	answers["b"] = noAnswer
	attempt(3)
	require.Equal(t, rules.ExternalProbeAbsent, w.Says("a"))
	require.Equal(t, rules.ExternalProbeAbsent, w.Says("b"))
}

func TestAMemberBehindAnotherAddressIsAnotherOneToTheExternalProbe(t *testing.T) {
	w := told(map[string]answer{"a": healthy})
	for range 2 {
		w.Probe(t.Context(), members("a"))
	}
	require.Equal(t, rules.ExternalProbeUp, w.Says("a"))
	w.Probe(t.Context(), []karmada.Cluster{{Name: "a", Endpoint: "https://elsewhere"}})
	require.Equal(t, rules.ExternalProbeAbsent, w.Says("a"))
}

func TestAnAttemptThatWasCutShortSaysNothing(t *testing.T) {
	w := told(map[string]answer{"a": healthy})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5 {
		w.Probe(ctx, members("a"))
	}
	require.Equal(t, rules.ExternalProbeAbsent, w.Says("a"))
}

// Whoever answers at a member's address sends us nowhere: not to what only we can reach.
func TestTheExternalProbeIsNotSentElsewhere(t *testing.T) {
	var asked atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer inside.Close()
	member := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusFound))
	defer member.Close()
	p := &prober{timeout: 5 * time.Second}
	require.Equal(t, unclear, p.probe(t.Context(), karmada.Cluster{Endpoint: member.URL}))
	require.Zero(t, asked.Load())
}

// Rules: R4.1-35, R4.1-49, R4.1-52.
func TestTheProbeAsksReadyzAndHealthzOnlyWhereThatIsNotKnown(t *testing.T) {
	for name, c := range map[string]struct {
		readyz, healthz int
		want            answer
	}{
		"ready":                {readyz: 200, healthz: 500, want: healthy},
		"not ready":            {readyz: 500, healthz: 200, want: noAnswer},
		"an old member":        {readyz: 404, healthz: 200, want: healthy},
		"an old, sick member":  {readyz: 404, healthz: 500, want: noAnswer},
		"neither is known":     {readyz: 404, healthz: 404, want: noAnswer},
		"without credentials":  {readyz: 401, healthz: 200, want: healthy},
		"forbidden":            {readyz: 403, healthz: 200, want: healthy},
		"a load balancer: 502": {readyz: 502, healthz: 200, want: noAnswer},
		"a load balancer: 503": {readyz: 503, healthz: 200, want: noAnswer},
		"a load balancer: 504": {readyz: 504, healthz: 200, want: noAnswer},
		"something else":       {readyz: 204, healthz: 200, want: noAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				w.WriteHeader(map[string]int{"/readyz": c.readyz, "/healthz": c.healthz}[r.URL.Path])
			}))
			defer server.Close()
			p := &prober{timeout: 5 * time.Second}
			require.Equal(t, c.want, p.probe(t.Context(), karmada.Cluster{Endpoint: server.URL}))
			require.Equal(t, c.readyz == 404, asked.Load() == 2)
		})
	}
	p := &prober{timeout: 5 * time.Second}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	require.Equal(t, noAnswer, p.probe(t.Context(), karmada.Cluster{Endpoint: gone.URL}))
	require.Equal(t, unclear, p.probe(t.Context(), karmada.Cluster{}), "a member without an endpoint")
	require.Equal(t, unclear, p.probe(t.Context(), karmada.Cluster{Endpoint: "https://x", ProxyURL: ":"}))
}

// Rules: R4.1-34.
func TestAClusterIsStartedOnceTheExternalProbeThatItsRuleAsksForAgrees(t *testing.T) {
	rule := notReady()
	rule.RequireExternalProbe = true
	post := &recorder{}
	router := NewRouter(post)
	router.RulesChanged([]rules.Rule{rule})
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionFalse))
	router.ClusterChanged(nil, cluster("b", "1", corev1.ConditionTrue))
	require.Equal(t, []string{"fleet", "fleet"}, post.heard(), "nobody testifies")

	answers := map[string]answer{"a": healthy, "b": healthy}
	w := told(answers)
	router.Hear(w)
	attempt := func(times int) {
		for range times {
			w.Probe(t.Context(), members("a", "b"))
			router.Testified(false)
		}
	}
	attempt(2)
	require.Empty(t, post.heard(), "it sees the member alive")
	answers["a"] = noAnswer
	attempt(2)
	require.Empty(t, post.heard())
	attempt(1)
	require.Equal(t, []string{"start a@1"}, post.heard())
	router.Opened("a")
	attempt(1)
	require.Empty(t, post.heard(), "the same word again is no news")
	router.Testified(true)
	require.Equal(t, []string{"start a@1"}, post.heard(), "but it is said again now and then, for it does not hold for ever")
	answers["a"] = healthy
	attempt(2)
	require.Equal(t, []string{"tell a@1"}, post.heard(), "and a word that changed is told without any change of the cluster")
}
