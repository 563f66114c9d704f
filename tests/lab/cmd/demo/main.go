package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/server"
	"github.com/spf13/cobra"
)

// options are the flags.
type options struct {
	dir      string
	bin      string
	deploy   string
	bindings int
	rate     float64
	keep     bool
	freeze   bool
	sabotage string
	karmada  string
	colour   string
}

// The sabotages: what the demo does behind Lifeboat's back, for the ledger to find.
const (
	sabotageDropTask    = "drop-task"
	sabotageLoseBinding = "lose-binding"
)

// errUnconvinced is returned when everything ran and the ledger disagrees.
var errUnconvinced = errors.New("the ledger disagrees")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A second signal ends the demo at once; what it started goes with it.
	context.AfterFunc(ctx, stop)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:           "demo",
		Short:         "Fail and recover clusters in the lab, live, and let the lab's ledger judge",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.dir, "dir", ".demo", "folder for logs and everything the demo writes")
	flags.StringVar(&o.bin, "bin", "", "folder of lab, lifeboat and lifeboat-worker (default: where demo is)")
	flags.StringVar(&o.deploy, "grants", "deploy/rbac", "manifests that give Lifeboat's users their rights")
	flags.IntVar(&o.bindings, "bindings", 60, "number of bindings, at least 20")
	flags.Float64Var(&o.rate, "rate", 6, "evictions per second")
	flags.BoolVar(&o.keep, "keep", false, "stay up at the end, for looking around, until Ctrl-C")
	flags.BoolVar(&o.freeze, "freeze", false, "stop telling in the midst of the first evacuation, which then goes slowly, and stay up: for pictures")
	flags.StringVar(&o.sabotage, "sabotage", "", "drop-task or lose-binding: do harm behind Lifeboat's back; the ledger must find it")
	flags.StringVar(&o.karmada, "karmada", "", "folder of a real Karmada's binaries; without it Karmada is simulated")
	flags.StringVar(&o.colour, "colour", "auto", "auto, always or never")
	return cmd
}

func (o *options) validate() error {
	var problems []error
	if o.bindings < 20 {
		problems = append(problems, fmt.Errorf("--bindings is %d, must be at least 20", o.bindings))
	}
	if o.rate <= 0 || o.rate > 20 {
		problems = append(problems, fmt.Errorf("--rate is %g, must be above 0 and at most 20", o.rate))
	}
	switch o.sabotage {
	case "", sabotageDropTask, sabotageLoseBinding:
	default:
		problems = append(problems, fmt.Errorf("--sabotage is %q, must be %s or %s", o.sabotage, sabotageDropTask, sabotageLoseBinding))
	}
	switch o.colour {
	case "auto", "always", "never":
	default:
		problems = append(problems, fmt.Errorf("--colour is %q, must be auto, always or never", o.colour))
	}
	if o.bin == "" {
		self, err := os.Executable()
		problems = append(problems, err)
		o.bin = filepath.Dir(self)
	}
	var err error
	o.dir, err = filepath.Abs(o.dir)
	return errors.Join(append(problems, err)...)
}

// frozenRate makes an evacuation slow enough to take pictures of.
const frozenRate = 0.5

func (o options) evictionRate() float64 {
	if o.freeze {
		return frozenRate
	}
	return o.rate
}

// stopGrace is how long a program may take to stop before it is killed.
const stopGrace = 20 * time.Second

// stop asks a program to end, and kills it when it does not; nil when it was never started.
func stop(p *server.Process) error {
	if p == nil {
		return nil
	}
	return p.Stop(stopGrace)
}

// environment is the caller's without anything that would send Lifeboat elsewhere.
func environment(extra ...string) []string {
	var kept []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "TEMPORAL_") || strings.HasPrefix(name, "LIFEBOAT_") || name == "KUBECONFIG" {
			continue
		}
		kept = append(kept, variable)
	}
	return append(kept, extra...)
}

func binary(dir, name string) string { return filepath.Join(dir, name) }
