package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// crowd is a fleet whose failovers all run, and its bindings: every fourth is being moved
// by a migration, and the others stand in their cluster's queue.
type crowd struct {
	clusters int
	bindings []*karmada.Binding
	events   int
}

func newCrowd(clusters, bindings int) *crowd {
	c := &crowd{clusters: clusters, bindings: make([]*karmada.Binding, bindings)}
	for n := range c.bindings {
		c.bindings[n] = c.binding(n, 0)
	}
	return c
}

func crowdCluster(n int) string { return fmt.Sprintf("m%02d", n) }

// binding is the n-th binding after so many changes.
func (c *crowd) binding(n, version int) *karmada.Binding {
	b := &karmada.Binding{
		Key: karmada.BindingKey{Namespace: "shop", Name: fmt.Sprintf("app-%05d", n)}, UID: "uid",
		ResourceVersion: fmt.Sprint(version), Generation: int64(version), Replicas: int32(version),
		Clusters: []karmada.TargetCluster{{Name: crowdCluster(n % c.clusters)}},
	}
	if n%4 == 0 {
		b.Tasks = []karmada.Task{task(crowdCluster((n+1)%c.clusters), owner(n), karmada.TaskReason)}
	}
	return b
}

func owner(n int) string { return fmt.Sprintf("binding-migration/app-%05d", n) }

// begin is what a watch tells first.
func (c *crowd) begin(h k8sadapter.Handlers) {
	h.OnRules([]rules.Rule{notReady()})
	for n := range c.clusters {
		h.OnCluster(nil, cluster(crowdCluster(n), "1", corev1.ConditionFalse))
	}
	for _, b := range c.bindings {
		h.OnBinding(nil, b)
	}
}

// change is the next event: every binding in turn changes its spec.
func (c *crowd) change(h k8sadapter.Handlers) {
	n := c.events % len(c.bindings)
	c.events++
	old := c.bindings[n]
	c.bindings[n] = c.binding(n, c.events)
	h.OnBinding(old, c.bindings[n])
}

// ear is Temporal: it keeps what each workflow was told last of each binding.
type ear struct {
	mu    sync.Mutex
	takes time.Duration // one signal
	away  bool
	heard map[string]string // by workflow and binding: its version
	// signals is how many came to each workflow under each name.
	signals map[string]int
	largest int
	// most is how many signals of one name a run takes; 0 is no bound.
	most int
}

func (e *ear) hear(id, signal string, arg any) error {
	if e.takes > 0 {
		timer := time.NewTimer(e.takes)
		<-timer.C
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.away:
		return errors.New("away")
	case e.most > 0 && e.signals[id+" "+signal] >= e.most:
		return ErrFull
	}
	e.signals[id+" "+signal]++
	switch m := arg.(type) {
	case workflows.BindingsChanged:
		e.largest = max(e.largest, len(m.Bindings))
		for _, b := range m.Bindings {
			e.heard[id+" "+b.Key.Name] = b.ResourceVersion
		}
	case proof.BindingFact:
		e.heard[id+" "+m.Key.Name] = m.ResourceVersion
	}
	return nil
}

func (e *ear) setAway(away bool) { e.mu.Lock(); defer e.mu.Unlock(); e.away = away }

// told is the version that a workflow was told last of a binding.
func (e *ear) told(whom string) string { e.mu.Lock(); defer e.mu.Unlock(); return e.heard[whom] }

// continueAsNew begins a new run.
func (e *ear) continueAsNew(to string) { e.mu.Lock(); defer e.mu.Unlock(); delete(e.signals, to) }

func (e *ear) Signal(_ context.Context, id, signal string, arg any) error {
	return e.hear(id, signal, arg)
}

func (e *ear) SignalWithStart(_ context.Context, start Start, signal string, arg any) error {
	return e.hear(start.WorkflowID, signal, arg)
}

// Running implements Owners: everybody runs.
func (e *ear) Running(context.Context, string) (bool, error) { return true, nil }

// waiting is how many items wait in the outbox, and in how many boxes.
func waiting(o *Outbox) (items, boxes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range o.boxes {
		items += len(b.mail.items)
	}
	return items, len(o.boxes)
}

