package telemetry

import (
	"fmt"
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
	KeyID       = "id"
	KeyKind     = "kind"
	KeyMode     = "mode"
	KeyReason   = "reason"
	KeySignal   = "signal"
	KeyVersion  = "version"
	KeyWorkflow = "workflow"
)

// The forms of a log line.
const (
	FormatText = "text"
	FormatJSON = "json"
)

// NewLogger writes lines of at least the given level ("debug", "info", "warn",
// "error") to w, in FormatText or FormatJSON.
func NewLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level %q: %w", level, err)
	}
	options := &slog.HandlerOptions{Level: least}
	switch format {
	case FormatText:
		return slog.New(slog.NewTextHandler(w, options)), nil
	case FormatJSON:
		return slog.New(slog.NewJSONHandler(w, options)), nil
	default:
		return nil, fmt.Errorf("log format %q: want %s or %s", format, FormatText, FormatJSON)
	}
}
