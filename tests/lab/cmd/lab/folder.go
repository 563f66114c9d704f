package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
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
	locked := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == lockFile })
	if !locked && len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty and not a lab's folder: give another --dir", path)
	}
	lockPath := filepath.Join(path, lockFile)
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
// last, so that nobody takes the folder for another's meanwhile.
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

// state is what `lab up -o json` prints and lab.json holds: where everything is.
type state struct {
	Dir string `json:"dir"`
	PID int    `json:"pid"`
	// Kubeconfig is the administrator's.
	Kubeconfig string `json:"kubeconfig"`
	// Kubeconfigs are those of Lifeboat's users: controller, worker, operator, viewer, setup.
	Kubeconfigs       map[string]string `json:"kubeconfigs"`
	APIServer         string            `json:"apiServer"`
	Etcd              string            `json:"etcd"`
	TemporalAddress   string            `json:"temporalAddress"`
	TemporalNamespace string            `json:"temporalNamespace"`
	// TemporalDatabase is a PostgreSQL URL, as psql takes it; empty for SQLite.
	TemporalDatabase string `json:"temporalDatabase,omitempty"`
	// UIURL is Temporal's web UI; empty with --no-ui.
	UIURL      string        `json:"uiURL,omitempty"`
	AuditLog   string        `json:"auditLog"`
	ControlURL string        `json:"controlURL"`
	Members    []memberState `json:"members"`
}

// memberState names a member cluster and its real readiness endpoint.
type memberState struct {
	Name   string `json:"name"`
	Readyz string `json:"readyz"`
}

const stateFile = "lab.json"

func (s state) save() error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", stateFile, err)
	}
	// Renamed into place: nobody reads half a file.
	partial := filepath.Join(s.Dir, stateFile+".partial")
	if err := os.WriteFile(partial, append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", stateFile, err)
	}
	return os.Rename(partial, filepath.Join(s.Dir, stateFile))
}

func loadState(dir string) (state, error) {
	content, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, os.ErrNotExist) {
		return state{}, fmt.Errorf("no lab is up in %s (start one with `lab up`)", dir)
	}
	if err != nil {
		return state{}, fmt.Errorf("read state of the lab: %w", err)
	}
	var s state
	if err := json.Unmarshal(content, &s); err != nil {
		return state{}, fmt.Errorf("decode %s in %s: %w", stateFile, dir, err)
	}
	return s, nil
}

// detach starts `lab up` as a process of its own session, shows its progress,
// and returns when that lab is ready.
func detach(ctx context.Context, o upOptions, stdout io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own binary: %w", err)
	}
	// A file, not a pipe: the lab goes on writing when nobody reads any more.
	progress, err := os.CreateTemp("", "lab-progress-*")
	if err != nil {
		return fmt.Errorf("create progress file: %w", err)
	}
	defer progress.Close()
	defer os.Remove(progress.Name())

	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(arg string) bool {
		return arg == "--detach" || strings.HasPrefix(arg, "--detach=")
	})
	child := exec.Command(self, append(args, "--output=json", "--detach=false")...)
	child.Stderr = progress
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	ready, err := child.StdoutPipe()
	if err != nil {
		return fmt.Errorf("connect to the lab: %w", err)
	}
	if err := child.Start(); err != nil {
		return fmt.Errorf("start the lab: %w", err)
	}
	stopWatching := context.AfterFunc(ctx, func() { _ = child.Process.Signal(syscall.SIGTERM) })
	defer stopWatching()
	stopShowing := show(progress.Name())
	line, readErr := bufio.NewReader(ready).ReadBytes('\n')
	stopShowing()
	if readErr != nil {
		return errors.Join(errors.New("the lab did not start"), child.Wait())
	}
	var s state
	if err := json.Unmarshal(line, &s); err != nil {
		return fmt.Errorf("decode what the lab said: %w", err)
	}
	return announce(stdout, o.output, s)
}

// show copies what is appended to file to stderr until the returned function is
// called, which copies the rest.
func show(file string) (stop func()) {
	done, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		reader, err := os.Open(file)
		if err != nil {
			return
		}
		defer reader.Close()
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			_, _ = io.Copy(os.Stderr, reader)
			select {
			case <-tick.C:
			case <-done:
				_, _ = io.Copy(os.Stderr, reader)
				return
			}
		}
	}()
	return func() { close(done); <-finished }
}
