package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.7-32.
func TestAnswersOfPluginsAreTakenAtTheirWordOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		answer activities.PluginAnswer
		ok     bool
		reason failover.Reason
	}{
		"proven":             {activities.PluginAnswer{Version: 1, Proven: true}, true, failover.ReasonHealthy},
		"not proven":         {activities.PluginAnswer{Version: 1, Message: "SERVFAIL"}, false, failover.ReasonPluginRefuses},
		"an empty answer":    {activities.PluginAnswer{}, false, failover.ReasonPluginSilent},
		"of another version": {activities.PluginAnswer{Version: 2, Proven: true}, false, failover.ReasonPluginSilent},
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
	return b, activities.ReleaseRequest{MoveRef: ref, HealthyFor: time.Hour, ProvenOn: []failover.TargetCluster{{Name: "m2", Replicas: 2}}}
}

var (
	withDNS = []failover.Plugin{{Name: failover.PluginResourceHealth}, {Name: "dns", TaskQueue: "ops", Activity: "CheckDNS"}}
	dnsSays = func(ok bool) []failover.Proof {
		return []failover.Proof{{Plugin: "dns", Verdict: failover.Verdict{OK: ok, Reason: failover.ReasonPluginRefuses, Message: "dns"}}}
	}
)

// Rules: R4.7-30, R4.7-33.
func TestTheReleaseJudgesThePluginsOnceMore(t *testing.T) {
	for name, tc := range map[string]struct {
		healthy bool
		mode    failover.PluginsMode
		proofs  []failover.Proof
		moved   bool // the placement is another than the plug-ins were asked about
		want    activities.ActEnd
	}{
		"any: the resource is healthy":            {true, failover.PluginsAny, nil, false, activities.ActDone},
		"any: it is not, and dns passes":          {false, failover.PluginsAny, dnsSays(true), false, activities.ActDone},
		"any: neither does":                       {false, failover.PluginsAny, dnsSays(false), false, activities.ActRefused},
		"all: dns does not pass":                  {true, failover.PluginsAll, dnsSays(false), false, activities.ActRefused},
		"all: dns has not been asked":             {true, failover.PluginsAll, nil, false, activities.ActRefused},
		"all: both pass":                          {true, failover.PluginsAll, dnsSays(true), false, activities.ActDone},
		"dns passed, but for another placement":   {false, failover.PluginsAny, dnsSays(true), true, activities.ActRefused},
		"both passed, dns for another placement":  {true, failover.PluginsAll, dnsSays(true), true, activities.ActRefused},
		"all: the resource alone is not healthy ": {false, failover.PluginsAll, dnsSays(true), false, activities.ActRefused},
	} {
		t.Run(name, func(t *testing.T) {
			b, r := placed(t, tc.healthy)
			r.Plugins, r.Proofs = failover.Plugins{List: withDNS, Mode: tc.mode}, tc.proofs
			if tc.moved {
				r.ProvenOn = []failover.TargetCluster{{Name: "m3", Replicas: 2}}
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
		reason      failover.Reason
		asked       []string
	}{
		"the target answers":          {true, false, false, healthy, activities.ActDone, failover.ReasonWritten, []string{"m2"}},
		"it does not":                 {true, true, false, healthy, activities.ActRefused, failover.ReasonProbeFailed, []string{"m2"}},
		"nobody may probe":            {false, false, false, healthy, activities.ActRefused, failover.ReasonNotHealthy, nil},
		"it outlasted detection":      {true, true, false, time.Hour, activities.ActDone, failover.ReasonWritten, nil},
		"a probe saves no minHealthy": {true, false, false, time.Second, activities.ActRefused, failover.ReasonNotHealthy, nil},
		"this worker cannot probe":    {true, false, true, healthy, activities.ActRefused, failover.ReasonProbeFailed, nil},
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
