package bindingmigration

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
)

// told is a message as an entry: an order by its verb, a verdict by its fact.
func told(h *random, in *interceptor.HandleSignalInput) entry {
	read := func(into any) {
		if err := converter.GetDefaultDataConverter().FromPayloads(in.Arg, into); err != nil {
			h.t.Error(err)
		}
	}
	e := entry{told: in.SignalName}
	switch in.SignalName {
	case workflows.SignalMigrationOrder:
		var o workflows.MigrationOrder
		read(&o)
		e.told = o.Verb
	case workflows.SignalRecover:
		var r workflows.Recover
		if read(&r); r.Cancelled != nil {
			e.told = workflows.UpdateCancel
		}
		e.answer = r
	case workflows.SignalBindingObserved:
		var f proof.BindingFact
		if read(&f); f.Verdict != nil {
			e.answer = activities.Observation{Held: true, Placed: f.Verdict.Placed, Health: f.Verdict.Health, SourceReady: f.Verdict.SourceReady}
		}
	}
	return e
}

// past is a history up to an arrow: what came since the last one, with what that one went by, is recent.
type past struct {
	*random
	all, recent []entry
	next        []entry
	now         time.Time
}

func (h *random) until(at int) past {
	p := past{random: h, all: h.entries[:at], next: h.entries[at+1:]}
	from := 0
	for n, e := range p.all {
		if e.arrow != "" {
			from = max(0, n-1) // and the answer that it went by
		}
	}
	if next := slices.IndexFunc(p.next, func(e entry) bool { return e.sent != "" }); next >= 0 {
		p.now = p.next[next].at // an arrow takes no time
	}
	p.recent = p.all[from:]
	return p
}

// look tells whether a recent look, verdict, or look of an act was so.
func (p past) look(so func(activities.Observation) bool) bool {
	return slices.ContainsFunc(p.recent, func(e entry) bool {
		o, is := lookOf(e)
		return is && so(o)
	})
}

func lookOf(e entry) (activities.Observation, bool) {
	switch answer := e.answer.(type) {
	case activities.Observation:
		return answer, true
	case activities.ActResult:
		return answer.Look, true
	default:
		return activities.Observation{}, false
	}
}

// acted tells whether an activity has recently ended so.
func (p past) acted(name string, ends ...activities.ActEnd) bool {
	return slices.ContainsFunc(p.recent, func(e entry) bool {
		out, is := e.answer.(activities.ActResult)
		return is && e.act == name && slices.Contains(ends, out.End)
	})
}

func (p past) evicted(ends ...activities.EvictEnd) bool {
	return slices.ContainsFunc(p.recent, func(e entry) bool {
		out, is := e.answer.(activities.EvictResult)
		return is && slices.Contains(ends, out.End)
	})
}

// told tells whether one of these was ever told.
func (p past) told(names ...string) bool {
	return slices.ContainsFunc(p.all, func(e entry) bool { return slices.Contains(names, e.told) })
}

func (p past) ordered() bool {
	return p.told(workflows.UpdateCancel, workflows.SignalRecover)
}

func (p past) wasSent(name string) bool {
	return slices.ContainsFunc(p.all, func(e entry) bool { return e.sent == name })
}

// healthyFor is for how long no look has found it unhealthy, since the first that found it healthy.
func (p past) healthyFor() time.Duration {
	var since time.Time
	for _, e := range p.all {
		o, is := lookOf(e)
		switch {
		case !is:
		case !o.Health.OK && e.act == activities.NameObserve:
			since = time.Time{}
		case o.Health.OK && since.IsZero():
			since = e.at
		}
	}
	if since.IsZero() {
		return -1
	}
	return p.now.Sub(since)
}

// written is for how long the task is known to stand.
func (p past) written() time.Duration {
	for n, e := range p.all {
		if e.arrow == phase.EventWriteStands || e.arrow == phase.EventAdopted {
			return p.now.Sub(p.all[n-1].at)
		}
	}
	return -1
}

func (p past) directly() bool {
	return p.start.Ref.Purge == karmada.PurgeDirectly || p.look(func(o activities.Observation) bool { return o.Purge == karmada.PurgeDirectly })
}

func gone(o activities.Observation) bool       { return o.Gone }
func held(o activities.Observation) bool       { return o.Held }
func placed(o activities.Observation) bool     { return o.Placed.OK }
func unplaced(o activities.Observation) bool   { return !o.Placed.OK }
func sourceGone(o activities.Observation) bool { return o.SourceGone }

