package activities

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// judge says whether a binding may leave its cluster, and where it could go.
type judge struct {
	guard
	owners Owners
	moves  Migrations // nil: none can be queried
	log    *slog.Logger
}

// judgeMigration says whether this binding may leave the cluster now. The pre-check and the
// write ask the same question of fresh state. An operator is asked last, and only about what
// could move at once.
func (j judge) judgeMigration(ctx context.Context, b *karmada.Binding, cluster string, ask ask) (Check, error) {
	check, err := j.judgeAlone(ctx, b, cluster, ask)
	if err != nil || check.End != CheckPass && check.End != CheckFence {
		return check, err
	}
	if cause, why := j.besideEvictor(); cause != reason.None {
		return check.ends(CheckBlocked, cause, why), nil
	}
	return j.approved(ctx, b, cluster, ask, check)
}

// twoEvictors says that another producer evicts the binding from the cluster, empty where none does.
func twoEvictors(b *karmada.Binding, cluster string) string {
	if task := b.ForeignTask(cluster); task != nil {
		return fmt.Sprintf("a task of producer %q for %s stands: two evictors", task.Producer, cluster)
	}
	return ""
}

// judgeAlone is judgeMigration without the approval rules.
func (j judge) judgeAlone(ctx context.Context, b *karmada.Binding, cluster string, ask ask) (Check, error) {
	check := Check{Key: b.Key}
	if task, _ := b.TaskFor(cluster); task != nil && task.IsLifeboat() {
		check.Held = task.OnItsWay()
	}
	if why := twoEvictors(b, cluster); why != "" {
		return check.ends(CheckBlocked, reason.ForeignTask, why), nil
	}
	if b.Malformed != "" {
		return check.ends(CheckBlocked, reason.Malformed, b.Malformed), nil
	}
	if end, why := absent(b, cluster, check.Held); why != reason.None {
		return check.ends(end, why, ""), nil
	}
	stays, policy, err := j.surroundings(ctx, b, cluster, ask.fleet)
	if err != nil {
		return check, err
	}
	if stays.Reason != reason.None {
		return check.ends(CheckOptedOut, stays.Reason, stays.Message), nil
	}
	check.Purge = b.EffectivePurge(rules.ResolvePurgeMode(ask.frozen, policy, ask.byDefault))
	v, err := j.mayLeave(ctx, b, cluster, check.Purge)
	if err != nil || !v.OK {
		return check.ends(CheckBlocked, v.Reason, v.Message), err
	}
	check.Dependents = b.PropagateDeps && karmada.DependenciesOf(b).Any()
	check.Follows = proof.Follows(b)
	in := j.settings.preCheck(b, cluster, ask.fleet)
	in.Reserved = ask.room.For(b.Key, ask.fleet)
	return j.judgeWhere(ctx, in, ask, check)
}

// preCheck is what decides whether there is somewhere to go, with nothing reserved.
func (s Settings) preCheck(b *karmada.Binding, cluster string, fleet []karmada.Cluster) placement.PreCheckInput {
	return placement.PreCheckInput{
		Binding: b, Failing: cluster, Fleet: fleet, Evacuating: evacuating(fleet, cluster),
		RoomUnknownOK: s.RoomUnknownOK, RoomForStaticWeights: s.RoomForStaticWeights, Margin: s.RoomMargin, Karmada: s.Karmada,
	}
}

// absent says that a binding is not on the cluster, or goes by itself; of no reason otherwise.
func absent(b *karmada.Binding, cluster string, held bool) (CheckEnd, reason.Reason) {
	switch _, at := b.Target(cluster); {
	case b.Deleting && !held:
		return CheckGone, reason.BindingGone
	case at < 0 || b.Deleting:
		return CheckNotTargeting, reason.NotTargeting
	}
	return "", reason.None
}

// mayLeave says what stands against a move in that purge mode, wherever it would go.
func (j judge) mayLeave(ctx context.Context, b *karmada.Binding, cluster string, purge karmada.PurgeMode) (reason.Verdict, error) {
	cause, why := rules.Unsupported(b, purge)
	if cause == reason.None {
		cause, why = proof.HeldForParents(b, cluster, purge)
	}
	if cause != reason.None || purge != karmada.PurgeDirectly {
		return reason.Verdict{OK: cause == reason.None, Reason: cause, Message: why}, nil
	}
	switch parent, err := j.heldParent(ctx, b, cluster); {
	case err != nil:
		return reason.Verdict{}, err
	case parent != nil:
		return proof.Refuse(reason.HeldForParents, "%s", waitsFor(parent, cluster)), nil
	}
	return j.definitionFree(ctx, b, cluster)
}

// judgeWhere looks for somewhere to go: back to a former cluster first, then elsewhere.
func (j judge) judgeWhere(ctx context.Context, in placement.PreCheckInput, ask ask, check Check) (Check, error) {
	if done, err := j.judgeSwap(ctx, in, &check); done || err != nil {
		return check, err
	}
	return fenced(j.withState(in, ask, judgeTarget(in, check)), in.Failing, in.Fleet, ask.fence), nil
}

