package watch

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Karmada is what is watched.
type Karmada interface {
	// Run follows Karmada and calls the handlers that it was made with, until ctx ends.
	Run(ctx context.Context) error
	// HasSynced reports that everything has been seen once.
	HasSynced() bool
}

// Watcher watches for one term of leadership.
type Watcher struct {
	// Follow prepares following Karmada with handlers.
	Follow func(k8sadapter.Handlers) Karmada
	// Reports reports to Karmada's users what is wrong with their objects.
	Reports Reports
	// ExternalProbe probes members besides, nil when it is off.
	ExternalProbe *ExternalProbe
	// Recall reads the results of the external probe of earlier leaders.
	Recall func(ctx context.Context) (rules.Probed, error)
	Outbox *Outbox
	// Fresh is read before a failover is started; nil reads nothing.
	Fresh Fresh
	// Survey queries the failovers of those clusters until ctx ends; nil queries none.
	Survey   func(ctx context.Context, clusters func() []string)
	Owners   Owners
	Instance string
	Resync   time.Duration
	// OnDeletion says what a deletion timestamp on a cluster means.
	OnDeletion rules.DeletionPolicy
	Metrics    *telemetry.ControllerMetrics
	Log        *slog.Logger

	synced atomic.Bool
}

// syncPoll is how often a new watch checks whether it has seen everything.
const syncPoll = 100 * time.Millisecond

// Run watches until ctx ends, and returns when nothing is under way any more.
func (w *Watcher) Run(ctx context.Context) {
	router := NewRouter(w.Outbox)
	w.Outbox.Open(router)
	if w.Fresh != nil {
		w.Outbox.doubt = &doubt{now: w.Fresh, router: router, read: w.drained}
	}
	if w.ExternalProbe != nil {
		w.ExternalProbe.Begin()
		router.Hear(w.ExternalProbe)
		router.AwaitProbe()
	}
	karmada := w.Follow(w.handlers(router))
	var running sync.WaitGroup
	defer running.Wait()
	defer w.synced.Store(false)
	w.Metrics.Leader(true)
	defer w.Metrics.Leader(false)
	running.Go(func() { w.Outbox.Run(ctx) })
	running.Go(func() {
		if err := karmada.Run(ctx); err != nil {
			w.Log.ErrorContext(ctx, "cannot watch", telemetry.KeyError, err)
		}
	})
	if !w.awaitSync(ctx, karmada) {
		return
	}
	w.Log.InfoContext(ctx, "watching")
	if w.ExternalProbe != nil {
		running.Go(func() { w.testify(ctx, router) })
	}
	if w.Survey != nil {
		running.Go(func() { w.Survey(ctx, router.Open) })
	}
	w.resyncUntil(ctx, router)
}

// Watching reports whether this controller leads and has seen everything once.
func (w *Watcher) Watching() bool { return w.synced.Load() }

func (w *Watcher) handlers(router *Router) k8sadapter.Handlers {
	return k8sadapter.Handlers{
		OnCluster: func(old, current *karmada.Cluster) {
			if trouble := cmp.Or(current.Malformed, current.SoftMalformed); trouble != "" &&
				(old == nil || cmp.Or(old.Malformed, old.SoftMalformed) != trouble) {
				w.Metrics.Malformed("Cluster")
				w.Reports.MalformedCluster(current)
			}
			router.ClusterChanged(w.drained(old), w.drained(current))
		},
		OnClusterDeleted: router.ClusterDeleted,
		OnRules: func(rules []rules.Rule) {
			router.RulesChanged(rules)
		},
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

// drained reads a deletion timestamp as the configuration says.
func (w *Watcher) drained(c *karmada.Cluster) *karmada.Cluster {
	if c == nil || w.OnDeletion != rules.DeletionDrain {
		return c
	}
	read := *c
	read.Drain = karmada.DrainedByDeletion(read)
	return &read
}

func (w *Watcher) awaitSync(ctx context.Context, karmada Karmada) bool {
	err := wait.PollUntilContextCancel(ctx, syncPoll, true, func(context.Context) (bool, error) { return karmada.HasSynced(), nil })
	w.synced.Store(err == nil)
	return err == nil
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
