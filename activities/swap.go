package activities

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
)

// judgeSwap looks whether a former cluster whose copy we hold can take over from the
// failing one, before any other place is looked for. Done means that check has the
// answer. The former copy must stand, and the workflow that holds it must run: it is
// the one to hold again should the scheduler take the cluster out.
func (a *Activities) judgeSwap(ctx context.Context, in failover.PreCheckInput, check *Check) (done bool, err error) {
	if check.Purge == failover.PurgeDirectly {
		return false, nil // two copies must never run, and the failing one is not proven dead
	}
	swap, v := failover.PlanSwap(in)
	if v.Reason == failover.ReasonNone {
		return false, nil
	}
	if !v.OK {
		check.End, check.Reason, check.Message = CheckBlocked, v.Reason, v.Message
		return true, nil
	}
	why, err := a.oldCopyGone(ctx, in.Binding, swap.Cluster, nil)
	if err != nil || why != "" {
		return false, err
	}
	runs, err := a.Owners.Running(ctx, swap.Owner)
	if err != nil || !runs {
		return false, err
	}
	check.End, check.Reason, check.Message, check.Candidates = CheckPass, v.Reason, v.Message, v.Candidates
	check.Reschedule, check.Swap = swap.Reschedule, &swap
	return true, nil
}

// back is what a swap puts back, nil for an ordinary eviction.
func (out *EvictResult) back() *failover.TargetCluster {
	if out.swap == nil {
		return nil
	}
	return &failover.TargetCluster{Name: out.swap.Cluster, Replicas: out.swap.Replicas}
}
