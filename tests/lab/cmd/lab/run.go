package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/ledger"
	"github.com/lifeboat-failover/lifeboat/tests/lab/manifests"
	"github.com/lifeboat-failover/lifeboat/tests/lab/realkarmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/server"
	"k8s.io/client-go/rest"
)

// Users of the API server. The simulated Karmada has a name of its own, so that
// the audit log tells its writes from an administrator's.
const (
	userAdmin   = "admin"
	userKarmada = "karmada"
)

// lifeboatUsers may do nothing until somebody grants it.
var lifeboatUsers = map[string]string{
	"controller": "lifeboat-controller",
	"worker":     "lifeboat-worker",
	"operator":   "lifeboat-operator",
	"viewer":     "lifeboat-viewer",
	"setup":      "lifeboat-setup",
}

// searchAttributes that Lifeboat's workflows carry.
var searchAttributes = []string{
	"LifeboatCluster", "LifeboatPhase", "LifeboatReason", "LifeboatBinding", "LifeboatMode",
}

// lab is a running lab.
type lab struct {
	servers *server.Servers
	sim     controlPlane
	ledger  *ledger.Recorder // nil unless asked for
	state   state

	controlServer *http.Server
	karmadaLog    *os.File
}

// startLab returns when everything is ready. On an error nothing is left running.
func startLab(ctx context.Context, dir string, o upOptions, logger *slog.Logger) (*lab, error) {
	begun := time.Now()
	plan, err := planKarmada(dir, o)
	if err != nil {
		return nil, err
	}
	options, err := serverOptions(dir, o, logger)
	if err != nil {
		return nil, err
	}
	l := &lab{}
	logger.Info("starting etcd, kube-apiserver and Temporal", "dir", dir)
	if l.servers, err = server.Start(ctx, options); err != nil {
		return nil, err
	}
	if err := l.startAbove(ctx, plan, o, logger); err != nil {
		return nil, errors.Join(err, l.stop())
	}
	logger.Info("the lab is ready", "after", time.Since(begun).Round(time.Millisecond))
	return l, nil
}

// planKarmada checks members and knobs before anything is started.
func planKarmada(dir string, o upOptions) (karmada.Options, error) {
	members, err := o.memberSpecs()
	if err != nil {
		return karmada.Options{}, err
	}
	changes, err := parseKnobs(o.knobs)
	if err != nil {
		return karmada.Options{}, err
	}
	knobs, err := mergeKnobs(karmada.DefaultKnobs(), changes)
	if err != nil {
		return karmada.Options{}, err
	}
	return karmada.Options{Members: members, Knobs: knobs, MemberDir: filepath.Join(dir, "members")}, nil
}

func serverOptions(dir string, o upOptions, logger *slog.Logger) (server.Options, error) {
	binaries, err := o.binaries()
	if err != nil {
		return server.Options{}, err
	}
	users := []server.User{
		{Name: userAdmin, Groups: []string{"system:masters"}},
		{Name: userKarmada, Groups: []string{"system:masters"}},
	}
	for _, name := range lifeboatUsers {
		users = append(users, server.User{Name: name})
	}
	return server.Options{
		BinDir:            binaries,
		Dir:               dir,
		Durable:           o.durable,
		NoUI:              o.noUI,
		EtcdMembers:       o.etcdMembers,
		AuditReads:        o.auditReads,
		TemporalDatabase:  o.database,
		TemporalNamespace: o.namespace,
		SearchAttributes:  searchAttributes,
		Users:             users,
		Logger:            logger,
	}, nil
}

