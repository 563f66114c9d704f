package clusterfailover

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
	"k8s.io/apimachinery/pkg/types"
)

// Of an attempt with many bindings only so much is kept binding by binding: a report
// and a query's answer must fit into 2 MB, what is carried over into 1 MB. Each move
// has its own workflow, with its own history; here its outcome is still counted.
const (
	maxDetails       = 1500 // results of the running attempt; beyond them the oldest are folded
	keepDetails      = 1000
	pastDetails      = 500 // of a closed attempt
	maxPendingPurges = 3000
	statusItems      = 2000 // queued bindings in the answer to a query
)

// fold moves old results into the counts. Those that a human must look after go last.
func (e *failover) fold() {
	if len(e.st.Results) <= maxDetails {
		return
	}
	extra := len(e.st.Results) - keepDetails
	for _, must := range []bool{false, true} {
		e.st.Results = slices.DeleteFunc(e.st.Results, func(r record.Result) bool {
			if extra <= 0 || !e.foldable(r) && (!must || e.binds(r)) {
				return false
			}
			extra--
			e.foldOne(r)
			return true
		})
		if len(e.st.Results) <= maxDetails {
			break
		}
	}
	e.order.results = nil
}

func (e *failover) foldable(r record.Result) bool {
	switch r.Outcome {
	case phase.OutcomeMigrated, phase.OutcomeMovedByOthers, phase.OutcomeGone:
		return true
	case phase.OutcomeAbandoned, phase.OutcomeWouldMove, phase.OutcomeWouldBlock:
		return e.closing()
	case phase.OutcomeRestored, phase.OutcomeKept, phase.OutcomeNeedsOperator, phase.OutcomeSkipped, phase.OutcomeBlocked:
	}
	return false
}

// binds: a human decided this in this attempt; folded, it would be forgotten and the
// binding be moved against the order.
func (e *failover) binds(r record.Result) bool {
	return !e.closing() && r.Cause != "" && r.Cause != record.CauseRecovery
}

func (e *failover) foldOne(r record.Result) { e.foldedInto(r.Outcome).Add(r.Key, r.UID) }

// foldedInto are the bindings with an outcome that are in the counts alone.
func (e *failover) foldedInto(outcome phase.Outcome) *queue.BindingSet {
	if e.st.Folded == nil {
		e.st.Folded = map[string]*queue.BindingSet{}
	}
	set := e.st.Folded[string(outcome)]
	if set == nil {
		set = &queue.BindingSet{}
		e.st.Folded[string(outcome)] = set
	}
	return set
}

// unfold takes a binding out of the folded results, and out of the counts: it gets
// another outcome.
func (e *failover) unfold(key karmada.BindingKey, uid types.UID) {
	for _, outcome := range workflow.DeterministicKeys(e.st.Folded) {
		if set := e.st.Folded[outcome]; set.Has(key, uid) {
			set.Remove(key, uid)
			e.st.Counts[outcome]--
		}
	}
}

// folded is how many outcomes are in the counts alone.
func (e *failover) folded() int {
	n := -len(e.st.Results)
	for _, outcome := range workflow.DeterministicKeys(e.st.Counts) {
		n += e.st.Counts[outcome]
	}
	return n
}

func (e *failover) owe(d *record.PendingPurge) {
	switch {
	case d == nil || slices.Contains(e.st.PendingPurges, *d): // one that came back and moved once more owes the same Work
	case len(e.st.PendingPurges) < maxPendingPurges:
		e.st.PendingPurges = append(e.st.PendingPurges, *d)
	default:
		e.st.PendingPurgesBeyond++
	}
}

// mostTelling are up to so many of the queued, those that no taint moves last.
func (e *failover) mostTelling(most int) []queue.Item {
	if len(e.st.Items) <= most {
		return e.st.Items
	}
	var idle, shown []queue.Item
	for _, i := range e.st.Items {
		switch {
		case i.State == queue.Idle:
			idle = append(idle, i)
		case len(shown) < most:
			shown = append(shown, i)
		}
	}
	return append(shown, idle[:min(len(idle), most-len(shown))]...)
}

// blockedBy counts the blocked by reason, and tells when the first of them was due.
func (e *failover) blockedBy() (by map[reason.Reason]int, since time.Time) {
	e.tick()
	by = map[reason.Reason]int{}
	for at := range e.st.Items {
		i := &e.st.Items[at]
		if i.State != queue.Blocked {
			continue
		}
		by[i.Reason]++
		if due, _ := e.due(i); !due.IsZero() && (since.IsZero() || due.Before(since)) {
			since = due
		}
	}
	return by, since
}

// status is the answer to a query: of a long queue only a part.
func (e *failover) status() workflows.FailoverStatus {
	s := workflows.FailoverStatus{Instance: e.instance, Name: e.cluster, Now: e.now(), FailoverState: e.st, Queue: map[queue.State]int{}}
	s.WaitingBy = map[reason.Reason]int{}
	for _, i := range e.st.Items {
		s.Queue[i.State]++
		if i.State == queue.Due || i.State == queue.Ready || i.State == queue.Hold {
			s.WaitingBy[i.Reason]++
		}
	}
	s.BlockedBy, s.BlockedSince = e.blockedBy()
	s.ETA = e.eta()
	for _, set := range e.st.Later {
		s.Left += set.Len()
	}
	s.Items = slices.Clone(e.mostTelling(statusItems))
	for n := range s.Items {
		if i := &s.Items[n]; i.State == queue.Tolerating {
			i.RetryAt, _ = e.due(i)
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
