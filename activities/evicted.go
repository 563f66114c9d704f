package activities

import (
	"context"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
)

// appendEvicted notes a binding that Karmada's own taint manager evicts from a cluster.
func appendEvicted(in []failover.BindingFact, b *failover.Binding, cluster string) []failover.BindingFact {
	if b.EvictedByKarmada(cluster) == nil {
		return in
	}
	return append(in, failover.BindingFact{Key: b.Key, UID: b.UID, ResourceVersion: b.ResourceVersion, SecondEvictor: true})
}

// markLastCopies marks which of the bindings that Karmada evicts need a hold task of ours.
func (a *Activities) markLastCopies(ctx context.Context, evicted []failover.BindingFact, page []failover.Binding, cluster string) error {
	if len(evicted) == 0 {
		return nil
	}
	fleet, err := a.recent().Clusters(ctx)
	if err != nil {
		return err
	}
	for i := range evicted {
		at := slices.IndexFunc(page, func(b failover.Binding) bool { return b.Key == evicted[i].Key })
		evicted[i].LastCopy = a.losesLastCopy(&page[at], fleet, cluster)
	}
	return nil
}

func (a *Activities) losesLastCopy(b *failover.Binding, fleet []failover.Cluster, cluster string) bool {
	return failover.LosesLastCopy(b, cluster, suspects(fleet, b, cluster)) && !a.optedOutItself(b)
}
