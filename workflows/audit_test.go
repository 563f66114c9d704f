package workflows_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

// newAudited is a story with an audit trail.
func newAudited(t *testing.T) *story {
	t.Helper()
	s := newStory(t)
	s.settings.Terms.Audit = true
	return s
}

// recorded are the records of one kind, about one binding where one is named.
func (s *story) recorded(kind record.Kind, about ...karmada.BindingKey) []record.Audit {
	var out []record.Audit
	for _, r := range s.trail.Records() {
		whom := func(key karmada.BindingKey) bool { return slices.Contains(r.Bindings, key.String()) }
		if r.Kind == kind && (len(about) == 0 || slices.ContainsFunc(about, whom)) {
			out = append(out, r)
		}
	}
	return out
}

// kinds is what was recorded of one binding, in order.
func (s *story) kinds(key karmada.BindingKey) []record.Kind {
	var out []record.Kind
	for _, r := range s.trail.Records() {
		if slices.Contains(r.Bindings, key.String()) {
			out = append(out, r.Kind)
		}
	}
	return out
}

// audited is what the trail has as the outcome of every binding, by attempt; a record that
// was written twice counts once, a newer one takes the place of an older.
func (s *story) audited(attempts int) []map[string]phase.Outcome {
	out := make([]map[string]phase.Outcome, attempts)
	for n := range out {
		out[n] = map[string]phase.Outcome{}
	}
	seen := map[string]bool{}
	for _, r := range s.recorded(record.AuditBindingOutcome) {
		for _, b := range r.Bindings {
			if !seen[r.ID] {
				out[r.Attempt-1][b[strings.Index(b, "/")+1:]] = r.Outcome
			}
		}
		seen[r.ID] = true
	}
	return out
}

// everyOutcomeIsRecorded: the last outcome that the trail has of a binding in an attempt is
// that of the report, and no record stands there twice.
func (s *story) everyOutcomeIsRecorded() {
	s.t.Helper()
	last, ids := map[string]record.Audit{}, map[string]bool{}
	for _, r := range s.recorded(record.AuditBindingOutcome) {
		for _, b := range r.Bindings {
			last[b] = r
		}
	}
	for _, r := range s.trail.Records() {
		require.False(s.t, ids[r.ID], "record %s stands there twice", r.ID)
		ids[r.ID] = true
		require.Equal(s.t, record.Version, r.APIVersion)
		require.NotEmpty(s.t, r.Workflow)
	}
	for _, x := range s.report.Attempts[len(s.report.Attempts)-1].Results {
		r := last[x.Key.String()]
		require.Equal(s.t, []any{x.Outcome, x.Reason, x.Cause, x.To}, []any{r.Outcome, r.Reason, r.Cause, r.To}, x.Key.String())
	}
}

// Rules: R4.16-1.
func TestTheTrailTellsWhatBecameOfEveryBindingAndWhy(t *testing.T) {
	s := newAudited(t)
	moves := s.bind("moves", []string{"m1"}, "m1", "m2")
	skipped := s.bind("skipped", []string{"m1"}, "m1", "m2")
	stuck := s.bind("stuck", []string{"m1"}, "m1")
	s.outage(6 * time.Minute)
	s.at(10*time.Second, func() {
		s.ordered(workflows.UpdatePause, workflows.ScopedOrder{Order: workflows.Order{Who: "jane", Reason: "wait for me"}})
	})
	s.at(90*time.Second, func() {
		s.ordered(workflows.UpdateSkip, workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: workflows.Order{Who: "joe", Reason: "it may die"}}, Binding: skipped})
		s.ordered(workflows.UpdateResume, workflows.Resume{ScopedOrder: workflows.ScopedOrder{Order: workflows.Order{Who: "jane", Reason: "go on"}}})
	})
	s.play()
	require.Zero(t, s.report.Unaudited)
	s.everyOutcomeIsRecorded()

	confirmed := s.recorded(record.AuditFailureConfirmed)
	require.Len(t, confirmed, 1)
	require.Contains(t, confirmed[0].Evidence["rule not-ready"], taintKey)
	require.Contains(t, confirmed[0].Evidence["ready"], "False")
	require.Equal(t, "cluster-failover/m1", confirmed[0].Workflow)
	require.Equal(t, s.report.FailoverID, confirmed[0].FailoverID)
	require.Equal(t, rules.ModeEnforce, confirmed[0].Mode)
	require.Len(t, s.recorded(record.AuditRecoveryConfirmed), 1)
	require.Len(t, s.recorded(record.AuditTaintAdded), 2, "the taint and its evacuation taint")
	require.Len(t, s.recorded(record.AuditTaintRemoved), 2)
	closed := s.recorded(record.AuditFailoverClosed)
	require.Len(t, closed, 1)
	require.Equal(t, s.report.Attempts[0].Counts, closed[0].Counts)

	require.Equal(t, []record.Kind{
		record.AuditBindingQueued, record.AuditBindingBegun, record.AuditBindingEvicted, record.AuditBindingPlaced,
		record.AuditBindingReleased, record.AuditBindingOutcome,
	}, s.kinds(moves))
	evicted := s.recorded(record.AuditBindingEvicted, moves)[0]
	require.Equal(t, "binding-migration/m1/shop/moves", evicted.Workflow)
	require.Equal(t, "m1 (2 replicas)", evicted.Evidence["from"])
	require.NotEmpty(t, evicted.Evidence["permit"])
	require.Equal(t, []string{"m2"}, s.recorded(record.AuditBindingPlaced, moves)[0].To)
	require.NotEmpty(t, s.recorded(record.AuditBindingReleased, moves)[0].Evidence["healthyFor"])
	require.Equal(t, []record.Kind{record.AuditBindingQueued, record.AuditOrderGiven, record.AuditBindingOutcome}, s.kinds(skipped))
	require.Equal(t, []record.Kind{record.AuditBindingQueued, record.AuditBindingBlocked, record.AuditBindingOutcome}, s.kinds(stuck),
		"looked at again and again, blocked for one reason")

	orders := s.recorded(record.AuditOrderGiven)
	var told []string
	for _, o := range orders {
		told = append(told, strings.Join([]string{o.Order, o.Who, o.Why}, "|"))
	}
	require.Equal(t, []string{"pause|jane|wait for me", "skip|joe|it may die", "resume|jane|go on"}, told)
	pace := s.recorded(record.AuditPaceChanged)
	require.NotEmpty(t, pace)
	require.Equal(t, "fleet-pacer", pace[0].Workflow)
}

