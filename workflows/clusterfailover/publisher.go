package clusterfailover

import (
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// publisher shows what the failover knows: its page, its search attributes, the answers to queries.
type publisher struct {
	*run
	judgement   *judgement
	taints      *taints
	children    *children
	oldCopies   *oldCopies
	shown       phase.Failover // as last published in search attributes
	shownReason reason.Reason
}

// publish shows the newest state: the live page always, search attributes when
// phase or reason changed.
func (p *publisher) publish() {
	if p.st.Phase != p.shown || p.st.Reason != p.shownReason {
		p.shown, p.shownReason = p.st.Phase, p.st.Reason
		_ = workflow.UpsertTypedSearchAttributes(p.ctx, workflows.SearchPhase.ValueSet(string(p.st.Phase)), workflows.SearchReason.ValueSet(string(p.st.Reason)))
	}
	workflow.SetCurrentDetails(p.ctx, view.FailoverPage(p.st.Shown(p.instance, p.cluster, p.now()).View(p.now())))
}

// attend finds anew why this failover needs a human's eyes, the most urgent cause first. What
// needs attention of a single migration is said by that migration.
func (p *publisher) attend() {
	_, waiting := p.children.inFlight()
	evacuates := p.st.Phase == phase.FailoverEvacuating || p.st.Phase == phase.FailoverEvacuated
	p.st.Attention = nil
	for _, c := range []struct {
		cause reason.Reason
		holds bool
	}{
		{reason.SecondEvictor, p.st.Beside},
		{reason.Malformed, p.st.Cluster.Malformed},
		{reason.Conflict, p.taints.disputed()},
		{reason.MemberAnswers, p.judgement.evidence().MemberAnswers()},
		{reason.Invalid, p.st.Refused},
		{reason.FleetUnknown, p.st.Unheard},
		{reason.WaitingFull, evacuates && waiting >= p.st.Terms.Waiting},
		{reason.PendingPurge, p.oldCopies.late()},
	} {
		if c.holds {
			p.st.Attention = append(p.st.Attention, c.cause)
		}
	}
}

// showMode tells the lists of workflows how this failover is handled.
func (p *publisher) showMode() {
	mode := string(p.st.Terms.Mode)
	_ = workflow.UpsertTypedSearchAttributes(p.ctx, workflows.SearchCluster.ValueSet(p.cluster), workflows.SearchMode.ValueSet(mode))
	_ = workflow.UpsertMemo(p.ctx, map[string]any{"lifeboatFailover": p.st.FailoverID, "lifeboatMode": mode})
}
