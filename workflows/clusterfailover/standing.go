package clusterfailover

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// maxStanding bounds each list of standing orders: they are carried from run to run.
const maxStanding = 500

// ordered brings what is looked up in line with the standing orders.
func (e *failover) ordered() { e.st.Standing, e.dirty = e.st.StandingOrders.Index(), true }

// refuseScoped says why an order about bindings that have not moved makes no sense as
// things stand; verb is what it would do to one of them.
func (e *failover) refuseScoped(verb string, o workflows.ScopedOrder) error {
	switch why := o.Check(); {
	case why != "":
		return flow.Refused(why)
	case e.st.Phase == phase.FailoverStopped:
		return flow.Refused("stopped by " + e.st.Stopped.Who + ": nothing is dispatched any more")
	case e.closing():
		return flow.Refused("it is being closed: nothing is dispatched any more")
	}
	if why := e.begun(verb, o.Scope); why != "" {
		return flow.Refused(why)
	}
	return flow.RefuseOrder(o.Order)
}

// begun says why nothing can be ordered ahead for one binding: its move has begun, or
// it is none of this failover's. Before the first list nobody can tell.
func (e *failover) begun(verb string, scope queue.Scope) string {
	if !scope.One() {
		return ""
	}
	m, moving := e.st.Moves[scope.Binding.String()]
	switch {
	case moving && (m.Phase == phase.MigrationAwaitingFence || m.Holds), moving && verb == workflows.UpdatePause && !m.Placed:
		return "" // it comes back to the queue, or its cluster may have to be taken out again
	case moving:
		return "its move has begun; cancel it instead"
	case !moving && !e.st.Listed.IsZero() && e.st.Queue.Find(scope.Binding) < 0 && !e.st.Queue.LeftBehind():
		return "it neither waits nor moves: nothing to " + verb
	}
	return ""
}

func (e *failover) refuseSnooze(o workflows.SnoozeOrder) error {
	d, wrong := queue.SnoozeFor(o.For)
	if wrong != "" {
		return flow.Refused(wrong)
	}
	if err := e.refuseScoped("snooze", o.ScopedOrder); err != nil {
		return err
	}
	if at := e.st.Queue.Find(o.Binding); o.One() && at >= 0 {
		if due, why := e.st.Queue.Due(e.now(), &e.st.Items[at]); why.Affected && due.After(e.now().Add(d)) {
			return flow.Refused(fmt.Sprintf("it is not due before %s, which is later: a snooze never brings a due time forward", clock(due)))
		}
	}
	return roomFor(e.st.Snoozes, o.Scope)
}

// snooze keeps bindings from being due for a while. The longer of two stands.
func (e *failover) snooze(o workflows.SnoozeOrder) string {
	d, _ := queue.SnoozeFor(o.For)
	z := workflows.Snooze{ScopedOrder: o.ScopedOrder, At: e.now(), Until: e.now().Add(d)}
	n := e.tally(o.Scope, z.Until)
	e.trail.order(workflows.UpdateSnooze, o.Order, o.Scope, "until", moment(z.Until))
	at := slices.IndexFunc(e.st.Snoozes, func(x workflows.Snooze) bool { return x.Scope == z.Scope })
	switch {
	case at < 0:
		e.st.Snoozes = append(e.st.Snoozes, z)
	case e.st.Snoozes[at].Until.Before(z.Until):
		e.st.Snoozes[at] = z
	}
	e.ordered()
	out := fmt.Sprintf("snoozed %s until %s: %d due times moved later", o.Scope, clock(z.Until), n.sooner)
	if n.later > 0 {
		out += fmt.Sprintf(", %d were later already and stay", n.later)
	}
	return out + n.notTouched()
}

// clock shows a moment of this failover to a human.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

