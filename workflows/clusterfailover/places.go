package clusterfailover

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// counts are how many migrations there are.
type counts struct {
	inFlight int // from Checking to Placing
	proving  int // that wait for health, a fence or an operator
	follow   int // that wait for workloads of their policy
}

func (ms *migrations) counts() (c counts) {
	for _, key := range workflow.DeterministicKeys(ms.st.Migrations) {
		switch m := ms.st.Migrations[key]; {
		case follows(m):
			c.follow++
		case m.Placed || m.Phase == phase.MigrationAwaitingFence:
			c.proving++
		default:
			c.inFlight++
		}
	}
	return c
}

// follows reports whether a migration has said that it waits for workloads.
func follows(m workflows.Migration) bool { return m.Placed && m.Reason == reason.HeldForParents }

// onlyWait: every migration waits for a fence, or for workloads while something is blocked.
func (ms *migrations) onlyWait() bool {
	blocked := ms.st.Queue.Count(queue.In(queue.Blocked)) > 0
	for _, key := range workflow.DeterministicKeys(ms.st.Migrations) {
		m := ms.st.Migrations[key]
		fence := m.Phase == phase.MigrationAwaitingFence && !m.Placed
		if !fence && (!blocked || !follows(m)) {
			return false
		}
	}
	return true
}

func (c counts) waiting() int { return c.proving + c.follow }

// places are how many more bindings may begin, also should all that is in flight come to wait: following are those that
// follow workloads, others the rest. Followers that wait take no place of the others, up to as many as may be in flight.
func (c counts) places(terms activities.Terms) (following, others int) {
	begin := terms.InFlight - c.inFlight
	of := func(follows bool) int { return max(0, min(begin, c.mayWait(terms, follows)-c.inFlight)) }
	return of(true), of(false)
}

// mayWait is how many more bindings may wait, none where it is not above 0: of those that follow workloads, or of others.
func (c counts) mayWait(terms activities.Terms, follows bool) int {
	most := terms.Waiting
	if !follows {
		most += min(c.follow, terms.InFlight)
	}
	return most - c.waiting()
}
