package plan

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/subject"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
)

// Application is the planned effect on one application: of each copy, as if its time ran out now.
type Application struct {
	Binding  string    `json:"binding"`
	Resource string    `json:"resource"`
	At       time.Time `json:"at"`
	// Follows is whether the binding has spec.failover.application.
	Follows bool `json:"follows"`
	// Tolerated is for how long a copy may be Unhealthy, in nanoseconds.
	Tolerated time.Duration             `json:"tolerated,omitempty"`
	Copies    []activities.ForeseenCopy `json:"copies,omitempty"`
}

// Application plans for one application.
func (s Source) Application(ctx context.Context, b *karmada.Binding) (Application, error) {
	a := Application{Binding: b.Key.String(), Resource: subject.Workload(b), At: s.Now(), Follows: b.Application != nil}
	if !a.Follows {
		return a, nil
	}
	a.Tolerated = rules.Tolerated(b.Application)
	snapshot, err := s.Read(ctx)
	if err == nil {
		a.Copies, err = Copies(ctx, s.Planner(snapshot), b, a.At)
	}
	return a, err
}

// Copies judges each copy of an application as if its time were over.
func Copies(ctx context.Context, by *activities.Planner, b *karmada.Binding, at time.Time) ([]activities.ForeseenCopy, error) {
	copies, err := by.ForeseeApplication(ctx, b, at)
	if err != nil {
		return nil, fmt.Errorf("judge %s as an application: %w", b.Key, err)
	}
	return copies, nil
}

// Application shows the plan for one application.
func (v View) Application(a Application) {
	v.Line("Binding   %s (%s)", a.Binding, a.Resource)
	if !a.Follows {
		v.Line("Nothing   would happen where it is Unhealthy: it has no spec.failover.application")
		return
	}
	v.Line("Tolerates %s of Unhealthy. If the time of a copy ran out now:\n", view.Span(a.Tolerated))
	t := v.Table("Cluster", "Health", "Verdict", "Could go to", "Reason")
	for _, c := range a.Copies {
		why := string(c.IfOver.Reason)
		if c.IfOver.Prospect != activities.ProspectMoves {
			why = view.WaitsFor(c.IfOver.Reason, c.IfOver.Message)
		}
		t.AppendRow(table.Row{c.Cluster, c.HealthText(), string(c.IfOver.Prospect), show.Short(strings.Join(c.IfOver.Candidates, ", "), 24), why})
	}
	t.Render()
}
