package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"go.temporal.io/sdk/workflow"
)

// PageLines bounds the lines of each table before the page cuts them further.
const PageLines = 50

// PageStates are those of the queue that a page shows, the next ones first.
var PageStates = []queue.State{queue.Ready, queue.Hold, queue.Due, queue.Tolerating, queue.Paused, queue.Blocked}

// View is the failover as its page and the verbs show it.
func (s *FailoverStatus) View(now time.Time) view.Failover {
	v := view.Failover{
		Cluster: s.Name, Phase: s.Phase, Mode: s.Terms.Mode, Attempt: s.Attempt, Reason: s.Reason, Why: s.why(), Now: now,
		Since: s.Since, Entered: s.Entered, Confirmed: s.Confirmed, Counts: s.counts(), Pace: s.Pace, OwnRate: s.Cluster.OwnRate(), ETA: s.ETA,
		PausedBy: s.Paused.Line(), StoppedBy: s.Stopped.Line(), Orders: s.Lines(), Finished: newest(s.Results, view.LastFinished),
		Windows: view.WindowLines(s.Evidence(now)), PendingPurge: s.PendingPurges, Runbook: s.Terms.Runbook,
	}
	if d := s.Cluster.Drain; d != nil {
		v.DrainedBy = d.Who + ": " + d.Why
	}
	for _, o := range s.Cluster.Ordered {
		v.Tainted = append(v.Tainted, o.String()+" by "+o.Who+": "+o.Why)
	}
	for _, t := range s.Cluster.Foreign {
		v.Foreign = append(v.Foreign, t.Key+":"+string(t.Effect))
	}
	if n := len(s.TakenAway); n > 0 && !s.Disputed() { // a pause shows the second time
		v.TakenAway, v.PutBack = &s.TakenAway[n-1].AddedTaint, s.TakenAway[n-1].At
	}
	for _, f := range s.Frozen {
		if !f.To.IsZero() {
			v.Halted += f.To.Sub(f.From)
		}
	}
	s.viewQueue(&v)
	for _, key := range s.attentionFirst() {
		m := s.Migrations[key]
		v.Moving = append(v.Moving, view.Line{
			Binding: key, Phase: m.Phase, To: m.Targets(), Reason: m.Reason, Message: m.Message, Attention: m.Attention, Placed: m.Placed, At: m.PhaseSince(),
		})
	}
	return v
}

// Evidence is the evidence for a failure or a recovery, judged at a moment.
func (s *FailoverState) Evidence(judged time.Time) rules.Evidence {
	c := &s.Cluster
	return rules.Evidence{
		Windows: s.Windows, Judged: judged, Added: c.Added, Foreign: c.Foreign, Standing: c.Standing, Virtual: s.Virtual, SoftUnreadable: c.SoftUnreadable,
	}
}

// attentionFirst are the keys of the migrations that a page shows: first those that wait for an operator's confirmation, then
// the others that need attention.
func (s *FailoverStatus) attentionFirst() []string {
	keys := workflow.DeterministicKeys(s.Migrations)
	rank := func(key string) int {
		switch m := s.Migrations[key]; {
		case m.Attention == reason.None:
			return 2
		case view.WaitsForProof(m.Phase, m.Reason):
			return 0
		}
		return 1
	}
	slices.SortStableFunc(keys, func(a, b string) int { return rank(a) - rank(b) })
	return keys[:min(PageLines, len(keys))]
}

// newest are the last results, the newest first. One that took the place of another stands where that stood.
func newest(results []record.Result, most int) []record.Result {
	out := make([]record.Result, 0, most+1)
	for n := range slices.Backward(results) {
		r := &results[n]
		if len(out) == most && !r.At.After(out[most-1].At) {
			continue
		}
		at, _ := slices.BinarySearchFunc(out, r.At, func(x record.Result, at time.Time) int { return cmp.Or(at.Compare(x.At), -1) })
		out = slices.Insert(out, at, *r)[:min(len(out)+1, most)]
	}
	return out
}

// viewQueue shows which bindings are next, and which are blocked and why.
func (s *FailoverStatus) viewQueue(v *view.Failover) {
	items := slices.Clone(s.Items)
	waiting := s.Queue
	waiting.Standing = s.StandingOrders.Index()
	slices.SortStableFunc(items, func(a, b queue.Item) int {
		return cmp.Or(slices.Index(PageStates, a.State)-slices.Index(PageStates, b.State), queue.Compare(waiting.RankOf(v.Now, &a), waiting.RankOf(v.Now, &b)))
	})
	for _, i := range items {
		line := view.Line{Binding: i.Key.String(), Reason: i.Reason, Message: i.Message, To: i.To, Priority: waiting.Priority(&i)}
		if i.State == queue.Tolerating { // what is not tolerated any more is due
			line.At = i.RetryAt
		}
		switch {
		case i.State == queue.Blocked && len(v.Blocked) < PageLines:
			line.At = i.RetryAt
			v.Blocked = append(v.Blocked, line)
		case i.State != queue.Blocked && slices.Contains(PageStates, i.State) && len(v.Next) < PageLines:
			v.Next = append(v.Next, line)
		}
	}
}

