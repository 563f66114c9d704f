package clusterfailover

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// crowded is a failover in the middle of an attempt of n bindings, half of them moved
// from a cluster that is still away.
func crowded(ctx workflow.Context, n int) *failover {
	words := []string{"cart", "checkout", "payments", "search", "users", "auth", "mail", "billing", "catalog", "ledger", "feeds", "images"}
	r := rand.New(rand.NewPCG(1, uint64(n))) //nolint:gosec // names for a test
	uid := func() types.UID {
		return types.UID(fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", r.Uint32(), r.Uint32()&0xffff, r.Uint32()&0xfff, r.Uint32()&0xfff, r.Uint64()&0xffffffffffff))
	}
	now := workflow.Now(ctx)
	f := newFailover(ctx, workflows.ClusterFailoverParams{Cluster: "member1"})
	f.st.FailoverID, f.st.Attempt, f.st.Phase = "e", 1, phase.FailoverEvacuating
	taint := rules.TaintRef{Key: "down", Effect: corev1.TaintEffectNoExecute, TimeAdded: now.Add(-time.Hour)}
	for p := range 5 {
		f.st.Policy = append(f.st.Policy, rules.Policy{Priority: int32(p)}) //nolint:gosec // 0 to 4
		f.st.Dues = append(f.st.Dues, rules.Due{Affected: true, At: taint.TimeAdded, Taint: taint, Reason: reason.TaintUntolerated})
	}
	for i := range n {
		app := fmt.Sprintf("%s-%s-%d", words[r.IntN(len(words))], words[r.IntN(len(words))], i)
		key := karmada.BindingKey{Namespace: fmt.Sprintf("team-%s-%d", words[r.IntN(len(words))], r.IntN(50)), Name: app + "-deployment"}
		resource := "Deployment " + key.Namespace + "/" + app
		if i%2 == 0 {
			f.st.Items = append(f.st.Items, queue.Item{
				Key: key, UID: uid(), Resource: resource, Policy: i % 5, State: queue.Due, Reason: reason.Waiting, Affected: true,
			})
			continue
		}
		pendingPurge := &record.PendingPurge{Key: key, Namespace: "karmada-es-member1", Work: fmt.Sprintf("%s-%08x", app, r.Uint32()), UID: uid()}
		f.outcomes.keep(record.Result{
			Key: key, UID: uid(), Resource: resource, Outcome: phase.OutcomeMigrated, Reason: reason.PendingPurge,
			To: []string{"member2", "member3"}, At: now.Add(time.Duration(i) * 1234567 * time.Microsecond), Wrote: true, PendingPurge: pendingPurge,
		})
	}
	return f
}

// What a run carries over fits, whatever the number of bindings; so do the answer to
// a query and the report. What is left for the list to bring back keeps its policy.
// Rules: R4.4-7.
func TestWhatIsCarriedOverStaysBelowAMegabyte(t *testing.T) {
	for _, n := range []int{300, 5_000, 20_000, 100_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			flowtest.InWorkflow(t, func(ctx workflow.Context) {
				f := crowded(ctx, n)
				before := slices.Clone(f.st.Items)
				status, err := json.Marshal(f.st.Status(f.instance, f.cluster, f.now()))
				require.NoError(t, err)
				require.Less(t, len(status), 1_900_000, "a query's answer")
				raw, err := json.Marshal(f.carry())
				require.NoError(t, err)
				require.LessOrEqual(t, len(raw), 1_000_500)
				report, err := json.Marshal(f.st.Report(f.cluster, f.now()))
				require.NoError(t, err)
				require.Less(t, len(report), 1_900_000, "the report")

				var read workflows.ClusterFailoverParams
				require.NoError(t, json.Unmarshal(raw, &read))
				next := newFailover(ctx, read)
				require.Len(t, before, n-n/2)
				require.Equal(t, map[string]int{"Migrated": n / 2}, next.st.Counts)
				require.Len(t, next.st.Items, len(f.st.Items))
				require.Equal(t, n/2, len(next.st.PendingPurges)+next.st.PendingPurgesBeyond)
				in := map[karmada.BindingKey]bool{}
				for _, i := range next.st.Items {
					in[i.Key] = true
				}
				for _, i := range before {
					later, ok := next.st.Queue.Remembered(i.Key, i.UID)
					require.NotEqual(t, in[i.Key], ok, "either in full, or left for later")
					if ok {
						require.Equal(t, queue.Left{Policy: i.Policy, Owes: true}, later, "frozen as it was")
					}
				}
				require.Equal(t, next.st.Later == nil, len(next.st.Items) == len(before))
			})
		})
	}
}

