package watch

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// karmada plays a list of events, then stays synced until its context ends.
type fakeKarmada struct {
	play   func(h k8sadapter.Handlers)
	h      k8sadapter.Handlers
	mu     sync.Mutex
	synced bool
	// unlisted: its bindings cannot be listed.
	unlisted bool
}

func (k *fakeKarmada) Run(ctx context.Context) error {
	k.play(k.h)
	k.mu.Lock()
	k.synced = true
	k.mu.Unlock()
	<-ctx.Done()
	return nil
}

func (k *fakeKarmada) HasSynced() bool { return k.ClustersSynced() && !k.unlisted }

func (k *fakeKarmada) ClustersSynced() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.synced
}

// owners are the running workflows of a line.
type owners struct{ l *line }

func (o owners) Running(_ context.Context, id string) (bool, error) {
	o.l.mu.Lock()
	defer o.l.mu.Unlock()
	return o.l.running[id], o.l.fail
}

// newWatcher is a watcher of a fake Karmada that sends to Temporal through a sender.
func newWatcher(k *fakeKarmada, sender Sender, owners activities.Owners) *Watcher {
	log := slog.New(slog.DiscardHandler)
	return &Watcher{
		Follow:  func(h k8sadapter.Handlers) Karmada { k.h = h; return k },
		Reports: &Reports{Log: log},
		Outbox:  &Outbox{Sender: sender, Counter: uncounted{}, Log: log, Coalesce: time.Second},
		Owners:  owners, Resync: 30 * time.Second,
		Metrics: telemetry.NewControllerMetrics(prometheus.NewRegistry()), Log: log,
	}
}

// begin runs in the background until the returned function stops it.
func begin(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); run(ctx) }()
	return func() { cancel(); <-done }
}

func TestWatcher_StartsNeededWorkflowsAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{begun: time.Now(), running: map[string]bool{}, fail: errors.New("away")}
		k := &fakeKarmada{play: func(h k8sadapter.Handlers) {
			h.OnRules([]rules.Rule{notReady()})
			h.OnCluster(nil, cluster("a", "1", corev1.ConditionFalse))
			broken := binding("1", []string{"a"})
			broken.Malformed = "no spec"
			h.OnBinding(nil, broken)
			h.OnBinding(broken, broken)
		}}
		w := newWatcher(k, l, owners{l})
		var log strings.Builder
		w.Reports.Log = slog.New(slog.NewTextHandler(&log, nil))
		defer begin(t.Context(), w.Run)()
		pass(time.Minute)
		require.Empty(t, l.lines())
		require.Equal(t, 1, strings.Count(log.String(), "no spec"), "reported once")

		l.setFail(nil)
		pass(time.Minute)
		lines := strings.Join(l.lines(), "\n")
		require.Contains(t, lines, "start cluster-failover/a cluster-observed 1")
		require.Contains(t, lines, "start fleet-pacer fleet-observed")

		l.mu.Lock()
		l.running["cluster-failover/a"] = false // terminated
		l.mu.Unlock()
		pass(time.Minute)
		require.Contains(t, strings.Join(l.lines(), "\n"), "start cluster-failover/a cluster-observed 1")
	})
}

// events and statuses are what is written to Karmada.
type events []activities.Event

func (e *events) Record(_ context.Context, event activities.Event) { *e = append(*e, event) }

type statuses struct {
	written []k8sadapter.RuleStatus
	err     error
}

func (s *statuses) UpdateRuleStatus(_ context.Context, status k8sadapter.RuleStatus) error {
	s.written = append(s.written, status)
	return s.err
}

// Rules: R4.1-54, R4.15-2.
func TestReports_MemberAnswers_OnceItLastsLongerThanADeathTakesToShow(t *testing.T) {
	var log strings.Builder
	var recorded events
	r := &Reports{Events: &recorded, Log: slog.New(slog.NewTextHandler(&log, nil))}
	answers := []karmada.Cluster{{Name: "a", UID: "1"}}
	attempt := func(times int, clusters []karmada.Cluster) {
		for range times {
			r.MemberAnswers(clusters, 3)
		}
	}
	attempt(3, answers)
	attempt(1, nil)
	attempt(3, answers)
	require.Empty(t, recorded, "a member that has just died may still count as up")
	attempt(10, answers)
	require.Len(t, recorded, 1, "reported once")
	require.Equal(t, "MemberAnswers", recorded[0].Reason)
	require.Equal(t, "a", recorded[0].Cluster)
	require.True(t, recorded[0].Warning)

	log.Reset()
	r = &Reports{Log: slog.New(slog.NewTextHandler(&log, nil))}
	attempt(4, answers)
	require.Contains(t, log.String(), "cluster=a", "in observe the log says it")
}

// Rules: R4.15-2.
func TestReports_Observe_WritesNothing(t *testing.T) {
	var log strings.Builder
	r := &Reports{Log: slog.New(slog.NewTextHandler(&log, nil))}
	r.MalformedCluster(&karmada.Cluster{Name: "a", Malformed: "no conditions"})
	refused := []k8sadapter.RuleStatus{{Rule: rules.Rule{Name: "bad", Malformed: "no taints"}}}
	r.Rules(t.Context(), refused)
	r.Rules(t.Context(), refused)
	require.Contains(t, log.String(), "no conditions")
	require.Equal(t, 1, strings.Count(log.String(), "no taints"), "reported once")
}

