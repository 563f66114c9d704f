package secrecy

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// glance is how long what was read is taken as new without looking at the files again.
const glance = time.Second

// files are files that are read again when one of them has changed.
type files[T any] struct {
	paths []string
	read  func() (T, error)
	log   *slog.Logger

	mu     sync.Mutex
	value  T
	stamp  string
	looked time.Time
	said   string // the error that was logged last
}

// open reads them for the first time; that must succeed.
func open[T any](log *slog.Logger, read func() (T, error), paths ...string) (*files[T], error) {
	f := &files[T]{paths: paths, read: read, log: log}
	if _, err := f.again(); err != nil {
		return nil, err
	}
	return f, nil
}

// current is what they hold, at most a glance old.
func (f *files[T]) current() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) >= glance {
		f.look()
	}
	return f.value
}

// newest is what they hold now.
func (f *files[T]) newest() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	return f.value
}

// look reads again if something has changed. What cannot be read is tried again with
// the next look: somebody may be in the middle of writing it.
func (f *files[T]) look() {
	changed, err := f.again()
	switch {
	case err != nil && err.Error() != f.said:
		f.said = err.Error()
		f.log.Warn("a secret has changed and cannot be read; the one before holds on", "error", err)
	case err == nil && changed:
		f.said = ""
		f.log.Info("read a secret again", "files", f.paths)
	}
}

func (f *files[T]) again() (changed bool, err error) {
	f.looked = time.Now()
	stamp := ""
	for _, path := range f.paths {
		info, err := os.Stat(path)
		if err != nil {
			return false, err // which names the file
		}
		stamp += fmt.Sprintf("%d %d;", info.ModTime().UnixNano(), info.Size())
	}
	if stamp == f.stamp {
		return false, nil
	}
	value, err := f.read()
	if err != nil {
		return false, err
	}
	f.value, f.stamp = value, stamp
	return true, nil
}
