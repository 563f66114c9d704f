package fleetpacer

import (
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"go.temporal.io/sdk/workflow"
)

// page shows the fleet's pace and who waits for it.
func (p *pacer) page() {
	v := view.Pacer{
		Now: p.now(), Pace: p.st.Pace, Config: p.st.Config, HaltedBy: p.st.Orders.Halted.Line(), RateBy: p.st.Orders.RateBy.Line(),
		Next: p.st.Schedule.Next(p.st.Pace, p.now()), Out: p.st.Schedule.Out,
		Granted: p.st.Granted, Written: p.st.Written, Unused: p.st.Unused, Assessed: p.st.Assessed,
		HaltedAt: p.st.HaltedAt, Runbook: p.st.Runbook,
	}
	for _, cluster := range workflow.DeterministicKeys(p.st.Requests) {
		r := p.st.Requests[cluster]
		v.Requests = append(v.Requests, view.RequestLine{Cluster: cluster, Want: r.Want, Priority: r.Priority, Paused: r.Paused})
	}
	workflow.SetCurrentDetails(p.ctx, view.PacerPage(v))
}
