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
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// line is a Sender that writes down what it delivers, and Temporal's end of it.
type line struct {
	mu      sync.Mutex
	begun   time.Time
	fail    error
	running map[string]bool
	sent    []string
	args    []any

	opened, closed []string
	missing        []karmada.BindingKey
}

func (l *line) Signal(_ context.Context, id, signal string, arg any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.fail != nil:
		return l.fail
	case !l.running[id]:
		return ErrNotRunning
	}
	l.note("signal", id, signal, arg)
	return nil
}

func (l *line) SignalWithStart(_ context.Context, start Start, signal string, arg any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return l.fail
	}
	l.running[start.ID] = true
	l.note("start", start.ID, signal, arg)
	return nil
}

func (l *line) note(verb, id, signal string, arg any) {
	about := ""
	l.args = append(l.args, arg)
	switch m := arg.(type) {
	case workflows.ClusterObserved:
		about = m.Fact.ResourceVersion
	case workflows.BindingsChanged:
		about = fmt.Sprint(len(m.Bindings), "@", m.Bindings[0].ResourceVersion)
	case workflows.Adopt:
		about = fmt.Sprint(m.Cluster, len(m.Bindings))
	case proof.BindingFact:
		about = m.ResourceVersion
	}
	l.sent = append(l.sent, fmt.Sprintf("%s %s %s %s %s", time.Since(l.begun).Round(100*time.Millisecond), verb, id, signal, about))
}

func (l *line) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	sent := l.sent
	l.sent = nil
	return sent
}

func (l *line) setFail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = err
}

func (l *line) Opened(c string) { l.mu.Lock(); defer l.mu.Unlock(); l.opened = append(l.opened, c) }
func (l *line) Closed(c string) { l.mu.Lock(); defer l.mu.Unlock(); l.closed = append(l.closed, c) }

func (l *line) OwnerMissing(key karmada.BindingKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missing = append(l.missing, key)
}

type uncounted struct{}

func (uncounted) Signal(_, _ string) {}

// inBubble runs an outbox in virtual time, then stops it.
func inBubble(t *testing.T, story func(o *Outbox, l *line)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &line{begun: time.Now(), running: map[string]bool{}}
		o := &Outbox{Sender: l, Counter: uncounted{}, Log: slog.New(slog.DiscardHandler), Coalesce: time.Second}
		o.Open(l)
		defer begin(t.Context(), o.Run)()
		story(o, l)
	})
}

// pass lets virtual time go by.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

func fact(version string) proof.BindingFact {
	return proof.BindingFact{Key: karmada.BindingKey{Namespace: "shop", Name: "cart"}, ResourceVersion: version}
}

func TestOutbox_ClusterFacts_StartTheFailoverAndStayInOrder(t *testing.T) {
	inBubble(t, func(o *Outbox, l *line) {
		for _, version := range []string{"1", "2", "3"} {
			o.Cluster(rules.ClusterFact{Cluster: "a", ResourceVersion: version}, true)
		}
		synctest.Wait()
		require.Equal(t, []string{
			"0s start cluster-failover/a cluster-observed 1",
			"0s start cluster-failover/a cluster-observed 2",
			"0s start cluster-failover/a cluster-observed 3",
		}, l.lines())
		require.Contains(t, l.opened, "a")
	})
}

func TestOutbox_BindingChanges_AreCoalesced(t *testing.T) {
	inBubble(t, func(o *Outbox, l *line) {
		l.running["cluster-failover/a"] = true
		o.Changed("a", fact("1"))
		synctest.Wait()
		o.Changed("a", fact("2"))
		o.Changed("a", fact("3"))
		pass(5 * time.Second)
		require.Equal(t, []string{
			"0s signal cluster-failover/a bindings-changed 1@1",
			"1s signal cluster-failover/a bindings-changed 1@3",
		}, l.lines())
	})
}

func TestOutbox_ManyBindings_AreSplitIntoSignals(t *testing.T) {
	inBubble(t, func(o *Outbox, l *line) {
		l.running["cluster-failover/a"] = true
		for n := range bindingsPerSignal + 1 {
			f := fact("1")
			f.Key.Name = fmt.Sprintf("app-%04d", n)
			o.Changed("a", f)
		}
		pass(5 * time.Second)
		total := 0
		for _, sent := range l.lines() {
			var n int
			_, err := fmt.Sscanf(sent[len("0s signal cluster-failover/a bindings-changed "):], "%d@", &n)
			require.NoError(t, err, sent)
			require.LessOrEqual(t, n, bindingsPerSignal)
			total += n
		}
		require.Equal(t, bindingsPerSignal+1, total)
	})
}

