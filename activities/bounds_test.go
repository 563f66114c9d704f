package activities_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

// maxBlob is what Temporal takes for one answer of an activity, in bytes.
const maxBlob = 2_000_000

func size(t *testing.T, answer any) int {
	t.Helper()
	return len(fixtures.Must(json.Marshal(answer))(t))
}

// A batch is told of as a whole, or not at all: neither what a tenant's policy says, nor a
// large fleet, must make its answer too large.
func TestAnAnswerAboutABatchIsNeverTooLarge(t *testing.T) {
	const batch = 50
	for name, arrange := range map[string]func(*bench) func(*karmada.Binding){
		"a policy's purge mode": func(b *bench) func(*karmada.Binding) {
			b.purge = karmada.PurgeMode(strings.Repeat("x", 100_000))
			return func(*karmada.Binding) {}
		},
		"a policy's scheduler": func(*bench) func(*karmada.Binding) {
			return func(x *karmada.Binding) { x.SchedulerName = strings.Repeat("\x01", 100_000) }
		},
		"a fleet of two thousand": func(b *bench) func(*karmada.Binding) {
			for n := range 2000 {
				b.world.AddCluster(fmt.Sprintf("a-cluster-with-a-usual-name-%04d", n))
			}
			return func(x *karmada.Binding) { x.Placement.ClusterAffinity = nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			edit := arrange(b)
			r := activities.PreCheckRequest{Cluster: "m1", Mode: rules.ModeEnforce}
			for n := range batch {
				app := fmt.Sprintf("app%d", n)
				b.bind(app, edit)
				r.Items = append(r.Items, activities.Checked{Key: appKey(app)})
			}
			b.bind("last", edit)
			b.fail()
			out := b.preChecks(r)
			require.Len(t, out.Checks, batch)
			require.Less(t, size(t, out), maxBlob)

			evict := b.evictRequest()
			evict.Key, evict.UID = appKey("last"), ""
			require.Less(t, size(t, b.evicts(evict)), maxBlob/10)
		})
	}
}

// What one tenant has frozen of his bindings blocks those, and keeps no other binding.
func TestAPageOfLargePoliciesBlocksTheLargest(t *testing.T) {
	b := newBench(t)
	for n := range 80 {
		b.bind(fmt.Sprintf("large%d", n), fixtures.Tolerating(fixtures.Tolerate(fmt.Sprint(n)+strings.Repeat("x", 20_000))))
		b.bind(fmt.Sprintf("usual%d", n), func(x *karmada.Binding) { x.Priority = int32(n) }) //nolint:gosec // below 80
	}
	b.bind("tolerant", fixtures.Tolerating(fixtures.Tolerate(downKey, 300)))
	page := b.listed()
	require.Nil(t, page.Next, "all on one page")
	require.Less(t, size(t, page), maxBlob)
	blocked := 0
	for _, item := range page.Items {
		large := strings.HasPrefix(item.Key.Name, "large")
		if item.Malformed != "" {
			require.True(t, large, item.Key)
			blocked++
		} else if large {
			require.NotEmpty(t, page.Policies[item.Policy].Tolerations, "what is not blocked is frozen as it is")
		}
		if item.Key.Name == "tolerant" {
			require.Len(t, page.Policies[item.Policy].Tolerations, 1)
		}
	}
	require.Positive(t, blocked)
	require.Less(t, blocked, 80)
}

// Facts that say the same are one sight: it moves no window a second time.
func TestFactsThatSayTheSameAreOneSight(t *testing.T) {
	b := newBench(t)
	b.world.SetReady("m1", false)
	var facts []rules.ClusterFact
	for n, status := range []string{"True", "False", "False", "False", "True", "True"} {
		facts = append(facts, readyFact(fmt.Sprint(n+1), status))
	}
	for range 20 {
		b.world.SetReady("m1", true)
		b.pass(time.Second)
		b.world.SetReady("m1", false) // its version goes on
	}
	out := b.assess(activities.AssessRequest{Cluster: "m1", UID: m1.UID, Facts: facts})
	require.Equal(t, []rules.Match{rules.Mismatches, rules.Matches, rules.Mismatches, rules.Matches}, matches(out))
}
