package clusterfailover

import (
	"fmt"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// clusterOrders are an operator's orders about what stands on the cluster: a drain, a taint, and their ends.
type clusterOrders struct {
	*run
	draining  *draining
	judgement *judgement
	taints    *taints
	// appeared has the phase say that there may be work again.
	appeared func(reason.Reason)
}

// askCluster hands an order to the main loop and waits for its answer.
func (co *clusterOrders) askCluster(ctx workflow.Context, by workflows.Order, obey func() (string, error)) (string, error) {
	ask := &clusterAsk{by: by, obey: obey}
	co.asks, co.dirty = append(co.asks, ask), true
	live, _ := workflow.NewDisconnectedContext(ctx)
	if err := workflow.Await(live, func() bool { return ask.Done }); err != nil {
		return "", err
	}
	return ask.Answer, ask.Err
}

// obey carries out orders about what stands on the cluster, in their order.
func (co *clusterOrders) obey() {
	for co.asksDue() {
		ask := co.asks[0]
		co.asks, co.dirty = co.asks[1:], true
		ask.End(ask.obey())
		if ask.Err == nil {
			co.clusterDirty = true
			co.judgement.assess() // before anything is done under the taints of a moment ago
		}
	}
}

// refuseAsks refuses orders that come too late.
func (co *clusterOrders) refuseAsks() {
	for _, ask := range co.asks {
		ask.End("", temporal.NewApplicationError("this failover has just ended; ask again", workflows.ErrorClosing))
	}
	co.asks = nil
}

// beginsNothing says why an operator cannot begin something new here, empty when that is
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

func (co *clusterOrders) obeyDrain(by workflows.Order, d *karmada.Drain) (string, error) {
	if why := co.beginsNothing("a drain"); why != "" {
		return "", flow.Refused(why)
	}
	before := co.st.Cluster.Drain
	d.FailoverID = co.st.FailoverID
	err := co.taints.orderWritten("record that "+by.Who+" drains "+co.cluster, activities.TaintRequest{Drain: d})
	if err != nil {
		return "", err
	}
	co.trail.ordered(workflows.UpdateDrain, by, queue.Scope{}, "selector", d.Selector, "rate", flow.RateOf(d.Rate), "honourTolerations", flow.Yes(d.HonourTolerations))
	if before == nil { // the same order given twice lets nothing go sooner
		co.draining.begin()
		co.appeared(reason.Drained) // with the answer: whoever asks next must not find it evacuated
	}
	co.judgement.drained(d)
	co.st.ListDirty = true
	_ = workflow.UpsertMemo(co.ctx, map[string]any{MemoDrain: by.Line()})
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
	_ = workflow.UpsertMemo(co.ctx, map[string]any{MemoDrain: "ended by " + by.Line()})
	return "undrained: what moved stays moved; where nothing else speaks for a failure, what has not moved stays and what is unplaced is put back", nil
}

func (co *clusterOrders) orderDrain(ctx workflow.Context, o workflows.DrainOrder) (string, error) {
	d := &karmada.Drain{
		Who: o.Who, Why: o.Reason, Selector: o.Selector, Rate: o.Rate, HonourTolerations: o.HonourTolerations,
	}
	return co.askCluster(ctx, o.Order, func() (string, error) { return co.obeyDrain(o.Order, d) })
}

func (co *clusterOrders) orderUndrain(ctx workflow.Context, o workflows.Order) (string, error) {
	return co.askCluster(ctx, o, func() (string, error) { return co.obeyUndrain(o) })
}

func (co *clusterOrders) obeyTaint(by workflows.Order, t karmada.OrderedTaint) (string, error) {
	if why := co.beginsNothing("a taint"); why != "" {
		return "", flow.Refused(why)
	}
	t.FailoverID = co.st.FailoverID
	err := co.taints.orderWritten(fmt.Sprintf("record that %s taints %s with %s", by.Who, co.cluster, t), activities.TaintRequest{Order: &t})
	if err != nil {
		return "", err
	}
	co.trail.ordered(workflows.UpdateTaint, by, queue.Scope{}, "taint", t.String())
	return fmt.Sprintf("tainted with %s: what does not tolerate it moves, until lifeboat taint %s --end", t, co.cluster), nil
}

func (co *clusterOrders) obeyUntaint(by workflows.Order, t karmada.OrderedTaint) (string, error) {
	ended, why := co.endsOrders(t)
	if why != "" {
		return "", flow.Refused(why)
	}
	names := make([]string, len(ended))
	for n, o := range ended {
		names[n] = o.String()
	}
	list := strings.Join(names, ", ")
	err := co.taints.orderWritten(by.Who+" ends the order of "+list+" on "+co.cluster, activities.TaintRequest{EndOrders: ended, EndedBy: by.Line()})
	if err != nil {
		return "", err
	}
	co.trail.ordered(workflows.UpdateUntaint, by, queue.Scope{}, "taint", list)
	return "untainted of " + list + ": what it moved stays moved, what is unplaced is put back where nothing else speaks for a failure", nil
}

// endsOrders are the orders that an untaint ends, or why it ends none: a taint that
// a rule or another actor put stays.
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
	for _, added := range c.Added {
		if added.Key == t.Key && added.Effect == t.Effect {
			return nil, t.Name() + " follows from rule " + added.Rule + ", and goes when that no longer matches"
		}
	}
	if co.judgement.evidence().Stands(t.RuleTaint()) {
		return nil, t.Name() + " is not Lifeboat's: somebody else put it, and takes it away"
	}
	return nil, "it does not carry " + t.Name()
}

