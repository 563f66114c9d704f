package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/audit"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/lifeboat-failover/lifeboat/worker/ports"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/registry"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
)

// Only here the adapter is connected to the ports of the activities.
var (
	_ activities.Reader        = (*k8sadapter.Client)(nil)
	_ activities.Writer        = (*k8sadapter.Client)(nil)
	_ activities.EventRecorder = (*k8sadapter.Recorder)(nil)
	_ activities.Owners        = process.Owners{}
	_ activities.Pacer         = ports.Pacer{}
	_ activities.Prober        = k8sadapter.ProxyProber{}
	_ activities.Prober        = k8sadapter.EndpointProber{}
	_ activities.Monotonic     = ports.Clock{}
	_ activities.Meter         = (*telemetry.WorkerMetrics)(nil)
	_ activities.AuditSink     = (*audit.Lines)(nil)
)

const program = "lifeboat-worker"

// run works until ctx ends or the worker cannot go on.
func run(ctx context.Context, c config.Config, log *slog.Logger) error {
	registry := telemetry.NewRegistry(program, c.Instance)
	metrics, err := telemetry.TemporalMetrics(registry, func(err error) {
		log.WarnContext(ctx, "could not record a metric", telemetry.KeyError, err)
	})
	if err != nil {
		return err
	}
	temporal, err := process.Dial(ctx, process.TemporalOptions{Program: program, Config: c, Log: log, Metrics: metrics})
	if err != nil {
		return err
	}
	defer temporal.Close()
	karmada, err := process.Karmada(program, c, log, false)
	if err != nil {
		return err
	}
	defer karmada.Close()
	meter := telemetry.NewWorkerMetrics(registry)
	guard := guardFor(c, karmada, meter.SecondEvictor, log)
	if guard.flags, err = hostOf(c, log); err != nil {
		return err
	}
	answered, err := preflight(ctx, c, temporal, guard, log)
	if err != nil {
		return err
	}
	if c, err = named(c); err != nil {
		return err
	}
	if err := introduce(ctx, c.Temporal.Versioning, temporal.WorkerDeploymentClient(), log); err != nil {
		return err
	}
	server, err := temporal.Serve(ctx, c, registry, karmada, log)
	if err != nil {
		return err
	}
	host := assemble(c, temporal, karmada, meter, guard)
	defer host.closeTrail()
	if !answered {
		go host.endWith(func() error { return awaitKarmada(ctx, karmadaRetry, c, guard) })
	}
	go guard.watch(ctx, evictorRetry)
	go host.follow(ctx)
	host.started = func() { go publish(ctx, temporal.Client, c.Instance, log) }
	return errors.Join(work(ctx, host, c, log), server.Stop(ctx))
}

// signaller is the part of Temporal's client that publish uses.
type signaller interface {
	SignalWorkflow(ctx context.Context, workflowID, runID, signal string, arg any) error
}

// publish makes the pacer read the fleet again, and with it this worker's configuration. A pacer
// that does not run yet reads it at its start.
func publish(ctx context.Context, temporal signaller, instance string, log *slog.Logger) {
	err := temporal.SignalWorkflow(ctx, workflows.FleetPacerID(instance), "", workflows.SignalFleetObserved, workflows.FleetObserved{})
	if err != nil && !process.IsA[*serviceerror.NotFound](err) && ctx.Err() == nil {
		log.WarnContext(ctx, "could not publish the configuration; the pacer reads it at the next change of the fleet", telemetry.KeyError, err)
	}
}

// host is a worker with its background tasks.
type host struct {
	worker.Worker
	fatal      chan error // the first ends the worker
	closeTrail func()
	// follow follows the bindings of Karmada until the context ends.
	follow func(context.Context)
	// started is called once the worker polls.
	started func()
}

// karmadaRetry is the pause between checks of a Karmada that does not answer.
const karmadaRetry = 2 * time.Second

// evictorRetry is the pause between searches for a second evictor that was found. Each search
// lists all bindings.
const evictorRetry = 30 * time.Second

// hostOf is a client of the cluster that runs Karmada's own controllers; nil without access.
func hostOf(c config.Config, log *slog.Logger) (flagReader, error) {
	if c.Karmada.HostKubeconfig == "" {
		return nil, nil
	}
	return k8sadapter.NewClient(c.Karmada.HostKubeconfig, "", k8sadapter.Options{UserAgent: program + "/" + telemetry.Version, Logger: log, ReadOnly: true})
}

// endWith ends the worker if task returns an error.
func (h host) endWith(task func() error) {
	err := task()
	if err == nil {
		return
	}
	select {
	case h.fatal <- err:
	default: // an earlier error ends it already
	}
}

