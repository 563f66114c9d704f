package proof

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"k8s.io/apimachinery/pkg/types"
)

// HoldVerdict is how the controller judges a binding with a plain hold task, by what its watches
// hold. The migration follows it without a look of its own; the release reads everything live and
// judges again.
type HoldVerdict struct {
	Placed reason.Verdict `json:"placed"`
	// Health is judged without the baseline: every target must prove itself.
	Health reason.Verdict `json:"health"`
	// On are the targets that were judged.
	On []karmada.TargetCluster `json:"on,omitempty"`
	// Unhealthy are those of On whose copies prove nothing.
	Unhealthy []string `json:"unhealthy,omitempty"`
	// Fewer: of a target nothing is missing but replicas. An OverridePolicy may give it fewer, which its Work alone says.
	Fewer bool `json:"fewer,omitempty"`
	// SourceReady: the failed cluster answers.
	SourceReady bool `json:"sourceReady,omitempty"`
}

// JudgeHold judges a binding that a hold task keeps for a failed cluster. Nil where the migration has to
// look itself: the task is not plain, the cluster is a target again or is gone, or the binding
// cannot be read. The fleet is asked by name.
func JudgeHold(b *karmada.Binding, failed string, fleet func(name string) (karmada.Cluster, bool)) *HoldVerdict {
	source, known := fleet(failed)
	task, _ := b.TaskFor(failed)
	plain := task != nil && task.OnItsWay() && task.PurgeMode == karmada.PurgeGracefully && !b.PreservesCopies
	_, at := b.Target(failed)
	if !known || !plain || b.Malformed != "" || b.Deleting || at >= 0 {
		return nil
	}
	suspect := map[string]bool{}
	for _, t := range b.Clusters {
		c, known := fleet(t.Name)
		suspect[t.Name] = !known || c.ProvesNothing()
	}
	in := HealthInput{Binding: b, Failed: failed, Baseline: BaselineFrom(b, failed), Suspect: suspect}
	fewer := in.Fewer()
	v := &HoldVerdict{Placed: Placed(b, failed), Health: Healthy(in), On: b.Clusters, Fewer: len(fewer) > 0, SourceReady: source.Ready()}
	v.Unhealthy = slices.DeleteFunc(in.targetsWith(false), func(name string) bool { return slices.Contains(fewer, name) })
	v.Placed.Candidates, v.Health.Candidates = nil, nil
	return v
}

// targetsWith are the targets whose copies are proven, or those whose copies are not.
func (in HealthInput) targetsWith(proven bool) (names []string) {
	for _, t := range in.Binding.Clusters {
		if in.prove(t).OK == proven {
			names = append(names, t.Name)
		}
	}
	return names
}

// Decides reports whether the verdict says what a look would say, which knows how the targets were
// at the eviction: it found all of them healthy, or each of them has come or grown since. Where replicas alone are
// missing, only a look can tell.
func (v *HoldVerdict) Decides(base Baseline) bool {
	if v.Health.OK || !v.Placed.OK {
		return true
	}
	return !v.Fewer && !slices.ContainsFunc(v.On, func(t karmada.TargetCluster) bool { return !base.exceeded(t) })
}

// Breaks reports whether the health of what must prove itself is interrupted for certain: by a copy that has come
// or grown since the eviction, or by any where none has.
func (v *HoldVerdict) Breaks(base Baseline) bool {
	unhealthy := func(t karmada.TargetCluster) bool { return slices.Contains(v.Unhealthy, t.Name) }
	fresh := slices.ContainsFunc(v.On, base.exceeded)
	return !v.Health.OK && (v.Decides(base) || slices.ContainsFunc(v.On, func(t karmada.TargetCluster) bool {
		return unhealthy(t) && (!fresh || base.exceeded(t))
	}))
}

// MigrationNews is what of a binding decides how its migration off a cluster goes on. Two
// versions with equal news need no look: other fields of the status change all the time.
type MigrationNews struct {
	UID       types.UID
	Deleting  bool
	Malformed string
	Tasks     []karmada.Task
	Clusters  []karmada.TargetCluster
	Replicas  int32
	Preserves bool
	Placed    reason.Verdict
	Observed  bool
	Scheduled string
	// Proven are the targets whose copy is proven by itself.
	Proven []string
}

// NewsOf reads it off a binding that is held for a cluster.
func NewsOf(b *karmada.Binding, failed string) MigrationNews {
	n := MigrationNews{
		UID: b.UID, Deleting: b.Deleting, Malformed: b.Malformed, Tasks: b.Tasks, Clusters: b.Clusters, Replicas: b.Replicas,
		Preserves: b.PreservesCopies, Placed: Placed(b, failed), Observed: b.Generation == b.Status.ObservedGeneration,
	}
	if s := b.Status.Scheduled; s != nil {
		n.Scheduled = string(s.Status) + " " + s.Reason
	}
	if n.Placed.Reason == reason.NotPlaced { // how far the scheduler has got decides nothing
		n.Placed.Message, n.Clusters, n.Observed = "", nil, false
		return n
	}
	n.Proven = HealthInput{Binding: b, Failed: failed}.targetsWith(true)
	return n
}

// BindingFact says that a binding changed.
type BindingFact struct {
	Key             karmada.BindingKey `json:"key"`
	UID             types.UID          `json:"uid"`
	ResourceVersion string             `json:"resourceVersion"`
	Deleted         bool               `json:"deleted,omitempty"`
	// SecondEvictor: a task of Karmada's own taint manager stands, for the cluster whose
	// failover gets the fact.
	SecondEvictor bool `json:"secondEvictor,omitempty"`
	// Verdict is how the controller judges its hold, nil where the migration has to look itself.
	Verdict *HoldVerdict `json:"verdict,omitempty"`
	// LastCopy: that task may end the last copy, see [LosesLastCopy]. A watch does not show it.
	LastCopy bool `json:"lastCopy,omitempty"`
}

// LosesLastCopy reports whether Karmada's own taint manager evicts the binding from a cluster while
// no copy elsewhere is proven: its task ends with a timeout, healthy copy or not, and the copy
// on the cluster with it. Not where a Lifeboat task stands, nor where Directly has ended that
// copy already.
func LosesLastCopy(b *karmada.Binding, cluster string, suspect map[string]bool) bool {
	theirs := b.EvictedByKarmada(cluster)
	if theirs == nil || theirs.PurgeMode == karmada.PurgeDirectly || b.Deleting {
		return false
	}
	if task, _ := b.TaskFor(cluster); task.IsLifeboat() || b.ServesOn(cluster) {
		return false
	}
	if !b.Divides() && slices.ContainsFunc(NewsOf(b, cluster).Proven, func(name string) bool { return !suspect[name] }) {
		return false // each copy is a whole one
	}
	return !Healthy(HealthInput{Binding: b, Failed: cluster, Baseline: BaselineFrom(b, cluster), Suspect: suspect}).OK
}
