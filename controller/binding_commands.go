package main

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/controller/orders"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
)

func (a *app) snoozeCommand() *cobra.Command {
	var length string
	cmd := a.objectOrder(order{
		use:   "snooze <cluster>|<binding>",
		short: "Leave one binding, a namespace or all of a cluster where they are for a while",
		long: `Leave one binding, everything on a cluster, or a namespace of it (-n) where it is for a while, counted
from now. A due time moves later, never earlier; a due time that is later anyway stays. It holds for
bindings that come later, too, and over attempts, until it ends.`,
		example: `  lifeboat snooze shop/cart-deployment --for 30m --reason "the cluster is coming back"
  lifeboat snooze member1 -n shop --for 2h --reason "month end"
  lifeboat snooze member1 --for 10m --reason "the provider reboots it"`,
		clusters: true, bindings: true, namespaces: true, each: true,
		confirm:   "leave %s where it is for a while",
		unchanged: "what has begun goes on; taints, pace and the due times of other bindings stay",
		send: func(d orders.Sender, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			return d.Give(ctx, to, workflows.UpdateSnooze, workflows.SnoozeOrder{ScopedOrder: o, For: length})
		},
	})
	cmd.Flags().StringVar(&length, "for", "", "for how long from now, as in 30m (required)")
	return before(cmd, func(cmd *cobra.Command, _ []string) error {
		if _, wrong := queue.SnoozeFor(length); wrong != "" {
			return process.Usage(cmd, "--for: %s", wrong)
		}
		return nil
	})
}

func (a *app) approveCommand() *cobra.Command {
	return a.objectOrder(order{
		use:   "approve <cluster>|<binding>",
		short: "Approve the move of one binding, a namespace or all of a cluster that wait now",
		long: `Approve the move of one binding, of all bindings of a cluster, or of a namespace on it (-n), that wait now, where
a rule needs an approval (approval.* in the workers' configuration). The approval holds for this attempt, and not
for bindings that come later. To approve one binding also lets it move when it moved too often (PingPong).`,
		example: `  lifeboat approve shop/cart-deployment --reason "the team knows"
  lifeboat approve member1 -n shop --reason "the team knows"
  lifeboat approve member1 --reason "the site is lost"`,
		clusters: true, bindings: true, namespaces: true, each: true,
		confirm:   "approve the move of %s",
		unchanged: "no other check is replaced; pauses, snoozes and the pace stand; what comes later needs an approval of its own",
		send: func(d orders.Sender, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			return d.Give(ctx, to, workflows.UpdateApprove, o)
		},
	})
}

func (a *app) prioritiseCommand() *cobra.Command {
	var priority int32
	cmd := a.objectOrder(order{
		use:   "prioritise <cluster>|<binding>",
		short: "Give one binding, a namespace or all of a cluster another priority in a failover",
		long: `Give one binding, all of a cluster, or a namespace on it (-n) another priority for the rest of a failover. Higher goes
first, among all failovers of the fleet. A priority for the binding itself wins over one for its namespace, and
that wins over one for all.`,
		example: `  lifeboat prioritise shop/cart-deployment --priority 100 --reason "it takes the money"
  lifeboat prioritise member1 -n batch --priority -10 --reason "it can wait"`,
		clusters: true, bindings: true, namespaces: true, each: true,
		confirm:   "give %s another priority",
		unchanged: "what has begun goes on; due times and the pace stay; the binding itself keeps its priority",
		send: func(d orders.Sender, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			return d.Give(ctx, to, workflows.UpdatePrioritise, workflows.PriorityOrder{ScopedOrder: o, Priority: &priority})
		},
	})
	cmd.Flags().Int32Var(&priority, "priority", 0, "higher goes first (required)")
	return before(cmd, func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("priority") {
			return process.Usage(cmd, "say which, with --priority")
		}
		return nil
	})
}

func (a *app) putBackCommand() *cobra.Command {
	return a.objectOrder(order{
		use:   "put-back <binding>",
		short: "Restore the former clusters of one binding",
		long: `Restore the former clusters of one binding in one write, as long as its old copy is held: also one that an
earlier failover kept, or left to an operator. It is refused unless the former cluster is Ready, without a
triggering taint, and still has that very copy. It is always refused for purge mode Directly. The command waits
ten seconds for the answer; a refusal exits with 4.`,
		example:  `  lifeboat put-back shop/cart-deployment --reason "the new copy is wrong"`,
		bindings: true, held: true,
		confirm:   "put %s back where it was",
		unchanged: "what was already released does not come back; Lifeboat's taints stay",
		send:      oldCopy(workflows.UpdatePutBack),
	})
}

func (a *app) releaseCommand() *cobra.Command {
	return a.objectOrder(order{
		use:   "release <binding>",
		short: "Drop the hold of one binding: its old copy goes",
		long: `Drop the hold of one binding now, whether its new copy is proven healthy or not: the old copy goes. Also of
one that an earlier failover kept, or left to an operator. The last copy is never dropped.`,
		example:  `  lifeboat release shop/cart-deployment --reason "it is well, its health check is not"`,
		bindings: true, held: true,
		confirm:   "drop the old copy of %s",
		unchanged: "where it has no other target cluster, the old copy stays; all others go on as they were",
		send:      oldCopy(workflows.UpdateRelease),
	})
}

// oldCopy sends an order about the old copy of a binding, which an earlier failover may have left.
func oldCopy(update string) func(orders.Sender, context.Context, orders.Target, workflows.ScopedOrder) (string, error) {
	return func(d orders.Sender, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
		return d.Begin(ctx, to, update, workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: o.Order}, Binding: o.Binding})
	}
}

// before has a command check more before it does anything.
func before(cmd *cobra.Command, check cobra.PositionalArgs) *cobra.Command {
	inner := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return err
		}
		return inner(cmd, args)
	}
	return cmd
}
