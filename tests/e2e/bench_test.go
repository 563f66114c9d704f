package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var (
	benched        = flag.Int("measure", 0, "fail over so many `bindings` and measure it, as make bench does")
	benchedTo      = flag.String("measure-to", "", "add the figures to the files whose names begin with this `path`")
	benchScheduler = flag.String("measure-scheduler", "instant", "the lab's scheduler: instant, or slow as Karmada's own")
	benchWorkers   = flag.Int("measure-workers", 1, "so many workers share the task queue")
	benchFleet     = flag.Int("measure-fleet", 0, "so many bindings in all; those beyond -measure run on other clusters")
	benchClusters  = flag.Int("measure-clusters", defaultClusters, "so many clusters")
	benchFailovers = flag.Int("measure-failovers", 1, "the bindings are on so many clusters, which fail at once")
	benchRecovery  = flag.Int("measure-recovery", 0, "the clusters come back once so many bindings were evicted, and what is measured is how soon the rest is abandoned")
	benchProfile   = flag.String("measure-profile", "profile", "what is profiled in the worker: profile (processor time), mutex or block")
)

// benchWindow is for how long a rule's conditions must hold, and must be well.
const benchWindow = time.Second

// defaultClusters is how many clusters a measurement has that names no number.
const defaultClusters = 4

func benchStory() story {
	return story{name: "bench", short: "bench", size: *benchClusters, alone: true, space: "bench"}
}

// benchSettings are the defaults, where stories are quicker.
var benchSettings = []string{
	"health.pollInterval=30s", "workflow.pollInterval=30s", "workflow.askAgain=20s", "workflow.recheck=15s", "workflow.relist=1m",
	"controller.resyncInterval=1m", "log.level=info", "health.minHealthy=10s", "health.detection=90s",
}

// schedulerRates are how many placements per second the lab's scheduler makes, 0 = as many as it can.
var schedulerRates = map[string]float64{"instant": 0, "slow": 11}

// TestBench measures one failover, from the taint to the last release, or its recovery in the middle. It asserts only
// that every binding moved, or that some were abandoned.
func TestBench(t *testing.T) {
	if *benched == 0 {
		t.Skip("make bench runs it")
	}
	rate, known := schedulerRates[*benchScheduler]
	require.True(t, known, "SCHEDULER=%s: want instant or slow", *benchScheduler)
	require.Positive(t, *benchWorkers, "WORKERS: want 1 or more")
	require.Positive(t, *benchFailovers, "FAILOVERS: want 1 or more")
	require.GreaterOrEqual(t, *benchClusters, *benchFailovers+2, "CLUSTERS: want those that fail, one that takes their bindings, and another")
	require.True(t, *benchFleet == 0 || *benchFleet >= *benched, "FLEET=%d: want N=%d or more, those that move are among them", *benchFleet, *benched)
	require.Less(t, *benchRecovery, *benched, "RECOVERY: want fewer than N, some have to be left")
	patience = max(patience, time.Duration(*benched)*time.Second/2)
	s := &scene{T: t, world: shared, story: benchStory(), ctx: t.Context(), asked: map[string]bool{}, pause: time.Second}
	profiles, err := freeAddress(t.Context())
	require.NoError(t, err)
	require.NoError(t, shared.stopProduct()) // it runs with the settings of stories
	shared.more, shared.profiles = benchSettings, profiles
	require.NoError(t, shared.inMode(t.Context(), "enforce"))
	for n := 2; n <= *benchWorkers; n++ {
		p, err := s.serve(s.ctx, "lifeboat-worker", fmt.Sprintf("worker%d", n), s.lab.At.Kubeconfigs["worker"], "--mode", "enforce")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.stop()) })
	}
	s.begin()
	failing, to := s.all()[:*benchFailovers], s.c(*benchFailovers+1)
	s.create(taintRule(s.story.short, "Ready", benchWindow, benchWindow, failing...))
	seen := newMoments(failing)
	s.chronicle.noteOnly(seen.note)
	begun := time.Now()
	s.deployElsewhere(s.all()[*benchFailovers+1:], *benchFleet-*benched)
	var keys []string
	for i, from := range failing {
		keys = append(keys, s.deployMany(from, from, to, (*benched+i)/len(failing))...)
	}
	say("bench: %d bindings run after %.0f s", *benched, time.Since(begun).Seconds())
	m := measurement{
		Bindings: *benched, Scheduler: *benchScheduler, Workers: *benchWorkers,
		Fleet: *benchFleet, Clusters: *benchClusters, Failovers: *benchFailovers, Recovery: *benchRecovery, schedulerRate: rate,
	}
	m.group("raw limit, one client")
	m.add("raw-patches/sec", s.patchesPerSecond(keys[0]))
	m.add("raw-starts/sec", s.startsPerSecond())
	s.control("knobs", "", object{"schedulerLatency": "0s", "schedulerRate": rate})
	before, requests, pacer := s.processes(), s.auditSize(), s.events(pacerID)

	profiled := s.profile(*benchedTo)
	for _, from := range failing {
		s.control("kill", from, nil)
	}
	if *benchRecovery > 0 {
		m.recovered(s, seen, failing)
		profiled()
		require.NoError(t, m.save(*benchedTo))
		return
	}
	s.await("all released", func() (bool, string) { return seen.over(*benched) })
	s.await("all migrations ended", func() (bool, string) {
		n, err := s.temporal.CountWorkflow(s.ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: s.lab.At.TemporalNamespace, Query: migrationsOf(failing...) + " AND ExecutionStatus = 'Running'",
		})
		require.NoError(s, err)
		return n.Count == 0, fmt.Sprintf("%d have not", n.Count)
	})
	after := s.processes()
	profiled()
	m.timed(seen)
	m.counted(s, failing, requests, pacer)
	m.used(before, after)
	require.NoError(t, m.save(*benchedTo))

	s.recover(failing)
}

// recover has the clusters come back and waits for the ends of their failovers. [scene.ends] would wait for the
// chronicle, which keeps nothing in a measurement.
func (s *scene) recover(failed []string) (all []report) {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	for _, from := range failed {
		s.revive(from)
	}
	for _, from := range failed {
		var ended report
		require.NoError(s, s.temporal.GetWorkflow(ctx, failoverID(from), "").Get(ctx, &ended))
		require.Equal(s, "Recovered", ended.Ended)
		all = append(all, ended)
	}
	return all
}

func migrationsOf(clusters ...string) string {
	return "WorkflowType = 'BindingMigration' AND LifeboatCluster IN ('" + strings.Join(clusters, "', '") + "')"
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

// profile takes a profile of the worker beside the figures; the function that it returns waits for it.
func (s *scene) profile(figures string) (taken func()) {
	if figures == "" {
		return func() {}
	}
	const during = 20 // seconds
	done := make(chan error, 1)
	go func() {
		done <- save(s.ctx, fmt.Sprintf("http://%s/debug/pprof/%s?seconds=%d", s.profiles, *benchProfile, during), figures+"-worker.pprof")
	}()
	return func() { require.NoError(s, <-done) }
}

// save writes what an address answers into a file.
func save(ctx context.Context, url, file string) error {
	_, content, err := fetch(ctx, http.DefaultClient, url)
	return errors.Join(err, os.WriteFile(file, []byte(content), 0o600))
}
