package activities

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// judgeSwap looks whether a former cluster whose copy Lifeboat holds can take over from the
// failing one, before any other place is looked for. Done means that check has the
// answer. The former copy must stand, and the workflow that holds it must run: it is
// the one to hold again should the scheduler take the cluster out.
func (j judge) judgeSwap(ctx context.Context, in placement.PreCheckInput, check *Check) (done bool, err error) {
	if check.Purge == karmada.PurgeDirectly {
		return false, nil // two copies must never run, and the failing one is not proven dead
	}
	swap, v := proof.PlanSwap(in)
	if v.Reason == reason.None {
		return false, nil
	}
	if !v.OK {
		*check = check.ends(CheckBlocked, v.Reason, v.Message)
		return true, nil
	}
	runs, err := j.owners.Running(ctx, swap.Owner)
	if err != nil || !runs {
		return false, err
	}
	held, known := j.heldWork(ctx, swap.Owner)
	if !known {
		return false, nil
	}
	why, err := j.oldCopyGone(ctx, in.Binding, swap.Cluster, held)
	if err != nil || why != "" {
		return false, err
	}
	*check = check.ends(CheckPass, v.Reason, v.Message)
	check.Candidates, check.Reschedule, check.Swap = v.Candidates, swap.Reschedule, &swap
	return true, nil
}

// heldWork queries the migration that holds the former copy for that Work: another one
// under the same name has not run since. A migration that does not know it, or does not answer, hands
// nothing over, and the binding moves on as any other.
func (j judge) heldWork(ctx context.Context, owner string) (held *karmada.Work, known bool) {
	if j.moves == nil {
		return nil, true
	}
	held, err := j.moves.OldWork(ctx, owner)
	if err != nil {
		j.log.Warn("could not ask which copy is held", "owner", owner, "error", err)
	}
	return held, held != nil
}

// back is what a swap puts back, nil for an ordinary eviction.
func (c Check) back() *karmada.TargetCluster {
	if c.Swap == nil {
		return nil
	}
	return &karmada.TargetCluster{Name: c.Swap.Cluster, Replicas: c.Swap.Replicas}
}
