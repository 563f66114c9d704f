package activities

import (
	"context"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
)

// appendEvicted notes a binding that Karmada's own taint manager evicts from a cluster.
func appendEvicted(in []proof.BindingFact, b *karmada.Binding, cluster string) []proof.BindingFact {
	if b.EvictedByKarmada(cluster) == nil {
		return in
	}
	return append(in, proof.BindingFact{Key: b.Key, UID: b.UID, ResourceVersion: b.ResourceVersion, SecondEvictor: true})
}

// markLastCopies marks which of the bindings that Karmada evicts need a Lifeboat hold task.
func (a orphanFinder) markLastCopies(ctx context.Context, evicted []proof.BindingFact, page []karmada.Binding, cluster string) error {
	if len(evicted) == 0 {
		return nil
	}
	fleet, err := a.recent().Clusters(ctx)
	if err != nil {
		return err
	}
	for i := range evicted {
		at := slices.IndexFunc(page, func(b karmada.Binding) bool { return b.Key == evicted[i].Key })
		evicted[i].LastCopy = a.settings.losesLastCopy(&page[at], fleet, cluster)
	}
	return nil
}

func (s Settings) losesLastCopy(b *karmada.Binding, fleet []karmada.Cluster, cluster string) bool {
	return proof.LosesLastCopy(b, cluster, suspects(fleet, b, cluster)) && !s.optedOutItself(b)
}
