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

// completeClusters offers the clusters of the live fleet, and words that stand for one.
func (a *app) completeClusters(words ...string) cobra.CompletionFunc {
	return a.complete(func(ctx context.Context, _ *cobra.Command, in activities.Reader, typed string) ([]string, error) {
		fleet, err := in.Clusters(ctx)
		names := slices.Clone(words)
		for _, c := range fleet {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, typed) }), err
	})
}

// completeObjects offers what an order may be about.
func (a *app) completeObjects(verb order) cobra.CompletionFunc {
	clusters, bindings := a.completeClusters(), a.completeBindings()
	if verb.fleet {
		clusters = a.completeClusters(orders.Fleet)
	}
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if verb.bindings && (!verb.clusters || strings.Contains(typed, "/")) {
			return bindings(cmd, args, typed)
		}
		return clusters(cmd, args, typed)
	}
}

// completeBindings offers the bindings of the live fleet, and with -n the workloads of
// that namespace.
func (a *app) completeBindings() cobra.CompletionFunc {
	return a.complete(func(ctx context.Context, cmd *cobra.Command, in activities.Reader, typed string) ([]string, error) {
		namespace := ""
		if flag := cmd.Flags().Lookup("namespace"); flag != nil {
			namespace = flag.Value.String()
		}
		return subject.Names(ctx, in, typed, namespace, completeMost)
	})
}

// complete offers names for a first argument. Trouble offers nothing: there is no place
// for words about it on a line that is being typed.
func (a *app) complete(offer func(context.Context, *cobra.Command, activities.Reader, string) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, err := a.look(cmd)
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
