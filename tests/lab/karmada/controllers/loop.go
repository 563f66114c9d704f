package controllers

import (
	"context"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
)

// reconcile brings one object in order. A positive duration asks for another look after that time.
type reconcile func(ctx context.Context, key string) (time.Duration, error)

// loop works off a queue of keys. A key is never worked on by two workers at once.
type loop struct {
	name    string
	workers int
	act     reconcile
	queue   workqueue.TypedRateLimitingInterface[string]
	log     *slog.Logger
}

func newLoop(name string, workers int, log *slog.Logger, act reconcile) *loop {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, 2*time.Second)
	return &loop{
		name: name, workers: workers, act: act, log: log.With("controller", name),
		queue: workqueue.NewTypedRateLimitingQueue(limiter),
	}
}

func (l *loop) add(key string) { l.queue.Add(key) }

func (l *loop) addAfter(key string, delay time.Duration) { l.queue.AddAfter(key, delay) }

// run works until the context ends.
func (l *loop) run(ctx context.Context, running *sync.WaitGroup) {
	for range l.workers {
		running.Go(func() {
			for l.next(ctx) {
			}
		})
	}
	running.Go(func() {
		<-ctx.Done()
		l.queue.ShutDown()
	})
}

func (l *loop) next(ctx context.Context) bool {
	key, shutdown := l.queue.Get()
	if shutdown {
		return false
	}
	defer l.queue.Done(key)
	again, err := l.act(ctx, key)
	switch {
	case err != nil && ctx.Err() == nil:
		l.complain(key, err)
		l.queue.AddRateLimited(key)
	case again > 0:
		l.queue.Forget(key)
		l.queue.AddAfter(key, again)
	default:
		l.queue.Forget(key)
	}
	return true
}

// complain logs an error; those that a second look settles are no news.
func (l *loop) complain(key string, err error) {
	level := slog.LevelWarn
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		level = slog.LevelDebug
	}
	l.log.Log(context.Background(), level, "trying again", "key", key, "error", err)
}
