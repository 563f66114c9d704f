package watch

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.1-55.
func TestProbe_NextLeader_KnowsWhatTheLastOneReached(t *testing.T) {
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
		"nothing can be told":               {a: unclear, attempts: 5, want: rules.ExternalProbeAbsent},
	} {
		t.Run(name, func(t *testing.T) {
			next := told(map[string]answer{"a": tc.a, "b": healthy})
			require.Nil(t, next.Known(), "it would take the place of what is kept")
			next.Recall(known)
			for range tc.attempts {
				next.Probe(t.Context(), members("a", "b"))
			}
			require.Equal(t, tc.want, next.Says("a"))
			require.Len(t, next.Known(), 2)
		})
	}
	next := told(map[string]answer{"a": noAnswer, "b": healthy})
	next.Recall(known)
	for range 9 {
		next.Probe(t.Context(), []karmada.Cluster{{Name: "a", Endpoint: "https://elsewhere"}, members("b")[0]})
	}
	require.Equal(t, rules.ExternalProbeAbsent, next.Says("a"), "another address is another member")
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
	require.Equal(t, rules.ExternalProbeUp, w.Says("a"))
	w.Begin()
	require.Equal(t, rules.ExternalProbeAbsent, w.Says("a"))
	require.Nil(t, w.Known())
	known := rules.Probed{"a": {Endpoint: digest(members("a")[0].Endpoint)}}
	w.Recall(known)
	answers["a"] = noAnswer
	w.Probe(t.Context(), members("a", "b"))
	require.Equal(t, rules.ExternalProbeDown, w.Says("a"), "the other leader saw it down, and so does this one")
}

// The first fact that a new leader sends has the probe's word in it: one without would take back
// what the last leader said. What is known is kept in the pacer.
//
// Rules: R4.1-55.
func TestWatch_NewLeader_TellsNothingBeforeTheFirstProbe(t *testing.T) {
	for name, late := range map[string]bool{"what was known is read at once": false, "at the second attempt": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newLeader(t, late) })
		})
	}
}

func newLeader(t *testing.T, late bool) {
	l := &line{begun: time.Now(), running: map[string]bool{}}
	dead := cluster("a", "1", corev1.ConditionFalse)
	k := &fakeKarmada{play: func(h k8sadapter.Handlers) {
		h.OnRules([]rules.Rule{notReady()})
		h.OnCluster(nil, dead)
	}}
	log := slog.New(slog.DiscardHandler)
	asked := 0
	w := &Watcher{
		Follow:        func(h k8sadapter.Handlers) Karmada { k.h = h; return k },
		Reports:       &notes{},
		ExternalProbe: told(map[string]answer{"a": healthy}),
		Recall: func(context.Context) (rules.Probed, error) {
			if asked++; late && asked == 1 {
				return nil, errors.New("away")
			}
			return rules.Probed{"a": {Endpoint: digest(dead.Endpoint), Up: true}}, nil
		},
		Outbox: &Outbox{Sender: l, Counter: uncounted{}, Log: log, Coalesce: time.Second},
		Owners: owners{l}, Resync: 30 * time.Second,
		Metrics: telemetry.NewControllerMetrics(prometheus.NewRegistry()), Log: log,
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	pass(10 * time.Second)
	stop()
	<-done
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
func TestDesk_ContradictionIsToldAgainEachMinute(t *testing.T) {
	post := &recorder{}
	router := NewRouter(post)
	router.RulesChanged([]rules.Rule{notReady()})
	c := cluster("a", "1", corev1.ConditionFalse)
	c.Conditions[0].Reason = "ClusterNotReachable"
	w := told(map[string]answer{"a": healthy})
	router.Hear(w)
	for range 2 {
		w.Probe(t.Context(), []karmada.Cluster{*c})
	}
	router.ClusterChanged(nil, c)
	require.Equal(t, []string{"fleet", "start a@1"}, post.heard())
	require.Equal(t, "a", router.Contradicted()[0].Name)
	router.Opened("a")
	router.Testified(false)
	require.Empty(t, post.heard())
	router.Testified(true)
	require.Equal(t, []string{"start a@1"}, post.heard())
}
