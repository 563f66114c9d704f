package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"go.temporal.io/sdk/activity"
)

// ActEnd is how a later write of a migration ended.
type ActEnd string

// The ends of release, restore, hold, mark and repeated removal.
const (
	ActDone    ActEnd = "done"    // Lifeboat's write stands
	ActAlready ActEnd = "already" // nothing left to do
	ActRefused ActEnd = "refused" // the last look said no; Reason says why
	ActGone    ActEnd = "gone"    // the binding
)

// ActResult is what such a write came to, with the look that it was decided on.
type ActResult struct {
	End     ActEnd        `json:"end"`
	Reason  reason.Reason `json:"reason,omitempty"`
	Message string        `json:"message,omitempty"`
	Look    Observation   `json:"look"`
	// Generation is the binding's after the write.
	Generation int64 `json:"generation,omitempty"`
	// Banned reports that a release left a ban.
	Banned bool `json:"banned,omitempty"`
	// Purged: the old copy's Work is gone.
	Purged bool `json:"purged,omitempty"`
	// Tried: a write of an earlier try may stand, for its answer was lost.
	Tried bool `json:"tried,omitempty"`
}

// actor makes the later writes of a migration, each decided on a look of its own.
type actor struct {
	observer
	writer
}

// actStep decides on a look, and writes.
type actStep func(b *karmada.Binding, fleet []karmada.Cluster, look Observation) (ActResult, error)

// act reads and takes a step; after a lost race it starts over.
func (a actor) act(ctx context.Context, op string, r MigrationRef, step actStep) (out ActResult, err error) {
	if r.Mode != rules.ModeEnforce {
		return ActResult{End: ActRefused, Reason: reason.ModeObserve}, nil
	}
	err = a.retryConflict(ctx, string(r.Key.Kind()), func() error {
		b, fleet, gone, err := a.read(ctx, r, true)
		if gone || err != nil {
			out = ActResult{End: ActGone, Reason: reason.BindingGone}
			return err
		}
		look, err := a.observe(ctx, &b, fleet, r)
		if err != nil {
			return err
		}
		if b.Malformed != "" { // it stays held until an operator has repaired it
			out = refused(reason.Malformed, b.Malformed)
		} else {
			out, err = step(&b, fleet, look)
		}
		out.Look = look
		return err
	})
	return out, classify(op, r.Key.String(), err)
}

func refused(reason reason.Reason, message string) ActResult {
	return ActResult{End: ActRefused, Reason: reason, Message: message}
}

// written is the end of a write that returned the binding as it stands now.
func written(after karmada.Binding, err error) (ActResult, error) {
	if err != nil {
		return ActResult{}, err
	}
	return ActResult{End: ActDone, Reason: reason.Written, Generation: after.Generation}, nil
}

// oldCopyDead looks once more whether Karmada has deleted the old copy, or a fence proves it dead.
func (a releaser) oldCopyDead(ctx context.Context, b *karmada.Binding, r MigrationRef, fleet []karmada.Cluster) (proof.OldCopy, error) {
	source, _ := find(fleet, r.Cluster, r.ClusterUID)
	work, err := a.oldWork(ctx, b, r)
	if err != nil {
		return proof.OldCopy{}, err
	}
	task, _ := b.TaskFor(r.Cluster)
	return proof.OldCopy{Source: source, Gone: work == nil, Fence: r.Fence, Carries: task != nil && task.Carries()}, nil
}

// oldWork is what there is of the old copy, nil only where no Work carries the binding's
// id and the very one that was held is gone as well: a changed label ends no
// copy.
func (k reader) oldWork(ctx context.Context, b *karmada.Binding, r MigrationRef) (*karmada.Work, error) {
	w, err := k.Reader.WorkOf(ctx, b, r.Cluster)
	if errors.Is(err, karmada.ErrGone) && r.OldWork != nil {
		var ended bool
		if w, ended, err = k.work(ctx, r.OldWork.Namespace, r.OldWork.Name, r.OldWork.UID); ended {
			return nil, nil
		}
		w.RetainsReplicas, w.PreservesCopy = r.OldWork.RetainsReplicas, r.OldWork.PreservesCopy // only metadata was read
	}
	if errors.Is(err, karmada.ErrGone) {
		return nil, nil
	}
	return &w, err
}

// RestoreRequest puts the cluster back with its replicas and drops Lifeboat's task.
type RestoreRequest struct {
	MigrationRef
	// EvenIfPlaced restores what is placed: its placement would take the cluster straight back.
	EvenIfPlaced bool `json:"evenIfPlaced,omitempty"`
	// EvenIfFailing restores onto a cluster that fails: an operator cancelled.
	EvenIfFailing bool `json:"evenIfFailing,omitempty"`
	// PutBack restores the former clusters of a placed binding: an operator's order, or for workloads that stayed there.
	PutBack bool `json:"putBack,omitempty"`
	// TaintsGo reports that Lifeboat's taints go right after this, so that they are no reason
	// against a put-back as long as no rule asks for them; Stopped: whatever rules say.
	TaintsGo bool `json:"taintsGo,omitempty"`
	Stopped  bool `json:"stopped,omitempty"`
	// Tried: a write of an earlier try may stand, for its answer was lost.
	Tried bool `json:"tried,omitempty"`
}