// A halt outlasts the attempt; one that is over still counts for the clock of a taint
// that is older than its end, and for no other.
// Rules: R4.5-26.
func TestAHaltOutlastsTheEndOfAnAttempt(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		halted := func(since time.Duration, then pace.Tier) *failover {
			f := newFailover(ctx, workflows.ClusterFailoverParams{Cluster: "member1"})
			f.st.Terms.FreezeWhenHalted = true
			at := metav1.NewTime(f.now().Add(since))
			f.st.Cluster.Foreign = []corev1.Taint{{Key: "down", Effect: corev1.TaintEffectNoExecute, TimeAdded: &at}}
			f.waiting.paced(workflows.PaceChanged{Pace: pace.Pace{Tier: pace.TierHalted}})
			require.NoError(t, workflow.Sleep(ctx, 50*time.Minute))
			f.waiting.paced(workflows.PaceChanged{Pace: pace.Pace{Tier: then}})
			f.newAttempt()
			return f
		}
		still := halted(time.Hour, pace.TierHalted)
		require.Len(t, still.st.Frozen, 1)
		require.Zero(t, still.st.Frozen[0].To, "the clocks of the new attempt stand still too")
		require.Empty(t, halted(time.Hour, pace.TierReduced).st.Frozen, "the taint came later")

		older := halted(-time.Minute, pace.TierReduced)
		require.Len(t, older.st.Frozen, 1)
		since := older.st.Cluster.Foreign[0].TimeAdded.Time
		older.st.Policy = []rules.Policy{{}}
		older.st.Dues = []rules.Due{{Affected: true, At: since.Add(time.Hour), Taint: rules.TaintRef{Key: "down", TimeAdded: since}}}
		due, _ := older.st.Queue.Due(older.now(), &queue.Item{})
		require.Equal(t, since.Add(time.Hour+50*time.Minute), due, "its hour, and the halt")
	})
}

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

// Binding finds none: what no list brings any more was deleted.
func (x *throng) Binding(context.Context, karmada.BindingKey) (karmada.Binding, error) {
	return karmada.Binding{}, karmada.ErrGone
}

// Cluster is the one that fails.
func (x *throng) Cluster(context.Context, string) (karmada.Cluster, error) {
	return karmada.Cluster{Name: "m1", UID: "u", Taints: []corev1.Taint{x.taint}}, nil
}

