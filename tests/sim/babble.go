package sim

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// babble sends every kind of signal without any sense to whoever runs for a cluster and
// a binding, and orders that name nobody.
func (s *sim) babble(ctx workflow.Context, x Step) {
	id := workflows.ClusterFailoverID("", x.Cluster)
	s.nonsense(ctx, id, map[string]any{
		workflows.SignalClusterObserved:  workflows.ClusterObserved{Fact: rules.ClusterFact{Cluster: "elsewhere", UID: "none"}},
		workflows.SignalBindingsChanged:  workflows.BindingsChanged{Bindings: []proof.BindingFact{{}}},
		workflows.SignalAdopt:            workflows.Adopt{Cluster: "elsewhere"},
		workflows.SignalGrant:            workflows.Grant{Permits: pace.Permits{Number: -1, Size: 1000}},
		workflows.SignalPaceChanged:      workflows.PaceChanged{},
		workflows.SignalMigrationReports: workflows.MigrationReports{Reports: []activities.MigrationReport{{Attempt: -1}}},
	})
	s.nonsense(ctx, workflows.FleetPacerID(""), map[string]any{
		workflows.SignalPermitRequest: activities.PermitRequest{Want: -5},
		workflows.SignalPermitsUsed:   workflows.PermitsUsed{Used: []workflows.PermitUse{{Number: -1, Binding: "shop/nobody"}}},
	})
	s.nonsense(ctx, workflows.FleetPacerID(""), map[string]any{
		workflows.SignalPermitRequest: activities.PermitRequest{Cluster: x.Cluster, Open: true, Want: 3, Priority: 9},
		workflows.SignalPermitsUsed:   workflows.PermitsUsed{Used: []workflows.PermitUse{{Number: s.permit(), Binding: ""}}},
	})
	_ = workflow.Sleep(ctx, tick)
	s.sane()
	s.nonsense(ctx, workflows.BindingMigrationID("", x.Cluster, Binding{Name: x.Binding}.key()), map[string]any{
		workflows.SignalBindingObserved:  proof.BindingFact{},
		workflows.SignalRecover:          workflows.Recover{Attempt: -1},
		workflows.SignalMigrationAdopted: workflows.MigrationAdopted{Attempt: -1},
		workflows.SignalFenced:           workflows.Fenced{},
		workflows.SignalMigrationOrder:   workflows.MigrationOrder{Verb: "dance"},
	})
	for _, verb := range []string{
		workflows.UpdateSkip, workflows.UpdateRelease, workflows.UpdatePutBack, workflows.UpdateDrain, workflows.UpdateConfirmFenced,
		workflows.UpdateTaint, workflows.UpdateUntaint,
	} {
		s.update(id, verb, workflows.Order{}, func() { s.judge.violates("12: the failover of %s obeys %s of nobody", x.Cluster, verb) })
	}
	s.update(workflows.FleetPacerID(""), workflows.UpdateSetRate, workflows.SetRate{Order: operator, Rate: -1}, func() {
		s.judge.violates("12: the pacer takes a rate below nothing")
	})
}

// nonsense sends signals to a run, and to that listens after it has read them.
func (s *sim) nonsense(ctx workflow.Context, id string, signals map[string]any) {
	if s.state[id] != running {
		return
	}
	for _, name := range workflow.DeterministicKeys(signals) {
		s.count["nonsense"]++
		_ = workflow.SignalExternalWorkflow(ctx, id, "", name, signals[name]).Get(ctx, nil)
	}
}

// permit is the number of the pacer's newest permit, as anybody may ask.
func (s *sim) permit() int64 {
	if s.state[workflows.FleetPacerID("")] != running {
		return 0
	}
	p, _ := query[workflows.PacerStatus](s, workflows.FleetPacerID(""), workflows.QueryStatus) // without an answer it is 0
	return p.Schedule.Number
}
