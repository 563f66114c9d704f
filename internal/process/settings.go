package process

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// Settings are the values of the configuration that the activities get, in a worker and in
// lifeboat plan.
func Settings(c config.Config) activities.Settings {
	return activities.Settings{
		Instance: c.Instance,
		InForce:  c.InForce(),
		Terms: activities.Terms{
			Mode:             c.Mode,
			InFlight:         c.Windows.InFlight,
			Waiting:          c.Windows.Waiting,
			Purge:            c.Defaults.PurgeMode,
			MinHealthy:       c.Health.MinHealthy,
			Detection:        c.Health.Detection,
			Plugins:          c.EvictPlugins,
			Fences:           c.FencePlugins,
			Probe:            c.Health.Probe != config.ProbeNone,
			GracefulTimeout:  c.Health.GracefulTimeout,
			ReleaseUnproven:  c.Health.ReleaseUnproven,
			RestoreWait:      c.Recovery.RestoreWait,
			ClusterPoll:      c.Workflow.PollInterval,
			HealthPoll:       c.Health.PollInterval,
			AskAgain:         c.Workflow.AskAgain,
			Recheck:          c.Workflow.Recheck,
			Relist:           c.Workflow.Relist,
			PendingPurgeWait: c.Workflow.PendingPurgeWait,
			AskFor:           c.Approval.ExpireAfter,
			FreezeWhenHalted: c.Recovery.FreezeTolerationsHalted,
			HistoryEvents:    c.Workflow.HistoryEvents,
			Audit:            c.Audit.Sink != config.AuditNone,
			Runbook:          c.RunbookURL,
		},
		ModeExceptions:       c.Modes,
		Pace:                 c.Pace,
		Applications:         c.ApplicationFailover,
		DefaultTolerations:   c.Defaults.Tolerations,
		ExcludeNamespaces:    c.ExcludeNamespaces,
		RoomUnknownOK:        c.Capacity.UnknownIsRoom,
		RoomForStaticWeights: c.Capacity.StaticWeights == config.StaticWeightsBlock,
		RoomMargin:           c.Capacity.Margin,
		Karmada:              karmada.ParseRelease(c.Karmada.Version),
		Approval:             c.Approval.ApprovalRules,
		Kinds:                c.Kinds,
		StateMissingOK:       c.WhenStateMissing == config.StateProceed,
	}
}
