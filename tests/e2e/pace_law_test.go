package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/pacelaw"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// lawEvictions are counted in each row; some more bindings are due, so that the last of them has work beside it.
	lawEvictions, lawBindings = 200, 210
	// requestsPerMigration is about how many requests of the worker one migration takes at the API server.
	requestsPerMigration = 12
	// afterDeath is how long after a worker's death what it had begun may wait for another one.
	afterDeath = 10 * time.Second
)

// lawStory has the clusters of all rows: five at most fail at once, so that the tier stays normal.
var lawStory = story{name: "pace-law", short: "law", size: 12, alone: true}

// disturbance is what happens in the middle of a row, and what follows for the rate.
type disturbance func(s *scene, ordered *pacelaw.Rate)

// lawRow is a rate in evictions per second, over so many failovers at once.
type lawRow struct {
	rate      float64
	failovers int
	name      string
	disturb   disturbance // nil for none
	// dies: there is no lower bound for a while after the disturbance.
	dies bool
}

// TestPaceLaw holds the pace to its law on real servers, by the API server's timestamps: over any time at most the
// integral of the rate, one, and one second's worth; and at most 5 % less than the rate while enough is due. Permits whose
// write was refused count as used. The lower bound does not hold for a while after a worker's death, nor on a machine
// whose API server cannot take the requests.
//
// Rules: R4.5-9, R4.5-16, R4.5-17, R4.5-18, R4.5-25, R4.5-28.
func TestPaceLaw(t *testing.T) {
	if !*loaded {
		t.Skip("make pace plays it")
	}
	profiles, err := freeAddress(t.Context())
	require.NoError(t, err)
	require.NoError(t, shared.stopProduct()) // it runs with the settings of stories, and behind the gate
	shared.more, shared.profiles = benchSettings, profiles
	t.Cleanup(func() {
		require.NoError(t, shared.stopProduct())
		shared.more, shared.profiles = nil, ""
	})
	require.NoError(t, shared.inMode(t.Context(), "enforce"))
	rows := []lawRow{
		{rate: 5, failovers: 2, name: "worker-killed", disturb: killWorker, dies: true},
		{rate: 5, failovers: 2, name: "continued-as-new", disturb: pacerContinues},
		{rate: 5, failovers: 2, name: "rate-changed", disturb: changeRate(2)},
	}
	for _, rate := range []float64{20, 5, 0.5} {
		for _, failovers := range []int{1, 2, 5} {
			rows = append(rows, lawRow{rate: rate, failovers: failovers, name: "steady"})
		}
	}
	for i, row := range rows {
		name := fmt.Sprintf("rate=%g,failovers=%d,%s", row.rate, row.failovers, row.name)
		t.Run(name, func(t *testing.T) {
			s := &scene{T: t, world: shared, story: lawStory, ctx: t.Context(), asked: map[string]bool{}}
			s.story.space = fmt.Sprintf("law-%d", i)
			s.begin()
			s.holdsLaw(row, name)
		})
	}
}