// newThrong has n bindings of ten priorities and four tolerations, listed by a name
// that says nothing about either.
func newThrong(began time.Time, n int) (x *throng, want []queue.Rank) {
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
		want = append(want, queue.Rank{Key: b.Key, Priority: b.Priority, Due: at.Add(time.Duration(seconds) * time.Second)})
	}
	slices.SortFunc(x.bindings, func(a, b karmada.Binding) int {
		return queue.Compare(queue.Rank{Key: a.Key}, queue.Rank{Key: b.Key})
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
	clock := world.Clock{W: world.New(func() time.Time { return began })}
	acts := &activities.Activities{Reader: x, Clock: clock, Log: slog.New(slog.DiscardHandler)}
	acts.Register(env)

	var taken []karmada.BindingKey
	runs, most := 0, 0
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		params := workflows.ClusterFailoverParams{Cluster: "m1"}
		for ; len(taken) < n; runs++ {
			f := newFailover(ctx, params)
			if runs == 0 {
				f.st.FailoverID, f.st.Attempt, f.st.UID, f.st.Phase = "e", 1, "u", phase.FailoverEvacuating
				f.st.Terms.Mode = rules.ModeEnforce
			}
			for f.affected.refresh(); f.affected.listing != nil; f.affected.refresh() {
				require.Positive(t, runs, "the first list is read as a whole")
			}
			if left := len(f.st.Items); left != n-len(taken) {
				return fmt.Errorf("run %d: %d are queued, want %d", runs, left, n-len(taken))
			}
			taken = append(taken, x.take(f, perRun)...)
			raw, err := json.Marshal(f.carry())
			if err != nil {
				return err
			}
			most, params = max(most, len(raw)), workflows.ClusterFailoverParams{}
			if err := json.Unmarshal(raw, &params); err != nil {
				return err
			}
			x.edit() // what a later list reads is not what was frozen
		}
		return nil
	})
	require.NoError(t, env.GetWorkflowError())

	require.Equal(t, n/perRun, runs)
	require.Greater(t, x.pages, runs*n/throngPage/2, "listed page by page, by each run")
	require.LessOrEqual(t, most, 1_000_500)
	require.Len(t, taken, n)
	for i := range want {
		require.Equal(t, want[i].Key, taken[i], "the %d. of all", i)
	}
}

// What was not judged under the taints that stand may move: it is not known that nothing is left.
func TestTheQueueIsNotDoneBeforeItIsJudgedUnderTheTaintsThatStand(t *testing.T) {
	f := bare()
	f.st.Listed, f.st.Items = time.Now(), []queue.Item{{State: queue.Idle}}
	require.True(t, f.queueDone())
	f.st.Cluster.Hard = []corev1.Taint{{Key: karmada.DrainTaintKey, Effect: corev1.TaintEffectNoExecute}}
	require.False(t, f.queueDone())
	f.affected.policies.judged(nil)
	require.True(t, f.queueDone())
	f.st.Policy = []rules.Policy{{}}
	require.False(t, f.queueDone(), "the list brought one more")
}

// A later list is read a page in each turn, so that bindings are dispatched meanwhile. What moves while it is read keeps
// its place, a run does not end before the list, and where bindings are not dispatched any more it is given up.
//
// Rules: R4.3-15, R4.4-7.
func TestALaterListLeavesRoomForDispatch(t *testing.T) {
	env := flowtest.PatientEnv()
	began := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	env.SetStartTime(began)
	x, _ := newThrong(began, 3*throngPage)
	acts := &activities.Activities{Reader: x, Clock: world.Clock{W: world.New(func() time.Time { return began })}, Log: slog.New(slog.DiscardHandler)}
	acts.Register(env)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		f := evacuates(ctx, 0)
		f.affected.refresh()
		require.Equal(t, 3, x.pages, "the first list as a whole")
		state := func() (reading bool, queued int) { return f.affected.listing != nil, len(f.st.Items) }
		reading, queued := state()
		require.False(t, reading)
		require.Equal(t, 3*throngPage, queued)

		moves, gone := f.st.Items[0], f.st.Items[1].Key.String()
		f.st.ListDirty, f.affected.listed, f.dirty = true, false, false
		x.moved[moves.Key.String()], x.moved[gone] = true, true
		f.st.Items = f.st.Items[1:]
		f.st.Migrations[moves.Key.String()] = workflows.Migration{Key: moves.Key, UID: moves.UID}
		f.waited, f.cancelRequested = true, true
		for page := 4; page < 6; page++ {
			f.affected.refresh()
			require.Equal(t, page, x.pages)
			require.True(t, f.dirty, "the next turn comes at once")
			require.False(t, f.full(), "a run ends after its list")
			require.False(t, f.queueDone())
			f.dirty = false
		}
		delete(f.st.Migrations, moves.Key.String()) // refused: it is queued again
		f.st.Items = append(f.st.Items, moves)
		f.affected.refresh()
		require.False(t, f.dirty)
		require.True(t, f.full())
		_, queued = state()
		require.Equal(t, 3*throngPage-1, queued, "of the two that the list did not bring, one had moved meanwhile")
		require.GreaterOrEqual(t, f.st.Queue.Find(moves.Key), 0)

		f.st.ListDirty, f.affected.listed = true, false
		f.affected.refresh()
		f.st.Phase = phase.FailoverRecovered
		f.act()
		reading, _ = state()
		require.False(t, reading)
		require.True(t, f.st.ListDirty, "it is read again where the failover goes on")
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
}

