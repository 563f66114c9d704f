package sim

import (
	"context"
	"fmt"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// Application is spec.failover.application of a binding.
type Application struct {
	// Seconds is for how long a copy may be Unhealthy; a negative one is malformed.
	Seconds int64
	// Purge is the purge mode, empty for the default.
	Purge string
}

// fails sets what the binding has because of its application.
func (b Binding) fails(out *karmada.Binding) {
	if b.Policy != "" {
		annotates(karmada.AnnotationPolicyNamespace, b.key().Namespace)(out)
		annotates(karmada.AnnotationPolicyName, b.Policy)(out)
	}
	if b.Application != nil {
		out.Application = &karmada.ApplicationFailover{TolerationSeconds: b.Application.Seconds, PurgeMode: karmada.PurgeMode(b.Application.Purge)}
	}
}

// applications are the failovers of applications in one schedule.
type applications struct {
	// followed: a binding of the schedule has an application.
	followed bool
	// began reports of a migration, by its workflow id, that an application's failover began it.
	began map[string]bool
	// reports are those of the last failover of each application, by its workflow id.
	reports map[string]workflows.ApplicationReport
}

func newApplications(s Schedule) applications {
	a := applications{began: map[string]bool{}, reports: map[string]workflows.ApplicationReport{}}
	for _, b := range s.Bindings {
		a.followed = a.followed || b.Application != nil
	}
	return a
}

// Arrivals implements activities.Applications: a run that was terminated reports none.
func (a applications) Arrivals(_ context.Context, id, _ string) (rules.Arrivals, *rules.Departure, error) {
	return a.reports[id].Arrivals, a.reports[id].Left, nil
}

// followApplication waits for the end of an application's failover that was just started.
func (s *sim) followApplication(ctx workflow.Context, key karmada.BindingKey, child workflow.ChildWorkflowFuture) {
	s.count["application failovers"]++
	workflow.Go(ctx, func(ctx workflow.Context) {
		var r workflows.ApplicationReport
		err := child.Get(ctx, &r)
		s.applications.reports[workflows.ApplicationFailoverID("", key)] = r
		s.judge.applications.closed(key)
		if err == nil {
			s.count["application closed "+string(r.Ended)]++
		}
	})
}

// unknown has the health of a copy be Unknown.
func (s *sim) unknown(_ workflow.Context, x Step) {
	s.item(x, func(item *karmada.AggregatedItem) { item.Health = karmada.HealthUnknown })
}

// revise gives a workload another revision. Each has a name of its own.
func (s *sim) revise(_ workflow.Context, x Step) {
	s.world.Revise(Binding{Name: x.Binding}.key(), fmt.Sprintf("revised-at-%s", x.At))
}

// mend heals every application, and ends what holds its failover.
func (s *sim) mend(ctx workflow.Context) {
	for _, b := range s.schedule.Bindings {
		s.world.Mend(b.key())
		if !s.applications.followed {
			continue
		}
		orderApplication(workflows.UpdateResume, resumes)(s, ctx, Step{Do: "app-resume", Binding: b.Name})
	}
}

// orderApplication gives an order to the failover of an application.
func orderApplication(verb string, arg func(karmada.BindingKey) any) func(*sim, workflow.Context, Step) {
	return func(s *sim, ctx workflow.Context, x Step) {
		key := Binding{Name: x.Binding}.key()
		give := func(workflow.Context) *answer {
			return s.update(workflows.ApplicationFailoverID("", key), verb, arg(key), func() {
				s.count["order "+x.Do]++
				s.judge.applications.ordered(key, verb, x.Do == "app-cancel-back")
			})
		}
		if s.dice.calm {
			give(ctx)
			return
		}
		s.insist(ctx, x, give)
	}
}

func scopeOf(key karmada.BindingKey) workflows.ScopedOrder {
	return workflows.ScopedOrder{Order: operator, Scope: queue.ScopeOf(key)}
}

func scopedTo(key karmada.BindingKey) any { return scopeOf(key) }

func resumes(key karmada.BindingKey) any { return workflows.Resume{ScopedOrder: scopeOf(key)} }

// enforceApplication orders that what is only observed of an application be enforced.
func (s *sim) enforceApplication(ctx workflow.Context, x Step) {
	s.judge.applications.enforced[Binding{Name: x.Binding}.key()] = true
	orderApplication(workflows.UpdateResume, func(key karmada.BindingKey) any {
		return workflows.Resume{ScopedOrder: scopeOf(key), Enforce: true}
	})(s, ctx, x)
}

func snoozes(key karmada.BindingKey) any {
	return workflows.SnoozeOrder{ScopedOrder: scopeOf(key), For: snoozed.String()}
}

func prioritises(key karmada.BindingKey) any {
	urgent := int32(5)
	return workflows.PriorityOrder{ScopedOrder: scopeOf(key), Priority: &urgent}
}

// copiesOf is an order about the copies of an application.
func copiesOf(putBack bool) func(karmada.BindingKey) any {
	return func(key karmada.BindingKey) any {
		return workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: operator, PutBack: putBack}, Binding: key}
	}
}
