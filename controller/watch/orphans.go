package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
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

// Search is the result of [FindOrphans].
type Search struct {
	Orphans []Orphan `json:"orphans,omitempty"`
	// Owned counts tasks whose owner runs. Left counts tasks that were kept or left to an operator: no workflow
	// owns or adopts them.
	Owned int `json:"owned"`
	Left  int `json:"left"`
}

type orphanSearch struct {
	in       activities.Reader
	owners   activities.Owners
	instance string
	only     string // cluster; empty is all
	running  map[string]bool
	found    map[string]*Orphan
	out      Search
}

// FindOrphans reads every cluster and binding, and checks with Temporal whether the owners of Lifeboat's taints,
// records and hold tasks run; for one cluster, or all if only is empty.
func FindOrphans(ctx context.Context, in activities.Reader, owners activities.Owners, instance, only string) (Search, error) {
	s := orphanSearch{in: in, owners: owners, instance: instance, only: only, running: map[string]bool{"": false}, found: map[string]*Orphan{}}
	if err := s.clusters(ctx); err != nil {
		return Search{}, err
	}
	for b, err := range activities.AllBindings(ctx, in) {
		if err != nil {
			return Search{}, fmt.Errorf("list bindings: %w", err)
		}
		if err := s.binding(ctx, b); err != nil {
			return Search{}, err
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(s.found)) {
		s.out.Orphans = append(s.out.Orphans, *s.found[cluster])
	}
	return s.out, nil
}

func (s *orphanSearch) runs(ctx context.Context, workflowID string) (bool, error) {
	if running, known := s.running[workflowID]; known {
		return running, nil
	}
	running, err := s.owners.Running(ctx, workflowID)
	if err != nil {
		return false, fmt.Errorf("check whether %s runs: %w", workflowID, err)
	}
	s.running[workflowID] = running
	return running, nil
}

func (s *orphanSearch) orphan(cluster string) *Orphan {
	if s.found[cluster] == nil {
		s.found[cluster] = &Orphan{Cluster: cluster}
	}
	return s.found[cluster]
}

func (s *orphanSearch) clusters(ctx context.Context) error {
	fleet, err := s.in.Clusters(ctx)
	if err != nil {
		return fmt.Errorf("list clusters: %w", err)
	}
	for _, c := range fleet {
		if s.only != "" && c.Name != s.only || !c.HasLifeboatMark() {
			continue
		}
		running, err := s.runs(ctx, workflows.ClusterFailoverID(s.instance, c.Name))
		if err != nil {
			return err
		}
		if !running {
			s.orphan(c.Name).OnCluster = marksOn(c)
		}
	}
	return nil
}

// marksOn names Lifeboat's taints and annotations on a cluster.
func marksOn(c karmada.Cluster) []string {
	out := reason.Texts(c.Added, func(t karmada.AddedTaint) string { return "taint " + t.Key + ":" + string(t.Effect) })
	if c.Stopped != nil {
		out = append(out, "annotation "+karmada.AnnotationStoppedBy)
	}
	if c.Drain != nil {
		out = append(out, "annotation "+karmada.AnnotationDrain)
	}
	if len(c.Ordered) > 0 {
		out = append(out, "annotation "+karmada.AnnotationOrderedTaints)
	}
	return out
}

func (s *orphanSearch) binding(ctx context.Context, b *karmada.Binding) error {
	for _, h := range observe(b).holds {
		if s.only != "" && h.cluster != s.only {
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
			read, err := s.in.Binding(ctx, b.Key)
			if errors.Is(err, karmada.ErrGone) {
				continue
			}
			if err != nil {
				return fmt.Errorf("read binding %s: %w", b.Key, err)
			}
			now = &read
		}
		seen := observe(now)
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

// Adopt signals a cluster's failover, and starts it when it does not run, to adopt an orphan by an operator's order.
func Adopt(ctx context.Context, to Sender, instance string, o Orphan, by workflows.Order) error {
	var facts []proof.BindingFact
	for _, t := range o.Tasks {
		facts = append(facts, t.Binding)
	}
	for first := true; first || len(facts) > 0; first = false {
		n := min(len(facts), bindingsPerSignal)
		adopt := workflows.Adopt{Cluster: o.Cluster, Bindings: facts[:n], By: by}
		if err := to.SignalWithStart(ctx, StartFailover(instance, o.Cluster), workflows.SignalAdopt, adopt); err != nil {
			return err
		}
		facts = facts[n:]
	}
	return nil
}
