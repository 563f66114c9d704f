package server

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
)

func (s *Servers) startEtcd(ctx context.Context) error {
	return s.start(ctx, launch{
		ports: 2,
		prepare: func(ports []int) (command, func(context.Context) error, error) {
			s.EtcdURL = "http://" + hostPort(ports[0])
			ready := func(ctx context.Context) error { return getOK(ctx, http.DefaultClient, s.EtcdURL+"/readyz") }
			return s.command("etcd", "etcd", s.etcdArgs("http://"+hostPort(ports[1]))), ready, nil
		},
		keep: func(p *Process) { s.etcd = p },
	})
}

func (s *Servers) etcdArgs(peerURL string) []string {
	args := []string{
		"--name=lab",
		"--data-dir=" + filepath.Join(s.options.Dir, "etcd"),
		"--listen-client-urls=" + s.EtcdURL,
		"--advertise-client-urls=" + s.EtcdURL,
		"--listen-peer-urls=" + peerURL,
		"--initial-advertise-peer-urls=" + peerURL,
		"--initial-cluster=lab=" + peerURL,
		"--log-level=warn",
	}
	if !s.options.Durable {
		args = append(args, "--unsafe-no-fsync")
	}
	return args
}

// getOK asks url and wants the status 200.
func getOK(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return nil
}
