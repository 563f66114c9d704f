package clusterfailover

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

const (
	pendingPurgeBatch = 100 // pending purges looked at together
	// pendingPurgeAgain is the pause before old copies that are still there are looked at again; it
	// doubles up to pendingPurgePoll.
	pendingPurgeAgain = 2 * time.Second
	pendingPurgePoll  = 10 * time.Second
	// pendingPurgeLate is how long after the untaint old copies that still run need attention.
	pendingPurgeLate = time.Minute
)

// endOldCopies runs beside the failover, which never waits for it. From the moment when the
// cluster is Ready it has Karmada end the old copies that were released while it was away.
func (e *failover) endOldCopies(ctx workflow.Context) {
	for {
		err := workflow.Await(ctx, e.copiesCanEnd)
		if err != nil {
			return
		}
		for pause := pendingPurgeAgain; e.copiesCanEnd(); pause = min(2*pause, pendingPurgePoll) {
			e.endOnce(ctx)
			if len(e.st.PendingPurges) == 0 {
				continue
			}
			err := workflow.Sleep(ctx, pause)
			if err != nil {
				return
			}
		}
	}
}

// copiesCanEnd: something is owed, and the cluster is back, or the failover waits for it alone.
func (e *failover) copiesCanEnd() bool {
	return len(e.st.PendingPurges) > 0 && (e.st.Cluster.Ready == "True" || !e.st.Settled.IsZero())
}

// endOnce goes through the pending purges once, in shares at a time.
func (e *failover) endOnce(ctx workflow.Context) {
	for pendingPurges := range slices.Chunk(slices.Clone(e.st.PendingPurges), pendingPurgeBatch) {
		var shares []workflow.Future
		for share := range slices.Chunk(pendingPurges, (len(pendingPurges)+activities.EndShares-1)/activities.EndShares) {
			doing := flow.Doing(ctx, fmt.Sprintf("end %d old copies on %s", len(share), e.cluster))
			request := activities.EndRequest{Cluster: e.cluster, ClusterUID: e.st.UID, Mode: e.st.Terms.Mode, PendingPurges: share}
			shares = append(shares, workflow.ExecuteActivity(doing, activities.NameEndOldCopies, request))
		}
		for _, share := range shares {
			e.ended(ctx, share)
		}
	}
}

// ended notes what became of one share.
func (e *failover) ended(ctx workflow.Context, share workflow.Future) {
	var r activities.EndResult
	if err := share.Get(ctx, &r); err != nil {
		e.log.Error("could not end old copies", "error", err)
		return
	}
	if r.Reason != reason.None {
		e.log.Warn("could not end old copies", "reason", r.Reason, "message", r.Message)
	}
	e.st.PendingPurges = slices.DeleteFunc(e.st.PendingPurges, func(d record.PendingPurge) bool { return slices.Contains(r.Ended, d) })
	e.dirty = e.dirty || len(r.Ended) > 0
}
