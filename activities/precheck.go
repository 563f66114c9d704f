package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"k8s.io/apimachinery/pkg/types"
)

// PreCheckRequest asks of a batch of due bindings whether there is somewhere to go.
type PreCheckRequest struct {
	Cluster string    `json:"cluster"`
	Items   []Checked `json:"items"`
	// Mode of the failover: only in enforce an Event tells why a binding stays.
	Mode rules.Mode `json:"mode,omitempty"`
	// Purge is the failover's purge mode where nobody named one.
	Purge karmada.PurgeMode `json:"purge,omitempty"`
	// Attempt is the failover's: an approval holds for one. Standing are approval rules that
	// asked before in it, and ask for the rest of it.
	Attempt  int                  `json:"attempt,omitempty"`
	Standing []queue.ApprovalRule `json:"standing,omitempty"`
}

// Checked names one binding.
type Checked struct {
	Key karmada.BindingKey `json:"key"`
	UID types.UID          `json:"uid,omitempty"`
	// Purge is what the attempt has frozen of its purge mode: all of it once a check has
	// told, and before that what stood on the binding itself (PurgeBySpec: in its spec).
	Purge       karmada.PurgeMode `json:"purge,omitempty"`
	PurgeBySpec bool              `json:"purgeBySpec,omitempty"`
	// Fence is what proves the old copy dead, as far as the failover knows.
	Fence *proof.Fence `json:"fence,omitempty"`
	// Approval is a human's yes, nil without.
	Approval *queue.Approval `json:"approval,omitempty"`
	// State is what the attempt has frozen of its state rules.
	State []karmada.StateRule `json:"state,omitempty"`
}

// ask is what judgeMove needs beside the binding and the fleet.
type ask struct {
	frozen    rules.Policy // only its purge mode and state rules count
	byDefault karmada.PurgeMode
	fence     *proof.Fence
	headroom  *placement.Headroom // nil where room does not decide
	question  question
	extent    *placement.Extent // nil where no approval rule needs it
}

func (r PreCheckRequest) ask(item Checked) ask {
	return ask{
		frozen:    rules.Policy{PurgeMode: item.Purge, PurgeBySpec: item.PurgeBySpec, State: item.State},
		byDefault: r.Purge, fence: item.Fence, question: r.question(item),
	}
}

// CheckEnd is how a check of one binding came out.
type CheckEnd string

// The ends of a check.
const (
	CheckPass         CheckEnd = "pass"
	CheckBlocked      CheckEnd = "blocked"
	CheckNotTargeting CheckEnd = "notTargeting" // another hand moved it
	CheckGone         CheckEnd = "gone"         // deleted, or another uid
	CheckOptedOut     CheckEnd = "optedOut"
	CheckFence        CheckEnd = "fence" // it would pass, once the old copy is proven dead
)

// Check is the answer for one binding.
type Check struct {
	Key        karmada.BindingKey `json:"key"`
	End        CheckEnd           `json:"end"`
	Reason     reason.Reason      `json:"reason,omitempty"`
	Message    string             `json:"message,omitempty"`
	Candidates []string           `json:"candidates,omitempty"`
	// Held tells that a Lifeboat hold task for this cluster stands already.
	Held bool `json:"held,omitempty"`
	// Reschedule tells that the eviction must also set rescheduleTriggeredAt.
	Reschedule bool `json:"reschedule,omitempty"`
	// Dependents tells that others go where it goes: they are held first.
	Dependents bool `json:"dependents,omitempty"`
	// Swap names a former cluster that takes over again, nil for an ordinary eviction.
	Swap *proof.Swap `json:"swap,omitempty"`
	// Purge is how its old copy is to go; frozen for the attempt from the first check on.
	Purge karmada.PurgeMode `json:"purge,omitempty"`
	// Asked are the approval rules that ask a human; only with AwaitingApproval.
	Asked []queue.ApprovalRule `json:"asked,omitempty"`
	// state are the labels that the write puts into the task; stateless says why it goes
	// without what it was to preserve.
	state     map[string]string
	stateless string
	// workload is the resource template of the binding, for Events.
	workload *karmada.Resource
}

// Bounds of what is told of one check: a tenant's policy says part of it, a fleet has any
// number of clusters, and an answer of more than 2 MB about a batch of fifty is none.
const (
	maxTold  = 2048 // bytes of a message
	maxNamed = 50   // candidates
)

