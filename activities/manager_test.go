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
)

// The new copy was healthy when karmada-controller-manager and its cluster died together: the
// last status stands for ever, and proves nothing.
//
// Rules: R4.7-47, R4.7-48, R4.7-49.
func TestRelease_NeedsAnUpToDateKarmada(t *testing.T) {
	for name, tc := range map[string]struct {
		manager    func(b *bench)
		healthyFor time.Duration
		ordered    bool
		reason     reason.Reason
	}{
		"renews":              {healthyFor: time.Minute, reason: reason.Written},
		"dead":                {manager: managerDead, healthyFor: time.Hour, reason: reason.KarmadaStale},
		"dead, on an order":   {manager: managerDead, healthyFor: time.Hour, ordered: true, reason: reason.Written},
		"restarted":           {manager: func(b *bench) { b.world.ManagerSince = b.now.Add(-time.Minute) }, healthyFor: time.Hour, reason: reason.KarmadaStale},
		"not configured":      {manager: func(b *bench) { b.acts.Manager = nil }, healthyFor: time.Minute, reason: reason.KarmadaUnseen},
		"no right to read it": {manager: leaseErr(fmt.Errorf("get: %w", karmada.ErrForbidden)), healthyFor: time.Minute, reason: reason.KarmadaUnseen},
		"no Lease, and health has outlasted detection": {manager: leaseErr(karmada.ErrGone), healthyFor: 90 * time.Second, reason: reason.Written},
	} {
		t.Run(name, func(t *testing.T) {
			b := failing(t)
			ref := b.evicted(10*time.Minute, 10*time.Minute)
			b.does(tc.manager)
			out := b.release(activities.ReleaseRequest{MigrationRef: ref, HealthyFor: tc.healthyFor, Ordered: tc.ordered})
			require.Equal(t, tc.reason, out.Reason, out.Message)
			require.Equal(t, endOf(tc.reason), out.End)
			require.Equal(t, tc.reason == reason.Written, len(b.world.Log("release")) == 1)
		})
	}
}

func managerDead(b *bench) { b.world.ManagerDead = true }

// leaseErr has reads of the manager's Lease fail.
func leaseErr(err error) func(*bench) { return func(b *bench) { b.world.ManagerErr = err } }

// Where the API server does not answer, nothing is known of the Lease: the release is tried again.
func TestRelease_LeaseUnreachable_IsTriedAgain(t *testing.T) {
	b := failing(t)
	ref := b.evicted(10 * time.Minute)
	b.does(leaseErr(errors.New("timeout")))
	_, err := do[activities.ActResult](b, activities.NameRelease, healthy(ref))
	require.Error(t, err)
	require.Empty(t, b.world.Log("release"))
}

