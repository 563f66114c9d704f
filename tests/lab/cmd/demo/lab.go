package main

import (
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
	"strconv"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/ledger"
	"github.com/lifeboat-failover/lifeboat/tests/lab/server"
	"sigs.k8s.io/yaml"
)

// lab is the running laboratory.
type lab struct {
	*server.Process
	where
}

// where is what `lab up -o json` says, as far as the demo needs it.
type where struct {
	Dir               string            `json:"dir"`
	Kubeconfig        string            `json:"kubeconfig"`
	Kubeconfigs       map[string]string `json:"kubeconfigs"`
	TemporalAddress   string            `json:"temporalAddress"`
	TemporalNamespace string            `json:"temporalNamespace"`
	UIURL             string            `json:"uiURL"`
	ControlURL        string            `json:"controlURL"`
	Members           []struct {
		Name string `json:"name"`
	} `json:"members"`
}

// startLab returns when the laboratory is ready.
func startLab(ctx context.Context, o options) (*lab, error) {
	output, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer output.Close()
	l := &lab{}
	args := []string{
		"up", "-o", "json", "--ledger", "--dir", filepath.Join(o.dir, "lab"), "--bin", o.bin, "--members", "6", "--grant", o.deploy,
	}
	if o.karmada != "" {
		args = append(args, "--karmada", o.karmada)
	}
	l.Process, err = server.StartProcess(server.Command{
		Name: "lab", Binary: binary(o.bin, "lab"), Args: args, Env: environment(), Stdout: write, LogFile: filepath.Join(o.dir, "lab.log"),
	})
	write.Close()
	if err != nil {
		return nil, err
	}
	ready := make(chan error, 1)
	go func() { ready <- json.NewDecoder(output).Decode(&l.where) }()
	select {
	case err = <-ready:
		if err != nil {
			<-l.Exited()
			return nil, l.Died()
		}
		return l, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), stop(l.Process))
	}
}

// do sends a request to the lab's control server and decodes the answer into result when not nil.
func (l *lab) do(ctx context.Context, method, path string, body, result any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode request %s: %w", path, err)
	}
	request, err := http.NewRequestWithContext(ctx, method, l.ControlURL+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the lab: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the lab's answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the lab refused %s: %s", path, answer)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer, result)
}

func (l *lab) kill(ctx context.Context, member string) error {
	return l.do(ctx, http.MethodPost, "/kill?member="+url.QueryEscape(member), nil, nil)
}

func (l *lab) revive(ctx context.Context, member string) error {
	return l.do(ctx, http.MethodPost, "/revive?member="+url.QueryEscape(member), nil, nil)
}

func (l *lab) knobs(ctx context.Context, changes map[string]any) error {
	return l.do(ctx, http.MethodPost, "/knobs", changes, nil)
}

func (l *lab) judge(ctx context.Context, q ledger.Question) (ledger.Verdict, error) {
	var v ledger.Verdict
	err := l.do(ctx, http.MethodPost, "/ledger/judge", q, &v)
	return v, err
}

// timeline waits for up to a second for what happened after an entry.
func (l *lab) timeline(ctx context.Context, after int) ([]ledger.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var entries []ledger.Entry
	err := l.do(ctx, http.MethodGet, "/ledger?wait=1s&after="+strconv.Itoa(after), nil, &entries)
	return entries, err
}

// running counts the complete copies on living members.
func (l *lab) running(ctx context.Context) (int, error) {
	var s struct{ Members []karmada.MemberStatus }
	if err := l.do(ctx, http.MethodGet, "/status", nil, &s); err != nil {
		return 0, err
	}
	running := map[string]bool{}
	for _, m := range s.Members {
		for _, w := range m.Workloads {
			if m.Alive && w.Running {
				running[w.Kind+"/"+w.Namespace+"/"+w.Name] = true
			}
		}
	}
	return len(running), nil
}

// lifeboat is the product under demonstration: its programs and its command line.
type lifeboat struct {
	bin, dir, config   string
	env                []string
	lab                *lab
	worker, controller *server.Process
}

// configuration is small and quick: the demo shall end within two minutes. What is not set here is as
// delivered.
func configuration(o options, l *lab) map[string]any {
	return map[string]any{
		"mode":                "enforce",
		"uiURL":               l.UIURL,
		"pace":                map[string]any{"evictionRate": o.evictionRate()},
		"health":              map[string]any{"minHealthy": "2s", "detection": "6s", "pollInterval": "5s"},
		"recovery":            map[string]any{"restoreWait": "10s"},
		"applicationFailover": map[string]any{"enabled": true},
		"workflow":            map[string]any{"pollInterval": "5s", "askAgain": "2s", "recheck": "3s", "relist": "15s"},
		"controller":          map[string]any{"resyncInterval": "5s"},
		"externalProbe":       map[string]any{"interval": "1s", "timeout": "1s", "failureThreshold": 2, "successThreshold": 1},
		"worker":              map[string]any{"stopTimeout": "3s"},
	}
}

