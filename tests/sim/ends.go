package sim

import (
	"maps"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// terminated: what a run knew is lost with it, and nobody owes what nobody knows.
func (j *judge) terminated(id string) {
	j.applications.terminated(id)
	for n := range j.s.schedule.Fleet {
		if cluster := clusterName(n); id == workflows.ClusterFailoverID("", cluster) {
			delete(j.owed, cluster)
			delete(j.affected, cluster)
			delete(j.law.paused, cluster)
			j.outlived(cluster)
		}
	}
}

// closed judges a failover that has closed.
func (j *judge) closed(r workflows.FailoverReport) {
	j.s.count["closed "+string(r.Ended)]++
	j.s.count["attempts"] += len(r.Attempts)
	j.law.ordered(j.s.now(), r.Cluster, workflows.UpdateResume) // a pause ends with its failover
	if len(r.Attempts) > 1 {
		j.s.count["failovers of several attempts"]++
	}
	j.thaws(r.Cluster)
	j.outcomes(r)
	j.observed(r)
	j.inherited(r)
	j.skipped(r)
	j.approvedOnce(r)
	j.returnedOnce(r)
	if j.switched() && !j.enforces(r) {
		return // one that observes leaves what it finds as it is, and says so
	}
	for _, left := range j.left(r.Cluster) {
		j.violates("6: the failover of %s has closed (%s), and %s", r.Cluster, r.Ended, left)
	}
}

// outcomes judges that everybody has exactly one in each attempt.
func (j *judge) outcomes(r workflows.FailoverReport) {
	whole := len(r.Attempts) <= 3 // older attempts keep their counts alone
	known := map[string]bool{}
	for _, attempt := range r.Attempts {
		seen := map[string]bool{}
		if attempt.Results == nil && len(attempt.Counts) > 0 {
			whole = false
		}
		for _, x := range attempt.Results {
			key := x.Key.String() + " " + string(x.UID)
			if seen[key] {
				j.violates("7: %s has two outcomes in attempt %d of %s", key, attempt.Attempt, r.Cluster)
			}
			seen[key], known[key] = true, true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(j.affected[r.Cluster])) {
		if at := j.affected[r.Cluster][key]; whole && !at.Before(r.Began) && !known[key] {
			j.violates("7: %s was evicted from %s and has no outcome", key, r.Cluster)
		}
	}
	delete(j.affected, r.Cluster)
	if whole {
		j.owedAt(r, known)
	}
	delete(j.owed, r.Cluster)
}

// observed counts what no migration hands in.
func (j *judge) observed(r workflows.FailoverReport) {
	for _, attempt := range r.Attempts {
		for _, x := range attempt.Results {
			if x.Outcome == phase.OutcomeWouldMove || x.Outcome == phase.OutcomeWouldBlock {
				j.s.count["outcome "+string(x.Outcome)]++
			}
		}
	}
}

// inherited judges that no outcome of a failover is what an older one's migration handed in.
// One that ends when this failover itself calls its binding off says another reason.
func (j *judge) inherited(r workflows.FailoverReport) {
	for _, attempt := range r.Attempts {
		for _, x := range attempt.Results {
			same := func(m activities.MigrationReport) bool {
				return m.Key == x.Key && m.UID == x.UID && m.Result.Outcome == x.Outcome && m.Result.Reason == x.Reason && m.Result.At.Equal(x.At)
			}
			at := slices.IndexFunc(j.handed[r.Cluster], same)
			if at >= 0 && j.handed[r.Cluster][at].FailoverID != r.FailoverID {
				j.violates("7: what became of %s in attempt %d of %s is the end of an older failover's migration", x.Key, attempt.Attempt, r.Cluster)
			}
		}
	}
}

// left is what of Lifeboat's stands for a cluster.
func (j *judge) left(cluster string) []string {
	var out []string
	if c, there := j.s.world.Standing(cluster); there {
		for _, t := range c.Added {
			out = append(out, "taint "+t.Key+" stands")
		}
		if c.Stopped != nil {
			out = append(out, "the record of a stop stands")
		}
		if c.Drain != nil {
			out = append(out, "the record of a drain stands")
		}
	}
	for _, b := range j.s.world.Everything() {
		t := held(&b, cluster)
		if t != nil && t.Reason != karmada.TaskReasonKept && t.Reason != karmada.TaskReasonNeedsOperator && !j.applications.goesOn(t) && !j.outlives(t) {
			out = append(out, "a hold of "+b.Key.String()+" stands")
		}
	}
	return out
}

// outlives tells that a move which a terminated failover has sent out holds a dependent, and has written nothing else by
// which the next failover could find it: it ends the hold itself, and the controller looks for it should it not.
func (j *judge) outlives(hold *karmada.Task) bool {
	return j.s.count["terminated"] > 0 && hold.ForDependent() &&
		slices.ContainsFunc(hold.Holders(), func(owner string) bool { return j.s.state[owner] != gone })
}

// mostOfMessage is how long Karmada lets a task's message be, in bytes.
const mostOfMessage = 1024

// changed sees every state of every binding, whoever made it.
func (j *judge) changed(b *karmada.Binding) {
	if b == nil {
		return
	}
	for n := range j.s.schedule.Fleet {
		j.concerns(clusterName(n), b)
	}
	of := map[string]bool{}
	for _, t := range b.Tasks {
		if of[t.FromCluster] {
			j.violates("5: %s has two tasks for %s", b.Key, t.FromCluster)
		}
		of[t.FromCluster] = true
		if t.Producer == karmada.Producer && len(t.Message) > mostOfMessage {
			j.violates("1: the task of %s for %s names more holders than a task has room for", b.Key, t.FromCluster)
		}
	}
}

// end judges the quiet at last.
func (j *judge) end(idle bool, running []string) {
	if !idle {
		j.violates("liveness: %s after the world is well, these still run: %v", bound, running)
		return
	}
	for n := range j.s.schedule.Fleet {
		for _, left := range j.left(clusterName(n)) {
			j.violates("6: at the end, for %s: %s", clusterName(n), left)
		}
	}
	for _, x := range j.s.world.Beside {
		j.beside(x)
	}
	for _, b := range j.s.world.Everything() {
		if b.Placement != nil && len(b.Clusters) == 0 && len(b.Tasks) == 0 {
			j.violates("2: at the end %s has neither target nor hold", b.Key)
		}
	}
}

// beside judges that a copy began while another's Work stood: for Directly, never by
// Lifeboat's doing.
func (j *judge) beside(x world.Write) {
	for key, e := range j.evicted {
		own := strings.HasPrefix(key, x.Detail+" "+x.Binding+" ")
		atOnce := !e.released.IsZero() && x.At.Equal(e.released) // later ones are the scheduler's own
		if own && e.purge == karmada.PurgeDirectly && atOnce && !e.fenced {
			j.violates("11: %s begins on %s at %s beside its old copy on %s", x.Binding, x.Cluster, x.At.Sub(begins), x.Detail)
		}
	}
}