// take moves the most urgent, a window at a time, as a dispatch would.
func (x *throng) take(f *failover, many int) []karmada.BindingKey {
	var taken []karmada.BindingKey
	for len(taken) < many {
		next := f.st.Queue.First(f.now(), 5000, queue.In(queue.Due))
		if len(next) == 0 {
			return taken
		}
		for _, at := range next {
			i := f.st.Items[at]
			x.moved[i.Key.String()] = true
			taken = append(taken, i.Key)
			f.outcomes.keep(record.Result{Key: i.Key, UID: i.UID, Outcome: phase.OutcomeMigrated, Reason: reason.Purged, Wrote: true, At: f.now()})
		}
		f.st.Items = slices.DeleteFunc(f.st.Items, func(i queue.Item) bool { return x.moved[i.Key.String()] })
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

// What observe has judged leaves the queue and is not judged again in this attempt; what
// is blocked can be left for later too. So what is carried stays bounded in both.
// Rules: R4.4-7, R4.15-5.
func TestWhatObserveJudgedAndWhatIsBlockedIsCarriedInBounds(t *testing.T) {
	const n = 30_000
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := crowded(ctx, 2*n)
		f.st.Terms.Mode, f.st.PendingPurges = rules.ModeObserve, nil
		f.st.Ledger.Reset()
		judged := f.st.Items[0]
		for at := range f.st.Items {
			i := &f.st.Items[at]
			if i.State = queue.Ready; at >= n/50 {
				i.State, i.Reason, i.Message, i.Permanent = queue.Blocked, reason.Malformed, "spec.placement: "+i.Resource+" "+string(i.UID), true
			}
		}
		f.dispatcher.simulate()
		require.Len(t, f.st.Items, n-n/50)
		require.Equal(t, map[string]int{"WouldMove": n / 50}, f.st.Counts)

		f.st.Queue.Index()
		f.affected.join(activities.Targeting{Key: judged.Key, UID: judged.UID}, rules.Policy{}, map[string]int{})
		require.Len(t, f.st.Items, n-n/50, "it is not queued again")
		f.st.ListDirty = false
		f.affected.changed(workflows.BindingsChanged{Bindings: []proof.BindingFact{{Key: judged.Key, UID: judged.UID}}})
		require.False(t, f.st.ListDirty, "a change of it is no reason to list")
		raw, err := json.Marshal(f.carry())
		require.NoError(t, err)
		require.LessOrEqual(t, len(raw), 1_000_500)
		require.NotEmpty(t, f.st.Later)
	})
}

// Permits that nobody may use now are kept until they have passed, for who may use them
// then; where nothing is evicted any more they are dropped.
//
// Rules: R4.5-11, R4.6-23.
func TestPermits_NobodyMayUseThemNow_AreKeptUntilTheyHavePassed(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*failover)
		kept int
	}{
		"paused": {end: func(f *failover) {
			f.st.Paused = &workflows.Order{Who: "jane", Reason: "look first"}
			f.dispatcher.dispatch()
		}, kept: 2},
		"nobody waits":   {end: func(f *failover) { f.st.Items = nil; f.dispatcher.dispatch() }, kept: 2},
		"recovering":     {end: func(f *failover) { f.st.Phase = phase.FailoverRecovering; f.actRecovering() }, kept: 0},
		"the queue ends": {end: func(f *failover) { f.closeQueue(nil) }, kept: 0},
		"cluster gone":   {end: func(f *failover) { f.actGone() }, kept: 0},
	} {
		t.Run(name, func(t *testing.T) {
			flowtest.InWorkflow(t, func(ctx workflow.Context) {
				f := crowded(ctx, 10)
				f.st.Migrations, f.st.Terms.Mode = map[string]workflows.Migration{}, rules.ModeEnforce
				f.st.Terms.InFlight, f.st.Terms.Waiting = 300, 1500
				passed := pace.Permits{Number: 7, Size: 3, First: f.now().Add(-time.Hour), Window: time.Second}
				f.st.Grants = []workflows.Grant{{Permits: passed}, {Permits: pace.Permits{Number: 10, Size: 2, First: f.now().Add(time.Second), Window: time.Second}}}
				c.end(f)
				require.Equal(t, c.kept, f.grants.inHand())
			})
		})
	}
}

