package secrecy

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// freshFor is how long a value is used without a check of the files.
const freshFor = time.Second

// files is a value that is read again when one of its files has changed.
type files[T any] struct {
	paths []string
	read  func() (T, error)
	log   *slog.Logger

	mu      sync.Mutex
	value   T
	stamp   string
	checked time.Time
	logged  string // the last error
}

// open reads the files for the first time, which must succeed; what is in them is for the error.
func open[T any](what string, log *slog.Logger, read func() (T, error), paths ...string) (*files[T], error) {
	f := &files[T]{paths: paths, read: read, log: log}
	if _, err := f.again(); err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return f, nil
}

// current is the value, at most freshFor old.
func (f *files[T]) current() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.checked) >= freshFor {
		f.refresh()
	}
	return f.value
}

// newest is the value after a check of the files.
func (f *files[T]) newest() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refresh()
	return f.value
}

// refresh reads again if a file has changed. After an error it retries with the next call: a
// write may be in progress.
func (f *files[T]) refresh() {
	changed, err := f.again()
	switch {
	case err != nil && err.Error() != f.logged:
		f.logged = err.Error()
		f.log.Warn("a secret has changed and cannot be read; the one before stays in use", "error", err)
	case err == nil && changed:
		f.logged = ""
		f.log.Info("read a secret again", "files", f.paths)
	}
}

func (f *files[T]) again() (changed bool, err error) {
	f.checked = time.Now()
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
