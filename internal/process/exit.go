package process

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Exit codes of every program.
const (
	ExitOK       = 0
	ExitFailed   = 1 // a server did not answer, or said no
	ExitUsage    = 2 // wrong flags, arguments or configuration
	ExitNotFound = 3 // what was named does not exist
	ExitRefused  = 4 // understood, and refused
)

// ErrUsage is returned for a command line that makes no sense.
var ErrUsage = errors.New("wrong usage")

// usageError keeps its own words and is still an ErrUsage.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }
func (usageError) Unwrap() error   { return ErrUsage }

// Usage makes an ErrUsage that says what to do, and where to read more.
func Usage(cmd *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Sprintf(format, args...) + "; see " + cmd.CommandPath() + " --help"}
}

// FlagError makes cobra's complaint about a flag an ErrUsage.
func FlagError(cmd *cobra.Command, err error) error { return Usage(cmd, "%v", err) }

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage(cmd, "unexpected argument %q", args[0])
	}
	return nil
}
