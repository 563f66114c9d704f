package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/controller/orders"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/controller/subject"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// aim finds the workflow of an order. One about a binding is for the failover of its application while that moves it, or
// where no failover of a cluster concerns it: such a one would move it whatever the other was told.
func (w *object) aim(ctx context.Context, s *session, verb order) (to orders.Target, scope queue.Scope, err error) {
	if scope, err = w.scope(ctx, s); err != nil {
		return to, scope, err
	}
	cluster := w.cluster
	if cluster == "" {
		to, runs, moves, silent := s.applicationOf(ctx, scope.Binding, verb.migration)
		if moves || runs && verb.application != nil && *verb.application {
			return to, scope, nil
		}
		cluster, err = s.clusterOf(ctx, scope.Binding, verb.held)
		if runs && !verb.held && errors.Is(err, orders.ErrNotFound) {
			return to, scope, nil
		}
		if err == nil && silent != nil {
			err = unseen(scope.Binding, []string{cluster}, fmt.Errorf("cannot read whether the failover of its application moves %s: %w", scope.Binding, silent))
		}
		if err != nil {
			return to, scope, err
		}
	}
	if verb.held && w.cluster != "" { // the failover of a name that is none would end as Gone
		err = s.exist(ctx, status.HistoryRequest{Cluster: w.cluster})
	}
	return s.sender().Target(cluster), scope, err
}

// scope is the object in the terms of the workflows. A binding is looked up in Karmada.
func (w *object) scope(ctx context.Context, s *session) (queue.Scope, error) {
	switch {
	case w.all:
		return queue.Scope{All: true}, nil
	case w.binding == "" && w.namespace == "":
		return queue.Scope{}, nil
	case w.binding == "":
		return queue.Scope{Namespace: w.namespace}, nil
	}
	ref, err := subject.Parse(w.binding, w.namespace)
	if err != nil {
		return queue.Scope{}, err
	}
	if key, known := ref.Key(); known {
		return queue.ScopeOf(key), s.exist(ctx, status.HistoryRequest{Binding: key})
	}
	karmada, err := s.reader()
	if err != nil {
		return queue.Scope{}, err
	}
	b, err := ref.Find(ctx, karmada)
	return queue.ScopeOf(b.Key), err
}

