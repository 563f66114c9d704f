package clusterfailover

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// maxStanding bounds each list of standing orders: they are carried from run to run.
const maxStanding = 500

// standing are the orders about bindings that hold until the failover closes: snoozes, pauses and
// priorities.
type standing struct{ *run }

// reindex brings what is looked up in line with the standing orders.
func (s *standing) reindex() { s.st.Standing, s.dirty = s.st.StandingOrders.Index(), true }

// refuseScoped says why an order about bindings that have not moved makes no sense as
// things stand; verb is what it would do to one of them.
func (s *standing) refuseScoped(verb string, o workflows.ScopedOrder) error {
	switch why := o.Check(); {
	case why != "":
		return flow.Refused(why)
	case s.st.Phase == phase.FailoverStopped:
		return flow.Refused("stopped by " + s.st.Stopped.Who + ": nothing is dispatched any more")
	case s.closing():
		return flow.Refused("it is being closed: nothing is dispatched any more")
	}
	if why := s.begun(verb, o.Scope); why != "" {
		return flow.Refused(why)
	}
	return flow.RefuseOrder(o.Order)
}

// begun says why nothing can be ordered ahead for one binding: its migration has begun, or
// it is none of this failover's. Before the first list that is unknown.
func (s *standing) begun(verb string, scope queue.Scope) string {
	if !scope.One() {
		return ""
	}
	m, moving := s.st.Migrations[scope.Binding.String()]
	switch {
	case moving && (m.Unwritten() || m.Holds), moving && verb == workflows.UpdatePause && !m.Placed:
		return "" // it comes back to the queue, or its cluster may have to be taken out again
	case moving:
		return "its move has begun; cancel it instead"
	case !moving && !s.st.Listed.IsZero() && s.st.Queue.Find(scope.Binding) < 0 && len(s.st.Later)+len(s.st.LaterIdle) == 0:
		return "it neither waits nor moves: nothing to " + verb
	}
	return ""
}

func (s *standing) refuseSnooze(o workflows.SnoozeOrder) error {
	d, wrong := queue.SnoozeFor(o.For)
	if wrong != "" {
		return flow.Refused(wrong)
	}
	if err := s.refuseScoped("snooze", o.ScopedOrder); err != nil {
		return err
	}
	if at := s.st.Queue.Find(o.Binding); o.One() && at >= 0 {
		if due, why := s.st.Queue.Due(s.now(), &s.st.Items[at]); why.Affected && due.After(s.now().Add(d)) {
			return flow.Refused(fmt.Sprintf("it is not due before %s, which is later: a snooze never brings a due time forward", view.Clock(due)))
		}
	}
	return roomFor(s.st.Snoozes, o.Scope)
}

// snooze keeps bindings from being due for a while. The longer of two stands.
func (s *standing) snooze(o workflows.SnoozeOrder) string {
	d, _ := queue.SnoozeFor(o.For)
	z := workflows.Snooze{ScopedOrder: o.ScopedOrder, At: s.now(), Until: s.now().Add(d)}
	n := s.tally(o.Scope, z.Until)
	s.trail.ordered(workflows.UpdateSnooze, o.Order, o.Scope, "until", moment(z.Until))
	s.st.StandingOrders.Snooze(z)
	s.reindex()
	out := fmt.Sprintf("snoozed %s until %s: %d due times moved later", o.Scope, view.Clock(z.Until), n.sooner)
	if n.later > 0 {
		out += fmt.Sprintf(", %d were later already and stay", n.later)
	}
	return out + n.notTouched()
}

func (s *standing) refusePause(o workflows.ScopedOrder) error {
	if o.Scope == (queue.Scope{}) || o.All {
		if o.All && o.Scope != (queue.Scope{All: true}) {
			return flow.Refused(o.Check())
		}
		return flow.RefuseOrder(o.Order)
	}
	if err := s.refuseScoped("pause", o); err != nil {
		return err
	}
	return roomFor(s.st.Pauses, o.Scope)
}

