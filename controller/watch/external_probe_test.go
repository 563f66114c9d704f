package watch

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

var twoOfThree = config.ExternalProbe{Interval: time.Second, Timeout: time.Second, FailureThreshold: 3, SuccessThreshold: 2}

// told is an external probe with these answers.
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
	require.Equal(t, rules.ExternalProbeUp, w.Result("a"), "a blip")
	attempts(39, healthy)
	require.True(t, w.justBack("a"))
	attempts(1, healthy)
	require.False(t, w.justBack("a"), "after 40 s")
	require.False(t, w.justBack("unknown"))
}

// Rules: R4.1-36, R4.1-37.
func TestTheExternalProbeChangesItsMindOnlyAtItsThresholds(t *testing.T) {
	answers := map[string]answer{"other": healthy}
	w := told(answers)
	says := func(a answer) rules.ExternalProbe {
		answers["a"] = a
		w.Probe(t.Context(), members("a", "other"))
		return w.Result("a")
	}
	for i, step := range []struct {
		probe answer
		want  rules.ExternalProbe
	}{
		{probe: noAnswer},
		{probe: noAnswer},
		{probe: noAnswer},
		{probe: noAnswer}, // never seen up: no result
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
	require.Equal(t, rules.ExternalProbeAbsent, w.Result("unknown"))
	require.Equal(t, rules.ExternalProbeAbsent, (*ExternalProbe)(nil).Result("a"), "no external probe, no word")
}

// In Liqo one failed refresh moved all workloads back at once: Lifeboat's own errors must not count
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
	require.Equal(t, rules.ExternalProbeDown, w.Result("a"))
	answers["b"] = noAnswer
	attempt(3)
	require.Equal(t, rules.ExternalProbeAbsent, w.Result("a"))
	require.Equal(t, rules.ExternalProbeAbsent, w.Result("b"))
}

func TestProbe_ChangedAddress_IsANewMember(t *testing.T) {
	w := told(map[string]answer{"a": healthy})
	for range 2 {
		w.Probe(t.Context(), members("a"))
	}
	require.Equal(t, rules.ExternalProbeUp, w.Result("a"))
	w.Probe(t.Context(), []karmada.Cluster{{Name: "a", Endpoint: "https://elsewhere"}})
	require.Equal(t, rules.ExternalProbeAbsent, w.Result("a"))
}

func TestProbe_Cancelled_ChangesNothing(t *testing.T) {
	w := told(map[string]answer{"a": healthy})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5 {
		w.Probe(ctx, members("a"))
	}
	require.Equal(t, rules.ExternalProbeAbsent, w.Result("a"))
}

// A redirect of a member must not lead the probe to an address that only the controller reaches.
func TestProbe_FollowsNoRedirect(t *testing.T) {
	var asked atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer inside.Close()
	member := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusFound))
	defer member.Close()
	p := prober{timeout: 5 * time.Second}
	require.Equal(t, unclear, p.probe(t.Context(), karmada.Cluster{Endpoint: member.URL}))
	require.Zero(t, asked.Load())
}

// Rules: R4.1-35, R4.1-49, R4.1-52.
func TestProbe_RequestsHealthzOnlyWithoutReadyz(t *testing.T) {
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
			p := prober{timeout: 5 * time.Second}
			require.Equal(t, c.want, p.probe(t.Context(), karmada.Cluster{Endpoint: server.URL}))
			require.Equal(t, c.readyz == 404, asked.Load() == 2)
		})
	}
	p := prober{timeout: 5 * time.Second}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	require.Equal(t, noAnswer, p.probe(t.Context(), karmada.Cluster{Endpoint: gone.URL}))
	for _, endpoint := range []string{"", "member1:6443", "ftp://member1", "https://", "https://%zz", "https://member1:port"} {
		require.Equal(t, unclear, p.probe(t.Context(), karmada.Cluster{Endpoint: endpoint}), "endpoint %q reaches no member", endpoint)
	}
	for _, proxy := range []string{":", "proxy1", "proxy1:3128"} {
		require.Equal(t, unclear, p.probe(t.Context(), karmada.Cluster{Endpoint: "https://x", ProxyURL: proxy}), "proxy %q reaches no member", proxy)
	}
}

