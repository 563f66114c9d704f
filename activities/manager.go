package activities

import (
	"context"
	"errors"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// ManagerReader reads the leader Lease of karmada-controller-manager. ErrGone where there is none.
type ManagerReader interface {
	ManagerLease(ctx context.Context) (proof.ManagerLease, error)
}

// leasePoll is the pause between two reads of the Lease; longestLease bounds the wait for a
// renewal, so that the activity ends within its own time.
const (
	leasePoll    = time.Second
	longestLease = 20 * time.Second
)

// leases reads the leader Leases that show whether a leader kept watching.
type leases struct {
	clock      Monotonic
	manager    ManagerReader // of karmada-controller-manager; nil: not configured
	controller ManagerReader // of the controller itself; nil: not configured
}

// leaseBefore is what a Lease says now, or said up to renewedWithin ago where it was read for others.
func leaseBefore(ctx context.Context, lease ManagerReader) (proof.ManagerLease, error) {
	if shared, is := lease.(*recentManager); is {
		if before, ok := shared.earlier(); ok {
			return before, nil
		}
	}
	return lease.ManagerLease(ctx)
}

// managerFresh reports whether what Karmada reports is kept up to date. It waits for a renewal
// of the Lease since renewedWithin ago, for as long as a leader may be silent. Call it before the binding is read.
func (l leases) managerFresh(ctx context.Context, detection time.Duration) (reason.Verdict, error) {
	if l.manager == nil {
		return proof.Refuse(reason.KarmadaUnseen, "no Lease of karmada-controller-manager is configured"), nil
	}
	var v reason.Verdict
	before, err := leaseBefore(ctx, l.manager)
	if err == nil {
		v, err = l.leads(ctx, l.manager, before, detection)
	}
	if errors.Is(err, karmada.ErrGone) || errors.Is(err, karmada.ErrForbidden) {
		return proof.Refuse(reason.KarmadaUnseen, "the Lease of karmada-controller-manager cannot be read: %v", err), nil
	}
	return v, err
}

// leads reports whether the holder of a Lease has renewed it since it was read before, and has held it
// without a gap for so long.
func (l leases) leads(ctx context.Context, lease ManagerReader, before proof.ManagerLease, long time.Duration) (reason.Verdict, error) {
	for waited := time.Duration(0); ; waited += leasePoll {
		now, err := lease.ManagerLease(ctx)
		if err != nil {
			return reason.Verdict{}, err
		}
		v := proof.ManagerFresh(before, now, long)
		renews := now.Renewed.After(before.Renewed)
		if v.OK || renews || now.Holder != before.Holder || waited >= min(before.Duration, longestLease) {
			return v, nil
		}
		if err := l.clock.Wait(ctx, leasePoll); err != nil {
			return reason.Verdict{}, err
		}
	}
}

// controllerLease is what the controller's own Lease says, or said before; not ok where it cannot be read or no process holds it.
func (l leases) controllerLease(ctx context.Context) (lease proof.ManagerLease, ok bool) {
	if l.controller == nil {
		return lease, false
	}
	lease, err := leaseBefore(ctx, l.controller)
	return lease, err == nil && lease.Holder != ""
}

// controllerWatched reports whether the controller, whose Lease was read before, has watched for so
// long without a gap, and still does: otherwise its silence says nothing about health.
func (l leases) controllerWatched(ctx context.Context, before proof.ManagerLease, long time.Duration) reason.Verdict {
	if before.Holder != "" {
		if v, err := l.leads(ctx, l.controller, before, long); err == nil && v.OK {
			return v
		}
	}
	return proof.Refuse(reason.NotHealthy, "the controller has not watched for all of the last %s: a look comes first",
		long.Round(time.Second))
}

// needsManager reports whether a release goes by what Karmada reports: an order needs no proof,
// and a Directly move without state is proven by its old Work alone.
func (r ReleaseRequest) needsManager() bool {
	return r.Mode == rules.ModeEnforce && !r.Ordered && (r.Purge != karmada.PurgeDirectly || len(r.State) > 0)
}

// managerRefuses says why Karmada's word does not do for a release. Where it is not known
// whether that is kept up to date, health has to outlast detection.
func (a releaser) managerRefuses(r ReleaseRequest) reason.Verdict {
	must := max(a.detection(r), a.mustHold(r, Observation{}))
	if r.manager.Reason == reason.KarmadaUnseen && r.HealthyFor >= must {
		return reason.Verdict{OK: true}
	}
	v := r.manager
	if v.Reason == reason.KarmadaUnseen {
		v.Message += "; healthy for " + r.HealthyFor.Round(time.Second).String() + " of " + must.String()
	}
	return v
}

// freshness judges what the Leases say, before the binding is read.
func (a releaser) freshness(ctx context.Context, r *ReleaseRequest) (err error) {
	var before proof.ManagerLease
	if r.Watched {
		before, _ = a.controllerLease(ctx)
	}
	if r.needsManager() {
		if r.manager, err = a.managerFresh(ctx, a.detection(*r)); err != nil {
			return err
		}
	}
	if r.controller = (reason.Verdict{OK: true}); r.Watched {
		r.controller = a.controllerWatched(ctx, before, r.HealthyFor)
	}
	return nil
}
