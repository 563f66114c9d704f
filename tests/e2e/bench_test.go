package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
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
	benchedTo = flag.String("measure-to", "", "write the figures of the benchmark into this `file`, as JSON")
)

var benchStory = story{name: "bench", short: "bench", size: 4, alone: true, space: "bench"}

// benchSettings are the defaults, where stories are quicker; windows are wide open.
var benchSettings = []string{
	"health.pollInterval=30s", "workflow.pollInterval=30s", "workflow.askAgain=20s", "workflow.recheck=15s", "workflow.relist=1m",
	"windows.inFlight=400", "controller.resyncInterval=1m", "log.level=info", "health.minHealthy=10s", "health.detection=90s",
}

// figures are what one failover cost. Times are seconds since the NoExecute taint, processor
// time is in milliseconds.
type figures struct {
	Bindings         int     `json:"bindings"`
	PatchesPerSecond float64 `json:"patchesPerSecond"` // raw: of one object, by one client
	StartsPerSecond  float64 `json:"startsPerSecond"`  // raw: of workflows that nobody works on, by one client
	FirstEvicted     float64 `json:"firstEvicted"`
	LastEvicted      float64 `json:"lastEvicted"`
	EvictedPerSecond float64 `json:"evictedPerSecond"`
	LongestPause     float64 `json:"longestPause"`
	LastPlaced       float64 `json:"lastPlaced"`
	ReleasedP50      float64 `json:"releasedP50"`
	LastReleased     float64 `json:"lastReleased"`
	RequestsWorker   float64 `json:"requestsWorker"`
	// Processor is what each process used, per migration: Lifeboat's, and those of the lab around it.
	Processor map[string]float64 `json:"processor"`
	// Requests are those of the worker, by verb and resource, for each migration; RequestTook is
	// what one takes, in milliseconds, by the API server's own clock.
	Requests            map[string]float64 `json:"requests"`
	RequestTook         map[string]float64 `json:"requestTook"`
	EventsMigration     float64            `json:"eventsMigration"`
	TasksMigration      float64            `json:"tasksMigration"`
	EventsFailover      float64            `json:"eventsFailover"` // per migration
	EventsPacer         float64            `json:"eventsPacer"`
	Migrations          int                `json:"migrations"` // started
	MegabytesWorker     int                `json:"megabytesWorker"`
	MegabytesController int                `json:"megabytesController"`
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
	f := figures{Bindings: len(keys), PatchesPerSecond: s.patchesPerSecond(keys[0]), StartsPerSecond: s.startsPerSecond()}
	before, requests, pacer := s.processorTimes(), s.requestTimes("lifeboat-worker"), s.events(pacerID)

	s.pause = time.Second // a look reads all bindings; the chronicle has the times
	profiled := s.profile(*benchedTo)
	s.kill(from)
	s.phase(from, "Evacuated")
	s.allReleased(keys, from)
	f.Processor = s.processorSince(before, len(keys))
	s.catchUp()
	profiled()
	f.timed(s, from, keys)
	f.counted(s, from, requests, pacer)
	s.revive(from)
	s.ends(from, "Recovered")
	f.print()
	if *benchedTo == "" {
		return
	}
	raw, err := json.MarshalIndent(f, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(*benchedTo, append(raw, '\n'), 0o600))
	lines, err := os.OpenFile(strings.TrimSuffix(*benchedTo, ".json")+".txt", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = lines.WriteString(f.line())
	require.NoError(t, errors.Join(err, lines.Close()))
}

// line is a run as a Go benchmark prints it, for benchstat.
func (f *figures) line() string {
	line := fmt.Sprintf("BenchmarkFailover/bindings=%d 1", f.Bindings)
	for _, x := range []struct {
		value float64
		unit  string
	}{
		{value: f.PatchesPerSecond, unit: "raw-patches/sec"},
		{value: f.StartsPerSecond, unit: "raw-starts/sec"},
		{value: f.FirstEvicted, unit: "first-evicted-sec"},
		{value: f.LastEvicted, unit: "last-evicted-sec"},
		{value: f.EvictedPerSecond, unit: "evicted/sec"},
		{value: f.LongestPause, unit: "longest-pause-sec"},
		{value: f.LastPlaced, unit: "last-placed-sec"},
		{value: f.ReleasedP50, unit: "released-p50-sec"},
		{value: f.LastReleased, unit: "last-released-sec"},
		{value: f.EventsMigration, unit: "events-migration"},
		{value: f.EventsFailover, unit: "events-failover"},
		{value: f.EventsPacer, unit: "events-pacer"},
		{value: f.RequestsWorker, unit: "requests-worker"},
		{value: float64(f.Migrations), unit: "migrations"},
		{value: float64(f.MegabytesWorker), unit: "MB-worker"},
		{value: float64(f.MegabytesController), unit: "MB-controller"},
	} {
		line += fmt.Sprintf(" %.4g %s", x.value, x.unit)
	}
	for _, name := range measured {
		line += fmt.Sprintf(" %.4g ms-%s", f.Processor[name], name)
	}
	return line + "\n"
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
		done <- save(s.ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.profiles, during), strings.TrimSuffix(figures, ".json")+"-worker.pprof")
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
	f.FirstEvicted, f.LastEvicted, f.LastPlaced = evicted[0], evicted[last], placed[last]
	f.ReleasedP50, f.LastReleased = released[last/2], released[last]
	f.EvictedPerSecond = float64(last) / max(evicted[last]-evicted[0], 1e-9)
	each := make([]int, int(evicted[last])+1)
	for _, at := range evicted {
		each[int(at)]++
	}
	s.Logf("evicted in each second: %v", each)
	for i := range last {
		f.LongestPause = max(f.LongestPause, evicted[i+1]-evicted[i])
	}
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

// counted is what it took, per migration.
func (f *figures) counted(s *scene, from string, requests map[string][]time.Duration, pacer int64) {
	n := float64(f.Bindings)
	f.Requests, f.RequestTook = map[string]float64{}, map[string]float64{}
	for what, took := range s.requestTimes("lifeboat-worker") {
		took = took[len(requests[what]):]
		count := float64(len(took))
		f.Requests[what] = math.Round(count/n*100) / 100
		f.RequestsWorker += count / n
		for _, t := range took {
			f.RequestTook[what] += t.Seconds() * 1000 / count
		}
	}
	f.EventsFailover = float64(s.events(failoverID(from))) / n
	f.EventsPacer = float64(s.events(pacerID)-pacer) / n
	events, tasks := s.eventsOfMigrations(from, &f.Migrations)
	f.EventsMigration, f.TasksMigration = float64(events)/float64(f.Migrations), float64(tasks)/float64(f.Migrations)
	now := s.cost()
	f.MegabytesWorker, f.MegabytesController = now["worker"].megabytes, now["controller"].megabytes
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
func (s *scene) eventsOfMigrations(from string, migrations *int) (events, tasks int64) {
	all := s.runsOf("WorkflowType = 'BindingMigration' AND LifeboatCluster = '" + from + "'")
	*migrations = len(all)
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
	return events, tasks
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

// processorSince is what they used since, in milliseconds for each of n migrations.
func (s *scene) processorSince(before map[string]float64, n int) map[string]float64 {
	after, used := s.processorTimes(), map[string]float64{}
	for _, name := range measured {
		used[name] = math.Round((after[name]-before[name])*10000/float64(n)) / 10
	}
	return used
}

func (f *figures) print() {
	say("bench: %d bindings, %d migrations; for one client this API server takes %.0f merge patches a second, and this Temporal starts %.0f workflows",
		f.Bindings, f.Migrations, f.PatchesPerSecond, f.StartsPerSecond)
	say("bench: evicted    first %.2f s, last %.1f s, %.1f a second, longest pause %.2f s", f.FirstEvicted, f.LastEvicted, f.EvictedPerSecond, f.LongestPause)
	say("bench: placed     last %.1f s", f.LastPlaced)
	say("bench: released   p50 %.1f s, last %.1f s", f.ReleasedP50, f.LastReleased)
	for _, name := range measured {
		say("bench: processor  %5.1f ms per migration: %s", f.Processor[name], name)
	}
	say("bench: events     migration %.1f in %.1f workflow tasks, failover %.1f, pacer %.1f; %.1f requests of the worker",
		f.EventsMigration, f.TasksMigration, f.EventsFailover, f.EventsPacer, f.RequestsWorker)
	for _, what := range slices.Sorted(maps.Keys(f.Requests)) {
		if f.Requests[what] >= 0.1 {
			say("bench: requests   %5.1f %s, %.0f ms each", f.Requests[what], what, f.RequestTook[what])
		}
	}
	say("bench: memory     worker %d MB, controller %d MB", f.MegabytesWorker, f.MegabytesController)
}
