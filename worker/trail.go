package main

import (
	"log/slog"
	"os"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/audit"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
)

// trail opens the audit trail; nil where the configuration says none. A file that cannot
// be written keeps no worker from starting: failovers come first, records wait.
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
