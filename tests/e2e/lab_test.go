package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"

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
	TemporalAddress   string            `json:"temporalAddress"`
	TemporalNamespace string            `json:"temporalNamespace"`
	AuditLog          string            `json:"auditLog"`
	ControlURL        string            `json:"controlURL"`
}

// knobs make the simulated Karmada as quick as it can be and stay believable: the
// order of what happens is that of the recordings.
var knobs = []string{
	"statusPeriod=500ms", "failureThreshold=1500ms", "successThreshold=1s", "workloadReadyAfter=500ms",
	"executionRetry=1s", "statefulFailoverInjection=true",
}

// quickness are the knobs of the world that the stories run in: a real Karmada cannot be as quick.
func quickness() []string {
	if *karmadaAt != "" {
		return []string{"statusPeriod=1s", "failureThreshold=2s", "successThreshold=2s", "executionRetry=1s", "statefulFailoverInjection=true"}
	}
	return knobs
}

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
		"--grant", roles, "--audit-reads", "--watch-stdin", "--no-ui", "--keep",
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
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", verb, name, err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	if response.StatusCode != http.StatusOK {
		answer, err := io.ReadAll(response.Body)
		return errors.Join(err, fmt.Errorf("%s %s: the lab answered %s: %s", verb, name, response.Status, answer))
	}
	return nil
}
