package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// Of one scope each list has one entry: the newest pause and priority, the longer snooze.
// Rules: R4.4-12.
func TestStandingOrders_OfOneScope_HaveOneEntry(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	of := func(scope queue.Scope, who string) workflows.ScopedOrder {
		return workflows.ScopedOrder{Scope: scope, Order: workflows.Order{Who: who, Reason: "a drill"}}
	}
	shop, cart := queue.Scope{Namespace: "shop"}, queue.ScopeOf(karmada.BindingKey{Namespace: "shop", Name: "cart"})
	var s workflows.StandingOrders

	s.Pause(workflows.ScopedPause{ScopedOrder: of(shop, "jane")})
	s.Pause(workflows.ScopedPause{ScopedOrder: of(cart, "jane")})
	s.Pause(workflows.ScopedPause{ScopedOrder: of(shop, "joe")})
	require.Equal(t, []workflows.ScopedPause{{ScopedOrder: of(cart, "jane")}, {ScopedOrder: of(shop, "joe")}}, s.Pauses)
	s.Resume(shop)
	require.Equal(t, []workflows.ScopedPause{{ScopedOrder: of(cart, "jane")}}, s.Pauses)

	s.Prioritise(workflows.Priority{ScopedOrder: of(shop, "jane"), Priority: 1})
	s.Prioritise(workflows.Priority{ScopedOrder: of(shop, "joe"), Priority: 2})
	require.Equal(t, []workflows.Priority{{ScopedOrder: of(shop, "joe"), Priority: 2}}, s.Priorities)

	s.Snooze(workflows.Snooze{ScopedOrder: of(shop, "jane"), Until: now.Add(2 * time.Hour)})
	s.Snooze(workflows.Snooze{ScopedOrder: of(shop, "joe"), Until: now.Add(time.Hour)})
	s.Snooze(workflows.Snooze{ScopedOrder: of(cart, "joe"), Until: now.Add(time.Hour)})
	require.Len(t, s.Snoozes, 2)
	require.Equal(t, "jane", s.Snoozes[0].Who, "the longer stands")
	require.False(t, s.Forget(now))
	require.True(t, s.Forget(now.Add(time.Hour)))
	require.Equal(t, []workflows.Snooze{{ScopedOrder: of(shop, "jane"), Until: now.Add(2 * time.Hour)}}, s.Snoozes)
}
