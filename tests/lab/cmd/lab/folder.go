package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// lockFile marks a folder as a lab's and is locked by the lab that runs there.
// The kernel lets go of the lock when that process ends, however it ends.
const lockFile = "lab.lock"

// folder is a lab's folder while this process holds its lock.
type folder struct {
	path string
	lock *os.File
}

// errRunning says that another process holds the folder.
type errRunning struct {
	path string
	pid  int
}

func (e errRunning) Error() string {
	return fmt.Sprintf("a lab runs in %s already (process %d); stop it with `lab down --dir %s`", e.path, e.pid, e.path)
}

// claimFolder creates the folder, or takes over what a dead lab left there and
// empties it. A folder with anything else in it is refused: it will be removed.
func claimFolder(path string) (*folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("resolve folder of the lab: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("create folder of the lab: %w", err)
	}
	f, err := lockFolder(path, os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := f.recordPID(); err != nil {
		return nil, errors.Join(err, f.release())
	}
	return f, nil
}

// lockFolder locks an existing folder and empties it.
func lockFolder(path string, openFlags int) (*folder, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("look into folder of the lab: %w", err)
	}
	lockPath := filepath.Join(path, lockFile)
	if _, err := os.Stat(lockPath); errors.Is(err, os.ErrNotExist) && len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty and not a lab's folder: give another --dir", path)
	}
	lock, err := os.OpenFile(lockPath, os.O_RDWR|openFlags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock of the lab: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer lock.Close()
		return nil, errRunning{path: path, pid: readPID(lock)}
	}
	if err := stillThere(lock); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	f := &folder{path: path, lock: lock}
	if err := f.empty(); err != nil {
		return nil, errors.Join(err, f.release())
	}
	return f, nil
}

// stillThere refuses a lock file that was removed between opening and locking
// it: whoever comes next would lock another one.
func stillThere(lock *os.File) error {
	opened, err := lock.Stat()
	if err != nil {
		return fmt.Errorf("look at lock of the lab: %w", err)
	}
	current, err := os.Stat(lock.Name())
	if err != nil || !os.SameFile(opened, current) {
		return fmt.Errorf("%s is just being removed: try again", filepath.Dir(lock.Name()))
	}
	return nil
}

func (f *folder) empty() error {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return fmt.Errorf("look into folder of the lab: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == lockFile {
			continue
		}
		if err := os.RemoveAll(filepath.Join(f.path, entry.Name())); err != nil {
			return fmt.Errorf("empty folder of the lab: %w", err)
		}
	}
	return nil
}

func (f *folder) recordPID() error {
	if err := f.lock.Truncate(0); err != nil {
		return fmt.Errorf("record process id: %w", err)
	}
	_, err := f.lock.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	return err
}

func readPID(lock io.Reader) int {
	content, err := io.ReadAll(lock)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0
	}
	return pid
}

// release lets go of the folder and leaves its contents.
func (f *folder) release() error { return f.lock.Close() }

// remove deletes the folder with everything in it, then lets go. The lock goes
// last, so that nobody takes the folder for a former child's meanwhile.
func (f *folder) remove() error {
	err := errors.Join(f.empty(), os.Remove(f.lock.Name()))
	if err == nil {
		err = removeEmpty(f.path)
	}
	return errors.Join(err, f.lock.Close())
}

// removeEmpty removes a folder unless somebody has begun to use it again.
func removeEmpty(path string) error {
	err := os.Remove(path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTEMPTY) {
		return nil
	}
	return err
}
