package clusterfailover

import (
	"fmt"
	"strings"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// clusterOrders are a human's orders about what stands on the cluster: a drain, a taint, and their ends.
type clusterOrders struct {
	*run
	draining  *draining
	judgement *judgement
	taints    *taints
}

// askCluster hands an order to the main loop and waits for its answer.
func (co *clusterOrders) askCluster(ctx workflow.Context, ask *clusterAsk) (string, error) {
	co.asks, co.dirty = append(co.asks, ask), true
	live, _ := workflow.NewDisconnectedContext(ctx)
	if err := workflow.Await(live, func() bool { return ask.done }); err != nil {
		return "", err
	}
	return ask.answer, ask.err
}

// obey carries out orders about what stands on the cluster, in their order. They
// wait for the first judgement of the cluster and, as every first write does, for
// the pacer's first word.
func (co *clusterOrders) obey() {
	for len(co.asks) > 0 && (co.st.UID != "" || !co.st.GoneAt.IsZero()) {
		if co.enforcing() && co.st.Pace.Tier == "" && co.st.GoneAt.IsZero() {
			return
		}
		ask := co.asks[0]
		co.asks, co.dirty = co.asks[1:], true
		ask.end(co.obeyAsk(ask))
		if ask.err == nil {
			co.clusterDirty = true
			co.judgement.assess() // before anything is done under the taints of a moment ago
		}
	}
}

func (co *clusterOrders) obeyAsk(ask *clusterAsk) (string, error) {
	switch ask.verb {
	case workflows.UpdateDrain:
		return co.obeyDrain(ask)
	case workflows.UpdateTaint:
		return co.obeyTaint(ask)
	case workflows.UpdateUntaint:
		return co.obeyUntaint(ask)
	default:
		return co.obeyUndrain(ask.by)
	}
}

// refuseAsks answers those who come too late.
func (co *clusterOrders) refuseAsks() {
	for _, ask := range co.asks {
		ask.end("", temporal.NewApplicationError("this failover has just ended; ask again", workflows.ErrorClosing))
	}
	co.asks = nil
}

// beginsNothing says why a human cannot begin something new here, empty when that is
// possible; what names it.
func (co *clusterOrders) beginsNothing(what string) string {
	switch {
	case !co.st.GoneAt.IsZero():
		return "the cluster is gone"
	case !co.enforcing():
		return "this failover observes and writes nothing; " + what + " needs mode: enforce"
	case co.st.Phase == phase.FailoverStopped:
		return "its failover was stopped by " + co.st.Stopped.Who + "; resume it first"
	}
	return ""
}

func (co *clusterOrders) obeyDrain(ask *clusterAsk) (string, error) {
	if why := co.beginsNothing("a drain"); why != "" {
		return "", flow.Refused(why)
	}
	before := co.st.Cluster.Drain
	ask.drain.FailoverID = co.st.FailoverID
	err := co.taints.orderWritten("record that "+ask.by.Who+" drains "+co.cluster, activities.TaintRequest{Drain: ask.drain})
	if err != nil {
		return "", err
	}
	d := ask.drain
	co.trail.ordered(ask.verb, ask.by, queue.Scope{}, "selector", d.Selector, "rate", flow.RateOf(d.Rate), "honourTolerations", flow.Yes(d.HonourTolerations))
	if before == nil { // the same order given twice lets nothing go sooner
		co.draining.begin()
	}
	co.judgement.drained(ask.drain)
	co.listDirty = true
	_ = workflow.UpsertMemo(co.ctx, map[string]any{MemoDrain: ask.by.Who + ": " + ask.by.Reason})
	return "draining: every binding moves off it at the fleet's pace, its old copy held until the new one is healthy", nil
}

func (co *clusterOrders) obeyUndrain(by workflows.Order) (string, error) {
	switch {
	case co.st.Cluster.Drain == nil || !co.st.GoneAt.IsZero():
		return "", flow.Refused("it is not being drained")
	case co.st.Cluster.Drain.Deletion:
		return "", flow.Refused("it is drained because it is being deleted, by configuration drain.onDeletion")
	}
	err := co.taints.orderWritten(by.Who+" ends the drain of "+co.cluster, activities.TaintRequest{ClearDrain: true, EndedBy: by.Line()})
	if err != nil {
		return "", err
	}
	co.trail.ordered(workflows.UpdateUndrain, by, queue.Scope{})
	co.judgement.drained(nil)
	_ = workflow.UpsertMemo(co.ctx, map[string]any{MemoDrain: "ended by " + by.Who + ": " + by.Reason})
	return "undrained: what has not moved stays, what is unplaced is put back, what moved stays moved", nil
}

func (co *clusterOrders) orderDrain(ctx workflow.Context, o workflows.DrainOrder) (string, error) {
	return co.askCluster(ctx, &clusterAsk{verb: workflows.UpdateDrain, by: o.Order, drain: &karmada.Drain{
		Who: o.Who, Why: o.Reason, Selector: o.Selector, Rate: o.Rate, HonourTolerations: o.HonourTolerations,
	}})
}

func (co *clusterOrders) orderUndrain(ctx workflow.Context, o workflows.Order) (string, error) {
	return co.askCluster(ctx, &clusterAsk{verb: workflows.UpdateUndrain, by: o})
}

func (co *clusterOrders) obeyTaint(ask *clusterAsk) (string, error) {
	if why := co.beginsNothing("a taint"); why != "" {
		return "", flow.Refused(why)
	}
	ask.taint.FailoverID = co.st.FailoverID
	err := co.taints.orderWritten(fmt.Sprintf("record that %s taints %s with %s", ask.by.Who, co.cluster, ask.taint), activities.TaintRequest{Order: &ask.taint})
	if err != nil {
		return "", err
	}
	co.trail.ordered(workflows.UpdateTaint, ask.by, queue.Scope{}, "taint", ask.taint.String())
	return fmt.Sprintf("tainted with %s: what does not tolerate it moves, until lifeboat taint %s --end", ask.taint, co.cluster), nil
}

func (co *clusterOrders) obeyUntaint(ask *clusterAsk) (string, error) {
	ended, why := co.endsOrders(ask.taint)
	if why != "" {
		return "", flow.Refused(why)
	}
	names := make([]string, len(ended))
	for n, o := range ended {
		names[n] = o.String()
	}
	list := strings.Join(names, ", ")
	err := co.taints.orderWritten(ask.by.Who+" ends the order of "+list+" on "+co.cluster, activities.TaintRequest{EndOrders: ended, EndedBy: ask.by.Line()})
	if err != nil {
		return "", err
	}
	co.trail.ordered(workflows.UpdateUntaint, ask.by, queue.Scope{}, "taint", list)
	return "untainted of " + list + ": what it moved stays moved, what is unplaced is put back where nothing else speaks for a failure", nil
}

// endsOrders are the orders that an untaint ends, or why it ends none: a taint that
// a rule or somebody else put is not an order's to take away.
func (co *clusterOrders) endsOrders(t karmada.OrderedTaint) (ended []karmada.OrderedTaint, why string) {
	c := co.st.Cluster
	switch {
	case !co.st.GoneAt.IsZero():
		return nil, "the cluster is gone"
	case t.Key == "" && len(c.Ordered) == 0:
		return nil, "no taint was put on it with lifeboat taint"
	case t.Key == "":
		return c.Ordered, ""
	}
	if o := karmada.OrderedOn(c.Ordered, t.Name()); o != nil {
		return []karmada.OrderedTaint{*o}, ""
	}
	for _, ours := range c.Ours {
		if ours.Key == t.Key && ours.Effect == t.Effect {
			return nil, t.Name() + " follows from rule " + ours.Rule + ", and goes when that no longer matches"
		}
	}
	if co.judgement.evidence().Stands(t.RuleTaint()) {
		return nil, t.Name() + " is not Lifeboat's: somebody else put it, and takes it away"
	}
	return nil, "it does not carry " + t.Name()
}

// taintOf is an order about a taint, as read makes it out.
func (co *clusterOrders) taintOf(verb, description string, read func(workflows.TaintOrder) (karmada.OrderedTaint, string)) flow.Update {
	return flow.Awaited(verb, description, func(o workflows.TaintOrder) error {
		if _, wrong := read(o); wrong != "" {
			return flow.Refused(wrong)
		}
		return flow.RefuseOrder(o.Order)
	}, func(ctx workflow.Context, o workflows.TaintOrder) (string, error) {
		taint, wrong := read(o)
		if wrong != "" {
			return "", flow.Refused(wrong)
		}
		return co.askCluster(ctx, &clusterAsk{verb: verb, by: o.Order, taint: taint})
	})
}

// refuseDrain: what else is wrong with it is said once the cluster was read.
func refuseDrain(o workflows.DrainOrder) error {
	if len(o.Selector) > workflows.MaxReason {
		return flow.Refused(fmt.Sprintf(`field "selector": %d bytes, at most %d`, len(o.Selector), workflows.MaxReason))
	}
	return flow.RefuseOrder(o.Order)
}

// endedTaint is the taint whose order is to end; without one all of them.
func endedTaint(o workflows.TaintOrder) (t karmada.OrderedTaint, wrong string) {
	if o.Taint == "" {
		return t, ""
	}
	return karmada.ParseTaint(o.Taint)
}

// begunTaint is the taint that is to stand, with who ordered it.
func begunTaint(o workflows.TaintOrder) (karmada.OrderedTaint, string) {
	t, wrong := karmada.ParseTaint(o.Taint)
	t.Who, t.Why = o.Who, o.Reason
	return t, wrong
}
