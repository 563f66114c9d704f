package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
)

// Snapshot is Karmada as it was once read, held in memory: a Reader to ask what would
// happen. What surrounds a binding (namespace, policy, Works) is read when it is asked
// for first, and once.
type Snapshot struct {
	*once
	clusters []karmada.Cluster
	rules    []rules.Rule
	bindings []karmada.Binding
	at       map[karmada.BindingKey]int
}

// TakeSnapshot reads the fleet, the rules and every binding. progress, when not nil, is
// told how many bindings were read so far.
func TakeSnapshot(ctx context.Context, from Reader, progress func(bindings int)) (*Snapshot, error) {
	s := &Snapshot{once: newOnce(from), at: map[karmada.BindingKey]int{}}
	var err error
	if s.clusters, err = from.Clusters(ctx); err != nil {
		return nil, fmt.Errorf("read the clusters: %w", err)
	}
	if s.rules, err = from.Rules(ctx); err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	for page := &(Page{}); page != nil; {
		p, err := from.Bindings(ctx, *page)
		if err != nil {
			return nil, fmt.Errorf("read the bindings: %w", err)
		}
		for i := range p.Bindings {
			s.at[p.Bindings[i].Key] = len(s.bindings)
			s.bindings = append(s.bindings, p.Bindings[i])
		}
		if progress != nil {
			progress(len(s.bindings))
		}
		page = p.Next
	}
	return s, nil
}

// Failed is the same with one cluster that does not answer any more. One that is not
// Ready already stays as it is.
func (s *Snapshot) Failed(cluster string, at time.Time) *Snapshot {
	next := *s
	next.clusters = slices.Clone(s.clusters)
	for i := range next.clusters {
		c := &next.clusters[i]
		if c.Name != cluster || !c.Ready() {
			continue
		}
		c.Conditions = slices.Clone(c.Conditions)
		r := c.ReadyCondition()
		r.Status, r.Reason, r.LastTransition = corev1.ConditionFalse, "ClusterNotReachable", at
	}
	return &next
}

// Cluster is one of those that were read.
func (s *Snapshot) Cluster(_ context.Context, name string) (karmada.Cluster, error) {
	at := slices.IndexFunc(s.clusters, func(c karmada.Cluster) bool { return c.Name == name })
	if at < 0 {
		return karmada.Cluster{}, fmt.Errorf("cluster %s: %w", name, karmada.ErrGone)
	}
	return s.clusters[at], nil
}

// Clusters are those that were read.
func (s *Snapshot) Clusters(context.Context) ([]karmada.Cluster, error) {
	return slices.Clone(s.clusters), nil
}

// Rules are those that were read.
func (s *Snapshot) Rules(context.Context) ([]rules.Rule, error) { return s.rules, nil }

// Binding is one of those that were read.
func (s *Snapshot) Binding(_ context.Context, key karmada.BindingKey) (karmada.Binding, error) {
	at, known := s.at[key]
	if !known {
		return karmada.Binding{}, fmt.Errorf("binding %s: %w", key, karmada.ErrGone)
	}
	return s.bindings[at], nil
}

// snapshotPage is how many bindings a page of a snapshot has.
const snapshotPage = 500

// Bindings are those that were read, in pages.
func (s *Snapshot) Bindings(_ context.Context, page Page) (BindingPage, error) {
	from := 0
	if page.Continue != "" {
		var err error
		if from, err = strconv.Atoi(page.Continue); err != nil || from < 0 || from > len(s.bindings) {
			return BindingPage{}, fmt.Errorf("page %q: %w", page.Continue, karmada.ErrInvalid)
		}
	}
	to := min(from+snapshotPage, len(s.bindings))
	out := BindingPage{Bindings: slices.Clone(s.bindings[from:to])}
	if to < len(s.bindings) {
		out.Next = &Page{Continue: strconv.Itoa(to)}
	}
	return out, nil
}

// WorkloadLabels reads the Works themselves. Who may not read Works, such as an operator who
// plans, knows no labels.
func (s *Snapshot) WorkloadLabels(ctx context.Context, bindings []*karmada.Binding, cluster string) (map[karmada.BindingKey]map[string]string, error) {
	found, err := s.Reader.WorkloadLabels(ctx, bindings, cluster)
	if errors.Is(err, karmada.ErrForbidden) {
		return nil, nil
	}
	return found, err
}

// once is a Reader that reads what surrounds bindings, their namespaces and policies, once for all
// bindings that share them. One goroutine uses it.
type once struct {
	Reader
	optedOut    map[shared]string
	annotations map[annotationOf]string
}

// shared names the namespace and the policy of a binding.
type shared struct{ namespace, policy string }

type annotationOf struct{ policy, name string }

func newOnce(from Reader) *once {
	return &once{Reader: from, optedOut: map[shared]string{}, annotations: map[annotationOf]string{}}
}

// OptedOut implements [OptOutReader].
func (o *once) OptedOut(ctx context.Context, b *karmada.Binding) (string, error) {
	return remember(o.optedOut, shared{b.Key.Namespace, b.PolicyID()}, func() (string, error) { return o.Reader.OptedOut(ctx, b) })
}

// PolicyAnnotation implements [OptOutReader].
func (o *once) PolicyAnnotation(ctx context.Context, b *karmada.Binding, name string) (string, error) {
	if b.PolicyID() == "" {
		return o.Reader.PolicyAnnotation(ctx, b, name) // bindings without a policy share none
	}
	return remember(o.annotations, annotationOf{b.PolicyID(), name}, func() (string, error) { return o.Reader.PolicyAnnotation(ctx, b, name) })
}

// remember reads a value unless it was read before. An error is not remembered.
func remember[K comparable](known map[K]string, key K, read func() (string, error)) (string, error) {
	if value, found := known[key]; found {
		return value, nil
	}
	value, err := read()
	if err == nil {
		known[key] = value
	}
	return value, err
}
