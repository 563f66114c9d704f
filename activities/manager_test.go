package activities_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/stretchr/testify/require"
)

// The new copy was healthy when karmada-controller-manager and its cluster died together: the
// last status stands for ever, and proves nothing.
//
// Rules: R4.7-47, R4.7-48, R4.7-49.
func TestRelease_NeedsAnUpToDateKarmada(t *testing.T) {
	cases := []struct {
		name       string
		manager    func(b *bench)
		healthyFor time.Duration
		ordered    bool
		reason     reason.Reason
	}{
		{name: "renews", manager: func(*bench) {}, healthyFor: time.Minute},
		{name: "dead", manager: func(b *bench) { b.world.ManagerDead = true }, healthyFor: time.Hour, reason: reason.KarmadaStale},
		{name: "restarted", manager: func(b *bench) { b.world.ManagerSince = b.now.Add(-time.Minute) }, healthyFor: time.Hour, reason: reason.KarmadaStale},
		{name: "dead, on an order", manager: func(b *bench) { b.world.ManagerDead = true }, healthyFor: time.Hour, ordered: true},
		{
			name: "no right to read it", manager: func(b *bench) { b.world.ManagerErr = fmt.Errorf("get: %w", karmada.ErrForbidden) },
			healthyFor: time.Minute, reason: reason.KarmadaUnseen,
		},
		{name: "no Lease, and health has outlasted detection", manager: func(b *bench) { b.world.ManagerErr = karmada.ErrGone }, healthyFor: 90 * time.Second},
		{name: "not configured", manager: func(b *bench) { b.acts.Manager = nil }, healthyFor: time.Minute, reason: reason.KarmadaUnseen},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			b.fail()
			ref := b.ref(must[activities.EvictResult](b, activities.NameEvict, b.evictRequest()))
			b.pass(10 * time.Minute)
			b.pass(10 * time.Minute)
			tc.manager(b)
			out := must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MoveRef: ref, HealthyFor: tc.healthyFor, Ordered: tc.ordered})
			require.Equal(t, tc.reason == reason.None, out.End == activities.ActDone, "%s: %s", out.Reason, out.Message)
			if tc.reason != reason.None {
				require.Equal(t, tc.reason, out.Reason)
				require.Empty(t, b.world.Log("release"))
			}
		})
	}
}

// Where the API server does not answer, nothing is known of the Lease: the release is tried again.
func TestRelease_LeaseUnreachable_IsTriedAgain(t *testing.T) {
	b := newBench(t)
	b.fail()
	ref := b.ref(must[activities.EvictResult](b, activities.NameEvict, b.evictRequest()))
	b.pass(10 * time.Minute)
	b.world.ManagerErr = errors.New("timeout")
	_, err := b.env.ExecuteActivity(activities.NameRelease, activities.ReleaseRequest{MoveRef: ref, HealthyFor: time.Hour})
	require.Error(t, err)
	require.Empty(t, b.world.Log("release"))
}

// Nobody looked while health held: it counts only as far as the controller watched.
//
// Rules: R4.7-58.
func TestRelease_CountsSilenceOnlyWhileTheControllerWatched(t *testing.T) {
	const held = 5 * time.Minute
	watches := func(b *bench, long time.Duration, leads bool) activities.ManagerReader {
		return world.Controller{W: b.world, Since: func() (time.Time, bool) { return b.now.Add(-long), leads }}
	}
	for _, tc := range []struct {
		name       string
		controller func(b *bench) activities.ManagerReader
		looked     bool
		released   bool
	}{
		{name: "watched all the time", controller: func(b *bench) activities.ManagerReader { return watches(b, 10*time.Minute, true) }, released: true},
		{name: "began to watch meanwhile", controller: func(b *bench) activities.ManagerReader { return watches(b, time.Minute, true) }},
		{name: "watches no more", controller: func(b *bench) activities.ManagerReader { return watches(b, 10*time.Minute, false) }},
		{name: "cannot be seen", controller: func(*bench) activities.ManagerReader { return nil }},
		{name: "cannot be seen, and the migration looked", controller: func(*bench) activities.ManagerReader { return nil }, looked: true, released: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			b.fail()
			ref := b.ref(must[activities.EvictResult](b, activities.NameEvict, b.evictRequest()))
			b.pass(10 * time.Minute)
			b.pass(10 * time.Minute)
			b.acts.Controller = tc.controller(b)
			out := must[activities.ActResult](b, activities.NameRelease, activities.ReleaseRequest{MoveRef: ref, HealthyFor: held, Watched: !tc.looked})
			require.Equal(t, tc.released, out.End == activities.ActDone, "%s: %s", out.Reason, out.Message)
			if !tc.released {
				require.Equal(t, reason.NotHealthy, out.Reason)
			}
		})
	}
}