func assemble(
	c config.Config, temporal *process.Temporal, karmada *k8sadapter.Client, meter *telemetry.WorkerMetrics, guard *evictorGuard,
) host {
	fatal := make(chan error, 1)
	w := worker.New(temporal.Client, c.TaskQueue, worker.Options{
		WorkerStopTimeout:           c.StopTimeout,
		DisableRegistrationAliasing: true,
		DeploymentOptions:           deployed(c.Temporal.Versioning),
		Interceptors:                []interceptor.WorkerInterceptor{&ownInstance{instance: c.Instance}},
		// More at once would trigger the deadlock detector on a small machine.
		MaxConcurrentWorkflowTaskExecutionSize: 100,
		// To encode a queue of a hundred thousand takes seconds on a busy machine. The limit
		// must stay below the 10 s of a workflow task.
		DeadlockDetectionTimeout:   5 * time.Second,
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		OnFatalError:               func(err error) { host{fatal: fatal}.endWith(func() error { return err }) },
	})
	sink, closeTrail := trail(c, guard.log)
	clock := ports.NewClock()
	recent := activities.NewRecent(karmada, clock)
	cached := k8sadapter.NewBindingCache(karmada)
	controllerLease := ""
	if c.Controller.LeaderElection.Enabled {
		controllerLease = process.LeaseName(c.Instance)
	}
	migrations := ports.Migrations{Client: temporal.Client, TaskQueue: c.TaskQueue}
	acts := &activities.Activities{
		Reader:     karmada,
		Recent:     recent,
		Cached:     cached,
		Writer:     karmada,
		Events:     events(c, karmada),
		Owners:     process.Owners{Client: temporal.Client},
		Migrations: migrations,
		Launcher:   migrations,

		Applications: ports.Applications{Client: temporal.Client},
		Pacer: ports.Pacer{
			Client: temporal.Client, Instance: c.Instance, Uses: new(ports.Batches[workflows.PermitUse]),
			Converter: cmp.Or(temporal.Options.DataConverter, converter.GetDefaultDataConverter()),
		},
		Failovers: ports.Failovers{Client: temporal.Client, Reports: new(ports.Batches[activities.MigrationReport])},

		Prober:  prober(c, karmada),
		Manager: recent.Manager(lease(karmada, c.Karmada.ManagerLease.Namespace, c.Karmada.ManagerLease.Name)),

		Controller: recent.Manager(lease(karmada, c.Controller.LeaderElection.Namespace, controllerLease)),

		Audit:    sink,
		Clock:    clock,
		Meter:    meter,
		Log:      guard.log,
		Settings: process.Settings(c),

		SecondEvictor: guard.secondEvictor,
	}
	registry.Register(w)
	acts.Register(w)
	return host{Worker: w, fatal: fatal, closeTrail: closeTrail, follow: cached.Run}
}

// prober is the configured prober of members; nil without one.
func prober(c config.Config, karmada *k8sadapter.Client) activities.Prober {
	switch c.Health.Probe {
	case config.ProbeProxy:
		return k8sadapter.ProxyProber{Client: karmada}
	case config.ProbeEndpoint:
		return k8sadapter.EndpointProber{Client: karmada}
	case config.ProbeNone:
	}
	return nil
}

// lease reads a leader Lease; nil without a name.
func lease(karmada *k8sadapter.Client, namespace, name string) activities.ManagerReader {
	if name == "" {
		return nil
	}
	return k8sadapter.ManagerLease{Client: karmada, Namespace: namespace, Name: name}
}

// noEvents discards Events.
type noEvents struct{}

func (noEvents) Record(context.Context, activities.Event) {}

// events discards Events in observe, where Lifeboat writes nothing. A failover that began in
// enforce ends without Events.
func events(c config.Config, karmada *k8sadapter.Client) activities.EventRecorder {
	if c.Acts() != rules.ModeEnforce {
		return noEvents{}
	}
	return k8sadapter.NewRecorder(karmada, program)
}

func work(ctx context.Context, h host, c config.Config, log *slog.Logger) error {
	if err := h.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	h.started()
	log.InfoContext(ctx, "working", telemetry.KeyMode, c.Mode, "taskQueue", c.TaskQueue, telemetry.KeyVersion, telemetry.Version)
	var err error
	select {
	case <-ctx.Done():
		log.InfoContext(ctx, "stopping", "timeout", c.StopTimeout)
	case err = <-h.fatal:
		err = fmt.Errorf("the worker cannot go on: %w", err)
	}
	h.Stop()
	log.InfoContext(ctx, "stopped")
	return err
}

// trail opens the audit trail; nil without one. The worker starts even if it cannot write the
// file: failovers come first, records wait.
func trail(c config.Config, log *slog.Logger) (sink activities.AuditSink, closeTrail func()) {
	switch c.Audit.Sink {
	case config.AuditStdout:
		return audit.NewLines(os.Stdout), func() {}
	case config.AuditFile:
		lines, file, err := audit.File{Path: c.Audit.Path, MaxSizeMB: c.Audit.MaxSizeMB, MaxBackups: c.Audit.MaxBackups}.Open(config.Host())
		if err != nil {
			log.Error("the audit trail cannot be written: records wait until it can", telemetry.KeyError, err)
		}
		return lines, func() {
			if err := file.Close(); err != nil {
				log.Error("could not close the audit trail", telemetry.KeyError, err)
			}
		}
	case config.AuditNone:
	}
	return nil, func() {}
}
