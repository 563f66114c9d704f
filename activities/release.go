package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"go.temporal.io/sdk/activity"
)

// ReleaseRequest drops Lifeboat's hold task once the new placement is proven.
type ReleaseRequest struct {
	MigrationRef
	// HealthyFor is how long every look so far has found it healthy.
	HealthyFor time.Duration `json:"healthyFor"`
	// MinHealthy and Detection are the failover's own terms: a worker whose config says
	// more would refuse for ever what the migration has waited for. Nil: the worker's.
	MinHealthy *time.Duration `json:"minHealthy,omitempty"`
	Detection  *time.Duration `json:"detection,omitempty"`
	// Watched reports that HealthyFor includes time in which only the controller watched.
	Watched bool `json:"watched,omitempty"`
	// Plugins are the failover's evict plug-ins. Proofs are the answers of those that are
	// not built in, asked about the placement ProvenOn.
	Plugins  proof.Plugins           `json:"plugins,omitzero"`
	Proofs   []proof.Proof           `json:"proofs,omitempty"`
	ProvenOn []karmada.TargetCluster `json:"provenOn,omitempty"`
	// Probe lets a fresh probe of each target stand in for Detection.
	Probe bool `json:"probe,omitempty"`
	// Returned: the scheduler put it back after an earlier release of this drain. Parent
	// owns the ban that keeps it from doing so again.
	Returned bool   `json:"returned,omitempty"`
	Parent   string `json:"parent,omitempty"`
	// Ordered drops the task on an operator's recorded order, proven or not. Unproven does so
	// after gracefulTimeout, where the failover's terms say so.
	Ordered  bool `json:"ordered,omitempty"`
	Unproven bool `json:"unproven,omitempty"`
	// Recovered: its cluster has. What serves workloads that stayed there goes back: refused as ClusterRecovered. QueuedAt
	// is when it was to move: a workload that was scheduled since then has moved.
	Recovered bool      `json:"recovered,omitempty"`
	QueuedAt  time.Time `json:"queuedAt,omitzero"`
	// manager is whether what Karmada reports is kept up to date, and controller whether the
	// controller watched for HealthyFor; both are judged before the binding is read.
	manager, controller reason.Verdict
}

// releaser drops hold tasks, once the proofs are there.
type releaser struct {
	actor
	leases
	prober Prober // nil: no probes
}

// Release re-reads binding and clusters, judges placed and healthy once more, and
// drops Lifeboat's task if both hold. Exceptions are those of whyNotYet, and a source that is gone; letGo may still refuse, or
// write the ban of a drain.
// Where the source answers, health must have held for longer than detection, for a target's Ready lags its
// death, or each target answers a probe now.
func (a releaser) Release(ctx context.Context, r ReleaseRequest) (ActResult, error) {
	if err := a.freshness(ctx, &r); err != nil {
		return ActResult{}, classify("read the Lease of karmada-controller-manager", r.Key.String(), err)
	}
	out, err := a.release(ctx, r)
	if err == nil && out.End == ActDone && out.Look.SourceReady && out.Look.Purge == karmada.PurgeGracefully {
		out.Purged = a.seesPurged(ctx, r.OldWork)
	}
	return out, err
}

func (a releaser) release(ctx context.Context, r ReleaseRequest) (ActResult, error) {
	tried := activity.GetInfo(ctx).Attempt > 1
	return a.act(ctx, "release binding", r.MigrationRef, func(b *karmada.Binding, fleet []karmada.Cluster, look Observation) (ActResult, error) {
		switch {
		case rules.IsOlder(look.Seen, r.Seen):
			return refused(reason.StaleRead, "read version "+look.Seen+" after "+r.Seen+": it proves nothing"), nil
		case look.TaskNote != "":
			return refused(reason.ForeignTask, "the task was left to an operator: "+look.TaskNote), nil
		case !look.Held && look.Targeted:
			out := refused(reason.Superseded, "the cluster is a target again")
			out.Tried = tried
			return out, nil
		case !look.Held:
			return ActResult{End: ActAlready, Banned: look.Banned}, nil
		case look.SourceGone:
			// The execution namespace is gone with the cluster: there is no old copy to lose.
		default:
			if cause, why, err := a.whyNotYet(ctx, r, b, fleet, look); err != nil || cause != reason.None {
				return refused(cause, why), err
			}
		}
		tried = true
		return a.letGo(ctx, b, fleet, r, look)
	})
}

