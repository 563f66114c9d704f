package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/controller/survey"
	"github.com/lifeboat-failover/lifeboat/controller/watch"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/spf13/cobra"
)

const program = "lifeboat-controller"

// surveyInterval is the age that the gauges of the fleet may have, no more than most scrape intervals.
const surveyInterval = 15 * time.Second

func (a *app) controllerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the controller: watch Karmada and start one workflow per suspected cluster",
		Long: `Watch Karmada and turn what happens into signals to workflows; start one workflow per suspected
cluster. Several may run: one of them watches, elected by a Lease. An outage of Temporal or Karmada
is waited out: a resync sends again what was missed.`,
		Example: `  lifeboat controller --mode enforce --config lifeboat.yaml`,
		Args:    process.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, log, err := load(cmd, a.flags)
			if err != nil {
				return err
			}
			if err := a.flags.Serve(cmd.Context(), log); err != nil {
				return err
			}
			return runController(cmd.Context(), c, log)
		},
	}
	a.flags.Daemon(cmd.Flags())
	a.flags.Shortcut(cmd.Flags(), "task-queue", "taskQueue", "Temporal task queue of the workflows that are started; lifeboat-<instance> where an instance is set")
	return cmd
}

// runController runs until ctx ends.
func runController(ctx context.Context, c config.Config, log *slog.Logger) error {
	registry := telemetry.NewRegistry(program, c.Instance)
	metrics, err := telemetry.TemporalMetrics(registry, func(err error) {
		log.WarnContext(ctx, "could not record a metric", telemetry.KeyError, err)
	})
	if err != nil {
		return err
	}
	// Lazy: a Temporal that is away is waited for.
	temporal, err := process.Dial(ctx, process.TemporalOptions{Program: program, Config: c, Log: log, Metrics: metrics, Lazy: true})
	if err != nil {
		return err
	}
	defer temporal.Close()
	karmada, err := process.Karmada(program, c, log, false)
	if err != nil {
		return err
	}
	defer karmada.Close()
	if err := watchable(ctx, c, karmada, log); err != nil {
		return err
	}
	w := watcher(c, temporal, karmada, telemetry.NewControllerMetrics(registry), log)
	w.Survey = (&survey.Survey{
		Source:   status.Source{Client: temporal.Client, Namespace: temporal.Options.Namespace, Instance: c.Instance},
		Fleet:    telemetry.NewFleet(registry, time.Now),
		Instance: c.Instance,
		Interval: min(surveyInterval, c.Controller.ResyncInterval),
	}).Run
	server, err := temporal.Serve(ctx, c, registry, karmada, log)
	if err != nil {
		return err
	}
	log.InfoContext(ctx, "started", telemetry.KeyMode, c.Mode, telemetry.KeyVersion, telemetry.Version)
	err = lead(ctx, c, karmada, w, log)
	log.InfoContext(ctx, "stopped")
	return errors.Join(err, server.Stop(ctx))
}

// watchable returns an error for what waiting cannot repair: a missing definition or permission. A Karmada that
// does not answer is waited for.
func watchable(ctx context.Context, c config.Config, client *k8sadapter.Client, log *slog.Logger) error {
	_, err := client.Rules(ctx)
	switch {
	case errors.Is(err, karmada.ErrGone):
		return fmt.Errorf("the Karmada API server does not serve ClusterTaintRule; %s", process.SetupHint)
	case errors.Is(err, karmada.ErrUnreachable), errors.Is(err, karmada.ErrThrottled):
		log.WarnContext(ctx, "the Karmada API server does not answer, watching as soon as it does", telemetry.KeyError, err)
		return nil
	case err != nil && !errors.Is(err, karmada.ErrForbidden):
		return err
	}
	return process.Permitted(ctx, client, controllerPermissions(c))
}

// controllerPermissions are the controller's permissions under this configuration.
func controllerPermissions(c config.Config) []k8sadapter.Permission {
	election := c.Controller.LeaderElection
	permissions := slices.Concat(
		k8sadapter.ControllerPermissions(c.Acts(), election.Namespace, process.LeaseName(c.Instance)), process.PolicyPermissions(c, "list", "watch"),
	)
	if !election.Enabled {
		permissions = slices.DeleteFunc(permissions, func(p k8sadapter.Permission) bool { return p.Resource == "leases" })
	}
	return permissions
}

func watcher(
	c config.Config, temporal *process.Temporal, karmada *k8sadapter.Client, metrics *telemetry.ControllerMetrics, log *slog.Logger,
) *watch.Watcher {
	reports := &watch.Reports{Log: log}
	if c.Acts() == rules.ModeEnforce {
		reports.Events, reports.Status = k8sadapter.NewRecorder(karmada, program), karmada
	}
	var externalProbe *watch.ExternalProbe
	if c.ExternalProbe.Enabled {
		externalProbe = watch.NewExternalProbe(c.ExternalProbe)
	}
	pacer := status.Source{Client: temporal.Client, Namespace: temporal.Options.Namespace, Instance: c.Instance}
	return &watch.Watcher{
		ExternalProbe: externalProbe,
		Recall:        pacer.Probed,
		Fresh:         karmada,
		Follow: func(handlers k8sadapter.Handlers) watch.Karmada {
			return k8sadapter.NewWatch(karmada, handlers)
		},
		Reports: reports,
		Outbox: &watch.Outbox{
			Instance: c.Instance,
			Sender:   watch.Temporal{Client: temporal.Client, TaskQueue: c.TaskQueue},
			Counter:  metrics,
			Log:      log,
			Coalesce: c.Controller.Coalesce,
		},
		Owners:   process.Owners{Client: temporal.Client},
		Instance: c.Instance,
		Resync:   c.Controller.ResyncInterval,

		Applications: c.ApplicationFailover,

		Metrics: metrics,
		Log:     log,
	}
}

// identity is the name of this process in the Lease: host and process id, and a random tail for two containers in
// the network of one host.
func identity() string {
	return fmt.Sprintf("%s_%d_%s", config.Host(), os.Getpid(), rand.Text()[:8])
}

// lead runs the watcher while this controller is the leader, until ctx ends.
func lead(ctx context.Context, c config.Config, karmada *k8sadapter.Client, w *watch.Watcher, log *slog.Logger) error {
	election := c.Controller.LeaderElection
	if !election.Enabled {
		w.Run(ctx)
		return nil
	}
	identity := identity()
	for ctx.Err() == nil {
		err := karmada.RunLeaderElected(ctx, k8sadapter.LeaderConfig{
			Namespace:     election.Namespace,
			Name:          process.LeaseName(c.Instance),
			Identity:      identity,
			LeaseDuration: election.LeaseDuration,
			RenewDeadline: election.RenewDeadline,
			RetryPeriod:   election.RetryPeriod,
		}, w.Run)
		if !errors.Is(err, k8sadapter.ErrLeadershipLost) {
			return err
		}
		if ctx.Err() == nil {
			log.WarnContext(ctx, "lost the lease, standing for election again", telemetry.KeyError, err)
		}
	}
	return nil // a lease that is lost while the controller stops is no failure
}
