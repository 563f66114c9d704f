package main

import (
	"context"
	"strings"

	"github.com/lifeboat-failover/lifeboat/controller/orders"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
)

func (a *app) taintCommand() *cobra.Command {
	var end, away bool
	var taint string
	cmd, g := a.orderCommand(order{
		use: "taint <cluster> <key>[=<value>]:<effect>[-]", aliases: []string{"untaint"},
		short: "Put a taint on a cluster that moves what does not tolerate it, or take it away",
		long: `Put a taint on a cluster that moves what does not tolerate it: NoExecute, by clusterTolerations, or the soft
PreferNoExecute, which Karmada's API refuses and which moves only bindings with spec.failover.cluster. What
is affected moves at the fleet's pace, as in any failover. The taint stands until it is taken away, whatever
the cluster's conditions say.

With a - behind it, as in kubectl taint, a taint that was put so is taken away; with --end all of them: what
has not moved stays, what is not yet placed elsewhere is put back, what has moved stays where it is. If the
cluster fails by itself, its failover goes on. What a rule put goes when the rule no longer matches.

The order is recorded on the Cluster, in the annotation ` + karmada.AnnotationOrderedTaints + `.
It is refused in observe, and where that taint stands already by another hand.`,
		example: `  lifeboat taint member1 maintenance:NoExecute --reason "the disks are replaced"
  lifeboat taint member1 maintenance:NoExecute- --reason "the disks are new"
  lifeboat taint member1 degraded=network:PreferNoExecute --reason "packet loss"
  lifeboat taint member1 --end --reason "all is well again"`,
	})
	cmd.Flags().BoolVar(&end, "end", false, "take away every taint that was put with this verb")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if cmd.CalledAs() == "untaint" {
			if end = len(args) == 1; len(args) == 2 {
				args[1] = strings.TrimSuffix(args[1], "-") + "-"
			}
		}
		if !end && len(args) != 2 || end && len(args) != 1 {
			return process.Usage(cmd, "want <cluster> and one <key>[=<value>]:<effect>, or <cluster> and --end; got %d arguments", len(args))
		}
		if away = end; !end {
			taint, away = strings.CutSuffix(args[1], "-")
			if _, wrong := karmada.ParseTaint(taint); wrong != "" {
				return process.Usage(cmd, "%s", wrong)
			}
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.giveCluster(cmd, taintOrder(taint, away), g, args[0])
	}
	cmd.ValidArgsFunction = completion{a.look}.clusters()
	return cmd
}

// taintOrder puts a taint, or takes it away; none is all of them.
func taintOrder(taint string, away bool) order {
	verb := order{
		confirm:   "taint %s: what does not tolerate it moves away",
		unchanged: "every other taint, and the cluster's own rules; what tolerates the taint stays",
	}
	if away {
		verb.confirm = "take what was ordered with lifeboat taint off %s"
		verb.unchanged = "taints of rules, of drains and of others; what has moved stays where it is"
	}
	verb.send = func(d orders.Sender, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
		ask := workflows.TaintOrder{Order: o.Order, Taint: taint}
		if away {
			return d.Give(ctx, to, workflows.UpdateUntaint, ask)
		}
		return d.Begin(ctx, to, workflows.UpdateTaint, ask)
	}
	return verb
}

// giveCluster gives an order to the failover of a cluster, which need not run yet.
func (a *app) giveCluster(cmd *cobra.Command, verb order, g *ordering, cluster string) error {
	if cluster == orders.Fleet {
		return process.Usage(cmd, "want the name of a cluster")
	}
	return a.give(cmd, verb, g, cluster, func(ctx context.Context, s *session) (orders.Target, queue.Scope, error) {
		return s.sender().Target(cluster), queue.Scope{}, s.exists(ctx, cluster) // the failover of a name that is none would end as Gone
	})
}