// facts are what each event says has happened.
var facts = map[phase.MigrationEvent]func(past) bool{
	phase.EventDependentsHeld: func(p past) bool {
		return slices.ContainsFunc(p.recent, func(e entry) bool {
			out, is := e.answer.(activities.DependentsResult)
			return is && out.Reason == reason.None
		})
	},
	phase.EventWriteSent: func(p past) bool {
		next := slices.IndexFunc(p.next, func(e entry) bool { return e.sent != "" })
		return next >= 0 && p.next[next].sent == activities.NameEvict
	},
	phase.EventWriteStands: func(p past) bool { return p.evicted(activities.EvictWritten) || p.look(held) },
	phase.EventAdopted:     func(p past) bool { return !p.wasSent(activities.NameEvict) && p.look(held) },
	phase.EventFenceAsked: func(p past) bool {
		return p.directly() && (p.start.Start == workflows.StartAwaitFence || p.look(placed) || p.ordered() || p.told(workflows.UpdatePutBack) || p.acted(activities.NameRelease, activities.ActRefused))
	},
	phase.EventFenced: func(p past) bool {
		return p.look(func(o activities.Observation) bool { return o.OldWork == nil || o.FenceStands })
	},
	phase.EventOldCopyGone:   func(p past) bool { return p.look(func(o activities.Observation) bool { return o.OldWork == nil }) },
	phase.EventPlaced:        func(p past) bool { return p.look(placed) },
	phase.EventUnplaced:      func(p past) bool { return p.look(unplaced) },
	phase.EventProvenHealthy: func(p past) bool { return p.healthyFor() >= p.start.Terms.MinHealthy },
	phase.EventGracefulTimeout: func(p past) bool {
		return p.start.Terms.ReleaseUnproven && p.written() > p.start.Terms.GracefulTimeout
	},
	phase.EventReleaseOrdered: func(p past) bool { return p.told(workflows.UpdateRelease) },
	phase.EventSourceGone:     func(p past) bool { return p.look(sourceGone) },
	phase.EventReleaseRefused: func(p past) bool { return p.acted(activities.NameRelease, activities.ActRefused) },
	phase.EventReleased: func(p past) bool {
		return p.acted(activities.NameRelease, activities.ActDone, activities.ActAlready)
	},
	phase.EventCalledOff: func(p past) bool {
		return p.told(workflows.UpdateCancel, workflows.UpdatePutBack, workflows.UpdateRelease)
	},
	phase.EventRecovered: func(p past) bool {
		back := func(o activities.Observation) bool { return o.StraightBack || !o.Placed.OK }
		return p.told(workflows.SignalRecover, workflows.UpdateCancel) && p.look(back)
	},
	phase.EventRestoreOrdered: func(p past) bool { return p.told(workflows.UpdateCancel, workflows.UpdatePutBack) },
	phase.EventReturned:       func(p past) bool { return p.look(func(o activities.Observation) bool { return !o.Held && o.Targeted }) },
	phase.EventRestoreRefused: func(p past) bool { return p.acted(activities.NameRestore, activities.ActRefused) },
	phase.EventTaskDropped:    func(p past) bool { return p.look(func(o activities.Observation) bool { return !o.Held }) },

	phase.EventOf(phase.OutcomeGone): func(p past) bool {
		orphaned := func(e entry) bool { w, is := e.answer.(activities.WorkState); return is && w.Orphaned }
		return p.look(gone) || p.evicted(activities.EvictGone) || slices.ContainsFunc(p.recent, orphaned) ||
			p.acted(activities.NameRelease, activities.ActGone) || p.acted(activities.NameRestore, activities.ActGone) || p.acted(activities.NameMarkTask, activities.ActGone)
	},
	phase.EventOf(phase.OutcomeBlocked): func(p past) bool {
		refused := p.evicted(activities.EvictRefused, activities.EvictNotAffected, activities.EvictClusterGone)
		failed := func(e entry) bool { return e.act == activities.NameHoldDependents || e.act == "unheard" }
		stays := func(o activities.Observation) bool { return o.SourceGone || !o.Held && o.Targeted }
		return !p.ordered() && (refused || p.look(stays) || slices.ContainsFunc(p.recent, failed))
	},
	phase.EventOf(phase.OutcomeAbandoned): func(p past) bool { return p.ordered() && !p.evicted(activities.EvictWritten) },
	phase.EventOf(phase.OutcomeMovedByOthers): func(p past) bool {
		elsewhere := func(o activities.Observation) bool { return !o.Held && !o.Targeted }
		return p.evicted(activities.EvictElsewhere) || p.look(elsewhere)
	},
	phase.EventOf(phase.OutcomeSkipped): func(p past) bool { return p.evicted(activities.EvictOptedOut) },
	phase.EventOf(phase.OutcomeNeedsOperator): func(p past) bool {
		noted := func(o activities.Observation) bool { return o.TaskNote != "" }
		return p.start.Ref.Named || p.look(noted) || p.wasSent(activities.NameMarkTask) || p.acted(activities.NameRestore, activities.ActRefused)
	},
	phase.EventOf(phase.OutcomeKept):     func(p past) bool { return p.wasSent(activities.NameMarkTask) },
	phase.EventOf(phase.OutcomeMigrated): func(p past) bool { return p.wasSent(activities.NameRelease) },
	phase.EventOf(phase.OutcomeRestored): func(p past) bool {
		return p.look(func(o activities.Observation) bool { return o.Targeted && o.Observed && !o.Held })
	},
}