// pause stops dispatch of the whole failover, a namespace or one binding.
func (s *standing) pause(o workflows.ScopedOrder) string {
	s.trail.ordered(workflows.UpdatePause, o.Order, o.Scope)
	if o.Scope == (queue.Scope{}) || o.All {
		s.st.Paused, s.dirty = &o.Order, true
		return "paused: no new move begins"
	}
	p := workflows.ScopedPause{ScopedOrder: o, At: s.now()}
	s.st.StandingOrders.Pause(p)
	s.orders.scoped = append(s.orders.scoped, scopedVerb{workflows.UpdatePause, o})
	s.reindex()
	n := s.tally(o.Scope, time.Time{})
	return fmt.Sprintf("paused %s: %d queued, no new move of it begins; a recovery still cancels%s", o.Scope, n.sooner+n.later, n.notTouched())
}

// pausedByLifeboat is the name that pauses a failover beside a second evictor, or beside another actor that
// takes its taint away.
const pausedByLifeboat = "lifeboat"

// pauseItself pauses the whole failover by itself; the pause of an operator stands.
func (s *standing) pauseItself(why string) {
	if s.st.Paused == nil {
		s.st.Paused = &workflows.Order{Who: pausedByLifeboat, Reason: why}
	}
}

// endPause ends the pause of the whole failover.
func (s *standing) endPause() { s.st.Paused = nil }

// pauseBySignal is the way for when updates fail; a malformed one still pauses, the
// whole failover when it has no scope: pausing is the safe side.
func (s *standing) pauseBySignal(o workflows.ScopedOrder) {
	o.Who, o.Reason = reason.Summary(cmp.Or(o.Who, "signal")), reason.Summary(o.Reason)
	if o.Check() != "" || roomFor(s.st.Pauses, o.Scope) != nil {
		o.Scope = queue.Scope{}
	}
	s.pause(o)
}

// refuseScopedResume says why the pause of a namespace or a binding cannot be ended.
func (s *standing) refuseScopedResume(o workflows.Resume) error {
	switch why := o.Check(); {
	case why != "":
		return flow.Refused(why)
	case o.Enforce:
		return flow.Refused("enforce is for the whole failover, not for " + o.String())
	case !slices.ContainsFunc(s.st.Pauses, func(p workflows.ScopedPause) bool { return p.Scope == o.Scope }):
		if p := s.st.PausedBy(o.Binding); o.One() && p != nil {
			return flow.Refused(o.String() + " is paused with its " + p.String() + ", by " + p.Who + ": resume that")
		}
		return flow.Refused(o.String() + " is not paused by itself: nothing to resume")
	}
	return flow.RefuseOrder(o.Order)
}

// resumeScoped ends the pause of a namespace or of one binding.
func (s *standing) resumeScoped(o workflows.ScopedOrder) string {
	s.st.StandingOrders.Resume(o.Scope)
	s.orders.scoped = append(s.orders.scoped, scopedVerb{workflows.UpdateResume, o})
	s.reindex()
	return "resumed " + o.String() + s.stillPaused()
}

// stillPaused says what a resume did not end.
func (s *standing) stillPaused() string {
	var still []string
	if s.st.Paused != nil {
		still = append(still, "the whole failover (by "+s.st.Paused.Who+")")
	}
	for n, p := range s.st.Pauses {
		if n == 10 {
			still = append(still, fmt.Sprintf("%d more", len(s.st.Pauses)-n))
			break
		}
		still = append(still, p.String()+" (by "+p.Who+")")
	}
	if len(still) == 0 {
		return ""
	}
	return "; still paused: " + strings.Join(still, ", ")
}

func (s *standing) refusePrioritise(o workflows.PriorityOrder) error {
	if o.Priority == nil {
		return flow.Refused(`field "priority": missing; higher goes first, e.g. "priority": 100`)
	}
	if err := s.refuseScoped("prioritise", o.ScopedOrder); err != nil {
		return err
	}
	return roomFor(s.st.Priorities, o.Scope)
}

func (s *standing) prioritise(o workflows.PriorityOrder) string {
	s.trail.ordered(workflows.UpdatePrioritise, o.Order, o.Scope, "priority", strconv.Itoa(int(*o.Priority)))
	p := workflows.Priority{ScopedOrder: o.ScopedOrder, At: s.now(), Priority: *o.Priority}
	s.st.StandingOrders.Prioritise(p)
	s.reindex()
	n := s.tally(o.Scope, time.Time{})
	return fmt.Sprintf("priority %d for %s: %d queued, the pace stays as it is%s", p.Priority, o.Scope, n.sooner+n.later, n.notTouched())
}