// Rules: R4.4-13.
func TestNothingBeginsBeforeAnOrderAboutOneBindingIsObeyed(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := crowded(ctx, 10)
		f.st.Migrations = map[string]workflows.Migration{}
		f.st.Terms.InFlight, f.st.Terms.Waiting = 300, 1500
		require.NotEmpty(t, f.dispatcher.ready(queue.Due, 1))
		f.bindingOrders.orderOne(workflows.UpdateSkip, workflows.BindingOrder{})
		require.Empty(t, f.dispatcher.ready(queue.Due, 1))
	})
}

// What waits with its release for workloads leaves them places of their own, so that these may move: the most that such
// bindings fill is what all others may.
//
// Rules: R4.4-5, R4.4-6, R4.7-61.
func TestWhatWaitsForWorkloadsLeavesThemPlaces(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		for name, c := range map[string]struct {
			health, workloads int // so many wait for these
			ready             []string
			reason            reason.Reason // of a workload
		}{
			"there is room":                            {health: 1, workloads: 1, ready: []string{"front", "web"}, reason: reason.AwaitingPermit},
			"all wait for health":                      {health: 3, reason: reason.WaitingFull},
			"all wait for workloads":                   {workloads: 3, ready: []string{"web"}, reason: reason.AwaitingPermit},
			"those places are filled by workloads":     {health: 2, workloads: 3, reason: reason.WaitingFull},
			"as many wait for workloads as for health": {health: 2, workloads: 2, ready: []string{"web"}, reason: reason.AwaitingPermit},
		} {
			f := crowded(ctx, 0)
			f.st.Migrations, f.st.Terms.InFlight, f.st.Terms.Waiting = map[string]workflows.Migration{}, 2, 3
			for n := range c.health + c.workloads {
				m := workflows.Migration{Key: karmada.BindingKey{Namespace: "shop", Name: fmt.Sprint(n)}, Placed: true, Phase: phase.MigrationAwaitingHealth, Reason: reason.HeldForParents}
				if n < c.health {
					m.Reason = reason.NotHealthy
				}
				f.st.Migrations[m.Key.String()] = m
			}
			for _, name := range []string{"front", "web"} {
				f.st.Items = append(f.st.Items, queue.Item{Key: karmada.BindingKey{Namespace: "shop", Name: name}, State: queue.Ready, Follows: name == "front", Affected: true})
			}
			var ready []string
			for _, at := range f.dispatcher.ready(queue.Ready, 2) {
				ready = append(ready, f.st.Items[at].Key.Name)
			}
			require.Equal(t, c.ready, ready, name)
			require.Len(t, c.ready, f.dispatcher.want(true).Want, name)
			require.Equal(t, c.reason, f.dispatcher.readyReason(f.migrations.counts(), false), name)
		}
	})
}

// Followers that have passed and have no place keep no workload from its check: they wait for those.
//
// Rules: R4.4-5, R4.7-61.
func TestWhatMayNotBeginKeepsNothingFromItsCheck(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		for followers, places := range map[int]int{3: 0, 1: 10} {
			f := crowded(ctx, 0)
			f.st.Migrations, f.st.Terms.InFlight, f.st.Terms.Waiting = map[string]workflows.Migration{}, 20, 3+places
			for n := range 3 {
				key := karmada.BindingKey{Namespace: "shop", Name: fmt.Sprint(n)}
				f.st.Migrations[key.String()] = workflows.Migration{Key: key, Placed: true, Phase: phase.MigrationAwaitingHealth, Reason: reason.HeldForParents}
			}
			for n := range followers {
				f.st.Items = append(f.st.Items, queue.Item{Key: karmada.BindingKey{Namespace: "shop", Name: fmt.Sprint("front", n)}, State: queue.Ready, Follows: true, Affected: true})
			}
			f.st.Items = append(f.st.Items, queue.Item{Key: karmada.BindingKey{Namespace: "shop", Name: "web"}, State: queue.Hold, Affected: true})
			require.Equal(t, 1+min(places, followers), f.preCheck.ahead())
		}
	})
}

