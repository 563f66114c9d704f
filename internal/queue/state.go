package queue

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// Change is what became of an item as time passed.
type Change struct {
	// Entered: a taint makes it move from now on.
	Entered bool
	// Blocked: it is blocked for another reason than before.
	Blocked bool
}

// Advance moves an item between states as time passes, taints change and orders come. A question that
// is not answered within askFor ends in its staying, with 0 never.
func (q *Queue) Advance(now time.Time, i *Item, askFor time.Duration) Change {
	if i.Permanent {
		return Change{}
	}
	was := i.Affected
	c := q.advance(now, i, askFor)
	if i.Affected && !was {
		c.Entered, i.Queued = true, now
	}
	return c
}

func (q *Queue) advance(now time.Time, i *Item, askFor time.Duration) (c Change) {
	switch due, d := q.Due(now, i); {
	case !d.Affected:
		c.Blocked = q.unmoved(i, d.Reason)
	case i.State == Blocked && i.Reason == reason.ApprovalExpired: // whatever changes (R4.6-31)
	case now.Before(due):
		i.State, i.Reason, i.Affected, i.AskedAt = Tolerating, q.whyNotDue(i, due), true, time.Time{}
	case i.State == Blocked:
		c.Blocked = q.retry(now, i, askFor)
	case q.IsPaused(i.Key):
		i.pause()
	case i.State == Idle || i.State == Tolerating || i.State == Paused:
		i.State, i.Reason, i.Affected = Due, reason.Waiting, true
	}
	return c
}

// retry has a blocked item that is due looked at again when its time has come; it reports whether it
// is blocked for another reason instead.
func (q *Queue) retry(now time.Time, i *Item, askFor time.Duration) bool {
	expired := i.expire(now, askFor)
	switch {
	case expired || now.Before(i.RetryAt):
	case q.IsPaused(i.Key):
		i.pause()
	default:
		i.State = Due
	}
	return expired
}

// unmoved is an item that no taint moves; it reports whether it is blocked.
func (q *Queue) unmoved(i *Item, why reason.Reason) bool {
	if why == reason.Malformed {
		// Not permanent: a hard taint may still come to move it.
		i.State, i.Reason, i.Affected, i.RetryAt = Blocked, why, true, time.Time{}
		i.Message = reason.Summary(q.Policy[i.Policy].SoftMalformed)
		return true
	}
	i.State, i.Reason, i.Message, i.AskedAt = Idle, why, "", time.Time{}
	return false
}

// whyNotDue distinguishes a toleration that runs from a snooze that does.
func (q *Queue) whyNotDue(i *Item, due time.Time) reason.Reason {
	if Latest(q.Standing.Snoozed, i.Key).Equal(due) {
		return reason.Snoozed
	}
	return reason.AwaitingDue
}

// IsPaused reports whether a binding, or its namespace, is paused.
func (q *Queue) IsPaused(key karmada.BindingKey) bool {
	_, paused := q.Standing.Paused.Narrowest(key)
	return paused
}