// The sink is away while everything happens: nothing waits for it, and what was kept
// is written once it is back.
// Rules: R4.16-2, R4.16-4.
func TestNothingWaitsForASinkThatIsAway(t *testing.T) {
	play := func(away bool) *story {
		s := newAudited(t)
		s.bind("moves", []string{"m1"}, "m1", "m2")
		s.outage(10 * time.Minute)
		if away {
			s.trail.Fail(errors.New("no space left on device"))
			s.looks = append(s.looks, func() {
				if len(s.world.Log("evict")) > 0 {
					s.trail.Fail(nil) // not before: an eviction that waited for it would never be
				}
			})
		}
		s.play()
		return s
	}
	well, away := play(false), play(true)
	for _, s := range []*story{well, away} {
		require.Zero(t, s.report.Unaudited)
		s.everyOutcomeIsRecorded()
		require.Len(t, s.recorded(record.AuditFailureConfirmed), 1)
		require.Len(t, s.recorded(record.AuditBindingEvicted), 1)
	}
}

// A failover that closes with the sink away says how much its trail lacks.
// Rules: R4.16-2.
func TestAFailoverThatClosesWithTheSinkAwaySaysWhatItsTrailLacks(t *testing.T) {
	s := newAudited(t)
	s.bind("moves", []string{"m1"}, "m1", "m2")
	s.outage(5 * time.Minute)
	s.trail.Fail(errors.New("no space left on device"))
	s.play()
	require.Positive(t, s.report.Unaudited)
	require.Empty(t, s.trail.Records())
}

// Rules: R4.16-1, R4.16-5.
func TestWithoutATrailNothingIsRecorded(t *testing.T) {
	s := newStory(t)
	s.bind("moves", []string{"m1"}, "m1", "m2")
	s.outage(5 * time.Minute)
	s.play()
	require.Empty(t, s.trail.Records())
}

// A failover that observes is recorded like any other: what would stand, what would move.
// Rules: R4.16-5.
func TestAFailoverThatObservesIsRecorded(t *testing.T) {
	s := newAudited(t)
	s.settings.Terms.Mode = rules.ModeObserve
	moves := s.bind("moves", []string{"m1"}, "m1", "m2")
	s.outage(6 * time.Minute)
	s.play()
	s.everyOutcomeIsRecorded()
	require.Equal(t, phase.OutcomeWouldMove, s.recorded(record.AuditBindingOutcome, moves)[0].Outcome)
	require.Equal(t, rules.ModeObserve, s.recorded(record.AuditFailureConfirmed)[0].Mode)
	require.NotEmpty(t, s.recorded(record.AuditTaintAdded))
}

