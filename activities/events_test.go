package activities_test

import (
	"context"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
)

// told keeps Events.
type told struct{ all []activities.Event }

func (s *told) Record(_ context.Context, e activities.Event) { s.all = append(s.all, e) }

// Rules: R4.16-10.
func TestEvents_EvictedBlockedRestored_NameTheWorkload(t *testing.T) {
	b := newBench(t)
	events := &told{}
	b.acts.Events = events
	b.fail()
	b.world.SetReady("m2", false)
	b.world.SetReady("m3", false)
	b.check("app")
	b.world.SetReady("m2", true)
	b.evict()
	want := b.world.Peek(appKey("app")).Resource
	got := map[string]karmada.Resource{}
	for _, e := range events.all {
		if e.Binding != nil {
			require.NotNil(t, e.Workload, e.Reason)
			got[e.Reason] = *e.Workload
		}
	}
	require.Equal(t, map[string]karmada.Resource{"EvictWorkloadFromClusterBlocked": want, "EvictWorkloadFromClusterSucceed": want}, got)
}
