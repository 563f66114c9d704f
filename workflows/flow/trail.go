package flow

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"
)

const (
	// auditEvery is how long records that are not urgent are gathered: each batch costs history.
	auditEvery = 10 * time.Second
	// auditBatch, auditNames and auditBytes bound a batch: in records, in bindings that they
	// name, and in bytes as it is sent.
	auditBatch = 200
	auditNames = 5000
	auditBytes = 1_500_000
	// sameSaid is of how many bindings one record may tell the same.
	sameSaid = 500
	// maxPending and maxNames bound what waits, in records and in bindings that they name.
	maxPending = 2000
	maxNames   = 200_000 // a list of 100,000 and what is said of them next
	// CarryNames is how many names a run hands on to the next: with more of them, and a sink that
	// works, it does not continue as new.
	CarryNames = 10_000
	// sinkAway is from when on a sink does not work.
	sinkAway = 30 * time.Second
	// LastRecords is for how long a batch of the last records may hold up a workflow that is done.
	LastRecords = 5 * time.Second
)

// TrailWriter writes a workflow's records down, batch by batch, in a coroutine of its own:
// nothing waits for it.
type TrailWriter struct {
	TrailOptions
	ctx    workflow.Context
	log    log.Logger
	trail  *workflows.Trail
	out    int  // how many of Pending are on their way
	urgent bool // an operator may be reading along
	last   bool // the workflow is done: what is not written soon is lost
	same   map[string]int
}

// TrailOptions is what a workflow gives its trail.
type TrailOptions struct {
	// Dirty wakes the main loop.
	Dirty *bool
	// On reports whether there is a trail.
	On func() bool
	// Source is whose records they are.
	Source func() activities.AuditSource
}

// NewTrailWriter begins a run's part of the trail. It takes over what the run before left to be written, nil for nothing.
func NewTrailWriter(ctx workflow.Context, left **workflows.Trail, of TrailOptions) TrailWriter {
	trail := cmp.Or(*left, &workflows.Trail{})
	*left = nil
	return TrailWriter{ctx: ctx, log: workflow.GetLogger(ctx), trail: trail, TrailOptions: of, same: map[string]int{}}
}

// Leave is what is carried over: what is not known to be written, of at most so many names.
func (s *TrailWriter) Leave(names int) *workflows.Trail {
	s.out = 0 // what is on its way is sent again: readers recognise it by its id
	s.bound(maxPending, names)
	return s.trail
}

// Forget loses what waits, as there is no trail.
func (s *TrailWriter) Forget() { s.trail.Pending = nil }

// Shrink makes room in what is carried over: false when there is nothing left to lose.
func (s *TrailWriter) Shrink() bool {
	if len(s.trail.Pending) == 0 {
		return false
	}
	s.bound(0, 0)
	return true
}

// AddEvidence adds pairs of a name and what it says to evidence, which is made where there
// is none; what says nothing is left out.
func AddEvidence(to map[string]string, pairs ...string) map[string]string {
	for n := 0; n+1 < len(pairs); n += 2 {
		if pairs[n+1] == "" {
			continue
		}
		if to == nil {
			to = map[string]string{}
		}
		to[pairs[n]] = pairs[n+1]
	}
	return to
}

// Active reports whether there is a trail.
func (s *TrailWriter) Active() bool { return s.On != nil && s.On() }

// Add keeps a record until it is written. What a batch says of many bindings at one
// moment is one record.
func (s *TrailWriter) Add(r record.Audit) {
	if !s.Active() {
		return
	}
	if r.Time.IsZero() {
		r.Time = workflow.Now(s.ctx)
	}
	mass := r.ID == "" && len(r.Bindings) == 1 && r.Evidence["permit"] == ""
	if mass && s.joined(r) {
		return
	}
	if r.ID == "" {
		r.ID = s.number()
	}
	s.trail.Pending = append(s.trail.Pending, r)
	s.bound(maxPending, maxNames)
}

// AddUrgent is Add for what an operator who reads along should see at once.
func (s *TrailWriter) AddUrgent(r record.Audit) {
	s.urgent = true
	s.Add(r)
}

// AddActs passes on what a migration did, under its own workflow id, failover and attempt.
func (s *TrailWriter) AddActs(id string, r activities.MigrationReport) {
	for _, did := range r.Acts {
		did.Bindings, did.Attempt, did.Workflow = About(r.Key), r.Attempt, id
		if r.FailoverID != s.Source().FailoverID {
			did.FailoverID = r.FailoverID
		}
		s.Add(did)
	}
}

// AddOutcome records the outcome of a binding in an attempt.
func (s *TrailWriter) AddOutcome(attempt int, x record.Result) {
	var fence, owed string
	if x.Fence != nil {
		fence = x.Fence.String()
	}
	if x.PendingPurge != nil {
		owed = x.PendingPurge.Namespace + "/" + x.PendingPurge.Work
	}
	s.Add(record.Audit{
		Kind: record.AuditBindingOutcome, Attempt: attempt, Bindings: About(x.Key), Resource: x.Resource, Time: x.At,
		Outcome: x.Outcome, Reason: x.Reason, Message: x.Message, Cause: x.Cause, To: x.To,
		Evidence: AddEvidence(nil, "fence", fence, "pendingPurge", owed),
	})
}

func (s *TrailWriter) number() string {
	s.trail.Seq++
	return strconv.FormatInt(s.trail.Seq, 10)
}

