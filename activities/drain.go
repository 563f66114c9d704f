package activities

import (
	"context"
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// Empty reports whether there is nothing to write.
func (w TaintWrite) Empty() bool {
	return len(w.Add) == 0 && len(w.Remove) == 0 && w.StoppedBy == nil && !w.ClearStopped && w.Drain == nil && !w.ClearDrain &&
		w.Order == nil && len(w.EndOrders) == 0
}

// planDrain decides whether the order of a drain, or its end, may be written. A
// drain begins something new: it needs enforce in the failover and in this worker.
func (a tainter) planDrain(w *TaintWrite, r TaintRequest) (reason.Reason, string) {
	c := w.Cluster
	w.ClearDrain = r.ClearDrain && c.Drain != nil && !c.Drain.Deletion
	if r.Drain == nil {
		return "", ""
	}
	if cause, why := a.takesNoOrder(r.Mode, c, r.Drain.Validate()); cause != reason.None {
		return cause, why
	}
	switch {
	case c.Drain == nil || c.Drain.Deletion:
		w.Drain = r.Drain
	case !c.Drain.Same(*r.Drain):
		return reason.Drained, fmt.Sprintf("%s drains it otherwise: %s; end that first: lifeboat drain %s --end", c.Drain.Who, c.Drain.Why, c.Name)
	}
	return "", ""
}

// recordOrders records Events about the start and the end of a drain and of ordered taints.
func (a tainter) recordOrders(ctx context.Context, c karmada.Cluster, w TaintWrite, r TaintRequest) {
	record := func(reason, format string, args ...any) {
		message := fmt.Sprintf(format, args...) + fmt.Sprintf(" (workflow %s)", workflowID(ctx))
		a.events.Record(ctx, Event{Cluster: c.Name, UID: c.UID, Reason: reason, Message: message})
	}
	switch {
	case w.Drain != nil:
		record("DrainCluster", "drained by %s: %s", w.Drain.Who, w.Drain.Why)
	case w.ClearDrain:
		record("UndrainCluster", "no longer drained: %s", r.EndedBy)
	}
	if w.Order != nil {
		record("TaintOrdered", "taint %s ordered by %s: %s", w.Order, w.Order.Who, w.Order.Why)
	}
	for _, o := range w.EndOrders {
		record("TaintOrderEnded", "taint %s no longer ordered: %s", o, r.EndedBy)
	}
}

// takesNoOrder says why nothing new begins on a cluster, or what is wrong with the order; no reason where it may.
func (a tainter) takesNoOrder(mode rules.Mode, c karmada.Cluster, wrong string) (reason.Reason, string) {
	if cause, why := a.beginsNothing(mode, c); cause != reason.None {
		return cause, why
	}
	switch {
	case wrong != "":
		return reason.Invalid, wrong
	case c.Malformed != "":
		return reason.Malformed, c.Malformed
	case rules.OptedOut(c.Annotations):
		return reason.OptedOut, "the cluster is opted out by its annotation " + karmada.AnnotationEnabled
	}
	return reason.None, ""
}

// NameLiftBans lives in histories: never rename it.
const NameLiftBans = "LiftBans"

// BansRequest requests that one page of bindings is freed of a drain's bans.
type BansRequest struct {
	Cluster string     `json:"cluster"`
	Mode    rules.Mode `json:"mode"`
	Page    Page       `json:"page"`
}

// BansResult is what became of a page.
type BansResult struct {
	// Refused: the cluster is drained again.
	Refused bool `json:"refused,omitempty"`
	// Malformed counts bindings whose ban stays until an operator has repaired them.
	Malformed int   `json:"malformed,omitempty"`
	Next      *Page `json:"next,omitempty"`
}

// LiftBans drops the bans of a drain that has ended. A binding that has no target left
// gets the cluster back in the same write.
func (a leftovers) LiftBans(ctx context.Context, r BansRequest) (BansResult, error) {
	if r.Mode != rules.ModeEnforce {
		return BansResult{}, nil
	}
	c, gone, err := a.cluster(ctx, r.Cluster, "")
	if err != nil {
		return BansResult{}, classify("lift the bans of", r.Cluster, err)
	}
	if !gone && c.Drain != nil {
		return BansResult{Refused: true}, nil
	}
	page, err := a.Reader.Bindings(ctx, r.Page)
	if err != nil {
		return BansResult{}, classify("list bindings banned from", r.Cluster, err)
	}
	out := BansResult{Next: page.Next}
	for i := range page.Bindings {
		if task, _ := page.Bindings[i].TaskFor(r.Cluster); task == nil || !task.Bans() {
			continue
		}
		if page.Bindings[i].Malformed != "" {
			out.Malformed++
			continue
		}
		key := page.Bindings[i].Key
		if err := a.retryConflict(ctx, string(key.Kind()), func() error { return a.liftBan(ctx, key, r.Cluster, gone) }); err != nil {
			return BansResult{}, classify("lift the ban of", key.String(), err)
		}
	}
	return out, nil
}

func (a leftovers) liftBan(ctx context.Context, key karmada.BindingKey, cluster string, clusterGone bool) error {
	b, gone, err := a.binding(ctx, key, "")
	if gone || err != nil {
		return err
	}
	task, _ := b.TaskFor(cluster)
	switch {
	case task == nil || !task.Bans():
	case b.Malformed != "":
		return fmt.Errorf("it became malformed: %s", b.Malformed) // asked again, it is counted
	case len(b.Clusters) == 0 && !clusterGone:
		var replicas int32
		if task.Replicas != nil {
			replicas = *task.Replicas
		}
		_, err = a.Writer.Restore(ctx, RestoreWrite{Binding: &b, Cluster: cluster, Replicas: replicas, Now: a.clock.Now()})
	default:
		_, err = a.Writer.Release(ctx, ReleaseWrite{Binding: &b, Cluster: cluster})
	}
	return err
}

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
	if cause, why := a.takesNoOrder(r.Mode, w.Cluster, r.Order.Validate()); cause != reason.None {
		return cause, why
	}
	return orderOnto(w, *r.Order)
}

// orderOnto adds the order where the cluster can take it. A taint that stands already
// stays its owner's: ending Lifeboat's order would take it away.
func orderOnto(w *TaintWrite, o karmada.OrderedTaint) (reason.Reason, string) {
	c := w.Cluster
	stands := karmada.OrderedOn(c.Ordered, o.Name())
	switch {
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
		return reason.LifeboatTaint, fmt.Sprintf("%s is Lifeboat's already, by rule %s", o.Name(), c.Added[at].Rule)
	case karmada.HasTaint(c.Taints, o.Key, o.Effect):
		return reason.ForeignTaint, o.Name() + " stands already, put by another actor"
	}
	w.Order = &o
	return "", ""
}
