package world

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// recordOrders sets and removes the records of drains and of ordered taints.
func (w *World) recordOrders(c *karmada.Cluster, r activities.TaintWrite) {
	c.Ordered = slices.DeleteFunc(c.Ordered, func(o karmada.OrderedTaint) bool {
		return karmada.OrderedOn(r.EndOrders, o.Name()) != nil
	})
	if r.Order != nil {
		c.Ordered = append(c.Ordered, *r.Order)
	}
	switch {
	case r.Drain != nil:
		d := *r.Drain
		c.Drain = &d
	case r.ClearDrain:
		c.Drain = nil
	}
}
