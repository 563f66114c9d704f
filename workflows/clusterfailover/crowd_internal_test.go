package clusterfailover

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flowtest"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// throng is a Karmada with very many bindings on one cluster, read page by page.
type throng struct {
	activities.Reader // nobody asks for anything else
	taint             corev1.Taint
	bindings          []karmada.Binding
	moved             map[string]bool
	pages             int
}

const throngPage = 1000

// Bindings reads one page; the token is where it begins.
func (x *throng) Bindings(_ context.Context, p activities.Page) (activities.BindingPage, error) {
	x.pages++
	from := 0
	if p.Continue != "" {
		if _, err := fmt.Sscan(p.Continue, &from); err != nil {
			return activities.BindingPage{}, err
		}
	}
	to := min(from+throngPage, len(x.bindings))
	var out activities.BindingPage
	for _, b := range x.bindings[from:to] {
		if !x.moved[b.Key.String()] {
			out.Bindings = append(out.Bindings, b)
		}
	}
	if to < len(x.bindings) {
		out.Next = &activities.Page{Continue: fmt.Sprint(to)}
	}
	return out, nil
}

// Cluster is the one that fails.
func (x *throng) Cluster(context.Context, string) (karmada.Cluster, error) {
	return karmada.Cluster{Name: "m1", UID: "u", Taints: []corev1.Taint{x.taint}}, nil
}

// Now, Start and Wait are a clock that stands an hour after the taint.
func (x *throng) Now() time.Time { return x.taint.TimeAdded.Add(time.Hour) }

func (x *throng) ServerNow(context.Context) (time.Time, time.Duration) { return x.Now(), 0 }

func (x *throng) Start() func() time.Duration { return func() time.Duration { return 0 } }

func (x *throng) Wait(context.Context, time.Duration) error { return nil }

// newThrong has n bindings of ten priorities and four tolerations, listed by a name
// that says nothing about either.
func newThrong(began time.Time, n int) (x *throng, want []queue.Turn) {
	at := metav1.NewTime(began.Add(-time.Hour))
	x = &throng{taint: corev1.Taint{Key: "down", Effect: corev1.TaintEffectNoExecute, TimeAdded: &at}, moved: map[string]bool{}}
	for i := range n {
		seconds := int64(i % 4 * 60)
		b := karmada.Binding{
			Key: karmada.BindingKey{Namespace: fmt.Sprintf("team-%02d", i%37), Name: fmt.Sprintf("app-%06d-deployment", i*7919%n)},
			UID: types.UID(fmt.Sprintf("%08x-1111-4222-8333-%012x", uint32(i)*2654435761, uint64(i)*11400714819323198485>>16)), Priority: int32(i % 10), Replicas: 2, //nolint:gosec // 0 to 9
			Clusters:  []karmada.TargetCluster{{Name: "m1", Replicas: 2}},
			Placement: &karmada.Placement{ClusterTolerations: []corev1.Toleration{{Key: "down", Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}},
		}
		x.bindings = append(x.bindings, b)
		// No seconds, and some that are less than the time since, both mean now: the order
		// is by when they ran out.
		want = append(want, queue.Turn{Key: b.Key, Priority: b.Priority, Due: at.Add(time.Duration(seconds) * time.Second)})
	}
	slices.SortFunc(x.bindings, func(a, b karmada.Binding) int {
		return queue.Compare(queue.Turn{Key: a.Key}, queue.Turn{Key: b.Key})
	})
	slices.SortFunc(want, queue.Compare)
	return x, want
}

// A hundred thousand affected bindings in one failover: listed page by page, frozen,
// queued, cut into runs, and taken from the queue in the one order of all, by the
// policies that were frozen at first. Whatever was carried over was below 1 MB. The
// moves themselves are those of any other story.
//
// Rules: R4.3-15, R4.4-1, R4.4-7, R4.4-8, R4.4-9, R4.4-14.
func TestAHundredThousandBindingsKeepOneOrderOverManyRuns(t *testing.T) {
	const n, perRun = 100_000, 50_000
	env := flowtest.PatientEnv()
	began := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	env.SetStartTime(began)
	x, want := newThrong(began, n)
	acts := &activities.Activities{Reader: x, Clock: x, Log: slog.New(slog.DiscardHandler)}
	acts.Register(env)

	var taken []karmada.BindingKey
	runs, most, started := 0, 0, time.Now()
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		params := workflows.ClusterFailoverParams{Cluster: "m1"}
		for ; len(taken) < n; runs++ {
			e := newFailover(ctx, params)
			if runs == 0 {
				e.st.FailoverID, e.st.Attempt, e.st.UID, e.st.Phase = "e", 1, "u", phase.FailoverEvacuating
				e.st.Terms.Mode = rules.ModeEnforce
			}
			e.affected.refresh()
			if left := len(e.st.Items); left != n-len(taken) {
				return fmt.Errorf("run %d: %d are queued, want %d", runs, left, n-len(taken))
			}
			taken = append(taken, x.take(e, perRun)...)
			params = e.carry()
			raw, err := json.Marshal(params)
			if err != nil {
				return err
			}
			most = max(most, len(raw))
			var read workflows.ClusterFailoverParams
			if err := json.Unmarshal(raw, &read); err != nil {
				return err
			}
			params = read
			x.edit() // what a later list reads is not what was frozen
		}
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
	t.Logf("%d bindings over %d runs, %d pages: at most %d bytes carried over, %s", n, runs, x.pages, most, time.Since(started).Round(time.Millisecond))
	require.Equal(t, n/perRun, runs)
	require.Greater(t, x.pages, runs*n/throngPage/2, "listed page by page, by each run")
	require.LessOrEqual(t, most, 1_000_500)
	require.Len(t, taken, n)
	for i := range want {
		require.Equal(t, want[i].Key, taken[i], "the %d. of all", i)
	}
}

// take moves the most urgent, a window at a time, as a dispatch would.
func (x *throng) take(e *failover, many int) []karmada.BindingKey {
	var taken []karmada.BindingKey
	for len(taken) < many {
		gone := map[int]bool{}
		for _, at := range e.st.Queue.First(e.now(), queue.Due, 5000) {
			i := e.st.Items[at]
			gone[at], x.moved[i.Key.String()] = true, true
			taken = append(taken, i.Key)
			e.outcomes.keep(record.Result{Key: i.Key, UID: i.UID, Outcome: phase.OutcomeMigrated, Reason: reason.Purged, Wrote: true, At: e.now()})
		}
		if len(gone) == 0 {
			return taken
		}
		kept := e.st.Items[:0]
		for at, i := range e.st.Items {
			if !gone[at] {
				kept = append(kept, i)
			}
		}
		e.st.Items = kept
	}
	return taken
}

// edit turns every priority attempt, and has nothing tolerated any more.
func (x *throng) edit() {
	for i := range x.bindings {
		b := &x.bindings[i]
		b.Priority = 100 - b.Priority
		b.Placement = &karmada.Placement{}
	}
}