// letGo drops Lifeboat's task, or in a drain turns it into a ban where the scheduler would
// put the binding back.
func (a releaser) letGo(ctx context.Context, b *karmada.Binding, fleet []karmada.Cluster, r ReleaseRequest, look Observation) (ActResult, error) {
	source, known := find(fleet, r.Cluster, r.ClusterUID)
	if known {
		v, err := a.definitionFree(ctx, b, r.Cluster)
		if err == nil && v.OK && look.Attached {
			v, err = a.attachedFree(ctx, b, r.Cluster)
		}
		if err != nil || !v.OK {
			return refused(v.Reason, v.Message), err
		}
	}
	if source.Drain.Selective() {
		if err := a.readLabels(ctx, r.Cluster, b); err != nil {
			return ActResult{}, err
		}
	}
	switch ban := proof.PlanBan(b, source, r.Returned, look.SourceReady); {
	case ban.Reason != reason.None:
		return refused(ban.Reason, ban.Message), nil
	case ban.Wanted:
		out, err := written(a.Writer.Mark(ctx, MarkWrite{
			Binding: b, Cluster: r.Cluster, Reason: karmada.TaskReasonBanned, Owner: r.Parent, Purge: karmada.PurgeDirectly,
		}))
		out.Banned = true
		return out, err
	}
	return written(a.Writer.Release(ctx, ReleaseWrite{Binding: b, Cluster: r.Cluster}))
}

// whyNotYet says why the task must not be dropped yet. An operator's order, or the setting
// to release unproven, needs no proof of health, for it is on record; but neither ever
// takes the last copy (a target must be there), or lets two run where one must be dead first.
func (a releaser) whyNotYet(
	ctx context.Context, r ReleaseRequest, b *karmada.Binding, fleet []karmada.Cluster, look Observation,
) (reason.Reason, string, error) {
	switch {
	case r.Ordered && !look.HasTarget():
		return reason.NotPlaced, "it has no target cluster: the held copy is the last one", nil
	case r.Ordered && look.Purge != karmada.PurgeDirectly:
		return reason.None, "", nil // it is placed, or has a target
	case look.Purge == karmada.PurgeNever:
		return reason.PurgeNever, "purge mode Never: nothing is released", nil
	case !look.Placed.OK:
		return look.Placed.Reason, look.Placed.Message, nil
	}
	v, err := a.proofs(ctx, r, b, fleet, look)
	switch {
	case err != nil:
		return reason.None, "", err
	case !v.OK:
		return v.Reason, v.Message, nil
	case r.Ordered || look.Purge == karmada.PurgeDirectly:
		return reason.None, "", nil
	}
	source, _ := find(fleet, r.Cluster, r.ClusterUID)
	return a.servesOthers(ctx, r, b, source)
}

// servesOthers keeps the old copy of what comes with a workload, a Service or a ConfigMap, for as long as that of the
// workload is held, which may serve until then, or has yet to leave a cluster that answers. Where none of them has moved
// off one that has recovered, it is to go back there. A dependent waits for its parents first.
func (a releaser) servesOthers(ctx context.Context, r ReleaseRequest, b *karmada.Binding, source karmada.Cluster) (reason.Reason, string, error) {
	switch parent, err := a.heldParent(ctx, b, r.Cluster); {
	case err != nil:
		return reason.None, "", err
	case parent != nil:
		return reason.HeldForParents, waitsFor(parent, r.Cluster), a.leftWith(ctx, b, r.Cluster, parent)
	case !proof.Follows(b):
		return reason.None, "", nil
	}
	var s servedBy
	err := a.in(ctx, b.Key.Namespace, func(other *karmada.Binding) { s.add(b, other, source, r.QueuedAt) })
	leaving, bad := a.leaving(ctx, s.there, source)
	if err = errors.Join(err, bad); err != nil {
		return reason.None, "", err
	}
	if served := append(s.held, leaving...); len(served) > 0 {
		return reason.HeldForParents, fmt.Sprintf("waits for %s%s on %s, %s first",
			reason.Count(len(served), "workload"), b.OfPolicy(), source.Name, slices.MinFunc(served, karmada.BindingKey.Compare)), nil
	}
	if r.Recovered && !s.moved && len(s.there) > 0 {
		return reason.ClusterRecovered, fmt.Sprintf("%s%s stays on %s: it goes back there", reason.Count(len(s.there), "workload"), b.OfPolicy(), source.Name), nil
	}
	return reason.None, "", nil
}

