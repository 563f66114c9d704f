package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// logTailBytes is how much of a dead child's log its error quotes.
const logTailBytes = 2000

// Command describes a child process.
type Command struct {
	Name    string
	Binary  string
	Args    []string
	LogFile string
	// Env is nil for a server: what the caller's environment says about proxies, Kubernetes or Temporal must not reach
	// it.
	Env []string
	// As is another account to run with; nil is this process' own.
	As *syscall.SysProcAttr
	// StopSignal asks it to end; nil is SIGTERM.
	StopSignal os.Signal
	// Stdout is nil to send it to the log with stderr.
	Stdout io.Writer
	// again: it ran before, and its log goes on.
	again bool
}

// Process is a running child. It is killed by the kernel when this process dies.
type Process struct {
	name    string
	logFile string
	cmd     *exec.Cmd

	// child and ready start it again as it was.
	child Command
	ready probe

	// exited is closed after the child is gone and exitErr is set.
	exited  chan struct{}
	exitErr error

	mu       sync.Mutex
	stopping bool
}

// StartProcess starts a child whose output goes to its log file.
func StartProcess(c Command) (*Process, error) {
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if !c.again {
		flags |= os.O_TRUNC
	}
	log, err := os.OpenFile(c.LogFile, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", c.Name, err)
	}
	cmd := exec.Command(c.Binary, c.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if cmd.Env = c.Env; cmd.Env == nil {
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir()}
	}
	// A process group of its own keeps the terminal's Ctrl-C from it: this
	// process stops its children itself, in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if c.As != nil {
		cmd.SysProcAttr.Credential, cmd.SysProcAttr.AmbientCaps = c.As.Credential, c.As.AmbientCaps
	}

	p := &Process{name: c.Name, logFile: c.LogFile, cmd: cmd, child: c, exited: make(chan struct{})}
	started := make(chan error)
	go p.run(log, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	return p, nil
}

// run starts the child and waits for its end on one locked thread: Pdeathsig is
// sent when the thread that started the child ends, not the process.
func (p *Process) run(log io.Closer, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer log.Close()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.exitErr = p.cmd.Wait()
	close(p.exited)
}

// PID returns the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Name returns what the child is called in messages, e.g. "etcd".
func (p *Process) Name() string { return p.name }

// Died returns why the child ended although nobody asked it to, with the last
// lines of its log, or nil while it runs or after stop.
func (p *Process) Died() error {
	select {
	case <-p.exited:
	default:
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		return nil
	}
	reason := "exit status 0"
	if p.exitErr != nil {
		reason = p.exitErr.Error()
	}
	return fmt.Errorf("%s died (%s); the end of %s:\n%s", p.name, reason, p.logFile, p.logTail())
}

// ErrKilled says that a child did not end in time.
var ErrKilled = errors.New("did not stop in time and was killed")

// Stop asks the child to end and kills it after grace. It returns when the
// child is gone.
func (p *Process) Stop(grace time.Duration) error {
	p.stops()
	var signal os.Signal = syscall.SIGTERM
	if p.child.StopSignal != nil {
		signal = p.child.StopSignal
	}
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(grace):
	}
	return errors.Join(fmt.Errorf("%s, see %s: %w", p.name, p.logFile, ErrKilled), p.crash())
}

// crash kills the child as a power cut would, and is not taken for a failure.
func (p *Process) crash() error {
	p.stops()
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.exited
	return nil
}

func (p *Process) stops() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopping = true
}

// Exited is closed when the child is gone.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// waitReady polls ready until it returns nil, and gives up when the child dies
// or ctx ends; the last answer is part of the error then.
func (p *Process) waitReady(ctx context.Context, ready func(context.Context) error) error {
	const pollEvery = 50 * time.Millisecond
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		err := p.probe(ctx, ready)
		if died := p.Died(); died != nil {
			return died
		}
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w (%w); its log: %s", p.name, err, context.Cause(ctx), p.logFile)
		case <-poll.C:
		}
	}
}

// probe asks once. Whoever took the child's port may accept and never answer:
// it does not wait longer than the child lives, nor for ever.
func (p *Process) probe(ctx context.Context, ready func(context.Context) error) error {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	go func() {
		select {
		case <-p.exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ready(ctx)
}

// logTail returns the last whole lines of the child's log.
func (p *Process) logTail() string {
	content, err := os.ReadFile(p.logFile)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	if len(content) > logTailBytes {
		content = content[len(content)-logTailBytes:]
		if _, rest, found := bytes.Cut(content, []byte("\n")); found {
			content = rest
		}
	}
	return string(content)
}

// freePorts returns n different free TCP ports of 127.0.0.1. All are held until
// the last is found. Another process may still take one before its server binds
// it: callers start again with new ports when that happens.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close()
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// worthAnotherTry reports whether a server that died at its start may do better on
// other ports: somebody else took its port between Lifeboat's finding it free and the
// server binding it, or it died without a word, before it had come to serving.
func worthAnotherTry(log string) bool {
	return strings.TrimSpace(log) == "" || strings.Contains(strings.ToLower(log), "address already in use")
}

func hostPort(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
