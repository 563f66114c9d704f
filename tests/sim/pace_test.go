package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/pacelaw"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

const (
	// lawEvictions are counted in each row; a tenth more is due, so that the last of them is not short of work.
	lawEvictions = 200
	lawBindings  = lawEvictions * 11 / 10
)

// lawSchedule has some of twelve clusters fail at once, with lawBindings bindings in all, at a rate per second. All of
// them can move at any time. The rate becomes changed in the middle of it, unless that is 0.
func lawSchedule(rate float64, failovers int, changed float64) Schedule {
	s := Schedule{
		Seed: 1, Mode: "enforce", Fleet: 12, Rate: rate,
		Odds: map[string]int{}, Times: map[string]time.Duration{"schedule": time.Second, "takes": time.Second, "healthy": time.Second},
	}
	to := clusterName(s.Fleet - 1)
	for n := range lawBindings {
		from := clusterName(n % failovers)
		s.Bindings = append(s.Bindings, Binding{
			Name: fmt.Sprintf("app%d", n), On: []string{from}, May: [][]string{{from, to}}, Replicas: 2, Tolerate: -1, Soft: -1,
		})
	}
	for n := range failovers {
		s.Steps = append(s.Steps, Step{At: time.Minute, Do: "down", Cluster: clusterName(n)})
	}
	s.Quiet = 5*time.Minute + seconds(lawBindings/rate)
	if changed > 0 {
		s.Steps = append(s.Steps, Step{At: time.Minute + addAfter + seconds(lawEvictions/2/rate), Do: "rate", N: int(changed * 1000)})
	}
	return s
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// The pace is the one that was ordered, from both sides, while enough is due: over no time more than the law allows, and
// over 200 evictions at most 5 % less than the rate. Workflows that continue as new change nothing about it.
//
// Rules: R4.5-9, R4.5-16, R4.5-17, R4.5-18, R4.5-25, R4.5-28.
func TestPaceLaw(t *testing.T) {
	if *plays > 0 || *story != "" {
		t.Skip("something else is asked for")
	}
	type disturbance struct {
		name    string
		changed float64 // the rate, in evictions per second
		cut     int     // per mille
	}
	for _, rate := range []float64{0.5, 5, 20} {
		for _, failovers := range []int{1, 2, 5} {
			rows := []disturbance{{name: "steady"}}
			if failovers == 2 {
				rows = append(rows, disturbance{name: "continued as new", cut: 100},
					disturbance{name: "quicker", changed: 2 * rate}, disturbance{name: "slower", changed: rate / 2})
			}
			for _, row := range rows {
				t.Run(fmt.Sprintf("%g per second, failovers %d, %s", rate, failovers, row.name), func(t *testing.T) {
					s := lawSchedule(rate, failovers, row.changed)
					s.Odds["cut"] = row.cut
					v := inBubble(t, s, quiet)
					require.Empty(t, v.Violations)
					if row.cut > 0 {
						require.Positive(t, v.Count["continued as new: "+workflows.TypeFleetPacer])
					}
					ordered := pacelaw.Rate{First: rate}
					if row.changed > 0 {
						require.Positive(t, v.Count["order "+workflows.UpdateSetRate])
						ordered.Then, ordered.Ordered = row.changed, begins.Add(s.Steps[len(s.Steps)-1].At)
						ordered.InForce = ordered.Ordered.Add(pacelaw.TakesEffect)
					}
					times, by := firstEvictions(v)
					require.Len(t, times, lawEvictions)
					require.Empty(t, ordered.Broken(times))
					require.GreaterOrEqual(t, ordered.Share(times), 0.95)
					t.Logf("%d within %s, %.3f of the rate, by cluster %v", len(times), times[len(times)-1].Sub(times[0]), ordered.Share(times), by)
				})
			}
		}
	}
}

// firstEvictions are the moments of the first lawEvictions, and how many each cluster had. Removing a cluster again that
// the scheduler put back does not count.
func firstEvictions(v Verdict) (times []time.Time, by map[string]int) {
	by = map[string]int{}
	known := map[string]bool{}
	for _, w := range v.Writes {
		if w.Op == "evict" && !known[w.Binding] && len(times) < lawEvictions {
			known[w.Binding] = true
			times = append(times, w.At)
			by[w.Cluster]++
		}
	}
	return times, by
}