// servedBy are the workloads that a binding serves: those whose old copy is held on its cluster, those that are there, where
// that answers, and whether another was scheduled since the binding was to move.
type servedBy struct {
	held  []karmada.BindingKey
	there []karmada.Binding
	moved bool
}

func (s *servedBy) add(b, other *karmada.Binding, source karmada.Cluster, since time.Time) {
	if !proof.Serves(b, other) {
		return
	}
	_, at := other.Target(source.Name)
	last := other.Status.LastScheduled
	switch {
	case proof.ServesHeld(b, other, source.Name):
		s.held = append(s.held, other.Key)
	case at < 0:
		s.moved = s.moved || last != nil && last.After(since)
	case source.Ready() && !other.Deleting:
		s.there = append(s.there, *other)
	}
}

// leaving are those of the bindings on a cluster that have yet to leave it: what surrounds them may still opt them out.
func (a releaser) leaving(ctx context.Context, there []karmada.Binding, c karmada.Cluster) (keys []karmada.BindingKey, err error) {
	if err = a.readSelected(ctx, c.Drain, there, c.Name); err != nil {
		return nil, err
	}
	from, taints := newOnce(a.Reader), moving(c)
	_, soft := karmada.Triggering(taints)
	for i := range there {
		b := &there[i]
		rule, _ := a.settings.Kinds.Judge(b, c.Name)
		if rule == rules.KindKeep || a.settings.optedOutItself(b) {
			continue
		}
		policy, err := a.settings.policyOf(ctx, from, b, c.Drain, len(soft) > 0)
		if err != nil {
			return nil, err
		}
		if rules.DueUnder(policy, taints, a.now()).Affected {
			keys = append(keys, b.Key)
		}
	}
	return keys, nil
}

// proofs judges what has to be proven of a placed binding: Directly that the old copy
// is dead, otherwise that the new ones are healthy, and where state goes along both.
func (a releaser) proofs(
	ctx context.Context, r ReleaseRequest, b *karmada.Binding, fleet []karmada.Cluster, look Observation,
) (reason.Verdict, error) {
	if look.Purge == karmada.PurgeDirectly {
		// While the old copy is only fenced, health cannot be asked for: the new one begins
		// when this hold, or the old copy, is gone.
		old, err := a.oldCopyDead(ctx, b, r.MigrationRef, fleet)
		if dead := old.Dead(); err != nil || !dead.OK || !old.HealthToo() || r.Ordered {
			return dead, err
		}
	}
	if v := a.managerRefuses(r); !v.OK {
		return v, nil
	}
	if r.Unproven {
		return a.unproven(ctx, r, b, fleet)
	}
	return a.proven(ctx, r, b, look)
}

// proven judges a release by the health of the new copies.
func (a releaser) proven(ctx context.Context, r ReleaseRequest, b *karmada.Binding, look Observation) (reason.Verdict, error) {
	if v := r.judged(look); !v.OK {
		return v, nil
	}
	if !r.controller.OK {
		return r.controller, nil
	}
	if v := a.heldLongEnough(ctx, r, look); !v.OK {
		return v, nil
	}
	if unmade, err := a.unmade(ctx, r, b); err != nil || len(unmade) > 0 {
		return proof.Refuse(reason.NotHealthy, "no Work of it stays on %s: what is reported there is of a former copy", reason.List(unmade)), err
	}
	return a.collected(ctx, b)
}

// collected judges whether Karmada still collects the status of a binding: it does not while any Work of it is of another
// version of its kind, as that of a held copy stays when the served version changes.
func (a releaser) collected(ctx context.Context, b *karmada.Binding) (reason.Verdict, error) {
	for i := range b.Tasks {
		cluster := b.Tasks[i].FromCluster
		switch work, err := a.Reader.WorkOf(ctx, b, cluster); {
		case errors.Is(err, karmada.ErrGone):
		case err != nil:
			return reason.Verdict{}, err
		case work.APIVersion != "" && work.APIVersion != b.Resource.APIVersion && !work.Deleting:
			return proof.Refuse(reason.NotHealthy, "its Work on %s is of %s, not of %s: Karmada collects its status no more",
				cluster, work.APIVersion, b.Resource.APIVersion), nil
		}
	}
	return reason.Verdict{OK: true}, nil
}

