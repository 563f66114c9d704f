package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

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
