package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// Orphan is Lifeboat's state for one cluster whose owner does not run.
type Orphan struct {
	Cluster string `json:"cluster"`
	// OnCluster are taints and records of Lifeboat's on the Cluster itself, whose failover does not run.
	OnCluster []string `json:"onCluster,omitempty"`
	// Tasks are Lifeboat hold tasks whose owner does not run.
	Tasks []OrphanTask `json:"tasks,omitempty"`
}

// OrphanTask is one hold task. Owner is empty where the task names no workflow.
type OrphanTask struct {
	Binding proof.BindingFact `json:"binding"`
	Owner   string            `json:"owner,omitempty"`
}

// Sweep is what a look over all of Karmada found of Lifeboat's.
type Sweep struct {
	Orphans []Orphan `json:"orphans,omitempty"`
	// Owned counts tasks whose owner runs; Left counts those that were kept or left
	// to an operator: no workflow owns them, and none adopts them unless they are named.
	Owned int `json:"owned"`
	Left  int `json:"left"`
}

// sweeper is one look.
type sweeper struct {
	owners  Owners
	running map[string]bool
	found   map[string]*Orphan
	out     Sweep
}

// FindOrphans reads every cluster and binding and checks, by Describe, which workflow owns
// what is Lifeboat's; of one cluster, or of all where only is empty. Its result may be a moment old.
func FindOrphans(ctx context.Context, in activities.Reader, owners Owners, instance, only string) (Sweep, error) {
	s := sweeper{owners: owners, running: map[string]bool{"": false}, found: map[string]*Orphan{}}
	if err := s.clusters(ctx, in, instance, only); err != nil {
		return Sweep{}, err
	}
	for b, err := range activities.AllBindings(ctx, in) {
		if err != nil {
			return Sweep{}, fmt.Errorf("list bindings: %w", err)
		}
		if err := s.binding(ctx, in, b, only); err != nil {
			return Sweep{}, err
		}
	}
	for _, o := range s.found {
		s.out.Orphans = append(s.out.Orphans, *o)
	}
	slices.SortFunc(s.out.Orphans, func(a, b Orphan) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return s.out, nil
}

func (s *sweeper) runs(ctx context.Context, workflowID string) (bool, error) {
	if running, known := s.running[workflowID]; known {
		return running, nil
	}
	running, err := s.owners.Running(ctx, workflowID)
	if err != nil {
		return false, fmt.Errorf("ask whether %s runs: %w", workflowID, err)
	}
	s.running[workflowID] = running
	return running, nil
}

func (s *sweeper) orphan(cluster string) *Orphan {
	if s.found[cluster] == nil {
		s.found[cluster] = &Orphan{Cluster: cluster}
	}
	return s.found[cluster]
}

func (s *sweeper) clusters(ctx context.Context, in activities.Reader, instance, only string) error {
	fleet, err := in.Clusters(ctx)
	if err != nil {
		return fmt.Errorf("list clusters: %w", err)
	}
	for _, c := range fleet {
		if only != "" && c.Name != only || !c.CarriesOurs() {
			continue
		}
		running, err := s.runs(ctx, workflows.ClusterFailoverID(instance, c.Name))
		if err != nil {
			return err
		}
		if !running {
			s.orphan(c.Name).OnCluster = oursOn(c)
		}
	}
	return nil
}

// oursOn names what is Lifeboat's on a cluster.
func oursOn(c karmada.Cluster) []string {
	var out []string
	for _, t := range c.Added {
		out = append(out, "taint "+t.Key+":"+string(t.Effect))
	}
	for _, record := range []struct {
		stands bool
		name   string
	}{{c.Stopped != nil, karmada.AnnotationStoppedBy}, {c.Drain != nil, karmada.AnnotationDrain}, {len(c.Ordered) > 0, karmada.AnnotationOrderedTaints}} {
		if record.stands {
			out = append(out, "annotation "+record.name)
		}
	}
	return out
}

func (s *sweeper) binding(ctx context.Context, in activities.Reader, b *karmada.Binding, only string) error {
	for _, h := range sightOf(b).holds {
		if only != "" && h.cluster != only {
			continue
		}
		if h.free {
			s.out.Left++
			continue
		}
		running, err := s.runs(ctx, h.owner)
		if err != nil {
			return err
		}
		now := b
		if !running {
			// A migration drops its task before it ends: only a task that still stands is an orphan.
			read, err := in.Binding(ctx, b.Key)
			if errors.Is(err, karmada.ErrGone) {
				continue
			}
			if err != nil {
				return fmt.Errorf("read binding %s: %w", b.Key, err)
			}
			now = &read
		}
		seen := sightOf(now)
		switch {
		case !slices.Contains(seen.holds, h):
		case running:
			s.out.Owned++
		default:
			o := s.orphan(h.cluster)
			o.Tasks = append(o.Tasks, OrphanTask{Binding: seen.fact, Owner: h.owner})
		}
	}
	return nil
}

// Adoption signals a cluster's failover, which is started where it does not run, to take
// an orphan over by an operator's order.
func Adoption(ctx context.Context, to Sender, instance string, o Orphan, by workflows.Order) error {
	start := Start{Type: workflows.TypeClusterFailover, Cluster: o.Cluster, WorkflowID: workflows.ClusterFailoverID(instance, o.Cluster)}
	facts := make([]proof.BindingFact, 0, len(o.Tasks))
	for _, t := range o.Tasks {
		facts = append(facts, t.Binding)
	}
	for first := true; first || len(facts) > 0; first = false {
		n := min(len(facts), bindingsPerSignal)
		if err := to.SignalWithStart(ctx, start, workflows.SignalAdopt, workflows.Adopt{Cluster: o.Cluster, Bindings: facts[:n], By: by}); err != nil {
			return err
		}
		facts = facts[n:]
	}
	return nil
}
