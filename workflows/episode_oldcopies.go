package workflows

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"go.temporal.io/sdk/workflow"
)

const (
	debtBatch = 100 // debts looked at together
	// debtAgain is the pause before old copies that are still there are looked at again; it
	// doubles up to debtPoll.
	debtAgain = 2 * time.Second
	debtPoll  = 10 * time.Second
	// debtLate is how long after the untaint old copies that still run need attention.
	debtLate = time.Minute
)

// endOldCopies runs beside the failover, which never waits for it. From the moment when the
// cluster is Ready it has Karmada end the old copies that were released while it was away.
func (e *episode) endOldCopies(ctx workflow.Context) {
	for {
		if workflow.Await(ctx, e.copiesCanEnd) != nil {
			return
		}
		for pause := debtAgain; e.copiesCanEnd(); pause = min(2*pause, debtPoll) {
			e.endOnce(ctx)
			if len(e.st.Debts) > 0 && workflow.Sleep(ctx, pause) != nil {
				return
			}
		}
	}
}

// copiesCanEnd: something is owed, and the cluster is back, or the failover waits for it alone.
func (e *episode) copiesCanEnd() bool {
	return len(e.st.Debts) > 0 && (e.st.Cluster.Ready == "True" || !e.st.Settled.IsZero())
}

// endOnce goes through the debts once, in shares at a time.
func (e *episode) endOnce(ctx workflow.Context) {
	for debts := range slices.Chunk(slices.Clone(e.st.Debts), debtBatch) {
		var shares []workflow.Future
		for share := range slices.Chunk(debts, (len(debts)+activities.EndShares-1)/activities.EndShares) {
			doing := doing(ctx, fmt.Sprintf("end %d old copies on %s", len(share), e.cluster))
			request := activities.EndRequest{Cluster: e.cluster, ClusterUID: e.st.UID, Mode: e.st.Terms.Mode, Debts: share}
			shares = append(shares, workflow.ExecuteActivity(doing, activities.NameEndOldCopies, request))
		}
		for _, share := range shares {
			e.ended(ctx, share)
		}
	}
}

// ended notes what became of one share.
func (e *episode) ended(ctx workflow.Context, share workflow.Future) {
	var r activities.EndResult
	if err := share.Get(ctx, &r); err != nil {
		e.log.Error("could not end old copies", "error", err)
		return
	}
	if r.Reason != reason.None {
		e.log.Warn("could not end old copies", "reason", r.Reason, "message", r.Message)
	}
	e.st.Debts = slices.DeleteFunc(e.st.Debts, func(d record.Debt) bool { return slices.Contains(r.Ended, d) })
	e.dirty = e.dirty || len(r.Ended) > 0
}