// told cuts a message to what is carried of it.
func told(message string) string { return reason.Shortened(message, maxTold) }

// bounded is the check as it is told.
func (c Check) bounded() Check {
	c.Message, c.Candidates = told(c.Message), c.Candidates[:min(len(c.Candidates), maxNamed)]
	return c
}

// PreCheckResult has one Check per item, in order.
type PreCheckResult struct {
	Checks []Check `json:"checks"`
}

// PreCheck judges a batch against one reading of the fleet.
func (a *Activities) PreCheck(ctx context.Context, r PreCheckRequest) (PreCheckResult, error) {
	fleet, err := a.recent().Clusters(ctx)
	if err != nil {
		return PreCheckResult{}, classify("pre-check bindings of cluster", r.Cluster, err)
	}
	var out PreCheckResult
	on := reading{fleet: fleet}
	moved := a.movedTooOften(ctx, r)
	for _, item := range r.Items {
		check, err := a.checkOne(ctx, r, item, &on)
		if err != nil {
			return PreCheckResult{}, classify("pre-check binding", item.Key.String(), err)
		}
		check = moved.judge(r.Cluster, r.question(item), item.Key, check).bounded()
		check.Key = item.Key
		if check.End == CheckBlocked {
			a.blocked(ctx, r, item, check)
		}
		out.Checks = append(out.Checks, check)
	}
	return out, nil
}

// movesOf is what the pacer says of the moves of a batch: who may not move before when.
type movesOf struct {
	until map[string]time.Time
	err   error
}

// pacerAnswers bounds the question to the pacer.
const pacerAnswers = 15 * time.Second

// movedTooOften asks the pacer, which knows the moves of every cluster.
func (a *Activities) movedTooOften(ctx context.Context, r PreCheckRequest) (m movesOf) {
	if !a.mayEnforce(r.Mode) {
		return m
	}
	var bindings []string
	for _, item := range r.Items {
		bindings = append(bindings, item.Key.String())
	}
	ctx, cancel := context.WithTimeout(ctx, pacerAnswers)
	defer cancel()
	m.until, m.err = a.Pacer.MovedTooOften(ctx, bindings)
	return m
}

// judge keeps a binding that could move from being driven round the fleet.
func (m movesOf) judge(cluster string, q question, key karmada.BindingKey, check Check) Check {
	until, tooOften := m.until[key.String()]
	switch {
	case check.End != CheckPass && check.End != CheckFence:
	case q.approval.LiftsCap(q.attempt):
	case m.err != nil:
		check.End, check.Reason, check.Message = CheckBlocked, reason.FleetUnknown, "the pacer does not answer: "+m.err.Error()
	case tooOften:
		check.End, check.Reason = CheckBlocked, reason.PingPong
		check.Message = fmt.Sprintf("it moved as often as pace.movesPerHour allows; not again before %s, or lifeboat approve %s --cluster %s --reason ...",
			until.Format("15:04:05 MST"), key, cluster)
	}
	return check
}

// reading is what a batch is judged against. The bindings of the fleet are listed
// once, and only where room or an approval rule decides.
type reading struct {
	fleet  []karmada.Cluster
	room   *placement.Headroom
	tally  *placement.Tally
	extent *placement.Extent
}

func (a *Activities) checkOne(ctx context.Context, r PreCheckRequest, item Checked, on *reading) (Check, error) {
	b, err := a.Reader.Binding(ctx, item.Key)
	if errors.Is(err, karmada.ErrGone) || (err == nil && item.UID != "" && b.UID != item.UID) {
		return Check{End: CheckGone, Reason: reason.BindingGone}, nil
	}
	if err != nil {
		return Check{}, err
	}
	ask := r.ask(item)
	if on.room == nil && a.needsSurvey(&b, ask.question) {
		if err = a.survey(ctx, on); err != nil {
			return Check{}, err
		}
	}
	if err = a.measure(ctx, r.Cluster, ask.question, on); err != nil {
		return Check{}, err
	}
	ask.headroom, ask.extent = on.room, on.extent
	check, err := a.judgeMove(ctx, &b, r.Cluster, on.fleet, ask)
	check.workload = &b.Resource
	return check, err
}

