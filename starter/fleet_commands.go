package main

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/starter/orders"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
)

// configuredRate is what is said instead of a number to end a rate that was set by hand.
const configuredRate = "configured"

func (a *app) rateCommand() *cobra.Command {
	verb := order{
		use:   "rate <per-second>|" + configuredRate,
		short: "Set the eviction rate of the whole fleet, or go back to the configured one",
		long: `Set the eviction rate of the whole fleet, in evictions per second, instead of pace.evictionRate of the
workers' configuration, until "rate configured" ends that. It counts while the fleet is healthy: above
pace.unhealthyThreshold the slower rate holds, and a halt always wins. 0 halts (as lifeboat halt does).`,
		example: `  lifeboat rate 0.2 --reason "the registry is slow"
  lifeboat rate configured --reason "the registry is well"`,
		unchanged: "halts, pauses and the fleet's health count as before; tolerations run on",
	}
	cmd, g := a.orderCommand(verb)
	cmd.Args = exactly(1, verb.wants())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		rate, ok := parseRate(args[0])
		if !ok {
			return process.Usage(cmd, "want a number from 0 to %d, or %s; got %q", workflows.MaxRate, configuredRate, args[0])
		}
		verb.confirm = "go back to the configured rate for %s"
		if !rate.Configured {
			verb.confirm = fmt.Sprintf("set a rate of %s evictions per second for %%s", args[0])
		}
		verb.send = func(d orders.Desk, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			rate.Order = o.Order
			return d.SetRate(ctx, to, rate)
		}
		return a.giveFleet(cmd, verb, g)
	}
	return cmd
}

// parseRate reads evictions per second, or the word for the configured ones.
func parseRate(text string) (rate workflows.SetRate, ok bool) {
	if text == configuredRate {
		return workflows.SetRate{Configured: true}, true
	}
	perSecond, err := strconv.ParseFloat(text, 64)
	ok = err == nil && !math.IsNaN(perSecond) && perSecond >= 0 && perSecond <= workflows.MaxRate
	return workflows.SetRate{Rate: perSecond}, ok
}

func (a *app) haltCommand() *cobra.Command {
	verb := order{
		use:   "halt",
		short: "Stop every eviction of the fleet, as pause fleet does",
		long: `Stop every eviction of the fleet within four seconds, as lifeboat pause fleet does. Toleration
clocks stand still meanwhile. lifeboat resume fleet ends it.`,
		example:   `  lifeboat halt --reason "what is going on?"`,
		confirm:   "stop every eviction of %s",
		unchanged: "what has begun goes on; a recovery still takes back what is not placed",
		send:      orders.Desk.Pause,
	}
	cmd, g := a.orderCommand(verb)
	cmd.Args = process.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.giveFleet(cmd, verb, g) }
	return cmd
}

// giveFleet gives an order to the pacer.
func (a *app) giveFleet(cmd *cobra.Command, verb order, g *ordering) error {
	if err := g.check(cmd); err != nil {
		return err
	}
	return a.give(cmd, verb, g, "the fleet", func(_ context.Context, s *session) (orders.Target, failover.Scope, error) {
		return s.desk().Target(orders.Fleet), failover.Scope{}, nil
	})
}