func TestOutbox_Outage_SendsTheNewestAfterwards(t *testing.T) {
	inBubble(t, func(o *Outbox, l *line) {
		l.running["m"] = true
		l.setFail(errors.New("away"))
		o.Owner("m", fact("1"))
		o.Fleet(nil)
		pass(10 * time.Second)
		o.Owner("m", fact("2"))
		require.Empty(t, l.lines())
		l.setFail(nil)
		pass(time.Minute)
		lines := l.lines()
		require.Len(t, lines, 2)
		require.Contains(t, fmt.Sprint(lines), "signal m binding-observed 2")
		require.Contains(t, fmt.Sprint(lines), "start fleet-pacer fleet-observed")
	})
}

func TestOutbox_WorkflowThatDoesNotRun_IsReported(t *testing.T) {
	inBubble(t, func(o *Outbox, l *line) {
		o.Owner("m", fact("1"))
		o.Changed("a", fact("1"))
		o.Cluster(rules.ClusterFact{Cluster: "b"}, false)
		synctest.Wait()
		require.Empty(t, l.lines())
		require.Equal(t, []karmada.BindingKey{fact("1").Key}, l.missing)
		require.ElementsMatch(t, []string{"a", "b"}, l.closed)
	})
}

func TestOutbox_Adopt_StartsTheFailover(t *testing.T) {
	inBubble(t, func(o *Outbox, l *line) {
		o.Adopt("a", fact("1"))
		o.Adopt("a", fact("2"))
		synctest.Wait()
		require.Equal(t, []string{"0s start cluster-failover/a adopt a1"}, l.lines())
	})
}

func TestOutbox_Delivered_RemovesTheDestination(t *testing.T) {
	inBubble(t, func(o *Outbox, l *line) {
		l.running["m"] = true
		o.Owner("m", fact("1"))
		pass(5 * time.Second)
		o.Fleet(nil)
		pass(5 * time.Second)
		o.mu.Lock()
		defer o.mu.Unlock()
		require.NotContains(t, o.destinations, "m\x00"+workflows.SignalBindingObserved)
	})
}

func TestFactQueue_Most_DropsTheOldest(t *testing.T) {
	m := factQueue{most: factsPerDestination}
	for n := range factsPerDestination + 5 {
		m.add(item{cluster: rules.ClusterFact{ResourceVersion: fmt.Sprint(n)}})
	}
	require.Len(t, m.items, factsPerDestination)
	require.Equal(t, "5", m.take()[0].cluster.ResourceVersion, "the oldest go first")
}

// A controller that has lost its lease with something undelivered, and leads again, begins with
// an empty outbox: it neither stumbles over what it had, nor sends what is old by now.
func TestOutbox_OpenedAgain_IsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{begun: time.Now(), running: map[string]bool{}, fail: errors.New("down")}
		o := &Outbox{Sender: l, Counter: uncounted{}, Log: slog.New(slog.DiscardHandler), Coalesce: time.Second}
		for _, version := range []string{"1", "2"} {
			o.Open(l)
			stop := begin(t.Context(), o.Run)
			o.Cluster(rules.ClusterFact{Cluster: "m1", ResourceVersion: version}, true)
			synctest.Wait()
			if version == "2" {
				l.setFail(nil)
				time.Sleep(2 * longestPause) //nolint:forbidigo // in virtual time
			}
			stop()
		}
		sent := l.lines()
		require.Len(t, sent, 1, "only the signals since")
		require.Contains(t, sent[0], "cluster-failover/m1 cluster-observed 2")
	})
}

// standing is Karmada as it stands; away: it does not answer.
type standing struct {
	cluster *karmada.Cluster
	rules   []rules.Rule
	held    *karmada.Binding
	away    bool
}

var errAway = errors.New("away")

func (s *standing) ClusterNow(context.Context, string) (karmada.Cluster, error) {
	switch {
	case s.away:
		return karmada.Cluster{}, errAway
	case s.cluster == nil:
		return karmada.Cluster{}, karmada.ErrGone
	}
	return *s.cluster, nil
}

func (s *standing) BindingNow(context.Context, karmada.BindingKey) (karmada.Binding, error) {
	if s.held == nil {
		return karmada.Binding{}, karmada.ErrGone
	}
	return *s.held, nil
}

func (s *standing) Rules(context.Context) ([]rules.Rule, error) { return s.rules, nil }

