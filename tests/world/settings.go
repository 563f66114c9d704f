package world

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/internal/process"
)

// Terms are those of the default configuration, without an audit trail, links and a length at
// which a history is cut: a test that wants those says so.
func Terms() activities.Terms {
	t := process.Settings(config.Default()).Terms
	t.Audit, t.Runbook, t.HistoryEvents, t.Plugins = false, "", 0, failover.Plugins{}
	return t
}

// Pace is that of the default configuration.
func Pace() failover.PaceConfig { return config.Default().Pace }
