package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/controller/orders"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
)

// drainOptions are the flags of drain beside those of every order.
type drainOptions struct {
	order     workflows.DrainOrder
	end, wait bool
	timeout   time.Duration
}

func (a *app) drainCommand() *cobra.Command {
	var o drainOptions
	cmd, g := a.orderCommand(order{
		use: "drain <cluster>", aliases: []string{"undrain"},
		short: "Move everything off a cluster, or end that",
		long: `Move everything off a cluster: it is tainted, and every binding on it moves at the fleet's pace. The old
copy of each is held until the new one is healthy. Tolerations are not honoured without --honour-tolerations.
The cluster stays drained until the drain is ended. If it fails meanwhile, the rules still apply.

With --end what has not moved stays, what is not yet placed elsewhere is put back, what has moved stays
where it is, and Lifeboat's taints go. If the cluster fails by itself, its failover goes on.

The order is recorded on the Cluster, in the annotation ` + karmada.AnnotationDrain + `.
It is refused in observe.`,
		example: `  lifeboat drain member1 --reason "new kernel" --wait
  lifeboat drain member1 --reason "move the shop" --selector app=shop --rate 0.2
  lifeboat drain member1 --end --reason "the new kernel runs"`,
	})
	cmd.Args = atMostOne(1, "<cluster>")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.end = o.end || cmd.CalledAs() == "undrain"
		if err := o.check(cmd); err != nil {
			return err
		}
		return a.giveCluster(cmd, o.verb(g), g, args[0])
	}
	cmd.ValidArgsFunction = completion{a}.clusters()
	cmd.Flags().StringVar(&o.order.Selector, "selector", "", "only workloads whose labels match, as in kubectl -l; it is an error when none does")
	cmd.Flags().Float64Var(&o.order.Rate, "rate", 0, "at most this many evictions per second; the fleet's pace holds all the same")
	cmd.Flags().BoolVar(&o.order.HonourTolerations, "honour-tolerations", false, "leave alone what tolerates "+karmada.DrainTaintKey+":NoExecute")
	cmd.Flags().BoolVar(&o.end, "end", false, "end the drain")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "wait until nothing is left to move, blocked bindings included")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "with --wait: how long; 0 waits for ever")
	return cmd
}

// check refuses what could never work before anything is sent.
func (o *drainOptions) check(cmd *cobra.Command) error {
	if o.timeout < 0 {
		return process.Usage(cmd, "--timeout = %s: want 0 or more", o.timeout)
	}
	if o.timeout != 0 && !o.wait {
		return process.Usage(cmd, "--timeout needs --wait")
	}
	if o.end && (o.order.Selector != "" || o.order.Rate != 0 || o.order.HonourTolerations) {
		return process.Usage(cmd, "--selector, --rate and --honour-tolerations are for a drain; its end is the end of all of it")
	}
	if o.end && o.wait {
		return process.Usage(cmd, "--wait is for a drain, not for its end")
	}
	// Who and why are checked with every order.
	if wrong := (&karmada.Drain{Who: "x", Why: "x", Selector: o.order.Selector, Rate: o.order.Rate}).Validate(); wrong != "" {
		return process.Usage(cmd, "%s", wrong)
	}
	return nil
}

// verb drains a cluster, or ends that.
func (o *drainOptions) verb(g *ordering) order {
	if o.end {
		return order{
			confirm: "end the drain of %s", unchanged: "taints of rules, and what has moved",
			send: update(workflows.UpdateUndrain, func(by workflows.ScopedOrder) any { return by.Order }),
		}
	}
	verb := order{
		confirm: "drain %s", unchanged: "the cluster's own rules; pauses and the pace hold all the same",
		send: startAndUpdate(workflows.UpdateDrain, func(by workflows.ScopedOrder) any {
			o.order.Order = by.Order
			return o.order
		}),
	}
	if o.wait {
		verb.after = func(cmd *cobra.Command, s *session, out *orderAnswer) error {
			return awaitDrain(cmd, s.source(), o, g.form.ForPeople(), out)
		}
	}
	return verb
}

