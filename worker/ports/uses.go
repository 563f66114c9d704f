package ports

import (
	"context"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/workflows"
)

// gather is for how long evictions are gathered before the pacer is told of them: each message
// costs it a workflow task.
const gather = 250 * time.Millisecond

// mostUses is how many evictions one message tells of.
const mostUses = 200

// Uses gathers the evictions that stand, and tells the pacer of many at once. Whoever tells of
// one waits until its message was taken.
type Uses struct {
	mu   sync.Mutex
	next *batch
}

// batch is one message: done is closed once it was sent, or refused with err.
type batch struct {
	uses []workflows.PermitUse
	err  error
	done chan struct{}
}

// tell adds one, and sends them all where it is the first: the message is sent with the context
// of none of them.
func (u *Uses) tell(ctx context.Context, use workflows.PermitUse, send func(context.Context, []workflows.PermitUse) error) error {
	b := u.join(ctx, use, send)
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (u *Uses) join(ctx context.Context, use workflows.PermitUse, send func(context.Context, []workflows.PermitUse) error) *batch {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.next == nil || len(u.next.uses) >= mostUses {
		u.next = &batch{done: make(chan struct{})}
		go u.sendLater(context.WithoutCancel(ctx), u.next, send)
	}
	u.next.uses = append(u.next.uses, use)
	return u.next
}

func (u *Uses) sendLater(ctx context.Context, b *batch, send func(context.Context, []workflows.PermitUse) error) {
	_ = Clock{}.Wait(ctx, gather)
	u.mu.Lock()
	if u.next == b {
		u.next = nil
	}
	u.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	b.err = send(ctx, b.uses)
	close(b.done)
}