// blocked counts a no, and in enforce tells whoever looks at the binding.
func (a *Activities) blocked(ctx context.Context, r PreCheckRequest, item Checked, check Check) {
	a.Meter.Blocked(check.Reason)
	if !a.mayEnforce(r.Mode) {
		return
	}
	e := Event{
		Binding: &item.Key, UID: item.UID, Workload: check.workload, Warning: true, Reason: "EvictWorkloadFromClusterBlocked",
		Message: fmt.Sprintf("stays on %s: %s: %s (workflow %s)", r.Cluster, check.Reason, check.Message, workflowID(ctx)),
	}
	if check.Reason == reason.AwaitingApproval {
		e.Reason = "EvictWorkloadFromClusterAwaitingApproval"
		e.Message = fmt.Sprintf("stays on %s until somebody approves (lifeboat approve %s --cluster %s --reason ...): %s (workflow %s)",
			r.Cluster, item.Key, r.Cluster, check.Message, workflowID(ctx))
	}
	a.Events.Record(ctx, e)
}

// judgeMove says whether this binding may leave the cluster now. The pre-check and the
// write ask the same question of fresh state. A human is asked last, and only about what
// could move at once.
func (a *Activities) judgeMove(ctx context.Context, b *karmada.Binding, cluster string, fleet []karmada.Cluster, ask ask) (Check, error) {
	check, err := a.judgeAlone(ctx, b, cluster, fleet, ask)
	if err != nil || check.End != CheckPass && check.End != CheckFence {
		return check, err
	}
	if cause, why := a.besideEvictor(); cause != reason.None {
		check.End, check.Reason, check.Message = CheckBlocked, cause, why
		return check, nil
	}
	return a.approved(ctx, b, cluster, ask, check)
}

// judgeAlone is judgeMove without the human's word.
func (a *Activities) judgeAlone(ctx context.Context, b *karmada.Binding, cluster string, fleet []karmada.Cluster, ask ask) (Check, error) {
	check := Check{Key: b.Key}
	if task, _ := b.TaskFor(cluster); task != nil && task.Ours() {
		check.Held = task.OnItsWay()
	}
	if task := b.ForeignTask(cluster); task != nil {
		check.End, check.Reason = CheckBlocked, reason.ForeignTask
		check.Message = fmt.Sprintf("a task of producer %q for %s stands: two evictors", task.Producer, cluster)
		return check, nil
	}
	if b.Malformed != "" {
		check.End, check.Reason, check.Message = CheckBlocked, reason.Malformed, b.Malformed
		return check, nil
	}
	if _, at := b.Target(cluster); at < 0 || b.Deleting {
		check.End, check.Reason = CheckNotTargeting, reason.NotTargeting
		return check, nil
	}
	stays, policy, err := a.surroundings(ctx, b, cluster, fleet)
	if err != nil {
		return check, err
	}
	if stays.Reason != reason.None {
		check.End, check.Reason, check.Message = CheckOptedOut, stays.Reason, stays.Message
		return check, nil
	}
	check.Purge = b.EffectivePurge(rules.ResolvePurgeMode(ask.frozen, policy, ask.byDefault))
	v, err := a.mayLeave(ctx, b, cluster, check.Purge)
	if err != nil || !v.OK {
		check.End, check.Reason, check.Message = CheckBlocked, v.Reason, v.Message
		return check, err
	}
	check.Dependents = b.PropagateDeps && karmada.DependenciesOf(b).Any()
	return a.judgeWhere(ctx, placement.PreCheckInput{
		Binding: b, Failing: cluster, Fleet: fleet, Evacuating: evacuating(fleet, cluster),
		RoomUnknownOK: a.Settings.RoomUnknownOK, RoomForStaticWeights: a.Settings.RoomForStaticWeights,
		Margin: a.Settings.RoomMargin, Karmada: a.Settings.Karmada, Reserved: ask.headroom.For(b.Key, fleet),
	}, ask, check)
}

// mayLeave says what stands against a move in that purge mode, wherever it would go.
func (a *Activities) mayLeave(ctx context.Context, b *karmada.Binding, cluster string, purge karmada.PurgeMode) (reason.Verdict, error) {
	cause, why := rules.Unsupported(b, purge)
	if cause == reason.None {
		cause, why = proof.HeldForParents(b, cluster, purge)
	}
	if cause != reason.None || purge != karmada.PurgeDirectly {
		return reason.Verdict{OK: cause == reason.None, Reason: cause, Message: why}, nil
	}
	return a.definitionFree(ctx, b, cluster)
}

