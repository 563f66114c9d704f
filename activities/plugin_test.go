package activities_test

import (
	"context"
	"errors"
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

// Rules: R4.7-32.
func TestAnswersOfPluginsAreTakenAtTheirWordOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		answer activities.PluginAnswer
		ok     bool
		reason reason.Reason
	}{
		"proven":             {activities.PluginAnswer{Version: 1, Proven: true}, true, reason.Healthy},
		"not proven":         {activities.PluginAnswer{Version: 1, Message: "SERVFAIL"}, false, reason.PluginRefuses},
		"an empty answer":    {activities.PluginAnswer{}, false, reason.PluginSilent},
		"of another version": {activities.PluginAnswer{Version: 2, Proven: true}, false, reason.PluginSilent},
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
	return b, activities.ReleaseRequest{MoveRef: ref, HealthyFor: time.Hour, ProvenOn: []karmada.TargetCluster{{Name: "m2", Replicas: 2}}}
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
		"any: the resource is healthy":            {true, proof.PluginsAny, nil, false, activities.ActDone},
		"any: it is not, and dns passes":          {false, proof.PluginsAny, dnsSays(true), false, activities.ActDone},
		"any: neither does":                       {false, proof.PluginsAny, dnsSays(false), false, activities.ActRefused},
		"all: dns does not pass":                  {true, proof.PluginsAll, dnsSays(false), false, activities.ActRefused},
		"all: dns has not been asked":             {true, proof.PluginsAll, nil, false, activities.ActRefused},
		"all: both pass":                          {true, proof.PluginsAll, dnsSays(true), false, activities.ActDone},
		"dns passed, but for another placement":   {false, proof.PluginsAny, dnsSays(true), true, activities.ActRefused},
		"both passed, dns for another placement":  {true, proof.PluginsAll, dnsSays(true), true, activities.ActRefused},
		"all: the resource alone is not healthy ": {false, proof.PluginsAll, dnsSays(true), false, activities.ActRefused},
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
		"the target answers":          {true, false, false, healthy, activities.ActDone, reason.Written, []string{"m2"}},
		"it does not":                 {true, true, false, healthy, activities.ActRefused, reason.ProbeFailed, []string{"m2"}},
		"nobody may probe":            {false, false, false, healthy, activities.ActRefused, reason.NotHealthy, nil},
		"it outlasted detection":      {true, true, false, time.Hour, activities.ActDone, reason.Written, nil},
		"a probe saves no minHealthy": {true, false, false, time.Second, activities.ActRefused, reason.NotHealthy, nil},
		"this worker cannot probe":    {true, false, true, healthy, activities.ActRefused, reason.ProbeFailed, nil},
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
			out := must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MoveRef: ref, HealthyFor: tc.held, Probe: tc.probe})
			require.Equal(t, tc.end, out.End, out.Message)
			require.Equal(t, tc.reason, out.Reason)
			require.Equal(t, tc.asked, p.asked)
		})
	}
}