// What was left for later owes an outcome only where a taint had made it move in this
// attempt. What the list brings back owes it still, whatever moves it now; what the list does
// not bring back was moved by others.
//
// Rules: R4.4-7, R4.9-52.
func TestWhatWasLeftForLaterIsCountedOnce(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		for name, end := range map[string]func(*failover){
			"recovered": func(f *failover) { f.closeQueue(nil) },
			"gone":      func(f *failover) { f.actGone() },
		} {
			f := crowded(ctx, 400)
			f.st.Migrations = map[string]workflows.Migration{}
			for at := range f.st.Items {
				f.st.Items[at].Affected = at%4 != 0 // 50 of 200 are idle
			}
			all := slices.Clone(f.st.Items)
			fenced := slices.Clone(all)
			fenced[150].Fence = &proof.Fence{By: proof.FenceByOperator}
			fenced[151].State, fenced[151].Reason = queue.Blocked, reason.ApprovalExpired
			other := queue.Queue{Items: fenced}
			other.LeaveForLater(f.now(), 40)
			for _, kept := range fenced[150:152] {
				require.True(t, slices.ContainsFunc(other.Items, func(i queue.Item) bool { return i.Key == kept.Key }), "an operator's word stays, and that there was none")
			}
			f.st.Queue.LeaveForLater(f.now(), 40)
			require.Len(t, f.st.Items, 40, name)
			left := 0
			for _, set := range append(slices.Clone(f.st.Later), f.st.LaterIdle...) {
				left += set.Len()
			}
			require.Equal(t, 160, left)
			require.Less(t, f.st.Status(f.instance, f.cluster, f.now()).Left, left, "only those that owe an outcome")
			f.st.Migrations[all[199].Key.String()] = workflows.Migration{Key: all[199].Key, UID: all[199].UID, Attempt: 1}
			f.st.Queue.Index()
			for _, i := range append(slices.Clone(all[:120]), all[199]) {
				f.affected.join(activities.Targeting{Key: i.Key, UID: i.UID}, rules.Policy{}, map[string]int{})
			}
			for _, i := range f.st.Items {
				at := slices.IndexFunc(all, func(x queue.Item) bool { return x.Key == i.Key })
				require.Equal(t, all[at].Affected, i.Affected, "it owes what it owed")
				require.Equal(t, all[at].Policy, i.Policy)
			}
			require.Less(t, len(f.st.Items), 200, "some are left")
			delete(f.st.Migrations, all[199].Key.String())
			end(f)
			// One of those that owe an outcome moves; its migration will tell.
			require.Equal(t, map[string]int{"Migrated": 200, "Abandoned": 149}, f.st.Counts, name)
		}
	})
}

// However many requests expired, a run hands only so much on to the next: what is left for later is asked for anew.
//
// Rules: R4.4-7, R4.6-31.
func TestExpiredRequestsAreCarriedInBounds(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := crowded(ctx, 1000)
		for at := range f.st.Items {
			f.st.Items[at].State, f.st.Items[at].Reason, f.st.Items[at].Permanent = queue.Blocked, reason.ApprovalExpired, true
		}
		f.st.Queue.LeaveForLater(f.now(), 40)
		require.Len(t, f.st.Items, 200)
	})
}

