package sim

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// A fleet flaps for so long, in virtual time: make load plays fifty clusters for a week.
var (
	flapFor  = flag.Duration("flap-for", 2*time.Hour, "for how long a fleet flaps")
	flapping = flag.Int("flapping", 10, "how many clusters flap")
)

// dieOf is a small generator of its own: the same flaps everywhere.
type dieOf uint64

func (d *dieOf) between(from, to time.Duration) time.Duration {
	*d = *d*6364136223846793005 + 1442695040888963407
	return from + time.Duration(uint64(*d)>>16)%(to-from)
}

// flaps is a fleet of which so many clusters flap for so long. Most are down for less than the
// rule's window each time, some twenty minutes apart; a fifth were down for longer at first, and
// from then on are never well for as long as it takes to be recovered. Some never fail.
func flaps(clusters int, long time.Duration) Schedule {
	s := Schedule{
		Seed: 1, Mode: "enforce", Fleet: clusters + clusters/5, Rate: 0.5, Quiet: long,
		Times: map[string]time.Duration{"schedule": time.Second, "takes": time.Second, "healthy": 10 * time.Second},
	}
	for n := range clusters {
		s.Bindings = append(s.Bindings, Binding{Name: fmt.Sprintf("app%d", n+1), On: []string{clusterName(n)}, Replicas: 2, Tolerate: -1, Soft: -1})
		die := dieOf(n + 1)
		at := die.between(time.Second, 5*time.Minute)
		turn := func(do string, lasts time.Duration) {
			if at < long {
				s.Steps = append(s.Steps, Step{At: at, Do: do, Cluster: clusterName(n)})
			}
			at += lasts
		}
		failed := n < clusters/5
		if failed {
			turn("down", 10*time.Minute)
		}
		for at < long {
			if failed {
				turn("up", die.between(time.Second, wellFor-5*time.Second))
				turn("down", die.between(time.Minute, 5*time.Minute))
			} else {
				turn("down", die.between(time.Second, addAfter-10*time.Second))
				turn("up", die.between(10*time.Minute, 30*time.Minute))
			}
		}
	}
	return s
}

// A fleet flaps for two hours (make load: fifty clusters for a week): none is evicted from that
// was never down for its window, what stood on those that were moves and is left in peace then,
// every history stays within what a server wants, by continuing as new, and once all are well
// everything ends.
//
// Rules: R4.1-16, R4.1-21, R4.4-14.
func TestFlappingClustersStayBounded(t *testing.T) {
	if *plays > 0 || *story != "" {
		t.Skip("something else is asked for")
	}
	began := time.Now()
	failing := *flapping / 5
	v := inBubble(t, flaps(*flapping, *flapFor), quiet)
	require.Empty(t, v.Violations)
	evictions := 0
	for _, w := range v.Writes {
		if w.Op != "evict" {
			continue
		}
		evictions++
		var n int
		_, err := fmt.Sscanf(w.Cluster, "m%d", &n)
		require.NoError(t, err)
		require.Less(t, w.At.Sub(begins), 20*time.Minute, "%s is evicted from %s by a flap", w.Binding, w.Cluster)
		require.LessOrEqual(t, n, failing, "%s is evicted from %s, which was never down for long, at %s", w.Binding, w.Cluster, w.At.Sub(begins))
	}
	require.GreaterOrEqual(t, evictions, failing, "whatever stood on those that failed moves")
	require.Positive(t, v.Count["continued as new: "+workflows.TypeClusterFailover])
	require.Positive(t, v.Count["continued as new: "+workflows.TypeFleetPacer])
	for kind, events := range v.Longest {
		require.Less(t, events, suggests+1000, kind)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	t.Logf("%d clusters flap for %s: %d flaps, %d failovers, runs %d of ClusterFailover, %d of FleetPacer, %d of BindingMigration; longest history %v; heap %d MB; %s",
		*flapping, *flapFor, v.Count["step down"], v.Count["failovers"], v.Count["runs of "+workflows.TypeClusterFailover],
		v.Count["runs of "+workflows.TypeFleetPacer], v.Count["runs of "+workflows.TypeBindingMigration], v.Longest,
		memory.HeapSys>>20, time.Since(began).Round(time.Second))
}

// wellAgain is when all clusters of a lost federation are.
const wellAgain = 12 * time.Minute

// lost is a fleet of which 60 % fail within three seconds, for ten minutes. Every cluster has
// four bindings: three may go anywhere, and one only to what fails with it.
func lost(fleet int) Schedule {
	s := Schedule{
		Seed: 1, Mode: "enforce", Fleet: fleet, Rate: 0.5, Quiet: wellAgain,
		Times: map[string]time.Duration{"schedule": time.Second, "takes": time.Second, "healthy": 10 * time.Second},
	}
	down := fleet * 6 / 10
	doomed := make([]string, 0, down)
	for n := range down {
		doomed = append(doomed, clusterName(n))
	}
	for n := range fleet {
		for i := range 4 {
			b := Binding{Name: fmt.Sprintf("app%d-%d", n+1, i), On: []string{clusterName(n)}, Replicas: 2, Tolerate: -1, Soft: -1}
			if n < down && i == 0 {
				b.May = [][]string{doomed}
			}
			s.Bindings = append(s.Bindings, b)
		}
	}
	for n, name := range doomed {
		at := time.Duration(n%4) * time.Second
		s.Steps = append(s.Steps, Step{At: time.Minute + at, Do: "down", Cluster: name}, Step{At: 11*time.Minute + at, Do: "up", Cluster: name})
	}
	return s
}

// 60 % of a fleet fail at once: a small one is halted, a large one slowed down; nothing leaves
// for nowhere; and when they are back everything settles, with an outcome for each binding.
//
// Rules: R4.5-3, R4.5-4.
func TestSixtyPercentOfAFederationLostAtOnce(t *testing.T) {
	if *plays > 0 || *story != "" {
		t.Skip("something else is asked for")
	}
	for _, row := range []struct {
		fleet, least, most int
	}{
		{fleet: 10, least: 0, most: 0},                        // halted
		{fleet: 20, least: 20, most: int(10*60*slowRate) + 1}, // slowed down to one in ten seconds
	} {
		t.Run(fmt.Sprint(row.fleet), func(t *testing.T) {
			v := inBubble(t, lost(row.fleet), quiet)
			require.Empty(t, v.Violations)
			evictions := 0
			for _, w := range v.Writes {
				if w.Op == "evict" {
					evictions++
					require.False(t, strings.HasSuffix(w.Binding, "-0"), "%s has nowhere to go", w.Binding)
				}
			}
			require.GreaterOrEqual(t, evictions, row.least)
			require.LessOrEqual(t, evictions, row.most)
			require.Equal(t, row.fleet*6/10, v.Count["failovers"])
			t.Logf("fleet %d: %d evictions; longest history %v; settled %s after all were well", row.fleet, evictions, v.Longest,
				(v.Virtual - wellAgain).Round(time.Second))
		})
	}
}
