package activities

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"k8s.io/apimachinery/pkg/types"
)

// MigrationRef names one migration's binding, cluster and measure: what every look and
// every later write of it starts from.
type MigrationRef struct {
	Cluster    string             `json:"cluster"`
	ClusterUID types.UID          `json:"clusterUID"`
	Key        karmada.BindingKey `json:"key"`
	UID        types.UID          `json:"uid,omitempty"`
	Mode       rules.Mode         `json:"mode"`
	Owner      string             `json:"owner"` // the migration's own workflow id: it goes into the task's message
	Baseline   proof.Baseline     `json:"baseline"`
	// Purge is how the old copy is to go; empty: the task's own counts.
	Purge karmada.PurgeMode `json:"purge,omitempty"`
	// Written is when Lifeboat's eviction was known to stand; Generation what it left.
	Written    time.Time `json:"written,omitzero"`
	Generation int64     `json:"generation,omitempty"`
	// Again is when the eviction was last written again; zero where it was not.
	Again time.Time `json:"again,omitzero"`
	// Fence is what proves the old copy of a Directly move dead, nil without.
	Fence *proof.Fence `json:"fence,omitempty"`
	// OldWork is the Work that was held, nil where it is not known by uid.
	OldWork *karmada.Work `json:"oldWork,omitempty"`
	// State is what Lifeboat's task carries for the new copy, as last seen.
	State map[string]string `json:"state,omitempty"`
	// WantWork has Observe look the old Work up, for a migration that does not know it.
	WantWork bool `json:"wantWork,omitempty"`
	// Seen is the newest version of the binding that this migration has read: one that is
	// older proves nothing.
	Seen string `json:"seen,omitempty"`
	// Named reports that an operator named this binding: a task that was kept, or left to
	// an operator, is not off limits then.
	Named bool `json:"named,omitempty"`
}

// Observation is one judged look at a binding that Lifeboat holds.
type Observation struct {
	Gone bool   `json:"gone,omitempty"` // the binding, or another uid
	Seen string `json:"seen,omitempty"`
	// Held: Lifeboat's task stands. Targeted: the failed cluster is (again) in spec.clusters.
	Held     bool   `json:"held,omitempty"`
	TaskNote string `json:"taskNote,omitempty"` // the task's reason when it is not Lifeboat's to act on
	// Banned: Lifeboat's hold was released, and what is left of its task keeps the scheduler away.
	Banned   bool `json:"banned,omitempty"`
	Targeted bool `json:"targeted,omitempty"`
	// Purge is Lifeboat's task's purge mode, Never where the copy is preserved: what a run that
	// takes it over goes by.
	Purge karmada.PurgeMode `json:"purge,omitempty"`
	// Preserved: the old copy outlives its Work, see [karmada.Binding.Heed].
	Preserved bool `json:"preserved,omitempty"`
	// State is what Lifeboat's task carries for the new copy: labels by name.
	State map[string]string `json:"state,omitempty"`
	// StateWaived: an operator has it go on without its state, for as long as the source is away.
	StateWaived bool           `json:"stateWaived,omitempty"`
	Placed      reason.Verdict `json:"placed"`
	// Reschedule: only a reschedule places it, and none is pending.
	Reschedule bool           `json:"reschedule,omitempty"`
	Health     reason.Verdict `json:"health"`
	// Answered: the scheduler has answered Lifeboat's eviction.
	Answered reason.Verdict `json:"answered"`
	// Observed: the scheduler has observed the generation, or looks at the binding no more.
	Observed bool `json:"observed,omitempty"`
	// Unobserved says why the scheduler ignores it, empty where it does not.
	Unobserved string `json:"unobserved,omitempty"`
	// Attached: it comes with a workload and has no placement of its own, so that it is never placed.
	Attached bool     `json:"attached,omitempty"`
	Targets  []string `json:"targets,omitempty"`
	// On are the targets with their replicas.
	On []karmada.TargetCluster `json:"on,omitempty"`
	// LastCopy: Karmada's own taint manager may end the copy there, and no other is proven.
	LastCopy bool `json:"lastCopy,omitempty"`
	// SourceGone: the failed cluster was deleted. SourceReady: it answers.
	SourceGone  bool `json:"sourceGone,omitempty"`
	SourceReady bool `json:"sourceReady,omitempty"`
	// Outage is the one that the source is in, see [karmada.Cluster.Outage].
	Outage string `json:"outage,omitempty"`
	// FenceStands: the fence of the request still counts for the source as it is.
	FenceStands bool `json:"fenceStands,omitempty"`
	// StraightBack: its placement would take the recovered cluster straight back.
	StraightBack bool   `json:"straightBack,omitempty"`
	Resource     string `json:"resource,omitempty"`
	// OldWork is the Work on the failed cluster, when it was asked for.
	OldWork *karmada.Work `json:"oldWork,omitempty"`
	// UID is the binding's. Baseline is read off Lifeboat's task, when the old Work was asked for.
	UID      types.UID       `json:"uid,omitempty"`
	Baseline *proof.Baseline `json:"baseline,omitempty"`
}

