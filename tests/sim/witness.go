package sim

import (
	"cmp"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"go.temporal.io/sdk/workflow"
)

// witness is the starter's own probe: it sees what is there, unless a story has it err.
type witness struct{ s *sim }

// Says implements watch.Testifier.
func (w witness) Says(cluster string) rules.Witness {
	s := w.s
	if !s.witnessed {
		return rules.WitnessAbsent
	}
	seen := rules.WitnessUp
	if c, there := s.world.Standing(cluster); !there || !isReady(c) {
		seen = rules.WitnessDown
	}
	if said := cmp.Or(s.words[cluster], seen); said != silent {
		return said
	}
	return rules.WitnessAbsent
}

// Known implements watch.Testifier.
func (witness) Known() rules.Probed { return nil }

// silent is what a story writes for a witness that has no word.
const silent rules.Witness = "silent"

// probesEvery is how often the witness probes, and repeatsEvery how often it says again
// what has not changed.
const (
	probesEvery  = 10 * time.Second
	repeatsEvery = time.Minute
)

// testify tells what the witness says, for as long as the starter is there.
func (s *sim) testify(ctx workflow.Context) {
	for n := 1; ; n++ {
		_ = workflow.Sleep(ctx, probesEvery)
		if !s.witnessed {
			continue
		}
		for cluster := range s.schedule.Fleet {
			s.judge.sees(clusterName(cluster))
		}
		if s.watching {
			s.desk.Testified(n%int(repeatsEvery/probesEvery) == 0)
		}
	}
}

// requireWitness has the rule ask for the witness from now on.
func (s *sim) requireWitness(_ workflow.Context, _ Step) {
	s.witnessed = true
	s.rules(s.judge.ruling)
}

// word has the witness say something of a cluster, whatever is there; empty has it see.
func word(says rules.Witness) func(*sim, workflow.Context, Step) {
	return func(s *sim, _ workflow.Context, x Step) { s.words[x.Cluster] = says }
}

// believed is for how long a word of the witness counts, and what it may take to be heard.
const believed = 3*time.Minute + 40*time.Second

// agreed judges the rule's taint where the rule asks for a witness.
func (j *judge) agreed(w world.Write) {
	if j.s.witnessed {
		j.s.count["taints that a witness agreed to"]++
	}
	if j.unwitnessed(w.Cluster) {
		j.violates("3: a taint is put on %s, and no witness has agreed", w.Cluster)
	}
}

// unwitnessed: the rule has required a witness for long, and none has said for long that
// the cluster is down.
func (j *judge) unwitnessed(cluster string) bool {
	since := j.s.now().Add(-believed)
	for _, x := range j.between(cluster, since) {
		if !x.witnessed || x.word == rules.WitnessDown {
			return false
		}
	}
	return true
}
