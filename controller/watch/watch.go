// Package watch turns what happens in Karmada into signals to workflows, and
// starts one ClusterFailover per cluster that looks failed.
//
// It decides by the pure rules which workflow gets a fact, and nothing else: it writes nothing
// to Karmada, keeps no time, and a doubled or stale watch does no harm, because
// every fact carries uid and resourceVersion and every decision re-reads. It is
// level-triggered: a resync sends again what was missed, or could not be sent.
package watch

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Karmada is a watch of Karmada's objects.
type Karmada interface {
	// Run calls the handlers that it was made with, until ctx ends.
	Run(ctx context.Context) error
	// HasSynced reports that the handlers got every object once.
	HasSynced() bool
	// ClustersSynced reports that they got every cluster once.
	ClustersSynced() bool
}

// Watcher watches for one term of leadership.
type Watcher struct {
	// Follow makes a watch with handlers.
	Follow  func(k8sadapter.Handlers) Karmada
	Reports *Reports
	// ExternalProbe is nil when it is off.
	ExternalProbe *ExternalProbe
	// Recall reads the results of the external probe of earlier leaders.
	Recall func(ctx context.Context) (rules.Probed, error)
	Outbox *Outbox
	// Fresh is read before a failover is started; nil reads nothing.
	Fresh Fresh
	// Survey queries the failovers of these clusters until ctx ends; nil queries none.
	Survey   func(ctx context.Context, clusters func() []string)
	Owners   activities.Owners
	Instance string
	Resync   time.Duration
	// Applications: failovers of applications are started.
	Applications bool
	Metrics      *telemetry.ControllerMetrics
	Log          *slog.Logger
}

// syncPoll is how often a new watch is checked for whether it has synced.
const syncPoll = 100 * time.Millisecond

// Run watches until ctx ends, and returns once everything that it started has ended.
func (w *Watcher) Run(ctx context.Context) {
	router := NewRouter(w.Outbox)
	w.Outbox.Open(router)
	if w.Applications {
		router.FollowApplications()
	}
	if w.Fresh != nil {
		w.Outbox.startCheck = &startCheck{now: w.Fresh, router: router}
	}
	if w.ExternalProbe != nil {
		w.ExternalProbe.Begin()
		router.UseProbe(w.ExternalProbe, true)
	}
	karmada := w.Follow(w.handlers(router))
	var running sync.WaitGroup
	defer running.Wait()
	w.Metrics.Leader(true)
	defer w.Metrics.Leader(false)
	running.Go(func() { w.Outbox.Run(ctx) })
	running.Go(func() {
		if err := karmada.Run(ctx); err != nil {
			w.Log.ErrorContext(ctx, "cannot watch", telemetry.KeyError, err)
		}
	})
	if !await(ctx, karmada.ClustersSynced) {
		return
	}
	if w.ExternalProbe != nil { // it waits for no binding: the first facts about clusters wait for it
		running.Go(func() { w.probe(ctx, router) })
	}
	if !await(ctx, karmada.HasSynced) {
		return
	}
	w.Log.InfoContext(ctx, "watching")
	if w.Survey != nil {
		running.Go(func() { w.Survey(ctx, router.Open) })
	}
	w.resyncUntil(ctx, router)
}

// await polls until a condition holds, and reports whether it does before ctx ends.
func await(ctx context.Context, holds func() bool) bool {
	return wait.PollUntilContextCancel(ctx, syncPoll, true, func(context.Context) (bool, error) { return holds(), nil }) == nil
}

func (w *Watcher) handlers(router *Router) k8sadapter.Handlers {
	return k8sadapter.Handlers{
		OnCluster: func(old, current *karmada.Cluster) {
			problem := cmp.Or(current.Malformed, current.SoftMalformed)
			if problem != "" && (old == nil || cmp.Or(old.Malformed, old.SoftMalformed) != problem) {
				w.Metrics.Malformed("Cluster")
				w.Reports.MalformedCluster(current)
			}
			router.ClusterChanged(old, current)
		},
		OnClusterDeleted: router.ClusterDeleted,
		OnRules:          router.RulesChanged,
		OnBinding: func(old, current *karmada.Binding) {
			if current.Malformed != "" && (old == nil || old.Malformed != current.Malformed) {
				w.Metrics.Malformed(string(current.Key.Kind()))
				w.Reports.MalformedBinding(current)
			}
			router.BindingChanged(old, current)
		},
		OnBindingDeleted: router.BindingDeleted,
	}
}

func (w *Watcher) resyncUntil(ctx context.Context, router *Router) {
	failed := false
	wait.NonSlidingUntilWithContext(ctx, func(ctx context.Context) {
		err := router.Resync(ctx, w.Owners, w.Instance)
		switch {
		case err == nil && failed:
			w.Log.InfoContext(ctx, "resynced again")
		case err != nil && !failed && ctx.Err() == nil:
			w.Log.WarnContext(ctx, "could not resync, trying again", telemetry.KeyError, err)
		}
		failed = err != nil
		w.Metrics.Resync(!failed)
		w.Reports.Rules(ctx, router.RuleMatches())
	}, w.Resync)
}
