package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/starter/orders"
	"github.com/lifeboat-failover/lifeboat/starter/show"
	"github.com/lifeboat-failover/lifeboat/starter/status"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
)

// drainOptions are the flags of drain and undrain.
type drainOptions struct {
	order   workflows.DrainOrder
	form    show.Form
	yes     bool
	wait    bool
	timeout time.Duration
}

// drainAnswer is what -o json prints.
type drainAnswer struct {
	Cluster    string          `json:"cluster"`
	Answer     string          `json:"answer"`
	WorkflowID string          `json:"workflowID"`
	Link       string          `json:"link,omitempty"`
	Progress   *orders.Drained `json:"progress,omitempty"`
}

func (a *app) drainCommand() *cobra.Command {
	o := drainOptions{form: show.NewForm()}
	cmd := &cobra.Command{
		Use:   "drain <cluster>",
		Short: "Move everything off a cluster, gently",
		Long: `Move everything off a cluster: it is tainted, and every binding on it moves at the fleet's pace. The old
copy of each is held until the new one is healthy. Tolerations are not honoured unless asked for. The
cluster stays drained until lifeboat undrain. If it fails meanwhile, the rules go on.

The order is recorded on the Cluster, in the annotation ` + failover.AnnotationDrain + `.
It is refused in observe.`,
		Example: `  lifeboat drain member1 --reason "new kernel" --wait
  lifeboat drain member1 --reason "move the shop" --selector app=shop --rate 0.2`,
		Args: exactly(1, "<cluster>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, args[0]); err != nil {
				return err
			}
			if !o.yes {
				if err := confirm(cmd, fmt.Sprintf("move everything off %s", args[0])); err != nil {
					return err
				}
			}
			return a.sendDrain(cmd, args[0], o, func(ctx context.Context, d orders.Desk, to orders.Target) (string, error) {
				return d.Drain(ctx, to, o.order)
			})
		},
	}
	a.drainFlags(cmd, &o)
	cmd.Flags().StringVar(&o.order.Selector, "selector", "", "only workloads whose labels match, as in kubectl -l; it is an error when none does")
	cmd.Flags().Float64Var(&o.order.Rate, "rate", 0, "at most this many evictions per second; the fleet's pace holds all the same")
	cmd.Flags().BoolVar(&o.order.HonourTolerations, "honour-tolerations", false, "leave alone what tolerates "+failover.DrainTaintKey+":NoExecute")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "wait until nothing is left to move")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "how long to wait; 0 waits for ever")
	return cmd
}

func (a *app) undrainCommand() *cobra.Command {
	o := drainOptions{form: show.NewForm()}
	cmd := &cobra.Command{
		Use:   "undrain <cluster>",
		Short: "End the drain of a cluster",
		Long: `End the drain of a cluster: what has not moved stays, what is not yet placed elsewhere is put back, what
has moved stays where it is, and our taints go. If the cluster fails by itself, its failover goes on.`,
		Example: `  lifeboat undrain member1 --reason "the new kernel runs"`,
		Args:    exactly(1, "<cluster>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, args[0]); err != nil {
				return err
			}
			if !o.yes {
				if err := confirm(cmd, fmt.Sprintf("end the drain of %s", args[0])); err != nil {
					return err
				}
			}
			return a.sendDrain(cmd, args[0], o, func(ctx context.Context, d orders.Desk, to orders.Target) (string, error) {
				return d.Undrain(ctx, to, o.order.Order)
			})
		},
	}
	a.drainFlags(cmd, &o)
	return cmd
}

// drainFlags are those that drain and undrain share.
func (a *app) drainFlags(cmd *cobra.Command, o *drainOptions) {
	cmd.Flags().StringVar(&o.order.Reason, "reason", "", "why; it is recorded (required)")
	cmd.Flags().StringVar(&o.order.Who, "who", config.Operator(), "who orders it; it is recorded")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	formFlag(cmd, &o.form)
	cmd.ValidArgsFunction = a.completeClusters()
}

