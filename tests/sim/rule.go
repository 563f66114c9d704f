package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// ruleEdits are what step edit-rule makes of the rule's windows, by its number: after what time
// of a match its taint is put, and after what time without one it goes.
var ruleEdits = []struct{ add, remove time.Duration }{
	{addAfter, wellFor},
	{20 * time.Second, wellFor},
	{150 * time.Second, wellFor},
	{addAfter, 10 * time.Second},
	{addAfter, 90 * time.Second},
	{10 * time.Second, 60 * time.Second},
}

// editRule changes the windows of the rule, those that run included.
func (s *sim) editRule(_ workflow.Context, x Step) {
	edit := ruleEdits[x.N%len(ruleEdits)]
	s.add, s.remove = edit.add, edit.remove
	s.rules(s.judge.ruling)
}

// aim has the rule aim at a cluster, or not any more.
func aim(at bool) func(*sim, workflow.Context, Step) {
	return func(s *sim, _ workflow.Context, x Step) {
		if delete(s.spared, x.Cluster); !at {
			s.spared[x.Cluster] = true
		}
		s.rules(s.judge.ruling)
	}
}

// aims is what the rule aims at: everything, where it spares nobody.
func (s *sim) aims() *karmada.ClusterAffinity {
	if len(s.spared) == 0 {
		return nil
	}
	return &karmada.ClusterAffinity{Exclude: slices.Sorted(maps.Keys(s.spared))}
}

// aimsAt: the rule is there, and aims at a cluster.
func (j *judge) aimsAt(cluster string) bool { return j.ruling && !j.s.spared[cluster] }

// latelyRead is within what time before its last look at the cluster the writer of a taint has
// read the rules that it goes by.
const latelyRead = 15 * time.Second

// shortest is the shortest time without a match that the rule has asked for since a moment.
func (j *judge) shortest(cluster string, since time.Time) time.Duration {
	window := j.s.remove
	for _, x := range j.between(cluster, since) {
		window = min(window, x.remove)
	}
	return window
}

// underWay is for how long a taint that was confirmed may be under way: a mismatch that comes
// and goes meanwhile is none of that write's.
const underWay = time.Minute

// confirmedFrom is from when on a taint that is written now may have been confirmed: as long
// ago as its failover's last look at the cluster where answers are lost since.
func (j *judge) confirmedFrom(cluster string) time.Time {
	from := j.readAt.Add(-underWay)
	look, looked := j.assessed[workflows.ClusterFailoverID("", cluster)]
	if looked && look.Before(from) && !look.Before(j.readAt.Add(-answersIn)) {
		return look
	}
	return from
}

// rash judges that a taint of the rule is put only after that has matched for its window. What
// nobody can tell, and a time without a rule, is no mismatch.
func (j *judge) rash(w world.Write) {
	window := j.s.add
	for _, x := range j.between(w.Cluster, j.readAt.Add(-latelyRead)) {
		window = min(window, x.add)
	}
	var since time.Time
	longest, confirmed := time.Duration(0), j.confirmedFrom(w.Cluster)
	for _, x := range append(slices.Clone(j.sights[w.Cluster]), sight{from: j.s.now()}) {
		if !since.IsZero() && !x.from.Before(confirmed) {
			longest = max(longest, x.from.Sub(since))
		}
		switch mismatch := !x.there || isReady(x.c); {
		case mismatch:
			since = time.Time{}
		case since.IsZero():
			since = x.from
		}
	}
	if longest < window-2*time.Second {
		j.violates("4.1: %s gets %s after it matched for %s of %s", w.Cluster, taintKey, longest, window)
	}
}
