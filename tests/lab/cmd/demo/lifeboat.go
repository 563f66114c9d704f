package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/lifeboat-failover/lifeboat/tests/lab/ledger"
	"github.com/lifeboat-failover/lifeboat/tests/lab/server"
)

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
		"mode":          "enforce",
		"uiURL":         l.UIURL,
		"pace":          map[string]any{"evictionRate": o.evictionRate()},
		"health":        map[string]any{"minHealthy": "2s", "detection": "6s", "pollInterval": "5s"},
		"recovery":      map[string]any{"restoreWait": "10s"},
		"workflow":      map[string]any{"pollInterval": "5s", "askAgain": "2s", "recheck": "3s", "relist": "15s"},
		"controller":    map[string]any{"resyncInterval": "5s"},
		"externalProbe": map[string]any{"interval": "1s", "timeout": "1s", "failureThreshold": 2, "successThreshold": 1},
		"worker":        map[string]any{"stopTimeout": "3s"},
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
	Moves map[string]move `json:"moves"`
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
