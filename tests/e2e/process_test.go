package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// bin is where make puts the binaries.
const bin = "../../bin"

// binary is the absolute path of a built program.
func binary(name string) (string, error) {
	path, err := filepath.Abs(filepath.Join(bin, name))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is not built, run `make lab-bin build`: %w", path, err)
	}
	return path, nil
}

// process is a running program whose output goes to a file.
type process struct {
	name string
	log  string // file
	cmd  *exec.Cmd
	url  string // of its own endpoints
	// done is closed when it has ended; end is how.
	done chan struct{}
	end  error
}

// launch starts a program that dies with this one.
func launch(name, log string, cmd *exec.Cmd) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // the child has its own descriptor
	if cmd.Stdout == nil {
		cmd.Stdout = file
	}
	cmd.Stderr = file
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{name: name, log: log, cmd: cmd, done: make(chan struct{})}
	go func() {
		p.end = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// ended tells how the program ended, nil while it runs.
func (p *process) ended() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended by itself (%s); its log ends with:\n%s", p.name, p.cmd.ProcessState, tail(p.log, 40))
	default:
		return nil
	}
}

// stop ends it in order and says when that did not go well.
func (p *process) stop() error {
	if err := p.ended(); err != nil {
		return err
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("ask %s to stop: %w", p.name, err)
	}
	select {
	case <-p.done:
		if p.end != nil {
			return fmt.Errorf("%s did not stop well: %w; its log ends with:\n%s", p.name, p.end, tail(p.log, 40))
		}
		return nil
	case <-time.After(time.Minute):
		return errors.Join(fmt.Errorf("%s did not stop within a minute", p.name), p.kill())
	}
}

// kill is kill -9.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// ready waits until the program says so on its own endpoint.
func (p *process) ready(ctx context.Context, by *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if err := p.ended(); err != nil {
			return err
		}
		last := ask(ctx, by, url)
		if last == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready (%s); its log ends with:\n%s", p.name, last, tail(p.log, 40))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ask says why an endpoint does not answer with 200, empty when it does.
func ask(ctx context.Context, by *http.Client, url string) string {
	status, body, err := fetch(ctx, by, url)
	switch {
	case err != nil:
		return err.Error()
	case status != http.StatusOK:
		return fmt.Sprintf("%d: %s", status, body)
	}
	return ""
}

// fetch is what an endpoint answers.
func fetch(ctx context.Context, by *http.Client, url string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := by.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

// freeAddress is a port that nobody listens on right now.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close() //nolint:errcheck // given away on purpose
	return listener.Addr().String(), nil
}

// tail is the end of a text file.
func tail(file string, lines int) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
