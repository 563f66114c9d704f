package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

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
	change := w.st.Queue.Sort(w.now(), i, w.st.Terms.AskFor)
	if change.Blocked {
		w.trail.blocked(i)
	}
	if change.Entered {
		w.countQueued(i)
		due, why := w.st.Queue.Due(w.now(), i)
		w.trail.queued(i, due, why)
	}
}

// countQueued counts a binding that entered the queue, as Karmada's proposal wants it counted.
func (w *waiting) countQueued(i *queue.Item) {
	metrics := workflow.GetMetricsHandler(w.ctx).WithTags(map[string]string{"cluster": w.cluster})
	metrics.Counter("lifeboat_evict").Inc(1)
	metrics.WithTags(map[string]string{"kind": w.st.Queue.KindOf(i)}).Counter("lifeboat_evict_kind").Inc(1)
}

// heldBack takes an item out of dispatch that a human's order reached since it passed
// its check.
func (w *waiting) heldBack(i *queue.Item) bool {
	was := i.State
	w.sortOne(i)
	return i.State != was
}

// paced takes the fleet's pace. While the pacer is halted toleration clocks stand still.
func (w *waiting) paced(m workflows.PaceChanged) {
	if m.Pace.Tier == "" || workflows.Oversized(m) {
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
