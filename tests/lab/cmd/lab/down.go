package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// down stops the lab in dir, if one runs, and removes the folder. It returns
// when the servers are gone.
func down(ctx context.Context, dir string) error {
	path, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("resolve folder of the lab: %w", err)
	}
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for asked := false; ; asked = true {
		pid, err := removeUnlessRunning(path)
		if err != nil || pid == 0 {
			return err
		}
		if err := askToStop(pid, asked); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the lab in %s is still stopping: %w", path, ctx.Err())
		case <-poll.C:
		}
	}
}

// removeUnlessRunning removes the folder of a lab that has ended, or returns the
// process id of the one that runs there.
func removeUnlessRunning(path string) (pid int, err error) {
	f, err := lockFolder(path, 0)
	var running errRunning
	switch {
	case err == nil:
		return 0, f.remove()
	case errors.As(err, &running) && running.pid != 0:
		return running.pid, nil
	case errors.Is(err, os.ErrNotExist):
		// No lab was here, or the lab itself has just removed everything.
		return 0, nil
	}
	return 0, err
}

func askToStop(pid int, asked bool) error {
	if asked {
		return nil
	}
	err := syscall.Kill(pid, syscall.SIGTERM)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop the lab (process %d): %w", pid, err)
	}
	return nil
}
