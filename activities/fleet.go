package activities

import (
	"context"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// FleetRequest requests the pace that the fleet's health allows.
type FleetRequest struct {
	// Rate replaces the configured rate when not nil.
	Rate *float64 `json:"rate,omitempty"`
	// Applications has the Unhealthy ones counted: an application failover waits for a permit.
	Applications bool `json:"applications,omitempty"`
}

// FleetResult is a judgement of the fleet and the limits it was made under.
type FleetResult struct {
	Pace   pace.Pace   `json:"pace"`
	Config pace.Config `json:"config"`
	// Suspected are the scopes with too many Unhealthy applications; Uncounted is why they could not be counted.
	Suspected []pace.Share `json:"suspected,omitempty"`
	Uncounted string       `json:"uncounted,omitempty"`
	// Audit: the pacer's decisions are recorded in the audit trail.
	Audit bool `json:"audit,omitempty"`
	// Runbook is where the page of all reasons is published.
	Runbook string `json:"runbook,omitempty"`
	// InForce is the configuration of the worker that judged: the mode and what is not the
	// default, as texts by key.
	InForce map[string]string `json:"inForce,omitempty"`
}

// fleetAssessor judges for the pacer.
type fleetAssessor struct {
	reader
	pacer Pacer
}

// AssessFleet counts the clusters that look failed and judges the pace.
func (a fleetAssessor) AssessFleet(ctx context.Context, r FleetRequest) (FleetResult, error) {
	fleet, err := a.Reader.Clusters(ctx)
	if err != nil {
		return FleetResult{}, classify("assess", "fleet", err)
	}
	list, err := a.Reader.Rules(ctx)
	if err != nil {
		return FleetResult{}, classify("list rules for", "fleet", err)
	}
	health := pace.FleetHealth{Total: len(fleet)}
	for _, c := range fleet {
		if rules.Faulty(list, c) {
			health.Faulty = append(health.Faulty, c.Name)
		}
	}
	slices.Sort(health.Faulty)
	out := FleetResult{
		Pace: pace.Judge(health, a.settings.Pace.With(r.Rate)), Config: a.settings.Pace, Audit: a.settings.Terms.Audit, Runbook: a.settings.Terms.Runbook, InForce: a.settings.InForce,
	}
	if r.Applications {
		out.Suspected, out.Uncounted = a.countUnhealthy(ctx, fleet)
	}
	return out, nil
}

// countWithin is how long the applications are counted: the evictions of clusters wait for it.
const countWithin = 5 * time.Second

// countUnhealthy counts the Unhealthy applications, or says why it could not.
func (a fleetAssessor) countUnhealthy(ctx context.Context, fleet []karmada.Cluster) ([]pace.Share, string) {
	ctx, cancel := context.WithTimeout(ctx, countWithin)
	defer cancel()
	above, err := a.unhealthyShares(ctx, fleet)
	if err != nil {
		return nil, reason.Summary(err.Error())
	}
	return above, ""
}

// RecallRequest requests what the pacer's runs before this one left.
type RecallRequest struct {
	RunID string `json:"runID"`
}

// Recall is what a pacer without carried state starts from.
type Recall struct {
	// Lost: it starts halted until an operator resumes.
	Lost bool          `json:"lost,omitempty"`
	Why  reason.Reason `json:"why"`
	// Memo is the newest mirror of the orders, when there is one.
	Memo []byte `json:"memo,omitempty"`
}

// RecallPacer distinguishes a first start (no previous run, nothing of Lifeboat's in Karmada)
// from a restart whose state is known, and from one whose state is lost.
func (a fleetAssessor) RecallPacer(ctx context.Context, r RecallRequest) (Recall, error) {
	memory, err := a.pacer.Remember(ctx, r.RunID)
	if err != nil {
		return Recall{}, classify("recall", "previous pacer", err)
	}
	switch {
	case memory.Lost:
		return Recall{Lost: true, Why: reason.StateLost, Memo: memory.Memo}, nil
	case memory.Known:
		return Recall{Why: reason.None, Memo: memory.Memo}, nil
	}
	found, err := a.hasLifeboatObject(ctx)
	if err != nil {
		return Recall{}, classify("look for", "anything of Lifeboat's", err)
	}
	if found {
		return Recall{Lost: true, Why: reason.StateLost}, nil
	}
	return Recall{Why: reason.FirstStart}, nil
}

func (a fleetAssessor) hasLifeboatObject(ctx context.Context) (bool, error) {
	fleet, err := a.Reader.Clusters(ctx)
	if err != nil {
		return false, err
	}
	for _, c := range fleet {
		if c.HasLifeboatMark() && !c.OnlyCordoned() {
			return true, nil
		}
	}
	for b, err := range AllBindings(ctx, a.Reader) {
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(b.Tasks, karmada.Task.Unfinished) {
			return true, nil
		}
	}
	return false, nil
}