// taintOf is an order about a taint, as read makes it out.
func (co *clusterOrders) taintOf(verb, description string, read func(workflows.TaintOrder) (karmada.OrderedTaint, string), obey func(workflows.Order, karmada.OrderedTaint) (string, error)) flow.Update {
	return flow.Awaited(verb, description, func(o workflows.TaintOrder) error {
		if _, wrong := read(o); wrong != "" {
			return flow.Refused(wrong)
		}
		return flow.RefuseOrder(o.Order)
	}, func(ctx workflow.Context, o workflows.TaintOrder) (string, error) {
		taint, _ := read(o)
		return co.askCluster(ctx, o.Order, func() (string, error) { return obey(o.Order, taint) })
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

// begunTaint is the taint that is to stand, with the operator who ordered it.
func begunTaint(o workflows.TaintOrder) (karmada.OrderedTaint, string) {
	t, wrong := karmada.ParseTaint(o.Taint)
	t.Who, t.Why = o.Who, o.Reason
	return t, wrong
}

// MemoDrain is the memo field for the operator who drains the cluster, and why.
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

// mayBegin reports whether a drain's own rate lets a migration begin: none is on its way to
// its write, and the last write is long enough ago.
func (d *draining) mayBegin() bool {
	if d.rate() == 0 {
		return true
	}
	for _, key := range workflow.DeterministicKeys(d.st.Migrations) {
		if m := d.st.Migrations[key]; unwritten(m.Phase) && !m.Holds {
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
func (d *draining) wrote(m workflows.Migration, r activities.MigrationReport) {
	wrote := !unwritten(r.Phase) && r.Result == nil || r.Result != nil && r.Result.Wrote
	if rate := d.rate(); rate > 0 && wrote && unwritten(m.Phase) {
		d.st.NextDrain = d.now().Add(pace.Apart(rate))
	}
}

// banned notes that Lifeboat tasks keep the cluster from the scheduler.
func (d *draining) banned(found bool) { d.st.Bans = d.st.Bans || found }

// begin has the drain's own rate begin again.
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

// unwritten reports whether an eviction may still be sent in a phase.
func unwritten(p phase.Migration) bool {
	return p == phase.MigrationChecking || p == phase.MigrationQueued || p == phase.MigrationEvicting
}
