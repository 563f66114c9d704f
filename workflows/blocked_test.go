package workflows_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// A webhook that cannot be called refuses every write: the API server says so, and whoever
// asks why a binding stands reads it there.
func TestAWriteThatDidNotStandSaysWhatTheServerSaid(t *testing.T) {
	const said = `Internal error occurred: failed calling webhook "work.karmada.io": connection refused`
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.Fail = func(op, _ string) error {
		if op == "evict" {
			return fmt.Errorf("patch resourcebindings shop/app: %w: %s", karmada.ErrUnreachable, strings.ReplaceAll(said, ": ", ":\n\t\x1b"))
		}
		return nil
	}
	s.world.SetReady("m1", false)
	s.at(4*time.Minute, func() {
		item, queued := s.queued()
		require.True(t, queued)
		require.Equal(t, []any{queue.Blocked, reason.Unverified}, []any{item.State, item.Reason}, item.Message)
		require.Equal(t, "the write did not stand: "+said, item.Message)
		require.Contains(t, s.explain(key).Item.Message, said)
		require.Contains(t, s.pageOf(workflows.ClusterFailoverID("", "m1")), "failed calling webhook")
	})
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
}

// What nobody can place is blocked with its reason, and looked at again as soon as the
// binding itself changes, however long its back-off.
//
// Rules: R4.6-18, R4.6-19, R4.6-23.
func TestABlockedBindingIsLookedAtAgainWhenItChanges(t *testing.T) {
	for reason, block := range map[reason.Reason]func(b *karmada.Binding, on bool){
		reason.SchedulingSuspended: func(b *karmada.Binding, on bool) { b.SchedulingSuspended = on },
		reason.ForeignScheduler: func(b *karmada.Binding, on bool) {
			if b.SchedulerName = karmada.DefaultSchedulerName; on {
				b.SchedulerName = "another"
			}
		},
	} {
		t.Run(string(reason), func(t *testing.T) {
			s := newStory(t)
			s.settings.Terms.Recheck = time.Hour
			key := s.bind("app", []string{"m1"}, "m1", "m2")
			s.world.Change(key, func(b *karmada.Binding) { block(b, true) })
			s.world.SetReady("m1", false)
			looked := false
			s.at(4*time.Minute, func() {
				item, queued := s.queued()
				require.True(t, queued)
				require.Equal(t, []any{queue.Blocked, reason}, []any{item.State, item.Reason}, item.Message)
				require.Empty(t, s.world.Log("evict"))
				s.world.Change(key, func(b *karmada.Binding) { block(b, false); b.Generation++ })
				b := s.world.Peek(key)
				s.signal(workflows.ClusterFailoverID("", "m1"), workflows.SignalBindingsChanged, workflows.BindingsChanged{
					Bindings: []proof.BindingFact{{Key: key, UID: b.UID, ResourceVersion: b.ResourceVersion}},
				})
				looked = true
			})
			s.at(6*time.Minute, func() { require.Len(t, s.world.Log("evict"), 1, "it does not wait for its back-off") })
			s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
			r := s.play()
			require.True(t, looked)
			require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
		})
	}
}

// Rules: R4.7-54.
func TestRelease_RefusedByAWebhookForMinutes_NeedsAttention(t *testing.T) {
	const said = `admission webhook "guard.example.org" denied the request`
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	refuses := true
	s.world.Fail = func(op, _ string) error {
		if op == "release" && refuses {
			return fmt.Errorf("%w: %s", karmada.ErrForbidden, said)
		}
		return nil
	}
	s.world.SetReady("m1", false)
	shown := 0
	for at := 6 * time.Minute; at < 8*time.Minute; at += 7 * time.Second {
		s.at(at, func() {
			m := s.status().Moves["shop/app"]
			require.Contains(t, m.Message, said)
			require.Equal(t, reason.Forbidden, m.Reason)
			require.NotEmpty(t, m.Attention, "%+v", m)
			shown++
		})
	}
	s.at(9*time.Minute, func() { refuses = false })
	s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	require.Positive(t, shown)
}
