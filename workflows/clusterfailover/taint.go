package clusterfailover

import (
	"fmt"
	"strings"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// endedTaint is the taint whose order is to end; without one all of them.
func endedTaint(o workflows.TaintOrder) (t karmada.OrderedTaint, wrong string) {
	if o.Taint == "" {
		return t, ""
	}
	return karmada.ParseTaint(o.Taint)
}

func (e *failover) obeyTaint(ask *clusterAsk) (string, error) {
	if why := e.beginsNothing("a taint"); why != "" {
		return "", flow.Refused(why)
	}
	ask.taint.FailoverID = e.st.FailoverID
	err := e.orderWritten(fmt.Sprintf("record that %s taints %s with %s", ask.by.Who, e.cluster, ask.taint), activities.TaintRequest{Order: &ask.taint})
	if err != nil {
		return "", err
	}
	e.trail.order(workflows.UpdateTaint, ask.by, queue.Scope{}, "taint", ask.taint.String())
	return fmt.Sprintf("tainted with %s: what does not tolerate it moves, until lifeboat taint %s --end", ask.taint, e.cluster), nil
}

func (e *failover) obeyUntaint(ask *clusterAsk) (string, error) {
	ended, why := e.endsOrders(ask.taint)
	if why != "" {
		return "", flow.Refused(why)
	}
	names := make([]string, len(ended))
	for n, o := range ended {
		names[n] = o.String()
	}
	list := strings.Join(names, ", ")
	err := e.orderWritten(ask.by.Who+" ends the order of "+list+" on "+e.cluster, activities.TaintRequest{EndOrders: ended, EndedBy: ask.by.Line()})
	if err != nil {
		return "", err
	}
	e.trail.order(workflows.UpdateUntaint, ask.by, queue.Scope{}, "taint", list)
	return "untainted of " + list + ": what it moved stays moved, what is unplaced is put back where nothing else speaks for a failure", nil
}

// endsOrders are the orders that an untaint ends, or why it ends none: a taint that
// a rule or somebody else put is not an order's to take away.
func (e *failover) endsOrders(t karmada.OrderedTaint) (ended []karmada.OrderedTaint, why string) {
	c := e.st.Cluster
	switch {
	case !e.st.GoneAt.IsZero():
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
	if e.stands(t.RuleTaint()) {
		return nil, t.Name() + " is not Lifeboat's: somebody else put it, and takes it away"
	}
	return nil, "it does not carry " + t.Name()
}

// onlyOrdered tells whether nothing speaks for a failure but taints that humans ordered.
func (e *failover) onlyOrdered() bool {
	if len(e.st.Cluster.Foreign) > 0 {
		return false
	}
	for _, k := range e.st.Windows.SortedKeys() {
		w := e.st.Windows[k]
		if w.Rule != karmada.DrainRule && w.Rule != karmada.TaintRule && karmada.Triggers(w.Taint.Effect) && e.ripens(w) {
			return false
		}
	}
	return len(e.st.Cluster.Ordered) > 0
}

// taintOf is an order about a taint, as read makes it out.
func (e *failover) taintOf(verb, description string, read func(workflows.TaintOrder) (karmada.OrderedTaint, string)) flow.Update {
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
		return e.askCluster(ctx, &clusterAsk{verb: verb, by: o.Order, taint: taint})
	})
}

// begunTaint is the taint that is to stand, with who ordered it.
func begunTaint(o workflows.TaintOrder) (karmada.OrderedTaint, string) {
	t, wrong := karmada.ParseTaint(o.Taint)
	t.Who, t.Why = o.Who, o.Reason
	return t, wrong
}
