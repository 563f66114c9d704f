package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/orders"
	"github.com/lifeboat-failover/lifeboat/controller/plan"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/controller/subject"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/spf13/cobra"
)

// exist returns an error if Karmada does not have the cluster or binding of a request. If Karmada cannot be read,
// it returns none.
func (s *session) exist(ctx context.Context, r status.HistoryRequest) error {
	in, err := s.reader()
	if err != nil {
		return nil //nolint:nilerr // who may not read Karmada may order all the same
	}
	switch {
	case r.Cluster != "":
		_, err = clusterNamed(ctx, in, r.Cluster)
		return err
	case r.Binding.Name == "":
		return nil
	}
	if _, err = in.Binding(ctx, r.Binding); errors.Is(err, karmada.ErrGone) {
		return fmt.Errorf("%w: %s; %w", subject.ErrNotFound, r.Binding, subject.ErrMalformed)
	}
	return nil
}

// clusterNamed finds a cluster, nil if Karmada cannot be read. The error for an unknown name offers similar names.
func clusterNamed(ctx context.Context, client activities.Reader, name string) (*karmada.Cluster, error) {
	fleet, err := client.Clusters(ctx)
	if err != nil { // who may not list them may still read one by its name
		c, err := client.Cluster(ctx, name)
		switch {
		case errors.Is(err, karmada.ErrGone):
			return nil, fmt.Errorf("%w: %s", plan.ErrNotFound, name)
		case err != nil:
			return nil, nil //nolint:nilerr // nothing is known of its clusters
		}
		return &c, nil
	}
	names := reason.Texts(fleet, func(c karmada.Cluster) string { return c.Name })
	if at := slices.Index(names, name); at >= 0 {
		return &fleet[at], nil
	}
	return nil, fmt.Errorf("%w: %s%s", plan.ErrNotFound, name, didYouMean(name, names))
}

// noFailover adds to an error about a cluster without a failover whether Karmada has the cluster.
func (s *session) noFailover(ctx context.Context, name string, err error) error {
	missing := errors.Is(err, status.ErrNotFound) || errors.Is(err, orders.ErrNotFound)
	if !missing || name == orders.Fleet || strings.Contains(name, "/") {
		return err
	}
	karmada, unread := s.reader()
	if unread != nil {
		return err
	}
	c, unknown := clusterNamed(ctx, karmada, name)
	switch {
	case unknown != nil:
		return unknown
	case c == nil:
		return err
	case c.Ready():
		return fmt.Errorf("%w; Karmada has the cluster, and it is Ready", err)
	}
	return fmt.Errorf("%w; Karmada has the cluster, and it is not Ready", err)
}

// meantMost bounds the names that are offered.
const meantMost = 3

// didYouMean offers the most similar names, empty if none is similar.
func didYouMean(wrong string, names []string) string {
	for within := 1; within <= 2; within++ {
		far := func(name string) bool { return distance(wrong, name) != within }
		if near := slices.DeleteFunc(slices.Sorted(slices.Values(names)), far); len(near) > 0 {
			return "; did you mean " + strings.Join(near[:min(meantMost, len(near))], " or ") + "?"
		}
	}
	return ""
}

// distance is the number of characters to change, add or leave out.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

const (
	// completeWithin bounds one completion.
	completeWithin = 3 * time.Second
	// completeMost bounds the names that are offered.
	completeMost = 200
)

// completion offers names of the live fleet on the command line.
type completion struct{ *app }

// clusters offers the clusters of the live fleet, and other words.
func (c completion) clusters(words ...string) cobra.CompletionFunc {
	return c.names(func(ctx context.Context, _ *cobra.Command, in activities.Reader, typed string) ([]string, error) {
		fleet, err := in.Clusters(ctx)
		names := slices.Concat(words, reason.Texts(fleet, func(c karmada.Cluster) string { return c.Name }))
		slices.Sort(names)
		return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, typed) }), err
	})
}

// objects offers the objects of an order.
func (c completion) objects(verb order) cobra.CompletionFunc {
	clusters, bindings := c.clusters(), c.bindings()
	if verb.takes(orders.Fleet) {
		clusters = c.clusters(orders.Fleet)
	}
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if verb.takes("<binding>") && (!verb.takes("<cluster>") || strings.Contains(typed, "/")) {
			return bindings(cmd, args, typed)
		}
		return clusters(cmd, args, typed)
	}
}

// bindings offers the bindings of the live fleet, or with -n the workloads of that namespace.
func (c completion) bindings() cobra.CompletionFunc {
	return c.names(func(ctx context.Context, cmd *cobra.Command, in activities.Reader, typed string) ([]string, error) {
		namespace := ""
		if flag := cmd.Flags().Lookup("namespace"); flag != nil {
			namespace = flag.Value.String()
		}
		return subject.Names(ctx, in, typed, namespace, completeMost)
	})
}

// names offers names for a first argument. On an error it offers nothing: a message would disturb the command
// line.
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
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		names, err := offer(ctx, cmd, karmada, typed)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
