package status

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// lookUp finds the reasons of what is blocked or needs attention.
func (s Source) lookUp(e *workflows.EpisodeStatus) map[failover.Reason]string {
	reasons := slices.Clone(e.Attention)
	for _, m := range e.Moves {
		if m.Attention != failover.ReasonNone {
			reasons = append(reasons, m.Attention, m.Reason)
		}
	}
	for _, i := range e.Items {
		if i.State == workflows.ItemBlocked || i.State == workflows.ItemFence {
			reasons = append(reasons, i.Reason)
		}
	}
	return failover.LookUp(s.Runbook, reasons...)
}

// lookUpPace finds the reason of a pace that is not the usual one.
func (s Source) lookUpPace(p *workflows.PacerStatus) map[failover.Reason]string {
	if p.Pace.Tier == failover.TierNormal {
		return nil
	}
	return failover.LookUp(s.Runbook, p.Pace.Reason)
}
