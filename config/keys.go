package config

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// keys are all keys, in the order of `config print`.
func (c *Config) keys() []key {
	return slices.Concat(
		c.generalKeys(), c.paceKeys(), c.migrationKeys(), c.approvalKeys(), c.ruleKeys(), c.controllerKeys(), c.processKeys(), c.auditKeys(),
		c.versioningKeys(), c.securityKeys(),
	)
}

func (c *Config) generalKeys() []key {
	return []key{
		text("instance", &c.Instance, instancePattern,
			"Prefix of every workflow id, for several Karmadas on one Temporal namespace."),
		choice("mode", &c.Mode, []rules.Mode{rules.ModeObserve, rules.ModeEnforce},
			"observe decides and records, and writes nothing; enforce acts."),
		names("modes.enforce", &c.Modes.Enforce.Names,
			"Clusters that are handled in enforce, whatever mode says."),
		names("modes.observe", &c.Modes.Observe.Names,
			"Clusters that are handled in observe, whatever else says enforce."),
		selector("modes.enforceSelector", &c.Modes.Enforce.Selector,
			"As modes.enforce, by the labels of a cluster."),
		selector("modes.observeSelector", &c.Modes.Observe.Selector,
			"As modes.observe, by the labels of a cluster."),
		text("taskQueue", &c.TaskQueue, queuePattern,
			"Temporal task queue that workers poll. Where it is not said and there is an instance, it is lifeboat-<instance>: no two instances may share one."),
		text("uiURL", &c.UIURL, urlPattern,
			"Base URL of the Temporal UI, for links."),
		fixed(text("runbookURL", &c.RunbookURL, urlPattern,
			"Where docs/operations.md is published, which has a heading for every reason; empty gives no links to it.")),
		text("kubernetes.kubeconfig", &c.Kubernetes.Kubeconfig, anyText,
			"Kubeconfig of the Karmada API server; empty follows kubectl's own order."),
		fixed(text("kubernetes.context", &c.Kubernetes.Context, anyText,
			"Context in the kubeconfig; empty is its current one.")),
		decimal("kubernetes.qps", &c.Kubernetes.QPS, 1, 1000,
			"Requests per second to the Karmada API server, per process. A migration takes about 12."),
		fixed(whole("kubernetes.burst", &c.Kubernetes.Burst, 1, 2000,
			"Requests above qps that may go out at once.")),
	}
}

func (c *Config) paceKeys() []key {
	return []key{
		rate("pace.evictionRate", &c.Pace,
			"Evictions per second, fleet-wide, counted at the write; 0 halts."),
		decimal("pace.unhealthyThreshold", &c.Pace.UnhealthyThreshold, 0.01, 1,
			"Share of faulty clusters above which the rate of a large fleet is reduced and a small fleet is halted."),
		decimal("pace.secondaryEvictionRate", &c.Pace.SecondaryRate, 0, 1000,
			"Evictions per second above unhealthyThreshold in a large fleet, never more than evictionRate; 0 halts."),
		fixed(whole("pace.largeFleetThreshold", &c.Pace.LargeFleet, 0, 1000000,
			"A fleet of more clusters than this is large.")),
		whole("pace.migrationsPerHour", &c.Pace.MigrationsPerHour, 1, 1000,
			"How often one binding may be moved within an hour, whatever the cluster; beyond that it is blocked."),
		fixed(whole("pace.unlimitedChunk", &c.Pace.UnlimitedChunk, 1, 500,
			"Evictions on their way at once when evictionRate is unlimited.")),
		boolean("applicationFailover.enabled", &c.ApplicationFailover,
			"Move a binding with spec.failover.application off a cluster where it is Unhealthy for longer than it tolerates; only where Karmada's own controller applicationFailover is off."),
		decimal("applicationFailover.rate", &c.Pace.ApplicationRate, 0, 1000,
			"Evictions per second of application failovers, beside pace.evictionRate; 0 is a quarter of that."),
		decimal("applicationFailover.breakerShare", &c.Pace.BreakerShare, 0, 1,
			"Share of the applications of one policy, one cluster or the fleet that may be Unhealthy at once, at least 5; above it the release is suspected and none of them moves. 0 suspects none."),
		fixed(duration("applicationFailover.breakerWindow", &c.Pace.BreakerWindow, time.Second, 24*time.Hour,
			"How long that share must be lower before they may move.")),
		fixed(whole("windows.inFlight", &c.Windows.InFlight, 1, 400,
			"Migrations of one cluster between check and placement.")),
		fixed(whole("windows.waiting", &c.Windows.Waiting, 1, 1500,
			"Migrations of one cluster that wait for health.")),
	}
}

