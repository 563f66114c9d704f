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
	// Banned tells that a release left a ban.
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

// act reads, lets decide judge, and on a yes writes; a lost race starts over.
func (a actor) act(ctx context.Context, op string, r MoveRef, step func(*karmada.Binding, []karmada.Cluster, *ActResult) error) (ActResult, error) {
	var out ActResult
	if r.Mode != rules.ModeEnforce {
		return ActResult{End: ActRefused, Reason: reason.ModeObserve}, nil
	}
	err := a.retryConflict(ctx, string(r.Key.Kind()), func() error {
		out = ActResult{}
		b, fleet, gone, err := a.read(ctx, r, true)
		if err != nil {
			return err
		}
		if gone {
			out.End, out.Reason = ActGone, reason.BindingGone
			return nil
		}
		out.Look = a.observe(&b, fleet, r)
		if b.Malformed != "" { // whatever we hold stays held until somebody has mended it
			out.refuse(reason.Malformed, b.Malformed)
			return nil
		}
		return step(&b, fleet, &out)
	})
	return out, classify(op, r.Key.String(), err)
}

func (out *ActResult) refuse(reason reason.Reason, message string) {
	out.End, out.Reason, out.Message = ActRefused, reason, message
}

func (out *ActResult) done(after karmada.Binding) {
	out.End, out.Reason, out.Generation = ActDone, reason.Written, after.Generation
}

// oldCopyDead looks once more whether Karmada has deleted the old copy, or somebody
// vouches that it is dead.
func (a releaser) oldCopyDead(ctx context.Context, b *karmada.Binding, r MoveRef, fleet []karmada.Cluster) (proof.OldCopy, error) {
	source, _ := find(fleet, r.Cluster, r.ClusterUID)
	work, err := a.oldWork(ctx, b, r)
	if err != nil {
		return proof.OldCopy{}, err
	}
	task, _ := b.TaskFor(r.Cluster)
	return proof.OldCopy{Source: source, Gone: work == nil, Fence: r.Fence, Carries: task != nil && task.Carries()}, nil
}

// oldWork is what there is of the old copy, nil only where no Work carries the binding's
// id and the very one that was held is gone as well: whoever changes a label makes no
// copy end.
func (k reader) oldWork(ctx context.Context, b *karmada.Binding, r MoveRef) (*karmada.Work, error) {
	w, err := k.Reader.WorkOf(ctx, b, r.Cluster)
	if errors.Is(err, karmada.ErrGone) && r.OldWork != nil {
		if w, err = k.Reader.Work(ctx, r.OldWork.Namespace, r.OldWork.Name); err == nil && w.UID != r.OldWork.UID {
			return nil, nil
		}
	}
	switch {
	case err == nil:
		return &w, nil
	case errors.Is(err, karmada.ErrGone):
		return nil, nil
	default:
		return nil, err
	}
}

// RestoreRequest puts the cluster back with its replicas and drops Lifeboat's task.
type RestoreRequest struct {
	MoveRef
	// EvenIfPlaced restores what is placed: its placement would take the cluster straight back.
	EvenIfPlaced bool `json:"evenIfPlaced,omitempty"`
	// EvenIfFailing restores onto a cluster that fails: a human cancelled.
	EvenIfFailing bool `json:"evenIfFailing,omitempty"`
	// PutBack restores the former clusters of a placed binding: a human's order.
	PutBack bool `json:"putBack,omitempty"`
	// OursGo tells that Lifeboat's taints go right after this, so that they are no reason
	// against a put-back as long as no rule asks for them; Stopped: whatever rules say.
	OursGo  bool `json:"oursGo,omitempty"`
	Stopped bool `json:"stopped,omitempty"`
}

// restorer puts clusters back.
type restorer struct {
	actor
	events EventRecorder
}

// Restore re-reads, waits for nothing, and refuses while the scheduler has not
// answered Lifeboat's eviction: its blind patch could still undo the write. It refuses,
// too, when the cluster fails again and nobody ordered it all the same.
func (a restorer) Restore(ctx context.Context, r RestoreRequest) (ActResult, error) {
	return a.act(ctx, "restore binding", r.MoveRef, func(b *karmada.Binding, fleet []karmada.Cluster, out *ActResult) error {
		look := out.Look
		switch {
		case look.TaskNote != "":
			out.refuse(reason.ForeignTask, "the task was left to a human: "+look.TaskNote)
			return nil
		case !look.Held && look.Targeted:
			out.End = ActAlready
			return nil
		case !look.Held:
			out.refuse(reason.NotTargeting, "no Lifeboat task stands and the cluster is no target")
			return nil
		}
		source, known := find(fleet, r.Cluster, r.ClusterUID)
		if !known {
			out.refuse(reason.ClusterGone, "the cluster was deleted")
			return nil
		}
		stop, err := a.mayNotReturn(ctx, r, b, source, out)
		if err != nil || stop {
			return err
		}
		task, _ := b.TaskFor(r.Cluster)
		held := *task
		if r.Named {
			held.Reason = karmada.TaskReason // no longer off limits
		}
		plan := proof.PlanRestore(proof.RestoreInput{
			Binding: b, Failed: r.Cluster, Task: held, Baseline: r.baseline(b), Cluster: source,
			Fleet: fleet, StraightBack: r.EvenIfPlaced, PutBack: r.PutBack,
		})
		if !plan.OK {
			out.refuse(plan.Reason, plan.Message)
			return nil
		}
		return a.writeRestore(ctx, b, r.Cluster, plan, out)
	})
}

