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
func (rl *releaser) purge() {
	done := record.Result{Outcome: phase.OutcomeMigrated, Reason: reason.Purged}
	if rl.st.OldWork == nil {
		rl.end(rl.preserved(done))
		return
	}
	pendingPurge := &record.PendingPurge{Key: rl.st.Ref.Key, Namespace: rl.st.OldWork.Namespace, Work: rl.st.OldWork.Name, UID: rl.st.OldWork.UID}
	if rl.unseen() {
		rl.owes(done, pendingPurge)
		return
	}
	if rl.justReleased && !rl.stirred() {
		rl.justReleased = false
		rl.wait(purgeFirst, "let the old copy of "+rl.st.Ref.Key.String()+" go")
	}
	var w activities.WorkState
	ctx := flow.Doing(rl.ctx, "see whether the old copy of "+rl.st.Ref.Key.String()+" is gone")
	err := workflow.ExecuteActivity(ctx, activities.NameObserveWork, activities.WorkRequest{
		Cluster: rl.st.Ref.Cluster, Key: rl.st.Ref.Key, UID: rl.st.Ref.UID, Work: *rl.st.OldWork,
	}).Get(ctx, &w)
	switch {
	case err != nil:
		rl.note(reason.Unreachable, err.Error())
		rl.wait(rl.st.Terms.Recheck, "try again to read the old Work")
	case w.Orphaned:
		gone := record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone}
		if w.Away {
			gone.PendingPurge = pendingPurge
		}
		rl.end(gone)
	case w.Gone:
		rl.end(rl.preserved(done))
	case w.Superseded:
		done.Reason = reason.Superseded
		rl.end(done)
	case w.Away:
		rl.owes(done, pendingPurge)
	default:
		rl.wait(purgePoll, "wait for the old copy of "+rl.st.Ref.Key.String()+" to go")
	}
}

// unseen tells that nobody can see the old copy go. Where a fence says that it is dead, its
// Work alone is looked at.
func (rl *releaser) unseen() bool {
	return rl.away || rl.st.SourceGone && rl.st.Ref.Fence == nil
}

// owes ends with an old copy that nobody can delete while its cluster is away, or of which
// nobody knows anything any more: a deleted Cluster takes its Works with it, not what runs.
func (rl *releaser) owes(r record.Result, pendingPurge *record.PendingPurge) {
	r = rl.preserved(r)
	r.Reason, r.PendingPurge = reason.PendingPurge, pendingPurge
	if rl.st.SourceGone {
		r.Reason = reason.ClusterGone
	}
	rl.end(r)
}

// preserved says of an old Work that ends that the copy on the member does not.
func (rl *releaser) preserved(r record.Result) record.Result {
	if rl.st.Preserved {
		r.Reason, r.Message = reason.CopyPreserved, "the old copy on "+rl.st.Ref.Cluster+" runs on: spec.preserveResourcesOnDeletion"
	}
	return r
}
