package bindingmigration

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// staleWait is how long releases may be refused because Karmada is stale before the migration needs attention.
const staleWait = time.Minute

// releaser drops the task and follows the old copy until it is gone: Released, RefusedSince and StaleSince are its own.
type releaser struct {
	*course
	looks  *looks
	proofs *proofs
	// away: the source did not answer at the release.
	away bool
	// justReleased: the old Work cannot be gone yet.
	justReleased bool
}

// releaseCalledOff reports whether an order came against the release before the task was dropped: it
// goes back to where that is obeyed. With its cluster gone there is nothing to obey. Where a release may stand whose
// answer was lost, a look tells: the task that it dropped was dropped by no other hand.
func (rl *releaser) releaseCalledOff() bool {
	if rl.st.SourceGone || rl.st.Intent.Releases() || (!rl.st.Intent.PutsBack() && rl.st.Intent.Cancelled == nil) {
		return false
	}
	if rl.st.Released.MayStand() {
		o, ok := rl.looks.look("see whether the release of " + rl.st.Ref.Key.String() + " stands")
		switch {
		case !ok:
			rl.wait(rl.st.Terms.Recheck, "try again to see whether the release stands")
			return true
		case !o.Gone && !o.Held && !o.Targeted:
			return false // the release finds that out as well, and follows the old copy
		}
	}
	if rl.st.Directly() {
		rl.on(phase.EventFenceAsked)
	} else {
		rl.on(phase.EventCalledOff)
	}
	return true
}

func (rl *releaser) releaseRequest() activities.ReleaseRequest {
	var healthyFor time.Duration
	if !rl.st.Proof.Since.IsZero() {
		healthyFor = workflow.Now(rl.ctx).Sub(rl.st.Proof.Since)
	}
	request := activities.ReleaseRequest{
		HealthyFor: healthyFor, Watched: rl.st.Proof.Followed && rl.st.Terms.Watched, MinHealthy: &rl.st.Terms.MinHealthy, Detection: &rl.st.Terms.Detection,
		Plugins: rl.st.Terms.Plugins, Probe: rl.st.Terms.Probe, ProvenOn: rl.st.Proof.On,
		Returned: rl.st.Returned, Parent: rl.st.Parent,
		Ordered: rl.st.Intent.Releases(), Unproven: rl.st.Proof.Waived,
		Recovered: rl.st.Intent.Recover != nil && rl.st.Home != workflows.HomeRefused, QueuedAt: rl.st.QueuedAt,
	}
	if !rl.st.Intent.Releases() && !rl.st.Proof.Waived && (!rl.st.Directly() || rl.st.Carries()) {
		request.Proofs = rl.proofs.freshProofs(rl.st.Proof.On)
	}
	request.MigrationRef = rl.looks.held() // not before: a fence may have come meanwhile
	return request
}

