package view_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

var (
	// t0 is when the stories of these pages begin.
	t0          = time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	failedTaint = karmada.RuleTaint{
		Key: "acme.io/failed", Effect: corev1.TaintEffectNoExecute, AddOnMatch: 300 * time.Second, RemoveOnMismatch: 180 * time.Second,
	}
	windowKey     = rules.RuleObservation{Rule: "unready", Taint: failedTaint}.Key()
	limits        = pace.Config{EvictionRate: 0.5, UnhealthyThreshold: 0.55, SecondaryRate: 0.1, LargeFleet: 10, UnlimitedChunk: 50}
	episodePhases = []phase.Episode{
		phase.EpisodeSuspected, phase.EpisodeCordoned, phase.EpisodeUncordoned, phase.EpisodeConfirmed,
		phase.EpisodeEvacuating, phase.EpisodeEvacuated, phase.EpisodeRecovering, phase.EpisodeSettling,
		phase.EpisodeStopped, phase.EpisodeFalseAlarm, phase.EpisodeRecovered, phase.EpisodeCancelled, phase.EpisodeGone,
	}
	rewrite = flag.Bool("rewrite", false, "rewrite golden files; only commit the changes if you understand what caused them")
)

// at is so many seconds after t0.
func at(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }

// faulty is the health of a fleet in which some look failed.
func faulty(n, total int) pace.FleetHealth {
	h := pace.FleetHealth{Total: total}
	for i := range n {
		h.Faulty = append(h.Faulty, string(rune('a'+i)))
	}
	return h
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(filepath.Clean(path))
	require.NoError(t, err, "run with -rewrite to make it")
	require.Equal(t, string(want), got)
}
