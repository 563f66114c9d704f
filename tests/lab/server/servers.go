package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// readyTimeout bounds one server's start, on a machine that is busy building.
	readyTimeout = 2 * time.Minute
	// stopGrace is how long a server may take to end before it is killed.
	stopGrace = 10 * time.Second
	// bindAttempts is how often a server gets new ports after losing a bind race.
	bindAttempts = 5
	// maxChildren is how many deaths of added servers are reported without blocking.
	maxChildren = 200
)

// Options says what to start and where.
type Options struct {
	// BinDir holds the binaries etcd, kube-apiserver and temporal-dev.
	BinDir string
	// Dir receives data, logs and credentials; it must exist.
	Dir string
	// Durable makes etcd wait for the disk and Temporal keep its state in a file.
	Durable bool
	// TemporalDatabase is where Temporal keeps its state: [Postgres], or empty for SQLite, in
	// memory or, if Durable, in a file.
	TemporalDatabase string
	// NoUI leaves Temporal's web UI out.
	NoUI bool
	// EtcdMembers is how many members etcd has; 0 is one.
	EtcdMembers int
	// AuditReads also records get, list and watch in the audit log, but for those of
	// system:masters.
	AuditReads bool
	// TemporalNamespace is created before Temporal answers its first request.
	TemporalNamespace string
	// SearchAttributes are registered in that namespace, all as Keyword.
	SearchAttributes []string
	// Users get a token and a kubeconfig each. The first must be in the group
	// system:masters: readiness is asked for in its name.
	Users []User
	// Logger receives progress.
	Logger *slog.Logger
}

// Servers are the running servers and where they answer.
type Servers struct {
	EtcdURL         string
	APIServerURL    string
	TemporalAddress string
	// UIURL is empty without UI.
	UIURL string
	// AuditLog has one JSON line (audit.k8s.io/v1 Event) per request.
	AuditLog string
	// Kubeconfigs are files, by user name.
	Kubeconfigs map[string]string

	options     Options
	credentials *credentials
	postgres    *postgres // nil for SQLite
	// temporalHTTP is where Temporal answers over HTTP.
	temporalHTTP string
	// freePorts is replaced by tests that want a port to be taken.
	freePorts func(n int) ([]int, error)

	mu       sync.Mutex
	etcd     *Process
	others   []*etcdMember // of an etcd of several members all but the first
	api      *Process
	database *Process // nil for SQLite
	temporal *Process
	children []*Process // those of Add

	died chan error
}

// Start starts all servers and returns when each of them answers. On an error
// nothing is left running; the logs stay in options.Dir.
func Start(ctx context.Context, options Options) (*Servers, error) {
	if err := checkBinaries(options.BinDir); err != nil {
		return nil, err
	}
	if options.TemporalDatabase == Postgres {
		if _, err := findPostgres(); err != nil {
			return nil, err
		}
	}
	credentials, err := newCredentials(filepath.Join(options.Dir, "credentials"), options.Users)
	if err != nil {
		return nil, err
	}
	s := &Servers{
		options:     options,
		credentials: credentials,
		freePorts:   freePorts,
		AuditLog:    filepath.Join(options.Dir, "audit.log"),
		// One place per server: a report never blocks.
		died: make(chan error, 4+options.EtcdMembers+maxChildren),
	}
	if err := s.startAll(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func checkBinaries(folder string) error {
	var missing []string
	for _, name := range []string{"etcd", "kube-apiserver", "temporal-dev"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("not built in %s: %v (run `make lab-bin`)", folder, missing)
	}
	return nil
}

func (s *Servers) startAll(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := s.startEtcds(ctx); err != nil {
			return err
		}
		return s.startAPIServer(ctx)
	})
	group.Go(func() error {
		if s.options.TemporalDatabase == Postgres {
			if err := s.startPostgres(ctx); err != nil {
				return err
			}
		}
		return s.startTemporal(ctx)
	})
	return group.Wait()
}

// launch is one attempt to start a server on newly found ports.
type launch struct {
	// ports is how many free ports prepare wants.
	ports int
	// prepare returns the child to start and how to ask whether it is ready.
	prepare func(ports []int) (Command, probe, error)
	// keep takes the running process.
	keep func(*Process)
}

// start runs a launch until the server is ready, with other ports each time a
// bind race was lost.
func (s *Servers) start(ctx context.Context, l launch) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		ports, err := s.freePorts(l.ports)
		if err != nil {
			return err
		}
		child, ready, err := l.prepare(ports)
		if err != nil {
			return err
		}
		begun := time.Now()
		process, err := StartProcess(child)
		if err != nil {
			return err
		}
		process.ready = ready
		s.mu.Lock()
		l.keep(process)
		s.mu.Unlock()
		err = process.waitReady(ctx, ready)
		if err == nil {
			s.options.Logger.Info("ready", "server", child.Name, "after", time.Since(begun).Round(time.Millisecond), "pid", process.PID())
			go s.watch(process)
			return nil
		}
		if process.Died() == nil || !worthAnotherTry(process.logTail()) || attempt == bindAttempts {
			return err
		}
		s.options.Logger.Info("port was taken meanwhile, trying others", "server", child.Name)
	}
}

