package activities_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// The new copy was healthy when karmada-controller-manager and its cluster died together: the
// last status stands for ever, and proves nothing.
//
// Rules: R4.7-47, R4.7-48, R4.7-49.
func TestRelease_NeedsAnUpToDateKarmada(t *testing.T) {
	cases := []struct {
		name       string
		manager    func(b *bench)
		healthyFor time.Duration
		ordered    bool
		reason     reason.Reason
	}{
		{name: "renews", manager: func(*bench) {}, healthyFor: time.Minute},
		{name: "dead", manager: func(b *bench) { b.world.ManagerDead = true }, healthyFor: time.Hour, reason: reason.KarmadaStale},
		{name: "restarted", manager: func(b *bench) { b.world.ManagerSince = b.now.Add(-time.Minute) }, healthyFor: time.Hour, reason: reason.KarmadaStale},
		{name: "dead, on an order", manager: func(b *bench) { b.world.ManagerDead = true }, healthyFor: time.Hour, ordered: true},
		{
			name: "no right to read it", manager: func(b *bench) { b.world.ManagerErr = fmt.Errorf("get: %w", karmada.ErrForbidden) },
			healthyFor: time.Minute, reason: reason.KarmadaUnseen,
		},
		{name: "no Lease, and health has outlasted detection", manager: func(b *bench) { b.world.ManagerErr = karmada.ErrGone }, healthyFor: 90 * time.Second},
		{name: "not configured", manager: func(b *bench) { b.acts.Manager = nil }, healthyFor: time.Minute, reason: reason.KarmadaUnseen},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			b.fail()
			ref := b.ref(must[activities.EvictResult](b, activities.NameEvict, b.evictRequest()))
			b.pass(10 * time.Minute)
			b.pass(10 * time.Minute)
			tc.manager(b)
			out := must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref, HealthyFor: tc.healthyFor, Ordered: tc.ordered})
			require.Equal(t, tc.reason == reason.None, out.End == activities.ActDone, "%s: %s", out.Reason, out.Message)
			if tc.reason != reason.None {
				require.Equal(t, tc.reason, out.Reason)
				require.Empty(t, b.world.Log("release"))
			}
		})
	}
}

// Where the API server does not answer, nothing is known of the Lease: the release is tried again.
func TestRelease_LeaseUnreachable_IsTriedAgain(t *testing.T) {
	b := newBench(t)
	b.fail()
	ref := b.ref(must[activities.EvictResult](b, activities.NameEvict, b.evictRequest()))
	b.pass(10 * time.Minute)
	b.world.ManagerErr = errors.New("timeout")
	_, err := b.env.ExecuteActivity(activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref, HealthyFor: time.Hour})
	require.Error(t, err)
	require.Empty(t, b.world.Log("release"))
}

// Nobody looked while health held: it counts only as far as the controller watched.
//
// Rules: R4.7-58.
func TestRelease_CountsSilenceOnlyWhileTheControllerWatched(t *testing.T) {
	const held = 5 * time.Minute
	watches := func(b *bench, long time.Duration, leads bool) activities.ManagerReader {
		return world.Controller{W: b.world, Since: func() (time.Time, bool) { return b.now.Add(-long), leads }}
	}
	for _, tc := range []struct {
		name       string
		controller func(b *bench) activities.ManagerReader
		looked     bool
		released   bool
	}{
		{name: "watched all the time", controller: func(b *bench) activities.ManagerReader { return watches(b, 10*time.Minute, true) }, released: true},
		{name: "began to watch meanwhile", controller: func(b *bench) activities.ManagerReader { return watches(b, time.Minute, true) }},
		{name: "watches no more", controller: func(b *bench) activities.ManagerReader { return watches(b, 10*time.Minute, false) }},
		{name: "cannot be seen", controller: func(*bench) activities.ManagerReader { return nil }},
		{name: "cannot be seen, and the migration looked", controller: func(*bench) activities.ManagerReader { return nil }, looked: true, released: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			b.fail()
			ref := b.ref(must[activities.EvictResult](b, activities.NameEvict, b.evictRequest()))
			b.pass(10 * time.Minute)
			b.pass(10 * time.Minute)
			b.acts.Controller = tc.controller(b)
			out := must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref, HealthyFor: held, Watched: !tc.looked})
			require.Equal(t, tc.released, out.End == activities.ActDone, "%s: %s", out.Reason, out.Message)
			if !tc.released {
				require.Equal(t, reason.NotHealthy, out.Reason)
			}
		})
	}
}

// Rules: R4.7-32.
func TestAnswersOfPluginsAreTakenAtTheirWordOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		answer activities.PluginAnswer
		ok     bool
		reason reason.Reason
	}{
		"proven":             {answer: activities.PluginAnswer{Version: 1, Proven: true}, ok: true, reason: reason.Healthy},
		"not proven":         {answer: activities.PluginAnswer{Version: 1, Message: "SERVFAIL"}, ok: false, reason: reason.PluginRefuses},
		"an empty answer":    {answer: activities.PluginAnswer{}, ok: false, reason: reason.PluginSilent},
		"of another version": {answer: activities.PluginAnswer{Version: 2, Proven: true}, ok: false, reason: reason.PluginSilent},
	} {
		v := tc.answer.Verdict("dns")
		require.Equal(t, tc.ok, v.OK, name)
		require.Equal(t, tc.reason, v.Reason, name)
		require.NotEmpty(t, v.Message, name)
	}
}