// withState holds a pass back whose state would be lost, or gives the write its labels.
func (j judge) withState(in placement.PreCheckInput, ask ask, check Check) Check {
	if check.End != CheckPass {
		return check
	}
	state := proof.StateInput{
		Rules: ask.frozen.State, Purge: check.Purge, Fence: ask.fence, Targets: in.Binding.RunsOn(),
		Read: j.Reader.State, MissingOK: j.settings.StateMissingOK,
	}
	state.Source, _ = find(in.Fleet, in.Failing, "")
	if item := in.Binding.Item(in.Failing); item != nil {
		state.Status = item.Status
	}
	labels, v := proof.PlanState(state)
	if !v.OK {
		return check.ends(CheckBlocked, v.Reason, v.Message)
	}
	check.state, check.stateless = labels, v.Message
	return check
}

func judgeTarget(in placement.PreCheckInput, check Check) Check {
	verdict := placement.PreCheck(in)
	check.Candidates, check.Reschedule = verdict.Candidates, verdict.Reschedule
	if verdict.OK {
		return check.ends(CheckPass, verdict.Reason, verdict.Message)
	}
	return check.ends(CheckBlocked, verdict.Reason, verdict.Message)
}

// fenced holds a pass back that may not be used before the old copy is dead.
func fenced(check Check, cluster string, fleet []karmada.Cluster, fence *proof.Fence) Check {
	source, _ := find(fleet, cluster, "")
	if check.End != CheckPass || !proof.NeedsFence(check.Purge, source, fence) {
		return check
	}
	v := proof.AwaitingFence(cluster, fence)
	return check.ends(CheckFence, v.Reason, v.Message)
}

// surroundings say what keeps a binding where it is (an opt-out, the rule of its kind), with a
// reason, or else its policy's purge mode.
func (j judge) surroundings(
	ctx context.Context, b *karmada.Binding, cluster string, fleet []karmada.Cluster,
) (stays reason.Verdict, policy karmada.PurgeMode, err error) {
	by, err := j.optedOutBy(ctx, b, cluster, fleet)
	if err != nil || by != "" {
		return reason.Verdict{Reason: reason.OptedOut, Message: by}, "", err
	}
	if rule, why := j.settings.Kinds.Judge(b, cluster); rule == rules.KindKeep {
		return reason.Verdict{Reason: reason.KindStays, Message: why}, "", nil
	}
	policy, err = policyPurge(ctx, j.Reader, b)
	return reason.Verdict{}, policy, err
}

// policyPurge is the purge mode that the annotation of a binding's policy names, empty without.
func policyPurge(ctx context.Context, from OptOutReader, b *karmada.Binding) (karmada.PurgeMode, error) {
	mode, err := from.PolicyAnnotation(ctx, b, karmada.AnnotationPurgeMode)
	return karmada.PurgeMode(mode), err
}

// optedOutBy names what opts a binding out, empty where nothing does.
func (j judge) optedOutBy(ctx context.Context, b *karmada.Binding, cluster string, fleet []karmada.Cluster) (string, error) {
	if j.settings.optedOutItself(b) {
		return byItself, nil
	}
	if c, known := find(fleet, cluster, ""); known && rules.OptedOut(c.Annotations) {
		return "by cluster " + cluster, nil
	}
	return j.Reader.OptedOut(ctx, b)
}

// evacuating are the other clusters that workloads leave.
func evacuating(fleet []karmada.Cluster, but string) map[string]bool {
	out := map[string]bool{}
	for _, c := range fleet {
		if c.Name != but && c.Evacuating() {
			out[c.Name] = true
		}
	}
	return out
}

// suspects are the clusters whose reports prove nothing: evacuating, not Ready,
// or being deleted. A cluster that is not in the fleet at all is found by absence.
func suspects(fleet []karmada.Cluster, b *karmada.Binding, but string) map[string]bool {
	out := map[string]bool{}
	for _, t := range b.Clusters {
		out[t.Name] = true
	}
	for _, c := range fleet {
		out[c.Name] = !c.Ready() || c.Deleting || c.Name != but && c.Evacuating()
	}
	return out
}

// definitionFree refuses the end of a CRD's copy on the clusters while a binding of its
// API group stands or is held on one of them. No order and no setting overrides it: the
// API server of the member would delete every object of that kind.
func (k reader) definitionFree(ctx context.Context, crd *karmada.Binding, clusters ...string) (reason.Verdict, error) {
	if !crd.DefinesKind() {
		return reason.Verdict{OK: true}, nil
	}
	for _, cluster := range clusters {
		users, err := k.search(ctx, func(b *karmada.Binding) bool { return rules.NeedsDefinition(b, crd, cluster) })
		if err != nil {
			return reason.Verdict{}, err
		}
		if v := rules.DefinitionInUse(cluster, users); !v.OK {
			return v, nil
		}
	}
	return reason.Verdict{OK: true}, nil
}

// planLeave takes a holder out of a dependent's task. The copy of a kind that stays does
// not end with its last holder, and none does while another parent is back that Karmada has yet to name.
func (d dependents) planLeave(ctx context.Context, b *karmada.Binding, cluster, holder string, back bool) (proof.HoldPlan, error) {
	plan := proof.PlanLeave(b, cluster, holder, back)
	if plan.Drops() && !b.ServesOn(cluster) {
		needed := false
		err := d.parents(ctx, b.RequiredBy, func(parent *karmada.Binding) bool {
			needed = karmada.NeedsOn(parent, b, cluster)
			return !needed
		})
		if err != nil {
			return plan, err
		}
		plan = proof.PlanLeave(b, cluster, holder, needed)
	}
	rule, _ := d.settings.Kinds.Judge(b, cluster)
	return plan.KeptBy(rule, b, cluster), nil
}