// Crash kills a server with -9 and starts it again on the same ports, with what it had
// stored: in options.Dir, where Durable says so. It returns when every server answers.
func (s *Servers) Crash(ctx context.Context, name string) error {
	return s.comesBack(ctx, name, func(*Command, *probe) error { return nil })
}

// probe asks a server whether it is ready.
type probe func(context.Context) error

// comesBack kills a server with -9, has something done while it is down, to what it had
// stored or to how it is started, and starts it again on the same ports. It returns when
// every server answers.
func (s *Servers) comesBack(ctx context.Context, name string, meanwhile func(*Command, *probe) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	running := s.Processes()
	at := slices.IndexFunc(running, func(p *Process) bool { return p.Name() == name })
	if at < 0 {
		return fmt.Errorf("there is no server %q", name)
	}
	if err := running[at].crash(); err != nil {
		return err
	}
	child, ready := running[at].child, running[at].ready
	if err := meanwhile(&child, &ready); err != nil {
		return err
	}
	if err := s.again(running[at], child, ready); err != nil {
		return err
	}
	for _, p := range s.core() {
		if err := p.waitReady(ctx, p.ready); err != nil {
			return err
		}
	}
	return nil
}

// again starts a server that has ended, on the same ports.
func (s *Servers) again(old *Process, child Command, ready probe) error {
	child.again = true
	process, err := StartProcess(child)
	if err != nil {
		return err
	}
	process.ready = ready
	s.replace(old, process)
	go s.watch(process)
	return nil
}

// replace puts a server in the place of the one before it.
func (s *Servers) replace(old, by *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	places := []**Process{&s.etcd, &s.api, &s.database, &s.temporal}
	for _, each := range s.others {
		places = append(places, &each.process)
	}
	for i := range s.children {
		places = append(places, &s.children[i])
	}
	for _, place := range places {
		if *place == old {
			*place = by
		}
	}
}

// watch reports a server that ends without having been asked to.
func (s *Servers) watch(p *Process) {
	<-p.exited
	if err := p.Died(); err != nil {
		s.died <- err
	}
}

// Died delivers an error, with the end of its log, for each server that ends
// without having been asked to.
func (s *Servers) Died() <-chan error { return s.died }

// Processes returns the servers in the order in which they were started.
func (s *Servers) Processes() []*Process {
	all := s.core()
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(all, s.children...)
}

// core returns etcd, the API server, Temporal and its database: what every lab has.
func (s *Servers) core() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []*Process{s.etcd}
	for _, each := range s.others {
		all = append(all, each.process)
	}
	return slices.DeleteFunc(append(all, s.api, s.database, s.temporal), func(p *Process) bool { return p == nil })
}

// Stop stops Temporal and the API server, then the database and the etcd below them. It returns
// when all are gone; one that does not end in time is killed.
func (s *Servers) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var group errgroup.Group
	for _, p := range s.children {
		group.Go(p.crash)
	}
	if err := group.Wait(); err != nil {
		return err
	}
	group.Go(func() error { return errors.Join(stopIfStarted(s.temporal), stopIfStarted(s.database)) })
	group.Go(func() error {
		errs := []error{stopIfStarted(s.api), stopIfStarted(s.etcd)}
		for _, each := range s.others {
			errs = append(errs, stopIfStarted(each.process))
		}
		return errors.Join(errs...)
	})
	return group.Wait()
}

func stopIfStarted(p *Process) error {
	if p == nil {
		return nil
	}
	if err := p.Stop(stopGrace); !errors.Is(err, ErrKilled) {
		return err
	}
	return nil
}

// Credentials returns the folder of certificates and tokens: ca.crt, apiserver.crt,
// apiserver.key, service-account.key and tokens.csv.
func (s *Servers) Credentials() string { return s.credentials.folder }

// RESTConfig returns a client configuration for a user of Options.Users, without
// a rate limit of its own: the lab has the API server to itself.
func (s *Servers) RESTConfig(user string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfigs[user])
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig of %s: %w", user, err)
	}
	config.QPS = -1
	return config, nil
}

func (s *Servers) command(name, binary string, args []string) Command {
	return Command{
		Name: name, Binary: filepath.Join(s.options.BinDir, binary), Args: args, LogFile: filepath.Join(s.options.Dir, name+".log"),
	}
}
