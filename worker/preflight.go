package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// errSecondEvictor is returned when somebody else evicts too.
var errSecondEvictor = errors.New("a second evictor is at work")

// karmada is what the preflight asks.
type karmada interface {
	process.Asker
	Rules(ctx context.Context) ([]failover.Rule, error)
	SecondEvictor(ctx context.Context) (evidence string, err error)
}

// temporal is what the preflight asks of Temporal.
type temporal interface {
	Ready(ctx context.Context, attributes []string) error
}

// preflight refuses to start where the work could not be done. A Karmada that does
// not answer is no reason: the work waits for it.
func preflight(ctx context.Context, c config.Config, t temporal, k karmada, log *slog.Logger) error {
	if err := t.Ready(ctx, workflows.SearchAttributeNames()); err != nil {
		return err
	}
	if len(c.EvictPlugins) > 1 && c.EvictPluginsMode != failover.PluginsAll {
		log.WarnContext(ctx, "several evictPlugins under evictPluginsMode any: any one of them is proof enough to let an old copy go",
			"evictPlugins", len(c.EvictPlugins))
	}
	_, err := k.Rules(ctx)
	switch {
	case errors.Is(err, failover.ErrGone):
		return fmt.Errorf("the Karmada API server does not know ClusterTaintRule; %s", process.SetupHint)
	case errors.Is(err, failover.ErrUnreachable), errors.Is(err, failover.ErrThrottled):
		log.WarnContext(ctx, "Karmada does not answer, working as soon as it does", telemetry.KeyError, err)
		return nil
	case err != nil && !errors.Is(err, failover.ErrForbidden):
		return err
	}
	if err := process.Permitted(ctx, k, slices.Concat(k8sadapter.WorkerPermissions(c.Acts()), process.PolicyPermissions(c, "list"))); err != nil {
		return err
	}
	return alone(ctx, c, k)
}

// alone refuses to act beside a second evictor.
func alone(ctx context.Context, c config.Config, k karmada) error {
	if c.Acts() != failover.ModeEnforce {
		return nil
	}
	evidence, err := k.SecondEvictor(ctx)
	if err != nil {
		return err
	}
	if evidence != "" {
		return fmt.Errorf("%w: %s; %s", errSecondEvictor, evidence, process.TurnOff)
	}
	return nil
}
