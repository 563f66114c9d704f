package k8sadapter

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// ErrLeadershipLost is returned when the Lease was lost while leading.
var ErrLeadershipLost = errors.New("leadership lost")

// LeaderConfig names the Lease (coordination.k8s.io/v1) and its timing.
type LeaderConfig struct {
	Namespace string // must exist
	Name      string
	Identity  string // unique among the candidates; RunLeaderElected adds a suffix
	// LeaseDuration is how long other candidates wait for a leader that does not renew;
	// RenewDeadline, shorter, how long a leader tries to renew before it gives up;
	// RetryPeriod, shorter still, the pause between tries.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// RunLeaderElected waits until this candidate leads and then calls run, whose context ends
// when the Lease is lost or ctx ends. It returns nil when run has returned, or ctx ended; and
// ErrLeadershipLost once run has returned after a loss. It releases the Lease only after run
// has returned, so that in an orderly hand-over there are never two leaders. If the release
// fails, the next leader waits for LeaseDuration.
//
// Each call uses a new identity: client-go keeps acquireTime for an identity that held the
// Lease before, and acquireTime would hide a gap in which this process did not lead.
//
// A Lease counts whole seconds. One shorter than a second would never protect its holder, and
// is an ErrInvalid.
func (c *Client) RunLeaderElected(ctx context.Context, cfg LeaderConfig, run func(ctx context.Context)) error {
	if cfg.LeaseDuration < time.Second {
		return fmt.Errorf("lead %s/%s: %w: leaseDuration %s is below 1s", cfg.Namespace, cfg.Name, karmada.ErrInvalid, cfg.LeaseDuration)
	}
	unlimited := rest.CopyConfig(c.config) // renewals never wait behind ordinary requests
	unlimited.RateLimiter = nil
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, cfg.Namespace, cfg.Name,
		resourcelock.ResourceLockConfig{Identity: cfg.Identity + "_" + rand.Text()[:4]}, unlimited, cfg.RenewDeadline)
	if err != nil {
		return fmt.Errorf("lead %s/%s: %w", cfg.Namespace, cfg.Name, err)
	}
	electing, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	held, ended := make(chan context.Context, 1), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &leaseLock{Interface: lock, log: c.log}, Name: cfg.Name, ReleaseOnCancel: true,
		LeaseDuration: cfg.LeaseDuration, RenewDeadline: cfg.RenewDeadline, RetryPeriod: cfg.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { held <- leading },
			OnStoppedLeading: func() {},
			OnNewLeader:      func(who string) { c.log.InfoContext(ctx, "leader observed", "lease", cfg.Name, "leader", who) },
		},
	})
	if err != nil {
		return fmt.Errorf("lead %s/%s: %w: %w", cfg.Namespace, cfg.Name, karmada.ErrInvalid, err)
	}
	go func() {
		defer close(ended)
		elector.Run(klog.NewContext(electing, logr.FromSlogHandler(quietElector{c.log.Handler()})))
	}()
	lost := lead(ctx, held, ended, run)
	end() // releases the Lease
	<-ended
	if lost {
		return fmt.Errorf("lead %s/%s: %w", cfg.Namespace, cfg.Name, ErrLeadershipLost)
	}
	return nil
}

// lead calls run once the Lease is held, with a context that ends when the Lease is lost or ctx
// ends, and reports whether the Lease was lost. A run that has not begun by then never begins.
func lead(ctx context.Context, held <-chan context.Context, ended <-chan struct{}, run func(context.Context)) (lost bool) {
	select {
	case <-ctx.Done():
	case <-ended:
	case leading := <-held:
		running, cancel := context.WithCancel(leading)
		defer cancel()
		stop := context.AfterFunc(ctx, cancel)
		defer stop()
		if ctx.Err() == nil && leading.Err() == nil {
			run(running)
			return leading.Err() != nil
		}
	}
	return ctx.Err() == nil
}

// leaseLock logs once when requests for the Lease begin to fail, and once when they succeed
// again. The elector, which uses it from one goroutine, would log every try: see [quietElector].
type leaseLock struct {
	resourcelock.Interface
	log     *slog.Logger
	failing bool
}

// Get reads the Lease.
func (l *leaseLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	l.logChange(ctx, err)
	return record, raw, err
}

// Create makes the Lease.
func (l *leaseLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Create(ctx, record)
	l.logChange(ctx, err)
	return err
}

// Update renews or gives up the Lease.
func (l *leaseLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Update(ctx, record)
	l.logChange(ctx, err)
	return err
}

// logChange logs when requests begin to fail, or to succeed. Another candidate's success is no
// failure.
func (l *leaseLock) logChange(ctx context.Context, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	failing := err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err)
	switch {
	case failing && !l.failing:
		l.log.WarnContext(ctx, "cannot use the Lease, retrying", "lease", l.Describe(), "error", err)
	case !failing && l.failing:
		l.log.InfoContext(ctx, "can use the Lease again", "lease", l.Describe())
	}
	l.failing = failing
}

// quietElector drops the error log lines of the elector: [leaseLock] logs them.
type quietElector struct{ slog.Handler }

// Handle drops errors here, because logr does not call Enabled for them.
func (h quietElector) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h quietElector) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietElector{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h quietElector) WithGroup(name string) slog.Handler {
	return quietElector{h.Handler.WithGroup(name)}
}

// ManagerLease reads the leader Lease of karmada-controller-manager.
type ManagerLease struct {
	Client          *Client
	Namespace, Name string
}

// ManagerLease implements activities.ManagerReader.
func (l ManagerLease) ManagerLease(ctx context.Context) (proof.ManagerLease, error) {
	raw, err := l.Client.do(ctx, request{verb: "get", resource: leaseResource, namespace: l.Namespace, name: l.Name})
	if err != nil {
		return proof.ManagerLease{}, err
	}
	var wire struct {
		Spec struct {
			Holder   string           `json:"holderIdentity"`
			Acquired metav1.MicroTime `json:"acquireTime"`
			Renewed  metav1.MicroTime `json:"renewTime"`
			Seconds  int32            `json:"leaseDurationSeconds"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return proof.ManagerLease{}, fmt.Errorf("read Lease %s/%s: %w: %w", l.Namespace, l.Name, karmada.ErrInvalid, err)
	}
	return proof.ManagerLease{
		Holder: wire.Spec.Holder, Acquired: wire.Spec.Acquired.Time, Renewed: wire.Spec.Renewed.Time,
		Duration: time.Duration(wire.Spec.Seconds) * time.Second,
	}, nil
}