// tally counts those that a taint moves and that are due before, or not before, a
// moment, and those whose move has begun.
func (s *standing) tally(scope queue.Scope, until time.Time) scopedTally {
	var n scopedTally
	n.sooner, n.later = s.st.Queue.Tally(s.now(), scope, until)
	for _, key := range workflow.DeterministicKeys(s.st.Migrations) {
		switch m := s.st.Migrations[key]; {
		case !scope.Covers(m.Key):
		case !m.Unwritten() && !m.Holds:
			n.moving++
		case until.IsZero():
			n.later++
		default: // due, and nothing of it is written yet: it holds its dependents, or waits for proof
			n.sooner++
		}
	}
	return n
}

// forgetSnoozes drops those that are over.
func (s *standing) forgetSnoozes() {
	if s.st.StandingOrders.Forget(s.now()) {
		s.st.Standing = s.st.StandingOrders.Index()
	}
}

// scopedTally counts the bindings that an order about a scope reaches.
type scopedTally struct{ sooner, later, moving int }

// notTouched says what an order about those that wait did not change.
func (n scopedTally) notTouched() string {
	if n.moving == 0 {
		return ""
	}
	return fmt.Sprintf("; not touched: %d moving, which go on", n.moving)
}

// roomFor refuses one entry too many; one that takes the place of another needs none.
func roomFor[T workflows.StandingOrder](list []T, scope queue.Scope) error {
	if len(list) < maxStanding || slices.ContainsFunc(list, func(x T) bool { return x.Of() == scope }) {
		return nil
	}
	return flow.Refused(fmt.Sprintf("%d such orders stand already; give one for the namespace, or for all", len(list)))
}

// waiting are the bindings of the queue, as time, taints and orders move them between its states.
type waiting struct {
	*run
	standing *standing
}

// block blocks an item with its reason until it is looked at again.
func (w *waiting) block(i *queue.Item, why reason.Reason, message string) {
	i.Block(w.now(), why, message, w.st.Terms.Recheck)
	w.trail.blocked(i)
}

// unblock has every blocked binding looked at again: the fleet changed.
func (w *waiting) unblock() {
	for at := range w.st.Items {
		w.lookAgain(at)
	}
}

// lookAgain has a blocked binding looked at now: what blocked it may have changed.
func (w *waiting) lookAgain(at int) {
	if w.st.Items[at].LookAgain() {
		w.dirty = true
	}
}

// sortOut moves items between states as time passes and taints change.
func (w *waiting) sortOut() {
	w.standing.forgetSnoozes()
	for at := range w.st.Items {
		w.sortOne(&w.st.Items[at])
	}
}

// sortOne is sortOut for one item.
func (w *waiting) sortOne(i *queue.Item) {
	change := w.st.Queue.Advance(w.now(), i, w.st.Terms.AskFor)
	if change.Blocked {
		w.trail.blocked(i)
	}
	if change.Entered {
		w.countQueued(i)
		due, why := w.st.Queue.Due(w.now(), i)
		w.trail.queued(i, due, why)
	}
}

// countQueued counts a binding that entered the queue, as Karmada's proposal counts it.
func (w *waiting) countQueued(i *queue.Item) {
	metrics := workflow.GetMetricsHandler(w.ctx).WithTags(map[string]string{"cluster": w.cluster})
	metrics.Counter("lifeboat_evict").Inc(1)
	metrics.WithTags(map[string]string{"kind": w.st.Queue.KindOf(i)}).Counter("lifeboat_evict_kind").Inc(1)
}

// heldBack takes an item out of dispatch that an operator's order reached since it passed
// its check.
func (w *waiting) heldBack(i *queue.Item) bool {
	was := i.State
	w.sortOne(i)
	return i.State != was
}

// paced takes the fleet's pace. While the pacer is halted toleration clocks stand still.
func (w *waiting) paced(m workflows.PaceChanged) {
	if m.Malformed() {
		w.log.Warn("ignored a malformed signal", "signal", workflows.SignalPaceChanged)
		return
	}
	was := w.st.Pace
	w.st.Pace = m.Pace
	w.freeze(m.Pace.Tier == pace.TierHalted)
	if was.Total != m.Pace.Total || !slices.Equal(was.Faulty, m.Pace.Faulty) {
		w.unblock()
	}
	w.dirty = true
}

func (w *waiting) freeze(halted bool) {
	if !w.st.Terms.FreezeWhenHalted {
		return
	}
	w.st.Queue.Halt(w.now(), halted)
}
