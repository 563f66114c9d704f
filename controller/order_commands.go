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
		namespaces: true,
		confirm:    "begin no new move of %s",
		unchanged:  "what has begun goes on; a recovery still takes back what is not placed",
		send:       orders.Sender.Pause,
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

With --enforce a failover that began in observe acts from now on: that of a cluster as a new attempt, in which all
bindings are listed and judged again, that of an application after another check. The workers' own config must say
enforce for the cluster.`,
		example: `  lifeboat resume member1 --reason "network work is done"
  lifeboat resume member1 -n shop --reason "the books are closed"
  lifeboat resume member1 --enforce --reason "this is real"`,
		namespaces:  true,
		application: &enforce,
		confirm:     "let %s move again",
		unchanged:   "other pauses and snoozes stand; the pace stays as it is",
		check: func(cmd *cobra.Command, args []string) error {
			application := len(args) == 1 && strings.Contains(args[0], "/") && !cmd.Flags().Changed("cluster")
			whole := len(args) == 1 && args[0] != orders.Fleet && !strings.Contains(args[0], "/") && !cmd.Flags().Changed("namespace")
			if enforce && (!application && !whole || cmd.Flags().Changed("binding")) {
				return process.Usage(cmd, "--enforce is for one whole cluster, or for one application")
			}
			return nil
		},
		send: func(d orders.Sender, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			return d.Resume(ctx, to, workflows.Resume{ScopedOrder: o, Enforce: enforce})
		},
	})
	cmd.Flags().BoolVar(&enforce, "enforce", false, "act on what was only observed so far")
	return cmd
}

func (a *app) cancelCommand() *cobra.Command {
	var putBack, skip bool
	cmd := a.objectOrder(order{
		use: "cancel <cluster>|<binding>", aliases: []string{"skip"},
		short: "Cancel the failover of a cluster, or the move of one binding",
		long: `Cancel the failover of a cluster: what is queued is abandoned, what is not yet placed elsewhere is
restored, what is placed keeps both copies and is left to you, and Lifeboat's taints go. The failover stays
open as Stopped until it is resumed, or until nothing has matched for the removal window.

Of a binding the same for its move; it then stays out of this attempt, also where it has not begun to move.`,
		example: `  lifeboat cancel member1 --reason "we move it by hand"
  lifeboat cancel shop/cart-deployment --reason "it must stay near its disk"
  lifeboat cancel shop/cart-deployment --put-back --reason "the new copy is wrong"`,
		confirm:   "cancel the failover, or the move, of %s",
		unchanged: "what was already released does not come back",
		check: func(cmd *cobra.Command, args []string) error {
			skip = cmd.CalledAs() == "skip"
			if skip && (putBack || !strings.Contains(strings.Join(args, "")+cmd.Flag("binding").Value.String(), "/")) {
				return process.Usage(cmd, "skip wants <binding>, and no --put-back: use cancel")
			}
			return nil
		},
		send: func(d orders.Sender, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			update := workflows.UpdateCancel
			if skip {
				update = workflows.UpdateSkip
			}
			return d.Give(ctx, to, update, workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: o.Order, PutBack: putBack}, Binding: o.Binding})
		},
	})
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
  lifeboat confirm-fenced shop/cart-deployment --cluster member1 --without-state --reason "the disks are lost"`,
		migration: true,
		confirm:   "vouch that %s is dead: nothing of it can run any more",
		unchanged: "nothing moves faster than the pace; every other check stays",
		send: update(workflows.UpdateConfirmFenced, func(o workflows.ScopedOrder) any {
			return workflows.FenceOrder{Order: o.Order, Binding: o.Binding, WithoutState: withoutState}
		}),
	})
	cmd.Flags().BoolVar(&withoutState, "without-state", false, "what waits for its state goes on without it; it vouches all the same")
	return cmd
}