// clusterOf finds the one failover that concerns a binding: among those that run and, with held, by the hold tasks
// of the binding. While one of these is unknown it chooses none.
func (s *session) clusterOf(ctx context.Context, key karmada.BindingKey, held bool) (string, error) {
	found, err := s.concerning(ctx, key, held)
	if err == nil && held {
		var on []string
		on, err = s.heldOn(ctx, key)
		found = append(found, slices.DeleteFunc(on, func(c string) bool { return slices.Contains(found, c) })...)
	}
	switch {
	case err != nil:
		return "", unseen(key, found, err)
	case len(found) == 0:
		return "", fmt.Errorf("%w: none that runs is known to concern %s; say which with --cluster", orders.ErrNotFound, key)
	case len(found) == 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%w: %s is concerned by %s: say which with --cluster", errRefused, key, strings.Join(found, " and "))
}

// concerning queries every running failover of a cluster about a binding. The error names those that did not answer.
func (s *session) concerning(ctx context.Context, key karmada.BindingKey, held bool) (found []string, err error) {
	source := s.source()
	running, err := source.Running(ctx)
	if err != nil {
		return nil, err
	}
	concerned, errs := make([]bool, len(running)), make([]error, len(running))
	status.Each(len(running), func(n int) {
		var x workflows.Explanation
		if x, errs[n] = source.Explain(ctx, running[n], workflows.ExplainRequest{Binding: key}); errs[n] == nil {
			concerned[n], errs[n] = s.concerns(ctx, &x, key, held)
		}
	})
	var silent []string
	var why error
	for n, cluster := range running {
		switch {
		case concerned[n]:
			found = append(found, cluster)
		case errs[n] != nil && !errors.Is(errs[n], status.ErrNotFound): // else it is closed since
			silent, why = append(silent, cluster), errs[n]
		}
	}
	if len(silent) > 0 {
		err = fmt.Errorf("cannot read whether the failover of %s concerns %s: %w", strings.Join(silent, " or "), key, why)
	}
	return found, err
}

// concerns reports whether a failover has a binding in its queue, or on its way. One that does not know all its bindings
// yet is about to list it, if the binding is on its cluster; such a one holds no copy of it.
func (s *session) concerns(ctx context.Context, x *workflows.Explanation, key karmada.BindingKey, held bool) (bool, error) {
	if x.Move != nil || x.Item != nil && x.Item.State != queue.Idle {
		return true, nil
	}
	if !x.Unlisted || held {
		return false, nil
	}
	b, err := s.binding(ctx, key)
	_, at := b.Target(x.Cluster)
	return at >= 0, err
}

// unseen is the error where it is unknown which failovers concern a binding. It names those that were found, and
// chooses none: another could move the binding, and a release ends an old copy.
func unseen(key karmada.BindingKey, found []string, err error) error {
	concerned := ""
	if len(found) > 0 {
		concerned = fmt.Sprintf(" (%s is concerned by %s)", key, strings.Join(found, " and "))
	}
	return fmt.Errorf("%w; say which with --cluster%s", err, concerned)
}

// applicationOf is the failover of an application, where one runs, and whether a migration of it does, which is the
// target with migration; silent: that is unknown.
func (s *session) applicationOf(ctx context.Context, key karmada.BindingKey, migration bool) (to orders.Target, runs, moves bool, silent error) {
	id := workflows.ApplicationFailoverID(s.config.Instance, key)
	to = orders.Target{WorkflowID: id, Name: key.String()}
	if runs, silent = (process.Owners{Client: s.temporal.Client}).Running(ctx, id); !runs {
		return to, runs, false, silent
	}
	answer, silent := s.source().Application(ctx, key)
	moves = silent == nil && answer.Move != nil
	if moves && migration {
		to.WorkflowID = workflows.BindingMigrationID(s.config.Instance, answer.Cluster, key)
	}
	return to, runs, moves, silent
}

// also names the failover that concerns a binding beside the one that got an order: of a cluster beside that of its
// application, or the reverse. Empty where there is none, or none that answers.
func (s *session) also(ctx context.Context, verb order, name string, to orders.Target, key karmada.BindingKey) string {
	application, runs, moves, _ := s.applicationOf(ctx, key, verb.migration)
	switch {
	case to.WorkflowID == application.WorkflowID:
		clusters, _ := s.concerning(ctx, key, false)
		if len(clusters) == 0 {
			return ""
		}
		return fmt.Sprintf("the failover of %s concerns it, too: lifeboat %s %s --cluster %s, with the same flags", strings.Join(clusters, " and "), name, key, clusters[0])
	case moves && name != workflows.UpdateSkip && name != workflows.UpdatePrioritise:
		return fmt.Sprintf("the failover of its application moves it, too: lifeboat %s %s, with the same flags", name, key)
	case runs:
		return "the failover of its application runs, too, and did not get this order"
	}
	return ""
}

// heldOn are the clusters on which a Lifeboat task holds a copy of a binding, none for an unknown binding.
func (s *session) heldOn(ctx context.Context, key karmada.BindingKey) ([]string, error) {
	b, err := s.binding(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("cannot read which clusters hold a copy of %s: %w", key, err)
	}
	var on []string
	for _, t := range b.Tasks {
		if t.Owned() {
			on = append(on, t.FromCluster)
		}
	}
	return on, nil
}

// binding reads a binding, empty for an unknown one.
func (s *session) binding(ctx context.Context, key karmada.BindingKey) (karmada.Binding, error) {
	in, err := s.reader()
	if err != nil {
		return karmada.Binding{}, err
	}
	b, err := in.Binding(ctx, key)
	if errors.Is(err, karmada.ErrGone) {
		return karmada.Binding{}, nil
	}
	return b, err
}