func (c *Config) migrationKeys() []key {
	return []key{
		tolerations("defaults.tolerations", &c.Defaults.Tolerations,
			"Tolerations of bindings that have none themselves."),
		choice("defaults.purgeMode", &c.Defaults.PurgeMode, []karmada.PurgeMode{karmada.PurgeGracefully, karmada.PurgeDirectly, karmada.PurgeNever},
			"How the old copy of a binding that does not say goes: Gracefully after the new one is proven, Directly before the new one begins, or Never."),
		choice("state.whenMissing", &c.WhenStateMissing, []StateMissing{StateBlock, StateProceed},
			"What a binding with statePreservation does whose status was never collected, or to whose new copy Karmada would not hand it (only Directly, on one target): block, or proceed without its state."),
		duration("health.minHealthy", &c.Health.MinHealthy, 0, time.Hour,
			"How long a new copy must be healthy without a break before the old one goes."),
		duration("health.detection", &c.Health.Detection, 0, time.Hour,
			"As minHealthy, where the old copy's cluster is Ready; longer than Karmada takes to see a dead cluster."),
		fixed(duration("health.pollInterval", &c.Health.PollInterval, time.Second, time.Hour,
			"Safety poll of a migration that waits; signals come first.")),
		duration("health.gracefulTimeout", &c.Health.GracefulTimeout, time.Second, 24*time.Hour,
			"After this long without proof of health a migration needs attention. Nothing is deleted, unless health.releaseUnproven says so."),
		boolean("health.releaseUnproven", &c.Health.ReleaseUnproven,
			"Let the old copy go after gracefulTimeout although the new one was never proven healthy. Dangerous: it may have been the only one that works."),
		choice("health.probe", &c.Health.Probe, []Probe{ProbeNone, ProbeProxy, ProbeEndpoint},
			"How a target is probed right before the old copy of a Ready cluster goes; an answer saves the wait for health.detection."),
		plugins("evictPlugins", &c.EvictPlugins.List, true,
			"What proves a new copy: ResourceHealth, and activities on task queues of your own (docs/plugins.md)."),
		choice("evictPluginsMode", &c.EvictPlugins.Mode, []proof.PluginsMode{proof.PluginsAny, proof.PluginsAll},
			"Whether any one of evictPlugins is proof enough, or all are needed."),
		plugins("fencePlugins", &c.FencePlugins, false,
			"Activities on task queues of your own that prove the old copies of a silent cluster dead, for purge mode Directly."),
		fixed(duration("recovery.restoreWait", &c.Recovery.RestoreWait, time.Second, time.Hour,
			"How long a restore waits for the scheduler before the untaint goes ahead without it.")),
		fixed(boolean("recovery.freezeTolerationsWhenHalted", &c.Recovery.FreezeTolerationsHalted,
			"Toleration clocks stand still while the fleet is halted.")),
		choice("drain.onDeletion", &c.OnDeletion, []rules.DeletionPolicy{rules.DeletionIgnore, rules.DeletionDrain},
			"What a deletion timestamp on a cluster means: leave it to Karmada, or drain the cluster. Karmada deletes every copy on it at once all the same: to lose none, drain first, and then unjoin."),
		boolean("capacity.unknownIsRoom", &c.Capacity.UnknownIsRoom,
			"A surviving cluster whose capacity is not known counts as having room."),
		choice("capacity.staticWeights", &c.Capacity.StaticWeights, []StaticWeights{StaticWeightsMove, StaticWeightsBlock},
			"Karmada divides by static weight without a look at room: move all the same, where some pods may stay Pending, or block."),
		whole("capacity.margin", &c.Capacity.Margin, 0, 99,
			"Percentage of every cluster's room that a migration must do without where replicas are divided by room: for a scheduler with an accurate estimator."),
		text("karmada.version", &c.Karmada.Version, karmadaPattern,
			"The release of Karmada whose scheduler the pre-check follows, major and minor; quote it."),
		text("karmada.hostKubeconfig", &c.Karmada.HostKubeconfig, anyText,
			"kubeconfig of the cluster that runs Karmada's own controllers: a worker that starts, and lifeboat preflight, read the flags of Deployment karmada-system/karmada-controller-manager there. Empty: they could not be checked."),
		fixed(text("karmada.managerLease.namespace", &c.Karmada.ManagerLease.Namespace, anyText,
			"Namespace, in Karmada's API server, of the leader Lease of karmada-controller-manager.")),
		text("karmada.managerLease.name", &c.Karmada.ManagerLease.Name, anyText,
			"Leader Lease of karmada-controller-manager, in Karmada's API server. A release needs it held and renewed without a gap for health.detection; empty (as where karmada-controller-manager elects no leader): health must outlast health.detection instead."),
	}
}