// joined adds a binding to a record that says the same.
func (s *TrailWriter) joined(r record.Audit) bool {
	name := r.Bindings
	r.Bindings, r.Resource = nil, ""
	key := fmt.Sprintf("%+v", r)
	at, known := s.same[key]
	if !known || len(s.trail.Pending[at].Bindings) >= sameSaid {
		s.same[key] = len(s.trail.Pending)
		return false
	}
	s.trail.Pending[at].Bindings = append(s.trail.Pending[at].Bindings, name...)
	s.trail.Pending[at].Resource = ""
	return true
}

// bound loses the oldest of too many, and says so.
func (s *TrailWriter) bound(records, names int) {
	if len(s.trail.Pending) <= records && len(s.trail.Pending)*sameSaid <= names {
		return
	}
	named, lost := s.names(), 0
	for len(s.trail.Pending) > max(records, s.out) || named > names && len(s.trail.Pending) > s.out {
		oldest := s.trail.Pending[s.out]
		named -= len(oldest.Bindings)
		s.trail.Pending = slices.Delete(s.trail.Pending, s.out, s.out+1)
		lost++
	}
	if lost == 0 {
		return
	}
	s.same = map[string]int{}
	s.lose(lost)
}

func (s *TrailWriter) lose(n int) {
	s.trail.Lost += n
	workflow.GetMetricsHandler(s.ctx).Counter("lifeboat_audit_lost").Inc(int64(n))
	s.log.Error("audit records are lost: the trail's sink has been away for too long", "records", n)
}

// waits reports whether there are records to be sent, and that none are on their way.
func (s *TrailWriter) waits() bool { return s.Active() && s.out == 0 && len(s.trail.Pending) > 0 }

// Wake is when the next batch is due, zero for none.
func (s *TrailWriter) Wake() time.Time {
	if !s.waits() {
		return time.Time{}
	}
	return s.trail.Sent.Add(auditEvery)
}

// Flush sends a batch when it is time for one.
func (s *TrailWriter) Flush() {
	batch := func() bool { return len(s.trail.Pending) >= auditBatch || s.names() >= auditNames }
	if s.waits() && (s.urgent || s.last || !workflow.Now(s.ctx).Before(s.Wake()) || batch()) {
		s.send()
	}
}

// names is how many bindings the waiting records name.
func (s *TrailWriter) names() int {
	n := 0
	for _, r := range s.trail.Pending {
		n += len(r.Bindings)
	}
	return n
}

func (s *TrailWriter) send() {
	n, names, bytes := 0, 0, 0
	for ; n < min(auditBatch, len(s.trail.Pending)); n++ {
		names, bytes = names+len(s.trail.Pending[n].Bindings), bytes+workflows.SizeOf(s.trail.Pending[n])
		if (names > auditNames || bytes > auditBytes) && n > 0 {
			break
		}
	}
	s.out, s.urgent, s.trail.Sent, s.same = n, false, workflow.Now(s.ctx), map[string]int{}
	ctx := Doing(s.ctx, fmt.Sprintf("append %d records to the audit trail", n))
	if s.last {
		ctx = workflow.WithScheduleToCloseTimeout(ctx, LastRecords)
	}
	request := activities.AuditRequest{Source: s.Source(), Records: s.trail.Pending[:n]}
	future := workflow.ExecuteActivity(ctx, activities.NameRecordAudit, request)
	workflow.Go(s.ctx, func(ctx workflow.Context) { s.sent(future.Get(ctx, nil)) })
}

// sent takes the end of a batch. One that failed for good stays, and is sent again.
func (s *TrailWriter) sent(err error) {
	n := s.out
	s.out = 0
	if err != nil {
		s.log.Error("could not append to the audit trail", "error", err)
		return
	}
	s.trail.Pending = slices.Clone(s.trail.Pending[n:])
	s.same = map[string]int{}
	if s.trail.Lost > 0 {
		lost := s.trail.Lost
		s.trail.Lost = 0
		s.Add(record.Audit{Kind: record.AuditRecordsLost, Evidence: map[string]string{"records": strconv.Itoa(lost)}})
	}
	if s.Flush(); s.waits() {
		*s.Dirty = true // the main loop has to wake for it
	}
}

// MayContinue reports whether a run may continue as new: with a long list still to be written that
// would carry it all.
func (s *TrailWriter) MayContinue() bool {
	if !s.Active() || s.out > 0 && workflow.Now(s.ctx).Sub(s.trail.Sent) > sinkAway {
		return true
	}
	return s.names() <= CarryNames
}

// Finish gives the last records a moment to be written. It returns how many are lost all the same.
func (s *TrailWriter) Finish() (lost int) {
	if !s.Active() {
		return 0
	}
	s.last = true
	sent := func() bool { return s.out == 0 }
	if s.out > 0 { // that batch has no bound of its own
		_ = AwaitFor(s.ctx, LastRecords, "let the last audit records be written", sent)
	}
	if sent() {
		s.Flush()
		_ = workflow.Await(s.ctx, sent)
	}
	if left := len(s.trail.Pending); left > 0 {
		s.lose(left)
	}
	return s.trail.Lost
}

// About names one binding in a record.
func About(key karmada.BindingKey) []string { return []string{key.String()} }

// Yes is what a record says of a switch; nothing where it is off.
func Yes(on bool) string {
	if on {
		return "true"
	}
	return ""
}

// RateOf is a rate in evictions per second, nothing for none.
func RateOf(rate float64) string {
	if rate == 0 {
		return ""
	}
	return strconv.FormatFloat(rate, 'g', -1, 64)
}
