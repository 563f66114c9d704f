package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/orders"
	"github.com/lifeboat-failover/lifeboat/controller/subject"
	"github.com/spf13/cobra"
)

const (
	// completeWithin bounds how long a press of the tab key may take.
	completeWithin = 3 * time.Second
	// completeMost bounds how many names are offered.
	completeMost = 200
)

// completion offers names of the live fleet on the command line.
type completion struct {
	look func(*cobra.Command) (*session, error)
}

// clusters offers the clusters of the live fleet, and words that stand for one.
func (c completion) clusters(words ...string) cobra.CompletionFunc {
	return c.names(func(ctx context.Context, _ *cobra.Command, in activities.Reader, typed string) ([]string, error) {
		fleet, err := in.Clusters(ctx)
		names := slices.Clone(words)
		for _, cluster := range fleet {
			names = append(names, cluster.Name)
		}
		slices.Sort(names)
		return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, typed) }), err
	})
}

// objects offers what an order may be about.
func (c completion) objects(verb order) cobra.CompletionFunc {
	clusters, bindings := c.clusters(), c.bindings()
	if verb.fleet {
		clusters = c.clusters(orders.Fleet)
	}
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if verb.bindings && (!verb.clusters || strings.Contains(typed, "/")) {
			return bindings(cmd, args, typed)
		}
		return clusters(cmd, args, typed)
	}
}

// bindings offers the bindings of the live fleet, and with -n the workloads of
// that namespace.
func (c completion) bindings() cobra.CompletionFunc {
	return c.names(func(ctx context.Context, cmd *cobra.Command, in activities.Reader, typed string) ([]string, error) {
		namespace := ""
		if flag := cmd.Flags().Lookup("namespace"); flag != nil {
			namespace = flag.Value.String()
		}
		return subject.Names(ctx, in, typed, namespace, completeMost)
	})
}

// names offers names for a first argument. Trouble offers nothing: there is no place
// for words about it on a line that is being typed.
func (c completion) names(offer func(context.Context, *cobra.Command, activities.Reader, string) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, err := c.look(cmd)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		karmada, err := s.reader()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		parent := cmd.Context()
		if parent == nil {
			parent = context.Background()
		}
		ctx, cancel := context.WithTimeout(parent, completeWithin)
		defer cancel()
		names, err := offer(ctx, cmd, karmada, typed)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