// check refuses what could never work before anything is sent.
func (o *drainOptions) check(cmd *cobra.Command, cluster string) error {
	if strings.TrimSpace(o.order.Reason) == "" {
		return process.Usage(cmd, "say why, with --reason")
	}
	if cluster == orders.Fleet {
		return process.Usage(cmd, "want the name of a cluster")
	}
	if o.timeout != 0 && !o.wait {
		return process.Usage(cmd, "--timeout needs --wait")
	}
	if wrong := o.drain().Validate(); wrong != "" {
		return process.Usage(cmd, "%s", wrong)
	}
	return nil
}

func (o *drainOptions) drain() failover.Drain {
	return failover.Drain{Who: o.order.Who, Why: o.order.Reason, Selector: o.order.Selector, Rate: o.order.Rate}
}

func (a *app) sendDrain(
	cmd *cobra.Command, name string, o drainOptions, send func(context.Context, orders.Desk, orders.Target) (string, error),
) error {
	s, err := a.open(cmd, "lifeboat-cli/"+o.order.Who)
	if err != nil {
		return err
	}
	defer s.close()
	desk := s.desk()
	to := desk.Target(name)
	var answer string
	err = s.progress.While(cmd.Context(), "asking "+to.WorkflowID, func(ctx context.Context) error {
		if err := s.exists(ctx, name); err != nil { // the failover of a name that is none would end as Gone
			return err
		}
		answer, err = send(ctx, desk, to)
		return s.noFailover(ctx, name, err)
	})
	if err != nil {
		return err
	}
	out := drainAnswer{Cluster: name, Answer: answer, WorkflowID: to.WorkflowID, Link: s.link(to.WorkflowID)}
	if o.form.ForPeople() {
		sayDrain(cmd, out)
	}
	if o.wait {
		if err := awaitDrain(cmd, s.source(), name, o, &out); err != nil {
			return err
		}
	}
	if !o.form.ForPeople() {
		return o.form.Encode(cmd.OutOrStdout(), out)
	}
	return nil
}

func sayDrain(cmd *cobra.Command, out drainAnswer) {
	say(cmd, "%s: %s", out.Cluster, out.Answer)
	say(cmd, "workflow %s", out.WorkflowID)
	if out.Link != "" {
		say(cmd, "%s", out.Link)
	}
}

// awaitDrain waits for the drain's end, telling how far it is.
func awaitDrain(cmd *cobra.Command, source status.Source, cluster string, o drainOptions, out *drainAnswer) error {
	ctx := cmd.Context()
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	look := func(ctx context.Context) (orders.Drained, error) {
		f, err := source.Failover(ctx, cluster)
		if err != nil {
			return orders.Drained{}, err
		}
		if f.EpisodeStatus == nil { // no answer: a worker may be restarting
			return orders.Drained{Left: -1}, nil
		}
		p := orders.DrainProgress(*f.EpisodeStatus)
		out.Progress = &p
		return p, nil
	}
	err := orders.AwaitDrain(ctx, look, func(p orders.Drained) {
		if o.form.ForPeople() {
			say(cmd, "%s", progressLine(p))
		}
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("not drained within %s; the drain goes on, see lifeboat status %s", o.timeout, cluster)
	}
	return err
}

func progressLine(p orders.Drained) string {
	switch {
	case p.Done:
		return "drained"
	case p.Left < 0:
		return "no answer yet"
	}
	line := fmt.Sprintf("%d left", p.Left)
	var why []string
	for _, reason := range slices.Sorted(maps.Keys(p.Blocked)) {
		why = append(why, fmt.Sprintf("%d blocked: %s", p.Blocked[reason], reason))
	}
	if len(why) > 0 {
		line += " (" + strings.Join(why, ", ") + ")"
	}
	return line
}