// restorer puts clusters back.
type restorer struct {
	actor
	events EventRecorder
}

// Restore re-reads, waits for nothing, and refuses while the scheduler has not
// answered Lifeboat's eviction: its blind patch could still undo the write. It refuses,
// too, when the cluster fails again and no operator ordered it all the same.
func (a restorer) Restore(ctx context.Context, r RestoreRequest) (ActResult, error) {
	tried := r.Tried || activity.GetInfo(ctx).Attempt > 1
	return a.act(ctx, "restore binding", r.MigrationRef, func(b *karmada.Binding, fleet []karmada.Cluster, look Observation) (ActResult, error) {
		source, known := find(fleet, r.Cluster, r.ClusterUID)
		switch {
		case look.TaskNote != "":
			return refused(reason.ForeignTask, "the task was left to an operator: "+look.TaskNote), nil
		case !look.Held:
			return unheld(look, tried), nil
		case !known:
			return refused(reason.ClusterGone, "the cluster was deleted"), nil
		}
		if cause, why, err := a.mayNotReturn(ctx, r, b, source, look); err != nil || cause != reason.None {
			return refused(cause, why), err
		}
		task, _ := b.TaskFor(r.Cluster)
		held := *task
		if r.Named {
			held.Reason = karmada.TaskReason // no longer off limits
		}
		plan, err := a.plan(ctx, r, proof.RestoreInput{
			Binding: b, Failed: r.Cluster, Task: held, Baseline: r.baseline(b), Cluster: source,
			Fleet: fleet, Karmada: a.settings.Karmada, StraightBack: r.EvenIfPlaced, PutBack: r.PutBack,
		})
		if err != nil || !plan.OK {
			return refused(plan.Reason, plan.Message), err
		}
		out, err := written(a.Writer.Restore(ctx, RestoreWrite{
			Binding: b, Cluster: r.Cluster, Others: plan.Others, Replicas: plan.Replicas, Away: plan.Away, Shrunk: plan.Shrunk,
			Now: a.clock.Now(), Reschedule: plan.Reschedule,
		}))
		if err == nil {
			a.events.Record(ctx, Event{
				Binding: &b.Key, UID: b.UID, Workload: &b.Resource, Reason: "RestoreWorkloadSucceed",
				Message: fmt.Sprintf("put back on %s by workflow %s", r.Cluster, workflowID(ctx)),
			})
		}
		return out, err
	})
}

// unheld is the end of a restore of which no task is left: what a lost write of it put back and the scheduler has undone is
// to be held again.
func unheld(look Observation, tried bool) ActResult {
	if look.Targeted || tried {
		return ActResult{End: ActAlready}
	}
	return refused(reason.NotTargeting, "no Lifeboat task stands and the cluster is no target")
}

// plan plans a restore. What is not placed is taken back from targets that came since only where the old copy can take
// over, as a put-back has looked already; elsewhere they stay, for they may be all that runs.
func (a restorer) plan(ctx context.Context, r RestoreRequest, in proof.RestoreInput) (proof.RestorePlan, error) {
	plan := proof.PlanRestore(in)
	if !plan.OK || r.PutBack || r.EvenIfPlaced {
		return plan, nil
	}
	in.TakeBack = true
	back := proof.PlanRestore(in)
	if !back.OK || len(back.Away)+len(back.Shrunk) == 0 || unfit(in.Cluster, true) != "" {
		return plan, nil
	}
	why, err := a.oldCopyGone(ctx, in.Binding, r.Cluster, r.OldWork)
	free, bad := a.definitionFree(ctx, in.Binding, back.Away...)
	if err = errors.Join(err, bad); err != nil || why != "" || !free.OK {
		return plan, err
	}
	return back, nil
}

// HoldAgain puts Lifeboat's task on a binding whose restored cluster the scheduler took out, or from
// whose cluster Karmada's own taint manager evicts it: beside the task of that one.
func (a actor) HoldAgain(ctx context.Context, r MigrationRef) (ActResult, error) {
	return a.act(ctx, "hold binding again", r, func(b *karmada.Binding, _ []karmada.Cluster, look Observation) (ActResult, error) {
		switch {
		case look.Held:
			return ActResult{End: ActAlready}, nil
		case look.Targeted:
			return refused(reason.Written, "the cluster is a target: nothing to hold"), nil
		}
		purge, err := a.holdPurge(ctx, b, r.Purge)
		if err != nil {
			return ActResult{}, err
		}
		w := HoldWrite{
			Binding: b, Cluster: r.Cluster, Owner: r.Owner,
			Now: a.clock.Now(), Purge: purge, State: r.State,
		}
		for _, t := range r.Baseline.Clusters {
			w.Before = append(w.Before, t.Name)
			if t.Name == r.Cluster {
				w.Replicas = t.Replicas
			}
		}
		return written(a.Writer.Hold(ctx, w))
	})
}

