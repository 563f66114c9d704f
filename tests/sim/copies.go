package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
	"k8s.io/apimachinery/pkg/types"
)

// aCopy is what a step says of the copy of a binding on a cluster.
type aCopy struct {
	key     karmada.BindingKey
	cluster string
}

// collected is what a copy reports of itself where a binding has state, and stateLabel
// what is to come of it.
const (
	collected  = `{"step":"7"}`
	stateLabel = "shop.example.com/step"
)

func stateRules() []karmada.StateRule {
	return []karmada.StateRule{{Label: stateLabel, Path: "{.step}"}}
}

// collect has a copy's status reach the binding.
func (s *sim) collect(_ workflow.Context, x Step) {
	s.item(x, func(item *karmada.AggregatedItem) { item.Status = json.RawMessage(collected) })
}

// lose has the status of a copy be one that was never collected.
func (s *sim) lose(_ workflow.Context, x Step) {
	s.item(x, func(item *karmada.AggregatedItem) { item.Status = nil })
}

// ail has a copy be unhealthy until it is healed.
func (s *sim) ail(_ workflow.Context, x Step) {
	s.item(x, func(item *karmada.AggregatedItem) { item.Health = karmada.HealthUnhealthy })
}

func (s *sim) heal(_ workflow.Context, x Step) {
	s.item(x, func(item *karmada.AggregatedItem) {
		if item.ReadyReplicas == nil || *item.ReadyReplicas == *item.Replicas { // it has come up before
			item.Health = karmada.HealthHealthy
		}
	})
}

// item edits what is reported of a copy, if anything is, or of every copy on a cluster.
func (s *sim) item(x Step, edit func(*karmada.AggregatedItem)) {
	for _, b := range s.world.Everything() {
		if b.Item(x.Cluster) == nil || x.Binding != "" && b.Key.Name != x.Binding {
			continue
		}
		s.world.Change(b.Key, func(b *karmada.Binding) {
			b.Status.Aggregated = slices.Clone(b.Status.Aggregated)
			edit(b.Item(x.Cluster))
		})
	}
}

// remake has somebody delete the Work of a copy; Karmada makes it anew.
func (s *sim) remake(_ workflow.Context, x Step) {
	work, stands := s.world.StandingWork(Binding{Name: x.Binding}.key(), x.Cluster)
	if stands && !work.Deleting {
		work.UID = types.UID(fmt.Sprintf("%s-again", work.UID))
		s.world.PutWork(work)
		s.judge.remade[aCopy{Binding{Name: x.Binding}.key(), x.Cluster}] = s.now()
	}
}

// need has a binding take one more of what others take along with it.
func (s *sim) need(_ workflow.Context, x Step) {
	parent := Binding{Name: x.Binding, Needs: []string{fmt.Sprintf("cfg%d", max(1, x.N))}}
	key := dependentKey(parent.Needs[0])
	if _, there := s.world.StandingBinding(key); !there || slices.Contains(s.needs[parent.key()], key) {
		return
	}
	for _, more := range s.needs[parent.key()] {
		parent.Needs = append(parent.Needs, strings.TrimSuffix(more.Name, "-configmap"))
	}
	if s.world.Edit(parent.key(), parent.propagate) {
		s.needs[parent.key()] = append(s.needs[parent.key()], key)
	}
}

// cancelAllBack stops a failover and wants the former clusters back.
func (s *sim) cancelAllBack(_ workflow.Context, x Step) {
	o := workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: operator, PutBack: true}}
	s.update(workflows.ClusterFailoverID("", x.Cluster), workflows.UpdateCancel, o, func() {
		s.count["order cancel-all-back"]++
		s.judge.ordered(x.Cluster, workflows.UpdateCancel)
	})
}

// endorser is an evict plug-in of the user's own: it says yes to whatever it is asked
// about, after a while, and the judge remembers what that was.
const endorser = "Endorse"

func (s *sim) plugins() proof.Plugins {
	if s.schedule.Times["endorse"] == 0 {
		return proof.Plugins{}
	}
	return proof.Plugins{List: []proof.Plugin{{Name: "endorser", TaskQueue: "theirs", Activity: endorser, Timeout: 2 * time.Minute}}}
}

// endorse is the plug-in's activity.
func (s *sim) endorse(ctx context.Context, r activities.PluginRequest) (activities.PluginAnswer, error) {
	attemptOf(ctx).sleep(s.schedule.Times["endorse"])
	targets := make([]karmada.TargetCluster, 0, len(r.Targets))
	for _, t := range r.Targets {
		targets = append(targets, karmada.TargetCluster{Name: t.Cluster, Replicas: t.Replicas})
	}
	s.judge.endorsements[aCopy{karmada.BindingKey{Namespace: r.Namespace, Name: r.Name}, r.Cluster}] = targets
	s.count["endorsed"]++
	return activities.PluginAnswer{Version: activities.PluginVersion, Proven: true}, nil
}

