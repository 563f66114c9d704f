package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/lifeboat-failover/lifeboat/controller/orders"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/controller/watch"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
)

// configuredRate is the argument that ends an ordered rate.
const configuredRate = "configured"

func (a *app) rateCommand() *cobra.Command {
	verb := order{
		use:   "rate fleet <per-second>|" + configuredRate,
		short: "Set the eviction rate of the whole fleet, or go back to the configured one",
		long: `Set the eviction rate of the whole fleet, in evictions per second, instead of pace.evictionRate of the
workers' configuration, until "rate fleet configured" ends that. It applies while the fleet is healthy: above
pace.unhealthyThreshold the slower rate applies, and a pause always wins.`,
		example: `  lifeboat rate fleet 0.2 --reason "the registry is slow"
  lifeboat rate fleet configured --reason "the registry is fast again"`,
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
		verb.send = update(workflows.UpdateSetRate, func(o workflows.ScopedOrder) any {
			rate.Order = o.Order
			return rate
		})
		return a.give(cmd, verb, g, "the fleet", func(_ context.Context, s *session) (aimed, error) {
			return aimed{Target: s.sender().Target(orders.Fleet)}, nil
		})
	}
	return cmd
}

// parseRate reads evictions per second, or configuredRate.
func parseRate(text string) (rate workflows.SetRate, ok bool) {
	if text == configuredRate {
		return workflows.SetRate{Configured: true}, true
	}
	perSecond, err := strconv.ParseFloat(text, 64)
	ok = err == nil && !math.IsNaN(perSecond) && perSecond >= 0 && perSecond <= workflows.MaxRate
	return workflows.SetRate{Rate: perSecond}, ok
}

// adoptAnswer is what -o json prints.
type adoptAnswer struct {
	Verb string `json:"verb"`
	watch.Search
	// Adopted are the failovers that were signalled to adopt.
	Adopted    []adopted `json:"adopted,omitempty"`
	NotChanged string    `json:"notChanged"`
}

// adopted is one signalled failover.
type adopted struct {
	Cluster    string `json:"cluster"`
	WorkflowID string `json:"workflowID"`
	Link       string `json:"link,omitempty"`
}

const adoptLeaves = "what a running workflow owns, what was kept or left to an operator, and everything that is not Lifeboat's"

func (a *app) adoptCommand() *cobra.Command {
	cmd, g := a.orderCommand(order{
		use:   "adopt [<cluster>]",
		short: "Have failovers adopt hold tasks and taints without an owner",
		long: `Search all of Karmada, or one cluster, for hold tasks, taints and Lifeboat annotations whose owner does not run
in Temporal, and have the failover of each cluster adopt them: it is started where it does not run, reads
everything again, and goes on, restores, or cleans up. lifeboat controller does the same all the time; this
command is for when the controller does not run.

What was kept, or left to an operator, has no owner: lifeboat status lists it, lifeboat release or put-back ends
it. In observe a failover reports what it finds, and changes nothing.`,
		example: `  lifeboat adopt --reason "Temporal was set up again"
  lifeboat adopt member1 --reason "its workflow was terminated"`,
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && args[0] == orders.Fleet {
			return process.Usage(cmd, "want the name of a cluster, or nothing for all")
		}
		return atMostOneCluster(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := g.check(cmd); err != nil {
			return err
		}
		return a.runAdopt(cmd, g, strings.Join(args, ""))
	}
	cmd.ValidArgsFunction = completion{a}.clusters()
	return cmd
}

func (a *app) runAdopt(cmd *cobra.Command, g *ordering, only string) error {
	s, err := a.open(cmd, "lifeboat-cli/"+g.by.Who)
	if err != nil {
		return err
	}
	defer s.close()
	karmada, err := s.reader()
	if err != nil {
		return err
	}
	out := adoptAnswer{Verb: cmd.CalledAs(), NotChanged: adoptLeaves}
	end := s.progress.Begin("looking for what has no owner")
	out.Search, err = watch.FindOrphans(cmd.Context(), karmada, process.Owners{Client: s.temporal.Client}, s.config.Instance, only)
	end()
	if err != nil {
		return err
	}
	if len(out.Orphans) > 0 {
		err = s.adopt(cmd, g, &out)
	} else { // a cluster that was deleted may have some
		err = s.exist(cmd.Context(), status.HistoryRequest{Cluster: only})
	}
	if err != nil {
		return err
	}
	return answered(cmd, &g.form, out, out.draw)
}

// adopt asks for confirmation, and then signals the failover of every cluster with orphans.
func (s *session) adopt(cmd *cobra.Command, g *ordering, out *adoptAnswer) error {
	if !g.yes {
		_, _ = cmd.ErrOrStderr().Write(drawn(cmd, out.found))
		if err := confirm(cmd, fmt.Sprintf("have what has no owner for %d clusters taken over", len(out.Orphans))); err != nil {
			return err
		}
	}
	sender := watch.Temporal{Client: s.temporal.Client, TaskQueue: s.config.TaskQueue}
	defer s.progress.Begin("signalling the failovers")()
	for _, o := range out.Orphans {
		if err := watch.Adopt(cmd.Context(), sender, s.config.Instance, o, g.by); err != nil {
			return out.stopped(err)
		}
		to := s.sender().Target(o.Cluster)
		out.Adopted = append(out.Adopted, adopted{Cluster: o.Cluster, WorkflowID: to.WorkflowID, Link: s.source().Link(to.WorkflowID)})
	}
	return nil
}

// stopped adds to an error the failovers that got the order before it, and what to do.
func (o adoptAnswer) stopped(err error) error {
	before := "no failover was signalled before it"
	if len(o.Adopted) > 0 {
		names := reason.Texts(o.Adopted, func(a adopted) string { return a.Cluster })
		before = "signalled before it: " + strings.Join(names, ", ")
	}
	return fmt.Errorf("%w (%s; adopt again: a second signal does no harm)", err, before)
}

// adoptRows bounds the tasks of a cluster that are listed as text.
const adoptRows = 10

// found draws the orphans.
func (o adoptAnswer) found(p show.Page) {
	for _, orphan := range o.Orphans {
		for _, what := range orphan.OnCluster {
			p.Wrapped("", fmt.Sprintf("%s: %s, and its failover does not run", orphan.Cluster, what))
		}
		for n, t := range orphan.Tasks {
			if n == adoptRows {
				p.Line("%s: and %d more tasks", orphan.Cluster, len(orphan.Tasks)-n)
				break
			}
			owner := "names no workflow"
			if t.Owner != "" {
				owner = "its owner " + t.Owner + " does not run"
			}
			p.Wrapped("", fmt.Sprintf("%s: hold task on %s: %s", orphan.Cluster, t.Binding.Key, owner))
		}
	}
}

func (o adoptAnswer) draw(p show.Page) {
	o.found(p)
	if len(o.Orphans) == 0 {
		p.Line("Nothing of Lifeboat's is without an owner.")
	}
	for _, a := range o.Adopted {
		p.Line("%s: signalled to adopt: workflow %s", a.Cluster, a.WorkflowID)
		if a.Link != "" {
			p.Line("%s", a.Link)
		}
	}
	p.Line("%d tasks have an owner that runs; %d were kept or left to an operator", o.Owned, o.Left)
	p.Wrapped("", "not changed: "+o.NotChanged)
}
