package workflows

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"k8s.io/apimachinery/pkg/types"
)

// FailoverReport is what a ClusterFailover closes with.
type FailoverReport struct {
	Cluster string `json:"cluster"`
	// UID is the cluster's: another one under its name knows nothing of the old copies.
	UID           types.UID             `json:"uid,omitempty"`
	FailoverID    string                `json:"failoverID"`
	Ended         phase.Failover        `json:"ended"`
	Began         time.Time             `json:"began"`
	Until         time.Time             `json:"until"`
	Attempts      []AttemptReport       `json:"attempts"`
	PendingPurges []record.PendingPurge `json:"pendingPurges,omitempty"` // pending purge, handed over
	// PendingPurgesBeyond counts those for which PendingPurges had no room.
	PendingPurgesBeyond int `json:"pendingPurgesBeyond,omitempty"`
	// Unaudited counts audit records that its trail lacks, the sink having been away.
	Unaudited int `json:"unaudited,omitempty"`
}

// Paid has outcomes tell that their old copy is purged where it has gone since: the
// report hands over what is still owed.
func (r *FailoverReport) Paid() {
	if r.PendingPurgesBeyond > 0 {
		return // nobody knows of which
	}
	for n := range r.Attempts {
		for i := range r.Attempts[n].Results {
			x := &r.Attempts[n].Results[i]
			if x.Reason == reason.PendingPurge && x.PendingPurge != nil && !slices.Contains(r.PendingPurges, *x.PendingPurge) {
				x.Reason, x.PendingPurge = reason.Purged, nil
			}
		}
	}
}

// AttemptReport is what became of an earlier attempt.
type AttemptReport struct {
	Attempt int             `json:"attempt"`
	Since   time.Time       `json:"since"`
	Until   time.Time       `json:"until"`
	Counts  map[string]int  `json:"counts"`
	Results []record.Result `json:"results,omitempty"`
	// Folded is how many results are in Counts alone.
	Folded int            `json:"folded,omitempty"`
	Ended  phase.Failover `json:"ended,omitempty"`
}
