package clusterfailover

import (
	"strconv"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// orphans are Lifeboat hold tasks for this cluster whose owner does not run.
type orphans struct {
	*run
	draining      *draining
	judgement     *judgement
	migrations    *migrations
	secondEvictor *secondEvictor
}

// search takes over Lifeboat hold tasks for this cluster whose owner does not run,
// also for one that was deleted before this failover ever saw it.
func (or *orphans) search() {
	or.migrations.dismissFormer()
	or.secondEvictor.holdMore()
	if !or.st.AdoptDirty || or.st.UID == "" && or.st.GoneAt.IsZero() || or.waits() {
		return
	}
	or.st.AdoptDirty, or.st.AdoptNow = false, false
	var dead []activities.Orphan
	for page := (activities.Page{}); ; {
		ctx := flow.Doing(or.ctx, "look for Lifeboat hold tasks on "+or.cluster+" that nobody owns")
		p, err := flow.Run[activities.OrphanPage](ctx, activities.NameFindOrphans, activities.OrphanRequest{Cluster: or.cluster, Page: page, Drain: or.st.Cluster.Drain})
		if err != nil {
			or.log.Error("could not look for orphans", "error", err)
			or.st.AdoptDirty, or.st.AdoptNow = true, true // what stands there still has no owner
			return
		}
		for _, b := range p.Evicted {
			or.secondEvictor.lookedAt[b.Key.String()] = true
		}
		or.secondEvictor.found(p.Evicted...)
		for _, o := range p.Orphans {
			or.migrations.adopt(o, true)
		}
		for _, o := range p.Running {
			or.migrations.adopt(o, false)
		}
		or.migrations.awaitStarts()
		dead = append(dead, p.Holders...)
		or.draining.banned(p.Banned)
		if p.Next == nil {
			or.dropHolders(dead)
			return
		}
		page = *p.Next
	}
}

// waits reports whether the look for hold tasks with which a run begins can wait: it reads every
// binding, and a cluster that is only cordoned has none of this failover's.
func (or *orphans) waits() bool {
	if or.st.AdoptNow || or.st.Phase == phase.FailoverSettling {
		return false // a failover that settles sees its last hold task go before it closes
	}
	ends := or.st.Phase == phase.FailoverCordoned && !or.judgement.thisFailureStands() && or.judgement.isUntouched()
	return or.judgement.onlyCordons() || ends
}

// dropHolders takes migrations that do not run any more out of dependents' tasks. One
// that was just adopted runs again under its own id.
func (or *orphans) dropHolders(dead []activities.Orphan) {
	alive := map[string]bool{}
	for _, key := range workflow.DeterministicKeys(or.st.Migrations) {
		alive[workflows.BindingMigrationID(or.instance, or.cluster, or.st.Migrations[key].Key)] = true
	}
	for _, h := range dead {
		if alive[h.Owner] || !or.enforcing() {
			continue
		}
		ctx := flow.Doing(or.ctx, "take a migration that does not run out of the hold of "+h.Key.String())
		request := activities.HolderRequest{Cluster: or.cluster, Mode: or.st.Terms.Mode, Key: h.Key, Holder: h.Owner}
		if err := workflow.ExecuteActivity(ctx, activities.NameDropHolder, request).Get(ctx, nil); err != nil {
			or.log.Error("could not drop a dead holder", "binding", h.Key.String(), "holder", h.Owner, "error", err)
			or.st.AdoptDirty = true
		}
	}
}

func (or *orphans) asked(m workflows.Adopt) {
	if m.Cluster != or.cluster {
		or.log.Warn("ignored a malformed signal", "signal", workflows.SignalAdopt, "about", m.Cluster)
		return
	}
	if m.By.Who != "" {
		m.By.Who, m.By.Reason = reason.Summary(m.By.Who), reason.Summary(m.By.Reason)
		or.trail.ordered(workflows.OrderAdopt, m.By, queue.Scope{}, "tasks", strconv.Itoa(len(m.Bindings)))
	}
	or.st.AdoptDirty, or.st.AdoptNow, or.clusterDirty, or.dirty = true, true, true, true
}
