package k8sadapter

import (
	"context"
	"errors"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseLock is a Lease that says once when it cannot be had, and once when it can again.
// The elector, which uses it from one goroutine, says so at every try: see [quietElector].
type leaseLock struct {
	resourcelock.Interface
	log  *slog.Logger
	away bool
}

// Get reads the Lease.
func (l *leaseLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	l.heard(ctx, err)
	return record, raw, err
}

// Create makes the Lease.
func (l *leaseLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Create(ctx, record)
	l.heard(ctx, err)
	return err
}

// Update renews or gives up the Lease.
func (l *leaseLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Update(ctx, record)
	l.heard(ctx, err)
	return err
}

// heard logs a change of state. That another candidate was quicker is an answer like any other.
func (l *leaseLock) heard(ctx context.Context, err error) {
	switch {
	case errors.Is(err, context.Canceled):
		return
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		err = nil
	}
	if away := err != nil; away != l.away {
		l.away = away
		if away {
			l.log.WarnContext(ctx, "the lease cannot be had, trying again until it can", "lease", l.Describe(), "error", err)
		} else {
			l.log.InfoContext(ctx, "the lease can be had again", "lease", l.Describe())
		}
	}
}

// quietElector is a handler that drops the errors of the elector, which [leaseLock] tells.
type quietElector struct{ slog.Handler }

// Handle drops errors; logr asks nobody whether they are enabled.
func (h quietElector) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps them out below further attributes.
func (h quietElector) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietElector{h.Handler.WithAttrs(attrs)}
}

// WithGroup keeps them out below a group.
func (h quietElector) WithGroup(name string) slog.Handler {
	return quietElector{h.Handler.WithGroup(name)}
}
