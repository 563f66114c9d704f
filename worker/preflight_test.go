package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/stretchr/testify/require"
)

// world is a Temporal and a Karmada as the preflight finds them.
type world struct {
	notReady error
	rules    error
	evidence string
	denied   string // verb that is not granted
}

func (w world) Ready(context.Context, []string) error { return w.notReady }

func (w world) Rules(context.Context) ([]rules.Rule, error) { return nil, w.rules }

func (w world) SecondEvictor(context.Context) (string, error) { return w.evidence, nil }

func (w world) Preflight(_ context.Context, permissions []k8sadapter.Permission) []k8sadapter.Finding {
	var findings []k8sadapter.Finding
	for _, p := range permissions {
		findings = append(findings, k8sadapter.Finding{Permission: p, Allowed: p.Verb != w.denied})
	}
	return findings
}

func (w world) check(t *testing.T, mode rules.Mode) error {
	t.Helper()
	c := config.Default()
	c.Mode = mode
	quiet := slog.New(slog.DiscardHandler)
	answered, err := preflight(t.Context(), c, w, guardFor(c, w, func(bool) {}, quiet), quiet)
	require.Equal(t, w.notReady == nil && !silent(w.rules), answered)
	return err
}

func TestAWorkerStartsWhereItCanWork(t *testing.T) {
	require.NoError(t, world{}.check(t, rules.ModeObserve))
	require.NoError(t, world{}.check(t, rules.ModeEnforce))
}

func TestAnUnpreparedServerIsSentToSetup(t *testing.T) {
	missing := errors.New("namespace does not exist; " + process.SetupHint)
	require.ErrorIs(t, world{notReady: missing}.check(t, rules.ModeObserve), missing)
	require.ErrorContains(t, world{rules: karmada.ErrGone}.check(t, rules.ModeObserve), "lifeboat setup")
}

func TestAKarmadaThatDoesNotAnswerIsWaitedFor(t *testing.T) {
	require.NoError(t, world{rules: karmada.ErrUnreachable}.check(t, rules.ModeEnforce))
}

// returning is a Karmada that answers only from the third question on.
type returning struct {
	world
	asked int
}

func (r *returning) Rules(ctx context.Context) ([]rules.Rule, error) {
	if r.asked++; r.asked < 3 {
		return nil, karmada.ErrUnreachable
	}
	return r.world.Rules(ctx)
}

// A worker that starts during an outage asks the same questions after it.
//
// Rules: R4.15-27.
func TestAKarmadaThatAnswersLaterIsAskedThen(t *testing.T) {
	c := config.Default()
	c.Mode = rules.ModeEnforce
	quiet := slog.New(slog.DiscardHandler)
	fine := &returning{}
	guard := guardFor(c, fine, func(bool) {}, quiet)
	_, err := preflight(t.Context(), c, fine, guard, quiet)
	require.NoError(t, err)
	require.NotEmpty(t, guard.secondEvictor(), "nothing begins before Karmada has answered")
	require.NoError(t, awaitKarmada(t.Context(), time.Millisecond, c, guard))
	require.Equal(t, 3, fine.asked, "once it has answered it is left alone")
	require.Empty(t, guard.secondEvictor())
	denied := &returning{world: world{denied: "patch"}}
	err = awaitKarmada(t.Context(), time.Millisecond, c, guardFor(c, denied, func(bool) {}, quiet))
	require.ErrorIs(t, err, karmada.ErrForbidden)
	fatal := make(chan error, 1)
	host{fatal: fatal}.endWith(func() error { return err })
	require.Equal(t, process.ExitFailed, exitCode(fmt.Errorf("the worker cannot go on: %w", <-fatal)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, awaitKarmada(ctx, time.Hour, c, guardFor(c, denied, func(bool) {}, quiet)), "a worker that stops asks nobody")
}

// Rules: R4.15-23.
func TestTheWorkerWarnsOfSeveralEvictPluginsUnderAny(t *testing.T) {
	c := config.Default()
	c.EvictPlugins = append(c.EvictPlugins, proof.Plugin{Name: "dns", TaskQueue: "q", Activity: "a"})
	for mode, warns := range map[proof.PluginsMode]bool{proof.PluginsAny: true, proof.PluginsAll: false} {
		var said bytes.Buffer
		c.EvictPluginsMode = mode
		log := slog.New(slog.NewTextHandler(&said, nil))
		_, err := preflight(t.Context(), c, world{}, guardFor(c, world{}, func(bool) {}, log), log)
		require.NoError(t, err, "it is no reason not to start")
		require.Equal(t, warns, strings.Contains(said.String(), proof.WarnAnyOfSeveral))
	}
}

// Rules: R4.15-15.
func TestMissingPermissionsAreNamedByVerbAndResource(t *testing.T) {
	err := world{rules: karmada.ErrForbidden, denied: "patch"}.check(t, rules.ModeEnforce)
	require.ErrorIs(t, err, karmada.ErrForbidden)
	require.ErrorContains(t, err, "patch clusters.cluster.karmada.io: to taint and untaint")
	require.ErrorContains(t, err, "patch resourcebindings.work.karmada.io")
	require.NoError(t, world{denied: "patch"}.check(t, rules.ModeObserve), "who observes patches nothing")
}

func TestSettingsCarryWhatWasConfigured(t *testing.T) {
	c := config.Default()
	c.Mode, c.Instance, c.Windows.InFlight, c.Workflow.PendingPurgeWait = rules.ModeEnforce, "eu", 7, 9
	c.Selectors.ExcludeNamespaces, c.Capacity.UnknownIsRoom = []string{"tools"}, true
	require.False(t, process.Settings(c).StateMissingOK || process.Settings(c).Terms.ReleaseUnproven, "off by default")
	c.State.WhenMissing, c.Health.ReleaseUnproven = config.StateProceed, true
	s := process.Settings(c)
	require.True(t, s.StateMissingOK && s.Terms.ReleaseUnproven)
	require.Equal(t, "eu", s.Instance)
	require.Equal(t, rules.ModeEnforce, s.Terms.Mode)
	require.Equal(t, 7, s.Terms.InFlight)
	require.EqualValues(t, 9, s.Terms.PendingPurgeWait)
	require.Equal(t, []string{"tools"}, s.ExcludeNamespaces)
	require.True(t, s.RoomUnknownOK)
}

func TestWrongUsageEndsWithTwo(t *testing.T) {
	for _, args := range [][]string{{"--nonsense"}, {"extra"}, {"--mode", "maybe"}, {"--set", "pace.evictionRate=-1"}} {
		cmd := command()
		cmd.SetArgs(args)
		err := cmd.ExecuteContext(t.Context())
		require.Equal(t, process.ExitUsage, exitCode(err), "%v: %v", args, err)
	}
	require.Equal(t, process.ExitOK, exitCode(nil))
	require.Equal(t, process.ExitFailed, exitCode(errors.New("other")))
}
