package main

import (
	"context"
	"strings"

	"github.com/lifeboat-failover/lifeboat/controller/orders"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
)

func (a *app) pauseCommand() *cobra.Command {
	return a.objectOrder(order{
		use:   "pause <cluster>|<binding>|fleet",
		short: "Begin no new move of a cluster, of some of its bindings, or of the whole fleet",
		long: `Begin no new move of a cluster, of the bindings of a namespace on it (-n), of one binding, or of the whole
fleet. It takes full effect within four seconds. Tolerations run on meanwhile; while the fleet is paused
they stand still.`,
		example: `  lifeboat pause member1 --reason "network work"
  lifeboat pause member1 -n shop --reason "month end"
  lifeboat pause deployment/cart -n shop --reason "it moves by hand"
  lifeboat pause fleet --reason "what is going on?"`,
		clusters: true, bindings: true, fleet: true, namespaces: true,
		confirm:   "begin no new move of %s",
		unchanged: "what has begun goes on; a recovery still takes back what is not placed",
		send:      orders.Sender.Pause,
	})
}

func (a *app) resumeCommand() *cobra.Command {
	var enforce bool
	cmd := a.objectOrder(order{
		use:   "resume <cluster>|<binding>|fleet",
		short: "End a pause, or re-open a cancelled failover",
		long: `End a pause of a cluster, of the bindings of a namespace on it (-n), of one binding, or of the fleet; or
re-open a failover that was cancelled: as a new attempt, in which the rules' windows run again before
anything moves.

With --enforce a failover that began in observe acts from now on: as a new attempt, in which all
bindings are listed and judged again. The workers' own config must say enforce for the cluster.`,
		example: `  lifeboat resume member1 --reason "network work is done"
  lifeboat resume member1 -n shop --reason "the books are closed"
  lifeboat resume member1 --enforce --reason "this is real"`,
		clusters: true, bindings: true, fleet: true, namespaces: true,
		confirm:   "let %s move again",
		unchanged: "other pauses and snoozes stand; the pace stays as it is",
		send: func(d orders.Sender, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			if enforce {
				return d.Enforce(ctx, to, o.Order)
			}
			return d.Resume(ctx, to, o)
		},
	})
	cmd.Flags().BoolVar(&enforce, "enforce", false, "act on what was only observed so far")
	return before(cmd, func(cmd *cobra.Command, args []string) error {
		whole := len(args) == 1 && args[0] != orders.Fleet && !strings.Contains(args[0], "/")
		if enforce && (!whole || cmd.Flags().Changed("binding") || cmd.Flags().Changed("namespace")) {
			return process.Usage(cmd, "--enforce is for one whole cluster")
		}
		return nil
	})
}

func (a *app) cancelCommand() *cobra.Command {
	var putBack bool
	var cmd *cobra.Command
	verb := order{
		use: "cancel <cluster>|<binding>", aliases: []string{"skip"},
		short: "Cancel the failover of a cluster, or the move of one binding",
		long: `Cancel the failover of a cluster: what is queued is abandoned, what is not yet placed elsewhere is
restored, what is placed keeps both copies and is left to you, and Lifeboat's taints go. The failover stays
open as Stopped until it is resumed, or until nothing has matched for the removal window.

Of a binding the same for its move; it then stays out of this attempt, also where it has not begun to move.`,
		example: `  lifeboat cancel member1 --reason "we move it by hand"
  lifeboat cancel shop/cart-deployment --reason "it must stay near its disk"
  lifeboat cancel shop/cart-deployment --put-back --reason "the new copy is wrong"`,
		clusters: true, bindings: true,
		confirm:   "cancel the failover of %s",
		unchanged: "what was already released does not come back",
	}
	verb.send = func(d orders.Sender, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
		one := workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: o.Order, PutBack: putBack}, Binding: o.Binding}
		if cmd.CalledAs() == "skip" {
			return d.Give(ctx, to, workflows.UpdateSkip, one)
		}
		return d.Give(ctx, to, workflows.UpdateCancel, one)
	}
	cmd = a.objectOrder(verb)
	read := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := read(cmd, args); err != nil || cmd.CalledAs() != "skip" {
			return err
		}
		if putBack || !strings.Contains(strings.Join(args, "")+cmd.Flag("binding").Value.String(), "/") {
			return process.Usage(cmd, "skip wants <binding>, and no --put-back: use cancel")
		}
		return nil
	}
	cmd.Flags().BoolVar(&putBack, "put-back", false, "restore the former clusters of what is placed and not released, in one write each")
	return cmd
}

func (a *app) confirmFencedCommand() *cobra.Command {
	var withoutState bool
	cmd := a.objectOrder(order{
		use:   "confirm-fenced <cluster>|<binding>",
		short: "Vouch that a silent cluster is dead, for purge mode Directly",
		long: `Vouch that a cluster that does not answer is dead: powered off, or cut both from its network and from its
storage, so that no copy on it can run any more. Bindings in purge mode Directly wait for this word
before a new copy begins. It holds for as long as the cluster does not come back, and cannot be taken
back.

Of a binding: for its old copy alone.

Bindings whose state is to be preserved wait for the cluster itself (StateNeedsSource), for Karmada
hands their state on only once it has deleted the old copy there. With --without-state they go on, too,
and begin without it.`,
		example: `  lifeboat confirm-fenced member1 --reason "powered off by the provider"
  lifeboat confirm-fenced statefulset/db -n shop --cluster member1 --reason "its disk is detached"
  lifeboat confirm-fenced member1 --without-state --reason "the disks are lost"`,
		clusters: true, bindings: true,
		confirm:   "vouch that nothing on %s can run any more",
		unchanged: "nothing moves faster than the pace; every other check stays",
		send: func(d orders.Sender, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			return d.Give(ctx, to, workflows.UpdateConfirmFenced, workflows.FenceOrder{Order: o.Order, Binding: o.Binding, WithoutState: withoutState})
		},
	})
	cmd.Flags().BoolVar(&withoutState, "without-state", false, "also move what has to leave its state behind")
	return cmd
}

// objectOrder is an order about a cluster, a binding, or what else its verb allows.
func (a *app) objectOrder(verb order) *cobra.Command {
	cmd, g := a.orderCommand(verb)
	var w whom
	if verb.bindings {
		cmd.Flags().StringVar(&w.cluster, "cluster", "", "whose failover; needed where more than one concerns the binding")
		usage := "namespace of the workload"
		if verb.namespaces {
			usage = "only the bindings of this namespace; with a workload, where that is"
		}
		cmd.Flags().StringVarP(&w.namespace, "namespace", "n", "", usage)
		cmd.Flags().StringVar(&w.binding, "binding", "", "the binding, where the argument is its cluster")
		cmd.Flags().BoolVar(&w.all, "all", false, "everything of --cluster")
		hide(cmd, "binding", "all") // from before a binding was an argument everywhere
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		return w.read(cmd, verb, args)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.give(cmd, verb, g, w.named(), func(ctx context.Context, s *session) (orders.Target, queue.Scope, error) {
			return w.aim(ctx, s, verb.held)
		})
	}
	cmd.ValidArgsFunction = completion{a.look}.objects(verb)
	return cmd
}

// hide keeps flags from help.
func hide(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		cmd.Flags().Lookup(name).Hidden = true
	}
}