// Rules: R4.1-34.
func TestRouter_RequiredExternalProbe_StartsTheFailoverOnceItAgrees(t *testing.T) {
	rule := notReady()
	rule.RequireExternalProbe = true
	signals := &sentSignals{}
	router := NewRouter(signals)
	router.RulesChanged([]rules.Rule{rule})
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionFalse))
	router.ClusterChanged(nil, cluster("b", "1", corev1.ConditionTrue))
	require.Equal(t, []string{"fleet", "fleet"}, signals.take(), "without a probe result")

	answers := map[string]answer{"a": healthy, "b": healthy}
	w := told(answers)
	router.UseProbe(w, false)
	attempt := func(times int) {
		for range times {
			w.Probe(t.Context(), members("a", "b"))
			router.SendProbed(false)
		}
	}
	attempt(2)
	require.Empty(t, signals.take(), "it sees the member alive")
	answers["a"] = noAnswer
	attempt(2)
	require.Empty(t, signals.take())
	attempt(1)
	require.Equal(t, []string{"start a@1"}, signals.take())
	router.Opened("a")
	attempt(1)
	require.Empty(t, signals.take(), "the same word again is no news")
	router.SendProbed(true)
	require.Equal(t, []string{"start a@1"}, signals.take(), "but it is said again now and then, for it does not hold for ever")
	answers["a"] = healthy
	attempt(2)
	require.Equal(t, []string{"signal a@1"}, signals.take(), "a changed result is sent without a change of the cluster")
}

// Rules: R4.1-55.
func TestProbe_NextLeader_RecallsTheResults(t *testing.T) {
	first := told(map[string]answer{"a": healthy, "b": healthy, "c": noAnswer})
	first.Recall(nil)
	for range 2 {
		first.Probe(t.Context(), members("a", "b", "c"))
	}
	known := first.Known()
	require.Len(t, known, 2, "c was never reached")
	require.NotContains(t, known["a"].Endpoint, "https", "an address is not kept as it is")

	for name, tc := range map[string]struct {
		a        answer
		attempts int
		want     rules.ExternalProbe
	}{
		"before any probe":                  {a: healthy, attempts: 0, want: rules.ExternalProbeAbsent},
		"it answers still":                  {a: healthy, attempts: 1, want: rules.ExternalProbeUp},
		"it does not: not known yet":        {a: noAnswer, attempts: 2, want: rules.ExternalProbeAbsent},
		"it died, by the failure threshold": {a: noAnswer, attempts: 3, want: rules.ExternalProbeDown},
		"unclear answers":                   {a: unclear, attempts: 5, want: rules.ExternalProbeAbsent},
	} {
		t.Run(name, func(t *testing.T) {
			next := told(map[string]answer{"a": tc.a, "b": healthy})
			require.Nil(t, next.Known(), "it would take the place of what is kept")
			next.Recall(known)
			for range tc.attempts {
				next.Probe(t.Context(), members("a", "b"))
			}
			require.Equal(t, tc.want, next.Result("a"))
			require.Len(t, next.Known(), 2)
		})
	}
	next := told(map[string]answer{"a": noAnswer, "b": healthy})
	next.Recall(known)
	for range 9 {
		next.Probe(t.Context(), []karmada.Cluster{{Name: "a", Endpoint: "https://elsewhere"}, members("b")[0]})
	}
	require.Equal(t, rules.ExternalProbeAbsent, next.Result("a"), "another address is another member")
}

