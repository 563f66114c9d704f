package activities

import (
	"context"
	"errors"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"k8s.io/apimachinery/pkg/types"
)

// NameEndOldCopies is the name of the activity. It lives in histories: never rename it.
const NameEndOldCopies = "EndOldCopies"

// EndShares is how many of these activities a failover runs at a time, so that the latency of the API server does not
// add up. Together they keep to 20 patches of Works per second.
const (
	EndShares = 4
	endPause  = EndShares * time.Second / 20
)

// EndRequest has the pending purges of a failover.
type EndRequest struct {
	Cluster string `json:"cluster"`
	// ClusterUID is of the cluster that the old copies are on; empty is not compared.
	ClusterUID    types.UID             `json:"clusterUID,omitempty"`
	Mode          rules.Mode            `json:"mode"`
	PendingPurges []record.PendingPurge `json:"pendingPurges"`
}

// EndResult is what became of them.
type EndResult struct {
	// Ended are those of which no old copy is left, or wanted away.
	Ended []record.PendingPurge `json:"ended,omitempty"`
	// Asked is of how many Karmada was made to try the deletion again.
	Asked int `json:"asked,omitempty"`
	// Reason and Message say why that could not be done; the others were looked at all the same.
	Reason  reason.Reason `json:"reason,omitempty"`
	Message string        `json:"message,omitempty"`
}

// leftovers follows what a failover leaves for later: the Works of released copies, until they are
// gone, and the bans of a drain.
type leftovers struct {
	reader
	writer
}

// EndOldCopies looks which old copies are gone. On a cluster that is Ready it has Karmada
// try the deletion of the others again: its execution controller has failed to delete them
// during the outage and waits up to 1000 s before it tries the next time, while two
// copies serve. It touches only Works that a release of Lifeboat has had deleted.
func (a leftovers) EndOldCopies(ctx context.Context, r EndRequest) (EndResult, error) {
	c, gone, err := a.cluster(ctx, r.Cluster, r.ClusterUID)
	if err != nil || gone { // its Works went with the Cluster object: that is no proof
		return EndResult{}, classify("end old copies on cluster", r.Cluster, err)
	}
	try := c.Ready() && r.Mode == rules.ModeEnforce
	var out EndResult
	since := a.clock.Start()
	for _, d := range r.PendingPurges {
		going, err := a.oldCopyGoing(ctx, r.Cluster, d)
		switch {
		case err != nil:
			out.failed(err)
			continue
		case going == nil && !c.Deleting: // see WorkState.Away
			out.Ended = append(out.Ended, d)
			continue
		case going == nil || !try || !going.Deleting:
			continue
		}
		if err := a.clock.Wait(ctx, time.Duration(out.Asked)*endPause-since()); err != nil {
			return EndResult{}, classify("end old copies on cluster", r.Cluster, err)
		}
		out.Asked++
		out.failed(a.Writer.EndWork(ctx, *going))
	}
	return out, nil
}

// failed notes why a Work could not be touched. One that is gone or has changed meanwhile is
// looked at again.
func (out *EndResult) failed(err error) {
	if err != nil && !errors.Is(err, karmada.ErrGone) && !errors.Is(err, karmada.ErrConflict) {
		out.Reason, out.Message = reasonOf(err), err.Error()
	}
}

// oldCopyGoing is the Work of a pending purge, nil where nothing is owed any more: it is gone, or Karmada keeps it,
// for its cluster is a target again, or a parent runs there. The Work of a binding that is gone is followed, not touched.
func (a leftovers) oldCopyGoing(ctx context.Context, cluster string, d record.PendingPurge) (*karmada.Work, error) {
	w, ended, err := a.work(ctx, d.Namespace, d.Work, d.UID)
	if ended || err != nil {
		return nil, err
	}
	b, gone, err := a.binding(ctx, d.Key, "")
	if err != nil {
		return nil, err
	}
	if !gone && b.ServesOn(cluster) && !w.Deleting {
		return nil, nil
	}
	w.Deleting = w.Deleting && !gone
	return &w, nil
}

const (
	// purgePolls is how often a release looks whether the old Work is gone, purgePoll apart.
	purgePolls = 4
	purgePoll  = time.Second
	// purgeRoom is what a release leaves of its own time: its answer must not be lost for this.
	purgeRoom = 5 * time.Second
)

// seesPurged follows an old Work for a moment after its release. Not seen gone means nothing.
func (a releaser) seesPurged(ctx context.Context, old *karmada.Work) bool {
	for n := 0; n < purgePolls && old != nil; n++ {
		if until, bounded := ctx.Deadline(); bounded && time.Until(until) < purgeRoom {
			return false
		}
		if a.clock.Wait(ctx, purgePoll) != nil {
			return false
		}
		if _, ended, _ := a.work(ctx, old.Namespace, old.Name, old.UID); ended {
			return true
		}
	}
	return false
}