// unproven judges a release without proof of health.
func (a releaser) unproven(ctx context.Context, r ReleaseRequest, b *karmada.Binding, fleet []karmada.Cluster) (reason.Verdict, error) {
	suspect := suspects(fleet, b, r.Cluster)
	unmade, err := a.unmade(ctx, r, b)
	for _, name := range unmade {
		suspect[name] = true
	}
	return proof.ReleasableUnproven(b, r.Cluster, suspect), err
}

// unmade are the clusters that have come since the eviction and have no Work of the binding that stays: what Karmada reports
// there is of a former copy, whose Work is being deleted.
func (a releaser) unmade(ctx context.Context, r ReleaseRequest, b *karmada.Binding) (names []string, err error) {
	before := r.baseline(b).Clusters
	for _, t := range b.Clusters {
		if !proof.Joined(before, []karmada.TargetCluster{t}) {
			continue
		}
		work, err := a.Reader.WorkOf(ctx, b, t.Name)
		switch {
		case errors.Is(err, karmada.ErrGone), err == nil && work.Deleting:
			names = append(names, t.Name)
		case err != nil:
			return nil, err
		}
	}
	return names, nil
}

// mustHold is how long health must have held before a release.
func (a releaser) mustHold(r ReleaseRequest, look Observation) time.Duration {
	minHealthy := *cmp.Or(r.MinHealthy, &a.settings.Terms.MinHealthy)
	if look.SourceReady {
		return max(a.detection(r), minHealthy)
	}
	return minHealthy
}

// detection is how long Karmada takes to see a dead cluster, by the failover's own terms.
func (a releaser) detection(r ReleaseRequest) time.Duration {
	return *cmp.Or(r.Detection, &a.settings.Terms.Detection)
}

// heldLongEnough reports whether health has held for as long as it must. Ready lags
// death: where the source answers and its copy is good, the new one is worth a fresh
// probe of each target, or the wait until a death would have shown.
func (a releaser) heldLongEnough(ctx context.Context, r ReleaseRequest, look Observation) reason.Verdict {
	if len(r.ProvenOn) > 0 && proof.Joined(r.ProvenOn, look.On) {
		return proof.Refuse(reason.NotHealthy, "it was placed elsewhere since it was found healthy")
	}
	must := a.mustHold(r, Observation{})
	if r.HealthyFor < must {
		return notLongEnough(r.HealthyFor, must)
	}
	must = a.mustHold(r, look)
	if r.HealthyFor >= must {
		return reason.Verdict{OK: true}
	}
	switch {
	case !r.Probe:
		return notLongEnough(r.HealthyFor, must)
	case a.prober == nil:
		// The migration counts on a probe: refused for the time, it would begin again for ever.
		return proof.Refuse(reason.ProbeFailed, "this worker's own config has no probe: health must hold for %s", must)
	}
	for _, target := range look.Targets {
		if err := a.prober.Probe(ctx, target); err != nil {
			return proof.Refuse(reason.ProbeFailed, "%s did not answer a probe (%v): health must hold for %s",
				target, err, must)
		}
	}
	return reason.Verdict{OK: true}
}

func notLongEnough(held, must time.Duration) reason.Verdict {
	return proof.Refuse(reason.NotHealthy, "healthy for %s of %s", held.Round(time.Second), must)
}

// judged is what the plug-ins say at the release: the built-in ones look again, of
// the others the answers that the migration has just asked for count, for the
// placement that they were asked about.
func (r ReleaseRequest) judged(look Observation) reason.Verdict {
	proofs := append([]proof.Proof{{Plugin: proof.PluginResourceHealth, Verdict: look.Health}}, r.Proofs...)
	v := r.Plugins.Judge(proofs)
	if v.OK && len(r.Proofs) > 0 && !samePlacement(r.ProvenOn, look.On) {
		return proof.Refuse(reason.NotHealthy, "its placement has changed since the plug-ins answered")
	}
	return v
}

func samePlacement(x, y []karmada.TargetCluster) bool {
	sorted := func(targets []karmada.TargetCluster) []karmada.TargetCluster {
		return slices.SortedFunc(slices.Values(targets), func(a, b karmada.TargetCluster) int { return cmp.Compare(a.Name, b.Name) })
	}
	return slices.Equal(sorted(x), sorted(y))
}
