package clusterfailover

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"
)

// run is what every part of a failover works with: where it runs, what it knows, and what the
// next turn has to do.
type run struct {
	ctx      workflow.Context // never cancelled: cancellation is an order, handled in place
	log      log.Logger
	instance string
	cluster  string
	st       *workflows.FailoverState
	trail    trail
	agenda
}

func (r *run) now() time.Time { return workflow.Now(r.ctx) }

func (r *run) enforcing() bool { return r.st.Terms.Mode == rules.ModeEnforce }

func (r *run) closing() bool { return !r.st.ClosedAt.IsZero() }

// evacuating tells whether bindings are dispatched.
func (r *run) evacuating() bool {
	return r.st.GoneAt.IsZero() && (r.st.Phase == phase.FailoverEvacuating || r.st.Phase == phase.FailoverEvacuated)
}

// backOff keeps a refused act from being tried again at once. It delays no order: one that came
// meanwhile is carried out in the next turn.
func (r *run) backOff() {
	r.dirty = !r.orders.none()
	r.notBefore = r.now().Add(min(r.st.Terms.Recheck, r.st.Terms.ClusterPoll))
	if r.nextAssess.After(r.notBefore) || !r.nextAssess.After(r.now()) {
		r.nextAssess = r.notBefore // never later than planned: who is refused often would never look again
	}
	r.clusterDirty = false
}
