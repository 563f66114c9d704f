package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
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
	l.running[start.WorkflowID] = true
	l.note("start", start.WorkflowID, signal, arg)
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
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); o.Run(ctx) }()
		story(o, l)
		stop()
		<-done
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

func TestASuspectIsStartedAtOnceAndReportedOpen(t *testing.T) {
	inBubble(t, func(o *Outbox, l *line) {
		o.Cluster(rules.ClusterFact{Cluster: "a", ResourceVersion: "1"}, true)
		synctest.Wait()
		require.Equal(t, []string{"0s start cluster-failover/a cluster-observed 1"}, l.lines())
		require.Equal(t, []string{"a"}, l.opened)
	})
}

func TestEverySightOfAClusterIsToldInOrder(t *testing.T) {
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
	})
}

func TestChangesOfBindingsAreCoalescedToTheNewest(t *testing.T) {
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

func TestABigChangeIsSplitIntoSignalsOfBoundedSize(t *testing.T) {
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

func TestAnOutageIsWaitedOutAndTheNewestIsTold(t *testing.T) {
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

func TestWhoeverDoesNotRunIsReported(t *testing.T) {
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

func TestAnAdoptionStartsTheFailover(t *testing.T) {
	inBubble(t, func(o *Outbox, l *line) {
		o.Adopt("a", fact("1"))
		o.Adopt("a", fact("2"))
		synctest.Wait()
		require.Equal(t, []string{"0s start cluster-failover/a adopt a1"}, l.lines())
	})
}

func TestWhatIsToldLeavesNothingBehind(t *testing.T) {
	inBubble(t, func(o *Outbox, l *line) {
		l.running["m"] = true
		o.Owner("m", fact("1"))
		pass(5 * time.Second)
		o.Fleet(nil)
		pass(5 * time.Second)
		o.mu.Lock()
		defer o.mu.Unlock()
		require.NotContains(t, o.boxes, "m\x00"+workflows.SignalBindingObserved)
	})
}

func TestSightsOfOneClusterAreBoundedDuringAnOutage(t *testing.T) {
	m := mail{most: factsPerBox}
	for n := range factsPerBox + 5 {
		m.add(item{cluster: rules.ClusterFact{ResourceVersion: fmt.Sprint(n)}})
	}
	require.Len(t, m.items, factsPerBox)
	require.Equal(t, "5", m.take()[0].cluster.ResourceVersion, "the oldest go first")
}

// A controller that has lost its lease with something undelivered, and leads again, begins with
// an empty outbox: it neither stumbles over what it had, nor sends what is old by now.
func TestAnOutboxThatIsOpenedAgainForgetsWhatItHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{begun: time.Now(), running: map[string]bool{}, fail: errors.New("down")}
		o := &Outbox{Sender: l, Counter: uncounted{}, Log: slog.New(slog.DiscardHandler), Coalesce: time.Second}
		for _, version := range []string{"1", "2"} {
			o.Open(l)
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); o.Run(ctx) }()
			o.Cluster(rules.ClusterFact{Cluster: "m1", ResourceVersion: version}, true)
			synctest.Wait()
			if version == "2" {
				l.setFail(nil)
				time.Sleep(2 * longestPause) //nolint:forbidigo // in virtual time
			}
			stop()
			<-done
		}
		sent := l.lines()
		require.Len(t, sent, 1, "only what was told since")
		require.Contains(t, sent[0], "cluster-failover/m1 cluster-observed 2")
	})
}
