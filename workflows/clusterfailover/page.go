package clusterfailover

import (
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// publish shows the newest state: the live page always, search attributes when
// phase or reason changed.
func (e *failover) publish() {
	if e.st.Phase != e.shown || e.st.Reason != e.shownReason {
		e.shown, e.shownReason = e.st.Phase, e.st.Reason
		_ = workflow.UpsertTypedSearchAttributes(e.ctx, workflows.SearchPhase.ValueSet(string(e.st.Phase)), workflows.SearchReason.ValueSet(string(e.st.Reason)))
	}
	s := e.answer(e.mostUrgent())
	workflow.SetCurrentDetails(e.ctx, view.FailoverPage(s.View(e.now())))
}

// mostUrgent are the first of the queue in each state: of a long queue, status has others, too.
func (e *failover) mostUrgent() []queue.Item {
	var out []queue.Item
	for _, state := range workflows.PageStates {
		for _, at := range e.st.Queue.First(e.now(), state, workflows.PageLines) {
			out = append(out, e.st.Items[at])
		}
	}
	return out
}
