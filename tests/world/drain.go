package world

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
)

// recordDrain sets or removes the record of a drain.
func (w *World) recordDrain(c *failover.Cluster, r activities.TaintWrite) {
	switch {
	case r.Drain != nil:
		d := *r.Drain
		c.Drain = &d
	case r.ClearDrain:
		c.Drain = nil
	}
}
