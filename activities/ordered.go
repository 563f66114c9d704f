package activities

import (
	"context"
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// planOrdered decides whether the order of a taint, or the end of one, may be written.
// As a drain it begins something new: it needs enforce in the failover and in this worker.
func (a tainter) planOrdered(w *TaintWrite, r TaintRequest) (reason.Reason, string) {
	for _, o := range w.Cluster.Ordered {
		if r.EndAllOrders || karmada.OrderedOn(r.EndOrders, o.Name()) != nil {
			w.EndOrders = append(w.EndOrders, o)
		}
	}
	if r.Order == nil {
		return "", ""
	}
	if cause, why := a.beginsNothing(r.Mode, w.Cluster); cause != reason.None {
		return cause, why
	}
	if wrong := r.Order.Validate(); wrong != "" {
		return reason.Invalid, wrong
	}
	return orderOnto(w, *r.Order)
}

// orderOnto adds the order where the cluster can take it. A taint that stands already
// stays its owner's: ending Lifeboat's order would take it away.
func orderOnto(w *TaintWrite, o karmada.OrderedTaint) (reason.Reason, string) {
	c := w.Cluster
	stands := karmada.OrderedOn(c.Ordered, o.Name())
	switch {
	case c.Malformed != "":
		return reason.Malformed, c.Malformed
	case rules.OptedOut(c.Annotations):
		return reason.OptedOut, "the cluster is opted out by its annotation " + karmada.AnnotationEnabled
	case !c.Writable(o.Effect):
		return reason.Malformed, c.SoftMalformed
	case stands != nil && stands.Value != o.Value:
		return reason.TaintOrdered, fmt.Sprintf("%s ordered %s: %s; take that away first: lifeboat taint %s --end", stands.Who, stands, stands.Why, c.Name)
	case stands != nil:
		return "", ""
	}
	at := slices.IndexFunc(c.Added, func(t karmada.AddedTaint) bool { return t.Key == o.Key && t.Effect == o.Effect })
	switch {
	case at >= 0:
		return reason.OursStands, fmt.Sprintf("%s is Lifeboat's already, by rule %s", o.Name(), c.Added[at].Rule)
	case karmada.HasTaint(c.Taints, o.Key, o.Effect):
		return reason.ForeignTaint, o.Name() + " stands already, put by another actor"
	}
	w.Order = &o
	return "", ""
}

// recordOrdered records Events about the start and the end of ordered taints.
func (a tainter) recordOrdered(ctx context.Context, c karmada.Cluster, w TaintWrite, r TaintRequest) {
	if w.Order != nil {
		a.events.Record(ctx, Event{
			Cluster: c.Name, UID: c.UID, Reason: "TaintOrdered",
			Message: fmt.Sprintf("taint %s ordered by %s: %s (workflow %s)", w.Order, w.Order.Who, w.Order.Why, workflowID(ctx)),
		})
	}
	for _, o := range w.EndOrders {
		a.events.Record(ctx, Event{
			Cluster: c.Name, UID: c.UID, Reason: "TaintOrderEnded",
			Message: fmt.Sprintf("taint %s no longer ordered: %s (workflow %s)", o, r.EndedBy, workflowID(ctx)),
		})
	}
}
