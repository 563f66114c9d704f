// Package plan foresees the effect of a failure of a cluster now, or what a running failover has left to do.
//
// It judges nothing itself: the worker's activities judge a snapshot of Karmada. It writes nothing.
package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	corev1 "k8s.io/api/core/v1"
)

// Plan is the planned effect on all bindings of one cluster.
type Plan struct {
	activities.Foresight
	// Phase is of the running failover, empty without one.
	Phase phase.Failover `json:"phase,omitempty"`
	// Underway are bindings that it is moving, Settled those with an outcome.
	Underway int `json:"underway,omitempty"`
	Settled  int `json:"settled,omitempty"`
	// Paused is the order that paused it.
	Paused *workflows.Order `json:"paused,omitempty"`
	// Totals count all bindings, Priorities those of each priority, highest first.
	Totals     Totals          `json:"totals"`
	Priorities []PriorityTotal `json:"priorities,omitempty"`
	// Deficit is the resources that no cluster has room for.
	Deficit corev1.ResourceList `json:"capacityDeficit,omitempty"`
	// Ends is when the last migration would begin, zero if unknown.
	Ends time.Time `json:"ends,omitzero"`
	// Unread lists what could not be read.
	Unread []string `json:"unread,omitempty"`
}

// Totals count bindings by verdict.
type Totals struct {
	Migrations  int `json:"migrations"`
	Blocked     int `json:"blocked"`
	AwaitsFence int `json:"awaitsFence"`
	Stays       int `json:"stays"`
}

// PriorityTotal counts the bindings of one priority.
type PriorityTotal struct {
	Priority int32 `json:"priority"`
	Totals
	// Ends is when the last of them would begin to move.
	Ends time.Time `json:"ends,omitzero"`
}

// Source is where the answers come from.
type Source struct {
	Karmada  activities.Reader
	Settings activities.Settings
	// Status queries the workflows; nil if Temporal does not answer, and Away is the error.
	Status *status.Source
	Away   error
	Owners activities.Owners
	// Migrations reads which copy a migration holds; nil if Temporal does not answer.
	Migrations activities.Migrations
	Now        func() time.Time
	// Progress shows the progress of reading.
	Progress *show.Progress
	// Runbook is the URL of the runbook, empty without one.
	Runbook string
	// Unread lists what could not be read before.
	Unread []string
}

// noOwners replaces the owners of tasks if Temporal does not answer.
type noOwners struct{}

func (noOwners) Running(context.Context, string) (bool, error) { return false, nil }

// Cluster plans for one cluster.
func (s Source) Cluster(ctx context.Context, cluster string) (Plan, error) {
	snapshot, err := s.Read(ctx)
	if err != nil {
		return Plan{}, err
	}
	return s.of(ctx, snapshot, s.queryPacer(ctx), cluster)
}

// Planner judges over a snapshot.
func (s Source) Planner(of *activities.Snapshot) *activities.Planner {
	owners := s.Owners
	if owners == nil {
		owners = noOwners{}
	}
	return activities.NewPlanner(of, owners, s.Migrations, s.Settings)
}

// Read takes a snapshot of Karmada.
func (s Source) Read(ctx context.Context) (*activities.Snapshot, error) {
	defer s.Progress.Begin("reading bindings")()
	return activities.TakeSnapshot(ctx, s.Karmada, func(n int) { s.Progress.Step(n, 0) })
}

// All plans for every cluster, each as if it alone failed, the worst first. The plans have no bindings.
func (s Source) All(ctx context.Context) ([]Plan, error) {
	snapshot, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	fleet, err := snapshot.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	plans := []Plan{}
	pacer := s.queryPacer(ctx)
	defer s.Progress.Begin("planning")()
	for n, c := range fleet {
		s.Progress.Step(n, len(fleet))
		p, err := s.of(ctx, snapshot, pacer, c.Name)
		if err != nil {
			return nil, err
		}
		p.Bindings = nil
		plans = append(plans, p)
	}
	slices.SortStableFunc(plans, worse)
	return plans, nil
}

// worse compares the stuck bindings, counted from the highest priority on; then the end; then the number of
// migrations.
func worse(x, y Plan) int {
	priorities := slices.Concat(x.Priorities, y.Priorities)
	slices.SortFunc(priorities, highestFirst)
	for _, of := range priorities {
		if by := cmp.Compare(y.stuck(of.Priority), x.stuck(of.Priority)); by != 0 {
			return by
		}
	}
	return cmp.Or(y.Ends.Compare(x.Ends), cmp.Compare(y.Totals.Migrations, x.Totals.Migrations), cmp.Compare(x.Cluster, y.Cluster))
}

func highestFirst(a, b PriorityTotal) int { return cmp.Compare(b.Priority, a.Priority) }

// stuck counts the bindings of a priority that should move and cannot.
func (p Plan) stuck(priority int32) int {
	for _, t := range p.Priorities {
		if t.Priority == priority {
			return t.Blocked + t.AwaitsFence
		}
	}
	return 0
}

