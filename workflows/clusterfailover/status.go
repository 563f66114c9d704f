package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// statusItems bounds the queued bindings in the answer to a query, which must fit into 2 MB.
const statusItems = 2000

// status is the answer to a query: of a long queue only a part.
func (e *failover) status() workflows.FailoverStatus {
	return e.answer(slices.Clone(e.st.Queue.MostTelling(statusItems)))
}

// answer is the state with some of the queue in full: a copy, in which what tolerates says when it is due.
func (e *failover) answer(shown []queue.Item) workflows.FailoverStatus {
	s := workflows.FailoverStatus{Instance: e.instance, Name: e.cluster, Now: e.now(), FailoverState: e.st, States: map[queue.State]int{}}
	s.WaitingBy = map[reason.Reason]int{}
	for _, i := range e.st.Items {
		s.States[i.State]++
		if i.State == queue.Due || i.State == queue.Ready || i.State == queue.Hold {
			s.WaitingBy[i.Reason]++
		}
	}
	s.BlockedBy, s.BlockedSince = e.st.Queue.BlockedBy(e.now())
	s.ETA = e.st.Queue.ETA(e.now(), e.st.Pace)
	s.Left = e.st.Queue.Owing()
	s.Items = shown
	for n := range s.Items {
		if i := &s.Items[n]; i.State == queue.Tolerating {
			i.RetryAt, _ = e.st.Queue.Due(e.now(), i)
		}
	}
	s.Folded, s.Later, s.LaterIdle = nil, nil, nil
	s.Approvals = slices.Clone(s.Approvals)
	for n := range s.Approvals {
		s.Approvals[n].Bindings = nil // Count tells how many
	}
	return s
}
