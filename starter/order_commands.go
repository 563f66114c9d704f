package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/starter/orders"
	"github.com/lifeboat-failover/lifeboat/starter/show"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
)

// order is a verb that changes something.
type order struct {
	use, short, long, example string
	// fleetToo allows "fleet" beside a cluster's name.
	fleetToo bool
	// confirm asks before it sends, unless --yes.
	confirm string
	send    func(d orders.Desk, ctx context.Context, to orders.Target, o workflows.Order) (string, error)
}

func (a *app) pauseCommand() *cobra.Command {
	return a.orderCommand(order{
		use:   "pause <cluster>|fleet",
		short: "Begin no new move for a cluster, or halt the whole fleet",
		long: `Begin no new move for a cluster, or halt the whole fleet. What has begun goes on. It takes full effect
within one lease (pace.leaseDuration).`,
		example: `  lifeboat pause member1 --reason "network work"
  lifeboat pause fleet --reason "what is going on?"`,
		fleetToo: true,
		send:     orders.Desk.Pause,
	})
}

func (a *app) resumeCommand() *cobra.Command {
	var enforce bool
	cmd := a.orderCommand(order{
		use:   "resume <cluster>|fleet",
		short: "End a pause or halt, or re-open a cancelled failover",
		long: `End a pause of a cluster or a halt of the fleet, or re-open a failover that was cancelled: as a new
round, in which the rules' windows run again before anything moves.

With --enforce a failover that began in observe acts from now on: as a new round, in which all
bindings are listed and judged anew. The workers' own config must say enforce for the cluster.`,
		example: `  lifeboat resume member1 --reason "network work is done"
  lifeboat resume member1 --enforce --reason "this is real"`,
		fleetToo: true,
		send: func(d orders.Desk, ctx context.Context, to orders.Target, o workflows.Order) (string, error) {
			if enforce {
				return d.Enforce(ctx, to, o)
			}
			return d.Resume(ctx, to, o)
		},
	})
	cmd.Flags().BoolVar(&enforce, "enforce", false, "act on what was only observed so far")
	inner := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if enforce && args[0] == orders.Fleet {
			return process.Usage(cmd, "--enforce is for one cluster")
		}
		return inner(cmd, args)
	}
	return cmd
}

func (a *app) cancelCommand() *cobra.Command {
	return a.orderCommand(order{
		use:   "cancel <cluster>",
		short: "Cancel the failover of a cluster",
		long: `Cancel the failover of a cluster: what is queued is abandoned, what is not yet placed elsewhere is
restored, what is placed keeps both copies and is left to you, and our taints go. What was already
released does not come back. The failover stays open as Stopped until it is resumed, or until
nothing has matched for the removal window.`,
		example: `  lifeboat cancel member1 --reason "we move it by hand"`,
		confirm: "cancel the failover of %s",
		send:    orders.Desk.Cancel,
	})
}

func (a *app) confirmFencedCommand() *cobra.Command {
	return a.orderCommand(order{
		use:   "confirm-fenced <cluster>",
		short: "Vouch that a silent cluster is dead, for purge mode Directly",
		long: `Vouch that a cluster that does not answer is dead: powered off, or cut from its network and storage, so
that no copy on it can run any more. Bindings in purge mode Directly wait for this word before a new
copy begins. It holds for as long as the cluster does not come back. To vouch for one binding alone,
send the update confirm-fenced, with who and reason, to its own migration.`,
		example: `  lifeboat confirm-fenced member1 --reason "powered off by the provider"`,
		confirm: "vouch that nothing on %s can run any more",
		send:    orders.Desk.ConfirmFenced,
	})
}

func (a *app) orderCommand(verb order) *cobra.Command {
	var o workflows.Order
	var yes bool
	cmd := &cobra.Command{
		Use:     verb.use,
		Short:   verb.short,
		Long:    verb.long,
		Example: verb.example,
		Args:    exactly(1, strings.Fields(verb.use)[1]),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(o.Reason) == "" {
				return process.Usage(cmd, "say why, with --reason")
			}
			if args[0] == orders.Fleet && !verb.fleetToo {
				return process.Usage(cmd, "want the name of a cluster")
			}
			if verb.confirm != "" && !yes {
				if err := confirm(cmd, fmt.Sprintf(verb.confirm, args[0])); err != nil {
					return err
				}
			}
			return a.send(cmd, verb, args[0], o)
		},
	}
	cmd.Flags().StringVar(&o.Reason, "reason", "", "why; it is recorded (required)")
	cmd.Flags().StringVar(&o.Who, "who", config.Operator(), "who orders it; it is recorded")
	if verb.confirm != "" {
		cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	}
	cmd.ValidArgsFunction = a.completeClusters()
	if verb.fleetToo {
		cmd.ValidArgsFunction = a.completeClusters(orders.Fleet)
	}
	return cmd
}

func (a *app) send(cmd *cobra.Command, verb order, name string, o workflows.Order) error {
	s, err := a.open(cmd, "lifeboat-cli/"+o.Who)
	if err != nil {
		return err
	}
	defer s.close()
	desk := s.desk()
	to := desk.Target(name)
	var answer string
	err = s.progress.While(cmd.Context(), "asking "+to.WorkflowID, func(ctx context.Context) error {
		answer, err = verb.send(desk, ctx, to, o)
		return err
	})
	if err != nil {
		return err
	}
	say(cmd, "%s: %s", to.Name, answer)
	say(cmd, "workflow %s", to.WorkflowID)
	if link := s.link(to.WorkflowID); link != "" {
		say(cmd, "%s", link)
	}
	return nil
}

// confirm asks whoever sits at the terminal. Without one nobody can answer.
func confirm(cmd *cobra.Command, what string) error {
	if !show.IsTerminal(cmd.InOrStdin()) {
		return fmt.Errorf("%w: nobody can be asked whether to %s; add --yes", errRefused, what)
	}
	say(cmd, "About to %s. Type yes to go on:", what)
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil || strings.TrimSpace(answer) != "yes" {
		return fmt.Errorf("%w: not confirmed, nothing was done", errRefused)
	}
	return nil
}
