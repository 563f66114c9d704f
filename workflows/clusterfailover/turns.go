package clusterfailover

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
)

// nextList is when the affected set is to be listed: at once when asked to, else in
// its time. A long list costs history: the next waits longer, by a millisecond and by
// fifteen per binding.
func (e *failover) nextList() time.Time {
	n := time.Duration(e.targeting() + len(e.st.Moves))
	switch {
	case e.listDirty && (!e.listed || n < longList):
		return e.now()
	case e.listDirty:
		return e.st.Listed.Add(n * time.Millisecond)
	default:
		return e.st.Listed.Add(max(e.st.Terms.Relist, n*15*time.Millisecond))
	}
}

// targeting is how many bindings a list brings: those that observe has judged
// target the cluster still.
func (e *failover) targeting() int {
	return len(e.st.Items) + e.st.Counts[string(phase.OutcomeWouldMove)]
}

// longList is from how many bindings on lists are spaced out.
const longList = 1000

func (e *failover) nextInQueue(sooner func(time.Time, string)) {
	sooner(e.nextList(), "list the bindings on "+e.cluster+" again")
	if !e.enforcing() && e.st.Paused == nil && e.st.Queue.Count(queue.Ready) > 0 {
		sooner(e.st.NextSim, "the next move would begin")
	}
	if e.now().Before(e.st.NextDrain) && (e.st.Queue.Count(queue.Ready) > 0 || len(e.waitForPermit()) > 0) {
		sooner(e.st.NextDrain, "the drain's own rate lets the next move begin")
	}
	of, at := e.st.Queue.Next(e.now())
	switch {
	case of == nil:
	case of.State == queue.Blocked:
		sooner(at, "look at blocked "+of.Key.String()+" again")
	case of.Reason == reason.Snoozed:
		sooner(at, "the snooze of "+of.Key.String()+" ends")
	default:
		sooner(at, "the toleration of "+of.Key.String()+" runs out")
	}
}

// record keeps the one outcome of a binding in this attempt.
func (e *failover) record(r record.Result) {
	if e.st.Ledger.Record(r, e.closing()) {
		e.trail.outcome(e.st.Attempt, r)
	}
}
