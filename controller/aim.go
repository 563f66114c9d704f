package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lifeboat-failover/lifeboat/controller/orders"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/controller/subject"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// aim finds the workflow of an order.
func (w *object) aim(ctx context.Context, s *session, verb order) (to aimed, err error) {
	scope, err := w.scope(ctx, s)
	if err != nil {
		return to, err
	}
	if w.cluster == "" {
		to, err = s.aimBinding(ctx, scope.Binding, verb)
		to.scope = scope
		return to, err
	}
	to = aimed{Target: s.sender().Target(w.cluster), scope: scope}
	if verb.held { // the failover of a name that is none would end as Gone
		err = s.exist(ctx, status.HistoryRequest{Cluster: w.cluster})
	}
	if scope.Binding.Name != "" {
		to.also = func(ctx context.Context, name string) string {
			application, _ := s.applicationOf(ctx, scope.Binding, verb.migration)
			return application.also(name)
		}
	}
	return to, err
}

// aimBinding finds the workflow of an order about a binding: the failover of its application while that moves it, or
// where no failover of a cluster concerns it; such a one would move it whatever the other was told.
func (s *session) aimBinding(ctx context.Context, key karmada.BindingKey, verb order) (aimed, error) {
	application, silent := s.applicationOf(ctx, key, verb.migration)
	if application.moves || application.runs && verb.application != nil && *verb.application {
		return aimed{Target: application.Target, also: func(ctx context.Context, name string) string { return s.clusterAlso(ctx, name, key) }}, nil
	}
	cluster, err := s.clusterOf(ctx, key, verb.held)
	switch {
	case application.runs && !verb.held && errors.Is(err, orders.ErrNotFound):
		return aimed{Target: application.Target}, nil
	case err == nil && silent != nil:
		err = unseen(key, []string{cluster}, fmt.Errorf("cannot read whether the failover of its application moves %s: %w", key, silent))
	}
	return aimed{Target: s.sender().Target(cluster), also: func(_ context.Context, name string) string { return application.also(name) }}, err
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
	key, err := s.keyOf(ctx, ref)
	if _, known := ref.Key(); known {
		err = s.exist(ctx, status.HistoryRequest{Binding: key})
	}
	return queue.ScopeOf(key), err
}

// keyOf is the name of a binding. A workload is looked up in Karmada.
func (s *session) keyOf(ctx context.Context, ref subject.Ref) (karmada.BindingKey, error) {
	if key, known := ref.Key(); known {
		return key, nil
	}
	in, err := s.reader()
	if err != nil {
		return karmada.BindingKey{}, err
	}
	b, err := ref.Find(ctx, in)
	return b.Key, err
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
	binding := sync.OnceValues(func() (karmada.Binding, error) { return s.binding(ctx, key) })
	concerned, errs := make([]bool, len(running)), make([]error, len(running))
	status.Each(len(running), func(n int) {
		var x workflows.Explanation
		if x, errs[n] = source.Explain(ctx, running[n], workflows.ExplainRequest{Binding: key}); errs[n] == nil {
			concerned[n], errs[n] = concerns(&x, binding, held)
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
func concerns(x *workflows.Explanation, binding func() (karmada.Binding, error), held bool) (bool, error) {
	if x.Move != nil || x.Item != nil && x.Item.State != queue.Idle {
		return true, nil
	}
	if !x.Unlisted || held {
		return false, nil
	}
	b, err := binding()
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

// ofApplication is the failover of an application: whether it runs, and whether a migration of it does.
type ofApplication struct {
	orders.Target
	runs, moves bool
}

// applicationOf finds the failover of an application. With migration the target is the migration, where one runs. The
// error says why it is unknown.
func (s *session) applicationOf(ctx context.Context, key karmada.BindingKey, migration bool) (of ofApplication, err error) {
	of.Target = orders.Target{WorkflowID: workflows.ApplicationFailoverID(s.config.Instance, key), Name: key.String()}
	if of.runs, err = (process.Owners{Client: s.temporal.Client}).Running(ctx, of.WorkflowID); !of.runs {
		return of, err
	}
	answer, err := s.source().Application(ctx, key)
	of.moves = err == nil && answer.Move != nil
	if of.moves && migration {
		of.WorkflowID = workflows.BindingMigrationID(s.config.Instance, answer.Cluster, key)
	}
	return of, err
}

// also names the failover of an application, where one runs beside that of a cluster, which got the order.
func (of ofApplication) also(verb string) string {
	switch {
	case of.moves && verb != workflows.UpdateSkip && verb != workflows.UpdatePrioritise:
		return fmt.Sprintf("the failover of its application moves it, too: lifeboat %s %s, with the same flags", verb, of.Name)
	case of.runs:
		return "the failover of its application runs, too, and did not get this order"
	}
	return ""
}

// clusterAlso names the failovers of clusters that concern a binding, where that of its application got the order. Empty
// where there is none, or none that answers.
func (s *session) clusterAlso(ctx context.Context, verb string, key karmada.BindingKey) string {
	clusters, _ := s.concerning(ctx, key, false)
	if len(clusters) == 0 {
		return ""
	}
	return fmt.Sprintf("the failover of %s concerns it, too: lifeboat %s %s --cluster %s, with the same flags", strings.Join(clusters, " and "), verb, key, clusters[0])
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