func (c *Config) ruleKeys() []key {
	return []key{
		boolean("rules.karmadaPolicies", &c.Rules.KarmadaPolicies,
			"Honour Karmada's ClusterTaintPolicies beside ClusterTaintRules; false where Karmada's own controller acts on them."),
		fixed(duration("rules.addOnMatch", &c.Rules.AddOnMatch, 0, 365*24*time.Hour,
			"How long a ClusterTaintPolicy's conditions must match, where its annotation does not say.")),
		fixed(duration("rules.removeOnMismatch", &c.Rules.RemoveOnMismatch, 0, 365*24*time.Hour,
			"How long its conditions for removal must match, where its annotation does not say.")),
		boolean("externalProbe.enabled", &c.ExternalProbe.Enabled,
			"External probe: probe the API server of each member directly. One that answers is not failed over because Karmada cannot reach it."),
		fixed(duration("externalProbe.interval", &c.ExternalProbe.Interval, time.Second, time.Minute,
			"Pause between two probes of a member.")),
		fixed(duration("externalProbe.timeout", &c.ExternalProbe.Timeout, 100*time.Millisecond, time.Minute,
			"How long one probe may take.")),
		fixed(whole("externalProbe.failureThreshold", &c.ExternalProbe.FailureThreshold, 1, 100,
			"Probes in a row that must fail before the external probe says that a member is down.")),
		fixed(whole("externalProbe.successThreshold", &c.ExternalProbe.SuccessThreshold, 1, 100,
			"Probes in a row that must succeed before it says that a member is up.")),
		names("selectors.excludeNamespaces", &c.ExcludeNamespaces,
			"Namespaces whose bindings are never moved."),
		fixed(duration("workflow.pollInterval", &c.Workflow.PollInterval, time.Second, time.Hour,
			"Safety poll of a running ClusterFailover; signals come first.")),
		fixed(duration("workflow.askAgain", &c.Workflow.AskAgain, time.Second, time.Hour,
			"How often a request to the pacer is repeated until it is answered.")),
		fixed(duration("workflow.recheck", &c.Workflow.Recheck, time.Second, time.Hour,
			"First back-off of a blocked binding; it doubles up to 8 times this.")),
		fixed(duration("workflow.relist", &c.Workflow.Relist, time.Second, time.Hour,
			"How often the affected bindings are listed again.")),
		fixed(duration("workflow.pendingPurgeWait", &c.Workflow.PendingPurgeWait, 0, 24*time.Hour,
			"How long a finished failover waits for pending purge before its report hands it over.")),
		fixed(whole("workflow.historyEvents", &c.Workflow.HistoryEvents, 50, 20000,
			"Events after which a workflow continues as new.")),
	}
}

func (c *Config) controllerKeys() []key {
	election := &c.Controller.LeaderElection
	return []key{
		fixed(duration("controller.resyncInterval", &c.Controller.ResyncInterval, time.Second, time.Hour,
			"How often the controller sends every fact again. Repairs missed events and outages.")),
		fixed(duration("controller.coalesce", &c.Controller.Coalesce, time.Second, time.Minute,
			"At most one signal about bindings per cluster in this time.")),
		fixed(boolean("controller.leaderElection.enabled", &election.Enabled,
			"Let one controller of several watch, by a Lease.")),
		fixed(text("controller.leaderElection.namespace", &election.Namespace, namePattern,
			"Namespace of the Lease.")),
		fixed(duration("controller.leaderElection.leaseDuration", &election.LeaseDuration, 2*time.Second, 10*time.Minute,
			"How long others wait for a leader that is silent.")),
		fixed(duration("controller.leaderElection.renewDeadline", &election.RenewDeadline, time.Second, 10*time.Minute,
			"How long the leader tries to renew before it gives up; shorter than leaseDuration.")),
		fixed(duration("controller.leaderElection.retryPeriod", &election.RetryPeriod, 100*time.Millisecond, time.Minute,
			"Pause between tries; shorter than renewDeadline.")),
	}
}

func (c *Config) processKeys() []key {
	return []key{
		fixed(duration("worker.stopTimeout", &c.StopTimeout, 0, 10*time.Minute,
			"How long running activities may finish after SIGTERM.")),
		address("listen.address", &c.Listen.Address,
			"Where /metrics, /healthz and /readyz are served; port 0 picks a free one, - serves nothing."),
		text("listen.tlsCertFile", &c.Listen.TLS.CertFile, anyText,
			"Certificate (PEM) for the metrics, the health endpoints and lifeboat codec, read again when it changes; empty serves without TLS."),
		text("listen.tlsKeyFile", &c.Listen.TLS.KeyFile, anyText,
			"Key (PEM) of that certificate."),
		text("listen.tlsClientCaFile", &c.Listen.TLS.ClientCAFile, anyText,
			"Authorities (PEM) whose clients may read /metrics and use lifeboat codec; empty asks for no certificate. The health endpoints never do."),
		choice("log.level", &c.Log.Level, []string{"debug", "info", "warn", "error"},
			"Least severe log line that is written."),
		fixed(choice("log.format", &c.Log.Format, []string{"text", "json"},
			"Form of a log line.")),
	}
}