// untold are bindings whose newest state somebody who should know it was not told.
func (c *crowd) untold(e *ear) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for n, b := range c.bindings {
		id := workflows.ClusterFailoverID("", crowdCluster(n%c.clusters))
		if got := e.heard[id+" "+b.Key.Name]; got != b.ResourceVersion {
			out = append(out, fmt.Sprintf("%s of %s: %s, not %s", id, b.Key.Name, got, b.ResourceVersion))
		}
		if n%4 != 0 {
			continue
		}
		if got := e.heard[owner(n)+" "+b.Key.Name]; got != b.ResourceVersion {
			out = append(out, fmt.Sprintf("%s: %s, not %s", owner(n), got, b.ResourceVersion))
		}
	}
	return out
}

// Ten thousand events about bindings a second for some seconds, a third of which Temporal is
// away: whoever should know is told the newest state of each, nobody is told more than once
// a coalescing interval but for what one signal cannot hold, what waits is bounded by what there
// is to tell, and no goroutine is left (the bubble would not end).
func TestTenThousandBindingEventsASecondAreToldInBoundedMail(t *testing.T) {
	const (
		perSecond = 10_000
		tick      = 10 * time.Millisecond
		coalesce  = time.Second
		storm     = 6 * time.Second
	)
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(50, 4000)
		e := &ear{takes: 5 * time.Millisecond, heard: map[string]string{}, signals: map[string]int{}}
		k := &fakeKarmada{play: c.begin}
		log := slog.New(slog.DiscardHandler)
		o := &Outbox{Sender: e, Counter: uncounted{}, Log: log, Coalesce: coalesce}
		w := &Watcher{
			Follow:  func(h k8sadapter.Handlers) Karmada { k.h = h; return k },
			Reports: &notes{}, Outbox: o, Owners: e, Resync: 30 * time.Second,
			Metrics: telemetry.NewControllerMetrics(prometheus.NewRegistry()), Log: log,
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.Run(ctx) }()
		pass(5 * time.Second) // everybody's failover is known to run

		mostItems, mostBoxes, goroutines := 0, 0, 0
		for at := time.Duration(0); at < storm; at += tick {
			e.setAway(at > storm/3 && at < 2*storm/3)
			for range int(perSecond * tick / time.Second) {
				c.change(k.h)
			}
			items, boxes := waiting(o)
			mostItems, mostBoxes = max(mostItems, items), max(mostBoxes, boxes)
			goroutines = max(goroutines, runtime.NumGoroutine())
			pass(tick)
		}
		require.Equal(t, perSecond*int(storm/time.Second), c.events)
		pass(2 * longestPause)
		require.Empty(t, c.untold(e), "the newest of everything was told")
		o.Fleet(nil) // whoever is told something clears away what is told
		pass(2 * coalesce)
		items, boxes := waiting(o)
		require.Zero(t, items)
		require.LessOrEqual(t, boxes, 1, "the pacer's own")

		toTell := len(c.bindings) + len(c.bindings)/4 + c.clusters + 1 // queue, owners, clusters, pacer
		require.LessOrEqual(t, mostItems, toTell, "one item for each who is to know")
		require.LessOrEqual(t, mostBoxes, c.clusters*2+len(c.bindings)/4+1)
		require.LessOrEqual(t, e.largest, bindingsPerSignal)
		most := int((storm+2*longestPause)/coalesce) + 10
		for to, n := range e.signals {
			require.LessOrEqual(t, n, most, to)
		}
		total := 0
		for _, n := range e.signals {
			total += n
		}
		require.Less(t, total, c.events/4, "most of it was told with something else")
		t.Logf("%d events, %d signals, at most %d items in %d boxes, %d goroutines", c.events, total, mostItems, mostBoxes, goroutines)
		stop()
		<-done
	})
}

// counts are how many signals ended how.
type counts struct {
	mu sync.Mutex
	by map[string]int
}

func (c *counts) Signal(_, result string) { c.mu.Lock(); defer c.mu.Unlock(); c.by[result]++ }

