package fleetpacer

import (
	"strconv"
	"strings"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// audit begins this run's part of the trail, with what the run before left to be written.
func (p *pacer) audit() {
	info := workflow.GetInfo(p.ctx).WorkflowExecution
	if p.st.First == "" {
		p.st.First = info.RunID
	}
	p.trailWriter = flow.NewTrailWriter(p.ctx, flow.TrailOptions{
		Left: p.st.Audit, Dirty: &p.dirty,
		// Before the first judgement nobody has said whether there is a trail.
		On: func() bool { return p.st.Audited || p.st.Assessed.IsZero() },
		Source: func() activities.AuditSource {
			return activities.AuditSource{Instance: p.instance, Workflow: info.ID, Run: info.RunID, First: p.st.First}
		},
	})
	p.st.Audit = nil
}

// leaveTrail carries over what is not known to be written.
func (p *pacer) leaveTrail() {
	if p.st.Audited || p.st.Assessed.IsZero() {
		p.st.Audit = p.trailWriter.Leave(flow.CarryNames)
	}
}

// flushTrail sends what is to be written, once it is known that it is.
func (p *pacer) flushTrail() {
	if p.st.Audited {
		p.trailWriter.Flush()
	} else if !p.st.Assessed.IsZero() {
		p.trailWriter.Forget()
	}
}

// auditPace tells of another tier or rate, and of the fleet that it follows from.
func (p *pacer) auditPace(was, is pace.Pace) {
	if was.Tier == is.Tier && was.Rate == is.Rate && was.Unlimited == is.Unlimited && was.Reason == is.Reason {
		return
	}
	rate := strconv.FormatFloat(is.Rate, 'g', -1, 64)
	if is.Unlimited {
		rate = "unlimited"
	}
	r := record.Audit{
		Kind: record.AuditPaceChanged, Phase: string(is.Tier), Reason: is.Reason,
		Evidence: map[string]string{
			"rate": rate, "faultRate": strconv.FormatFloat(is.FaultRate, 'g', 3, 64),
			"faulty": reason.Summary(strings.Join(is.Faulty, ",")) + " of " + strconv.Itoa(is.Total),
		},
	}
	if by := p.st.Orders.Halted; by != nil && is.Tier == pace.TierHalted {
		r.Who, r.Why = by.Who, by.Reason
	}
	p.trailWriter.Tell(r)
}

// auditOrder tells of a human's order to the whole fleet.
func (p *pacer) auditOrder(verb string, o workflows.Order, rate string) {
	p.trailWriter.Tell(record.Audit{
		Kind: record.AuditOrderGiven, Phase: string(p.st.Pace.Tier), Order: verb, Who: o.Who, Why: o.Reason,
		Evidence: flow.AddEvidence(nil, "scope", "the fleet", "rate", rate),
	})
}
