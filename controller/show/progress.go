package show

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/view"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/wait"
)

// patience is how long something may take before a word is said about it.
const patience = time.Second

// Progress says on a terminal what is going on once that takes longer than a moment,
// and how far it is. Elsewhere it is silent: a log is no place for it.
type Progress struct {
	out   io.Writer // nil: silent
	after time.Duration
	mu    sync.Mutex
	what  string
	done  int
	total int
	began time.Time
	said  bool
}

// NewProgress is silent where out is no terminal.
func NewProgress(out io.Writer) *Progress {
	if !IsTerminal(out) {
		out = nil
	}
	return &Progress{out: out, after: patience}
}

// While does one thing, named in a few words, and takes its line away at the end.
func (p *Progress) While(ctx context.Context, what string, do func(context.Context) error) error {
	if p == nil || p.out == nil {
		return do(ctx)
	}
	p.mu.Lock()
	p.what, p.done, p.total, p.began, p.said = what, 0, 0, time.Now(), false
	p.mu.Unlock()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		p.keepSaying(stop)
	}()
	err := do(ctx)
	close(stop)
	<-stopped
	return err
}

// Step sets how far it is; a total of 0 is not known.
func (p *Progress) Step(done, total int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.done, p.total = done, total
	p.mu.Unlock()
}

func (p *Progress) keepSaying(stop <-chan struct{}) {
	ticker := time.NewTicker(p.after)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			if p.said {
				_, _ = io.WriteString(p.out, "\r"+clearRight)
			}
			return
		case <-ticker.C:
			_, _ = io.WriteString(p.out, "\r"+p.line()+clearRight)
			p.said = true
		}
	}
}

func (p *Progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	far := ""
	switch {
	case p.total > 0:
		far = fmt.Sprintf(" %d of %d", p.done, p.total)
	case p.done > 0:
		far = fmt.Sprintf(" %d", p.done)
	}
	return fmt.Sprintf("%s ...%s (%s)", p.what, far, view.Span(time.Since(p.began)))
}

// refresh is how often is asked again.
const refresh = 2 * time.Second

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// clearRight takes away what is left of a line.
const clearRight = "\x1b[K"

// Again shows until ctx ends, which is no error: the operator stopped it.
func Again(ctx context.Context, show func(context.Context) error) error {
	err := wait.PollUntilContextCancel(ctx, refresh, true, func(ctx context.Context) (bool, error) { return false, show(ctx) })
	if ctx.Err() == nil {
		return err
	}
	return nil // the operator stopped it
}
