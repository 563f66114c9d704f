package workflows

import (
	"github.com/lifeboat-failover/lifeboat/internal/failover"
)

// attend finds anew why this failover needs a human's eyes, the most urgent cause first. What
// needs attention of a single migration is said by that migration.
func (e *episode) attend() {
	_, waiting := e.windows()
	evacuates := e.st.Phase == failover.EpisodeEvacuating || e.st.Phase == failover.EpisodeEvacuated
	e.st.Attention = nil
	for _, c := range []struct {
		cause failover.Reason
		holds bool
	}{
		{failover.ReasonSecondEvictor, e.besideEvictor()},
		{failover.ReasonMalformed, e.st.Cluster.Malformed},
		{failover.ReasonConflict, e.taintDisputed()},
		{failover.ReasonMemberAnswers, e.memberAnswers()},
		{failover.ReasonInvalid, e.st.Refused},
		{failover.ReasonFleetUnknown, e.st.Unheard},
		{failover.ReasonWaitingFull, evacuates && waiting >= e.st.Terms.Waiting},
		{failover.ReasonPurgeDebt, e.debtsLate()},
	} {
		if c.holds {
			e.st.Attention = append(e.st.Attention, c.cause)
		}
	}
}

// debtsLate tells that old copies ran on for too long after the cluster came back: two copies serve.
func (e *episode) debtsLate() bool {
	return e.st.Phase == failover.EpisodeSettling && len(e.st.Debts) > 0 && e.now().Sub(e.st.Settled) >= debtLate
}
