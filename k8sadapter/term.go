package k8sadapter

import (
	"context"
	"fmt"
	"sync"
)

// term is one time in office.
type term struct {
	ctx context.Context // the caller's
	run func(ctx context.Context)
	end context.CancelFunc // of the campaign; it gives the Lease up

	mutex            sync.Mutex
	began, withdrawn bool
	lost             bool
	over             chan struct{} // closed when run has returned
}

// lead runs what only a leader may run. leading ends when the Lease is lost.
func (t *term) lead(leading context.Context) {
	defer t.end()
	defer close(t.over)
	if !t.begin() {
		return
	}
	running, cancel := context.WithCancel(leading)
	defer cancel()
	stop := context.AfterFunc(t.ctx, cancel)
	defer stop()
	t.run(running)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.lost = leading.Err() != nil
}

// begin is false when the caller went away before this candidate led.
func (t *term) begin() bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.began = !t.withdrawn
	return t.began
}

// withdraw ends a campaign that has not been won; a leader first ends its run.
func (t *term) withdraw() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.withdrawn = true
	if !t.began {
		t.end()
	}
}

// outcome waits for run, which may still be ending after the Lease was lost. A run
// that has not begun by now never does.
func (t *term) outcome(cfg LeaderConfig) error {
	t.mutex.Lock()
	began := t.began
	t.withdrawn = true
	t.mutex.Unlock()
	lost := t.ctx.Err() == nil
	if began {
		<-t.over
		t.mutex.Lock()
		lost = t.lost
		t.mutex.Unlock()
	}
	if lost {
		return fmt.Errorf("lead %s/%s: %w", cfg.Namespace, cfg.Name, ErrLeadershipLost)
	}
	return nil
}