// A controller that has heard nothing for a while starts no failover of what is over.
//
// Rules: R4.9-56.
func TestNoFailoverIsStartedForWhatIsOver(t *testing.T) {
	failing, well := cluster("a", "2", corev1.ConditionFalse), cluster("a", "3", corev1.ConditionTrue)
	tainted := cluster("a", "3", corev1.ConditionTrue)
	tainted.Added = []karmada.AddedTaint{{Key: "not-ready", Effect: corev1.TaintEffectNoExecute}}
	heldFor := func(name string) *karmada.Binding {
		return binding("7", nil, task(name, "binding-migration/"+name+"/shop/cart", karmada.TaskReason))
	}
	ruled := []rules.Rule{notReady()}
	for _, tt := range []struct {
		name  string
		now   standing
		adopt bool
		want  string // what is delivered
	}{
		{name: "it fails", now: standing{cluster: failing, rules: ruled}, adopt: false, want: "start cluster-failover/a cluster-observed 1"},
		{name: "it is well", now: standing{cluster: well, rules: ruled}, adopt: false},
		{name: "its rule is gone", now: standing{cluster: failing}, adopt: false},
		{name: "it is gone", now: standing{rules: ruled}, adopt: false},
		{name: "something of Lifeboat's is left on it", now: standing{cluster: tainted, rules: ruled}, adopt: false, want: "start cluster-failover/a cluster-observed 1"},
		{name: "Karmada does not answer", now: standing{away: true}, adopt: false, want: "start cluster-failover/a cluster-observed 1"},
		{name: "a hold stands", now: standing{cluster: well, rules: ruled, held: heldFor("a")}, adopt: true, want: "start cluster-failover/a adopt a1"},
		{name: "a hold stands, the cluster is gone", now: standing{held: heldFor("a")}, adopt: true, want: "start cluster-failover/a adopt a1"},
		{name: "the hold has gone", now: standing{cluster: well, rules: ruled, held: binding("8", []string{"b"})}, adopt: true},
		{name: "the hold that stands is for another cluster", now: standing{cluster: well, rules: ruled, held: heldFor("b")}, adopt: true},
		{name: "the binding is gone", now: standing{cluster: well, rules: ruled}, adopt: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(o *Outbox, l *line) {
				o.startCheck = &startCheck{now: &tt.now, router: NewRouter(o)}
				c := &counts{by: map[string]int{}}
				o.Counter = c
				if tt.adopt {
					o.Adopt("a", fact("7"))
				} else {
					o.Cluster(rules.FactOf(*cluster("a", "1", corev1.ConditionFalse)), true)
				}
				pass(time.Minute)
				require.Equal(t, tt.want, strings.TrimPrefix(strings.Join(l.lines(), "\n"), "0s "))
				how := telemetry.ResultSent
				if tt.want == "" {
					how = telemetry.ResultNeedless
				}
				require.Equal(t, map[string]int{how: 1}, c.by)
				require.Empty(t, l.closed, "the router would say it again at once")
			})
		})
	}
}

func TestOutbox_RunningFailover_IsSignalledWithoutAStartCheck(t *testing.T) {
	inBubble(t, func(o *Outbox, l *line) {
		o.startCheck = &startCheck{now: &standing{cluster: cluster("a", "3", corev1.ConditionTrue)}, router: NewRouter(o)}
		l.running["cluster-failover/a"] = true
		o.Cluster(rules.FactOf(*cluster("a", "1", corev1.ConditionFalse)), true)
		pass(time.Minute)
		require.Equal(t, []string{"0s signal cluster-failover/a cluster-observed 1"}, l.lines())
	})
}

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

// begin sends the first events of a watch.
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

// fakeTemporal records the last fact of each binding that each workflow got.
type fakeTemporal struct {
	mu    sync.Mutex
	takes time.Duration // one signal
	away  bool
	sent  map[string]string // by workflow and binding: its version
	// signals is how many came to each workflow under each name.
	signals map[string]int
	largest int
	// most is how many signals of one name a run takes; 0 is no bound.
	most int
}

func (e *fakeTemporal) take(id, signal string, arg any) error {
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
			e.sent[id+" "+b.Key.Name] = b.ResourceVersion
		}
	case proof.BindingFact:
		e.sent[id+" "+m.Key.Name] = m.ResourceVersion
	}
	return nil
}

func (e *fakeTemporal) setAway(away bool) { e.mu.Lock(); defer e.mu.Unlock(); e.away = away }

// last is the version of a binding that a workflow got last.
func (e *fakeTemporal) last(workflow string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sent[workflow]
}

// continueAsNew begins a new run.
func (e *fakeTemporal) continueAsNew(to string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.signals, to)
}

func (e *fakeTemporal) Signal(_ context.Context, id, signal string, arg any) error {
	return e.take(id, signal, arg)
}

func (e *fakeTemporal) SignalWithStart(_ context.Context, start Start, signal string, arg any) error {
	return e.take(start.ID, signal, arg)
}

// Running implements Owners: every workflow runs.
func (e *fakeTemporal) Running(context.Context, string) (bool, error) { return true, nil }

