package sim

import (
	"cmp"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"go.temporal.io/sdk/workflow"
)

// external probe is the controller's own probe: it sees what is there, unless a story has it err.
type externalProbe struct{ s *sim }

// Result implements watch.ProbeResults.
func (w externalProbe) Result(cluster string) rules.ExternalProbe {
	s := w.s
	if !s.externallyProbed {
		return rules.ExternalProbeAbsent
	}
	seen := rules.ExternalProbeUp
	if c, there := s.world.Standing(cluster); !there || !isReady(c) {
		seen = rules.ExternalProbeDown
	}
	if said := cmp.Or(s.words[cluster], seen); said != silent {
		return said
	}
	return rules.ExternalProbeAbsent
}

// Known implements watch.ProbeResults.
func (externalProbe) Known() rules.Probed { return nil }

// silent is what a story writes for an external probe that has no word.
const silent rules.ExternalProbe = "silent"

// probesEvery is how often the external probe probes, and repeatsEvery how often it says again
// what has not changed.
const (
	probesEvery  = 10 * time.Second
	repeatsEvery = time.Minute
)

// testify tells what the external probe says, for as long as the controller is there.
func (s *sim) testify(ctx workflow.Context) {
	for n := 1; ; n++ {
		_ = workflow.Sleep(ctx, probesEvery)
		if !s.externallyProbed {
			continue
		}
		for cluster := range s.schedule.Fleet {
			s.judge.sees(clusterName(cluster))
		}
		if s.watching {
			s.router.SendProbed(n%int(repeatsEvery/probesEvery) == 0)
		}
	}
}

// requireExternalProbe has the rule ask for the external probe from now on.
func (s *sim) requireExternalProbe(_ workflow.Context, _ Step) {
	s.externallyProbed = true
	s.rules(s.judge.ruling)
}

// word has the external probe say something of a cluster, whatever is there; empty has it see.
func word(says rules.ExternalProbe) func(*sim, workflow.Context, Step) {
	return func(s *sim, _ workflow.Context, x Step) { s.words[x.Cluster] = says }
}

// believed is for how long a word of the external probe counts, and what it may take to be heard.
const believed = 3*time.Minute + 40*time.Second

// agreed judges the rule's taint where the rule asks for an external probe.
func (j *judge) agreed(w world.Write) {
	if j.s.externallyProbed {
		j.s.count["taints that an external probe agreed to"]++
	}
	if j.notExternallyProbed(w.Cluster) {
		j.violates("3: a taint is put on %s, and no external probe has agreed", w.Cluster)
	}
}

// not externally probed: the rule has required an external probe for long, and none has said for long that
// the cluster is down.
func (j *judge) notExternallyProbed(cluster string) bool {
	since := j.s.now().Add(-believed)
	for _, x := range j.between(cluster, since) {
		if !x.externallyProbed || x.word == rules.ExternalProbeDown {
			return false
		}
	}
	return true
}
