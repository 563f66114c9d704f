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
	"path/filepath"
	"strconv"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/ledger"
	"github.com/lifeboat-failover/lifeboat/tests/lab/server"
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
