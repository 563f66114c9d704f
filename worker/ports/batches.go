package ports

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// Failovers hands the reports of migrations to their failovers.
type Failovers struct {
	Client  client.Client
	Reports *Batches[activities.MigrationReport]
}

// Report hands a report over, in one message with others of this moment.
func (f Failovers) Report(ctx context.Context, failover string, r activities.MigrationReport) error {
	err := f.Reports.send(ctx, failover, r, func(ctx context.Context, all []activities.MigrationReport) error {
		return f.Client.SignalWorkflow(ctx, failover, "", workflows.SignalMigrationReports, workflows.MigrationReports{Reports: all})
	})
	if process.IsA[*serviceerror.NotFound](err) {
		return fmt.Errorf("%s: %w", failover, activities.ErrNotRunning)
	}
	return err
}

const (
	// batchDelay is how long messages are collected before they are sent: each costs the workflow
	// that gets it an event and a workflow task.
	batchDelay = 250 * time.Millisecond
	// batchTimeout bounds the sending.
	batchTimeout = 2 * time.Second
	// mostOfBatch and bytesOfBatch bound one batch; a message is never split.
	mostOfBatch  = 200
	bytesOfBatch = 500_000
)

// Batches send what many have to say to one workflow in one message. Each caller waits until its
// message was accepted.
type Batches[T any] struct {
	mu   sync.Mutex
	next map[string]*batch[T] // by workflow id
}

// batch is one message: done is closed once it was sent, or refused with err.
type batch[T any] struct {
	all   []T
	bytes int
	err   error
	done  chan struct{}
}

// send adds one to the next batch for a workflow. The first of a batch starts its sending, which
// does not end with its context.
func (b *Batches[T]) send(ctx context.Context, id string, one T, sendAll func(context.Context, []T) error) error {
	mine := b.join(ctx, id, one, sendAll)
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *Batches[T]) join(ctx context.Context, id string, one T, sendAll func(context.Context, []T) error) *batch[T] {
	size := workflows.SizeOf(one)
	b.mu.Lock()
	defer b.mu.Unlock()
	next := b.next[id]
	if next == nil || len(next.all) >= mostOfBatch || next.bytes+size > bytesOfBatch {
		next = &batch[T]{done: make(chan struct{})}
		if b.next == nil {
			b.next = map[string]*batch[T]{}
		}
		b.next[id] = next
		go b.sendLater(context.WithoutCancel(ctx), id, next, sendAll)
	}
	next.all, next.bytes = append(next.all, one), next.bytes+size
	return next
}

func (b *Batches[T]) sendLater(ctx context.Context, id string, mine *batch[T], sendAll func(context.Context, []T) error) {
	_ = Clock{}.Wait(ctx, batchDelay)
	b.mu.Lock()
	if b.next[id] == mine {
		delete(b.next, id)
	}
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	if err := sendAll(ctx, mine.all); err != nil {
		mine.err = fmt.Errorf("send %d messages to %s: %w", len(mine.all), id, err)
	}
	close(mine.done)
}