// endorsed judges a release where a plug-in alone says what is proven.
func (j *judge) endorsed(w world.Write, b *karmada.Binding) bool {
	if j.s.schedule.Times["endorse"] == 0 {
		return false
	}
	asked, known := j.endorsements[aCopy{b.Key, w.Cluster}]
	same := known && len(asked) == len(b.Clusters) && !slices.ContainsFunc(b.Clusters, func(t karmada.TargetCluster) bool {
		return !slices.Contains(asked, t)
	})
	if !same {
		j.violates("1: the hold of %s for %s is dropped, and what was proven is another placement", w.Binding, w.Cluster)
	}
	return true
}

// unproven judges a release after the time that the setting to release unproven gives:
// another copy must be able to run.
func (j *judge) unproven(w world.Write, b *karmada.Binding, e *eviction) bool {
	after := j.s.schedule.Times["unproven"]
	if after == 0 || j.s.now().Sub(e.at) < after {
		return false
	}
	j.s.count["releases after the graceful timeout"]++
	can := func(t karmada.TargetCluster) bool {
		return j.everSeen(t.Name, func(c karmada.Cluster) bool { return fit(c, false) })
	}
	if !slices.ContainsFunc(b.Clusters, can) {
		j.violates("2: the hold of %s for %s is dropped unproven, and no other copy can run", w.Binding, w.Cluster)
	}
	return true
}

// states judges an eviction of what has state: that goes along only in purge mode
// Directly, off a cluster that answers, to a single target.
func (j *judge) states(w world.Write, before, after *karmada.Binding) {
	if len(before.StateRules) == 0 {
		return
	}
	task := held(after, w.Cluster)
	if task == nil || task.State[stateLabel] != "7" || task.PurgeMode != karmada.PurgeDirectly {
		j.violates("4.11: %s is evicted from %s without its state", w.Binding, w.Cluster)
		return
	}
	j.s.count["evicted with state"]++
}

// keepsState judges that a hold which carries state goes: the old copy handed it on and
// is gone, and the new one has it and is healthy.
func (j *judge) keepsState(w world.Write, b *karmada.Binding, e *eviction) {
	task := held(b, w.Cluster)
	if task == nil || len(task.State) == 0 || task.PurgeMode != karmada.PurgeDirectly {
		return
	}
	if _, stands := j.s.world.StandingWork(b.Key, w.Cluster); stands {
		j.violates("4.8: the hold of %s for %s is dropped, and its old copy has not handed on its state", w.Binding, w.Cluster)
	}
	if why := j.unhealthy(b, e); why != "" {
		j.violates("1: the hold of %s for %s carries state and is dropped, and it is not healthy: %s", w.Binding, w.Cluster, why)
	}
}

// reports judges a migration's last word: one that says Restored has just seen its
// cluster among the targets, and one that says MovedByOthers has no Lifeboat task standing.
func (j *judge) reports(from string, r activities.MigrationReport) {
	saw, known := j.saw[from]
	cluster, _, _ := strings.Cut(strings.TrimPrefix(from, "binding-migration/"), "/")
	if known && saw.UID == r.UID && r.Result.Outcome == phase.OutcomeRestored && !targets(&saw, cluster) {
		j.violates("2: %s is reported as restored on %s, which was no target when that was looked at last", r.Key, cluster)
	}
	j.applications.reports(cluster, &saw, r)
	j.handed[cluster] = append(j.handed[cluster], r)
	b, there := j.s.world.StandingBinding(r.Key)
	t := held(&b, cluster)
	own := t != nil && (t.Message == from || t.Reason == karmada.TaskReasonBanned && !targets(&b, cluster))
	if there && b.UID == r.UID && r.Result.Outcome == phase.OutcomeMovedByOthers && own {
		j.violates("7: %s is reported as moved off %s by others, and Lifeboat's own task (%s) keeps it off", r.Key, cluster, t.Reason)
	}
}

// knewNoOther forgives whoever took a Work that was made anew for the one that was held:
// it was made after that was looked at, or before the migration began that puts it back.
func (j *judge) knewNoOther(b *karmada.Binding, cluster string) bool {
	at := j.remade[aCopy{b.Key, cluster}]
	return at.After(j.readAt) || at.Before(j.s.ran[workflows.BindingMigrationID("", cluster, b.Key)])
}

// takesAlong says what goes where a binding goes: dependents, and state.
func (b Binding) takesAlong(out *karmada.Binding) {
	if len(b.Needs) > 0 {
		b.propagate(out)
	}
	if b.Stateful {
		out.StateRules, out.HasClusterFailover = stateRules(), true
	}
}
