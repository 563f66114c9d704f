package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// evictorGuard keeps a worker in enforce from new evictions beside a second evictor. Until
// Karmada has answered, the guard assumes one. Once it has found none it stops: from then on
// each failover checks for itself.
type evictorGuard struct {
	karmada karmadaAPI
	flags   flagReader // nil without access to Karmada's controllers
	gauge   func(beside bool)
	log     *slog.Logger
	off     bool // no cluster is in enforce

	mu       sync.Mutex
	evidence string
}

// flagReader reads the flags of Karmada's controllers.
type flagReader interface {
	ControllerManagerFlags(ctx context.Context, namespace, name string) ([]string, error)
}

// The Deployment of karmada-controller-manager.
const (
	managerNamespace = "karmada-system"
	managerName      = "karmada-controller-manager"
)

// unanswered is the evidence until Karmada has answered.
const unanswered = "Karmada has not answered yet whether tasks of its taint manager stand"

func guardFor(c config.Config, k karmadaAPI, gauge func(bool), log *slog.Logger) *evictorGuard {
	g := &evictorGuard{karmada: k, gauge: gauge, log: log, off: c.Acts() != rules.ModeEnforce}
	if !g.off {
		g.evidence = unanswered
	}
	return g
}

// secondEvictor is the evidence for a second evictor, empty without any.
func (g *evictorGuard) secondEvictor() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.evidence
}

// look searches Karmada for a second evictor.
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
		g.log.WarnContext(ctx, "second evictor: this worker begins no new eviction, and finishes what has begun", "evidence", evidence, "do", rules.TurnOff)
	case before != unanswered:
		g.log.InfoContext(ctx, "no sign of a second evictor any more: this worker evicts again")
	}
	return nil
}

// byFlags is why Karmada's taint manager would evict; empty when it would not, or when its flags
// cannot be read.
func (g *evictorGuard) byFlags(ctx context.Context) string {
	if g.flags == nil {
		g.log.WarnContext(ctx, "the flags of karmada-controller-manager could not be checked: set karmada.hostKubeconfig", "do", rules.TurnOff)
		return ""
	}
	flags, err := g.flags.ControllerManagerFlags(ctx, managerNamespace, managerName)
	if err != nil {
		g.log.WarnContext(ctx, "the flags of karmada-controller-manager could not be checked", "error", err, "do", rules.TurnOff)
		return ""
	}
	return rules.ReadControllerManager(flags).Evicts
}

// watch looks again until there is no evidence left.
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