// of plans for one cluster by the snapshot, and by its failover if one runs.
func (s Source) of(ctx context.Context, snapshot *activities.Snapshot, pacer pacerAnswer, cluster string) (Plan, error) {
	p := Plan{Foresight: activities.Foresight{Cluster: cluster}, Unread: slices.Clone(s.Unread)}
	request := activities.ForeseeRequest{Cluster: cluster, At: s.Now()}
	pacer.addTo(&p, &request)
	s.addFailover(ctx, &p, &request)
	f, err := s.Planner(snapshot.Failed(cluster, request.At)).Foresee(ctx, request)
	switch {
	case errors.Is(err, karmada.ErrGone):
		return p, fmt.Errorf("%w: %s", ErrNotFound, cluster)
	case err != nil:
		return p, err
	}
	p.take(f)
	return p, nil
}

// ErrNotFound is returned for an unknown cluster.
var ErrNotFound = errors.New("no such cluster")

// pacerAnswer is the status of the pacer, or why it did not answer.
type pacerAnswer struct {
	status workflows.PacerStatus
	unread string
}

func (s Source) queryPacer(ctx context.Context) pacerAnswer {
	if s.Status == nil {
		return pacerAnswer{unread: "Temporal: " + s.Away.Error()}
	}
	answer, why := s.Status.Pacer(ctx)
	if why != "" {
		why = "pacer: " + why
	}
	return pacerAnswer{status: answer, unread: why}
}

// addTo adds the orders of operators to the pacer, and the moves that it remembers.
func (w pacerAnswer) addTo(p *Plan, r *activities.ForeseeRequest) {
	if w.unread != "" {
		p.Unread = append(p.Unread, w.unread)
		return
	}
	r.Rate, r.Migrations = w.status.Orders.Rate, &w.status.Migrations
	if w.status.Orders.Halted != nil {
		rate := w.status.Pace
		rate.Tier, rate.Rate, rate.Reason = pace.TierHalted, 0, w.status.Orders.HaltReason
		r.Pace = &rate
	}
}

// addFailover adds the state of the running failover.
func (s Source) addFailover(ctx context.Context, p *Plan, r *activities.ForeseeRequest) {
	if s.Status == nil {
		return
	}
	f, err := s.Status.Failover(ctx, p.Cluster)
	if errors.Is(err, status.ErrNotFound) {
		return
	}
	if f.FailoverStatus == nil {
		p.Unread = append(p.Unread, f.WorkflowID+": "+f.Unanswered)
		return
	}
	if !f.Phase.Terminal() {
		p.continueFrom(f.FailoverStatus, r)
	}
}

// continueFrom adds what a failover has frozen and begun.
func (p *Plan) continueFrom(st *workflows.FailoverStatus, r *activities.ForeseeRequest) {
	p.Phase, p.Paused = st.Phase, st.Paused
	r.Windows, r.Virtual, r.Frozen = st.Windows, st.Virtual, st.Frozen
	r.Policies, r.Skip = map[karmada.BindingKey]rules.Policy{}, map[karmada.BindingKey]bool{}
	for _, i := range st.Items {
		if i.Policy >= 0 && i.Policy < len(st.Policy) {
			r.Policies[i.Key] = st.Policy[i.Policy]
		}
	}
	standing := st.StandingOrders.Index()
	r.Snoozed, r.Paused, r.Priority = standing.Snoozed, standing.Paused, standing.Priority
	for _, m := range st.Migrations {
		p.Underway++
		r.Skip[m.Key] = true
	}
	for _, settled := range st.Results {
		r.Skip[settled.Key] = true
	}
	for _, n := range st.Counts {
		p.Settled += n
	}
}

// take adds the judged bindings, and counts them.
func (p *Plan) take(f activities.Foresight) {
	p.Foresight = f
	at := map[int32]*PriorityTotal{}
	for i := range f.Bindings {
		b := &f.Bindings[i]
		of := at[b.Priority]
		if of == nil {
			of = &PriorityTotal{Priority: b.Priority}
			at[b.Priority] = of
		}
		of.count(b.Prospect)
		p.Totals.count(b.Prospect)
		if b.Begins.After(of.Ends) {
			of.Ends = b.Begins
		}
		if b.Begins.After(p.Ends) {
			p.Ends = b.Begins
		}
		if b.Reason == reason.NoCapacity {
			if p.Deficit == nil {
				p.Deficit = corev1.ResourceList{}
			}
			karmada.Plus(p.Deficit, b.Need)
		}
	}
	for _, of := range at {
		p.Priorities = append(p.Priorities, *of)
	}
	slices.SortFunc(p.Priorities, highestFirst)
}

func (t *Totals) count(p activities.Prospect) {
	switch p {
	case activities.ProspectMoves:
		t.Migrations++
	case activities.ProspectBlocked:
		t.Blocked++
	case activities.ProspectFence:
		t.AwaitsFence++
	case activities.ProspectStays:
		t.Stays++
	}
}
