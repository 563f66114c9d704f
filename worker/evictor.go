package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// evictorGuard keeps a worker that enforces from beginning anything new beside a second
// evictor. Until Karmada has answered, the guard assumes one. A worker that starts when
// nothing speaks for one is not held back again: from then on each failover looks for itself.
type evictorGuard struct {
	karmada karmadaAPI
	flags   flagReader // nil: the flags of Karmada's controllers cannot be seen
	gauge   func(beside bool)
	log     *slog.Logger
	off     bool // this worker enforces nowhere

	mu       sync.Mutex
	evidence string
}

// flagReader reads how Karmada's own controllers run, where they run.
type flagReader interface {
	ControllerManagerFlags(ctx context.Context, namespace, name string) ([]string, error)
}

// The Deployment of karmada-controller-manager.
const (
	managerNamespace = "karmada-system"
	managerName      = "karmada-controller-manager"
)

// notAsked is the evidence until Karmada has answered.
const notAsked = "Karmada has not answered yet whether tasks of its taint manager stand"

func guardFor(c config.Config, k karmadaAPI, gauge func(bool), log *slog.Logger) *evictorGuard {
	g := &evictorGuard{karmada: k, gauge: gauge, log: log, off: c.Acts() != rules.ModeEnforce}
	if !g.off {
		g.evidence = notAsked
	}
	return g
}

// secondEvictor is what speaks for one, empty when nothing does.
func (g *evictorGuard) secondEvictor() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.evidence
}

// look asks Karmada.
func (g *evictorGuard) look(ctx context.Context) error {
	if g.off {
		return nil
	}
	evidence, err := g.karmada.SecondEvictor(ctx)
	if err != nil {
		return err
	}
	if evidence == "" {
		evidence = g.byFlags(ctx)
	}
	g.mu.Lock()
	before := g.evidence
	g.evidence = evidence
	g.mu.Unlock()
	g.gauge(evidence != "")
	switch {
	case evidence == before:
	case evidence != "":
		g.log.WarnContext(ctx, "second evictor: this worker begins no new eviction, and finishes what has begun", "evidence", evidence, "do", process.TurnOff)
	case before != notAsked:
		g.log.InfoContext(ctx, "no sign of a second evictor any more: this worker evicts again")
	}
	return nil
}

// byFlags is why Karmada's taint manager would evict, empty when it would not or when its
// flags cannot be seen.
func (g *evictorGuard) byFlags(ctx context.Context) string {
	if g.flags == nil {
		g.log.WarnContext(ctx, "the flags of karmada-controller-manager could not be checked: set karmada.hostKubeconfig", "do", process.TurnOff)
		return ""
	}
	flags, err := g.flags.ControllerManagerFlags(ctx, managerNamespace, managerName)
	if err != nil {
		g.log.WarnContext(ctx, "the flags of karmada-controller-manager could not be checked", "error", err, "do", process.TurnOff)
		return ""
	}
	return rules.ReadControllerManager(flags).Evicts
}

// watch looks again for as long as something speaks for a second evictor.
func (g *evictorGuard) watch(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for g.secondEvictor() != "" {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := g.look(ctx); err != nil && ctx.Err() == nil {
			g.log.WarnContext(ctx, "cannot look for a second evictor", "error", err)
		}
	}
}
