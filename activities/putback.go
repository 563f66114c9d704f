package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// mayNotReturn re-reads what a plan cannot know: whether the cluster fails again,
// whether the scheduler has answered, and for a put-back whether the former copy can
// take over. No reason means that it may return.
func (a restorer) mayNotReturn(
	ctx context.Context, r RestoreRequest, b *karmada.Binding, source karmada.Cluster, look Observation,
) (cause reason.Reason, why string, err error) {
	cause = reason.ConditionsMatch
	switch {
	case look.Placed.OK && !r.EvenIfPlaced && !r.PutBack:
		return reason.Placed, "the scheduler has placed it elsewhere", nil
	case r.PutBack:
		cause = reason.PutBackRefused
		why, err = a.cannotTakeBack(ctx, r, b, source)
	case !r.EvenIfFailing:
		why, err = a.failing(ctx, source)
	}
	switch {
	case err != nil || why != "":
		return cause, why, err
	case !look.Answered.OK && !look.Placed.OK:
		return reason.RestoreUnanswered, look.Answered.Message, nil
	}
	return reason.None, "", nil
}

// failing says why the cluster counts as failing now, empty when it does not: a
// taint of others moves bindings, or a rule whose taint would matches.
func (a restorer) failing(ctx context.Context, c karmada.Cluster) (string, error) {
	if rules.OptedOut(c.Annotations) {
		return "", nil
	}
	if foreign := karmada.Foreign(c); len(foreign) > 0 {
		return fmt.Sprintf("%s carries %s again", c.Name, foreign[0].ToString()), nil
	}
	if c.Drain != nil {
		return c.Name + " is being drained", nil
	}
	list, err := a.Reader.Rules(ctx)
	if err != nil {
		return "", err
	}
	for _, o := range rules.Observe(list, c, rules.FactOf(c)) {
		if o.Match == rules.Matches && karmada.Triggers(o.Taint.Effect) {
			return fmt.Sprintf("%s fails again by rule %s", c.Name, o.Rule), nil
		}
	}
	return "", nil
}

// cannotTakeBack says why the former cluster must not become a target in place of
// the new ones, empty when it may: Karmada has deleted its copy, or it could not run it.
func (a restorer) cannotTakeBack(ctx context.Context, r RestoreRequest, b *karmada.Binding, source karmada.Cluster) (string, error) {
	task, _ := b.TaskFor(r.Cluster)
	if task.PurgeMode == karmada.PurgeDirectly {
		return "purge mode Directly: Karmada has begun to delete the old copy", nil
	}
	if r.TaintsGo && !r.Stopped {
		if why, err := a.failing(ctx, source); err != nil || why != "" {
			return why, err
		}
	}
	if why := unfit(source, r.TaintsGo); why != "" {
		return why, nil
	}
	if v, err := a.definitionFree(ctx, b, r.joined(b)...); err != nil || !v.OK {
		return v.Message, err
	}
	return a.oldCopyGone(ctx, b, r.Cluster, r.OldWork)
}

// joined are the targets that came since the eviction: a put-back ends their copies.
func (r RestoreRequest) joined(b *karmada.Binding) []string {
	var names []string
	for _, t := range b.Clusters {
		if proof.Joined(r.baseline(b).Clusters, []karmada.TargetCluster{t}) {
			names = append(names, t.Name)
		}
	}
	return names
}

// unfit says what about a former cluster stands against its taking over again,
// empty when nothing does. taintsGo: Lifeboat's own taints go with the same act.
func unfit(c karmada.Cluster, taintsGo bool) string {
	if c.Deleting || !c.Ready() {
		return c.Name + " is not Ready"
	}
	hard, soft := karmada.Triggering(c.Taints)
	for _, t := range append(hard, soft...) {
		if !taintsGo || !karmada.IsLifeboatTaint(c, t) {
			return fmt.Sprintf("%s carries taint %s", c.Name, t.ToString())
		}
	}
	return ""
}

// oldCopyGone says that the held copy does not stand any more, empty when it does.
func (k reader) oldCopyGone(ctx context.Context, b *karmada.Binding, cluster string, known *karmada.Work) (string, error) {
	work, err := k.Reader.WorkOf(ctx, b, cluster)
	switch {
	case errors.Is(err, karmada.ErrGone):
		return "its old copy on " + cluster + " is gone", nil
	case err != nil:
		return "", err
	case work.Deleting:
		return "its old copy on " + cluster + " is being deleted", nil
	case known != nil && work.UID != known.UID:
		return "its copy on " + cluster + " is another one than was held", nil
	}
	return "", nil
}

// baseline is the measure of what follows; where the eviction's answer was lost it
// is read off Lifeboat's hold task.
func (r MigrationRef) baseline(b *karmada.Binding) proof.Baseline {
	if len(r.Baseline.Clusters) > 0 {
		return r.Baseline
	}
	return proof.BaselineFrom(b, r.Cluster)
}
