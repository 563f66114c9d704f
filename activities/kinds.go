package activities

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// kindAsks says why the rule of the binding's kind asks before it moves; empty where it does not.
func (j judge) kindAsks(b *karmada.Binding, cluster string) string {
	rule, why := j.settings.Kinds.Judge(b, cluster)
	if rule != rules.KindAsk {
		return ""
	}
	return why
}

// definitionFree refuses the end of a CRD's copy on the clusters while a binding of its
// API group stands or is held on one of them. No order and no setting overrides it: the
// API server of the member would delete every object of that kind.
func (k reader) definitionFree(ctx context.Context, crd *karmada.Binding, clusters ...string) (reason.Verdict, error) {
	if !crd.DefinesKind() {
		return reason.Verdict{OK: true}, nil
	}
	for _, cluster := range clusters {
		users, err := k.search(ctx, func(b *karmada.Binding) bool { return rules.NeedsDefinition(b, crd, cluster) })
		if err != nil {
			return reason.Verdict{}, err
		}
		if v := rules.DefinitionInUse(cluster, users); !v.OK {
			return v, nil
		}
	}
	return reason.Verdict{OK: true}, nil
}

// planLeave takes a holder out of a dependent's task. The copy of a kind that stays does
// not end with its last holder.
func (d dependents) planLeave(b *karmada.Binding, cluster, holder string, back bool) proof.HoldPlan {
	rule, _ := d.settings.Kinds.Judge(b, cluster)
	return proof.PlanLeave(b, cluster, holder, back).KeptBy(rule, b, cluster)
}