// observer judges where the move of a binding stands.
type observer struct {
	reader
	now func() time.Time
}

// Observe re-reads a binding and its clusters and judges where its move stands.
func (a observer) Observe(ctx context.Context, r MigrationRef) (Observation, error) {
	b, fleet, gone, err := a.read(ctx, r, false)
	if err != nil {
		return Observation{}, classify("observe binding", r.Key.String(), err)
	}
	if gone {
		return Observation{Gone: true}, nil
	}
	var old *karmada.Work
	if r.WantWork {
		if old, err = a.oldWork(ctx, &b, r); err != nil {
			return Observation{}, classify("find old work of binding", r.Key.String(), err)
		}
		b.Heed(old)
	}
	o, err := a.observe(ctx, &b, fleet, r)
	if err != nil {
		return Observation{}, classify("observe binding", r.Key.String(), err)
	}
	if base := r.baseline(&b); r.WantWork && len(base.Clusters) > 0 {
		o.Baseline = &base
	}
	o.OldWork = old
	return o, nil
}

// HasTarget reports whether a release takes no last copy: there is another cluster, or it goes where its workload goes.
func (o *Observation) HasTarget() bool { return len(o.Targets) > 0 || o.Placed.OK || o.Attached }

// read fetches a binding and the fleet, in which the source and the targets were read just now
// for a write; gone reports that the binding is not there under its uid.
func (a observer) read(ctx context.Context, r MigrationRef, write bool) (b karmada.Binding, fleet []karmada.Cluster, gone bool, err error) { //nolint:revive // one read, three facts
	if b, gone, err = a.binding(ctx, r.Key, r.UID); gone || err != nil {
		return b, nil, gone, err
	}
	b.Heed(r.OldWork)
	if !write {
		fleet, err = a.recent().Clusters(ctx)
		return b, fleet, false, err
	}
	names := []string{r.Cluster}
	for _, t := range b.Clusters {
		if t.Name != r.Cluster {
			names = append(names, t.Name)
		}
	}
	fleet, err = a.fleetWith(ctx, names...)
	return b, fleet, false, err
}

