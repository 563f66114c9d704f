package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"k8s.io/apimachinery/pkg/types"
)

// simulate is what observe does instead of moving: at the pace that would hold,
// what passed the pre-check would move.
func (e *failover) simulate() {
	for !e.now().Before(e.st.NextSim) && e.st.Paused == nil {
		ready := e.first(queue.Ready, 1)
		if len(ready) == 0 {
			return
		}
		if e.heldBack(&e.st.Items[ready[0]]) {
			continue
		}
		i := e.st.Items[ready[0]]
		e.st.Items = slices.Delete(e.st.Items, ready[0], ready[0]+1) // its result says that it is judged
		e.record(record.Result{
			Key: i.Key, UID: i.UID, Resource: i.Resource, Outcome: phase.OutcomeWouldMove, Reason: reason.WouldMove, To: i.To, At: e.now(),
		})
		if e.st.Terms.ObserveRate > 0 {
			e.st.NextSim = e.now().Add(pace.Apart(e.st.Terms.ObserveRate))
		}
	}
}

// simulated: observe has found that this binding would move in this attempt. It still
// targets the cluster, so every list brings it again.
func (e *failover) simulated(key karmada.BindingKey, uid types.UID) bool {
	if e.st.Counts[string(phase.OutcomeWouldMove)] == 0 {
		return false
	}
	if at := e.resultAt(key, uid); at >= 0 {
		return e.st.Results[at].Outcome == phase.OutcomeWouldMove
	}
	return e.st.Folded[string(phase.OutcomeWouldMove)].Has(key, uid)
}
