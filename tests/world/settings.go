package world

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
)

// Terms are those of the default configuration, without an audit trail, links and a length at
// which a history is cut: a test that wants those says so.
func Terms() activities.Terms {
	t := process.Settings(config.Default()).Terms
	t.Audit, t.Runbook, t.HistoryEvents, t.Plugins = false, "", 0, proof.Plugins{}
	return t
}

// Pace is that of the default configuration.
func Pace() pace.Config { return config.Default().Pace }
