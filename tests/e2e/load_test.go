package e2e

import (
	"context"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var loaded = flag.Bool("load", false, "play what make load plays")

// loadStory has clusters of its own: one fails while all is quiet, one while the API server is
// at its maximum, and one while no worker runs.
var loadStory = story{name: "load", short: "load", size: 4, alone: true}

// loadedStory returns what load is about, on a stage of its own.
func loadedStory(t *testing.T) *scene {
	if !*loaded {
		t.Skip("make load plays it")
	}
	s := &scene{T: t, world: shared, story: loadStory, ctx: t.Context(), asked: map[string]bool{}}
	s.story.space = strings.ToLower(t.Name())
	require.NoError(t, shared.inMode(t.Context(), "enforce"))
	s.begin()
	s.rule(time.Second, time.Second)
	return s
}

// TestLoadOnTheAPIServer fails a cluster over while all is quiet, and another one while a client
// writes bindings as fast as the API server takes them. What is right is asserted; how long it
// took, and what it cost, is told.
func TestLoadOnTheAPIServer(t *testing.T) {
	const apps, noisy, writers = 30, 200, 8
	s := loadedStory(t)
	to := s.c(4)
	quiet, busy := s.deployMany("quiet", s.c(1), to, apps), s.deployMany("busy", s.c(2), to, apps)

	quietly := s.failOver(s.c(1), quiet)
	before := s.cost()
	n := s.makeNoise(s.c(2), to, noisy, writers)
	loudly := s.failOver(s.c(2), busy)
	during := s.cost()
	rate := n.stop()
	require.Positive(s, rate)
	s.nothingLeft()
	say("load: quiet:            Not Ready to evicted p50 %s, p99 %s, %d bindings", at(quietly, 50), at(quietly, 99), apps)
	say("load: %4.0f writes/s:     Not Ready to evicted p50 %s, p99 %s, %d bindings", rate, at(loudly, 50), at(loudly, 99), apps)
	say("load: before %s", before)
	say("load: under load, %d failovers' worth of bindings later %s", 2, during)
	s.await("goroutines come back", func() (bool, string) {
		now := s.cost()
		for _, who := range users {
			if now[who].goroutines > before[who].goroutines+apps/2 {
				return false, now.String()
			}
		}
		return true, ""
	})
	say("load: afterwards %s", s.cost())
}

// deployMany is deploy for many bindings at once, with many clients.
func (s *scene) deployMany(name, home, to string, n int) []string {
	keys, at := make([]string, n), s.api.Resource(resourceBindings).Namespace(s.namespace())
	var clients errgroup.Group
	clients.SetLimit(16)
	for i := range n {
		u := deployment(s.namespace(), fmt.Sprintf("%s-%d", name, i), home, 1, oneOf(home, to))
		keys[i], s.bindings = keyOf(u), append(s.bindings, u)
		clients.Go(func() error {
			_, err := at.Create(s.ctx, u, metav1.CreateOptions{})
			return err
		})
	}
	require.NoError(s, clients.Wait())
	for _, key := range keys {
		s.runs(key)
	}
	return keys
}

// failOver fails a cluster, lets it come back when all have moved, and returns how long after
// it was seen not to be Ready each was evicted.
func (s *scene) failOver(from string, keys []string) []time.Duration {
	s.kill(from)
	failed := s.notReadySince(from)
	s.phase(from, "Evacuated")
	s.catchUp()
	var took []time.Duration
	for _, when := range s.evictedAt(map[string][]string{from: keys}) {
		took = append(took, when.Sub(failed))
	}
	require.Len(s, took, len(keys))
	s.recovers(from, allMigrated(keys))
	for _, key := range keys {
		s.evicted(key, from)
	}
	return took
}

// notReadySince is when a cluster was first seen not to be Ready, as it is now.
func (s *scene) notReadySince(name string) time.Time {
	since := time.Time{}
	for _, v := range s.clusterVersions(name) {
		switch {
		case s.clusterIn(v).ready():
			since = time.Time{}
		case since.IsZero():
			since = v.Seen
		}
	}
	require.False(s, since.IsZero(), "%s is Ready", name)
	return since
}

// noise writes bindings until it is stopped.
type noise struct {
	end     context.CancelFunc
	writers sync.WaitGroup
	written atomic.Int64
	begun   time.Time
}

// makeNoise puts bindings on a cluster that have opted out, so that its failover hears of them
// and leaves them, and changes each of them again and again.
func (s *scene) makeNoise(home, to string, bindings, writers int) *noise {
	at := s.api.Resource(resourceBindings).Namespace(s.namespace())
	names := make([]string, bindings)
	for i := range names {
		u := deployment(s.namespace(), fmt.Sprintf("noise-%d", i), home, 1, oneOf(home, to))
		u.SetAnnotations(map[string]string{prefix + "enabled": "false"})
		names[i] = u.GetName()
		_, err := at.Create(s.ctx, u, metav1.CreateOptions{})
		require.NoError(s, err)
	}
	ctx, end := context.WithCancel(s.ctx)
	n := &noise{end: end, begun: time.Now()}
	for w := range writers {
		n.writers.Go(func() {
			for i := w; ctx.Err() == nil; i += writers {
				change := fmt.Sprintf(`{"spec":{"replicas":%d}}`, 1+i/bindings%2)
				// One that loses a race with Karmada's own controllers is the server at its maximum, too.
				if _, err := at.Patch(ctx, names[i%bindings], types.MergePatchType, []byte(change), metav1.PatchOptions{}); err == nil {
					n.written.Add(1)
				}
			}
		})
	}
	s.Cleanup(func() { n.stop() })
	return n
}

// stop ends it, and returns how many writes a second came through.
func (n *noise) stop() float64 {
	n.end()
	n.writers.Wait()
	return float64(n.written.Load()) / time.Since(n.begun).Seconds()
}

// at is a percentile.
func at(all []time.Duration, percent float64) time.Duration {
	slices.Sort(all)
	n := int(math.Ceil(percent / 100 * float64(len(all))))
	return all[max(n, 1)-1].Round(10 * time.Millisecond)
}

// cost is what a process takes.
type cost struct{ goroutines, megabytes int }

// costs are those of worker and controller.
type costs map[string]cost

func (c costs) String() string {
	var out []string
	for _, who := range users {
		out = append(out, fmt.Sprintf("%s %d MB and %d goroutines", who, c[who].megabytes, c[who].goroutines))
	}
	return strings.Join(out, ", ")
}

// cost asks worker and controller what they take.
func (s *scene) cost() costs {
	all := costs{}
	for who, p := range s.programs() {
		all[who] = cost{int(s.metric(p, "go_goroutines")), int(s.metric(p, "process_resident_memory_bytes")) >> 20}
	}
	return all
}

// TestSignalsBeyondTheCap gives a failover more signals than Temporal takes for one run, while no
// worker runs: the controller says and counts it, and tries ever more rarely; as soon as a worker
// runs the failover continues as new, is told what it missed, and goes on to the same end.
func TestSignalsBeyondTheCap(t *testing.T) {
	s := loadedStory(t)
	from := s.c(3)
	app := s.deployMany("app", from, s.c(4), 1)[0]
	require.NoError(s, s.worker.kill())
	s.worker = nil
	s.kill(from)
	s.await("its failover is started", func() (bool, string) {
		running, err := s.temporal.running(s.ctx, failoverID(from))
		return err == nil && running, fmt.Sprint(err)
	})
	before, err := s.temporal.DescribeWorkflowExecution(s.ctx, failoverID(from), "")
	require.NoError(s, err)
	begun := time.Now()
	sent, refused := s.flood(failoverID(from))
	require.ErrorContains(s, refused, "exceeded workflow execution limit for signal events")
	took := time.Since(begun)

	const full = `lifeboat_controller_signals_total\{.*kind="bindings-changed".*result="full"`
	replicas := int64(1)
	s.await("the controller counts a signal that was refused", func() (bool, string) {
		replicas++ // it has something to tell
		s.patch(s.named(app), object{"spec": object{"replicas": replicas}})
		return s.metric(s.controller, full) > 0, "none yet"
	})
	require.Contains(s, tail(s.logFile("controller"), 1000), "takes no more signals")

	require.NoError(s, s.startWorker(s.ctx))
	s.phase(from, "Evacuated")
	after, err := s.temporal.DescribeWorkflowExecution(s.ctx, failoverID(from), "")
	require.NoError(s, err)
	require.NotEqual(s, before.WorkflowExecutionInfo.Execution.RunId, after.WorkflowExecutionInfo.Execution.RunId, "it continued as new")
	s.await("the controller tells it again", func() (bool, string) {
		return strings.Contains(tail(s.logFile("controller"), 1000), "delivered after failures"), ""
	})
	s.recovers(from, map[string]string{app: "Migrated"})
	s.evicted(app, from)
	s.nothingLeft()
	say("load: %d signals to one run within %s, then refused; it continued as new and ended well", sent, took.Round(time.Second))
}

// flood signals a workflow until it is refused, and tells how many came through.
func (s *scene) flood(id string) (sent int64, refused error) {
	const senders, bound = 16, 20_000
	var count atomic.Int64
	var all errgroup.Group
	for range senders {
		all.Go(func() error {
			for count.Load() < bound {
				err := s.temporal.SignalWorkflow(s.ctx, id, "", "bindings-changed", object{"bindings": []any{}})
				if err != nil {
					return err
				}
				count.Add(1)
			}
			return nil
		})
	}
	refused = all.Wait()
	return count.Load(), refused
}