// startAbove puts CRDs, grants, the simulated Karmada and the control server on
// top of the running servers.
func (l *lab) startAbove(ctx context.Context, plan karmada.Options, o upOptions, logger *slog.Logger) error {
	config, err := l.servers.RESTConfig(userKarmada)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(plan.MemberDir, 0o700); err != nil {
		return fmt.Errorf("create members' folder: %w", err)
	}
	if l.karmadaLog, err = os.Create(filepath.Join(filepath.Dir(plan.MemberDir), "karmada.log")); err != nil {
		return fmt.Errorf("create log of Karmada: %w", err)
	}
	plan.Logger = slog.New(slog.NewTextHandler(l.karmadaLog, nil))
	begun := time.Now()
	// Not bound to ctx: Ctrl-C stops the lab in order, Karmada first.
	running := context.WithoutCancel(ctx)
	if o.karmada != "" {
		err = l.startReal(running, config, plan, o)
	} else {
		err = l.startSimulated(running, config, plan)
	}
	if err != nil {
		return err
	}
	if err := l.applyGrants(ctx, o.grants, logger); err != nil {
		return err
	}
	logger.Info("ready", "server", "Karmada", "simulated", o.karmada == "", "members", len(plan.Members), "after", time.Since(begun).Round(time.Millisecond))
	if o.ledger {
		if l.ledger, err = ledger.Record(context.WithoutCancel(ctx), config, l.sim.Members); err != nil {
			return fmt.Errorf("start the ledger: %w", err)
		}
	}
	return l.startControl(filepath.Dir(plan.MemberDir), o.namespace, logger)
}

func (l *lab) startSimulated(ctx context.Context, config *rest.Config, plan karmada.Options) error {
	if err := karmada.InstallCRDs(ctx, config); err != nil {
		return fmt.Errorf("install Karmada's CRDs: %w", err)
	}
	sim, err := karmada.Start(ctx, config, plan)
	if err != nil {
		return fmt.Errorf("start the simulated Karmada: %w", err)
	}
	l.sim = sim
	return nil
}

func (l *lab) startReal(ctx context.Context, config *rest.Config, plan karmada.Options, o upOptions) error {
	binaries, err := o.binaries()
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(o.karmada)
	if err != nil {
		return err
	}
	real, err := realkarmada.Start(ctx, config, realkarmada.Options{
		Members: plan.Members, Knobs: plan.Knobs, Bin: folder, Dir: plan.MemberDir, KubeAPIServer: filepath.Join(binaries, "kube-apiserver"),
		Servers: l.servers, Kubeconfig: l.servers.Kubeconfigs[userKarmada], Logger: plan.Logger,
	})
	if err != nil {
		return fmt.Errorf("start the real Karmada: %w", err)
	}
	l.sim = real
	return nil
}

func (l *lab) applyGrants(ctx context.Context, files []string, logger *slog.Logger) error {
	if len(files) == 0 {
		return nil
	}
	config, err := l.servers.RESTConfig(userAdmin)
	if err != nil {
		return err
	}
	applied, err := manifests.Apply(ctx, config, files)
	if err != nil {
		return fmt.Errorf("apply grants: %w", err)
	}
	logger.Info("applied", "objects", applied)
	return nil
}

func (l *lab) startControl(dir, namespace string, logger *slog.Logger) error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for control requests: %w", err)
	}
	l.state = state{
		Dir:               dir,
		PID:               os.Getpid(),
		Kubeconfig:        l.servers.Kubeconfigs[userAdmin],
		Kubeconfigs:       map[string]string{},
		APIServer:         l.servers.APIServerURL,
		Etcd:              l.servers.EtcdURL,
		TemporalAddress:   l.servers.TemporalAddress,
		TemporalNamespace: namespace,
		TemporalDatabase:  l.servers.DatabaseURL(),
		UIURL:             l.servers.UIURL,
		AuditLog:          l.servers.AuditLog,
		ControlURL:        "http://" + listener.Addr().String(),
		Members:           memberStates(l.sim.Members()),
	}
	for role, user := range lifeboatUsers {
		l.state.Kubeconfigs[role] = l.servers.Kubeconfigs[user]
	}
	l.controlServer = (&control{sim: l.sim, servers: l.servers, ledger: l.ledger, logger: logger, state: l.state}).serve(listener)
	return l.state.save()
}

// stop ends everything from the top down.
func (l *lab) stop() error {
	var errs []error
	if l.controlServer != nil {
		errs = append(errs, closeControl(l.controlServer))
	}
	if l.ledger != nil {
		l.ledger.Stop()
	}
	if l.sim != nil {
		errs = append(errs, l.sim.Close())
	}
	if l.karmadaLog != nil {
		errs = append(errs, l.karmadaLog.Close())
	}
	return errors.Join(append(errs, l.servers.Stop())...)
}