// Nobody looked while health held: it counts only as far as the controller watched.
//
// Rules: R4.7-58.
func TestRelease_CountsSilenceOnlyWhileTheControllerWatched(t *testing.T) {
	const held = 5 * time.Minute
	watches := func(long time.Duration, leads bool) func(*bench) {
		return func(b *bench) {
			b.acts.Controller = world.Controller{W: b.world, Since: func() (time.Time, bool) { return b.now.Add(-long), leads }}
		}
	}
	for name, tc := range map[string]struct {
		controller func(b *bench) // none, where it is empty
		looked     bool
		reason     reason.Reason
	}{
		"watched all the time":                     {controller: watches(10*time.Minute, true), reason: reason.Written},
		"began to watch meanwhile":                 {controller: watches(time.Minute, true), reason: reason.NotHealthy},
		"watches no more":                          {controller: watches(10*time.Minute, false), reason: reason.NotHealthy},
		"cannot be seen":                           {reason: reason.NotHealthy},
		"cannot be seen, and the migration looked": {looked: true, reason: reason.Written},
	} {
		t.Run(name, func(t *testing.T) {
			b := failing(t)
			ref := b.evicted(10*time.Minute, 10*time.Minute)
			b.does(tc.controller)
			out := b.release(activities.ReleaseRequest{MigrationRef: ref, HealthyFor: held, Watched: !tc.looked})
			require.Equal(t, tc.reason, out.Reason, out.Message)
			require.Equal(t, endOf(tc.reason), out.End)
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
		"not proven":         {answer: activities.PluginAnswer{Version: 1, Message: "SERVFAIL"}, reason: reason.PluginRefuses},
		"an empty answer":    {answer: activities.PluginAnswer{}, reason: reason.PluginSilent},
		"of another version": {answer: activities.PluginAnswer{Version: 2, Proven: true}, reason: reason.PluginSilent},
	} {
		v := tc.answer.Verdict("dns")
		require.Equal(t, tc.ok, v.OK, name)
		require.Equal(t, tc.reason, v.Reason, name)
		require.NotEmpty(t, v.Message, name)
	}
}

// placed is a migration whose new copy on m2 is healthy, or not.
func placed(t *testing.T, well bool) (*bench, activities.ReleaseRequest) {
	b := failing(t)
	if !well {
		b.world.HealthyAfter = time.Hour
	}
	r := healthy(b.evicted(time.Minute, time.Minute))
	r.ProvenOn = on("m2")
	return b, r
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
		"any: the resource is healthy":            {healthy: true, mode: proof.PluginsAny, want: activities.ActDone},
		"any: it is not, and dns passes":          {mode: proof.PluginsAny, proofs: dnsSays(true), want: activities.ActDone},
		"any: neither does":                       {mode: proof.PluginsAny, proofs: dnsSays(false), want: activities.ActRefused},
		"all: dns does not pass":                  {healthy: true, mode: proof.PluginsAll, proofs: dnsSays(false), want: activities.ActRefused},
		"all: dns has not been asked":             {healthy: true, mode: proof.PluginsAll, want: activities.ActRefused},
		"all: both pass":                          {healthy: true, mode: proof.PluginsAll, proofs: dnsSays(true), want: activities.ActDone},
		"dns passed, but for another placement":   {mode: proof.PluginsAny, proofs: dnsSays(true), moved: true, want: activities.ActRefused},
		"both passed, dns for another placement":  {healthy: true, mode: proof.PluginsAll, proofs: dnsSays(true), moved: true, want: activities.ActRefused},
		"all: the resource alone is not healthy ": {mode: proof.PluginsAll, proofs: dnsSays(true), want: activities.ActRefused},
	} {
		t.Run(name, func(t *testing.T) {
			b, r := placed(t, tc.healthy)
			r.Plugins, r.Proofs = proof.Plugins{List: withDNS, Mode: tc.mode}, tc.proofs
			if tc.moved {
				r.ProvenOn = on("m3")
			}
			require.Equal(t, tc.want, b.release(r).End)
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
		"the target answers":          {probe: true, held: healthy, end: activities.ActDone, reason: reason.Written, asked: []string{"m2"}},
		"it does not":                 {probe: true, dead: true, held: healthy, end: activities.ActRefused, reason: reason.ProbeFailed, asked: []string{"m2"}},
		"nobody may probe":            {held: healthy, end: activities.ActRefused, reason: reason.NotHealthy},
		"it outlasted detection":      {probe: true, dead: true, held: time.Hour, end: activities.ActDone, reason: reason.Written},
		"a probe saves no minHealthy": {probe: true, held: time.Second, end: activities.ActRefused, reason: reason.NotHealthy},
		"this worker cannot probe":    {probe: true, none: true, held: healthy, end: activities.ActRefused, reason: reason.ProbeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			p := &prober{dead: map[string]bool{"m2": tc.dead}}
			if b.acts.Prober = p; tc.none {
				b.acts.Prober = nil
			}
			maintained(b)
			ref := b.evicted(time.Minute, time.Minute)
			out := b.release(activities.ReleaseRequest{MigrationRef: ref, HealthyFor: tc.held, Probe: tc.probe})
			require.Equal(t, tc.end, out.End, out.Message)
			require.Equal(t, tc.reason, out.Reason)
			require.Equal(t, tc.asked, p.asked)
		})
	}
}
