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

// Amend keeps the one outcome of a binding in an attempt that is over.
func (a *AttemptReport) Amend(r record.Result) {
	ledger := record.Ledger{Results: a.Results, Counts: a.Counts}
	ledger.Amend(r)
	a.Results = ledger.Results
}

// fullAttempts is how many closed attempts keep the results of bindings, and pastDetails how many
// of them: a report must fit into 2 MB.
const (
	fullAttempts = 2
	pastDetails  = 500
)

// Report is the end of a failover, in attempts.
func (s *FailoverState) Report(cluster string, now time.Time) FailoverReport {
	return FailoverReport{
		Cluster: cluster, UID: s.UID, FailoverID: s.FailoverID, Ended: s.Phase, Began: s.Began, Until: now,
		Attempts: append(s.Past, s.attempt(now)), PendingPurges: s.PendingPurges, PendingPurgesBeyond: s.PendingPurgesBeyond,
	}
}

func (s *FailoverState) attempt(now time.Time) AttemptReport {
	return AttemptReport{
		Attempt: s.Attempt, Since: s.Since, Until: now, Counts: s.Counts, Results: s.Results, Folded: s.Ledger.InCounts(), Ended: s.Phase,
	}
}

// NextAttempt archives the attempt and begins the next; it returns the one that is over. Children
// of older attempts go on.
func (s *FailoverState) NextAttempt(now time.Time) AttemptReport {
	over := s.attempt(now)
	s.Past = append(s.Past, over)
	if last := &s.Past[len(s.Past)-1]; len(last.Results) > pastDetails {
		last.Folded += len(last.Results) - pastDetails
		last.Results = last.Results[len(last.Results)-pastDetails:]
	}
	for i := range len(s.Past) - fullAttempts {
		// Older attempts keep their counts: a flapping cluster must not outgrow its workflow.
		s.Past[i].Results = nil
	}
	s.Attempt++
	s.Since = now
	s.Queue.Reset()
	s.Ledger.Reset()
	s.Judged = ""
	s.Listed, s.Settled, s.ClosedAt, s.Named, s.Well = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
	s.Virtual, s.Fenced = nil, nil
	s.Approvals, s.Asking = nil, nil // an approval holds for one attempt
	return over
}