func (e *failover) refusePause(o workflows.ScopedOrder) error {
	if o.Scope == (queue.Scope{}) || o.All {
		if o.All && o.Scope != (queue.Scope{All: true}) {
			return flow.Refused(o.Check())
		}
		return flow.RefuseOrder(o.Order)
	}
	if err := e.refuseScoped("pause", o); err != nil {
		return err
	}
	return roomFor(e.st.Pauses, o.Scope)
}

// pause stops dispatch of the whole failover, a namespace or one binding.
func (e *failover) pause(o workflows.ScopedOrder) string {
	e.trail.order(workflows.UpdatePause, o.Order, o.Scope)
	if o.Scope == (queue.Scope{}) || o.All {
		e.st.Paused, e.dirty = &o.Order, true
		return "paused: no new move begins"
	}
	p := workflows.ScopedPause{ScopedOrder: o, At: e.now()}
	e.st.Pauses = append(slices.DeleteFunc(e.st.Pauses, func(x workflows.ScopedPause) bool { return x.Scope == p.Scope }), p)
	e.orders.scoped = append(e.orders.scoped, scopedVerb{workflows.UpdatePause, o})
	e.ordered()
	return fmt.Sprintf("paused %s: no new move of it begins; a recovery still cancels%s", o.Scope, e.tally(o.Scope, time.Time{}).notTouched())
}

// pauseBySignal is the way for when updates fail; a malformed one still pauses, the
// whole failover when it does not say whom: pausing is the safe side.
func (e *failover) pauseBySignal(o workflows.ScopedOrder) {
	if o.Who == "" {
		o.Who = "signal"
	}
	o.Who, o.Reason = reason.Summary(o.Who), reason.Summary(o.Reason)
	if o.Check() != "" || roomFor(e.st.Pauses, o.Scope) != nil {
		o.Scope = queue.Scope{}
	}
	e.pause(o)
}

// refuseScopedResume says why the pause of a namespace or a binding cannot be ended.
func (e *failover) refuseScopedResume(o workflows.Resume) error {
	switch why := o.Check(); {
	case why != "":
		return flow.Refused(why)
	case o.Enforce:
		return flow.Refused("enforce is for the whole failover, not for " + o.String())
	case !slices.ContainsFunc(e.st.Pauses, func(p workflows.ScopedPause) bool { return p.Scope == o.Scope }):
		if p := e.st.PausedBy(o.Binding); o.One() && p != nil {
			return flow.Refused(o.String() + " is paused with its " + p.String() + ", by " + p.Who + ": resume that")
		}
		return flow.Refused(o.String() + " is not paused by itself: nothing to resume")
	}
	return flow.RefuseOrder(o.Order)
}

// resumeScoped ends the pause of a namespace or of one binding.
func (e *failover) resumeScoped(o workflows.ScopedOrder) string {
	e.st.Pauses = slices.DeleteFunc(e.st.Pauses, func(p workflows.ScopedPause) bool { return p.Scope == o.Scope })
	e.orders.scoped = append(e.orders.scoped, scopedVerb{workflows.UpdateResume, o})
	e.ordered()
	return "resumed " + o.String() + e.stillPaused()
}

// stillPaused says what a resume did not end.
func (e *failover) stillPaused() string {
	var still []string
	if e.st.Paused != nil {
		still = append(still, "the whole failover (by "+e.st.Paused.Who+")")
	}
	for n, p := range e.st.Pauses {
		if n == 10 {
			still = append(still, fmt.Sprintf("%d more", len(e.st.Pauses)-n))
			break
		}
		still = append(still, p.String()+" (by "+p.Who+")")
	}
	if len(still) == 0 {
		return ""
	}
	return "; still paused: " + strings.Join(still, ", ")
}

func (e *failover) refusePrioritise(o workflows.PriorityOrder) error {
	if o.Priority == nil {
		return flow.Refused(`field "priority": missing; higher goes first, e.g. "priority": 100`)
	}
	if err := e.refuseScoped("prioritise", o.ScopedOrder); err != nil {
		return err
	}
	return roomFor(e.st.Priorities, o.Scope)
}