// release is the point of no return: one activity looks once more and drops the task.
func (rl *releaser) release() {
	releaseCalledOff := rl.releaseCalledOff()
	if releaseCalledOff {
		return
	}
	request := rl.releaseRequest()
	before := rl.st.Released
	rl.st.Released = workflows.WriteSent
	ctx := flow.Acting(rl.ctx, "look once more, then release the old copy of "+rl.st.Ref.Key.String())
	out, err := flow.Run[activities.ActResult](ctx, activities.NameRelease, request)
	if err != nil {
		rl.st.Released = workflows.WriteUnknown
		rl.releaseFailed(err)
		return
	}
	if rl.st.Released, rl.st.RefusedSince = before, (time.Time{}); out.Tried {
		rl.st.Released = workflows.WriteUnknown
	}
	if out.Reason != reason.KarmadaStale {
		rl.st.StaleSince = time.Time{}
	}
	switch out.End {
	case activities.ActDone, activities.ActAlready:
		rl.st.Released = workflows.WriteStands
		rl.st.Banned = out.Banned
		rl.st.Reason, rl.st.Message = rl.released()
		rl.auditReleased(request)
		rl.st.SourceGone = rl.st.SourceGone || out.Look.SourceGone
		rl.away = !out.Look.SourceReady && !rl.st.Directly()
		rl.justReleased = true
		if out.Purged {
			rl.st.OldWork = nil
		}
		rl.on(phase.EventReleased)
		if rl.st.Intent.PutsBack() { // it came while the release was written
			rl.st.Intent.Refuse(workflows.ReleasedAlready)
			rl.report(nil)
		}
	case activities.ActGone:
		rl.end(record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
	case activities.ActRefused:
		rl.releaseRefused(out)
	}
}

func (rl *releaser) released() (reason.Reason, string) {
	switch {
	case rl.st.Proof.Waived:
		return reason.Unproven, "released unproven: " + rl.st.Waived()
	case rl.st.Directly():
		return reason.Fenced, "released: the old copy is dead"
	default:
		return reason.Healthy, "released"
	}
}

// releaseRefused goes back to waiting. A target without an answer to its probe is no
// news about health: its clock goes on, towards detection.
func (rl *releaser) releaseRefused(out activities.ActResult) {
	rl.note(out.Reason, out.Message)
	switch {
	case rl.st.Ref.Named && rl.st.Intent.Releases() && (rl.st.Directly() || out.Reason == reason.HeldForParents):
		// What an operator named goes back to the operator, and keeps no failover open.
		rl.st.Intent.Refuse(reason.Summary("release refused: " + out.Message))
		rl.on(phase.EventReleaseRefused)
	case rl.st.Directly() && (!rl.st.Carries() || out.Reason.AboutOldCopy()):
		rl.on(phase.EventFenceAsked)
		rl.wait(purgePoll, "look again whether the old copy is dead")
	default:
		rl.waitRefused(out)
	}
}

// waitRefused waits for what keeps the old copy.
func (rl *releaser) waitRefused(out activities.ActResult) {
	since := rl.st.Proof.Since
	rl.looks.distrusts = true
	rl.mustHold = 0 // it looks itself before it asks again
	rl.on(phase.EventReleaseRefused)
	switch {
	case out.Reason == reason.KarmadaStale:
		rl.st.Proof.Since = since
		rl.stale(out.Message)
		return
	case out.Reason == reason.ProbeFailed:
		rl.st.Proof.Since, rl.st.Proof.Unprobed = since, true
	case out.Reason == reason.KarmadaUnseen:
		rl.st.Proof.Since, rl.st.Proof.Doubt = since, out.Reason
	case out.Reason == reason.HeldForParents && !since.IsZero():
		rl.st.Proof.Since = since
		waited := workflow.Now(rl.ctx).Sub(since) // many may wait for long
		if rl.st.Intent.Recover != nil {
			waited = 0 // it ends soon
		}
		rl.wait(min(max(rl.st.Terms.Recheck, waited), rl.proofs.safetyPoll()), "wait for those that need the old copy of "+rl.st.Ref.Key.String())
		return
	case out.Reason == reason.ClusterRecovered:
		rl.st.Home = workflows.HomeAsked
		rl.on(phase.EventRecovered)
		return
	}
	rl.overdue("it is not released: " + out.Message + ",")
	// Always: where health need not hold, the next look would be content at once.
	rl.wait(rl.st.Terms.HealthPoll, "wait before looking again: the release was refused")
}

// stale holds until karmada-controller-manager is back. What Karmada reports meanwhile is no
// news about health, in either direction.
func (rl *releaser) stale(message string) {
	now := workflow.Now(rl.ctx)
	if rl.st.StaleSince.IsZero() {
		rl.st.StaleSince = now
	}
	if now.Sub(rl.st.StaleSince) >= staleWait {
		rl.attention(reason.KarmadaStale, message)
	}
	rl.wait(rl.st.Terms.Recheck, "wait until Karmada is up to date: the release was refused")
}

// releaseFailed shows why a release fails, and raises the flag once the API server has
// refused it for long, a webhook for example.
func (rl *releaser) releaseFailed(err error) {
	why, message := whyNot(err)
	rl.note(why, message)
	now := workflow.Now(rl.ctx)
	switch {
	case why != reason.Forbidden && why != reason.Invalid:
		rl.st.RefusedSince = time.Time{}
	case rl.st.RefusedSince.IsZero():
		rl.st.RefusedSince = now
	case now.Sub(rl.st.RefusedSince) >= staleWait:
		rl.attention(why, message)
	}
	rl.wait(rl.st.Terms.Recheck, "try again to release")
}

// purgePoll is how often a Work that is being deleted on a reachable cluster is looked at, at first.
const purgePoll = 5 * time.Second

// purgeFirst is when it is looked at first: Karmada and the member need a moment.
const purgeFirst = 2 * time.Second

// purge follows the old Work by uid. On a cluster that is away, or that keeps it for too long after the recovery, it
// becomes a pending purge, which the failover keeps; the migration ends.
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
	ctx := flow.Doing(rl.ctx, "see whether the old copy of "+rl.st.Ref.Key.String()+" is gone")
	w, err := flow.Run[activities.WorkState](ctx, activities.NameObserveWork, activities.WorkRequest{
		Cluster: rl.st.Ref.Cluster, ClusterUID: rl.st.Ref.ClusterUID, Key: rl.st.Ref.Key, UID: rl.st.Ref.UID, Work: *rl.st.OldWork,
	})
	if err != nil {
		rl.note(reason.Unreachable, err.Error())
		rl.wait(rl.st.Terms.Recheck, "try again to read the old Work")
		return
	}
	rl.purged(w, done, pendingPurge)
}