// Rules: R4.4-7, R4.3-19.
func TestWhatWasLeftForLaterAndIsNotListedAnyMoreWasMovedByOthers(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := crowded(ctx, 100)
		gone := f.st.Items[0]
		f.st.Queue.LeaveForLater(f.now(), 0)
		f.outcomes.endLater(phase.OutcomeMovedByOthers)
		require.Equal(t, map[string]int{"Migrated": 50, "MovedByOthers": 50}, f.st.Counts)
		f.outcomes.keep(record.Result{Key: gone.Key, UID: gone.UID, Outcome: phase.OutcomeRestored, Wrote: true})
		require.Equal(t, map[string]int{"Migrated": 50, "MovedByOthers": 49, "Restored": 1}, f.st.Counts, "one that comes back has one outcome")
	})
}

// An order to enforce ends the attempt that observed, with what it had left for later.
//
// Rules: R4.9-52, R4.3-19.
func TestWhatWasLeftForLaterIsAbandonedWhereObservingEnds(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := crowded(ctx, 100)
		f.st.Terms.Mode = rules.ModeObserve
		f.st.Queue.LeaveForLater(f.now(), 40)
		f.endObserving(workflows.Order{Who: "joe", Reason: "go on"})
		require.Len(t, f.st.Past, 1)
		require.Equal(t, map[string]int{"Migrated": 50, "Abandoned": 50}, f.st.Past[0].Counts)
	})
}

// A parent that holds its dependents waits for its permit as one in the queue does: who
// pauses or snoozes it meanwhile is obeyed.
//
// Rules: R4.4-11, R4.10-8.
func TestAParentThatWaitsForItsPermitObeysAPauseAndASnooze(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := crowded(ctx, 10)
		f.st.Terms.InFlight, f.st.Terms.Waiting = 300, 1500
		f.st.Items = nil
		key := karmada.BindingKey{Namespace: "shop", Name: "app"}
		f.st.Migrations = map[string]workflows.Migration{key.String(): {Key: key, Phase: phase.MigrationChecking, Policy: 3, Holds: true, WantsPermit: true}}
		require.Equal(t, turn{item: -1, move: key.String(), priority: 3, ok: true}, f.dispatcher.next())

		one := workflows.ScopedOrder{Order: workflows.Order{Who: "jane", Reason: "wait"}, Scope: queue.Scope{Binding: key}}
		require.NoError(t, f.standing.refusePause(one))
		f.standing.pause(one)
		require.False(t, f.dispatcher.next().ok)
		f.standing.resumeScoped(one)
		require.True(t, f.dispatcher.next().ok)

		snooze := workflows.SnoozeOrder{ScopedOrder: one, For: "10m"}
		require.NoError(t, f.standing.refuseSnooze(snooze))
		require.Contains(t, f.standing.snooze(snooze), "1 due times moved later", "it is due, and held off its write")
		require.False(t, f.dispatcher.next().ok)
	})
}

// A failover looks for what is there. A run that goes on from another knows it, and looks at what that had still to look at.
//
// Rules: R4.4-14, R4.9-47.
func TestARunThatGoesOnLooksOnlyAtWhatWasLeft(t *testing.T) {
	for name, c := range map[string]struct {
		before          workflows.FailoverState
		lists, looksFor bool
	}{
		"the first run":       {lists: true, looksFor: true},
		"nothing was left":    {before: workflows.FailoverState{FailoverID: "e"}},
		"a list":              {before: workflows.FailoverState{FailoverID: "e", ListDirty: true}, lists: true},
		"a search for owners": {before: workflows.FailoverState{FailoverID: "e", AdoptDirty: true}, looksFor: true},
		"those it cannot carry": {
			before: workflows.FailoverState{FailoverID: "e", Queue: queue.Queue{LaterIdle: []*queue.BindingSet{{}}}}, lists: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			flowtest.InWorkflow(t, func(ctx workflow.Context) {
				f := newFailover(ctx, workflows.ClusterFailoverParams{Cluster: "m1", State: &c.before})
				p := f.carry()
				require.Equal(t, c.lists, p.State.ListDirty)
				require.Equal(t, c.looksFor, p.State.AdoptDirty)
				require.True(t, f.clusterDirty, "each arms the timers of its windows")
			})
		})
	}
}
