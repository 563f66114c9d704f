package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// The adapter and the activities meet here and nowhere else.
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
	host := assemble(c, temporal, karmada, parts{meter, guard, log})
	defer host.closeTrail()
	if !answered {
		go host.endWith(func() error { return awaitKarmada(ctx, askAgain, c, guard) })
	}
	go guard.watch(ctx, lookAgain)
	go host.follow(ctx)
	host.started = func() { go publish(ctx, temporal.Client, c.Instance, log) }
	return errors.Join(work(ctx, host, c, log), stop(ctx, server))
}

// signaller is what publish asks of Temporal.
type signaller interface {
	SignalWorkflow(ctx context.Context, workflowID, runID, signal string, arg any) error
}

// publish has the pacer look at the fleet again, and so publish this worker's configuration.
// A pacer that does not run yet looks when it begins.
func publish(ctx context.Context, temporal signaller, instance string, log *slog.Logger) {
	err := temporal.SignalWorkflow(ctx, workflows.FleetPacerID(instance), "", workflows.SignalFleetObserved, workflows.FleetObserved{})
	var missing *serviceerror.NotFound
	if err != nil && !errors.As(err, &missing) && ctx.Err() == nil {
		log.WarnContext(ctx, "could not publish the configuration; the pacer learns of it at the next change of the fleet", telemetry.KeyError, err)
	}
}

// host is a worker and what makes it stop by itself.
type host struct {
	worker.Worker
	fatal      chan error
	closeTrail func()
	// follow follows the bindings of Karmada until the context ends.
	follow func(context.Context)
	// started is called once the worker polls.
	started func()
}

// askAgain is how long a Karmada that did not answer is left alone.
const askAgain = 2 * time.Second

// lookAgain is how often a worker beside a second evictor looks whether it is gone. Each
// look lists all bindings.
const lookAgain = 30 * time.Second

// hostOf reaches the cluster that Karmada's own controllers run in; nil where it cannot be seen.
func hostOf(c config.Config, log *slog.Logger) (flagReader, error) {
	if c.Karmada.HostKubeconfig == "" {
		return nil, nil
	}
	return k8sadapter.NewClient(c.Karmada.HostKubeconfig, "", k8sadapter.Options{UserAgent: program + "/" + telemetry.Version, Logger: log, ReadOnly: true})
}

// parts are what a worker has of its own.
type parts struct {
	meter *telemetry.WorkerMetrics
	guard *evictorGuard
	log   *slog.Logger
}

// endWith ends the worker with the error of what, if it has one.
func (h host) endWith(what func() error) {
	err := what()
	if err == nil {
		return
	}
	select {
	case h.fatal <- err:
	default: // one is enough
	}
}

func assemble(c config.Config, temporal *process.Temporal, karmada *k8sadapter.Client, p parts) host {
	fatal := make(chan error, 1)
	w := worker.New(temporal.Client, c.TaskQueue, worker.Options{
		WorkerStopTimeout:           c.Worker.StopTimeout,
		DisableRegistrationAliasing: true,
		DeploymentOptions:           deployed(c.Temporal.Versioning),
		Interceptors:                []interceptor.WorkerInterceptor{&ownInstance{instance: c.Instance}},
		// A hundred at once keeps the deadlock detector quiet on a small machine.
		MaxConcurrentWorkflowTaskExecutionSize: 100,
		// Writing down a queue of a hundred thousand takes seconds on a machine that is
		// busy; it must stay below the ten that a workflow task has.
		DeadlockDetectionTimeout:   5 * time.Second,
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		OnFatalError:               func(err error) { host{fatal: fatal}.endWith(func() error { return err }) },
	})
	data := temporal.Options.DataConverter
	if data == nil {
		data = converter.GetDefaultDataConverter()
	}
	sink, closeTrail := trail(c, p.log)
	clock := ports.NewClock()
	recent := activities.NewRecent(reader(c, karmada), clock)
	cached := k8sadapter.NewBindingCache(karmada)
	acts := &activities.Activities{
		Reader: reader(c, karmada),
		Recent: recent,
		Cached: cached,
		Writer: karmada,
		Events: events(c, karmada),
		Owners: process.Owners{Client: temporal.Client},
		Moves:  ports.Moves{Client: temporal.Client},
		Pacer: ports.Pacer{
			Client: temporal.Client, Namespace: temporal.Options.Namespace, Instance: c.Instance, Converter: data, Uses: new(ports.Uses),
		},
		Prober:  prober(c, karmada),
		Manager: recent.Manager(manager(c, karmada)),

		Controller: recent.Manager(controller(c, karmada)),

		Audit:    sink,
		Clock:    clock,
		Meter:    p.meter,
		Log:      p.log,
		Settings: process.Settings(c),

		SecondEvictor: p.guard.secondEvictor,
	}
	registry.Register(w)
	acts.Register(w)
	return host{Worker: w, fatal: fatal, closeTrail: closeTrail, follow: cached.Run}
}

// reader reads a deletion timestamp on a cluster as the configuration says.
func reader(c config.Config, karmada *k8sadapter.Client) activities.Reader {
	if c.Drain.OnDeletion == rules.DeletionDrain {
		return activities.DrainDeleting{Reader: karmada}
	}
	return karmada
}

// prober asks members the way that the configuration says; nil where it says none.
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

// manager reads the Lease that the configuration names; nil where it names none.
func manager(c config.Config, karmada *k8sadapter.Client) activities.ManagerReader {
	if c.Karmada.ManagerLease.Name == "" {
		return nil
	}
	return k8sadapter.ManagerLease{Client: karmada, Namespace: c.Karmada.ManagerLease.Namespace, Name: c.Karmada.ManagerLease.Name}
}

// controller reads the Lease of the controller; nil where the configuration elects no leader.
func controller(c config.Config, karmada *k8sadapter.Client) activities.ManagerReader {
	if !c.Controller.LeaderElection.Enabled {
		return nil
	}
	return k8sadapter.ManagerLease{Client: karmada, Namespace: c.Controller.LeaderElection.Namespace, Name: process.LeaseName(c.Instance)}
}

// silence records no Events.
type silence struct{}

func (silence) Record(context.Context, activities.Event) {}

// events records nothing in observe: then nothing at all is written. What an
// failover that began in enforce still has to finish it finishes without Events.
func events(c config.Config, karmada *k8sadapter.Client) activities.EventRecorder {
	if c.Acts() != rules.ModeEnforce {
		return silence{}
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
		log.InfoContext(ctx, "stopping", "timeout", c.Worker.StopTimeout)
	case err = <-h.fatal:
		err = fmt.Errorf("the worker cannot go on: %w", err)
	}
	h.Stop()
	log.InfoContext(ctx, "stopped")
	return err
}

// stopTimeout bounds the last answers to scrapes and probes.
const stopTimeout = 3 * time.Second

func stop(ctx context.Context, server *telemetry.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return server.Stop(ctx)
}