// counts are how many bindings of this attempt stand where.
func (s *FailoverStatus) counts() view.Counts {
	c := view.Counts{
		Outcomes: map[phase.Outcome]int{}, Tolerating: s.States[queue.Tolerating], Blocked: s.States[queue.Blocked], BlockedBy: s.BlockedBy,
		Waiting: s.States[queue.Due] + s.States[queue.Ready] + s.States[queue.Hold] + s.States[queue.Paused] + s.States[queue.Fence] + s.Left,
	}
	for _, outcome := range workflow.DeterministicKeys(s.Counts) {
		if n := s.Counts[outcome]; n > 0 {
			c.Outcomes[phase.Outcome(outcome)] = n
			c.Settled += n
		}
	}
	for _, key := range workflow.DeterministicKeys(s.Migrations) {
		m := s.Migrations[key]
		switch {
		case m.Phase == phase.MigrationQueued:
			c.Waiting++
		case view.WaitsForProof(m.Phase, m.Reason):
			c.Unproven++
		default:
			c.Moving++
		}
		if m.Attention != reason.None {
			c.Attention++
		}
		if m.Attention != reason.None && !view.WaitsForProof(m.Phase, m.Reason) {
			c.Flagged++
		}
	}
	c.Attention += len(s.Attention)
	c.Affected = c.Settled + c.Moving + c.Unproven + c.Tolerating + c.Waiting + c.Blocked - s.BlockedBy[reason.SchedulerReturnsIt] // these have their outcome
	return c
}

// why says in words what the judgement rests on.
func (s *FailoverStatus) why() string {
	var parts []string
	if len(s.Attention) > 0 {
		parts = append(parts, "needs attention: "+reason.List(s.Attention))
	}
	if s.Cluster.Ready != "" {
		parts = append(parts, strings.TrimSpace("Ready="+s.Cluster.Ready+" "+s.Cluster.ReadyReason))
	}
	for _, t := range s.Cluster.Foreign {
		parts = append(parts, fmt.Sprintf("taint %s:%s put by others", t.Key, t.Effect))
	}
	for _, t := range s.Cluster.Added {
		if t.Rule != "" {
			parts = append(parts, fmt.Sprintf("taint %s:%s %s", t.Key, t.Effect, rules.RuleTitle(t.Rule)))
		}
	}
	return strings.Join(parts, ", ")
}

// View is the migration as its page and the verbs show it.
func (s *MigrationState) View(now time.Time) view.Migration {
	v := view.Migration{
		Binding: s.Ref.Key.String(), Resource: s.Resource, From: s.Ref.Cluster, To: s.To, Phase: s.Phase,
		Why: s.Why, Reason: s.Reason, Message: s.Message, Attention: s.Attention, Now: now, Began: s.Began, Entered: s.Entered, Written: s.Ref.Written,
		HealthySince: s.Proof.Since, MustHold: s.Terms.MinHealthy, Result: s.Result, Purge: s.Ref.Purge, State: s.Ref.State, Parent: s.Parent,
		Unproven: s.Terms.ReleaseUnproven, Runbook: s.Terms.Runbook, OfApplication: IsApplicationFailover(s.Parent),
	}
	if !v.Written.IsZero() {
		v.Flagged = v.Written.Add(s.Terms.GracefulTimeout)
	}
	if s.Ref.Fence != nil {
		v.Fence = s.Ref.Fence.String()
	}
	if s.OldWork != nil {
		v.OldWork = s.OldWork.Namespace + "/" + s.OldWork.Name
	}
	return v
}

// statusItems bounds the queued bindings in the answer to a query, which must fit into 2 MB.
const statusItems = 2000

// Status is the answer to a query: of a long queue only a part.
func (s *FailoverState) Status(instance, cluster string, now time.Time) FailoverStatus {
	return s.snapshot(instance, cluster, now, slices.Clone(s.Queue.MostTelling(statusItems)))
}

// Shown is what the page shows: the first of the queue in each state. Of a long queue, Status has
// others, too.
func (s *FailoverState) Shown(instance, cluster string, now time.Time) *FailoverStatus {
	var first []queue.Item
	for _, state := range PageStates {
		for _, at := range s.Queue.First(now, PageLines, queue.In(state)) {
			first = append(first, s.Items[at])
		}
	}
	out := s.snapshot(instance, cluster, now, first)
	return &out
}

// snapshot is the state with some of the queue in full: a copy, in which what tolerates says when it is due.
func (s *FailoverState) snapshot(instance, cluster string, now time.Time, shown []queue.Item) FailoverStatus {
	out := FailoverStatus{
		Instance: instance, Name: cluster, Now: now, FailoverState: *s,
		States: map[queue.State]int{}, WaitingBy: map[reason.Reason]int{},
	}
	for _, i := range s.Items {
		out.States[i.State]++
		if i.State == queue.Due || i.State == queue.Ready || i.State == queue.Hold {
			out.WaitingBy[i.Reason]++
		}
	}
	out.BlockedBy, out.BlockedSince = s.Queue.BlockedBy(now)
	out.ETA = s.Queue.ETA(now, s.Pace.AtMost(s.Cluster.OwnRate()))
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
		out.Approvals[n].Bindings = nil // Count says how many
	}
	return out
}
