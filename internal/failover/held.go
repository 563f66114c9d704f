package failover

import corev1 "k8s.io/api/core/v1"

// HoldVerdict is how the controller judges a binding with a plain hold task, by what its watches
// hold. The migration follows it without a look of its own; the release reads everything live and
// judges again.
type HoldVerdict struct {
	Placed Verdict `json:"placed"`
	// Health is judged without the baseline: every target must prove itself.
	Health Verdict `json:"health"`
	// On are the targets that were judged.
	On []TargetCluster `json:"on,omitempty"`
	// SourceReady: the failed cluster answers.
	SourceReady bool `json:"sourceReady,omitempty"`
}

// JudgeHold judges a binding that a hold task keeps for a failed cluster. Nil where the migration has to
// look itself: the task is not plain, the cluster is a target again or is gone, or the binding
// cannot be read. The fleet is asked by name.
func JudgeHold(b *Binding, failed string, fleet func(name string) (Cluster, bool)) *HoldVerdict {
	source, known := fleet(failed)
	task, _ := b.TaskFor(failed)
	plain := task != nil && task.OnItsWay() && task.PurgeMode == PurgeGracefully && !b.PreservesCopies
	_, at := b.Target(failed)
	if !known || !plain || b.Malformed != "" || b.Deleting || at >= 0 {
		return nil
	}
	suspect := map[string]bool{}
	for _, t := range b.Clusters {
		c, known := fleet(t.Name)
		suspect[t.Name] = !known || c.ProvesNothing()
	}
	v := &HoldVerdict{Placed: Placed(b, failed), On: b.Clusters, SourceReady: source.Ready()}
	v.Health = Healthy(HealthInput{Binding: b, Failed: failed, Baseline: BaselineFrom(b, failed), Suspect: suspect})
	v.Placed.Candidates, v.Health.Candidates = nil, nil
	return v
}

// Decides tells whether the verdict says what a look would say, which knows how the targets were
// at the eviction: it found all of them healthy, or each of them has come or grown since.
func (v *HoldVerdict) Decides(base Baseline) bool {
	if v.Health.OK || !v.Placed.OK {
		return true
	}
	for _, t := range v.On {
		if !base.exceeded(t) {
			return false
		}
	}
	return true
}

// ProvesNothing tells whether what a cluster reports is no evidence: it is not Ready, is being
// deleted, or has a failover of its own past Suspected.
func (c Cluster) ProvesNothing() bool { return !c.Ready() || c.Deleting || c.Evacuating() }

// Evacuating tells whether a cluster has a failover of its own past Suspected, by its taints: a
// triggering one, or Lifeboat's NoSchedule taint.
func (c Cluster) Evacuating() bool {
	hard, soft := Triggering(c.Taints)
	if len(hard)+len(soft) > 0 {
		return true
	}
	for _, t := range c.Taints {
		if t.Key == EvacuatingTaintKey && t.Effect == corev1.TaintEffectNoSchedule {
			return true
		}
	}
	return false
}
