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
	var rate workflows.SetRate
	verb := order{
		use:   "rate <evictions per second>|" + configuredRate,
		short: "Set the eviction rate of the whole fleet, or go back to the configured one",
		long: `Set the eviction rate of the whole fleet, in evictions per second, instead of pace.evictionRate of the
workers' configuration, until "rate configured" ends that. It counts while the fleet is healthy: above
pace.unhealthyThreshold the slower rate holds, and a halt always wins. 0 halts (as lifeboat halt does).`,
		example: `  lifeboat rate 0.2 --reason "the registry is slow"
  lifeboat rate configured --reason "the registry is well"`,
		unchanged: "halts, pauses and the fleet's health count as before; tolerations run on",
		send: func(d orders.Desk, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
			rate.Order = o.Order
			return d.SetRate(ctx, to, rate)
		},
	}
	return a.fleetOrder(verb, func(cmd *cobra.Command, args []string) (verbed order, err error) {
		verb.confirm = "go back to the configured rate for %s"
		if rate.Configured = args[0] == configuredRate; !rate.Configured {
			if rate.Rate, err = strconv.ParseFloat(args[0], 64); err != nil || math.IsNaN(rate.Rate) || rate.Rate < 0 || rate.Rate > workflows.MaxRate {
				return verb, process.Usage(cmd, "want a number from 0 to %d, or %s; got %q", workflows.MaxRate, configuredRate, args[0])
			}
			verb.confirm = fmt.Sprintf("set a rate of %s evictions per second for %%s", args[0])
		}
		return verb, nil
	}, exactly(1, verb.wants()))
}

func (a *app) haltCommand() *cobra.Command {
	verb := order{
		use:   "halt",
		short: "Stop every eviction of the fleet, as pause fleet does",
		long: `Stop every eviction of the fleet within one lease (pace.leaseDuration), as lifeboat pause fleet does. Toleration
clocks stand still meanwhile. lifeboat resume fleet ends it.`,
		example:   `  lifeboat halt --reason "what is going on?"`,
		confirm:   "stop every eviction of %s",
		unchanged: "what has begun goes on; a recovery still takes back what is not placed",
		send:      orders.Desk.Pause,
	}
	return a.fleetOrder(verb, func(*cobra.Command, []string) (order, error) { return verb, nil }, process.NoArgs)
}

// fleetOrder is an order to the pacer; read makes of the arguments what is ordered.
func (a *app) fleetOrder(verb order, read func(*cobra.Command, []string) (order, error), args cobra.PositionalArgs) *cobra.Command {
	cmd, g := a.orderCommand(verb)
	cmd.Args = args
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := g.check(cmd); err != nil {
			return err
		}
		verb, err := read(cmd, args)
		if err != nil {
			return err
		}
		return a.give(cmd, verb, g, "the fleet", func(_ context.Context, s *session) (orders.Target, failover.Scope, error) {
			return s.desk().Target(orders.Fleet), failover.Scope{}, nil
		})
	}
	return cmd
}
