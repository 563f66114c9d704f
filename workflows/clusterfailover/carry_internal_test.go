package clusterfailover

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
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
	e := newFailover(ctx, workflows.ClusterFailoverParams{Cluster: "member1"})
	e.st.FailoverID, e.st.Attempt, e.st.Phase = "e", 1, phase.FailoverEvacuating
	taint := rules.TaintRef{Key: "down", Effect: corev1.TaintEffectNoExecute, TimeAdded: now.Add(-time.Hour)}
	for p := range 5 {
		e.st.Policy = append(e.st.Policy, rules.Policy{Priority: int32(p)}) //nolint:gosec // 0 to 4
		e.st.Dues = append(e.st.Dues, rules.Due{Affected: true, At: taint.TimeAdded, Taint: taint, Reason: reason.TaintUntolerated})
	}
	for i := range n {
		app := fmt.Sprintf("%s-%s-%d", words[r.IntN(len(words))], words[r.IntN(len(words))], i)
		key := karmada.BindingKey{Namespace: fmt.Sprintf("team-%s-%d", words[r.IntN(len(words))], r.IntN(50)), Name: app + "-deployment"}
		resource := "Deployment " + key.Namespace + "/" + app
		if i%2 == 0 {
			e.st.Items = append(e.st.Items, queue.Item{
				Key: key, UID: uid(), Resource: resource, Policy: i % 5, State: queue.Due, Reason: reason.Waiting, Was: true,
			})
			continue
		}
		pendingPurge := &record.PendingPurge{Key: key, Namespace: "karmada-es-member1", Work: fmt.Sprintf("%s-%08x", app, r.Uint32()), UID: uid()}
		e.outcomes.keep(record.Result{
			Key: key, UID: uid(), Resource: resource, Outcome: phase.OutcomeMigrated, Reason: reason.PendingPurge,
			To: []string{"member2", "member3"}, At: now.Add(time.Duration(i) * 1234567 * time.Microsecond), Wrote: true, PendingPurge: pendingPurge,
		})
	}
	return e
}

// What a run carries over fits, whatever the number of bindings; so do the answer to
// a query and the report. What is left for the list to bring back keeps its policy.
// Rules: R4.4-7.
func TestWhatIsCarriedOverStaysBelowAMegabyte(t *testing.T) {
	for _, n := range []int{300, 5_000, 20_000, 100_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			flowtest.InWorkflow(t, func(ctx workflow.Context) {
				e := crowded(ctx, n)
				before := len(e.st.Items)
				policies := map[karmada.BindingKey]int{}
				uids := map[karmada.BindingKey]types.UID{}
				for _, i := range e.st.Items {
					policies[i.Key], uids[i.Key] = i.Policy, i.UID
				}
				status, err := json.Marshal(e.st.Status(e.instance, e.cluster, e.now()))
				require.NoError(t, err)
				require.Less(t, len(status), 1_900_000, "a query's answer")
				begun := time.Now()
				params := e.carry()
				took := time.Since(begun)
				raw, err := json.Marshal(params)
				require.NoError(t, err)
				require.LessOrEqual(t, len(raw), 1_000_500)
				report, err := json.Marshal(e.st.Report(e.cluster, e.now()))
				require.NoError(t, err)
				require.Less(t, len(report), 1_900_000, "the report")
				t.Logf("%d bindings: %d bytes carried over, %d items in full, written in %s; query %d, report %d",
					n, len(raw), len(e.st.Items), took.Round(time.Millisecond), len(status), len(report))

				var read workflows.ClusterFailoverParams
				require.NoError(t, json.Unmarshal(raw, &read))
				next := newFailover(ctx, read)
				require.Equal(t, n-n/2, before)
				require.Equal(t, map[string]int{"Migrated": n / 2}, next.st.Counts)
				require.Len(t, next.st.Items, len(e.st.Items))
				require.Equal(t, n/2, len(next.st.PendingPurges)+next.st.PendingPurgesBeyond)
				in := map[karmada.BindingKey]bool{}
				for _, i := range next.st.Items {
					in[i.Key] = true
				}
				for key, policy := range policies {
					later, ok := next.st.Queue.Remembered(key, uids[key])
					require.NotEqual(t, in[key], ok, "either in full, or left for later")
					if ok {
						require.Equal(t, queue.Left{Policy: policy, Owes: true}, later, "frozen as it was")
					}
				}
				require.Equal(t, next.st.Later == nil, len(next.st.Items) == before)
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
			e := newFailover(ctx, workflows.ClusterFailoverParams{Cluster: "member1"})
			e.st.Terms.FreezeWhenHalted = true
			at := metaTime(e.now().Add(since))
			e.st.Cluster.Foreign = []corev1.Taint{{Key: "down", Effect: corev1.TaintEffectNoExecute, TimeAdded: &at}}
			e.waiting.paced(workflows.PaceChanged{Pace: pace.Pace{Tier: pace.TierHalted}})
			require.NoError(t, workflow.Sleep(ctx, 50*time.Minute))
			e.waiting.paced(workflows.PaceChanged{Pace: pace.Pace{Tier: then}})
			e.newAttempt()
			return e
		}
		still := halted(time.Hour, pace.TierHalted)
		require.Len(t, still.st.Frozen, 1)
		require.Zero(t, still.st.Frozen[0].To, "the clocks of the new attempt stand still too")
		require.Empty(t, halted(time.Hour, pace.TierSlow).st.Frozen, "the taint came later")

		older := halted(-time.Minute, pace.TierSlow)
		require.Len(t, older.st.Frozen, 1)
		since := older.st.Cluster.Foreign[0].TimeAdded.Time
		older.st.Policy = []rules.Policy{{}}
		older.st.Dues = []rules.Due{{Affected: true, At: since.Add(time.Hour), Taint: rules.TaintRef{Key: "down", TimeAdded: since}}}
		due, _ := older.st.Queue.Due(older.now(), &queue.Item{})
		require.Equal(t, since.Add(time.Hour+50*time.Minute), due, "its hour, and the halt")
	})
}
