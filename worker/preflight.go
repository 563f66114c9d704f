package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// karmadaAPI is the part of Karmada that the preflight reads.
type karmadaAPI interface {
	process.Asker
	Rules(ctx context.Context) ([]rules.Rule, error)
	SecondEvictor(ctx context.Context) (evidence string, err error)
}

// temporal is the part of Temporal that the preflight reads.
type temporal interface {
	Ready(ctx context.Context, attributes []string) error
}

// preflight returns an error where the worker could not do its work. A Karmada that does not
// answer is no error: awaitKarmada checks it later.
func preflight(ctx context.Context, c config.Config, t temporal, g *evictorGuard, log *slog.Logger) (answered bool, err error) {
	if err := t.Ready(ctx, workflows.SearchAttributeNames()); err != nil {
		return false, err
	}
	if c.EvictPlugins.AnyOfSeveral() {
		log.WarnContext(ctx, "one evict plug-in of several is enough", "evictPlugins", len(c.EvictPlugins.List), "why", proof.WarnAnyOfSeveral)
	}
	err = fit(ctx, c, g)
	if silent(err) {
		log.WarnContext(ctx, "Karmada does not answer, working as soon as it does", telemetry.KeyError, err)
		return false, nil
	}
	return true, err
}

func silent(err error) bool {
	return errors.Is(err, karmada.ErrUnreachable) || errors.Is(err, karmada.ErrThrottled)
}

// awaitKarmada repeats the checks on a Karmada that did not answer at the start, until it
// answers. It returns nil when ctx ends first.
func awaitKarmada(ctx context.Context, every time.Duration, c config.Config, g *evictorGuard) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := fit(ctx, c, g); !silent(err) && ctx.Err() == nil {
			return err
		}
	}
}

// fit returns why the worker cannot do its work on this Karmada. A second evictor is no such
// reason: the guard prevents new evictions beside one.
func fit(ctx context.Context, c config.Config, g *evictorGuard) error {
	k := g.karmada
	_, err := k.Rules(ctx)
	switch {
	case errors.Is(err, karmada.ErrGone):
		return fmt.Errorf("the Karmada API server does not serve ClusterTaintRule; %s", process.SetupHint)
	case err != nil && !errors.Is(err, karmada.ErrForbidden):
		return err
	}
	if err := process.Permitted(ctx, k, process.WorkerPermissions(c)); err != nil {
		return err
	}
	return g.look(ctx)
}
