package status

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// lookUp finds the reasons of what is blocked or needs attention.
func (s Source) lookUp(e *workflows.FailoverStatus) map[reason.Reason]string {
	reasons := slices.Clone(e.Attention)
	for _, m := range e.Moves {
		if m.Attention != reason.None {
			reasons = append(reasons, m.Attention, m.Reason)
		}
	}
	for _, i := range e.Items {
		if i.State == queue.Blocked || i.State == queue.Fence {
			reasons = append(reasons, i.Reason)
		}
	}
	return reason.LookUp(s.Runbook, reasons...)
}

// lookUpPace finds the reason of a pace that is not the usual one.
func (s Source) lookUpPace(p *workflows.PacerStatus) map[reason.Reason]string {
	if p.Pace.Tier == pace.TierNormal {
		return nil
	}
	return reason.LookUp(s.Runbook, p.Pace.Reason)
}
