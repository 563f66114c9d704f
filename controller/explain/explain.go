// Package explain shows why a binding moves, waits, or stays where it is: by the answer of its failover, or
// without a failover by judging Karmada's objects with the same rules.
//
// It writes nothing, and lists what it could not read.
package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/plan"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/controller/subject"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// Explained is a binding, with the reasons on every cluster that concerns it.
type Explained struct {
	Binding  string `json:"binding"`
	Resource string `json:"resource,omitempty"`
	// Gone reports that the binding was deleted: all of this is history.
	Gone     bool                    `json:"gone,omitempty"`
	Targets  []karmada.TargetCluster `json:"targets,omitempty"`
	Clusters []Cluster               `json:"clusters"`
	// Application is what the health of the copies brings, nil without spec.failover.application, and for one
	// cluster.
	Application *Application `json:"application,omitempty"`
	// Runbook has the URL of each reason for which the binding waits or stays.
	Runbook map[reason.Reason]string `json:"runbook,omitempty"`
	// Unread lists what could not be read.
	Unread []string `json:"unread,omitempty"`
}

// Cluster is why the binding moves off one cluster, or stays.
type Cluster struct {
	Cluster string `json:"cluster"`
	// Target reports that the binding uses it; Task is the eviction task for it, nil without.
	Target bool  `json:"target,omitempty"`
	Task   *Task `json:"task,omitempty"`
	// Failover is the answer of the cluster's failover, nil when it does not concern the binding; WorkflowID and
	// Link are of that workflow.
	Failover   *workflows.Explanation `json:"failover,omitempty"`
	WorkflowID string                 `json:"workflowID,omitempty"`
	Link       string                 `json:"link,omitempty"`
	// Unanswered is why the failover did not answer.
	Unanswered string `json:"unanswered,omitempty"`
	// Migration is the answer of the binding's own migration, nil without one.
	Migration *workflows.MigrationStatus `json:"migration,omitempty"`
	// Ended are outcomes in failovers that are over, the newest first.
	Ended []Ended `json:"ended,omitempty"`
	// Now is the effect of the current taints and rules, IfFailed the effect of a failure of the cluster: both
	// only without a failover.
	Now      *Prospect `json:"now,omitempty"`
	IfFailed *Prospect `json:"ifFailed,omitempty"`
}

// Task is one of the binding's eviction tasks.
type Task struct {
	Producer string `json:"producer"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"` // of Lifeboat's: the workflow that owns it
}

// Prospect is the planned effect on a binding.
type Prospect struct {
	Mode  rules.Mode                `json:"mode"`
	Rules []activities.ForeseenRule `json:"rules,omitempty"`
	// Reason is why nothing would happen to the cluster.
	Reason reason.Reason       `json:"reason,omitempty"`
	Plan   activities.Foreseen `json:"plan"`
}

// Source is where the answers come from.
type Source struct {
	plan.Source
	// Trail has the records of the audit trail about the binding and its failovers, see [About]; nil if none was
	// read.
	Trail []record.Audit
	// Alone names workflows while Temporal does not answer.
	Alone status.Source
}

// Binding explains one binding, on one cluster if only is not empty.
func (s Source) Binding(ctx context.Context, ref subject.Ref, only string) (Explained, error) {
	b, err := ref.Find(ctx, s.Karmada)
	if err != nil {
		return s.gone(ctx, ref, only, err)
	}
	out := Explained{Binding: b.Key.String(), Resource: subject.Workload(&b), Targets: b.Clusters, Clusters: []Cluster{}}
	out.Unread = append(out.Unread, s.Unread...)
	for _, name := range s.clustersOf(ctx, &b, only, &out) {
		c := about(&b, name)
		s.query(ctx, &b, &c)
		if c.Failover != nil || c.Target || c.Task != nil || c.Unanswered != "" || only != "" {
			out.Clusters = append(out.Clusters, c)
		}
	}
	s.history(ctx, &b, only, &out)
	if only == "" {
		out.Application = s.application(ctx, &b, &out)
	}
	err = s.foresee(ctx, &b, &out)
	out.Runbook = reason.LookUp(s.Runbook, out.reasons()...)
	return out, err
}

