package bindingmigration

import (
	"fmt"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// pluginPause is for how long an answer about the same placement is good enough to go
// on waiting by. Before the release every plug-in is asked anew.
const pluginPause = 10 * time.Second

// pluginMemo is an answer of a plug-in, kept for pluginPause.
type pluginMemo struct {
	at time.Time
	on string
	reason.Verdict
}

// proven puts together what the evict plug-ins say of a placement. One after the
// other is asked, until the rest would change nothing.
func (m *migration) proven(o activities.Observation) reason.Verdict {
	plugins := m.st.Terms.Plugins
	m.builtInDecides = false
	var proofs []proof.Proof
	for _, p := range plugins.All() {
		proof := proof.Proof{Plugin: p.Name, Verdict: o.Health}
		m.builtInDecides = m.builtInDecides || p.BuiltIn() && proof.OK && plugins.Decided(true)
		if !p.BuiltIn() {
			proof.Verdict = m.remember(p, o.On)
		}
		if proofs = append(proofs, proof); plugins.Decided(proof.OK) {
			break
		}
	}
	return plugins.Judge(proofs)
}

// remember asks a plug-in, unless it has just answered about this placement.
func (m *migration) remember(p proof.Plugin, on []karmada.TargetCluster) reason.Verdict {
	key := fmt.Sprint(on)
	if memo, known := m.answers[p.Name]; known && memo.on == key && workflow.Now(m.ctx).Sub(memo.at) < pluginPause {
		return memo.Verdict
	}
	v := m.ask(p, activities.AskHealth, on)
	if m.answers == nil {
		m.answers = map[string]pluginMemo{}
	}
	m.answers[p.Name] = pluginMemo{at: workflow.Now(m.ctx), on: key, Verdict: v}
	return v
}

// freshProofs asks, right before the release, every plug-in that the releasing
// activity cannot ask itself.
func (m *migration) freshProofs(on []karmada.TargetCluster) []proof.Proof {
	var proofs []proof.Proof
	for _, p := range m.st.Terms.Plugins.All() {
		if p.BuiltIn() || m.builtInDecides {
			continue
		}
		v := m.ask(p, activities.AskHealth, on)
		if proofs = append(proofs, proof.Proof{Plugin: p.Name, Verdict: v}); m.st.Terms.Plugins.Decided(v.OK) {
			break
		}
	}
	return proofs
}

// ask puts a question to a plug-in on its own task queue, once. A failure, a
// timeout, nobody there or an answer that makes no sense: no proof, and it says so.
// An order that comes meanwhile is not kept waiting.
func (m *migration) ask(p proof.Plugin, question string, on []karmada.TargetCluster) reason.Verdict {
	ctx, cancel := workflow.WithCancel(m.ctx)
	defer cancel()
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              p.TaskQueue,
		ScheduleToCloseTimeout: p.Timeout,
		StartToCloseTimeout:    p.Timeout,
		Summary:                reason.Summary(fmt.Sprintf("ask plug-in %s about %s: %s", p.Name, m.st.Ref.Key, question)),
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	recovering, cancelled := m.st.Recover, m.st.Cancelled
	var answer activities.PluginAnswer
	future := workflow.ExecuteActivity(ctx, p.Activity, m.question(p, question, on))
	_ = workflow.Await(m.ctx, func() bool {
		return future.IsReady() || m.st.Recover != recovering || m.st.Cancelled != cancelled
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

func (m *migration) question(p proof.Plugin, question string, on []karmada.TargetCluster) activities.PluginRequest {
	r := activities.PluginRequest{
		Version: activities.PluginVersion, Question: question, Plugin: p.Name,
		Cluster: m.st.Ref.Cluster, ClusterUID: string(m.st.Ref.ClusterUID),
		Namespace: m.st.Ref.Key.Namespace, Name: m.st.Ref.Key.Name, UID: string(m.st.Ref.UID), Resource: m.st.Resource,
		Workflow: workflow.GetInfo(m.ctx).WorkflowExecution.ID, FailoverID: m.st.FailoverID, Attempt: m.st.Attempt,
	}
	for _, t := range on {
		r.Targets = append(r.Targets, activities.PluginTarget{Cluster: t.Name, Replicas: t.Replicas})
	}
	return r
}

// askFences asks the fence plug-ins whether the old copy is dead; the first that
// vouches is believed, about the outage that was seen before it was asked.
func (m *migration) askFences() (proven bool, why string) {
	for _, p := range m.st.Terms.Fences {
		asked := workflow.Now(m.ctx)
		v := m.ask(p, activities.AskFence, nil)
		if v.OK {
			// Not by fencedBy: this is no news that cuts a wait short.
			m.auditFenced(p.Name, v.Message)
			m.st.Ref.Fence = &proof.Fence{By: p.Name, Message: v.Message, At: asked, Outage: m.st.Outage}
			return true, ""
		}
		why += fmt.Sprintf("; %s: %s", p.Name, v.Message)
	}
	return false, why
}