func (a observer) observe(ctx context.Context, b *karmada.Binding, fleet []karmada.Cluster, r MigrationRef) (Observation, error) {
	o := Observation{Seen: b.ResourceVersion, UID: b.UID, Resource: resourceName(b)}
	if task, _ := b.TaskFor(r.Cluster); task != nil {
		o.sees(task, r.Named)
	}
	o.Preserved, o.Purge = b.PreservesCopies, b.EffectivePurge(o.Purge)
	_, at := b.Target(r.Cluster)
	o.Targeted, o.Attached = at >= 0, b.Placement == nil
	for _, t := range b.Clusters {
		o.Targets = append(o.Targets, t.Name)
	}
	o.On = b.Clusters
	source, known := find(fleet, r.Cluster, r.ClusterUID)
	o.SourceGone, o.SourceReady = !known, known && source.Ready()
	o.Outage = source.Outage()
	o.FenceStands = known && r.Fence.Stands(source)
	o.StateWaived = known && r.Fence.WaivesState(source)
	o.Placed = proof.Placed(b, r.Cluster)
	o.Reschedule = a.settings.needsReschedule(o, b, fleet, r.Cluster)
	var err error
	if o.Health, err = a.health(ctx, o.Placed, proof.HealthInput{
		Binding: b, Failed: r.Cluster, Baseline: r.baseline(b), Suspect: suspects(fleet, b, r.Cluster),
		RetainsReplicas: r.OldWork != nil && r.OldWork.RetainsReplicas,
	}); err != nil {
		return o, err
	}
	o.LastCopy = a.settings.losesLastCopy(b, fleet, r.Cluster)
	o.Observed = b.Unclaimed || b.Status.ObservedGeneration == b.Generation
	o.Unobserved, o.Answered = proof.Ignored(b), a.answered(b, r)
	matching, err := a.cordoning(ctx, source)
	o.StraightBack = known && proof.TakesStraightBack(b, source, matching)
	return o, err
}

// needsReschedule reports whether only a reschedule places a binding that has left the cluster, and none is pending.
// Perhaps an older decision of the scheduler ended it.
func (s Settings) needsReschedule(o Observation, b *karmada.Binding, fleet []karmada.Cluster, cluster string) bool {
	left := o.Held && !o.Targeted && !o.Placed.OK
	pending := b.RescheduleRequired() || b.PlacementPending
	return left && !pending && s.preCheck(b, cluster, fleet).NeedsReschedule()
}

// cordoning are the windows of the rules that match now, where one of them has put a NoSchedule taint.
func (a observer) cordoning(ctx context.Context, c karmada.Cluster) (map[rules.WindowKey]bool, error) {
	if !slices.ContainsFunc(c.Added, func(t karmada.AddedTaint) bool { return !rules.OfThisFailure(t) }) {
		return nil, nil
	}
	list, err := a.recent().Rules(ctx)
	return windowsOf(askedNow(c, list, rules.ExternalProbeAbsent)), err
}

// health judges the new copies. Where nothing is missing but replicas of clusters that came, the Works there say whether
// an OverridePolicy gives them fewer.
func (a observer) health(ctx context.Context, placed reason.Verdict, in proof.HealthInput) (reason.Verdict, error) {
	v := proof.Healthy(in)
	if v.OK || !placed.OK || in.Baseline.Derived {
		return v, nil
	}
	in.Overridden = map[string]int64{}
	for _, target := range in.Fewer() {
		w, err := a.Reader.WorkOf(ctx, in.Binding, target)
		switch {
		case errors.Is(err, karmada.ErrGone), errors.Is(err, karmada.ErrInvalid): // they are not known to be overridden
		case err != nil:
			return v, err
		case w.OverriddenReplicas != nil:
			in.Overridden[target] = *w.OverriddenReplicas
		}
	}
	return proof.Healthy(in), nil
}

// sees takes what a task for the cluster says.
func (o *Observation) sees(task *karmada.Task, named bool) {
	o.Banned = task.Bans()
	if !task.Owned() {
		return
	}
	o.Held, o.Purge, o.State = true, task.PurgeMode, task.Carried()
	if task.LeftForGood() && !named {
		o.TaskNote = task.Reason
	}
}

