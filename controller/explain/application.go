package explain

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// Application is how the copies of a binding with spec.failover.application are, and what follows from that.
type Application struct {
	// Off is why Lifeboat does not follow the field, empty when it does.
	Off string `json:"off,omitempty"`
	// Tolerated is for how long a copy may be Unhealthy.
	Tolerated time.Duration             `json:"tolerated"`
	Copies    []activities.ForeseenCopy `json:"copies,omitempty"`
	// Failover is the answer of the application's failover, nil when none runs; WorkflowID and Link are its own.
	Failover   *workflows.ApplicationStatus `json:"failover,omitempty"`
	WorkflowID string                       `json:"workflowID,omitempty"`
	Link       string                       `json:"link,omitempty"`
	// Unanswered is why the failover did not answer.
	Unanswered string `json:"unanswered,omitempty"`
	// Migration is the answer of the migration that runs, nil without one.
	Migration *workflows.MigrationStatus `json:"migration,omitempty"`
	// Last is the last failover that is over, nil without one.
	Last *status.PastFailover `json:"last,omitempty"`
}

// off is why no failover of an application runs, by the configuration.
const off = "applicationFailover.enabled is false; Karmada's own controller follows it, unless that is off, too: see lifeboat preflight"

// application explains what the health of a binding's copies brings; nil without spec.failover.application.
func (s Source) application(ctx context.Context, b *karmada.Binding, out *Explained) *Application {
	if b.Application == nil {
		return nil
	}
	a := &Application{Tolerated: rules.Tolerated(b.Application)}
	if !s.Settings.Applications {
		a.Off = off
	}
	s.queryApplication(ctx, b.Key, a)
	last, err := s.past(ctx, status.HistoryRequest{Binding: b.Key, Most: 1}, s.Trail)
	if err != nil {
		out.Unread = append(out.Unread, "failovers of the application that are over: "+err.Error())
	}
	if len(last) > 0 {
		a.Last = &last[0]
	}
	return a
}

func (s Source) queryApplication(ctx context.Context, key karmada.BindingKey, a *Application) {
	if s.Status == nil {
		return
	}
	answer, err := s.Status.Application(ctx, key)
	switch {
	case errors.Is(err, status.ErrNotFound):
		return
	case err != nil:
		a.Unanswered = err.Error()
	case answer.Phase.Terminal():
		return
	default:
		a.Failover = &answer
	}
	a.WorkflowID = workflows.ApplicationFailoverID(s.Status.Instance, key)
	a.Link = s.Status.Link(a.WorkflowID)
	if a.Failover != nil && answer.Move != nil {
		if m, err := s.Status.Migration(ctx, answer.Cluster, key); err == nil {
			a.Migration = &m
		}
	}
}

// reasons are those for which the application does not move, or would not.
func (a *Application) reasons() []reason.Reason {
	if a == nil {
		return nil
	}
	var out []reason.Reason
	if a.Failover != nil {
		out = append(out, a.Failover.Reason, a.Failover.Attention)
	}
	for _, c := range a.Copies {
		out = append(out, c.IfOver.Reason)
	}
	return out
}

// application draws the failover of an application, or how its copies are.
func (v View) application(t tree, a *Application) {
	switch {
	case a == nil:
		return
	case a.Failover != nil:
		doc := a.Failover.View(v.Now).Doc(0)
		t.leaf("application failover of %s, %s mode (%s)", view.Plain(doc.Title), cmp.Or(a.Failover.Mode, rules.ModeObserve), a.WorkflowID)
		t.under(func() {
			v.doc(t, doc)
			if a.Migration != nil {
				v.migration(t, a.Failover.Cluster, a.Migration)
			}
			for _, action := range actions(a) {
				t.leaf("you can: %s", view.Plain(action))
			}
		})
	case a.Unanswered != "":
		t.leaf("application failover: it did not answer: %s", a.Unanswered)
	default:
		t.leaf("application: no failover of it runs")
		t.under(func() {
			t.leaf("it tolerates %s of Unhealthy", view.Span(a.Tolerated))
		})
	}
	t.under(func() { v.applicationTail(t, a) })
}

// applicationTail is the end of an application's branch: what would be, and what was.
func (v View) applicationTail(t tree, a *Application) {
	if a.Off != "" {
		t.leaf("Lifeboat does not follow spec.failover.application: %s", a.Off)
	}
	for _, c := range a.Copies {
		if a.Failover == nil || a.Failover.Move == nil {
			t.leaf("%s %s; if its time ran out now: %s", c.Cluster, c.HealthText(), v.ifOver(c.IfOver))
		}
	}
	if a.Last != nil {
		t.leaf("before: %s", v.past(a.Last))
	}
	if a.Link != "" {
		t.leaf("%s", a.Link)
	}
}

func (v View) ifOver(p activities.Foreseen) string {
	switch p.Prospect {
	case activities.ProspectMoves:
		return "it would go to " + strings.Join(p.Candidates, " or ")
	case activities.ProspectStays:
		return "it would stay: " + because(p.Reason, p.Message)
	case activities.ProspectBlocked, activities.ProspectFence:
	}
	return v.would(&Prospect{Plan: p})
}

// past is how a failover of an application ended.
func (v View) past(e *status.PastFailover) string {
	line := cmp.Or(e.Closed, string(e.Ended)) + " " + v.moment(e.Until)
	if last := e.Last(); last.Outcome != "" {
		line += "; off " + e.Cluster + ", " + v.result(e.Attempts[len(e.Attempts)-1].Attempt, last)
	}
	return line
}

// actions are the orders about a migration that runs, or about the failover.
func actions(a *Application) []string {
	if a.Migration != nil && a.Failover.Phase == phase.ApplicationMoving {
		return a.Migration.View(a.Failover.Now).Actions()
	}
	return a.Failover.View(a.Failover.Now).Actions()
}
