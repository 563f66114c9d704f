package activities

import (
	"context"
	"errors"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
)

// ManagerReader reads the leader Lease of karmada-controller-manager. ErrGone where there is none.
type ManagerReader interface {
	ManagerLease(ctx context.Context) (failover.ManagerLease, error)
}

// leasePoll is the pause between two reads of the Lease; longestLease bounds the wait for a
// renewal, so that the activity ends within its own time.
const (
	leasePoll    = time.Second
	longestLease = 20 * time.Second
)

// managerFresh tells whether what Karmada reports is kept up to date. It waits for a renewal
// of the Lease, for as long as a leader may be silent. Call it before the binding is read.
func (a *Activities) managerFresh(ctx context.Context, detection time.Duration) (failover.Verdict, error) {
	if a.Manager == nil {
		return managerUnseen("no Lease of karmada-controller-manager is configured"), nil
	}
	before, err := a.Manager.ManagerLease(ctx)
	for waited := leasePoll; err == nil; waited += leasePoll {
		if err = a.Clock.Wait(ctx, leasePoll); err != nil {
			break
		}
		var now failover.ManagerLease
		if now, err = a.Manager.ManagerLease(ctx); err != nil {
			break
		}
		v := failover.ManagerFresh(before, now, detection)
		renews := now.Renewed.After(before.Renewed)
		if v.OK || renews || now.Holder != before.Holder || waited >= min(before.Duration, longestLease) {
			return v, nil
		}
	}
	if errors.Is(err, failover.ErrGone) || errors.Is(err, failover.ErrForbidden) {
		return managerUnseen("the Lease of karmada-controller-manager cannot be read: " + err.Error()), nil
	}
	return failover.Verdict{}, err
}

func managerUnseen(message string) failover.Verdict {
	return failover.Verdict{Reason: failover.ReasonKarmadaUnseen, Message: message}
}

// needsManager tells whether a release goes by what Karmada reports: an order needs no proof,
// and a Directly move without state is proven by its old Work alone.
func (r ReleaseRequest) needsManager() bool {
	return r.Mode == failover.ModeEnforce && !r.Ordered && (r.Purge != failover.PurgeDirectly || len(r.State) > 0)
}

// managerRefuses says why Karmada's word does not do for a release. Where nobody can tell
// whether it is kept up to date, health has to outlast detection.
func (a *Activities) managerRefuses(r ReleaseRequest) failover.Verdict {
	must := max(a.detection(r), a.mustHold(r, Observation{}))
	if r.manager.Reason == failover.ReasonKarmadaUnseen && r.HealthyFor >= must {
		return failover.Verdict{OK: true}
	}
	v := r.manager
	if v.Reason == failover.ReasonKarmadaUnseen {
		v.Message += "; healthy for " + r.HealthyFor.Round(time.Second).String() + " of " + must.String()
	}
	return v
}