// clustersOf are the targets of a binding, the clusters of its tasks, and all clusters whose failover runs.
func (s Source) clustersOf(ctx context.Context, b *karmada.Binding, only string, out *Explained) []string {
	if only != "" {
		return []string{only}
	}
	names := slices.Concat(
		reason.Texts(b.Clusters, func(t karmada.TargetCluster) string { return t.Name }),
		reason.Texts(b.Tasks, func(t karmada.Task) string { return t.FromCluster }),
	)
	if s.Status != nil {
		running, err := s.Status.Running(ctx)
		if err != nil {
			out.Unread = append(out.Unread, err.Error())
		}
		names = append(names, running...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(names, func(n string) bool {
		twice := seen[n]
		seen[n] = true
		return twice
	})
}

// about is a cluster as the binding refers to it.
func about(b *karmada.Binding, cluster string) Cluster {
	c := Cluster{Cluster: cluster}
	_, at := b.Target(cluster)
	c.Target = at >= 0
	if t, _ := b.TaskFor(cluster); t != nil {
		c.Task = &Task{Producer: t.Producer, Reason: t.Reason, Message: t.Message}
	}
	return c
}

// query queries the failover of the cluster, and the migration of the binding.
func (s Source) query(ctx context.Context, b *karmada.Binding, c *Cluster) {
	if s.Status == nil {
		return
	}
	x, err := s.Status.Explain(ctx, c.Cluster, workflows.ExplainRequest{Binding: b.Key, UID: b.UID})
	switch {
	case errors.Is(err, status.ErrNotFound):
		return
	case err != nil:
		c.Unanswered = err.Error()
		return
	case x.Phase.Terminal() || !x.Known() && !c.Target:
		return
	}
	c.Failover = &x
	c.WorkflowID = workflows.ClusterFailoverID(s.Status.Instance, c.Cluster)
	c.Link = s.Status.Link(c.WorkflowID)
	if x.Move != nil {
		if m, err := s.Status.Migration(ctx, c.Cluster, b.Key); err == nil {
			c.Migration = &m
		}
	}
}

// of is the entry of one cluster, added if it is missing.
func (x *Explained) of(b *karmada.Binding, cluster string) *Cluster {
	at := slices.IndexFunc(x.Clusters, func(c Cluster) bool { return c.Cluster == cluster })
	if at < 0 {
		at = len(x.Clusters)
		x.Clusters = append(x.Clusters, about(b, cluster))
	}
	return &x.Clusters[at]
}

// foresee judges, for targets without a failover, why nothing moves the binding now, and the effect of a failure.
func (s Source) foresee(ctx context.Context, b *karmada.Binding, out *Explained) error {
	quiet := func(c Cluster) bool { return c.Target && c.Failover == nil }
	if !slices.ContainsFunc(out.Clusters, quiet) && out.Application == nil {
		return nil
	}
	snapshot, err := s.Read(ctx)
	if err != nil {
		return err
	}
	if out.Application != nil {
		if out.Application.Copies, err = plan.Copies(ctx, s.Planner(snapshot), b, s.Now()); err != nil {
			return err
		}
	}
	for i := range out.Clusters {
		c := &out.Clusters[i]
		if !quiet(*c) {
			continue
		}
		if c.Now, err = s.prospect(ctx, snapshot, c.Cluster, b.Key); err != nil {
			return err
		}
		if c.IfFailed, err = s.prospect(ctx, snapshot.Failed(c.Cluster, s.Now()), c.Cluster, b.Key); err != nil {
			return err
		}
	}
	return nil
}

func (s Source) prospect(ctx context.Context, of *activities.Snapshot, cluster string, key karmada.BindingKey) (*Prospect, error) {
	f, err := s.Planner(of).Foresee(ctx, activities.ForeseeRequest{Cluster: cluster, At: s.Now()})
	if err != nil {
		return nil, fmt.Errorf("judge %s on %s: %w", key, cluster, err)
	}
	p := &Prospect{Mode: f.Mode, Rules: f.Rules, Reason: f.Reason}
	for i := range f.Bindings {
		if f.Bindings[i].Key == key {
			p.Plan = f.Bindings[i]
		}
	}
	return p, nil
}

// reasons are those for which the binding waits or stays, without those of past failovers.
func (x *Explained) reasons() []reason.Reason {
	out := x.Application.reasons()
	for _, c := range x.Clusters {
		if c.Failover != nil {
			out = append(out, currentReasons(c.Failover)...)
		}
		for _, p := range []*Prospect{c.Now, c.IfFailed} {
			if p == nil {
				continue
			}
			out = append(out, p.Reason, p.Plan.Reason)
			for _, r := range p.Rules {
				out = append(out, r.Reason)
			}
		}
	}
	return out
}

// currentReasons are those of a binding in a running failover.
func currentReasons(x *workflows.Explanation) []reason.Reason {
	var out []reason.Reason
	if x.Item != nil {
		out = append(out, x.Item.Reason)
	}
	if x.Move != nil {
		out = append(out, x.Move.Reason)
	}
	if x.Pace.Tier == pace.TierHalted {
		out = append(out, x.Pace.Reason)
	}
	return out
}
