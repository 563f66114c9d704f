package explain

import (
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// reasons are those for which it waits or stays; what is over is not among them.
func (x *Explained) reasons() []reason.Reason {
	var out []reason.Reason
	for _, c := range x.Clusters {
		if c.Failover != nil {
			out = append(out, standingReasons(c.Failover)...)
		}
		for _, p := range []*Prospect{c.Now, c.IfFailed} {
			if p == nil {
				continue
			}
			out = append(out, p.Reason, p.Plan.Reason)
			for _, r := range p.Rules {
				out = append(out, r.Reason)
			}
		}
	}
	return out
}

// standingReasons are those of a binding that a failover drives.
func standingReasons(x *workflows.Explanation) []reason.Reason {
	var out []reason.Reason
	if x.Item != nil {
		out = append(out, x.Item.Reason)
	}
	if x.Move != nil {
		out = append(out, x.Move.Reason)
	}
	if x.Pace.Tier == pace.TierHalted {
		out = append(out, x.Pace.Reason)
	}
	return out
}