// A run that has had as many signals as Temporal allows, because no worker has let it continue
// as new, is tried ever more rarely and counted apart, while everybody else is told as ever;
// the next run is told the newest of each, once.
func TestARunThatTakesNoMoreSignalsIsBackedOffAndThenToldTheNewest(t *testing.T) {
	const most = 100
	synctest.Test(t, func(t *testing.T) {
		e := &ear{heard: map[string]string{}, signals: map[string]int{}, most: most}
		c := &counts{by: map[string]int{}}
		var log strings.Builder
		o := &Outbox{Sender: e, Counter: c, Log: slog.New(slog.NewTextHandler(&log, nil)), Coalesce: time.Second}
		o.Open(&line{running: map[string]bool{}})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); o.Run(ctx) }()
		version := 0
		storm := func(long time.Duration) {
			for range int(long / (100 * time.Millisecond)) {
				version++
				o.Changed("full", fact(fmt.Sprint(version)))
				pass(100 * time.Millisecond)
			}
		}
		storm(10 * time.Minute)
		o.Changed("other", fact("1"))
		pass(time.Second)
		require.Equal(t, "1", e.told("cluster-failover/other cart"), "nobody waits for somebody else")
		require.Equal(t, most, c.by[telemetry.ResultSent]-1)
		refused := c.by[telemetry.ResultFull]
		require.Positive(t, refused)
		require.LessOrEqual(t, refused, 5+int(10*time.Minute/longestPause), "ever more rarely")
		require.Zero(t, c.by[telemetry.ResultFailed])
		require.Equal(t, 1, strings.Count(log.String(), "does a worker run?"), "said once")
		items, _ := waiting(o)
		require.Equal(t, 1, items)

		e.continueAsNew("cluster-failover/full " + workflows.SignalBindingsChanged)
		pass(2 * longestPause)
		require.Equal(t, fmt.Sprint(version), e.told("cluster-failover/full cart"))
		require.Equal(t, most+2, c.by[telemetry.ResultSent], "one signal was enough")
		require.Contains(t, log.String(), "delivered after failures")
		stop()
		<-done
	})
}

// A line whose places are looked up is the line that would be looked through.
func TestALineKeepsItsOrderWhateverComesAndGoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := mail{newest: true, batch: 3}
		var want []item
		at := func(key string) int {
			return slices.IndexFunc(want, func(i item) bool { return i.key == key })
		}
		for version := range rapid.IntRange(1, 60).Draw(t, "turns") {
			i := item{key: rapid.StringMatching("[a-h]").Draw(t, "key")}
			i.binding.ResourceVersion = fmt.Sprint(version)
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0: // delivered
				require.Equal(t, append([]item(nil), want[:min(3, len(want))]...), append([]item(nil), m.take()...))
				want = want[min(3, len(want)):]
			case 1: // not delivered, while something newer came
				taken := m.take()
				waits := slices.IndexFunc(taken, func(old item) bool { return old.key == i.key })
				m.add(i)
				switch n := at(i.key); {
				case waits >= 0: // newer than what was under way: it waits in its own place
					want = append(slices.Delete(want, n, n+1), i)
				case n >= 0:
					want[n] = i
				default:
					want = append(want, i)
				}
				m.putBack(taken)
			default:
				if n := at(i.key); n >= 0 {
					want[n] = i
				} else {
					want = append(want, i)
				}
				m.add(i)
			}
			require.Equal(t, append([]item(nil), want...), append([]item(nil), m.items...))
			require.Len(t, m.places, len(m.items))
		}
	})
}

// BenchmarkBindingEvents is what one event about a binding costs the controller (make load).
func BenchmarkBindingEvents(b *testing.B) {
	for _, row := range []struct {
		name               string
		clusters, bindings int
		away               bool
	}{
		{name: "50-clusters-4000-bindings", clusters: 50, bindings: 4000, away: false},
		{name: "50-clusters-4000-bindings-temporal-away", clusters: 50, bindings: 4000, away: true},
		{name: "1-cluster-100000-bindings-temporal-away", clusters: 1, bindings: 100_000, away: true},
	} {
		b.Run(row.name, func(b *testing.B) {
			c := newCrowd(row.clusters, row.bindings)
			e := &ear{away: row.away, heard: map[string]string{}, signals: map[string]int{}}
			o := &Outbox{Sender: e, Counter: uncounted{}, Log: slog.New(slog.DiscardHandler), Coalesce: time.Second}
			router := NewRouter(o)
			o.Open(router)
			for n := range c.clusters {
				router.Opened(crowdCluster(n))
			}
			h := k8sadapter.Handlers{
				OnRules: router.RulesChanged, OnCluster: router.ClusterChanged, OnBinding: router.BindingChanged,
			}
			c.begin(h)
			ctx, stop := context.WithCancel(b.Context())
			done := make(chan struct{})
			go func() { defer close(done); o.Run(ctx) }()
			began := cpu(b)
			for b.Loop() {
				c.change(h)
			}
			used := cpu(b) - began
			items, _ := waiting(o)
			stop()
			<-done
			b.ReportMetric(float64(items), "waiting")
			b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-us/event")
		})
	}
}

// cpu is what this process has used of it, which a busy machine does not change.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
