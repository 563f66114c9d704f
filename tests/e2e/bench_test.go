package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var (
	benched   = flag.Int("measure", 0, "fail over so many `bindings` and measure it, as make bench does")
	benchedTo = flag.String("measure-to", "", "append the figures to this `file`, as a Go benchmark prints them")
)

var benchStory = story{name: "bench", short: "bench", size: 4, alone: true, space: "bench"}

// benchSettings are the defaults, where stories are quicker; windows are wide open.
var benchSettings = []string{
	"health.pollInterval=30s", "workflow.pollInterval=30s", "workflow.askAgain=20s", "workflow.recheck=15s", "workflow.relist=1m",
	"windows.inFlight=400", "controller.resyncInterval=1m", "log.level=info", "health.minHealthy=10s", "health.detection=90s",
}

// figures are what one failover cost, in the units of a Go benchmark. Times are seconds since the NoExecute taint;
// requests, events and processor time are for each migration.
type figures struct {
	bindings float64
	all      []figure
}

// figure is one value with its unit.
type figure struct {
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
}

// save appends a line as a Go benchmark prints it to a file, and writes the same as JSON beside it.
func (f *figures) save(file string) error {
	line := fmt.Sprintf("BenchmarkFailover/bindings=%.0f 1", f.bindings)
	for _, x := range f.all {
		line += fmt.Sprintf(" %.4g %s", x.Value, x.Unit)
	}
	lines, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // named by the flag
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(lines, line)
	raw, encodes := json.MarshalIndent(f.all, "", "  ")
	return errors.Join(err, lines.Close(), encodes, os.WriteFile(strings.TrimSuffix(file, ".txt")+".json", append(raw, '\n'), 0o600))
}

// add prints and keeps a figure.
func (f *figures) add(value float64, unit string) {
	say("bench: %10.4g %s", value, unit)
	f.all = append(f.all, figure{Unit: unit, Value: value})
}

// TestBench measures one failover, from the taint to the last release. It asserts only that
// every binding moved.
func TestBench(t *testing.T) {
	if *benched == 0 {
		t.Skip("make bench runs it")
	}
	s := &scene{T: t, world: shared, story: benchStory, ctx: t.Context(), asked: map[string]bool{}}
	profiles, err := freeAddress(t.Context())
	require.NoError(t, err)
	require.NoError(t, shared.stopProduct()) // it runs with the settings of stories
	shared.more, shared.profiles = benchSettings, profiles
	require.NoError(t, shared.inMode(t.Context(), "enforce"))
	s.begin()
	s.rule(time.Second, time.Second)
	from := s.c(1)
	keys := s.deployAtOnce(from, s.c(2), *benched)
	f := figures{bindings: float64(len(keys))}
	f.add(s.patchesPerSecond(keys[0]), "raw-patches/sec")
	f.add(s.startsPerSecond(), "raw-starts/sec")
	before, requests, pacer := s.processorTimes(), s.requestTimes("lifeboat-worker"), s.events(pacerID)

	s.pause = time.Second // a look reads all bindings; the chronicle has the times
	profiled := s.profile(*benchedTo)
	s.kill(from)
	s.phase(from, "Evacuated")
	s.allReleased(keys, from)
	after := s.processorTimes()
	s.catchUp()
	profiled()
	f.timed(s, from, keys)
	f.counted(s, from, requests, pacer)
	for _, name := range measured {
		f.add((after[name]-before[name])*1000/f.bindings, "ms-"+name)
	}
	s.revive(from)
	s.ends(from, "Recovered")
	if *benchedTo == "" {
		return
	}
	require.NoError(t, f.save(*benchedTo))
}

// deployAtOnce is deployMany with many clients.
func (s *scene) deployAtOnce(home, to string, n int) []string {
	keys, at := make([]string, n), s.api.Resource(resourceBindings).Namespace(s.namespace())
	errs := make([]error, n)
	var clients sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range n {
		u := deployment(s.namespace(), home+"-"+strconv.Itoa(i), home, 1, oneOf(home, to))
		keys[i] = keyOf(u)
		slots <- struct{}{}
		clients.Go(func() {
			_, errs[i] = at.Create(s.ctx, u, metav1.CreateOptions{})
			<-slots
		})
	}
	clients.Wait()
	for _, err := range errs {
		require.NoError(s, err)
	}
	for _, key := range keys {
		s.runs(key)
	}
	return keys
}