func (e *failover) prioritise(o workflows.PriorityOrder) string {
	e.trail.order(workflows.UpdatePrioritise, o.Order, o.Scope, "priority", strconv.Itoa(int(*o.Priority)))
	p := workflows.Priority{ScopedOrder: o.ScopedOrder, At: e.now(), Priority: *o.Priority}
	e.st.Priorities = append(slices.DeleteFunc(e.st.Priorities, func(x workflows.Priority) bool { return x.Scope == p.Scope }), p)
	e.ordered()
	n := e.tally(o.Scope, time.Time{})
	return fmt.Sprintf("priority %d for %s: %d queued, the pace stays as it is%s", p.Priority, o.Scope, n.sooner+n.later, n.notTouched())
}

// scopedTally counts whom an order about a scope reaches.
type scopedTally struct{ sooner, later, moving int }

// tally counts those that a taint moves and that are due before, or not before, a
// moment, and those whose move has begun.
func (e *failover) tally(scope queue.Scope, until time.Time) scopedTally {
	var n scopedTally
	for at := range e.st.Items {
		i := &e.st.Items[at]
		if !scope.Covers(i.Key) || i.Permanent {
			continue
		}
		switch due, d := e.st.Queue.Due(e.now(), i); {
		case !d.Affected:
		case due.Before(until):
			n.sooner++
		default:
			n.later++
		}
	}
	for _, key := range workflow.DeterministicKeys(e.st.Moves) {
		switch m := e.st.Moves[key]; {
		case !scope.Covers(m.Key):
		case m.Phase != phase.MigrationAwaitingFence && !m.Holds:
			n.moving++
		case until.IsZero():
			n.later++
		default: // due, and nothing of it is written yet: it holds its dependents, or waits for proof
			n.sooner++
		}
	}
	return n
}

// notTouched says what an order about those that wait did not change.
func (n scopedTally) notTouched() string {
	if n.moving == 0 {
		return ""
	}
	return fmt.Sprintf("; not touched: %d moving, which go on", n.moving)
}

// scopes are entries of a list of standing orders.
type scopes interface{ Of() queue.Scope }

// roomFor refuses one entry too many; one that takes the place of another needs none.
func roomFor[T scopes](list []T, scope queue.Scope) error {
	if len(list) < maxStanding || slices.ContainsFunc(list, func(x T) bool { return x.Of() == scope }) {
		return nil
	}
	return flow.Refused(fmt.Sprintf("%d such orders stand already; give one for the namespace, or for all", len(list)))
}

// scopedVerb is a pause of a scope, or its end, that moves on their way hear of.
type scopedVerb struct {
	verb string
	workflows.ScopedOrder
}

// obeyScoped tells those that are not placed: the scheduler may put their cluster back,
// and it is not taken out again while they are paused.
func (e *failover) obeyScoped(v scopedVerb) {
	for _, key := range workflow.DeterministicKeys(e.st.Moves) {
		m, still := e.st.Moves[key]
		if still && !m.Placed && v.Covers(m.Key) && (v.verb == workflows.UpdatePause) == e.st.Queue.IsPaused(m.Key) {
			e.signalMove(m, workflows.SignalMigrationOrder, workflows.MigrationOrder{CancelOrder: workflows.CancelOrder{Order: v.Order}, Verb: v.verb})
		}
	}
}

// heldBack takes an item out of dispatch that a human's order reached since it passed
// its check.
func (e *failover) heldBack(i *queue.Item) bool {
	was := i.State
	e.sortOne(i)
	return i.State != was
}

// forgetSnoozes drops those that are over.
func (e *failover) forgetSnoozes() {
	now, had := e.now(), len(e.st.Snoozes)
	e.st.Snoozes = slices.DeleteFunc(e.st.Snoozes, func(z workflows.Snooze) bool { return !z.Until.After(now) })
	if len(e.st.Snoozes) != had {
		e.st.Standing = e.st.StandingOrders.Index()
	}
}
