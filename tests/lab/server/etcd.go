package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// errSeveral is what cannot be had of an etcd of several members.
var errSeveral = errors.New("an etcd of several members is neither kept nor restored")

// etcdMember is one of the members of an etcd of several, beside the first.
type etcdMember struct {
	process *Process
	url     string
}

func (s *Servers) several() bool { return s.options.EtcdMembers > 1 }

// startEtcds starts every member of etcd and returns when each of them answers.
func (s *Servers) startEtcds(ctx context.Context) error {
	if !s.several() {
		return s.startEtcd(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := s.tryEtcds(ctx)
		if err == nil {
			for _, p := range s.Processes() {
				go s.watch(p)
			}
			return nil
		}
		lost := slices.ContainsFunc(s.Processes(), func(p *Process) bool { return p.Died() != nil && worthAnotherTry(p.logTail()) })
		if !lost || attempt == bindAttempts {
			return err
		}
		for _, p := range s.Processes() {
			if err := p.crash(); err != nil {
				return err
			}
		}
	}
}

// tryEtcds starts all members on newly found ports, for none of them answers alone.
func (s *Servers) tryEtcds(ctx context.Context) error {
	n := s.options.EtcdMembers
	ports, err := s.freePorts(2 * n)
	if err != nil {
		return err
	}
	url := func(at int) string { return "http://" + hostPort(ports[at]) }
	names, cluster := []string{"etcd"}, []string{"etcd=" + url(n)}
	for i := 1; i < n; i++ {
		names = append(names, fmt.Sprintf("etcd-%d", i+1))
		cluster = append(cluster, names[i]+"="+url(n+i))
	}
	s.mu.Lock()
	s.EtcdURL, s.etcd, s.others = url(0), nil, nil
	s.mu.Unlock()
	for i, name := range names {
		data := filepath.Join(s.options.Dir, name)
		if err := os.RemoveAll(data); err != nil {
			return err
		}
		p, err := StartProcess(s.command(name, "etcd", s.memberArgs(name, data, url(i), url(n+i), strings.Join(cluster, ","))))
		if err != nil {
			return err
		}
		p.ready = func(ctx context.Context) error { return GetOK(ctx, http.DefaultClient, url(i)+"/readyz") }
		s.mu.Lock()
		if i == 0 {
			s.etcd = p
		} else {
			s.others = append(s.others, &etcdMember{process: p, url: url(i)})
		}
		s.mu.Unlock()
	}
	for _, p := range s.Processes() {
		if err := p.waitReady(ctx, p.ready); err != nil {
			return err
		}
	}
	s.options.Logger.Info("ready", "server", "etcd", "members", n)
	return nil
}

// etcdURLs are where the members of etcd answer.
func (s *Servers) etcdURLs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	urls := []string{s.EtcdURL}
	for _, each := range s.others {
		urls = append(urls, each.url)
	}
	return urls
}

// LoseEtcd kills one of etcd's members with -9, the one that leads or one that does not,
// and leaves it dead until [Servers.ReturnEtcd].
func (s *Servers) LoseEtcd(ctx context.Context, leader bool) error {
	if !s.several() {
		return errors.New("etcd has one member")
	}
	s.mu.Lock()
	members := []*Process{s.etcd}
	for _, each := range s.others {
		members = append(members, each.process)
	}
	s.mu.Unlock()
	for i, url := range s.etcdURLs() {
		leads, err := leadsEtcd(ctx, url)
		if err != nil {
			return err
		}
		if leads == leader {
			s.options.Logger.Info("etcd loses a member", "member", members[i].Name(), "leader", leader)
			return members[i].crash()
		}
	}
	return fmt.Errorf("no member of etcd to lose, leader %t", leader)
}

// leadsEtcd asks a member of etcd whether it leads the others.
func leadsEtcd(ctx context.Context, url string) (bool, error) {
	body, err := get(ctx, http.DefaultClient, url+"/metrics")
	return strings.Contains(string(body), "\netcd_server_is_leader 1\n"), err
}

// ReturnEtcd starts the members that were lost again, on what they had stored, and
// returns when every server answers.
func (s *Servers) ReturnEtcd(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for _, p := range s.Processes() {
		select {
		case <-p.exited:
			if err := s.again(p, p.child, p.ready); err != nil {
				return err
			}
		default:
		}
	}
	for _, p := range s.Processes() {
		if err := p.waitReady(ctx, p.ready); err != nil {
			return err
		}
	}
	return nil
}