// waiting is how many items wait in the outbox, and in how many destinations.
func waiting(o *Outbox) (items, destinations int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range o.destinations {
		items += len(b.queue.items)
	}
	return items, len(o.destinations)
}

// unsent are bindings whose newest state a workflow did not get.
func (c *crowd) unsent(e *fakeTemporal) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for n, b := range c.bindings {
		id := workflows.ClusterFailoverID("", crowdCluster(n%c.clusters))
		if got := e.sent[id+" "+b.Key.Name]; got != b.ResourceVersion {
			out = append(out, fmt.Sprintf("%s of %s: %s, not %s", id, b.Key.Name, got, b.ResourceVersion))
		}
		if n%4 != 0 {
			continue
		}
		if got := e.sent[owner(n)+" "+b.Key.Name]; got != b.ResourceVersion {
			out = append(out, fmt.Sprintf("%s: %s, not %s", owner(n), got, b.ResourceVersion))
		}
	}
	return out
}

// For a third of the time Temporal is away. Every workflow gets the newest state of each binding, at most one signal
// per coalescing interval (more only when one signal cannot hold all), and no goroutine is left: the bubble would
// not end.
func TestOutbox_TenThousandBindingEventsASecond_StaysBounded(t *testing.T) {
	const (
		perSecond = 10_000
		tick      = 10 * time.Millisecond
		coalesce  = time.Second // as newWatcher has it
		storm     = 6 * time.Second
	)
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(50, 4000)
		e := &fakeTemporal{takes: 5 * time.Millisecond, sent: map[string]string{}, signals: map[string]int{}}
		k := &fakeKarmada{play: c.begin}
		w := newWatcher(k, e, e)
		o := w.Outbox
		defer begin(t.Context(), w.Run)()
		pass(5 * time.Second) // every failover is known to run

		mostItems, mostBoxes, goroutines := 0, 0, 0
		for at := time.Duration(0); at < storm; at += tick {
			e.setAway(at > storm/3 && at < 2*storm/3)
			for range int(perSecond * tick / time.Second) {
				c.change(k.h)
			}
			items, destinations := waiting(o)
			mostItems, mostBoxes = max(mostItems, items), max(mostBoxes, destinations)
			goroutines = max(goroutines, runtime.NumGoroutine())
			pass(tick)
		}
		require.Equal(t, perSecond*int(storm/time.Second), c.events)
		pass(2 * longestPause)
		require.Empty(t, c.unsent(e), "the newest of every binding was sent")
		o.Fleet(nil) // sending something removes empty destinations
		pass(2 * coalesce)
		items, destinations := waiting(o)
		require.Zero(t, items)
		require.LessOrEqual(t, destinations, 1, "the pacer's own")

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
		require.Less(t, total, c.events/4, "most events share a signal")
		t.Logf("%d events, %d signals, at most %d items in %d destinations, %d goroutines", c.events, total, mostItems, mostBoxes, goroutines)
	})
}

// counts are how many signals ended how.
type counts struct {
	mu sync.Mutex
	by map[string]int
}

func (c *counts) Signal(_, result string) { c.mu.Lock(); defer c.mu.Unlock(); c.by[result]++ }

// A run that has had as many signals as Temporal allows is tried ever more rarely and counted apart, while the others
// get their signals; the next run gets the newest of each binding, once.
func TestOutbox_RunThatTakesNoMoreSignals_IsBackedOff(t *testing.T) {
	const most = 100
	synctest.Test(t, func(t *testing.T) {
		e := &fakeTemporal{sent: map[string]string{}, signals: map[string]int{}, most: most}
		c := &counts{by: map[string]int{}}
		var log strings.Builder
		o := &Outbox{Sender: e, Counter: c, Log: slog.New(slog.NewTextHandler(&log, nil)), Coalesce: time.Second}
		o.Open(&line{running: map[string]bool{}})
		defer begin(t.Context(), o.Run)()
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
		require.Equal(t, "1", e.last("cluster-failover/other cart"), "destinations do not wait for each other")
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
		require.Equal(t, fmt.Sprint(version), e.last("cluster-failover/full cart"))
		require.Equal(t, most+2, c.by[telemetry.ResultSent], "one signal was enough")
		require.Contains(t, log.String(), "delivered after failures")
	})
}

func TestFactQueue_KeepsItsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := factQueue{newest: true, batch: 3}
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
			e := &fakeTemporal{away: row.away, sent: map[string]string{}, signals: map[string]int{}}
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
			stop := begin(b.Context(), o.Run)
			began := cpu(b)
			for b.Loop() {
				c.change(h)
			}
			used := cpu(b) - began
			items, _ := waiting(o)
			stop()
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
