package main

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/starter/orders"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
)

func (a *app) snoozeCommand() *cobra.Command {
	var length string
	cmd := a.bindingOrder(order{
		use:   "snooze [binding]",
		short: "Leave one binding, a namespace or all where they are for a while",
		long: `Leave one binding, a namespace (-n) or everything (--all) of a failover where it is for a while, counted
from now. A due time moves later, never earlier; a due time that is later anyway stays. It holds for
those that come later, too, and over rounds, until it ends.`,
		example: `  lifeboat snooze shop/cart-deployment --for 30m --reason "the cluster is coming back"
  lifeboat snooze -n shop --cluster member1 --for 2h --reason "month end"
  lifeboat snooze --all --cluster member1 --for 10m --reason "the provider reboots it"`,
		bindings: true, namespaces: true,
		confirm:   "leave %s where it is for a while",
		unchanged: "what has begun goes on; taints, pace and everybody else's due time stay",
		send: func(d orders.Desk, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			return d.Snooze(ctx, to, workflows.SnoozeOrder{ScopedOrder: o, For: length})
		},
	})
	cmd.Flags().StringVar(&length, "for", "", "for how long from now, as in 30m (required)")
	return before(cmd, func(cmd *cobra.Command) error {
		if _, wrong := failover.SnoozeFor(length); wrong != "" {
			return process.Usage(cmd, "--for: %s", wrong)
		}
		return nil
	})
}

func (a *app) approveCommand() *cobra.Command {
	return a.bindingOrder(order{
		use:   "approve [binding]",
		short: "Agree to the move of one binding, a namespace or all that wait now",
		long: `Agree to the move of one binding, of a namespace (-n) or of all (--all) that wait now, where a rule asks for
that (approval.* in the workers' configuration). It holds for this round and for nobody who comes later.`,
		example: `  lifeboat approve shop/cart-deployment --reason "the team knows"
  lifeboat approve -n shop --cluster member1 --reason "the team knows"
  lifeboat approve --all --cluster member1 --reason "the site is lost"`,
		bindings: true, namespaces: true,
		confirm:   "agree to the move of %s",
		unchanged: "no other check is replaced; pauses, snoozes and the pace stand; what comes later is asked about anew",
		send:      orders.Desk.Approve,
	})
}

func (a *app) prioritiseCommand() *cobra.Command {
	var priority int32
	cmd := a.bindingOrder(order{
		use:   "prioritise [binding]",
		short: "Give one binding, a namespace or all another priority in a failover",
		long: `Give one binding, a namespace (-n) or all (--all) another priority for the rest of a failover. Higher goes
first, among all failovers of the fleet. The word about the binding itself goes before the one about
its namespace, and that before the one about all.`,
		example: `  lifeboat prioritise shop/cart-deployment --priority 100 --reason "it takes the money"
  lifeboat prioritise -n batch --cluster member1 --priority -10 --reason "it can wait"`,
		bindings: true, namespaces: true,
		confirm:   "give %s another priority",
		unchanged: "what has begun goes on; due times and the pace stay; the binding itself keeps its priority",
		send: func(d orders.Desk, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			return d.Prioritise(ctx, to, workflows.PriorityOrder{ScopedOrder: o, Priority: &priority})
		},
	})
	cmd.Flags().Int32Var(&priority, "priority", 0, "higher goes first (required)")
	return before(cmd, func(cmd *cobra.Command) error {
		if !cmd.Flags().Changed("priority") {
			return process.Usage(cmd, "say which, with --priority")
		}
		return nil
	})
}

func (a *app) skipCommand() *cobra.Command {
	return a.bindingOrder(order{
		use:   "skip <binding>",
		short: "Leave one binding alone in this round",
		long: `Leave one binding alone in this round, before anything of it is written: it ends Skipped. Once its move
has begun, cancel it instead.`,
		example: `  lifeboat skip shop/cart-deployment --reason "it must stay near its disk"
  lifeboat skip statefulset/db -n shop --cluster member1 --reason "it is moved by hand"`,
		bindings:  true,
		confirm:   "leave %s alone in this round",
		unchanged: "all others move; a new round asks about it anew",
		send:      one(orders.Desk.Skip),
	})
}

