package clusterfailover

import (
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// attend finds anew why this failover needs a human's eyes, the most urgent cause first. What
// needs attention of a single migration is said by that migration.
func (e *failover) attend() {
	_, waiting := e.windows()
	evacuates := e.st.Phase == phase.FailoverEvacuating || e.st.Phase == phase.FailoverEvacuated
	e.st.Attention = nil
	for _, c := range []struct {
		cause reason.Reason
		holds bool
	}{
		{reason.SecondEvictor, e.besideEvictor()},
		{reason.Malformed, e.st.Cluster.Malformed},
		{reason.Conflict, e.taintDisputed()},
		{reason.MemberAnswers, e.memberAnswers()},
		{reason.Invalid, e.st.Refused},
		{reason.FleetUnknown, e.st.Unheard},
		{reason.WaitingFull, evacuates && waiting >= e.st.Terms.Waiting},
		{reason.PendingPurge, e.pendingPurgesLate()},
	} {
		if c.holds {
			e.st.Attention = append(e.st.Attention, c.cause)
		}
	}
}

// pendingPurgesLate tells that old copies ran on for too long after the cluster came back: two copies serve.
func (e *failover) pendingPurgesLate() bool {
	return e.st.Phase == phase.FailoverSettling && len(e.st.PendingPurges) > 0 && e.now().Sub(e.st.Settled) >= pendingPurgeLate
}
