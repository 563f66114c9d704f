package workflows

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"
)

// Trail are the audit records of a workflow that are not known to be written. They are
// carried from run to run.
type Trail struct {
	// Seq numbers the workflow's records.
	Seq     int64          `json:"seq"`
	Pending []record.Audit `json:"pending,omitempty"`
	// Lost counts records that the sink was away for too long to take, since the last that was said.
	Lost int `json:"lost,omitempty"`
	// Sent is when the last batch went out.
	Sent time.Time `json:"sent,omitzero"`
}

const (
	// auditEvery is how long records that nobody waits for are gathered: each batch costs history.
	auditEvery = 10 * time.Second
	// auditBatch, auditNames and auditBytes bound a batch: in records, in bindings that they
	// name, and in bytes as it is sent.
	auditBatch = 200
	auditNames = 5000
	auditBytes = 1_500_000
	// sameSaid is of how many bindings one record may tell the same.
	sameSaid = 500
	// maxPending and maxNames bound what waits, in records and in bindings that they name;
	// beyond carryNames a run with a sink that works does not continue as new.
	maxPending = 2000
	maxNames   = 200_000 // a list of 100,000 and what is said of them next
	carryNames = 10_000
	// sinkAway is from when on a sink does not work.
	sinkAway = 30 * time.Second
	// lastRecords is for how long the last records may hold up a workflow that is done.
	lastRecords = 5 * time.Second
)

// trail writer writes a workflow's records down, batch by batch, in a coroutine of its own:
// nothing waits for it.
type trailWriter struct {
	trailOf
	ctx    workflow.Context
	log    log.Logger
	trail  *Trail
	out    int  // how many of Pending are on their way
	urgent bool // somebody may be reading along
	same   map[string]int
}

// trailOf is what a workflow gives its trail.
type trailOf struct {
	// Left is what the run before left to be written, nil for nothing.
	Left *Trail
	// Dirty wakes the main loop.
	Dirty *bool
	// On tells whether there is a trail.
	On func() bool
	// Source is whose records they are.
	Source func() activities.AuditSource
}

// newTrailWriter begins a run's part of the trail.
func newTrailWriter(ctx workflow.Context, of trailOf) trailWriter {
	left := of.Left
	if left == nil {
		left = &Trail{}
	}
	return trailWriter{ctx: ctx, log: workflow.GetLogger(ctx), trail: left, trailOf: of, same: map[string]int{}}
}

// leave is what is carried over: what is not known to be written, of at most so many names.
func (s *trailWriter) leave(names int) *Trail {
	s.out = 0 // what is on its way is sent again: readers know it by its id
	s.bound(maxPending, names)
	return s.trail
}

// forget loses what waits, as there is no trail.
func (s *trailWriter) forget() { s.trail.Pending = nil }

// shrink makes room in what is carried over: false when there is nothing left to lose.
func (s *trailWriter) shrink() bool {
	if len(s.trail.Pending) == 0 {
		return false
	}
	s.bound(0, 0)
	return true
}

// addEvidence adds pairs of a name and what it says to evidence, which is made where there
// is none; what says nothing is left out.
func addEvidence(to map[string]string, pairs ...string) map[string]string {
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

// active tells that there is a trail.
func (s *trailWriter) active() bool { return s.On != nil && s.On() }

// add keeps a record until it is written. What a batch says of many bindings at one
// moment is one record.
func (s *trailWriter) add(r record.Audit) {
	if !s.active() {
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

// tell is add for what somebody who reads along should see at once.
func (s *trailWriter) tell(r record.Audit) {
	s.urgent = true
	s.add(r)
}

func (s *trailWriter) number() string {
	s.trail.Seq++
	return strconv.FormatInt(s.trail.Seq, 10)
}

// joined adds a binding to a record that says the same.
func (s *trailWriter) joined(r record.Audit) bool {
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
func (s *trailWriter) bound(records, names int) {
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

func (s *trailWriter) lose(n int) {
	s.trail.Lost += n
	workflow.GetMetricsHandler(s.ctx).Counter("lifeboat_audit_lost").Inc(int64(n))
	s.log.Error("audit records are lost: the trail's sink has been away for too long", "records", n)
}

// waits tells that there are records to be sent, and that none are on their way.
func (s *trailWriter) waits() bool { return s.active() && s.out == 0 && len(s.trail.Pending) > 0 }

// wake is when the next batch is due, zero for none.
func (s *trailWriter) wake() time.Time {
	if !s.waits() {
		return time.Time{}
	}
	return s.trail.Sent.Add(auditEvery)
}

// flush sends a batch when it is time for one.
func (s *trailWriter) flush() {
	batch := func() bool { return len(s.trail.Pending) >= auditBatch || s.names() >= auditNames }
	if s.waits() && (s.urgent || !workflow.Now(s.ctx).Before(s.wake()) || batch()) {
		s.send()
	}
}

// names is how many bindings the waiting records name.
func (s *trailWriter) names() int {
	n := 0
	for _, r := range s.trail.Pending {
		n += len(r.Bindings)
	}
	return n
}

func (s *trailWriter) send() {
	n, names, bytes := 0, 0, 0
	for ; n < min(auditBatch, len(s.trail.Pending)); n++ {
		names, bytes = names+len(s.trail.Pending[n].Bindings), bytes+sizeOf(s.trail.Pending[n])
		if (names > auditNames || bytes > auditBytes) && n > 0 {
			break
		}
	}
	s.out, s.urgent, s.trail.Sent, s.same = n, false, workflow.Now(s.ctx), map[string]int{}
	ctx := doing(s.ctx, fmt.Sprintf("append %d records to the audit trail", n))
	request := activities.AuditRequest{Source: s.Source(), Records: s.trail.Pending[:n]}
	future := workflow.ExecuteActivity(ctx, activities.NameRecordAudit, request)
	workflow.Go(s.ctx, func(ctx workflow.Context) { s.sent(future.Get(ctx, nil)) })
}

// sent takes the end of a batch. One that failed for good stays, and is sent again.
func (s *trailWriter) sent(err error) {
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
		s.add(record.Audit{Kind: record.AuditRecordsLost, Evidence: map[string]string{"records": strconv.Itoa(lost)}})
	}
	if s.flush(); s.waits() {
		*s.Dirty = true // the main loop has to wake for it
	}
}

// settled tells that a run may continue as new: with a long list still to be written that
// would carry it all.
func (s *trailWriter) settled() bool {
	if !s.active() || s.out > 0 && workflow.Now(s.ctx).Sub(s.trail.Sent) > sinkAway {
		return true
	}
	return s.names() <= carryNames
}

// finish gives the last records a moment to be written. What is lost all the same is told.
func (s *trailWriter) finish() (lost int) {
	if !s.active() {
		return 0
	}
	s.urgent = true
	s.flush()
	_ = awaitFor(s.ctx, lastRecords, "let the last audit records be written", func() bool {
		s.urgent = true // also the batches after the one on its way
		return len(s.trail.Pending) == 0
	})
	if left := len(s.trail.Pending); left > 0 {
		s.lose(left)
	}
	return s.trail.Lost
}

// about names one binding in a record.
func about(key karmada.BindingKey) []string { return []string{key.String()} }
