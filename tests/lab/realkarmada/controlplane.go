package realkarmada

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/webhook"
	"github.com/lifeboat-failover/lifeboat/tests/lab/server"
)

const (
	controllerManager = "karmada-controller-manager"
	karmadaScheduler  = "karmada-scheduler"
	karmadaWebhook    = "karmada-webhook"
	aggregated        = "karmada-aggregated-apiserver"
)

// Options make a ControlPlane.
type Options struct {
	Members []karmada.MemberSpec
	Knobs   karmada.Knobs
	// Bin has Karmada's binaries, those of Kubernetes beside them, and the folder manifests.
	Bin string
	// Dir receives kubeconfigs and rendered manifests.
	Dir string
	// KubeAPIServer is the lab's own binary, which the members run as well.
	KubeAPIServer string
	Servers       *server.Servers
	// Kubeconfig is that of the user whom every component of Karmada acts as.
	Kubeconfig string
	Logger     *slog.Logger
}

// ControlPlane is a running Karmada with its members.
type ControlPlane struct {
	o      Options
	config *rest.Config
	client dynamic.Interface
	ctx    context.Context //nolint:containedctx // its own life, which its methods act in
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu      sync.Mutex
	knobs   karmada.Knobs
	members map[string]*member
	joined  int // members ever joined: each has an etcd prefix of its own
	// rationed are the slots that members offer, see [slotOf], and which members offer few of them.
	rationed map[string]string
	works    cache.GenericLister
	webhook  *webhook.Server
}

// Start starts Karmada and joins the members; it returns when all of them are Ready.
func Start(ctx context.Context, config *rest.Config, o Options) (*ControlPlane, error) {
	if err := onlyRealKnobs(karmada.DefaultKnobs(), o.Knobs); err != nil {
		return nil, err
	}
	c := &ControlPlane{o: o, config: config, knobs: o.Knobs, members: map[string]*member{}, rationed: map[string]string{}}
	c.ctx, c.cancel = context.WithCancel(ctx)
	var err error
	if c.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	if err := c.start(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *ControlPlane) start() error {
	if err := c.writeStages(); err != nil {
		return err
	}
	// Members take longest, and need nothing of Karmada until they join.
	started, ctx := errgroup.WithContext(c.ctx)
	started.SetLimit(2)
	for _, spec := range c.o.Members {
		if spec.SameAs == "" {
			started.Go(func() error { return c.startMember(ctx, spec) })
		}
	}
	installed := c.install(c.ctx)
	if err := errors.Join(installed, started.Wait()); err != nil {
		return err
	}
	if err := c.playTemplates(); err != nil {
		return err
	}
	joined, ctx := errgroup.WithContext(c.ctx)
	for _, spec := range c.o.Members {
		joined.Go(func() error { return c.register(ctx, spec) })
	}
	return joined.Wait()
}

// serves asks a component of Karmada over plain HTTP whether it is healthy.
func serves(port int) func(context.Context, []int) error {
	return func(ctx context.Context, ports []int) error {
		return server.GetOK(ctx, http.DefaultClient, fmt.Sprintf("http://127.0.0.1:%d/healthz", ports[port]))
	}
}

func (c *ControlPlane) binary(name string) string { return filepath.Join(c.o.Bin, name) }

// startControllers starts the scheduler and the controller manager.
func (c *ControlPlane) startControllers(ctx context.Context) error {
	var group errgroup.Group
	group.Go(func() error {
		_, err := c.o.Servers.Add(ctx, server.Child{
			Name: karmadaScheduler, Binary: c.binary(karmadaScheduler), Ports: 2, Ready: serves(1),
			Args: func(ports []int) []string {
				return append(c.endpoints(ports), "--leader-elect=false", "--kube-api-qps=2000", "--kube-api-burst=4000")
			},
		})
		return err
	})
	group.Go(func() error { return c.startControllerManager(ctx) })
	return group.Wait()
}

func (c *ControlPlane) startControllerManager(ctx context.Context) error {
	_, err := c.o.Servers.Add(ctx, server.Child{
		Name: controllerManager, Binary: c.binary(controllerManager), Ports: 2, Ready: serves(1),
		Args: func(ports []int) []string { return append(c.endpoints(ports), managerFlags(c.Knobs())...) },
	})
	return err
}

// endpoints are the flags that scheduler and controller manager share.
func (c *ControlPlane) endpoints(ports []int) []string {
	return []string{
		"--kubeconfig=" + c.o.Kubeconfig,
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[0]),
		fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[1]),
		"--v=2",
	}
}