// answered adds to the core's judgement that a Scheduled=False which has stood
// unchanged for restoreWait since Lifeboat's write is an answer too. Where the scheduler
// ignores the binding by then, none comes.
func (a observer) answered(b *karmada.Binding, r MigrationRef) reason.Verdict {
	wrote := r.Generation
	if wrote == 0 || b.HeldElsewhere(r.Cluster) {
		// The write's answer was lost, or another run wrote it, or another cluster was
		// evicted since: the scheduler has answered for certain only when it has seen
		// the newest generation.
		wrote = b.Generation
	}
	v := proof.Answered(b, wrote, r.Again)
	if v.OK || r.Written.IsZero() {
		return v
	}
	written := pace.Later(r.Written, r.Again)
	waited := func(since time.Time) bool { return a.now().Sub(since) >= a.settings.Terms.RestoreWait }
	switch ignored := proof.Ignored(b); {
	case ignored != "" && waited(written):
		return reason.Verdict{OK: true, Message: ignored}
	case karmada.ScheduledFalse(b) && waited(pace.Later(written, b.Status.Scheduled.LastTransition)):
		return reason.Verdict{OK: true, Reason: reason.NoClusterFit, Message: "Scheduled=False has stood unchanged since Lifeboat's write"}
	}
	return v
}

// WorkRequest follows one old Work by uid.
type WorkRequest struct {
	Cluster string `json:"cluster"`
	// ClusterUID is of the cluster that the Work is on; empty is not compared.
	ClusterUID types.UID          `json:"clusterUID,omitempty"`
	Key        karmada.BindingKey `json:"key"`
	Work       karmada.Work       `json:"work"`
	// UID is the binding's, empty where any under its name will do.
	UID types.UID `json:"uid,omitempty"`
}

// WorkState is where an old Work stands.
type WorkState struct {
	Gone     bool `json:"gone,omitempty"`
	Deleting bool `json:"deleting,omitempty"`
	// Superseded: the cluster is a target again, or a parent runs there: the Work is wanted.
	Superseded bool `json:"superseded,omitempty"`
	// Held is the reason of a task that keeps the Work for the parents of its binding, empty without one.
	Held string `json:"held,omitempty"`
	// Away: the cluster does not answer, so that nothing can be purged on it. With Gone: Karmada has dropped the
	// Works of a cluster that was deleted while it did not answer, which proves nothing about the copy.
	Away bool `json:"away,omitempty"`
	// Orphaned: its binding was deleted, so that nothing follows it any more.
	Orphaned bool `json:"orphaned,omitempty"`
}

// ObserveWork looks whether an old Work is gone, wanted again, or owed.
func (a leftovers) ObserveWork(ctx context.Context, r WorkRequest) (WorkState, error) {
	b, orphaned, err := a.binding(ctx, r.Key, r.UID)
	if err != nil {
		return WorkState{}, classify("observe work's binding", r.Key.String(), err)
	}
	c, gone, err := a.cluster(ctx, r.Cluster, r.ClusterUID)
	if err != nil {
		return WorkState{}, classify("observe work's cluster", r.Cluster, err)
	}
	out := WorkState{Orphaned: orphaned, Away: gone || !c.Ready()}
	w, ended, err := a.work(ctx, r.Work.Namespace, r.Work.Name, r.Work.UID)
	if err != nil {
		return WorkState{}, classify("observe work", r.Work.Namespace+"/"+r.Work.Name, err)
	}
	if ended {
		out.Gone, out.Away = true, out.Away && (gone || c.Deleting)
		return out, nil
	}
	out.Deleting = w.Deleting
	if !orphaned {
		out.Held = heldForParents(&b, r.Cluster)
	}
	out.Superseded = !out.Orphaned && b.ServesOn(r.Cluster) && !w.Deleting
	return out, nil
}

// heldForParents is the reason of a task that a release has left to the parents of a binding. It goes with
// them: they drop it, or it was kept, or left to an operator, together with theirs.
func heldForParents(b *karmada.Binding, cluster string) string {
	if task, _ := b.TaskFor(cluster); task != nil && (task.ForDependent() || task.LeftForGood()) {
		return task.Reason
	}
	return ""
}