func newLifeboat(o options, l *lab) (*lifeboat, error) {
	content, err := yaml.Marshal(configuration(o, l))
	if err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	b := &lifeboat{bin: o.bin, dir: o.dir, config: filepath.Join(o.dir, "lifeboat.yaml"), lab: l}
	none := filepath.Join(o.dir, "temporal.toml") // whatever the caller's own file says does not count
	if err := errors.Join(os.WriteFile(b.config, content, 0o600), os.WriteFile(none, nil, 0o600)); err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	b.env = environment(
		"TEMPORAL_ADDRESS="+l.TemporalAddress, "TEMPORAL_NAMESPACE="+l.TemporalNamespace,
		"TEMPORAL_CONFIG_FILE="+none, "LIFEBOAT_CONFIG="+b.config,
	)
	return b, nil
}

// as is the environment with one user's kubeconfig.
func (b *lifeboat) as(role string) []string {
	return append(b.env[:len(b.env):len(b.env)], "KUBECONFIG="+b.lab.Kubeconfigs[role])
}

// cli runs a command of an operator, or of whoever installs, and returns what it printed.
func (b *lifeboat) cli(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, binary(b.bin, "lifeboat"), args...)
	cmd.Env = b.as("operator")
	if args[0] == "setup" {
		cmd.Env = b.as("setup")
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.Bytes(), fmt.Errorf("lifeboat %v: %w: %s", args, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// start brings worker and controller up.
func (b *lifeboat) start() error {
	var err error
	b.worker, err = server.StartProcess(server.Command{
		Name: "lifeboat-worker", Binary: binary(b.bin, "lifeboat-worker"), Env: b.as("worker"), LogFile: filepath.Join(b.dir, "worker.log"),
	})
	if err != nil {
		return err
	}
	b.controller, err = server.StartProcess(server.Command{
		Name: "lifeboat controller", Binary: binary(b.bin, "lifeboat"), Args: []string{"controller"}, Env: b.as("controller"), LogFile: filepath.Join(b.dir, "controller.log"),
	})
	return err
}

// died says which program ended by itself.
func (b *lifeboat) died() error {
	return errors.Join(b.worker.Died(), b.controller.Died(), b.lab.Died())
}

func (b *lifeboat) stop() error { return errors.Join(stop(b.controller), stop(b.worker)) }

// answers tells whether worker and controller do their work: then the pacer answers.
func (b *lifeboat) answers(ctx context.Context) (bool, error) {
	content, err := b.cli(ctx, "status", "-o", "json")
	if err != nil {
		return false, err
	}
	var overview struct {
		Pacer *struct{} `json:"pacer"`
	}
	err = json.Unmarshal(content, &overview)
	return overview.Pacer != nil, err
}

// status is how one failover stands, as far as the story needs it.
type status struct {
	report ledger.Report

	Link     string    `json:"link"`
	Phase    string    `json:"phase"`
	Reason   string    `json:"reason"`
	Attempt  int       `json:"attempt"`
	Now      time.Time `json:"now"`
	Policies []struct {
		Priority int32 `json:"priority"`
	} `json:"policies"`
	Dues []struct {
		Reason string    `json:"reason"`
		At     time.Time `json:"at"`
		Taint  struct {
			Key       string    `json:"key"`
			Effect    string    `json:"effect"`
			TimeAdded time.Time `json:"timeAdded"`
		} `json:"taint"`
	} `json:"dues"`
	Items []item          `json:"items"`
	Moves map[string]move `json:"migrations"`
	Pace  struct {
		Tier      string  `json:"tier"`
		Rate      float64 `json:"rate"`
		Reason    string  `json:"reason"`
		FaultRate float64 `json:"faultRate"`
	} `json:"pace"`
	View struct {
		Ready       string `json:"ready"`
		ReadyReason string `json:"readyReason"`
	} `json:"clusterView"`
	Results       []ledger.Result       `json:"results"`
	PendingPurges []ledger.PendingPurge `json:"pendingPurges"`
	Counts        map[string]int        `json:"counts"`
}

type item struct {
	ledger.Item
	Resource string `json:"o"`
	Policy   int    `json:"p"`
}

type move struct {
	ledger.Open
	Resource  string    `json:"resource"`
	Policy    int       `json:"policy"`
	Since     time.Time `json:"since"`
	Attention string    `json:"attention"`
}

// status asks for one cluster's failover; nil when there is none or it does not answer yet.
func (b *lifeboat) status(ctx context.Context, cluster string) (*status, error) {
	content, err := b.cli(ctx, "status", cluster, "-o", "json")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == exitNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &status{}
	if err := json.Unmarshal(content, s); err != nil {
		return nil, fmt.Errorf("decode status of %s: %w", cluster, err)
	}
	if s.Phase == "" {
		return nil, nil
	}
	s.report, err = ledger.ReadReport(content)
	return s, err
}

// exitNotFound is lifeboat's exit code for something that does not exist.
const exitNotFound = 3