// Rules: R4.16-4.
func TestTheTrailIsCompleteWhereverARunIsCut(t *testing.T) {
	for _, name := range []string{"evacuated, then recovered", "failed again while settling", "cancelled", "observed"} {
		t.Run(name, func(t *testing.T) {
			c := &continueOften{after: 7, runs: map[string]int{}}
			tell(t, func(s *story) {
				s.settings.Terms.Audit = true
				t.Cleanup(func() {
					require.Zero(t, s.report.Unaudited)
					var of []map[string]phase.Outcome
					for _, attempt := range s.report.Attempts {
						of = append(of, outcomesOf(attempt.Results))
					}
					require.Equal(t, of, s.audited(len(of)))
				})
				scenarios[name](s)
			}, c)
			require.Greater(t, c.runs[workflows.TypeClusterFailover], 1)
		})
	}
}

// Rules: R4.16-6.
func TestTheSameAboutManyBindingsIsOneRecord(t *testing.T) {
	const n = 3000
	s := newAudited(t)
	for i := range n {
		s.bind(fmt.Sprintf("app-%04d", i), []string{"m1"}, "m1", "m2")
	}
	s.world.SetReady("m1", false)
	s.looks = append(s.looks, func() {
		if len(s.world.Log("evict")) == 3 {
			s.world.SetReady("m1", true)
		}
	})
	s.play()
	require.Zero(t, s.report.Unaudited)
	queued := map[string]bool{}
	for _, r := range s.recorded(record.AuditBindingQueued) {
		for _, b := range r.Bindings {
			queued[b] = true
		}
	}
	require.True(t, len(queued) == n && len(s.audited(1)[0]) == n, "%d queued, %d ended", len(queued), len(s.audited(1)[0]))
	require.Less(t, len(s.trail.Records()), n/10)
}

// counted keeps what workflows count of evictions, by name, cluster and kind.
type counted struct {
	client.MetricsHandler
	mu    *sync.Mutex
	tags  map[string]string
	total map[string]int64
}

func (c counted) WithTags(tags map[string]string) client.MetricsHandler {
	c.tags = maps.Clone(c.tags)
	maps.Copy(c.tags, tags)
	return c
}

func (c counted) Counter(name string) client.MetricsCounter {
	return increments(func(n int64) {
		if strings.HasPrefix(name, "lifeboat_evict") {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.total[strings.TrimSpace(name+" "+c.tags["cluster"]+" "+c.tags["kind"])] += n
		}
	})
}

type increments func(n int64)

func (i increments) Inc(n int64) { i(n) }

// processed keeps what the evict activity measures.
type processed struct {
	world.Meter
	mu     sync.Mutex
	ends   []string
	queued []time.Duration
	due    []time.Duration
}

func (p *processed) Evicted(cluster, result string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends = append(p.ends, cluster+" "+result)
}

func (p *processed) LeftQueue(_ string, sinceQueued, sinceDue time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queued, p.due = append(p.queued, sinceQueued), append(p.due, sinceDue)
}

// Karmada's proposal: evict_total and evict_kind_total count what entered the queue, once,
// however often its eviction is tried; the latency counts from there.
func TestMetrics_EvictionTriedTwice_CountsOneThatEnteredTheQueue(t *testing.T) {
	counts := counted{client.MetricsNopHandler, &sync.Mutex{}, map[string]string{}, map[string]int64{}}
	s, meter := newStory(t, counts), &processed{}
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.outage(40 * time.Minute)
	s.meter = meter
	patient := s.bind("patient", []string{"m1"}, "m1", "m2")
	s.tolerates(patient, 120)
	s.world.Change(patient, func(b *karmada.Binding) { b.Resource.APIVersion, b.Resource.Kind = "v1", "ConfigMap" })
	// The first eviction is refused: it stays in the queue.
	s.fails("evict", karmada.ErrForbidden)
	s.at(5*time.Minute, func() { s.world.Fail = nil })
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "patient": "Migrated"}, outcomes(s.play()))

	require.Equal(t, map[string]int64{
		"lifeboat_evict m1": 2, "lifeboat_evict_kind m1 apps/v1, Deployment": 1, "lifeboat_evict_kind m1 v1, ConfigMap": 1,
	}, counts.total)
	slices.Sort(meter.ends)
	require.Contains(t, meter.ends, "m1 refused")
	require.Len(t, meter.queued, 2, "a refused eviction has not left the queue")
	for n := range meter.queued {
		require.Positive(t, meter.due[n])
	}
	// What tolerates for two minutes has been in the queue for as much longer.
	longest := slices.MaxFunc([]int{0, 1}, func(a, b int) int { return int(meter.queued[a]-meter.due[a]) - int(meter.queued[b]-meter.due[b]) })
	require.InDelta(t, 120, (meter.queued[longest] - meter.due[longest]).Seconds(), 5)
}
