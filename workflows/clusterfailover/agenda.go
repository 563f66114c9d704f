package clusterfailover

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// agenda is what the next turn has to do.
type agenda struct {
	dirty        bool // something was heard since the last turn
	clusterDirty bool // the cluster wants a fresh judgement
	listDirty    bool // the affected set wants a fresh list
	adoptDirty   bool // somebody saw something of Lifeboat's without an owner
	adoptNow     bool // and said so; a run's own first look can wait while it only cordons
	nextAssess   time.Time
	notBefore    time.Time // no timer wakes earlier: an act was refused
	orders       failoverOrders
	asks         []*clusterAsk // orders about what stands on the cluster that wait for their answer
}

// failoverOrders are human orders that the main loop carries out.
type failoverOrders struct {
	cancel, resume *workflows.Order
	putBack        bool // of the cancel
	bindings       []bindingVerb
	scoped         []scopedVerb
	fenceWords     []fenceWord
	enforce        *enforcement
}

func (o failoverOrders) none() bool {
	return o.cancel == nil && o.resume == nil && len(o.bindings) == 0 && len(o.scoped) == 0 && len(o.fenceWords) == 0 && o.enforce == nil
}

// bindingVerb is a human's order about one binding, by the update's name.
type bindingVerb struct {
	verb string
	workflows.BindingOrder
	// vanished is the move that was to be told and turned out not to run any more.
	vanished *workflows.Move
}

func (v bindingVerb) forMove() *workflows.MigrationOrder {
	return &workflows.MigrationOrder{CancelOrder: v.CancelOrder, Verb: v.verb}
}

// scopedVerb is a pause of a scope, or its end, that moves on their way hear of.
type scopedVerb struct {
	verb string
	workflows.ScopedOrder
}

// fenceWord is a human's word about one binding, or without one about the whole cluster.
type fenceWord struct {
	binding karmada.BindingKey
	fence   proof.Fence
}

// enforcement is a human's order to turn a failover that observes into one that
// enforces, and what came of it.
type enforcement struct {
	order   workflows.Order
	paused  *workflows.Order // the pause that stood when it was given: only that one ends with it
	done    bool
	refused string // why not
}

// clusterAsk is an order about what stands on the cluster (a drain, a taint, or the end
// of one) until the main loop answers it: only that has read the cluster and knows the mode.
type clusterAsk struct {
	verb   string               // the update's name
	drain  *karmada.Drain       // of UpdateDrain
	taint  karmada.OrderedTaint // of UpdateTaint, and of UpdateUntaint where it names one
	by     workflows.Order
	answer string
	err    error
	done   bool
}

func (a *clusterAsk) end(answer string, err error) { a.answer, a.err, a.done = answer, err, true }
