package activities

import (
	"github.com/lifeboat-failover/lifeboat/internal/failover"
)

// appendEvicted notes a binding that Karmada's own taint manager evicts from a cluster.
func appendEvicted(in []failover.BindingFact, b *failover.Binding, cluster string) []failover.BindingFact {
	if b.EvictedByKarmada(cluster) == nil {
		return in
	}
	return append(in, failover.BindingFact{Key: b.Key, UID: b.UID, ResourceVersion: b.ResourceVersion, SecondEvictor: true})
}