// purged ends with what became of the old Work, or waits for more.
func (rl *releaser) purged(w activities.WorkState, done record.Result, pendingPurge *record.PendingPurge) {
	since := workflow.Now(rl.ctx).Sub(rl.st.Entered)
	switch {
	case w.Orphaned:
		gone := record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone}
		if w.Away {
			gone.PendingPurge = pendingPurge
		}
		rl.end(gone)
	case w.Gone && (!w.Away || rl.st.Ref.Fence != nil):
		rl.end(rl.preserved(done))
	case w.Superseded:
		done.Reason = reason.Superseded
		rl.end(done)
	case w.Held != "":
		done.Reason, done.Message = reason.HeldForParents, "the old copy on "+rl.st.Ref.Cluster+" stays for its parents: its task says "+w.Held
		rl.end(done)
	case !w.Away && (rl.st.Intent.Recover == nil || since < rl.st.Terms.PendingPurgeWait):
		rl.stillGoing(since) // only a failover that closes takes it over
	default: // on a cluster that is away, or was deleted
		if !w.Away {
			done.Message = "the old copy on " + rl.st.Ref.Cluster + " is still there " + since.Round(time.Second).String() + " after its release"
		}
		rl.owes(done, pendingPurge)
	}
}

// purgeLate is how long after the release an old copy that does not go on a cluster that answers needs attention.
const purgeLate = time.Minute

// stillGoing waits for an old copy that is being deleted, the longer, the longer that takes.
func (rl *releaser) stillGoing(since time.Duration) {
	if since >= purgeLate {
		rl.attention(reason.PendingPurge, "the old copy on "+rl.st.Ref.Cluster+" does not go; look for a finalizer or a webhook there that keeps it")
	}
	rl.wait(min(max(since/4, purgePoll), purgeLate), "wait for the old copy of "+rl.st.Ref.Key.String()+" to go")
}

// unseen reports whether the old copy cannot be observed. Where a fence says that it is dead, its
// Work alone is looked at.
func (rl *releaser) unseen() bool {
	return rl.away || rl.st.SourceGone && rl.st.Ref.Fence == nil
}

// owes ends with an old copy that is not deleted, because its cluster is away or keeps it, or cannot be
// observed any more: a deleted Cluster takes its Works with it, not what runs.
func (rl *releaser) owes(r record.Result, pendingPurge *record.PendingPurge) {
	eased := rl.ease()
	if !eased {
		return
	}
	r = rl.preserved(r)
	r.Reason, r.PendingPurge = reason.PendingPurge, pendingPurge
	if rl.st.SourceGone {
		r.Reason = reason.ClusterGone
	}
	rl.end(r)
}

// ease has a ban say Gracefully while its Work stands, as it may now for long: beside Directly Karmada would update no copy.
func (rl *releaser) ease() (done bool) {
	if !rl.st.Banned {
		return true
	}
	about := rl.st.Ref.Key.String()
	out, err := flow.Run[activities.ActResult](flow.Doing(rl.ctx, "keep Karmada able to update "+about), activities.NameMarkTask, activities.MarkRequest{MigrationRef: rl.st.Ref})
	switch {
	case err != nil:
		rl.releaseFailed(err)
		return false
	case out.End == activities.ActRefused && out.Reason == reason.PendingPurge:
		rl.note(out.Reason, out.Message)
		rl.wait(rl.st.Terms.Recheck, "wait until Karmada deletes the old copy of "+about)
		return false
	case out.End == activities.ActDone:
		rl.acted(record.AuditBindingMarked, record.Audit{Reason: reason.PendingPurge, Message: "its ban says Gracefully", To: rl.st.To})
	}
	return true
}

// preserved says of an old Work that ends that the copy on the member does not.
func (rl *releaser) preserved(r record.Result) record.Result {
	if rl.st.Preserved {
		r.Reason, r.Message = reason.CopyPreserved, "the old copy on "+rl.st.Ref.Cluster+" runs on: spec.preserveResourcesOnDeletion"
	}
	return r
}
