package clusterfailover

import (
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
)

// simulate is what observe does instead of moving: at the pace that would hold,
// what passed the pre-check would move.
func (e *failover) simulate() {
	for !e.now().Before(e.st.NextSim) && e.st.Paused == nil {
		ready := e.st.Queue.First(e.now(), queue.Ready, 1)
		if len(ready) == 0 {
			return
		}
		if e.heldBack(&e.st.Items[ready[0]]) {
			continue
		}
		i := e.st.Items[ready[0]]
		e.st.Queue.Remove(ready[0]) // its result says that it is judged
		e.record(record.Result{
			Key: i.Key, UID: i.UID, Resource: i.Resource, Outcome: phase.OutcomeWouldMove, Reason: reason.WouldMove, To: i.To, At: e.now(),
		})
		if e.st.Terms.ObserveRate > 0 {
			e.st.NextSim = e.now().Add(pace.Apart(e.st.Terms.ObserveRate))
		}
	}
}