// A leader that comes back after another one led believes nothing of what it knew.
//
// Rules: R4.1-55.
func TestProbe_SecondTerm_WaitsForAProbeThatAgrees(t *testing.T) {
	answers := map[string]answer{"a": healthy, "b": healthy}
	w := told(answers)
	for range 2 {
		w.Probe(t.Context(), members("a", "b"))
	}
	require.Equal(t, rules.ExternalProbeUp, w.Result("a"))
	w.Begin()
	require.Equal(t, rules.ExternalProbeAbsent, w.Result("a"))
	require.Nil(t, w.Known())
	known := rules.Probed{"a": {Endpoint: digest(members("a")[0].Endpoint)}}
	w.Recall(known)
	answers["a"] = noAnswer
	w.Probe(t.Context(), members("a", "b"))
	require.Equal(t, rules.ExternalProbeDown, w.Result("a"), "the other leader saw it down, and so does this one")
}

// The first fact that a new leader sends has the probe's word in it: one without would take back
// the last leader's. The results are kept in the pacer.
//
// Rules: R4.1-55.
func TestWatcher_NewLeader_SendsNothingBeforeTheFirstProbe(t *testing.T) {
	for name, c := range map[string]struct{ late, unlisted bool }{
		"what was known is read at once": {}, "at the second attempt": {late: true}, "bindings cannot be listed": {unlisted: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newLeader(t, c.late, c.unlisted) })
		})
	}
}

func newLeader(t *testing.T, late, unlisted bool) {
	l := &line{begun: time.Now(), running: map[string]bool{}}
	dead := cluster("a", "1", corev1.ConditionFalse)
	k := &fakeKarmada{unlisted: unlisted, play: func(h k8sadapter.Handlers) {
		h.OnRules([]rules.Rule{notReady()})
		h.OnCluster(nil, dead)
	}}
	asked := 0
	w := newWatcher(k, l, owners{l})
	w.ExternalProbe = told(map[string]answer{"a": healthy})
	w.Recall = func(context.Context) (rules.Probed, error) {
		if asked++; late && asked == 1 {
			return nil, errors.New("away")
		}
		return rules.Probed{"a": {Endpoint: digest(dead.Endpoint), Up: true}}, nil
	}
	stop := begin(t.Context(), w.Run)
	pass(10 * time.Second)
	stop()
	words, kept := l.probe()
	if late {
		require.Equal(t, 2, asked, "once it is read, it is not read again")
		require.Equal(t, []rules.ExternalProbe{rules.ExternalProbeAbsent, rules.ExternalProbeUp}, words)
	} else {
		require.Equal(t, []rules.ExternalProbe{rules.ExternalProbeUp}, words)
	}
	require.True(t, kept[len(kept)-1]["a"].Up)
}

// probe is what was sent of the external probe: its words, and what is to be kept.
func (l *line) probe() (words []rules.ExternalProbe, kept []rules.Probed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, sent := range l.args {
		switch m := sent.(type) {
		case workflows.ClusterObserved:
			words = append(words, m.Fact.ExternalProbe)
		case workflows.FleetObserved:
			kept = append(kept, m.Probed)
		}
	}
	return words, kept
}

// Rules: R4.1-37, R4.1-48.
func TestRouter_Contradiction_IsSentAgainEachMinute(t *testing.T) {
	signals := &sentSignals{}
	router := NewRouter(signals)
	router.RulesChanged([]rules.Rule{notReady()})
	c := cluster("a", "1", corev1.ConditionFalse)
	c.Conditions[0].Reason = "ClusterNotReachable"
	w := told(map[string]answer{"a": healthy})
	router.UseProbe(w, false)
	for range 2 {
		w.Probe(t.Context(), []karmada.Cluster{*c})
	}
	router.ClusterChanged(nil, c)
	require.Equal(t, []string{"fleet", "start a@1"}, signals.take())
	require.Equal(t, "a", router.Contradicted()[0].Name)
	router.Opened("a")
	router.SendProbed(false)
	require.Empty(t, signals.take())
	router.SendProbed(true)
	require.Equal(t, []string{"start a@1"}, signals.take())
}
