package proof

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// ManagerLease is the leader Lease of karmada-controller-manager. Its times are by the
// manager's own clock: they are only compared with each other.
type ManagerLease struct {
	Holder string
	// Acquired is since when the holder leads without a gap, Renewed when it last said so.
	Acquired time.Time
	Renewed  time.Time
	// Duration is how long a holder may be silent before another one takes over.
	Duration time.Duration
}

// ManagerFresh reports from two reads of the Lease whether what Karmada reports is kept up to
// date: the same holder has renewed between them, and has led for at least detection. A
// manager that has just started renews at once, while the statuses that it left are old.
func ManagerFresh(before, now ManagerLease, detection time.Duration) reason.Verdict {
	led := now.Renewed.Sub(now.Acquired)
	switch {
	case now.Holder == "":
		return Refuse(reason.KarmadaStale, "no process holds the Lease of karmada-controller-manager")
	case now.Holder != before.Holder || !now.Acquired.Equal(before.Acquired):
		return Refuse(reason.KarmadaStale, "the Lease of karmada-controller-manager has just changed hands")
	case led < detection:
		return Refuse(reason.KarmadaStale, "karmada-controller-manager leads for %s of %s: what it reports may be old", led.Round(time.Second), detection)
	case !now.Renewed.After(before.Renewed):
		return Refuse(reason.KarmadaStale, "karmada-controller-manager does not renew its Lease: what it reports is old")
	default:
		return reason.Verdict{OK: true}
	}
}
