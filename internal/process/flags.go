package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Flags are the flags of every program. Any key of the configuration can be set
// with --set; the common ones have a flag of their own.
type Flags struct {
	file      string
	set       []string
	profiles  string
	shortcuts map[string]*pflag.Flag // by key of the configuration
}

// Register adds the flags to a command.
func (f *Flags) Register(to *pflag.FlagSet) {
	to.StringVar(&f.file, "config", "", "configuration file, YAML (default $"+config.FileVariable+")")
	to.StringArrayVar(&f.set, "set", nil, "set a key of the configuration, as key=value (repeatable)")
	f.Shortcut(to, "instance", "instance", "prefix of every workflow id")
	f.Shortcut(to, "kubeconfig", "kubernetes.kubeconfig", "kubeconfig of the Karmada API server (default as kubectl)")
	f.Shortcut(to, "context", "kubernetes.context", "context in the kubeconfig")
	f.Shortcut(to, "log-level", "log.level", "debug, info, warn or error")
	f.Shortcut(to, "log-format", "log.format", "text or json")
}

// Shortcut adds a flag for a key of the configuration.
func (f *Flags) Shortcut(to *pflag.FlagSet, flag, key, usage string) {
	if value := config.DefaultOf(key); value != "" {
		usage += " (default " + value + ")"
	}
	to.String(flag, "", usage)
	if f.shortcuts == nil {
		f.shortcuts = map[string]*pflag.Flag{}
	}
	f.shortcuts[key] = to.Lookup(flag)
}

// Daemon adds the flags of a daemon.
func (f *Flags) Daemon(to *pflag.FlagSet) {
	f.Shortcut(to, "mode", "mode", "observe or enforce")
	f.Shortcut(to, "listen", "listen.address", "where to serve /metrics, /healthz and /readyz")
	to.StringVar(&f.profiles, "pprof", "", "loopback address on which to serve /debug/pprof, as 127.0.0.1:6060 (default none)")
}

// Serve serves profiles, where the flags of a daemon say so, until ctx ends.
func (f *Flags) Serve(ctx context.Context, log *slog.Logger) error {
	_, err := telemetry.ServeProfiles(ctx, f.profiles, log)
	return err
}

// Load reads the configuration; flags are its strongest source.
func (f *Flags) Load() (config.Config, error) { return f.LoadOver(nil) }

// LoadOver is Load over what the workers publish: their values apply where the caller sets none.
func (f *Flags) LoadOver(workers map[string]string) (config.Config, error) {
	set := slices.Clone(f.set)
	for _, key := range slices.Sorted(maps.Keys(f.shortcuts)) {
		if flag := f.shortcuts[key]; flag.Changed {
			set = append(set, key+"="+flag.Value.String())
		}
	}
	return config.Load(config.Sources{File: f.file, Set: set, Workers: workers})
}

// Logger opens the configured log.
func Logger(w io.Writer, c config.Config) *slog.Logger {
	return telemetry.NewLogger(w, c.Log.Level, c.Log.Format)
}

// Exit codes of every program.
const (
	ExitOK       = 0
	ExitFailed   = 1 // a server did not answer, or refused
	ExitUsage    = 2 // wrong flags, arguments or configuration
	ExitNotFound = 3 // the named object does not exist
	ExitRefused  = 4 // Lifeboat refused the command
)

// ErrUsage is returned for a wrong command line.
var ErrUsage = errors.New("wrong usage")

// usageError is an ErrUsage with its own text.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }
func (usageError) Unwrap() error   { return ErrUsage }

// Usage is an ErrUsage that ends with a link to --help.
func Usage(cmd *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Sprintf(format, args...) + "; see " + cmd.CommandPath() + " --help"}
}

// FlagError turns cobra's error about a flag into an ErrUsage.
func FlagError(cmd *cobra.Command, err error) error { return Usage(cmd, "%v", err) }

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage(cmd, "unexpected argument %q", args[0])
	}
	return nil
}
