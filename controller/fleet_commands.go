package main

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/lifeboat-failover/lifeboat/controller/orders"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
)

// configuredRate is what is said instead of a number to end a rate that was set by hand.
const configuredRate = "configured"

func (a *app) rateCommand() *cobra.Command {
	verb := order{
		use:   "rate fleet <per-second>|" + configuredRate,
		short: "Set the eviction rate of the whole fleet, or go back to the configured one",
		long: `Set the eviction rate of the whole fleet, in evictions per second, instead of pace.evictionRate of the
workers' configuration, until "rate fleet configured" ends that. It counts while the fleet is healthy: above
pace.unhealthyThreshold the slower rate holds, and a pause always wins.`,
		example: `  lifeboat rate fleet 0.2 --reason "the registry is slow"
  lifeboat rate fleet configured --reason "the registry is well"`,
		unchanged: "pauses and the fleet's health count as before; tolerations run on",
	}
	cmd, g := a.orderCommand(verb)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 && args[0] == orders.Fleet {
			args = args[1:] // the object; it may be left out
		}
		if len(args) != 1 {
			return process.Usage(cmd, "want fleet <per-second>|%s, got %d arguments", configuredRate, len(args))
		}
		rate, ok := parseRate(args[0])
		switch {
		case !ok:
			return process.Usage(cmd, "want a number above 0 and up to %d, or %s; got %q", workflows.MaxRate, configuredRate, args[0])
		case !rate.Configured && rate.Rate == 0:
			return process.Usage(cmd, "a rate of 0 is a pause: lifeboat pause fleet")
		}
		verb.confirm = "go back to the configured rate for %s"
		if !rate.Configured {
			verb.confirm = fmt.Sprintf("set a rate of %s evictions per second for %%s", args[0])
		}
		verb.send = func(d orders.Sender, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			rate.Order = o.Order
			return d.Give(ctx, to, workflows.UpdateSetRate, rate)
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

// giveFleet gives an order to the pacer.
func (a *app) giveFleet(cmd *cobra.Command, verb order, g *ordering) error {
	return a.give(cmd, verb, g, "the fleet", func(_ context.Context, s *session) (orders.Target, queue.Scope, error) {
		return s.sender().Target(orders.Fleet), queue.Scope{}, nil
	})
}
