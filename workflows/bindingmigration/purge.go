package bindingmigration

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// purgePoll is how often a Work that is being deleted on a reachable cluster is looked at.
const purgePoll = 5 * time.Second

// purgeFirst is when it is looked at first: Karmada and the member need a moment.
const purgeFirst = 2 * time.Second

// purge follows the old Work by uid. On a cluster that is away it becomes pending purge,
// which the failover keeps; the migration ends.
func (m *migration) purge() {
	done := record.Result{Outcome: phase.OutcomeMigrated, Reason: reason.Purged}
	if m.st.OldWork == nil {
		m.end(phase.EventPurgeSettled, m.preserved(done))
		return
	}
	pendingPurge := &record.PendingPurge{Key: m.st.Ref.Key, Namespace: m.st.OldWork.Namespace, Work: m.st.OldWork.Name, UID: m.st.OldWork.UID}
	if m.unseen() {
		m.owes(done, pendingPurge)
		return
	}
	if m.justReleased && !m.stirred() {
		m.justReleased = false
		m.wait(purgeFirst, "let the old copy of "+m.st.Ref.Key.String()+" go")
	}
	var w activities.WorkState
	ctx := flow.Doing(m.ctx, "see whether the old copy of "+m.st.Ref.Key.String()+" is gone")
	err := workflow.ExecuteActivity(ctx, activities.NameObserveWork, activities.WorkRequest{
		Cluster: m.st.Ref.Cluster, Key: m.st.Ref.Key, UID: m.st.Ref.UID, Work: *m.st.OldWork,
	}).Get(ctx, &w)
	switch {
	case err != nil:
		m.note(reason.Unreachable, err.Error())
		m.wait(m.st.Terms.Recheck, "try again to read the old Work")
	case w.Orphaned:
		gone := record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone}
		if w.Away {
			gone.PendingPurge = pendingPurge
		}
		m.end(phase.EventBindingGone, gone)
	case w.Gone:
		m.end(phase.EventPurgeSettled, m.preserved(done))
	case w.Superseded:
		done.Reason = reason.Superseded
		m.end(phase.EventPurgeSettled, done)
	case w.Away:
		m.owes(done, pendingPurge)
	default:
		m.wait(purgePoll, "wait for the old copy of "+m.st.Ref.Key.String()+" to go")
	}
}

// unseen tells that nobody can see the old copy go. Where a fence says that it is dead, its
// Work alone is looked at.
func (m *migration) unseen() bool {
	return m.away || m.st.SourceGone && m.st.Ref.Fence == nil
}

// owes ends with an old copy that nobody can delete while its cluster is away, or of which
// nobody knows anything any more: a deleted Cluster takes its Works with it, not what runs.
func (m *migration) owes(r record.Result, pendingPurge *record.PendingPurge) {
	r = m.preserved(r)
	r.Reason, r.PendingPurge = reason.PendingPurge, pendingPurge
	if m.st.SourceGone {
		r.Reason = reason.ClusterGone
	}
	m.end(phase.EventPurgeSettled, r)
}
