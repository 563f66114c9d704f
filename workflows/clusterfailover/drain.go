package clusterfailover

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// MemoDrain is the memo field that says who drains the cluster, and why.
const MemoDrain = "lifeboatDrain"

// draining is what a drain asks for beside the failover: a rate of its own, and the bans that keep
// the scheduler from the cluster.
type draining struct {
	*run
	judgement *judgement
}

// rate is the rate that a drain keeps to by itself, 0 for none. Where the
// cluster fails as well there is no time for that.
func (d *draining) rate() float64 {
	if d.st.Cluster.Drain == nil || d.judgement.failing() {
		return 0
	}
	return d.st.Cluster.Drain.Rate
}

// mayBegin tells whether a drain's own rate lets a move begin: none is on its way to
// its write, and the last write is long enough ago.
func (d *draining) mayBegin() bool {
	if d.rate() == 0 {
		return true
	}
	for _, key := range workflow.DeterministicKeys(d.st.Moves) {
		if m := d.st.Moves[key]; unwritten(m.Phase) && !m.Holds {
			return false
		}
	}
	return !d.now().Before(d.st.NextDrain)
}

// want is how many permits to ask for: never one that could not be used now.
func (d *draining) want(want int) int {
	want = max(0, want)
	switch {
	case d.rate() == 0:
		return want
	case !d.mayBegin():
		return 0
	default:
		return min(want, 1)
	}
}

// wrote counts an eviction against a drain's own rate, from its acknowledgement.
func (d *draining) wrote(m workflows.Move, r workflows.MigrationReport) {
	wrote := !unwritten(r.Phase) && r.Result == nil || r.Result != nil && r.Result.Wrote
	if rate := d.rate(); rate > 0 && wrote && unwritten(m.Phase) {
		d.st.NextDrain = d.now().Add(pace.Apart(rate))
	}
}

// banned notes that Lifeboat tasks keep the cluster from the scheduler.
func (d *draining) banned(found bool) { d.st.Bans = d.st.Bans || found }

// begin has the drain's own rate begin anew.
func (d *draining) begin() { d.st.NextDrain = time.Time{} }

// liftBans frees every binding that a drain, now ended, keeps off this cluster; false
// means that it could not be done for now.
func (d *draining) liftBans() bool {
	malformed := 0
	for page := (activities.Page{}); d.st.Bans; {
		var r activities.BansResult
		ctx := flow.Doing(d.ctx, "let the scheduler use "+d.cluster+" again where the drain had banned it")
		request := activities.BansRequest{Cluster: d.cluster, Mode: d.st.Terms.Mode, Page: page}
		if err := workflow.ExecuteActivity(ctx, activities.NameLiftBans, request).Get(ctx, &r); err != nil || r.Refused {
			d.log.Warn("could not lift the bans of a drain", "refused", r.Refused, "error", err)
			d.clusterDirty = true
			d.backOff()
			return false
		}
		if malformed += r.Malformed; r.Next != nil {
			page = *r.Next
			continue
		}
		if d.st.Bans = malformed > 0; malformed > 0 {
			d.log.Warn("bans of a drain stay on bindings that nobody understands", "bindings", malformed)
			d.clusterDirty = true
			d.backOff()
			return false
		}
	}
	return true
}

// unwritten tells the phases in which an eviction may still be sent.
func unwritten(p phase.Migration) bool {
	return p == phase.MigrationChecking || p == phase.MigrationQueued || p == phase.MigrationEvicting
}