func TestReports_Enforce_WritesToKarmada(t *testing.T) {
	var log strings.Builder
	var recorded events
	status := &statuses{}
	r := &Reports{Events: &recorded, Status: status, Log: slog.New(slog.NewTextHandler(&log, nil))}
	b := binding("1", nil)
	b.Malformed = "no resource"
	r.MalformedBinding(b)
	require.Len(t, recorded, 1)
	require.True(t, recorded[0].Warning)
	require.Contains(t, recorded[0].Message, "no resource")

	r.Rules(t.Context(), []k8sadapter.RuleStatus{{Rule: notReady(), MatchedClusters: []string{"a"}}})
	require.Equal(t, []string{"a"}, status.written[0].MatchedClusters)
	status.err = karmada.ErrConflict
	r.Rules(t.Context(), []k8sadapter.RuleStatus{{Rule: notReady()}})
	require.NotContains(t, log.String(), "could not write", "the next resync writes it")
	status.err = karmada.ErrForbidden
	r.Rules(t.Context(), []k8sadapter.RuleStatus{{Rule: notReady()}})
	require.Contains(t, log.String(), "could not write")
}

func TestSignalWithStart_SetsTypeClusterAndSearchAttributes(t *testing.T) {
	c := mocks.NewClient(t)
	var started client.StartWorkflowOptions
	c.On("SignalWithStartWorkflow", mock.Anything, "eu/cluster-failover/a", "s", "arg", mock.Anything, "ClusterFailover", mock.Anything).
		Return(nil, nil).Run(func(args mock.Arguments) {
		if o, ok := args.Get(4).(client.StartWorkflowOptions); ok {
			started = o
		}
	})
	sender := Temporal{Client: c, TaskQueue: "q"}
	require.NoError(t, sender.SignalWithStart(t.Context(), StartFailover("eu", "a"), "s", "arg"))
	require.Equal(t, "q", started.TaskQueue)
	require.Equal(t, 1, started.TypedSearchAttributes.Size())
	require.Contains(t, started.StaticSummary, "cluster a")
}

func TestSignal_WorkflowDoesNotRun_IsNoOutage(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("SignalWorkflow", mock.Anything, "none", "", "s", nil).Return(serviceerror.NewNotFound("none"))
	c.On("SignalWorkflow", mock.Anything, "id", "", "s", nil).Return(serviceerror.NewUnavailable("away"))
	require.ErrorIs(t, Temporal{Client: c}.Signal(t.Context(), "none", "s", nil), ErrNotRunning)
	err := Temporal{Client: c}.Signal(t.Context(), "id", "s", nil)
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrNotRunning)
}

// Temporal takes only so many signals for one run; the controller's own words for that are the
// server's of v1.32.1, as TestSignalsBeyondTheCap gets it from a real one.
func TestSignal_BeyondTheLimit_IsErrFull(t *testing.T) {
	c := mocks.NewClient(t)
	full := serviceerror.NewInvalidArgument("exceeded workflow execution limit for signal events")
	c.On("SignalWorkflow", mock.Anything, "id", "", "s", nil).Return(full)
	c.On("SignalWorkflow", mock.Anything, "id", "", "t", nil).Return(serviceerror.NewInvalidArgument("too large"))
	c.On("SignalWithStartWorkflow", mock.Anything, "cluster-failover/a", "s", nil, mock.Anything, "ClusterFailover", mock.Anything).Return(nil, full)
	sender := Temporal{Client: c}
	require.ErrorIs(t, sender.Signal(t.Context(), "id", "s", nil), ErrFull)
	require.NotErrorIs(t, sender.Signal(t.Context(), "id", "t", nil), ErrFull)
	require.ErrorIs(t, sender.SignalWithStart(t.Context(), StartFailover("", "a"), "s", nil), ErrFull)
}

// No time of the controller's enters a decision: nothing that it sends has a place for one.
// What continued runs hand on has times of Temporal's, and stays empty when it starts one.
func TestSignals_CarryNoTime(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var timeless func(x reflect.Type, path string)
	timeless = func(x reflect.Type, path string) {
		require.NotContains(t, []reflect.Type{
			reflect.TypeFor[time.Time](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[time.Duration](),
		}, x, path)
		kind := x.Kind()
		require.NotEqual(t, reflect.Interface, kind, "%s could hold anything", path)
		if kind == reflect.Map {
			timeless(x.Key(), path+" key")
		}
		if slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map}, kind) {
			timeless(x.Elem(), path+"[]")
		}
		if kind != reflect.Struct || seen[x] {
			return
		}
		seen[x] = true
		for f := range x.NumField() {
			timeless(x.Field(f).Type, path+"."+x.Field(f).Name)
		}
	}
	for _, sent := range []any{workflows.ClusterObserved{}, workflows.BindingsChanged{}, workflows.Adopt{}, workflows.FleetObserved{}} {
		timeless(reflect.TypeOf(sent), reflect.TypeOf(sent).Name())
	}
	for _, start := range []Start{startPacer("eu"), StartFailover("eu", "m1")} {
		_, with := start.With()
		params := reflect.ValueOf(with)
		for f := range params.NumField() {
			if name := params.Type().Field(f).Name; name != "Instance" && name != "Cluster" {
				require.True(t, params.Field(f).IsZero(), "%s.%s", start.Type, name)
			}
		}
	}
}