func (a *app) putBackCommand() *cobra.Command {
	return a.bindingOrder(order{
		use:   "put-back <binding>",
		short: "Restore the former clusters of one binding",
		long: `Restore the former clusters of one binding in one write, as long as its old copy is held: also one that an
earlier failover kept, or left to a human. It is refused unless the former cluster is Ready, without a
triggering taint, and still has that very copy; and always for purge mode Directly. The answer is waited for
for ten seconds: a refusal exits with 4.`,
		example:  `  lifeboat put-back shop/cart-deployment --reason "the new copy is wrong"`,
		bindings: true, held: true,
		confirm:   "put %s back where it was",
		unchanged: "what was already released does not come back; our taints stay",
		send:      one(orders.Desk.PutBack),
	})
}

func (a *app) releaseCommand() *cobra.Command {
	return a.bindingOrder(order{
		use:   "release <binding>",
		short: "Drop the hold of one binding: its old copy goes",
		long: `Drop the hold of one binding now, whether its new copy is proven healthy or not: the old copy goes. Also of
one that an earlier failover kept, or left to a human. The last copy is never dropped.`,
		example:  `  lifeboat release shop/cart-deployment --reason "it is well, its health check is not"`,
		bindings: true, held: true,
		confirm:   "drop the old copy of %s",
		unchanged: "where it has no other target cluster, the old copy stays; all others go on as they were",
		send:      one(orders.Desk.Release),
	})
}

// one sends an order about a single binding.
func one(send func(orders.Desk, context.Context, orders.Target, workflows.BindingOrder) (string, error)) func(
	orders.Desk, context.Context, orders.Target, workflows.ScopedOrder,
) (string, error) {
	return func(d orders.Desk, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
		return send(d, ctx, to, workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: o.Order}, Binding: o.Binding})
	}
}

// before has a command check more before it does anything.
func before(cmd *cobra.Command, check func(*cobra.Command) error) *cobra.Command {
	inner := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd); err != nil {
			return err
		}
		return inner(cmd, args)
	}
	return cmd
}

// bindingOrder is an order about one binding, a namespace or all of a failover.
func (a *app) bindingOrder(verb order) *cobra.Command {
	cmd, g := a.orderCommand(verb)
	var w whom
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 || len(args) == 0 && !verb.namespaces {
			return process.Usage(cmd, "want one binding, got %d arguments", len(args))
		}
		return nil
	}
	cmd.Flags().StringVar(&w.cluster, "cluster", "", "whose failover; needed where more than one concerns the binding")
	cmd.Flags().StringVarP(&w.namespace, "namespace", "n", "", verb.namespaceUsage())
	if verb.namespaces {
		cmd.Flags().BoolVar(&w.all, "all", false, "all bindings of the failover")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			w.binding = args[0]
		}
		if err := g.check(cmd); err != nil {
			return err
		}
		if err := w.checkSome(cmd); err != nil {
			return err
		}
		return a.give(cmd, verb, g, w.named(), func(ctx context.Context, s *session) (orders.Target, failover.Scope, error) {
			return w.aim(ctx, s, verb.held)
		})
	}
	cmd.ValidArgsFunction = a.completeBindings()
	return cmd
}

// checkSome refuses what could never work before anything is sent.
func (w whom) checkSome(cmd *cobra.Command) error {
	switch {
	case w.binding == "" && w.namespace == "" && !w.all:
		return process.Usage(cmd, "say whom: a binding, --namespace or --all")
	case w.all && (w.binding != "" || w.namespace != ""):
		return process.Usage(cmd, "--all excludes a binding and --namespace")
	case w.cluster == "" && w.binding == "":
		return process.Usage(cmd, "say whose failover, with --cluster")
	}
	return w.checkBinding(cmd)
}

// aim finds the workflow that an order is for.
func (w whom) aim(ctx context.Context, s *session, held bool) (to orders.Target, scope failover.Scope, err error) {
	if scope, err = w.scope(ctx, s); err != nil {
		return to, scope, err
	}
	cluster := w.cluster
	if cluster == "" {
		if cluster, err = s.clusterOf(ctx, scope.Binding, held); err != nil {
			return to, scope, err
		}
	}
	return s.desk().Target(cluster), scope, nil
}
