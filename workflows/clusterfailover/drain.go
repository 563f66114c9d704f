package clusterfailover

import (
	"fmt"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// MemoDrain is the memo field that says who drains the cluster, and why.
const MemoDrain = "lifeboatDrain"

// refuseDrain: what else is wrong with it is said once the cluster was read.
func refuseDrain(o workflows.DrainOrder) error {
	if len(o.Selector) > workflows.MaxReason {
		return flow.Refused(fmt.Sprintf(`field "selector": %d bytes, at most %d`, len(o.Selector), workflows.MaxReason))
	}
	return flow.RefuseOrder(o.Order)
}

func (e *failover) obeyDrain(ask *clusterAsk) (string, error) {
	if why := e.beginsNothing("a drain"); why != "" {
		return "", flow.Refused(why)
	}
	before := e.st.Cluster.Drain
	ask.drain.FailoverID = e.st.FailoverID
	err := e.orderWritten("record that "+ask.by.Who+" drains "+e.cluster, activities.TaintRequest{Drain: ask.drain})
	if err != nil {
		return "", err
	}
	e.trail.drain(ask)
	if before == nil { // the same order given twice lets nothing go sooner
		e.st.NextDrain = time.Time{}
	}
	e.st.Cluster.Drain = ask.drain
	e.listDirty = true
	_ = workflow.UpsertMemo(e.ctx, map[string]any{MemoDrain: ask.by.Who + ": " + ask.by.Reason})
	return "draining: every binding moves off it at the fleet's pace, its old copy held until the new one is healthy", nil
}

func (e *failover) obeyUndrain(by workflows.Order) (string, error) {
	switch {
	case e.st.Cluster.Drain == nil || !e.st.GoneAt.IsZero():
		return "", flow.Refused("it is not being drained")
	case e.st.Cluster.Drain.Deletion:
		return "", flow.Refused("it is drained because it is being deleted, by configuration drain.onDeletion")
	}
	err := e.orderWritten(by.Who+" ends the drain of "+e.cluster, activities.TaintRequest{ClearDrain: true, EndedBy: by.Line()})
	if err != nil {
		return "", err
	}
	e.trail.drain(&clusterAsk{verb: workflows.UpdateUndrain, by: by})
	e.st.Cluster.Drain = nil
	_ = workflow.UpsertMemo(e.ctx, map[string]any{MemoDrain: "ended by " + by.Who + ": " + by.Reason})
	return "undrained: what has not moved stays, what is unplaced is put back, what moved stays moved", nil
}

// failing tells whether the cluster fails by itself: a drain aside, something speaks
// for a failure.
func (e *failover) failing() bool {
	if len(e.st.Cluster.Foreign) > 0 {
		return true
	}
	for _, k := range e.st.Windows.SortedKeys() {
		if w := e.st.Windows[k]; w.Rule != karmada.DrainRule && karmada.Triggers(w.Taint.Effect) && e.ripens(w) {
			return true
		}
	}
	return false
}

// ordersRecorded tells whether the record of a human's order stands on the cluster.
func (e *failover) ordersRecorded() bool {
	return e.st.Cluster.Drain != nil && !e.st.Cluster.Drain.Deletion || len(e.st.Cluster.Ordered) > 0
}

// drainRate is the rate that a drain keeps to by itself, 0 for none. Where the
// cluster fails as well there is no time for that.
func (e *failover) drainRate() float64 {
	if e.st.Cluster.Drain == nil || e.failing() {
		return 0
	}
	return e.st.Cluster.Drain.Rate
}

// drainMay tells whether a drain's own rate lets a move begin: none is on its way to
// its write, and the last write is long enough ago.
func (e *failover) drainMay() bool {
	if e.drainRate() == 0 {
		return true
	}
	for _, key := range workflow.DeterministicKeys(e.st.Moves) {
		if m := e.st.Moves[key]; unwritten(m.Phase) && !m.Holds {
			return false
		}
	}
	return !e.now().Before(e.st.NextDrain)
}

// drainWant is how many permits to ask for: never one that could not be used now.
func (e *failover) drainWant(want int) int {
	want = max(0, want)
	switch {
	case e.drainRate() == 0:
		return want
	case !e.drainMay():
		return 0
	default:
		return min(want, 1)
	}
}

// drainWrote counts an eviction against a drain's own rate, from its acknowledgement.
func (e *failover) drainWrote(m workflows.Move, r workflows.MigrationReport) {
	wrote := !unwritten(r.Phase) && r.Result == nil || r.Result != nil && r.Result.Wrote
	if rate := e.drainRate(); rate > 0 && wrote && unwritten(m.Phase) {
		e.st.NextDrain = e.now().Add(pace.Apart(rate))
	}
}

// unwritten tells the phases in which an eviction may still be sent.
func unwritten(p phase.Migration) bool {
	return p == phase.MigrationChecking || p == phase.MigrationEvicting
}

// selectAnew follows a drain's selector, which is no part of the frozen policy: a
// drain may begin when the attempt has long been under way.
func (e *failover) selectAnew(i *queue.Item, notDrained bool, policies map[string]int) {
	if i.Policy < 0 || i.Policy >= len(e.st.Policy) || e.st.Policy[i.Policy].NotDrained == notDrained {
		return
	}
	p := e.st.Policy[i.Policy]
	p.NotDrained = notDrained
	i.Policy = e.st.Queue.Freeze(p, policies)
}

// liftBans frees every binding that a drain, now ended, keeps off this cluster; false
// means that it could not be done for now.
func (e *failover) liftBans() bool {
	malformed := 0
	for page := (activities.Page{}); e.st.Bans; {
		var r activities.BansResult
		ctx := flow.Doing(e.ctx, "let the scheduler use "+e.cluster+" again where the drain had banned it")
		request := activities.BansRequest{Cluster: e.cluster, Mode: e.st.Terms.Mode, Page: page}
		if err := workflow.ExecuteActivity(ctx, activities.NameLiftBans, request).Get(ctx, &r); err != nil || r.Refused {
			e.log.Warn("could not lift the bans of a drain", "refused", r.Refused, "error", err)
			e.clusterDirty = true
			e.backOff()
			return false
		}
		if malformed += r.Malformed; r.Next != nil {
			page = *r.Next
			continue
		}
		if e.st.Bans = malformed > 0; malformed > 0 {
			e.log.Warn("bans of a drain stay on bindings that nobody understands", "bindings", malformed)
			e.clusterDirty = true
			e.backOff()
			return false
		}
	}
	return true
}

func (e *failover) drain(ctx workflow.Context, o workflows.DrainOrder) (string, error) {
	return e.askCluster(ctx, &clusterAsk{verb: workflows.UpdateDrain, by: o.Order, drain: &karmada.Drain{
		Who: o.Who, Why: o.Reason, Selector: o.Selector, Rate: o.Rate, HonourTolerations: o.HonourTolerations,
	}})
}

func (e *failover) undrain(ctx workflow.Context, o workflows.Order) (string, error) {
	return e.askCluster(ctx, &clusterAsk{verb: workflows.UpdateUndrain, by: o})
}