// awaitDrain waits until nothing is left to move, and prints the progress.
func awaitDrain(cmd *cobra.Command, source status.Source, o *drainOptions, forPeople bool, out *orderAnswer) error {
	ctx, cancel := cmd.Context(), func() {}
	if o.timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
	}
	defer cancel()
	look := func(ctx context.Context) (orders.Drained, error) {
		f, err := source.Failover(ctx, out.Cluster)
		if err != nil {
			return orders.Drained{}, err
		}
		if f.FailoverStatus == nil { // no answer: a worker may be restarting
			return orders.Drained{Left: -1}, nil
		}
		p := orders.DrainProgress(*f.FailoverStatus)
		out.Progress = &p
		if !f.GoneAt.IsZero() {
			return p, fmt.Errorf("%w: cluster %s is gone", orders.ErrDrainEnded, out.Cluster)
		}
		return p, nil
	}
	err := orders.AwaitDrain(ctx, look, func(p orders.Drained) {
		if forPeople {
			show.Page{Out: cmd.OutOrStdout()}.Line("%s", progressLine(p))
		}
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("not drained within %s; the drain goes on, see lifeboat status %s", o.timeout, out.Cluster)
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
	if len(p.Blocked) > 0 {
		why := reason.Texts(slices.Sorted(maps.Keys(p.Blocked)), func(why reason.Reason) string {
			return fmt.Sprintf("%d blocked: %s", p.Blocked[why], why)
		})
		line += " (" + strings.Join(why, ", ") + ")"
	}
	return line
}

func (a *app) taintCommand() *cobra.Command {
	var end, away bool
	var taint string
	cmd, g := a.orderCommand(order{
		use: "taint <cluster> <key>[=<value>]:<effect>[-]", aliases: []string{"untaint"},
		short: "Put a taint on a cluster that moves what does not tolerate it, or remove it",
		long: `Put a taint on a cluster that moves what does not tolerate it: NoExecute, by clusterTolerations, or the soft
PreferNoExecute, which Karmada's API refuses and which moves only bindings with spec.failover.cluster. What
is affected moves at the fleet's pace, as in any failover. The taint stays until it is removed, whatever
the cluster's conditions are.

With a - behind it, as in kubectl taint, remove a taint that this verb put; with --end all of them: what
has not moved stays, what is not yet placed elsewhere is put back, what has moved stays where it is. If the
cluster fails by itself, its failover goes on. A taint of a rule goes when the rule no longer matches.

The order is recorded on the Cluster, in the annotation ` + karmada.AnnotationOrderedTaints + `.
It is refused in observe, and where another actor has put that taint already.`,
		example: `  lifeboat taint member1 maintenance:NoExecute --reason "the disks are replaced"
  lifeboat taint member1 maintenance:NoExecute- --reason "the disks are new"
  lifeboat taint member1 degraded=network:PreferNoExecute --reason "packet loss"
  lifeboat taint member1 --end --reason "the network is repaired"`,
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
	cmd.ValidArgsFunction = completion{a}.clusters()
	return cmd
}

// taintOrder puts a taint, or takes it away; none is all of them.
func taintOrder(taint string, away bool) order {
	argument := func(o workflows.ScopedOrder) any { return workflows.TaintOrder{Order: o.Order, Taint: taint} }
	if away {
		return order{
			confirm:   "take " + cmp.Or(taint, "what was ordered with lifeboat taint") + " off %s",
			unchanged: "taints of rules, of drains and of others; what has moved stays where it is",
			send:      update(workflows.UpdateUntaint, argument),
		}
	}
	return order{
		confirm:   "taint %s with " + taint + ": what does not tolerate it moves away",
		unchanged: "every other taint, and the cluster's own rules; what tolerates the taint stays",
		send:      startAndUpdate(workflows.UpdateTaint, argument),
	}
}

// giveCluster gives an order to the failover of a cluster, which need not run yet.
func (a *app) giveCluster(cmd *cobra.Command, verb order, g *ordering, cluster string) error {
	if cluster == orders.Fleet {
		return process.Usage(cmd, "want the name of a cluster")
	}
	return a.give(cmd, verb, g, cluster, func(ctx context.Context, s *session) (aimed, error) {
		// The failover of a name that is none would end as Gone.
		return aimed{Target: s.sender().Target(cluster)}, s.exist(ctx, status.HistoryRequest{Cluster: cluster})
	})
}
