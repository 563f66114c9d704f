package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// Application is the content of the page of an application failover.
type Application struct {
	Binding, Resource string
	Mode              rules.Mode
	Phase             phase.Application
	Reason            reason.Reason
	Message           string
	Attention         reason.Reason
	Now, Began, Since time.Time
	// Next is when something happens by itself, zero when nothing does.
	Next      time.Time
	Tolerated time.Duration
	Copies    []rules.CopyHealth
	Clocks    rules.UnhealthyClocks
	Arrivals  rules.Arrivals
	Migration string // the workflow of the running migration, empty without one
	Placed    bool   // that has written, and a new copy has a cluster: the old one is held
	Ordered   []string
	Runbook   string
}

// ApplicationPage is the live page of an ApplicationFailover. Always below MaxPage.
func ApplicationPage(v Application) string { return fit(v.Doc) }

// Doc has the health of every copy, for how long it has been Unhealthy, and what comes next.
func (v Application) Doc(int) Doc {
	p := &page{book: v.Runbook}
	p.Title = fmt.Sprintf("%s: %s", text(v.Binding), v.Phase)
	p.asOf(v.Now, v.Phase.Terminal())
	if v.Mode == rules.ModeObserve {
		p.note(observed)
	}
	if v.Attention != reason.None {
		p.note("**⚠ Needs attention:** %s", p.reason(v.Attention))
	}
	p.fact("Workload", text(v.Resource))
	p.fact("Now", p.because(v.Reason, v.Message))
	if !v.Next.IsZero() {
		p.fact("Comes next", "at "+Moment(v.Next, v.Now))
	}
	p.fact("Copies", v.copies())
	p.fact("It tolerates", Span(v.Tolerated)+" of Unhealthy")
	before := reason.Texts(v.Arrivals, func(a rules.Arrival) string { return text(a.Cluster) })
	p.fact("Moved before", strings.Join(before, ", "))
	p.fact("Migration", code(v.Migration))
	p.fact("Ordered", text(strings.Join(v.Ordered, " · ")))
	p.fact("Times", times(v.Now, instant{"began", v.Began}, instant{string(v.Phase) + " since", v.Since}))
	p.actions(v.Actions())
	return p.Doc
}

func (v Application) copies() string {
	var parts []string
	for _, c := range v.Copies {
		line := text(c.Cluster) + " " + string(c.Health)
		for _, k := range v.Clocks {
			if k.Cluster == c.Cluster {
				line += ", " + v.clock(k)
			}
		}
		parts = append(parts, line)
	}
	return strings.Join(parts, "; ")
}

func (v Application) clock(k rules.UnhealthyClock) string {
	ends, runs := k.Ends(v.Tolerated)
	switch {
	case !runs:
		return "for " + Span(k.Ran) + " so far; the time stands still"
	case ends.After(v.Now):
		return "for " + Span(k.Ran+v.Now.Sub(k.Since)) + ", tolerated until " + Moment(ends, v.Now)
	default:
		return "for " + Span(k.Ran+v.Now.Sub(k.Since))
	}
}

// Actions are what the operator can do now.
func (v Application) Actions() []string {
	if v.Phase.Terminal() {
		return nil
	}
	verb := func(name, effect string, flags ...string) string {
		return fmt.Sprintf("`lifeboat %s --reason \"…\"`: %s", strings.Join(append([]string{name, text(v.Binding)}, flags...), " "), effect)
	}
	if v.Mode == rules.ModeObserve {
		return []string{"Nothing is needed of you.", verb("resume", "let Lifeboat act on it, once the workers' configuration says enforce", "--enforce")}
	}
	switch v.Phase {
	case phase.ApplicationStopped:
		return []string{verb("resume", "let it move again")}
	case phase.ApplicationNeedsOperator:
		repair := "Repair the workload: a new revision has a time of its own."
		if v.Placed {
			return []string{repair, verb("put-back", "back to where it was, as long as the old copy is held"), verb("release", "let the old copy go")}
		}
		return []string{repair, verb("approve", "move it once more, all the same"), verb("cancel", "do not move it")}
	case phase.ApplicationUnhealthy, phase.ApplicationQueued, phase.ApplicationMoving, phase.ApplicationBlocked, phase.ApplicationHealed,
		phase.ApplicationMigrated, phase.ApplicationTakenOver, phase.ApplicationCancelled, phase.ApplicationGone:
	}
	var first []string
	if v.Reason == reason.AwaitingApproval || v.Reason == reason.ApprovalExpired {
		first = []string{verb("approve", "let it move")}
	}
	first = append(first, verb("cancel", "do not move it; an unplaced move is put back"))
	if v.Phase == phase.ApplicationMoving {
		return first
	}
	return append(first, verb("snooze", "leave it where it is for a while", "--for 30m"))
}
