package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

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

// askCluster hands an order to the main loop and waits for its answer.
func (e *failover) askCluster(ctx workflow.Context, ask *clusterAsk) (string, error) {
	e.asks, e.dirty = append(e.asks, ask), true
	live, _ := workflow.NewDisconnectedContext(ctx)
	if err := workflow.Await(live, func() bool { return ask.done }); err != nil {
		return "", err
	}
	return ask.answer, ask.err
}

// obeyAsks carries out orders about what stands on the cluster, in their order. They
// wait for the first judgement of the cluster and, as every first write does, for
// the pacer's first word.
func (e *failover) obeyAsks() {
	for len(e.asks) > 0 && (e.st.UID != "" || !e.st.GoneAt.IsZero()) {
		if e.enforcing() && e.st.Pace.Tier == "" && e.st.GoneAt.IsZero() {
			return
		}
		ask := e.asks[0]
		e.asks, e.dirty = e.asks[1:], true
		ask.end(e.obeyAsk(ask))
		if ask.err == nil {
			e.clusterDirty = true
			e.assess() // before anything is done under the taints of a moment ago
		}
	}
}

func (e *failover) obeyAsk(ask *clusterAsk) (string, error) {
	switch ask.verb {
	case workflows.UpdateDrain:
		return e.obeyDrain(ask)
	case workflows.UpdateTaint:
		return e.obeyTaint(ask)
	case workflows.UpdateUntaint:
		return e.obeyUntaint(ask)
	default:
		return e.obeyUndrain(ask.by)
	}
}

// refuseAsks answers those who come too late.
func (e *failover) refuseAsks() {
	for _, ask := range e.asks {
		ask.end("", temporal.NewApplicationError("this failover has just ended; ask again", workflows.ErrorClosing))
	}
	e.asks = nil
	for _, ask := range e.heldAsks {
		ask.done = true
		if slices.ContainsFunc(e.orders.bindings, func(v bindingVerb) bool { return v.ID == ask.order.ID }) {
			ask.end("", temporal.NewApplicationError("this failover has just ended; ask again", workflows.ErrorClosing))
		}
	}
}

// beginsNothing says why a human cannot begin something new here, empty when that is
// possible; what names it.
func (e *failover) beginsNothing(what string) string {
	switch {
	case !e.st.GoneAt.IsZero():
		return "the cluster is gone"
	case !e.enforcing():
		return "this failover observes and writes nothing; " + what + " needs mode: enforce"
	case e.st.Phase == phase.FailoverStopped:
		return "its failover was stopped by " + e.st.Stopped.Who + "; resume it first"
	}
	return ""
}

// orderWritten records an order, or the end of one, on the cluster.
func (e *failover) orderWritten(what string, r activities.TaintRequest) error {
	out, ok := e.writeTaints(what, r)
	switch {
	case !ok:
		return temporal.NewApplicationError("it could not be written to the cluster: nothing changes", "NotWritten")
	case out.Refused != "":
		return flow.Refused(string(out.Refused) + ": " + out.Message)
	}
	return nil
}

// whyBad is what the failure rests on.
func (e *failover) whyBad() reason.Reason {
	switch {
	case e.failing() && !e.onlyOrdered():
		return reason.ConditionsMatch
	case len(e.st.Cluster.Ordered) > 0:
		return reason.TaintOrdered
	case e.st.Cluster.Drain != nil:
		return reason.Drained
	}
	return reason.ConditionsMatch
}