// managerFlags are those of a Karmada whose failover Lifeboat owns, unless the taint manager is on.
func managerFlags(k karmada.Knobs) []string {
	controllers := "*,-applicationFailover,-clustertaintpolicy"
	if !k.GracefulEvictionEnabled {
		controllers += ",-gracefulEviction"
	}
	return []string{
		"--leader-elect=true", "--leader-elect-resource-namespace=karmada-system",
		// Longer than Karmada's own: a busy machine is no reason to lose the lead.
		"--leader-elect-lease-duration=30s", "--leader-elect-renew-deadline=25s",
		"--controllers=" + controllers,
		fmt.Sprintf("--feature-gates=Failover=%t,StatefulFailoverInjection=%t", k.TaintManager, k.StatefulFailoverInjection),
		fmt.Sprintf("--enable-no-execute-taint-eviction=%t", k.TaintManager),
		"--cluster-status-update-frequency=" + k.StatusPeriod.Duration.String(),
		"--cluster-failure-threshold=" + k.FailureThreshold.Duration.String(),
		"--cluster-success-threshold=" + k.SuccessThreshold.Duration.String(),
		"--cluster-monitor-period=1s",
		"--graceful-eviction-timeout=" + k.GracefulEvictionTimeout.Duration.String(),
		"--rate-limiter-max-delay=" + k.ExecutionRetry.Duration.String(),
		"--kube-api-qps=2000", "--kube-api-burst=4000", "--concurrent-work-syncs=20", "--concurrent-resourcebinding-syncs=20",
	}
}

// onlyRealKnobs refuses a change of a knob that only the simulated Karmada has.
func onlyRealKnobs(from, to karmada.Knobs) error {
	to.StatusPeriod, to.FailureThreshold, to.SuccessThreshold = from.StatusPeriod, from.FailureThreshold, from.SuccessThreshold
	to.ExecutionRetry, to.GracefulEvictionTimeout = from.ExecutionRetry, from.GracefulEvictionTimeout
	to.GracefulEvictionEnabled, to.StatefulFailoverInjection = from.GracefulEvictionEnabled, from.StatefulFailoverInjection
	to.TaintManager = from.TaintManager
	if to != from {
		return errors.New("a real Karmada has the knobs statusPeriod, failureThreshold, successThreshold, executionRetry, " +
			"gracefulEvictionTimeout, gracefulEvictionEnabled, taintManager and statefulFailoverInjection only; leave the others as they are")
	}
	return nil
}

// Knobs are the current knobs.
func (c *ControlPlane) Knobs() karmada.Knobs {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.knobs
}

// SetKnobs changes the knobs; the controller manager is started again with them.
func (c *ControlPlane) SetKnobs(k karmada.Knobs) error {
	if err := onlyRealKnobs(c.Knobs(), k); err != nil {
		return err
	}
	c.mu.Lock()
	c.knobs = k
	c.mu.Unlock()
	if err := c.o.Servers.Drop(controllerManager); err != nil {
		return err
	}
	return c.startControllerManager(c.ctx)
}

// StopControllers kills the controller manager and the scheduler; the members run on.
func (c *ControlPlane) StopControllers() {
	if err := c.o.Servers.Drop(controllerManager, karmadaScheduler); err != nil {
		c.o.Logger.Error("controllers not stopped", "error", err)
	}
}

// StartControllers starts them again, after StopControllers.
func (c *ControlPlane) StartControllers() error { return c.startControllers(c.ctx) }

// Close stops what is played. The servers belong to [server.Servers] and end with it.
func (c *ControlPlane) Close() error {
	c.cancel()
	if c.webhook != nil {
		c.webhook.Close()
	}
	c.tasks.Wait()
	return nil
}

// startTimeout bounds the start of one part on a busy machine.
const startTimeout = 3 * time.Minute
