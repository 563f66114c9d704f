package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/ledger"
)

// statusPeriod is how often Lifeboat is asked how a failover stands.
const statusPeriod = 500 * time.Millisecond

// errLate is returned when what an act waited for did not happen in time.
var errLate = errors.New("did not happen in time")

// feed brings what the ledger saw and what Lifeboat says to one place.
type feed struct {
	entries  chan ledger.Entry
	statuses chan told
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	watched []string
}

type told struct {
	cluster string
	status  *status
}

// listen begins to feed; the first entry is the one after the given.
func listen(ctx context.Context, l *lab, b *lifeboat, after int) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{entries: make(chan ledger.Entry, 1000), statuses: make(chan told), cancel: cancel}
	f.running.Go(func() { f.follow(ctx, l, after) })
	f.running.Go(func() { f.ask(ctx, b) })
	return f
}

func (f *feed) stop() {
	f.cancel()
	f.running.Wait()
}

// watch asks for one more cluster's failover from now on, and only for the newest one.
func (f *feed) watch(clusters ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watched = clusters
}

func (f *feed) follow(ctx context.Context, l *lab, after int) {
	for ctx.Err() == nil {
		entries, err := l.timeline(ctx, after)
		if err != nil {
			pause(ctx, statusPeriod) // the lab's end is noticed by who waits for the story
			continue
		}
		for _, e := range entries {
			after = e.Seq
			select {
			case f.entries <- e:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (f *feed) ask(ctx context.Context, b *lifeboat) {
	for ctx.Err() == nil {
		f.mu.Lock()
		clusters := f.watched
		f.mu.Unlock()
		for _, cluster := range clusters {
			s, err := b.status(ctx, cluster)
			if err != nil || s == nil {
				continue // asked again; silence ends by the act's deadline
			}
			select {
			case f.statuses <- told{cluster, s}:
			case <-ctx.Done():
				return
			}
		}
		pause(ctx, statusPeriod)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// until tells the story until done says so. What the demo started must live meanwhile.
func (d *demo) until(ctx context.Context, what string, limit time.Duration, done func() bool) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case e := <-d.feed.entries:
			d.story.happened(e)
			if err := d.interfere(ctx, e); err != nil {
				return err
			}
		case t := <-d.feed.statuses:
			d.story.said(t.cluster, t.status)
		case now := <-tick.C:
			d.story.flush(now)
			if err := d.lifeboat.died(); err != nil {
				return err
			}
		case <-deadline.C:
			return fmt.Errorf("%s: %w (%s)", what, errLate, limit)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
