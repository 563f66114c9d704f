package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// adoptMove starts a child that takes over a hold task without a running owner. It goes
// by the policy that is frozen of its binding, or frozen now: what the scheduler puts back
// is removed again only where that policy moves it.
func (e *failover) adoptMove(o activities.Orphan) {
	i := queue.Item{Key: o.Key, UID: o.UID, Resource: o.Resource, Policy: -1}
	left, earlier := e.st.Queue.Remembered(o.Key, o.UID)
	switch at := e.st.Queue.Find(o.Key); {
	case at >= 0 && e.st.Items[at].UID == o.UID:
		i.Policy = e.st.Items[at].Policy
	case earlier:
		i.Policy = left.Policy
	case o.Policy != nil:
		i.Policy = e.st.Queue.Freeze(*o.Policy, e.st.Queue.PolicyIndex())
	}
	e.startChild(i, workflows.MigrationState{Adopt: true})
}

// own counts a child as Lifeboat's. One that comes after the recovery reached its
// siblings is told now: the same row of the table applies.
func (e *failover) own(m workflows.Move) {
	key := m.Key.String()
	e.st.Moves[key] = m
	// Its outcome is the child's to tell, not the queue's.
	e.st.Items = slices.DeleteFunc(e.st.Items, func(i queue.Item) bool { return i.Key == m.Key && i.UID == m.UID })
	if e.closing() {
		e.signalMove(m, workflows.SignalRecover, workflows.Recover{Attempt: e.st.Attempt, Cancelled: e.st.Stopped, PutBack: e.st.StopPutBack})
	} else if p := e.st.PausedBy(m.Key); p != nil && !m.Placed {
		e.signalMove(m, workflows.SignalMigrationOrder, workflows.MigrationOrder{CancelOrder: workflows.CancelOrder{Order: p.Order}, Verb: workflows.UpdatePause})
	}
}

// ownRunning takes over a child that another run started.
func (e *failover) ownRunning(m workflows.Move) {
	e.st.Moves[m.Key.String()] = m
	e.signalMove(m, workflows.SignalMigrationAdopted, workflows.MigrationAdopted{FailoverID: e.st.FailoverID, Attempt: e.st.Attempt})
	if _, still := e.st.Moves[m.Key.String()]; still {
		e.own(m)
	}
}

// dismissFormerChildren ends children of an earlier failover that wait for a permit, which
// nobody will give them: nothing of theirs is written, and the list starts them anew.
func (e *failover) dismissFormerChildren() {
	formerChildren := e.formerChildren
	e.formerChildren = nil
	for _, r := range formerChildren {
		id := workflows.BindingMigrationID(e.instance, e.cluster, r.Key)
		if err := workflow.SignalExternalWorkflow(e.ctx, id, "", workflows.SignalRecover, workflows.Recover{Attempt: r.Attempt}).Get(e.ctx, nil); err != nil {
			e.log.Warn("could not dismiss the child of an earlier failover", "binding", r.Key.String(), "error", err)
		}
	}
}

// adoptOrphans takes over Lifeboat hold tasks for this cluster whose owner does not run,
// also for one that was deleted before this failover ever saw it.
func (e *failover) adoptOrphans() {
	e.dismissFormerChildren()
	e.holdMore()
	if !e.adoptDirty || e.st.UID == "" && e.st.GoneAt.IsZero() || e.looksLater() {
		return
	}
	e.adoptDirty, e.adoptNow = false, false
	var dead []activities.Orphan
	for page := (activities.Page{}); ; {
		var p activities.OrphanPage
		ctx := flow.Doing(e.ctx, "look for Lifeboat hold tasks on "+e.cluster+" that nobody owns")
		request := activities.OrphanRequest{Cluster: e.cluster, Page: page, Drain: e.st.Cluster.Drain}
		if err := workflow.ExecuteActivity(ctx, activities.NameFindOrphans, request).Get(ctx, &p); err != nil {
			e.log.Error("could not look for orphans", "error", err)
			e.adoptDirty, e.adoptNow = true, true // what stands there is still nobody's
			return
		}
		for _, b := range p.Evicted {
			e.lookedAt[b.Key.String()] = true
		}
		e.evictedByOthers(p.Evicted...)
		for _, o := range p.Orphans {
			e.adopt(o, true)
		}
		for _, o := range p.Running {
			e.adopt(o, false)
		}
		e.awaitStarts()
		dead = append(dead, p.Holders...)
		e.st.Bans = e.st.Bans || p.Banned
		if p.Next == nil {
			e.dropHolders(dead)
			return
		}
		page = *p.Next
	}
}

// adopt takes one task over. In observe it only reports.
func (e *failover) adopt(o activities.Orphan, orphan bool) {
	_, known := e.st.Moves[o.Key.String()]
	switch {
	case !e.enforcing():
		e.log.Warn("found a Lifeboat hold task", "binding", o.Key.String(), "owner", o.Owner, "orphan", orphan)
	case known && !orphan:
	case orphan:
		delete(e.st.Moves, o.Key.String())
		e.adoptMove(o)
	case o.Owner == workflows.BindingMigrationID(e.instance, e.cluster, o.Key):
		move := workflows.Move{Key: o.Key, UID: o.UID, Resource: o.Resource, Attempt: e.st.Attempt, Policy: -1, Phase: phase.MigrationPlacing, Since: e.now(), Heard: e.now()}
		e.ownRunning(move)
	}
}
