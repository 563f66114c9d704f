package telemetry

import (
	"io"
	"log/slog"
)

// Keys of log lines.
const (
	KeyAddress  = "address"
	KeyBinding  = "binding"
	KeyCluster  = "cluster"
	KeyCount    = "count"
	KeyError    = "error"
	KeyMode     = "mode"
	KeyReason   = "reason"
	KeySignal   = "signal"
	KeyVersion  = "version"
	KeyWorkflow = "workflow"
)

// FormatJSON is the form of log lines other than text.
const FormatJSON = "json"

// NewLogger writes lines of at least the given level ("debug", "info", "warn",
// "error") to w, as JSON where the format is FormatJSON.
func NewLogger(w io.Writer, level, format string) *slog.Logger {
	var least slog.Level
	_ = least.UnmarshalText([]byte(level)) // the configuration knows no other levels
	options := &slog.HandlerOptions{Level: least}
	if format == FormatJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