// holdPurge is how the copy goes that a hold keeps and of which nothing was frozen: it stays where
// Never is said, and is released gracefully elsewhere.
func (a actor) holdPurge(ctx context.Context, b *karmada.Binding, frozen karmada.PurgeMode) (karmada.PurgeMode, error) {
	if frozen != "" {
		return frozen, nil
	}
	policy, err := policyPurge(ctx, a.Reader, b)
	if err != nil {
		return "", err
	}
	said := rules.ResolvePurgeMode(rules.PolicyOf(b, a.settings.DefaultTolerations), policy, a.settings.Terms.Purge)
	if b.EffectivePurge(said) == karmada.PurgeNever {
		return karmada.PurgeNever, nil
	}
	return karmada.PurgeGracefully, nil
}

// EvictAgain takes the failed cluster out once more where the scheduler's blind patch put it back while Lifeboat's task
// stands. It also requests a reschedule where only that places the binding. It is no new eviction and needs no permit,
// but it obeys halt and pause, and re-reads that the cluster still fails.
func (a evictor) EvictAgain(ctx context.Context, r EvictRequest) (ActResult, error) {
	since := a.clock.Start()
	if err := a.pacer.MayRemove(ctx, r.Cluster, r.Key.String(), r.Unhealthy != nil); err != nil {
		return ActResult{End: ActRefused, Reason: reason.Halted, Message: err.Error()}, nil
	}
	const within = pace.PermitsEnd - permitMargin
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return a.act(ctx, "evict binding again", r.MigrationRef, func(b *karmada.Binding, fleet []karmada.Cluster, look Observation) (ActResult, error) {
		if !look.Held || !look.Targeted && !look.Reschedule || look.TaskNote != "" {
			return ActResult{End: ActAlready}, nil
		}
		c, known := find(fleet, r.Cluster, r.ClusterUID)
		if !known {
			return refused(reason.ClusterGone, "the cluster was deleted"), nil
		}
		var judged EvictResult
		if stop, err := a.stillMoves(ctx, r, sight{cluster: c, binding: b, now: a.clock.Now()}, &judged); err != nil || stop {
			return refused(judged.Reason, judged.Message), err
		}
		if why := twoEvictors(b, r.Cluster); why != "" {
			return refused(reason.ForeignTask, why), nil
		}
		if since() >= within { // an operator may have halted the pacer since it answered
			return refused(reason.PermitPassed, "the pacer's word is too old for the write"), nil
		}
		return written(a.Writer.Evict(ctx, EvictWrite{
			Binding: b, Cluster: r.Cluster, Owner: r.Owner, Now: a.clock.Now(), Purge: r.Purge,
			Reschedule: a.settings.preCheck(b, r.Cluster, fleet).NeedsReschedule(),
		}))
	})
}

// MarkRequest leaves Lifeboat's task to an operator, with a reason. Without one it has a ban not say Directly any more.
type MarkRequest struct {
	MigrationRef
	Reason string `json:"reason,omitempty"`
}

// MarkTask gives Lifeboat's task another reason: from then on no Lifeboat run touches it. Of a ban it changes the purge
// mode: beside a task that says Directly Karmada brings no change of the binding to any cluster as long as the old Work stands.
func (a actor) MarkTask(ctx context.Context, r MarkRequest) (ActResult, error) {
	return a.act(ctx, "mark task of binding", r.MigrationRef, func(b *karmada.Binding, _ []karmada.Cluster, look Observation) (ActResult, error) {
		task, _ := b.TaskFor(r.Cluster)
		switch {
		case r.Reason == "" && look.Banned && task.PurgeMode == karmada.PurgeDirectly:
			return a.ease(ctx, r.MigrationRef, b, *task)
		case r.Reason == "", !look.Held, task.Reason == r.Reason:
			return ActResult{End: ActAlready}, nil
		}
		return written(a.Writer.Mark(ctx, MarkWrite{Binding: b, Cluster: r.Cluster, Reason: r.Reason, Owner: r.Owner}))
	})
}

// ease has a ban say Gracefully. That would keep an old Work whose deletion Karmada has not begun.
func (a actor) ease(ctx context.Context, r MigrationRef, b *karmada.Binding, ban karmada.Task) (ActResult, error) {
	switch work, err := a.oldWork(ctx, b, r); {
	case err != nil:
		return ActResult{}, classify("read the old Work of", r.Key.String(), err)
	case work == nil:
		return ActResult{End: ActAlready}, nil
	case !work.Deleting:
		return refused(reason.PendingPurge, "Karmada has yet to delete the old Work on "+r.Cluster), nil
	}
	return written(a.Writer.Mark(ctx, MarkWrite{Binding: b, Cluster: r.Cluster, Reason: ban.Reason, Purge: karmada.PurgeGracefully}))
}
