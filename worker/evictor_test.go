package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
)

const standing = "ResourceBinding shop/cart carries a task of producer TaintManager"

// leaving is a Karmada whose second evictor is gone after some looks.
type leaving struct {
	world
	looks, gone int
	silent      bool
}

func (l *leaving) SecondEvictor(context.Context) (string, error) {
	l.looks++
	switch {
	case l.silent:
		return "", karmada.ErrUnreachable
	case l.looks > l.gone:
		return "", nil
	}
	return standing, nil
}

// Rules: R4.15-19, R4.15-27.
func TestAWorkerBesideASecondEvictorStartsAndSaysWhatToDo(t *testing.T) {
	c := config.Default()
	c.Mode = rules.ModeEnforce
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	var gauge bool
	beside := &leaving{gone: 3}
	guard := guardFor(c, beside, func(on bool) { gauge = on }, log)
	answered, err := preflight(t.Context(), c, beside, guard, log)
	require.NoError(t, err, "it starts: what has begun has to be cleaned up")
	require.True(t, answered)
	require.Equal(t, standing, guard.secondEvictor())
	require.True(t, gauge)
	require.Contains(t, said.String(), "begins no new eviction")
	require.Contains(t, said.String(), "shop/cart")
	flags, controllers := strings.Index(said.String(), "--feature-gates=Failover=false"), strings.Index(said.String(), "-gracefulEviction")
	require.Positive(t, flags)
	require.Greater(t, controllers, flags, "gracefulEviction goes last: it ends the tasks that stand")

	guard.watch(t.Context(), time.Millisecond)
	require.Equal(t, 4, beside.looks, "it looks until the tasks are gone, and then no more")
	require.Empty(t, guard.secondEvictor())
	require.False(t, gauge)
	require.Equal(t, 1, strings.Count(said.String(), "begins no new eviction"), "each finding is logged once")
	require.Contains(t, said.String(), "evicts again")
}

// Rules: R4.15-27.
func TestAGuardThatCannotAskAssumesASecondEvictor(t *testing.T) {
	c := config.Default()
	c.Mode = rules.ModeEnforce
	quiet := slog.New(slog.DiscardHandler)
	unseen := &leaving{silent: true}
	guard := guardFor(c, unseen, func(bool) {}, quiet)
	require.Error(t, guard.look(t.Context()))
	require.Equal(t, unanswered, guard.secondEvictor())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	guard.watch(ctx, time.Hour)
	require.NotEmpty(t, guard.secondEvictor())
}

// A worker that observes begins nothing anyway, and asks nothing.
func TestAnObservingWorkerLooksForNoSecondEvictor(t *testing.T) {
	beside := &leaving{gone: 9}
	guard := guardFor(config.Default(), beside, func(bool) { t.Error("it has no gauge") }, slog.New(slog.DiscardHandler))
	require.NoError(t, guard.look(t.Context()))
	guard.watch(t.Context(), time.Hour)
	require.Zero(t, beside.looks)
	require.Empty(t, guard.secondEvictor())
}

// hostCluster is where Karmada's controller manager runs with its flags.
type hostCluster struct {
	flags []string
	err   error
}

func (m hostCluster) ControllerManagerFlags(context.Context, string, string) ([]string, error) {
	return m.flags, m.err
}

// Rules: R4.15-20, R4.15-30.
func TestAWorkerReadsTheFlagsWhereItSeesThem(t *testing.T) {
	evicts := []string{"--feature-gates=Failover=true", "--enable-no-execute-taint-eviction=true"}
	for name, c := range map[string]struct {
		flags  flagReader
		beside bool
		said   string
	}{
		"no flags to be seen": {said: "could not be checked"},
		"no right to read":    {flags: hostCluster{err: karmada.ErrForbidden}, said: "could not be checked"},
		"Karmada evicts":      {flags: hostCluster{flags: evicts}, beside: true, said: "begins no new eviction"},
		"Karmada does not":    {flags: hostCluster{flags: []string{"--feature-gates=Failover=false"}}},
	} {
		t.Run(name, func(t *testing.T) {
			conf := config.Default()
			conf.Mode = rules.ModeEnforce
			var said bytes.Buffer
			guard := guardFor(conf, world{}, func(bool) {}, slog.New(slog.NewTextHandler(&said, nil)))
			guard.flags = c.flags
			require.NoError(t, guard.look(t.Context()))
			require.Equal(t, c.beside, guard.secondEvictor() != "")
			if c.said == "" {
				require.Empty(t, said.String())
			}
			require.Contains(t, said.String(), c.said)
		})
	}
}
