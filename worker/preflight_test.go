package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/internal/process"
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

func (w world) Rules(context.Context) ([]failover.Rule, error) { return nil, w.rules }

func (w world) SecondEvictor(context.Context) (string, error) { return w.evidence, nil }

func (w world) Preflight(_ context.Context, permissions []k8sadapter.Permission) []k8sadapter.Finding {
	var findings []k8sadapter.Finding
	for _, p := range permissions {
		findings = append(findings, k8sadapter.Finding{Permission: p, Allowed: p.Verb != w.denied})
	}
	return findings
}

func (w world) check(t *testing.T, mode failover.Mode) error {
	t.Helper()
	c := config.Default()
	c.Mode = mode
	return preflight(t.Context(), c, w, w, slog.New(slog.DiscardHandler))
}

func TestAWorkerStartsWhereItCanWork(t *testing.T) {
	require.NoError(t, world{}.check(t, failover.ModeObserve))
	require.NoError(t, world{}.check(t, failover.ModeEnforce))
}

func TestAnUnpreparedServerIsSentToSetup(t *testing.T) {
	missing := errors.New("namespace does not exist; " + process.SetupHint)
	require.ErrorIs(t, world{notReady: missing}.check(t, failover.ModeObserve), missing)
	require.ErrorContains(t, world{rules: failover.ErrGone}.check(t, failover.ModeObserve), "lifeboat setup")
}

func TestAKarmadaThatDoesNotAnswerIsWaitedFor(t *testing.T) {
	require.NoError(t, world{rules: failover.ErrUnreachable}.check(t, failover.ModeEnforce))
}

// Rules: R4.15-15.
func TestMissingPermissionsAreNamedByVerbAndResource(t *testing.T) {
	err := world{rules: failover.ErrForbidden, denied: "patch"}.check(t, failover.ModeEnforce)
	require.ErrorIs(t, err, failover.ErrForbidden)
	require.ErrorContains(t, err, "patch clusters.cluster.karmada.io: to taint and untaint")
	require.ErrorContains(t, err, "patch resourcebindings.work.karmada.io")
	require.NoError(t, world{denied: "patch"}.check(t, failover.ModeObserve), "who observes patches nothing")
}

// Rules: R4.15-21.
func TestEnforceRefusesToStartBesideASecondEvictor(t *testing.T) {
	beside := world{evidence: "ResourceBinding shop/cart carries a task of producer TaintManager"}
	err := beside.check(t, failover.ModeEnforce)
	require.ErrorIs(t, err, errSecondEvictor)
	require.ErrorContains(t, err, "shop/cart")
	require.ErrorContains(t, err, "--feature-gates=Failover=false")
	require.Equal(t, process.ExitRefused, exitCode(err))
	require.NoError(t, beside.check(t, failover.ModeObserve))
}

func TestSettingsCarryWhatWasConfigured(t *testing.T) {
	c := config.Default()
	c.Mode, c.Instance, c.Windows.InFlight, c.Workflow.DebtWait = failover.ModeEnforce, "eu", 7, 9
	c.Selectors.ExcludeNamespaces, c.Capacity.UnknownIsRoom = []string{"tools"}, true
	s := process.Settings(c)
	require.Equal(t, "eu", s.Instance)
	require.Equal(t, failover.ModeEnforce, s.Terms.Mode)
	require.Equal(t, 7, s.Terms.InFlight)
	require.EqualValues(t, 9, s.Terms.DebtWait)
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