// objectOrder is the command for an order about one of the objects that its verb takes.
func (a *app) objectOrder(verb order) *cobra.Command {
	cmd, g := a.orderCommand(verb)
	var w object
	if verb.takes("<binding>") {
		cmd.Flags().StringVar(&w.cluster, "cluster", "", "whose failover; needed where more than one concerns the binding")
		usage := "namespace of the workload"
		if verb.namespaces {
			usage = "only the bindings of this namespace; with a workload, where that is"
		}
		cmd.Flags().StringVarP(&w.namespace, "namespace", "n", "", usage)
		cmd.Flags().StringVar(&w.binding, "binding", "", "the binding, where the argument is its cluster")
		cmd.Flags().BoolVar(&w.all, "all", false, "everything of --cluster")
		for _, former := range []string{"binding", "all"} {
			cmd.Flags().Lookup(former).Hidden = true
		}
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		return w.read(cmd, verb, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if verb.check != nil {
			if err := verb.check(cmd, args); err != nil {
				return err
			}
		}
		return a.give(cmd, verb, g, w.named(), func(ctx context.Context, s *session) (aimed, error) {
			return w.aim(ctx, s, verb)
		})
	}
	cmd.ValidArgsFunction = completion{a}.objects(verb)
	return cmd
}

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
		namespaces: true, each: true,
		confirm:   "leave %s where it is for a while",
		unchanged: "what has begun goes on; taints, pace and the due times of other bindings stay",
		check: func(cmd *cobra.Command, _ []string) error {
			if length == "" {
				return process.Usage(cmd, "say for how long, with --for, as in 30m")
			}
			if _, wrong := queue.SnoozeFor(length); wrong != "" {
				return process.Usage(cmd, "--for: %s", wrong)
			}
			return nil
		},
		send: update(workflows.UpdateSnooze, func(o workflows.ScopedOrder) any { return workflows.SnoozeOrder{ScopedOrder: o, For: length} }),
	})
	cmd.Flags().StringVar(&length, "for", "", "for how long from now, at most 720h, as in 30m (required)")
	return cmd
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
		namespaces: true, each: true,
		confirm:   "approve the move of %s",
		unchanged: "no other check is replaced; pauses, snoozes and the pace stand; what comes later needs an approval of its own",
		send:      update(workflows.UpdateApprove, func(o workflows.ScopedOrder) any { return o }),
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
		namespaces: true, each: true,
		confirm:   "give %s another priority",
		unchanged: "what has begun goes on; due times and the pace stay; the binding itself keeps its priority",
		check: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("priority") {
				return process.Usage(cmd, "say which, with --priority")
			}
			return nil
		},
		send: update(workflows.UpdatePrioritise, func(o workflows.ScopedOrder) any {
			return workflows.PriorityOrder{ScopedOrder: o, Priority: &priority}
		}),
	})
	cmd.Flags().Int32Var(&priority, "priority", 0, "higher goes first (required)")
	return cmd
}

func (a *app) putBackCommand() *cobra.Command {
	return a.objectOrder(order{
		use:   "put-back <binding>",
		short: "Restore the former clusters of one binding",
		long: `Restore the former clusters of one binding in one write, as long as its old copy is held: also one that an
earlier failover kept, or left to an operator. It is refused unless the former cluster is Ready, without a
triggering taint, and still has that very copy. It is always refused for purge mode Directly. The command waits
ten seconds for the answer; a refusal exits with 4.`,
		example:   `  lifeboat put-back shop/cart-deployment --reason "the new copy is wrong"`,
		held:      true,
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
		example:   `  lifeboat release shop/cart-deployment --reason "it is well, its health check is not"`,
		held:      true,
		confirm:   "drop the old copy of %s",
		unchanged: "where it has no other target cluster, the old copy stays; all others go on as they were",
		send:      oldCopy(workflows.UpdateRelease),
	})
}

// oldCopy sends an order about the old copy of a binding, which an earlier failover may have left.
func oldCopy(name string) sendFunc {
	return startAndUpdate(name, func(o workflows.ScopedOrder) any {
		return workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: o.Order}, Binding: o.Binding}
	})
}
