package clusterfailover

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// oldCopies are those that were released and still stand: pending purges.
type oldCopies struct{ *run }

const (
	pendingPurgeBatch = 100 // pending purges looked at together
	// pendingPurgeAgain is the pause before old copies that are still there are looked at again; it
	// doubles up to pendingPurgePoll.
	pendingPurgeAgain = 2 * time.Second
	pendingPurgePoll  = 10 * time.Second
	// pendingPurgeLate is how long after the untaint old copies that still run need attention.
	pendingPurgeLate = time.Minute
)

// late reports whether old copies ran on for too long after the cluster came back: two copies serve.
func (o *oldCopies) late() bool {
	return o.st.Phase == phase.FailoverSettling && len(o.st.PendingPurges) > 0 && !o.st.Untainted.IsZero() && o.now().Sub(o.st.Untainted) >= pendingPurgeLate
}

// watch runs beside the failover, which never waits for it. From the moment when the
// cluster is Ready it has Karmada end the old copies that were released while it was away.
func (o *oldCopies) watch(ctx workflow.Context) {
	for {
		err := workflow.Await(ctx, o.canEnd)
		if err != nil {
			return
		}
		for rest := pendingPurgeAgain; o.canEnd(); rest = min(2*rest, pendingPurgePoll) {
			o.endOnce(ctx)
			if len(o.st.PendingPurges) == 0 {
				continue
			}
			err := workflow.Sleep(ctx, rest)
			if err != nil {
				return
			}
		}
	}
}

// canEnd: something is owed, and the cluster is back, or the failover waits for it alone. One that is stopped may
// stay so for as long as its cluster is dead.
func (o *oldCopies) canEnd() bool {
	waits := o.st.Phase == phase.FailoverSettling && !o.st.Untainted.IsZero()
	return len(o.st.PendingPurges) > 0 && (o.st.Cluster.Ready == "True" || waits)
}

// endOnce goes through the pending purges once, in shares at a time.
func (o *oldCopies) endOnce(ctx workflow.Context) {
	for pendingPurges := range slices.Chunk(slices.Clone(o.st.PendingPurges), pendingPurgeBatch) {
		var shares []workflow.Future
		for share := range slices.Chunk(pendingPurges, (len(pendingPurges)+activities.EndShares-1)/activities.EndShares) {
			doing := flow.Doing(ctx, fmt.Sprintf("end %d old copies on %s", len(share), o.cluster))
			request := activities.EndRequest{Cluster: o.cluster, ClusterUID: o.st.UID, Mode: o.st.Terms.Mode, PendingPurges: share}
			shares = append(shares, workflow.ExecuteActivity(doing, activities.NameEndOldCopies, request))
		}
		for _, share := range shares {
			o.ended(ctx, share)
		}
	}
}

// ended notes what became of one share.
func (o *oldCopies) ended(ctx workflow.Context, share workflow.Future) {
	var r activities.EndResult
	if err := share.Get(ctx, &r); err != nil {
		o.log.Error("could not end old copies", "error", err)
		return
	}
	if r.Reason != reason.None {
		o.log.Warn("could not end old copies", "reason", r.Reason, "message", r.Message)
	}
	o.st.PendingPurges = slices.DeleteFunc(o.st.PendingPurges, func(d record.PendingPurge) bool { return slices.Contains(r.Ended, d) })
	o.dirty = o.dirty || len(r.Ended) > 0
}

// settled reports whether old Works are gone, which the coroutine of watch ends,
// or have had their time. Those that are late need attention: two copies serve.
func (o *oldCopies) settled() bool {
	return len(o.st.PendingPurges) == 0 || o.now().Sub(o.st.Untainted) > o.st.Terms.PendingPurgeWait
}

// wake is when time alone changes something next: they are late, or have had their time. Zero once both have passed:
// the turn in which they did has seen to it.
func (o *oldCopies) wake() time.Time {
	var next time.Time
	for _, wait := range []time.Duration{pendingPurgeLate, o.st.Terms.PendingPurgeWait + time.Second} {
		at := o.st.Untainted.Add(wait)
		if at.After(o.now()) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}