// placed is a migration whose new copy on m2 is healthy, or not.
func placed(t *testing.T, healthy bool) (*bench, activities.ReleaseRequest) {
	b := newBench(t)
	b.fail()
	if !healthy {
		b.world.HealthyAfter = time.Hour
	}
	ref := b.ref(b.evict())
	b.pass(time.Minute)
	b.pass(time.Minute)
	return b, activities.ReleaseRequest{MigrationRef: ref, HealthyFor: time.Hour, ProvenOn: []karmada.TargetCluster{{Name: "m2", Replicas: 2}}}
}

var (
	withDNS = []proof.Plugin{{Name: proof.PluginResourceHealth}, {Name: "dns", TaskQueue: "ops", Activity: "CheckDNS"}}
	dnsSays = func(ok bool) []proof.Proof {
		return []proof.Proof{{Plugin: "dns", Verdict: reason.Verdict{OK: ok, Reason: reason.PluginRefuses, Message: "dns"}}}
	}
)

// Rules: R4.7-30, R4.7-33.
func TestTheReleaseJudgesThePluginsOnceMore(t *testing.T) {
	for name, tc := range map[string]struct {
		healthy bool
		mode    proof.PluginsMode
		proofs  []proof.Proof
		moved   bool // the placement is another than the plug-ins were asked about
		want    activities.ActEnd
	}{
		"any: the resource is healthy":            {healthy: true, mode: proof.PluginsAny, moved: false, want: activities.ActDone},
		"any: it is not, and dns passes":          {healthy: false, mode: proof.PluginsAny, proofs: dnsSays(true), moved: false, want: activities.ActDone},
		"any: neither does":                       {healthy: false, mode: proof.PluginsAny, proofs: dnsSays(false), moved: false, want: activities.ActRefused},
		"all: dns does not pass":                  {healthy: true, mode: proof.PluginsAll, proofs: dnsSays(false), moved: false, want: activities.ActRefused},
		"all: dns has not been asked":             {healthy: true, mode: proof.PluginsAll, moved: false, want: activities.ActRefused},
		"all: both pass":                          {healthy: true, mode: proof.PluginsAll, proofs: dnsSays(true), moved: false, want: activities.ActDone},
		"dns passed, but for another placement":   {healthy: false, mode: proof.PluginsAny, proofs: dnsSays(true), moved: true, want: activities.ActRefused},
		"both passed, dns for another placement":  {healthy: true, mode: proof.PluginsAll, proofs: dnsSays(true), moved: true, want: activities.ActRefused},
		"all: the resource alone is not healthy ": {healthy: false, mode: proof.PluginsAll, proofs: dnsSays(true), moved: false, want: activities.ActRefused},
	} {
		t.Run(name, func(t *testing.T) {
			b, r := placed(t, tc.healthy)
			r.Plugins, r.Proofs = proof.Plugins{List: withDNS, Mode: tc.mode}, tc.proofs
			if tc.moved {
				r.ProvenOn = []karmada.TargetCluster{{Name: "m3", Replicas: 2}}
			}
			require.Equal(t, tc.want, must[activities.ActResult](b, activities.NameRelease, r).End)
		})
	}
}

// prober answers by cluster; asked counts.
type prober struct {
	dead  map[string]bool
	asked []string
}

func (p *prober) Probe(_ context.Context, cluster string) error {
	p.asked = append(p.asked, cluster)
	if p.dead[cluster] {
		return errors.New("connection refused")
	}
	return nil
}

// Rules: R4.7-29.
func TestAFreshProbeOfEachTargetStandsInForDetection(t *testing.T) {
	healthy := world.Terms().MinHealthy + time.Second
	for name, tc := range map[string]struct {
		probe, dead bool
		none        bool // this worker cannot probe
		held        time.Duration
		end         activities.ActEnd
		reason      reason.Reason
		asked       []string
	}{
		"the target answers":          {probe: true, dead: false, none: false, held: healthy, end: activities.ActDone, reason: reason.Written, asked: []string{"m2"}},
		"it does not":                 {probe: true, dead: true, none: false, held: healthy, end: activities.ActRefused, reason: reason.ProbeFailed, asked: []string{"m2"}},
		"nobody may probe":            {probe: false, dead: false, none: false, held: healthy, end: activities.ActRefused, reason: reason.NotHealthy},
		"it outlasted detection":      {probe: true, dead: true, none: false, held: time.Hour, end: activities.ActDone, reason: reason.Written},
		"a probe saves no minHealthy": {probe: true, dead: false, none: false, held: time.Second, end: activities.ActRefused, reason: reason.NotHealthy},
		"this worker cannot probe":    {probe: true, dead: false, none: true, held: healthy, end: activities.ActRefused, reason: reason.ProbeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			p := &prober{dead: map[string]bool{"m2": tc.dead}}
			if b.acts.Prober = p; tc.none {
				b.acts.Prober = nil
			}
			b.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}) // the source answers
			ref := b.ref(b.evict())
			b.pass(time.Minute)
			b.pass(time.Minute)
			out := must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MigrationRef: ref, HealthyFor: tc.held, Probe: tc.probe})
			require.Equal(t, tc.end, out.End, out.Message)
			require.Equal(t, tc.reason, out.Reason)
			require.Equal(t, tc.asked, p.asked)
		})
	}
}
