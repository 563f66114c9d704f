package main

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/starter/orders"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
)

func (a *app) pauseCommand() *cobra.Command {
	return a.clusterOrder(order{
		use:   "pause <cluster>|fleet",
		short: "Begin no new move for a cluster, or for some of its bindings, or halt the whole fleet",
		long: `Begin no new move for a cluster, for one of its bindings (--binding) or for a namespace (-n), or halt the
whole fleet. It takes full effect within four seconds. Tolerations run on meanwhile.`,
		example: `  lifeboat pause member1 --reason "network work"
  lifeboat pause member1 -n shop --reason "month end"
  lifeboat pause member1 --binding deployment/cart -n shop --reason "it moves by hand"
  lifeboat pause fleet --reason "what is going on?"`,
		fleetToo: true, bindings: true, namespaces: true,
		confirm:   "begin no new move of %s",
		unchanged: "what has begun goes on; a recovery still takes back what is not placed",
		send:      orders.Desk.Pause,
	})
}

func (a *app) resumeCommand() *cobra.Command {
	var enforce bool
	cmd := a.clusterOrder(order{
		use:   "resume <cluster>|fleet",
		short: "End a pause or halt, or re-open a cancelled failover",
		long: `End a pause of a cluster, of one of its bindings (--binding) or of a namespace (-n), or a halt of the fleet;
or re-open a failover that was cancelled: as a new round, in which the rules' windows run again before
anything moves.

With --enforce a failover that began in observe acts from now on: as a new round, in which all
bindings are listed and judged anew. The workers' own config must say enforce for the cluster.`,
		example: `  lifeboat resume member1 --reason "network work is done"
  lifeboat resume member1 -n shop --reason "the books are closed"
  lifeboat resume member1 --enforce --reason "this is real"`,
		fleetToo: true, bindings: true, namespaces: true,
		confirm:   "let %s move again",
		unchanged: "other pauses and snoozes stand; the pace stays as it is",
		send: func(d orders.Desk, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			if enforce {
				return d.Enforce(ctx, to, o.Order)
			}
			return d.Resume(ctx, to, o)
		},
	})
	cmd.Flags().BoolVar(&enforce, "enforce", false, "act on what was only observed so far")
	inner := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if enforce && (args[0] == orders.Fleet || cmd.Flags().Changed("binding") || cmd.Flags().Changed("namespace")) {
			return process.Usage(cmd, "--enforce is for one whole cluster")
		}
		return inner(cmd, args)
	}
	return cmd
}

func (a *app) cancelCommand() *cobra.Command {
	var putBack bool
	cmd := a.clusterOrder(order{
		use:   "cancel <cluster>",
		short: "Cancel the failover of a cluster, or the move of one binding",
		long: `Cancel the failover of a cluster: what is queued is abandoned, what is not yet placed elsewhere is
restored, what is placed keeps both copies and is left to you, and our taints go. The failover stays
open as Stopped until it is resumed, or until nothing has matched for the removal window.

With --binding the same for the move of that one, which then stays out of this round.`,
		example: `  lifeboat cancel member1 --reason "we move it by hand"
  lifeboat cancel member1 --binding shop/cart-deployment --put-back --reason "the new copy is wrong"`,
		bindings:  true,
		confirm:   "cancel the failover of %s",
		unchanged: "what was already released does not come back",
		send: func(d orders.Desk, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			return d.Cancel(ctx, to, workflows.BindingOrder{
				CancelOrder: workflows.CancelOrder{Order: o.Order, PutBack: putBack}, Binding: o.Binding,
			})
		},
	})
	cmd.Flags().BoolVar(&putBack, "put-back", false, "restore the former clusters of what is placed and not released, in one write each")
	return cmd
}

func (a *app) confirmFencedCommand() *cobra.Command {
	var withoutState bool
	cmd := a.clusterOrder(order{
		use:   "confirm-fenced <cluster>",
		short: "Vouch that a silent cluster is dead, for purge mode Directly",
		long: `Vouch that a cluster that does not answer is dead: powered off, or cut both from its network and from its
storage, so that no copy on it can run any more. Bindings in purge mode Directly wait for this word
before a new copy begins. It holds for as long as the cluster does not come back, and cannot be taken
back.

With --binding for the old copy of that one alone.

Bindings whose state is to be preserved wait for the cluster itself (StateNeedsSource), for Karmada
hands their state on only once it has deleted the old copy there. With --without-state they go on, too,
and begin without it.`,
		example: `  lifeboat confirm-fenced member1 --reason "powered off by the provider"
  lifeboat confirm-fenced member1 --binding statefulset/db -n shop --reason "its disk is detached"
  lifeboat confirm-fenced member1 --without-state --reason "the disks are lost"`,
		bindings:  true,
		confirm:   "vouch that nothing on %s can run any more",
		unchanged: "nothing moves faster than the pace; every other check stays",
		send: func(d orders.Desk, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			return d.ConfirmFenced(ctx, to, workflows.FenceOrder{Order: o.Order, Binding: o.Binding, WithoutState: withoutState})
		},
	})
	cmd.Flags().BoolVar(&withoutState, "without-state", false, "also move what has to leave its state behind")
	return cmd
}

// clusterOrder is an order about a cluster, or some of its bindings.
func (a *app) clusterOrder(verb order) *cobra.Command {
	cmd, g := a.orderCommand(verb)
	var w whom
	cmd.Args = exactly(1, verb.wants())
	if verb.bindings {
		cmd.Flags().StringVar(&w.binding, "binding", "", "only this binding, or with -n this workload")
		cmd.Flags().StringVarP(&w.namespace, "namespace", "n", "", verb.namespaceUsage())
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w.cluster = args[0]
		if err := g.check(cmd); err != nil {
			return err
		}
		if err := w.checkCluster(cmd, verb); err != nil {
			return err
		}
		return a.give(cmd, verb, g, w.named(), func(ctx context.Context, s *session) (orders.Target, failover.Scope, error) {
			scope, err := w.scope(ctx, s)
			return s.desk().Target(w.cluster), scope, err
		})
	}
	cmd.ValidArgsFunction = a.completeClusters()
	if verb.fleetToo {
		cmd.ValidArgsFunction = a.completeClusters(orders.Fleet)
	}
	return cmd
}

// checkCluster refuses what could never work before anything is sent.
func (w whom) checkCluster(cmd *cobra.Command, verb order) error {
	some := w.binding != "" || w.namespace != ""
	switch {
	case w.cluster == orders.Fleet && !verb.fleetToo:
		return process.Usage(cmd, "want the name of a cluster")
	case w.cluster == orders.Fleet && some:
		return process.Usage(cmd, "--binding and --namespace are for one cluster, not for the fleet")
	case w.namespace != "" && w.binding == "" && !verb.namespaces:
		return process.Usage(cmd, "--namespace says where the workload of --binding is; %s is for a cluster or one binding", cmd.Name())
	}
	return w.checkBinding(cmd)
}