// judgeWhere looks for somewhere to go: back to a former cluster first, then anew.
func (a *Activities) judgeWhere(ctx context.Context, in placement.PreCheckInput, ask ask, check Check) (Check, error) {
	if done, err := a.judgeSwap(ctx, in, &check); done || err != nil {
		return check, err
	}
	return fenced(a.withState(in, ask, judgeTarget(in, check)), in.Failing, in.Fleet, ask.fence), nil
}

// withState holds a pass back whose state would be lost, or gives the write its labels.
func (a *Activities) withState(in placement.PreCheckInput, ask ask, check Check) Check {
	if check.End != CheckPass {
		return check
	}
	state := proof.StateInput{
		Rules: ask.frozen.State, Purge: check.Purge, Fence: ask.fence, Targets: len(in.Binding.Clusters),
		Read: a.Reader.State, MissingOK: a.Settings.StateMissingOK,
	}
	state.Source, _ = find(in.Fleet, in.Failing, "")
	if item := in.Binding.Item(in.Failing); item != nil {
		state.Status = item.Status
	}
	labels, v := proof.PlanState(state)
	if !v.OK {
		check.End, check.Reason, check.Message = CheckBlocked, v.Reason, v.Message
		return check
	}
	check.state, check.stateless = labels, v.Message
	return check
}

func judgeTarget(in placement.PreCheckInput, check Check) Check {
	verdict := placement.PreCheck(in)
	check.End, check.Reason, check.Message, check.Candidates = CheckPass, verdict.Reason, verdict.Message, verdict.Candidates
	check.Reschedule = verdict.Reschedule
	if !verdict.OK {
		check.End = CheckBlocked
	}
	return check
}

// fenced holds a pass back that may not be used before the old copy is dead.
func fenced(check Check, cluster string, fleet []karmada.Cluster, fence *proof.Fence) Check {
	source, _ := find(fleet, cluster, "")
	if check.End != CheckPass || !proof.NeedsFence(check.Purge, source, fence) {
		return check
	}
	v := proof.AwaitingFence(cluster, fence)
	check.End, check.Reason, check.Message = CheckFence, v.Reason, v.Message
	return check
}

// byItself is what opts a binding out that needs nobody else for it.
const byItself = "by its own annotation or by config"

// surroundings say what keeps a binding where it is (an opt-out, the rule of its kind), with a
// reason, or else its policy's purge mode.
func (a *Activities) surroundings(
	ctx context.Context, b *karmada.Binding, cluster string, fleet []karmada.Cluster,
) (stays reason.Verdict, policy karmada.PurgeMode, err error) {
	by, err := a.optedOutBy(ctx, b, cluster, fleet)
	if err != nil || by != "" {
		return reason.Verdict{Reason: reason.OptedOut, Message: by}, "", err
	}
	if rule, why := a.Settings.Kinds.Judge(b, cluster); rule == rules.KindKeep {
		return reason.Verdict{Reason: reason.KindStays, Message: why}, "", nil
	}
	policy, err = a.Reader.PolicyPurgeMode(ctx, b)
	return reason.Verdict{}, policy, err
}

// optedOutBy names what opts a binding out, empty where nothing does.
func (a *Activities) optedOutBy(ctx context.Context, b *karmada.Binding, cluster string, fleet []karmada.Cluster) (string, error) {
	if a.optedOutItself(b) {
		return byItself, nil
	}
	for _, c := range fleet {
		if c.Name == cluster && rules.OptedOut(c.Annotations) {
			return "by cluster " + cluster, nil
		}
	}
	return a.Reader.OptedOut(ctx, b)
}

// evacuating are the clusters that have a failover of their own past Suspected.
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
	out := evacuating(fleet, but)
	known := map[string]bool{}
	for _, c := range fleet {
		known[c.Name] = true
		if !isReady(c) || c.Deleting {
			out[c.Name] = true
		}
	}
	for _, t := range b.Clusters {
		if !known[t.Name] {
			out[t.Name] = true
		}
	}
	return out
}
