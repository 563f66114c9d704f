package k8sadapter

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
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
	Identity  string // unique among the candidates; a tail is added
	// LeaseDuration is how long others wait for a leader that says nothing;
	// RenewDeadline how long a leader tries to renew before it gives up, shorter than
	// that; RetryPeriod the pause between tries, shorter still.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// RunLeaderElected waits until this candidate leads and then calls run, whose
// context ends when the Lease is lost or ctx ends. It returns when run has
// returned (nil), when ctx ended (nil), or with ErrLeadershipLost once run has
// returned after the loss. The Lease is given up only after run has returned, so
// that in an orderly hand-over no two lead; should giving it up fail, the next
// leader waits for LeaseDuration.
//
// Each call stands for election under an identity of its own: client-go keeps acquireTime for an identity that
// held the Lease before, and a gap in which this process did not lead would not be seen in it.
//
// Timing that would protect nobody is an ErrInvalid: a Lease counts in whole
// seconds, so one shorter than a second would be free for all.
func (c *Client) RunLeaderElected(ctx context.Context, cfg LeaderConfig, run func(ctx context.Context)) error {
	if cfg.LeaseDuration < time.Second {
		return fmt.Errorf("lead %s/%s: %w: leaseDuration %s is below 1s", cfg.Namespace, cfg.Name, karmada.ErrInvalid, cfg.LeaseDuration)
	}
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, cfg.Namespace, cfg.Name,
		resourcelock.ResourceLockConfig{Identity: cfg.Identity + "_" + rand.Text()[:4]}, c.leaseConfig(), cfg.RenewDeadline)
	if err != nil {
		return fmt.Errorf("lead %s/%s: %w", cfg.Namespace, cfg.Name, err)
	}
	campaign, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	term := &term{ctx: ctx, run: run, end: end, over: make(chan struct{})}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &leaseLock{Interface: lock, log: c.log}, Name: cfg.Name, ReleaseOnCancel: true,
		LeaseDuration: cfg.LeaseDuration, RenewDeadline: cfg.RenewDeadline, RetryPeriod: cfg.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: term.lead,
			OnStoppedLeading: func() {},
			OnNewLeader:      func(who string) { c.log.InfoContext(ctx, "leader observed", "lease", cfg.Name, "leader", who) },
		},
	})
	if err != nil {
		return fmt.Errorf("lead %s/%s: %w: %w", cfg.Namespace, cfg.Name, karmada.ErrInvalid, err)
	}
	stop := context.AfterFunc(ctx, term.withdraw)
	defer stop()
	elector.Run(klog.NewContext(campaign, logr.FromSlogHandler(quietElector{c.log.Handler()})))
	return term.outcome(cfg)
}

// leaseConfig is the client's config without its rate limiter: a renewal must not
// queue behind ordinary requests.
func (c *Client) leaseConfig() *rest.Config {
	cfg := rest.CopyConfig(c.config)
	cfg.RateLimiter = nil
	return cfg
}
