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
	"slices"
	"strings"
	"syscall"
	"time"
)

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
