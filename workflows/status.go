package workflows

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// statusItems bounds the queued bindings in the answer to a query, which must fit into 2 MB.
const statusItems = 2000

// Status is the answer to a query: of a long queue only a part.
func (s *FailoverState) Status(instance, cluster string, now time.Time) FailoverStatus {
	out := s.snapshot(now, slices.Clone(s.Queue.MostTelling(statusItems)))
	out.Instance, out.Name = instance, cluster
	return out
}

// Shown is what the page shows: the first of the queue in each state. Of a long queue, Status has
// others, too.
func (s *FailoverState) Shown(instance, cluster string, now time.Time) *FailoverStatus {
	var first []queue.Item
	for _, state := range PageStates {
		for _, at := range s.Queue.First(now, state, PageLines) {
			first = append(first, s.Items[at])
		}
	}
	out := s.snapshot(now, first)
	out.Instance, out.Name = instance, cluster
	return &out
}

// snapshot is the state with some of the queue in full: a copy, in which what tolerates says when it is due.
func (s *FailoverState) snapshot(now time.Time, shown []queue.Item) FailoverStatus {
	out := FailoverStatus{Now: now, FailoverState: *s, States: map[queue.State]int{}}
	out.WaitingBy = map[reason.Reason]int{}
	for _, i := range s.Items {
		out.States[i.State]++
		if i.State == queue.Due || i.State == queue.Ready || i.State == queue.Hold {
			out.WaitingBy[i.Reason]++
		}
	}
	out.BlockedBy, out.BlockedSince = s.Queue.BlockedBy(now)
	out.ETA = s.Queue.ETA(now, s.Pace)
	out.Left = s.Queue.Owing()
	out.Items = shown
	for n := range out.Items {
		if i := &out.Items[n]; i.State == queue.Tolerating {
			i.RetryAt, _ = s.Queue.Due(now, i)
		}
	}
	out.Folded, out.Later, out.LaterIdle = nil, nil, nil
	out.Approvals = slices.Clone(out.Approvals)
	for n := range out.Approvals {
		out.Approvals[n].Bindings = nil // Count tells how many
	}
	return out
}
