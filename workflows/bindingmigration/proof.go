package bindingmigration

import (
	"fmt"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// pluginPause is for how long an answer about the same placement is good enough to go
// on waiting by. Before the release every plug-in is asked again.
const pluginPause = 10 * time.Second

// watchedPoll is how often a migration looks while the controller watches.
const watchedPoll = 2 * time.Minute

// proofs are what the plug-ins say, and for how long it has held: Proof is their own.
type proofs struct {
	*course
	// answers of plug-ins, by name.
	answers map[string]pluginMemo
	// builtInDecides: a built-in plug-in passed the last look, and that is enough.
	builtInDecides bool
}

// ripe reports whether health has held for long enough since the last look, that no change was
// signalled meanwhile, and that nothing was ordered: the release looks once more itself, so
// that a look of its own before it would decide nothing.
func (pr *proofs) ripe() bool {
	since := pr.st.Proof.Since
	if pr.stirred() || since.IsZero() || pr.mustHold <= 0 || workflow.Now(pr.ctx).Sub(since) < pr.mustHold {
		return false
	}
	return pr.st.Intent.Kind() == workflows.IntentNone && pr.st.Ref.Purge == karmada.PurgeGracefully && !pr.st.Carries()
}

// untilProven is how much longer to wait, 0 when health has held for long enough.
func (pr *proofs) untilProven(o activities.Observation) time.Duration {
	if proof.Joined(pr.st.Proof.On, o.On) {
		pr.st.Proof.Breaks() // the scheduler moved it, between two looks
	}
	pr.st.Proof.On = o.On
	if v := pr.proven(o); !v.OK {
		pr.st.Proof.Breaks()
		pr.note(v.Reason, v.Message)
		return pr.st.Terms.HealthPoll
	}
	now := workflow.Now(pr.ctx)
	if pr.st.Proof.Since.IsZero() {
		pr.st.Proof.Since = now
	}
	must := pr.st.Proof.MustHold(pr.st.Terms, o.SourceReady)
	pr.mustHold = must
	held := now.Sub(pr.st.Proof.Since)
	if held >= must {
		return 0
	}
	pr.note(reason.Healthy, fmt.Sprintf("this must hold for %s before the old copy goes", must))
	pr.expectUntil(pr.st.Proof.Since.Add(must))
	return min(must-held, pr.safetyPoll())
}

// mayReleaseUnproven: the setting says that the hold goes after gracefulTimeout, and
// nothing looks like a proof that would soon be complete.
func (pr *proofs) mayReleaseUnproven() bool {
	return pr.st.Terms.ReleaseUnproven && pr.late() && pr.st.Proof.Since.IsZero() && pr.st.Ref.Purge != karmada.PurgeNever
}

// pluginMemo is an answer of a plug-in, kept for pluginPause.
type pluginMemo struct {
	at time.Time
	on string
	reason.Verdict
}

// proven puts together what the evict plug-ins say of a placement. One after the
// other is asked, until the rest would change nothing.
func (pr *proofs) proven(o activities.Observation) reason.Verdict {
	plugins := pr.st.Terms.Plugins
	pr.builtInDecides = false
	var answers []proof.Proof
	for _, p := range plugins.All() {
		answer := proof.Proof{Plugin: p.Name, Verdict: o.Health}
		pr.builtInDecides = pr.builtInDecides || p.BuiltIn() && answer.OK && plugins.Decided(true)
		if !p.BuiltIn() {
			answer.Verdict = pr.remember(p, o.On)
		}
		if answers = append(answers, answer); plugins.Decided(answer.OK) {
			break
		}
	}
	return plugins.Judge(answers)
}

// remember asks a plug-in, unless it has just answered about this placement.
func (pr *proofs) remember(p proof.Plugin, on []karmada.TargetCluster) reason.Verdict {
	key := fmt.Sprint(on)
	if memo, known := pr.answers[p.Name]; known && memo.on == key && workflow.Now(pr.ctx).Sub(memo.at) < pluginPause {
		return memo.Verdict
	}
	v := pr.ask(p, activities.AskHealth, on)
	if pr.answers == nil {
		pr.answers = map[string]pluginMemo{}
	}
	pr.answers[p.Name] = pluginMemo{at: workflow.Now(pr.ctx), on: key, Verdict: v}
	return v
}

// freshProofs asks, right before the release, every plug-in that the releasing
// activity cannot ask itself.
func (pr *proofs) freshProofs(on []karmada.TargetCluster) []proof.Proof {
	var proofs []proof.Proof
	for _, p := range pr.st.Terms.Plugins.All() {
		if p.BuiltIn() || pr.builtInDecides {
			continue
		}
		v := pr.ask(p, activities.AskHealth, on)
		if proofs = append(proofs, proof.Proof{Plugin: p.Name, Verdict: v}); pr.st.Terms.Plugins.Decided(v.OK) {
			break
		}
	}
	return proofs
}

// ask puts a question to a plug-in on its own task queue, once. A failure, a
// timeout, no worker or a malformed answer: no proof, and the verdict says so.
// An order that comes meanwhile is not kept waiting.
func (pr *proofs) ask(p proof.Plugin, question string, on []karmada.TargetCluster) reason.Verdict {
	ctx, cancel := workflow.WithCancel(pr.ctx)
	defer cancel()
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              p.TaskQueue,
		ScheduleToCloseTimeout: p.Timeout,
		StartToCloseTimeout:    p.Timeout,
		Summary:                reason.Summary(fmt.Sprintf("ask plug-in %s about %s: %s", p.Name, pr.st.Ref.Key, question)),
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	recovering, cancelled := pr.st.Intent.Recover, pr.st.Intent.Cancelled
	var answer activities.PluginAnswer
	future := workflow.ExecuteActivity(ctx, p.Activity, pr.question(p, question, on))
	_ = workflow.Await(pr.ctx, func() bool {
		return future.IsReady() || pr.st.Intent.Recover != recovering || pr.st.Intent.Cancelled != cancelled
	})
	if !future.IsReady() {
		return reason.Verdict{Reason: reason.PluginSilent, Message: "plug-in " + p.Name + " was not waited for: an order came"}
	}
	if err := future.Get(ctx, &answer); err != nil {
		return reason.Verdict{Reason: reason.PluginSilent, Message: reason.Summary(fmt.Sprintf(
			"plug-in %s (activity %s on task queue %s) gave no answer: %v", p.Name, p.Activity, p.TaskQueue, err))}
	}
	v := answer.Verdict(p.Name)
	v.Message = reason.Summary(v.Message)
	return v
}

func (pr *proofs) question(p proof.Plugin, question string, on []karmada.TargetCluster) activities.PluginRequest {
	r := activities.PluginRequest{
		Version: activities.PluginVersion, Question: question, Plugin: p.Name,
		Cluster: pr.st.Ref.Cluster, ClusterUID: string(pr.st.Ref.ClusterUID),
		Namespace: pr.st.Ref.Key.Namespace, Name: pr.st.Ref.Key.Name, UID: string(pr.st.Ref.UID), Resource: pr.st.Resource,
		Workflow: workflow.GetInfo(pr.ctx).WorkflowExecution.ID, FailoverID: pr.st.FailoverID, Attempt: pr.st.Attempt,
	}
	for _, t := range on {
		r.Targets = append(r.Targets, activities.PluginTarget{Cluster: t.Name, Replicas: t.Replicas})
	}
	return r
}

// safetyPoll is how long the migration may wait for health to hold without a look. The release reads
// from the controller's Lease whether the controller watched meanwhile.
func (pr *proofs) safetyPoll() time.Duration {
	if pr.st.Proof.Followed && pr.st.Terms.Watched {
		return max(pr.st.Terms.HealthPoll, watchedPoll)
	}
	return pr.st.Terms.HealthPoll
}