func (a restorer) writeRestore(ctx context.Context, b *karmada.Binding, cluster string, plan proof.RestorePlan, out *ActResult) error {
	after, err := a.Writer.Restore(ctx, RestoreWrite{
		Binding: b, Cluster: cluster, Others: plan.Others, Replicas: plan.Replicas, Away: plan.Away, Shrunk: plan.Shrunk,
		Now: a.clock.Now(), Reschedule: plan.Reschedule,
	})
	if err != nil {
		return err
	}
	out.done(after)
	a.events.Record(ctx, Event{
		Binding: &b.Key, UID: b.UID, Workload: &b.Resource, Reason: "RestoreWorkloadSucceed",
		Message: fmt.Sprintf("put back on %s by workflow %s", cluster, workflowID(ctx)),
	})
	return nil
}

// holdTasks puts Lifeboat's task on a binding again, or changes it.
type holdTasks struct{ actor }

// HoldAgain puts Lifeboat's task on a binding whose restored cluster the scheduler took out, or from
// whose cluster Karmada's own taint manager evicts it: beside the task of that one.
func (a holdTasks) HoldAgain(ctx context.Context, r MoveRef) (ActResult, error) {
	return a.act(ctx, "hold binding again", r, func(b *karmada.Binding, _ []karmada.Cluster, out *ActResult) error {
		switch {
		case out.Look.Held:
			out.End = ActAlready
			return nil
		case out.Look.Targeted:
			out.refuse(reason.Written, "the cluster is a target: nothing to hold")
			return nil
		}
		purge, err := a.holdPurge(ctx, b, r.Purge)
		if err != nil {
			return err
		}
		after, err := a.Writer.Hold(ctx, HoldWrite{
			Binding: b, Cluster: r.Cluster, Owner: r.Owner, Replicas: heldReplicas(r), Before: clustersOf(r.Baseline),
			Now: a.clock.Now(), Reason: karmada.TaskReason, Purge: purge, State: r.State,
		})
		if err != nil {
			return err
		}
		out.done(after)
		return nil
	})
}

// holdPurge is how the copy goes that a hold keeps and of which nothing was frozen: it stays where
// Never is said, and is released gracefully elsewhere.
func (a holdTasks) holdPurge(ctx context.Context, b *karmada.Binding, frozen karmada.PurgeMode) (karmada.PurgeMode, error) {
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

func heldReplicas(r MoveRef) int32 {
	for _, t := range r.Baseline.Clusters {
		if t.Name == r.Cluster {
			return t.Replicas
		}
	}
	return 0
}

func clustersOf(base proof.Baseline) []string {
	var out []string
	for _, t := range base.Clusters {
		out = append(out, t.Name)
	}
	return out
}

// RemoveAgain takes the failed cluster out once more where the scheduler's blind
// patch put it back while Lifeboat's task stands. It is no new eviction and needs no
// permit, but it obeys halt and pause, and re-reads that the cluster still fails.
func (a evictor) RemoveAgain(ctx context.Context, r EvictRequest) (ActResult, error) {
	ref := MoveRef{Cluster: r.Cluster, ClusterUID: r.ClusterUID, Key: r.Key, UID: r.UID, Mode: r.Mode, Owner: r.Owner}
	since := a.clock.Start()
	if err := a.pacer.MayRemove(ctx, r.Cluster, r.Key.String()); err != nil {
		return ActResult{End: ActRefused, Reason: reason.Halted, Message: err.Error()}, nil
	}
	const within = pace.PermitsEnd - permitMargin
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return a.act(ctx, "remove again from binding", ref, func(b *karmada.Binding, fleet []karmada.Cluster, out *ActResult) error {
		if !out.Look.Held || !out.Look.Targeted || out.Look.TaskNote != "" {
			out.End = ActAlready
			return nil
		}
		c, known := find(fleet, r.Cluster, r.ClusterUID)
		if !known {
			out.refuse(reason.ClusterGone, "the cluster was deleted")
			return nil
		}
		var judged EvictResult
		if stop, err := a.stillMoves(ctx, r, c, &judged); err != nil || stop {
			out.refuse(judged.Reason, judged.Message)
			return err
		}
		if since() >= within { // somebody may have halted since the pacer was asked
			out.refuse(reason.PermitPassed, "the pacer's word is too old for the write")
			return nil
		}
		after, err := a.Writer.Evict(ctx, EvictWrite{
			Binding: b, Cluster: r.Cluster, Owner: r.Owner, Now: a.clock.Now(), Reason: karmada.TaskReason, Purge: r.Purge,
		})
		if err != nil {
			return err
		}
		out.done(after)
		return nil
	})
}

// MarkRequest leaves Lifeboat's task to a human.
type MarkRequest struct {
	MoveRef
	Reason string `json:"reason"`
}

// MarkTask gives Lifeboat's task another reason: from then on no Lifeboat run touches it.
func (a holdTasks) MarkTask(ctx context.Context, r MarkRequest) (ActResult, error) {
	return a.act(ctx, "mark task of binding", r.MoveRef, func(b *karmada.Binding, _ []karmada.Cluster, out *ActResult) error {
		if task, _ := b.TaskFor(r.Cluster); !out.Look.Held || task.Reason == r.Reason {
			out.End = ActAlready
			return nil
		}
		after, err := a.Writer.Mark(ctx, MarkWrite{Binding: b, Cluster: r.Cluster, Reason: r.Reason, Owner: r.Owner})
		if err != nil {
			return err
		}
		out.done(after)
		return nil
	})
}
