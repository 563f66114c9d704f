package clusterfailover

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"
)

// run is what every part of a failover works with: where it runs, its state, and what the
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

// ending reports whether nothing new begins, and what has begun is seen to its end.
func (r *run) ending() bool {
	return r.st.Phase == phase.FailoverSettling || r.st.Phase == phase.FailoverStopped
}

// evacuating reports whether bindings are dispatched.
func (r *run) evacuating() bool {
	return r.st.GoneAt.IsZero() && (r.st.Phase == phase.FailoverEvacuating || r.st.Phase == phase.FailoverEvacuated)
}

// backOff keeps a refused act from being tried again at once. It delays no order: one that came
// meanwhile is carried out in the next turn.
func (r *run) backOff() {
	r.dirty = !r.orders.none() || r.asksDue()
	r.notBefore = r.now().Add(min(r.st.Terms.Recheck, r.st.Terms.ClusterPoll))
	if r.nextAssess.After(r.notBefore) || !r.nextAssess.After(r.now()) {
		r.nextAssess = r.notBefore // never later than planned: a failover that is refused often would never look again
	}
	r.clusterDirty = false
}

// asksDue reports whether an order about what stands on the cluster can be carried out. They wait for the first judgement of
// the cluster and, as every first write does, for the pacer's first signal.
func (r *run) asksDue() bool {
	judged := r.st.UID != "" && (!r.enforcing() || r.st.Pace.Tier != "")
	return len(r.asks) > 0 && (judged || !r.st.GoneAt.IsZero())
}

// agenda is what the next turn has to do.
type agenda struct {
	dirty        bool      // something was received since the last turn
	clusterDirty bool      // the cluster needs a fresh judgement
	prepared     time.Time // the confirmation that this run has prepared for
	nextAssess   time.Time
	notBefore    time.Time // no timer wakes earlier: an act was refused
	orders       failoverOrders
	asks         []*clusterAsk // orders about what stands on the cluster that wait for their answer
}

// failoverOrders are operator orders that the main loop carries out.
type failoverOrders struct {
	cancel, resume *workflows.Order
	putBack        bool // of the cancel
	bindings       []bindingVerb
	scoped         []scopedVerb
	confirmations  []confirmation
	enforce        *flow.Enforcement
}

func (o failoverOrders) none() bool {
	return o.cancel == nil && o.resume == nil && len(o.bindings) == 0 && len(o.scoped) == 0 && len(o.confirmations) == 0 && o.enforce == nil
}

// isUntold reports whether an order about one binding has yet to reach its migration.
func (o *failoverOrders) isUntold(id string) bool {
	return slices.ContainsFunc(o.bindings, func(v bindingVerb) bool { return v.ID == id })
}

// bindingVerb is an operator's order about one binding, by the update's name.
type bindingVerb struct {
	verb string
	workflows.BindingOrder
	// vanished is the migration that was to get the order and does not run any more.
	vanished *workflows.Migration
	// afterCancel: one of the whole failover was accepted before, and is not carried out yet.
	afterCancel bool
}

func (v bindingVerb) asMigrationOrder() *workflows.MigrationOrder {
	return &workflows.MigrationOrder{CancelOrder: v.CancelOrder, Verb: v.verb}
}

// scopedVerb is a pause of a scope, or its end, that migrations in progress receive.
type scopedVerb struct {
	verb string
	workflows.ScopedOrder
}

// confirmation is an operator's confirmation for one binding, or without one for the whole cluster.
type confirmation struct {
	binding karmada.BindingKey
	fence   proof.Fence
}

// clusterAsk is an order about what stands on the cluster (a drain, a taint, or the end
// of one) until the main loop answers it: only the main loop has read the cluster and the mode.
type clusterAsk struct {
	by   workflows.Order
	obey func() (string, error)
	flow.Reply
}

const (
	// maxPlain is up to how many bytes a state is carried over as it is.
	maxPlain = 200_000
	// maxCarried bounds what is carried over, in bytes as the server stores them.
	maxCarried = 1_000_000
	// carryItems is how many queued bindings are carried over in full at most.
	carryItems = 25_000
	// leanest is the least that one of them takes, in bytes.
	leanest = 25
)

// carry is the input of the run that continues this one.
func (r *run) carry() workflows.ClusterFailoverParams {
	p := workflows.ClusterFailoverParams{Instance: r.instance, Cluster: r.cluster}
	r.trail.leave()
	for most := carryItems; ; {
		r.st.Queue.LeaveForLater(r.now(), most)
		raw, err := json.Marshal(r.st)
		if err == nil && len(raw) > maxPlain {
			p.Packed, err = activities.Pack(json.RawMessage(raw))
		}
		if err != nil {
			r.log.Error("could not write the state down", "error", err)
		}
		if err != nil || len(raw) <= maxPlain {
			p.State, p.Packed = r.st, nil
			return p
		}
		over := len(p.Packed)/3*4 - maxCarried // base64 makes four bytes of three
		if over <= 0 {
			return p
		}
		if len(r.st.Items) == 0 || most == 0 {
			if r.st.Audit == nil || !r.trail.Shrink() {
				return p
			}
			continue
		}
		most = max(0, min(most, len(r.st.Items))-over/leanest-100)
	}
}

// unpack reads what carry packed. What cannot be read stops the workflow's task, not
// the workflow: nothing is lost, and a worker that can read it goes on.
func unpack(packed []byte) *workflows.FailoverState {
	st := &workflows.FailoverState{}
	if err := activities.Unpack(packed, st); err != nil {
		panic(fmt.Sprintf("read the state of the run before: %v", err))
	}
	return st
}
