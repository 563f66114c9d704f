package karmada

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/controllers"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/members"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/webhook"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// membersAtOnce is how many members are announced, or waited for, at a time.
const membersAtOnce = 16

// joinTimeout bounds how long a new member may take to become Ready.
const joinTimeout = 3 * time.Minute

// Sim is a running simulated Karmada.
type Sim struct {
	options  Options
	client   dynamic.Interface
	knobs    atomic.Pointer[Knobs]
	fleet    *fleet
	plane    atomic.Pointer[controllers.Plane]
	config   controllers.Config
	webhook  *webhook.Server
	ctx      context.Context //nolint:containedctx // the life of the simulation, which its methods act in
	cancel   context.CancelFunc
	closing  sync.Once
	log      *slog.Logger
	closeErr error
}

// Start brings webhooks, controllers and members up and returns when all members are Ready. The
// simulation lives until Close or until ctx ends.
func Start(ctx context.Context, cfg *rest.Config, o Options) (*Sim, error) {
	if err := validateKnobs(o.Knobs); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Sim{options: o, log: o.Logger}
	s.knobs.Store(&o.Knobs)
	s.ctx, s.cancel = context.WithCancel(ctx)
	if err := s.start(cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Sim) start(cfg *rest.Config) error {
	fast := rest.CopyConfig(cfg)
	fast.QPS, fast.Burst = -1, -1
	var err error
	if s.client, err = dynamic.NewForConfig(fast); err != nil {
		return fmt.Errorf("build client: %w", err)
	}
	s.fleet = newFleet(s.Knobs, func(work string) { s.plane.Load().MemberChanged(work) })
	s.config = controllers.Config{REST: cfg, Fleet: s.fleet, Knobs: s.Knobs, Log: s.log}
	plane, err := controllers.New(s.config)
	if err != nil {
		return err
	}
	s.plane.Store(plane)
	if s.webhook, err = webhook.Start(s.ctx, fast, s.log); err != nil {
		return err
	}
	// Members listen before the controllers look at clusters left by an earlier run.
	for _, spec := range s.options.Members {
		if err := s.fleet.start(spec, s.saveFile(spec.Name)); err != nil {
			return err
		}
	}
	if err := s.eachMember(s.announce); err != nil {
		return err
	}
	if err := plane.Run(s.ctx); err != nil {
		return err
	}
	return s.eachMember(func(ctx context.Context, spec MemberSpec) error { return AwaitReady(ctx, s.client, spec.Name) })
}

func (s *Sim) eachMember(do func(context.Context, MemberSpec) error) error {
	group, ctx := errgroup.WithContext(s.ctx)
	group.SetLimit(membersAtOnce)
	for _, spec := range s.options.Members {
		group.Go(func() error { return do(ctx, spec) })
	}
	return group.Wait()
}

// announce creates the Cluster of a member that listens, or gives the one that is there its address.
func (s *Sim) announce(ctx context.Context, spec MemberSpec) error {
	endpoint := s.fleet.Member(spec.Name).Endpoint()
	_, err := s.client.Resource(api.Clusters).Create(ctx, NewCluster(spec, endpoint), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = s.plane.Load().PatchEndpoint(ctx, spec.Name, endpoint)
	}
	if err != nil {
		return fmt.Errorf("register cluster %s: %w", spec.Name, err)
	}
	return nil
}

// NewCluster is the Cluster of a member that answers at an endpoint.
func NewCluster(spec MemberSpec, endpoint string) *unstructured.Unstructured {
	fields := map[string]any{"syncMode": "Push", "id": spec.Name, "apiEndpoint": endpoint}
	for name, value := range map[string]string{"region": spec.Region, "provider": spec.Provider, "zone": spec.Zone} {
		if value != "" {
			fields[name] = value
		}
	}
	cluster := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "spec": fields,
	}}
	cluster.SetName(spec.Name)
	cluster.SetLabels(spec.Labels)
	return cluster
}

// AwaitReady waits until Karmada calls a member's cluster Ready and lets the scheduler use it.
func AwaitReady(ctx context.Context, client dynamic.Interface, name string) error {
	ready := func(ctx context.Context) (bool, error) {
		object, err := client.Resource(api.Clusters).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		cluster, err := api.From[api.Cluster](object.Object)
		return err == nil && cluster.IsReady() && !controllers.KeptFromScheduling(cluster), err
	}
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, joinTimeout, true, ready); err != nil {
		return fmt.Errorf("wait for cluster %s: %w", name, err)
	}
	return nil
}

// Kill makes a member refuse connections and freezes its copies.
func (s *Sim) Kill(name string) error {
	return s.withMember(name, func(m *members.Member) error { m.Kill(); return nil })
}

// Revive makes a killed member answer again, with the copies it still has.
func (s *Sim) Revive(name string) error {
	return s.withMember(name, (*members.Member).Revive)
}

