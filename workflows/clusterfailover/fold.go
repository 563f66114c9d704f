package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// Of an attempt with many bindings only so much is kept binding by binding: a report
// and a query's answer must fit into 2 MB, what is carried over into 1 MB. Each move
// has its own workflow, with its own history; here its outcome is still counted.
const (
	pastDetails = 500  // of a closed attempt
	statusItems = 2000 // queued bindings in the answer to a query
)

// status is the answer to a query: of a long queue only a part.
func (e *failover) status() workflows.FailoverStatus {
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
	s.Items = slices.Clone(e.st.Queue.MostTelling(statusItems))
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

// file keeps the one outcome of a binding in an attempt that is over: a later word about
// it takes the place of an earlier one.
func file(p *workflows.AttemptReport, r record.Result) {
	at := slices.IndexFunc(p.Results, func(x record.Result) bool { return x.Key == r.Key && x.UID == r.UID })
	if at >= 0 {
		p.Counts[string(p.Results[at].Outcome)]--
		p.Results[at] = r
	} else {
		p.Results = append(p.Results, r)
	}
	p.Counts[string(r.Outcome)]++
}
