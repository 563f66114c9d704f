package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

func (s *Servers) startEtcd(ctx context.Context) error {
	return s.start(ctx, launch{
		ports: 2,
		prepare: func(ports []int) (Command, probe, error) {
			s.EtcdURL = "http://" + hostPort(ports[0])
			ready := func(ctx context.Context) error { return GetOK(ctx, http.DefaultClient, s.EtcdURL+"/readyz") }
			return s.command("etcd", "etcd", s.etcdArgs("http://"+hostPort(ports[1]))), ready, nil
		},
		keep: func(p *Process) { s.etcd = p },
	})
}

// Snapshot keeps what etcd has stored, in place of what it kept before. etcd is down meanwhile.
func (s *Servers) Snapshot(ctx context.Context) error {
	if s.several() {
		return errSeveral
	}
	return s.comesBack(ctx, "etcd", func(*Command, *probe) error {
		if err := os.RemoveAll(s.snapshot()); err != nil {
			return err
		}
		return os.CopyFS(s.snapshot(), os.DirFS(s.etcdData()))
	})
}

// Restore gives etcd back what the last snapshot kept, as from a backup: resourceVersions go
// back. The API server is down meanwhile, as it has to be.
func (s *Servers) Restore(ctx context.Context) error {
	if _, err := os.Stat(s.snapshot()); err != nil {
		return fmt.Errorf("there is no snapshot: %w", err)
	}
	s.mu.Lock()
	api := s.api
	s.mu.Unlock()
	if err := api.crash(); err != nil {
		return err
	}
	return s.comesBack(ctx, "etcd", func(*Command, *probe) error {
		return errors.Join(
			os.RemoveAll(s.etcdData()), os.CopyFS(s.etcdData(), os.DirFS(s.snapshot())),
			// It asks for etcd until that answers.
			s.again(api, api.child, api.ready),
		)
	})
}

func (s *Servers) etcdData() string { return filepath.Join(s.options.Dir, "etcd") }

func (s *Servers) snapshot() string { return filepath.Join(s.options.Dir, "etcd.snapshot") }

func (s *Servers) etcdArgs(peerURL string) []string {
	return s.memberArgs("lab", s.etcdData(), s.EtcdURL, peerURL, "lab="+peerURL)
}

func (s *Servers) memberArgs(name, data, clientURL, peerURL, cluster string) []string {
	args := []string{
		"--name=" + name,
		"--data-dir=" + data,
		"--listen-client-urls=" + clientURL,
		"--advertise-client-urls=" + clientURL,
		"--listen-peer-urls=" + peerURL,
		"--initial-advertise-peer-urls=" + peerURL,
		"--initial-cluster=" + cluster,
		"--log-level=warn",
	}
	if !s.options.Durable {
		args = append(args, "--unsafe-no-fsync")
	}
	return args
}

// GetOK asks url and wants the status 200.
func GetOK(ctx context.Context, client *http.Client, url string) error {
	_, err := get(ctx, client, url)
	return err
}

// get is the body of an answer with the status 200.
func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}