// patchesPerSecond is how many merge patches of one binding the API server takes from one client.
func (s *scene) patchesPerSecond(key string) float64 {
	const patches = 200
	namespace, name, _ := strings.Cut(key, "/")
	at, begun := s.api.Resource(resourceBindings).Namespace(namespace), time.Now()
	for i := range patches {
		change := fmt.Sprintf(`{"metadata":{"annotations":{"bench":"%d"}}}`, i)
		_, err := at.Patch(s.ctx, name, types.MergePatchType, []byte(change), metav1.PatchOptions{})
		require.NoError(s, err)
	}
	return patches / time.Since(begun).Seconds()
}

// startsPerSecond is how many workflows Temporal starts for one client.
func (s *scene) startsPerSecond() float64 {
	const starts = 200
	begun := time.Now()
	for i := range starts {
		_, err := s.temporal.ExecuteWorkflow(s.ctx, client.StartWorkflowOptions{
			ID: "bench-" + strconv.Itoa(i), TaskQueue: "bench", WorkflowExecutionTimeout: time.Second,
		}, "Bench")
		require.NoError(s, err)
	}
	return starts / time.Since(begun).Seconds()
}

// profile takes a profile of the worker's processor time beside the figures; the function that it returns
// waits for it.
func (s *scene) profile(figures string) (taken func()) {
	if figures == "" {
		return func() {}
	}
	const during = 20 // seconds
	done := make(chan error, 1)
	go func() {
		done <- save(s.ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.profiles, during), strings.TrimSuffix(figures, ".txt")+"-worker.pprof")
	}()
	return func() { require.NoError(s, <-done) }
}

// save writes what an address answers into a file.
func save(ctx context.Context, url, file string) error {
	_, content, err := fetch(ctx, http.DefaultClient, url)
	return errors.Join(err, os.WriteFile(file, []byte(content), 0o600))
}

// timed reads the times off the versions that stood.
func (f *figures) timed(s *scene, from string, keys []string) {
	tainted := s.noExecuteSince(from)
	var evicted, placed, released []float64
	for _, key := range keys {
		versions, err := s.chronicle.of(resourceBindings, key)
		require.NoError(s, err)
		out, on, gone := s.moments(versions, from, tainted)
		for _, x := range []struct {
			all *[]float64
			at  time.Time
		}{{all: &evicted, at: out}, {all: &placed, at: on}, {all: &released, at: gone}} {
			require.False(s, x.at.IsZero(), "%s has not moved to its end", key)
			*x.all = append(*x.all, x.at.Sub(tainted).Seconds())
		}
	}
	for _, all := range [][]float64{evicted, placed, released} {
		slices.Sort(all)
	}
	last := len(keys) - 1
	f.add(evicted[0], "first-evicted-sec")
	f.add(evicted[last], "last-evicted-sec")
	f.add(float64(last)/max(evicted[last]-evicted[0], 1e-9), "evicted/sec")
	each := make([]int, int(evicted[last])+1)
	for _, at := range evicted {
		each[int(at)]++
	}
	s.Logf("evicted in each second: %v", each)
	longest := 0.0
	for i := range last {
		longest = max(longest, evicted[i+1]-evicted[i])
	}
	f.add(longest, "longest-pause-sec")
	f.add(placed[last], "last-placed-sec")
	f.add(released[last/2], "released-p50-sec")
	f.add(released[last], "last-released-sec")
}

// moments are when a binding was first seen off a cluster, with targets, and without a task.
func (s *scene) moments(versions []version, from string, since time.Time) (out, on, gone time.Time) {
	note := func(at *time.Time, is bool, seen time.Time) {
		if is && at.IsZero() {
			*at = seen
		}
	}
	for _, v := range versions {
		b, err := decode[binding](v.Object)
		require.NoError(s, err)
		if v.Seen.Before(since) || b.on(from) {
			continue
		}
		note(&out, true, v.Seen)
		note(&on, len(b.Spec.Clusters) > 0, v.Seen)
		note(&gone, len(b.Spec.Tasks) == 0, v.Seen)
	}
	return out, on, gone
}

// noExecuteSince is when a cluster was first seen with a NoExecute taint.
func (s *scene) noExecuteSince(name string) time.Time {
	for _, v := range s.clusterVersions(name) {
		if strings.Contains(fmt.Sprint(v.Object.Object["spec"]), "NoExecute") {
			return v.Seen
		}
	}
	require.Fail(s, "never tainted", name)
	return time.Time{}
}

