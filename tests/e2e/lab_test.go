package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"
)

// roles are those that are deployed; in the lab nobody of Lifeboat has any other.
const roles = "../../deploy/rbac"

// member is a cluster of the lab, as `lab up --members-file` reads it.
type member struct {
	Name   string            `json:"name"`
	Region string            `json:"region,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	CPUs   int64             `json:"cpus,omitempty"` // 0 is plenty
	SameAs string            `json:"sameAs,omitempty"`
}

// laboratory is a running `lab up`.
type laboratory struct {
	*process
	stdin io.Closer
	At    place
}

// place is what `lab up -o json` says.
type place struct {
	Dir               string            `json:"dir"`
	Kubeconfig        string            `json:"kubeconfig"`
	Kubeconfigs       map[string]string `json:"kubeconfigs"`
	Etcd              string            `json:"etcd"`
	TemporalAddress   string            `json:"temporalAddress"`
	TemporalNamespace string            `json:"temporalNamespace"`
	AuditLog          string            `json:"auditLog"`
	ControlURL        string            `json:"controlURL"`
}

// knobs make the simulated Karmada as quick as it can be and stay believable: the
// order of what happens is that of the recordings.
var knobs = []string{
	"failureThreshold=1500ms", "successThreshold=1s", "workloadReadyAfter=500ms",
	"executionRetry=1s", "statefulFailoverInjection=true",
}

// quickness are the knobs of the world that the stories run in: a real Karmada cannot be as quick.
func quickness() []string {
	if *karmadaAt != "" {
		return []string{"statusPeriod=1s", "failureThreshold=2s", "successThreshold=2s", "executionRetry=1s", "statefulFailoverInjection=true"}
	}
	period := max(500*time.Millisecond, time.Duration(*benchClusters)*5*time.Millisecond) // 200 probes a second are enough
	return append([]string{"statusPeriod=" + period.String()}, knobs...)
}

// temporalDatabase is where the lab's Temporal keeps its state.
var temporalDatabase = flag.String("temporal-database", "sqlite", "database of the lab's Temporal: sqlite or postgres")

func startLab(ctx context.Context, folder string, members []member, flags []string) (*laboratory, error) {
	program, err := binary("lab")
	if err != nil {
		return nil, err
	}
	list, err := yaml.Marshal(members)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(folder, "members.yaml")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		return nil, err
	}
	args := []string{
		"up", "-o", "json", "--dir", filepath.Join(folder, "lab"), "--members-file", file,
		"--grant", roles, "--audit-reads", "--watch-stdin", "--no-ui", "--keep", "--temporal-database", *temporalDatabase,
	}
	if *chaosTo != "" {
		args = append(args, "--durable") // its servers are killed
	}
	if *karmadaAt != "" {
		args = append(args, "--karmada", *karmadaAt)
	}
	for _, knob := range quickness() {
		args = append(args, "--knob", knob)
	}
	args = append(args, flags...)
	return runLab(ctx, exec.Command(program, args...), filepath.Join(folder, "lab.log")) //nolint:gosec,noctx // Lifeboat's own program; it ends with its stdin
}

func runLab(ctx context.Context, cmd *exec.Cmd, log string) (*laboratory, error) {
	l := &laboratory{}
	var err error
	if l.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()  //nolint:errcheck // the child has its own
	defer out.Close() //nolint:errcheck // one line is all
	cmd.Stdout = in
	if l.process, err = launch("the lab", log, cmd); err != nil {
		return nil, err
	}
	said := make(chan []byte, 1)
	go func() {
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err == nil {
			said <- line
		}
	}()
	select {
	case line := <-said:
		return l, json.Unmarshal(line, &l.At)
	case <-l.done:
		return nil, l.ended()
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), l.kill())
	}
}

// close ends the lab; it stops its servers in order.
func (l *laboratory) close() error {
	if err := l.ended(); err != nil {
		return err
	}
	err := l.stdin.Close()
	<-l.done
	return errors.Join(err, l.end)
}

// ask reads what the lab says of itself.
func (l *laboratory) ask(ctx context.Context, what string, into any) error {
	_, answer, err := fetch(ctx, http.DefaultClient, l.At.ControlURL+"/"+what)
	if err != nil {
		return fmt.Errorf("ask the lab for %s: %w", what, err)
	}
	return json.Unmarshal([]byte(answer), into)
}

// control changes the lab over HTTP, as `lab kill` and its siblings do.
func (l *laboratory) control(ctx context.Context, verb, name string, body any) error {
	path := l.At.ControlURL + "/" + verb
	if name != "" {
		path += "?" + url.Values{"member": {name}}.Encode()
	}
	if err := postTo(ctx, path, body, nil); err != nil {
		return fmt.Errorf("%s %s: %w", verb, name, err)
	}
	return nil
}

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

// postTo posts JSON, and reads the JSON of the answer into one that is given.
func postTo(ctx context.Context, url string, body, answer any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(content))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	if response.StatusCode != http.StatusOK {
		said, err := io.ReadAll(response.Body)
		return errors.Join(err, fmt.Errorf("%s answered %s: %s", url, response.Status, said))
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
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
