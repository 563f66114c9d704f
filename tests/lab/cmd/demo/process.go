package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// stopGrace is how long a program may take to stop before it is killed.
const stopGrace = 20 * time.Second

// program is a running child. The kernel kills it when the demo dies.
type program struct {
	name   string
	log    string
	cmd    *exec.Cmd
	exited chan struct{}
	err    error
}

// launch is what to start.
type launch struct {
	name   string
	binary string
	args   []string
	env    []string
	// stdout is nil to send it to the log with stderr.
	stdout io.Writer
	log    string
}

// start runs a program whose output goes to its log, in a process group of its own: Ctrl-C reaches the
// demo alone, which stops its children in order.
func start(l launch) (*program, error) {
	log, err := os.Create(l.log)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", l.name, err)
	}
	cmd := exec.Command(l.binary, l.args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = l.env, log, log
	if l.stdout != nil {
		cmd.Stdout = l.stdout
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p := &program{name: l.name, log: l.log, cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Pdeathsig is sent when the thread that started the child ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer log.Close()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", l.name, err)
	}
	return p, nil
}

// died says why the program ended by itself; nil while it runs.
func (p *program) died() error {
	select {
	case <-p.exited:
		return fmt.Errorf("%s ended (%v), see %s:\n%s", p.name, p.err, p.log, tail(p.log))
	default:
		return nil
	}
}

// stop asks the program to end, and kills it when it does not.
func (p *program) stop() error {
	if p == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(stopGrace):
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
	return fmt.Errorf("%s did not stop within %s and was killed, see %s", p.name, stopGrace, p.log)
}

// tail is the end of a log.
func tail(file string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-5):], "\n  ")
}

// environment is the caller's without anything that would send Lifeboat elsewhere.
func environment(extra ...string) []string {
	var kept []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "TEMPORAL_") || strings.HasPrefix(name, "LIFEBOAT_") || name == "KUBECONFIG" {
			continue
		}
		kept = append(kept, variable)
	}
	return append(kept, extra...)
}

func binary(dir, name string) string { return filepath.Join(dir, name) }