// holdsLaw plays one row.
func (s *scene) holdsLaw(row lawRow, name string) {
	s.rule(time.Second, time.Second)
	failing, to := s.all()[:row.failovers], s.c(s.story.size)
	for _, from := range failing {
		s.deployMany(from, from, to, lawBindings/row.failovers)
	}
	raw := min(s.patchesPerSecond(s.namespace()+"/"+failing[0]+"-0"), s.startsPerSecond())
	s.order("rate", fmt.Sprint(row.rate))
	s.pause = time.Second // a look reads all bindings
	already := 0.0        // refused in earlier rows; a new worker counts from 0
	if !row.dies {
		already = s.metric(s.worker, `lifeboat_evict_processed_total\{.*result="refused"`)
	}
	ordered, disturbed := pacelaw.Rate{First: row.rate}, time.Time{}
	defer func() { assert.Empty(s, ordered.Broken(s.firstWrites())) }() // also of a row that does not end
	for _, from := range failing {
		require.NoError(s, s.lab.control(s.ctx, "kill", from, nil))
	}
	if row.disturb != nil {
		s.await("a quarter is evicted", func() (bool, string) {
			n := len(s.firstWrites())
			return n >= lawEvictions/4, fmt.Sprint(n)
		})
		disturbed = time.Now()
		row.disturb(s, &ordered)
	}
	s.await("all are evicted", func() (bool, string) {
		n := len(s.firstWrites())
		return n >= lawBindings/row.failovers*row.failovers, fmt.Sprint(n)
	})
	s.catchUp()
	times := s.firstWrites()[:lawEvictions]
	refused := s.metric(s.worker, `lifeboat_evict_processed_total\{.*result="refused"`) - already
	parts := [][]time.Time{times}
	if row.dies {
		parts = [][]time.Time{before(times, disturbed), after(times, disturbed.Add(afterDeath))}
	}
	asserted := "asserted"
	if raw/requestsPerMigration < row.rate || refused > lawEvictions/20 {
		asserted = fmt.Sprintf("not asserted: the machine does not keep up, with %.0f patches or workflow starts/s of one client", raw)
	}
	for _, part := range parts {
		share := ordered.Share(part)
		share += share * refused / float64(len(part)-1)
		say("pace: %-40s %d evictions within %s, %.3f of the rate (%s), %.0f refused, the longest pause %s",
			name, len(part), part[len(part)-1].Sub(part[0]).Round(time.Millisecond), share, asserted, refused, longestPause(part))
		if asserted == "asserted" {
			require.GreaterOrEqual(s, share, 0.95)
		}
	}
	for _, from := range failing {
		s.revive(from)
	}
	for _, from := range failing {
		s.ends(from, "Recovered")
	}
}

// firstWrites are when the API server received Lifeboat's first write to each binding of the row, in order: that is its
// eviction.
func (s *scene) firstWrites() (times []time.Time) {
	first := map[string]time.Time{}
	for _, a := range s.writes() {
		if a.Object.Namespace != s.namespace() {
			continue // the rows before this one have bindings of the same names
		}
		if at, known := first[a.Object.Name]; strings.HasSuffix(a.Object.Resource, "bindings") && (!known || a.Received.Before(at)) {
			first[a.Object.Name] = a.Received
		}
	}
	for _, at := range first {
		times = append(times, at)
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

func before(times []time.Time, moment time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(times), func(at time.Time) bool { return at.After(moment) })
}

func after(times []time.Time, moment time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(times), func(at time.Time) bool { return at.Before(moment) })
}

func longestPause(times []time.Time) (longest time.Duration) {
	for i := range times[1:] {
		longest = max(longest, times[i+1].Sub(times[i]))
	}
	return longest.Round(time.Millisecond)
}

// killWorker has the only worker killed, and another one started at once.
func killWorker(s *scene, _ *pacelaw.Rate) {
	require.NoError(s, s.worker.kill())
	require.NoError(s, s.startWorker(s.ctx))
}

// changeRate has an operator set another rate.
func changeRate(rate float64) disturbance {
	return func(s *scene, ordered *pacelaw.Rate) {
		ordered.Then, ordered.Ordered = rate, time.Now()
		s.order("rate", fmt.Sprint(rate))
		ordered.InForce = time.Now().Add(pacelaw.TakesEffect)
	}
}

// pacerContinues makes the pacer's history long, by signals that say nothing, until it has continued as new.
func pacerContinues(s *scene, _ *pacelaw.Rate) {
	run := func() string {
		d, err := s.temporal.DescribeWorkflowExecution(s.ctx, pacerID, "")
		require.NoError(s, err)
		return d.WorkflowExecutionInfo.Execution.RunId
	}
	begun := run()
	s.between = func() {
		for range 100 {
			require.NoError(s, s.temporal.SignalWorkflow(s.ctx, pacerID, "", "permits-used", object{"used": []any{}}))
		}
	}
	s.await("the pacer continues as new", func() (bool, string) { return run() != begun, "" })
	s.between = nil
}
