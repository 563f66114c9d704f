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

// trail records what the pacer does, for the audit trail.
type trail struct {
	flow.TrailWriter
	st *workflows.PacerState
}

// newTrail begins this run's part of the trail, with what the run before left to be written.
func newTrail(ctx workflow.Context, instance string, st *workflows.PacerState, dirty *bool) trail {
	info := workflow.GetInfo(ctx).WorkflowExecution
	if st.First == "" {
		st.First = info.RunID
	}
	return trail{st: st, TrailWriter: flow.NewTrailWriter(ctx, &st.Audit, flow.TrailOptions{
		Dirty: dirty,
		// Before the first judgement it is unknown whether there is a trail.
		On: func() bool { return st.Audited || st.Assessed.IsZero() },
		Source: func() activities.AuditSource {
			return activities.AuditSource{Instance: instance, Workflow: info.ID, Run: info.RunID, First: st.First}
		},
	})}
}

// leave carries over what is not known to be written.
func (t *trail) leave() {
	if t.st.Audited || t.st.Assessed.IsZero() {
		t.st.Audit = t.Leave(flow.CarryNames)
	}
}

// flush sends what is to be written, once it is known that it is.
func (t *trail) flush() {
	if t.st.Audited {
		t.Flush()
	} else if !t.st.Assessed.IsZero() {
		t.Forget()
	}
}

// pace records another tier or rate, and the state of the fleet behind it.
func (t *trail) pace(was, is pace.Pace) {
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
	if by := t.st.Orders.Halted; by != nil && is.Tier == pace.TierHalted {
		r.Who, r.Why = by.Who, by.Reason
	}
	t.AddUrgent(r)
}

// order records an operator's order to the whole fleet.
func (t *trail) order(verb string, o workflows.Order, rate string) {
	t.AddUrgent(record.Audit{
		Kind: record.AuditOrderGiven, Phase: string(t.st.Pace.Tier), Order: verb, Who: o.Who, Why: o.Reason,
		Evidence: flow.AddEvidence(nil, "scope", "the fleet", "rate", rate),
	})
}