// counted is what it took.
func (f *figures) counted(s *scene, from string, requests map[string][]time.Duration, pacer int64) {
	events, tasks, migrations := s.eventsOfMigrations(from)
	f.add(float64(events)/float64(migrations), "events-migration")
	s.Logf("%.1f workflow tasks for each migration", float64(tasks)/float64(migrations))
	f.add(float64(s.events(failoverID(from)))/f.bindings, "events-failover")
	f.add(float64(s.events(pacerID)-pacer)/f.bindings, "events-pacer")
	worker := 0.0
	for what, took := range s.requestTimes("lifeboat-worker") {
		took = took[len(requests[what]):]
		count, milliseconds := float64(len(took)), 0.0
		for _, t := range took {
			milliseconds += t.Seconds() * 1000 / count
		}
		worker += count / f.bindings
		if count/f.bindings >= 0.1 {
			say("bench: %10.4g %s, %.0f ms each", count/f.bindings, what, milliseconds)
		}
	}
	f.add(worker, "requests-worker")
	f.add(float64(migrations), "migrations")
	now := s.cost()
	f.add(float64(now["worker"].megabytes), "MB-worker")
	f.add(float64(now["controller"].megabytes), "MB-controller")
}

// requestTimes are how long the requests took that the audit log has of one user, by verb and resource.
func (s *scene) requestTimes(user string) map[string][]time.Duration {
	raw, err := os.ReadFile(s.lab.At.AuditLog)
	require.NoError(s, err)
	all := map[string][]time.Duration{}
	for line := range bytes.Lines(raw) {
		var e struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef struct{ Resource string }

			RequestReceivedTimestamp, StageTimestamp time.Time
		}
		if json.Unmarshal(line, &e) == nil && e.User.Username == user {
			what := e.Verb + " " + e.ObjectRef.Resource
			all[what] = append(all[what], e.StageTimestamp.Sub(e.RequestReceivedTimestamp))
		}
	}
	return all
}

// events counts the events of every run of a workflow.
func (s *scene) events(id string) int64 {
	total := int64(0)
	for _, run := range s.runsOf("WorkflowId = '" + id + "'") {
		total += run.events
	}
	return total
}

type ran struct {
	id, run string
	events  int64
}

// runsOf lists workflow runs, with the length of each one's history.
func (s *scene) runsOf(query string) []ran {
	var out []ran
	var next []byte
	for {
		page, err := s.temporal.ListWorkflow(s.ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: s.lab.At.TemporalNamespace, Query: query, PageSize: 1000, NextPageToken: next,
		})
		require.NoError(s, err)
		for _, x := range page.Executions {
			length := x.HistoryLength
			if x.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING { // visibility has no length yet
				d, err := s.temporal.DescribeWorkflowExecution(s.ctx, x.Execution.WorkflowId, x.Execution.RunId)
				require.NoError(s, err)
				length = d.WorkflowExecutionInfo.HistoryLength
			}
			out = append(out, ran{x.Execution.WorkflowId, x.Execution.RunId, length})
		}
		if next = page.NextPageToken; len(next) == 0 {
			return out
		}
	}
}

// eventsOfMigrations counts the events and workflow tasks of a cluster's migrations, and the migrations.
func (s *scene) eventsOfMigrations(from string) (events, tasks int64, migrations int) {
	all := s.runsOf("WorkflowType = 'BindingMigration' AND LifeboatCluster = '" + from + "'")
	for i, m := range all {
		events += m.events
		for _, e := range s.eventsOf(m.id, m.run) {
			if e.EventType == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
				tasks++
			}
			if i == len(all)/2 { // one as a sample
				s.Logf("%3d %s %s", e.EventId, e.EventTime.AsTime().Format("05.000"), kindOf(e))
			}
		}
	}
	return events, tasks, len(all)
}

// processorTimes are the seconds that each process of this machine with a name of Lifeboat's has
// used.
func (s *scene) processorTimes() map[string]float64 {
	const ticks = 100 // a second, on Linux
	all := map[string]float64{}
	entries, err := os.ReadDir("/proc")
	require.NoError(s, err)
	for _, e := range entries {
		raw, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // no process, or over
		}
		_, rest, _ := strings.Cut(string(raw), "(")
		name, rest, _ := strings.Cut(rest, ")")
		fields := strings.Fields(rest)
		user, errUser := strconv.ParseFloat(fields[11], 64)
		system, errSystem := strconv.ParseFloat(fields[12], 64)
		require.NoError(s, errUser)
		require.NoError(s, errSystem)
		all[name] += (user + system) / ticks
	}
	return all
}

// measured are the processes whose processor time a benchmark shows: Lifeboat's, then the lab's and its own.
var measured = []string{"lifeboat-worker", "lifeboat", "temporal-dev", "kube-apiserver", "etcd", "lab", "e2e.test"}
