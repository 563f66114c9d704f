package main

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/starter/orders"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
)

func (a *app) taintCommand() *cobra.Command {
	verb := order{
		use:   "taint <cluster> <key>[=<value>]:<effect>",
		short: "Put a taint on a cluster that moves what does not tolerate it",
		long: `Put a taint on a cluster that moves what does not tolerate it: NoExecute, by clusterTolerations, or the soft
PreferNoExecute, which Karmada's API refuses and which moves only bindings with spec.failover.cluster. What
is affected moves at the fleet's pace, as in any failover. The taint stands until lifeboat untaint, whatever
the cluster's conditions say.

The order is recorded on the Cluster, in the annotation ` + failover.AnnotationOrderedTaints + `.
It is refused in observe, and where that taint stands already by another hand.`,
		example: `  lifeboat taint member1 maintenance:NoExecute --reason "the disks are replaced"
  lifeboat taint member1 degraded=network:PreferNoExecute --reason "packet loss"`,
		confirm:   "taint %s: what does not tolerate it moves away",
		unchanged: "every other taint, and the cluster's own rules; what tolerates the taint stays",
	}
	return a.taintOrder(verb, func(cmd *cobra.Command, args []string) error {
		if len(args) != 2 {
			return process.Usage(cmd, "want <cluster> and <key>[=<value>]:<effect>, got %d arguments", len(args))
		}
		return checkTaint(cmd, args[1])
	}, orders.Desk.Taint)
}

func (a *app) untaintCommand() *cobra.Command {
	verb := order{
		use:   "untaint <cluster> [<key>:<effect>]",
		short: "Take away a taint that was put with lifeboat taint",
		long: `Take away a taint that was put with lifeboat taint, or all of them: what has not moved stays, what is not yet
placed elsewhere is put back, what has moved stays where it is. If the cluster fails by itself, its failover
goes on. What a rule put goes when the rule no longer matches; what others put is theirs to take away.`,
		example: `  lifeboat untaint member1 --reason "the disks are new"
  lifeboat untaint member1 maintenance:NoExecute --reason "the disks are new"`,
		confirm:   "take what was ordered with lifeboat taint off %s",
		unchanged: "taints of rules, of drains and of others; what has moved stays where it is",
	}
	return a.taintOrder(verb, func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 1:
			return nil
		case 2:
			return checkTaint(cmd, args[1])
		}
		return process.Usage(cmd, "want <cluster> and at most one taint, got %d arguments", len(args))
	}, orders.Desk.Untaint)
}

func checkTaint(cmd *cobra.Command, text string) error {
	if _, wrong := failover.ParseTaint(text); wrong != "" {
		return process.Usage(cmd, "%s", wrong)
	}
	return nil
}

// taintOrder is an order about one taint of a cluster, the second argument.
func (a *app) taintOrder(
	verb order, args cobra.PositionalArgs, send func(orders.Desk, context.Context, orders.Target, workflows.TaintOrder) (string, error),
) *cobra.Command {
	cmd, g := a.orderCommand(verb)
	cmd.Args = args
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		verb, cluster, taint := verb, args[0], ""
		if len(args) == 2 {
			taint = args[1]
		}
		if cluster == orders.Fleet {
			return process.Usage(cmd, "want the name of a cluster")
		}
		if err := g.check(cmd); err != nil {
			return err
		}
		verb.send = func(d orders.Desk, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			return send(d, ctx, to, workflows.TaintOrder{Order: o.Order, Taint: taint})
		}
		return a.give(cmd, verb, g, cluster, func(ctx context.Context, s *session) (orders.Target, failover.Scope, error) {
			return s.desk().Target(cluster), failover.Scope{}, s.exists(ctx, cluster)
		})
	}
	cmd.ValidArgsFunction = a.completeClusters()
	return cmd
}
