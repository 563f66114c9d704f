package activities

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
)

// kindAsks says why the rule of the binding's kind asks before it moves; empty where it does not.
func (a *Activities) kindAsks(b *failover.Binding, cluster string) string {
	rule, why := a.Settings.Kinds.Judge(b, cluster)
	if rule != failover.KindAsk {
		return ""
	}
	return why
}

// definitionFree refuses the end of a CRD's copy on the clusters while a binding of its
// API group stands or is held on one of them. No order and no setting overrides it: the
// API server of the member would delete every object of that kind.
func (a *Activities) definitionFree(ctx context.Context, crd *failover.Binding, clusters ...string) (failover.Verdict, error) {
	if !crd.DefinesKind() {
		return failover.Verdict{OK: true}, nil
	}
	for _, cluster := range clusters {
		users, err := a.search(ctx, func(b *failover.Binding) bool { return failover.NeedsDefinition(b, crd, cluster) })
		if err != nil {
			return failover.Verdict{}, err
		}
		if v := failover.DefinitionInUse(cluster, users); !v.OK {
			return v, nil
		}
	}
	return failover.Verdict{OK: true}, nil
}

// planLeave takes a holder out of a dependent's task. The copy of a kind that stays does
// not end with its last holder.
func (a *Activities) planLeave(b *failover.Binding, cluster, holder string, back bool) failover.HoldPlan {
	rule, _ := a.Settings.Kinds.Judge(b, cluster)
	return failover.PlanLeave(b, cluster, holder, back).KeptBy(rule, b, cluster)
}