// Garble makes Karmada's credential for a member worthless, or good again.
func (s *Sim) Garble(name string, garbled bool) error {
	return s.withMember(name, func(m *members.Member) error { m.Garble(garbled); return nil })
}

func (s *Sim) withMember(name string, do func(*members.Member) error) error {
	if member := s.fleet.Member(name); member != nil {
		return do(member)
	}
	return fmt.Errorf("there is no member %q", name)
}

// Join adds a member and returns when it is Ready.
func (s *Sim) Join(spec MemberSpec) error {
	if err := s.fleet.start(spec, ""); err != nil {
		return err
	}
	if err := s.announce(s.ctx, spec); err != nil {
		s.fleet.Forget(spec.Name)
		return err
	}
	return AwaitReady(s.ctx, s.client, spec.Name)
}

// Leave deletes a member's Cluster and returns at once. The member answers until Karmada has moved
// every binding off it and let the Cluster go.
func (s *Sim) Leave(name string) error {
	return s.withMember(name, func(*members.Member) error {
		if err := s.client.Resource(api.Clusters).Delete(s.ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete cluster %s: %w", name, err)
		}
		return nil
	})
}

// StopControllers stops Karmada's controllers and scheduler; the members run on.
func (s *Sim) StopControllers() { s.plane.Load().Stop() }

// StartControllers starts them anew, with nothing known: after StopControllers.
func (s *Sim) StartControllers() error {
	plane, err := controllers.New(s.config)
	if err != nil {
		return err
	}
	s.plane.Store(plane)
	return plane.Run(s.ctx)
}

// Knobs are the current knobs.
func (s *Sim) Knobs() Knobs { return *s.knobs.Load() }

// SetKnobs changes the knobs; each takes effect the next time it matters.
func (s *Sim) SetKnobs(k Knobs) error {
	if err := validateKnobs(k); err != nil {
		return err
	}
	s.knobs.Store(&k)
	return nil
}

// Members lists the members by name, as they really are.
func (s *Sim) Members() []MemberStatus {
	var all []MemberStatus
	for _, name := range s.fleet.Names() {
		if member := s.fleet.Member(name); member != nil {
			all = append(all, MemberStatus{
				Name: name, Alive: member.Alive(), Readyz: member.Endpoint() + "/readyz", Workloads: member.Workloads(),
			})
		}
	}
	return all
}

func (s *Sim) saveFile(member string) string {
	if s.options.MemberDir == "" {
		return ""
	}
	return filepath.Join(s.options.MemberDir, member+".json")
}

// Close stops controllers, webhook and members, in this order, and saves the members' copies.
func (s *Sim) Close() error {
	s.closing.Do(func() {
		s.cancel()
		if plane := s.plane.Load(); plane != nil {
			plane.Stop()
		}
		if s.webhook != nil {
			s.webhook.Close()
		}
		if s.fleet != nil {
			s.closeErr = s.fleet.close(s.saveFile)
		}
	})
	return s.closeErr
}

// fleet holds the running members by name.
type fleet struct {
	knobs   func() Knobs
	changed func(work string)

	mu      sync.RWMutex
	running map[string]*members.Member
}

func newFleet(knobs func() Knobs, changed func(work string)) *fleet {
	return &fleet{knobs: knobs, changed: changed, running: map[string]*members.Member{}}
}

// start brings a member up, with the copies of an earlier run where a file holds them.
func (f *fleet) start(spec MemberSpec, saved string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[spec.Name] != nil {
		return fmt.Errorf("there is a member %q already", spec.Name)
	}
	timing := func() members.Timing {
		k := f.knobs()
		return members.Timing{Report: k.ReportLatency.Duration, ReadyAfter: k.WorkloadReadyAfter.Duration}
	}
	member, err := members.Start(members.Config{Name: spec.Name, CPUs: spec.CPUs, Timing: timing, Changed: f.changed})
	if err != nil {
		return err
	}
	if saved != "" {
		if err := member.Load(saved); err != nil {
			member.Close()
			return err
		}
	}
	f.running[spec.Name] = member
	return nil
}

// Member is nil for an unknown name.
func (f *fleet) Member(name string) *members.Member {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.running[name]
}

// Names lists the members in order.
func (f *fleet) Names() []string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.Sorted(maps.Keys(f.running))
}

// Forget closes a member for good.
func (f *fleet) Forget(name string) {
	f.mu.Lock()
	member := f.running[name]
	delete(f.running, name)
	f.mu.Unlock()
	if member != nil {
		member.Close()
	}
}

// close saves and closes every member.
func (f *fleet) close(file func(member string) string) error {
	var problems []error
	for _, name := range f.Names() {
		if path := file(name); path != "" {
			problems = append(problems, f.Member(name).Save(path))
		}
		f.Forget(name)
	}
	return errors.Join(problems...)
}
