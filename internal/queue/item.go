package queue

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"k8s.io/apimachinery/pkg/types"
)

// Item is one binding of the queue, kept short: there may be thousands.
type Item struct {
	Key      karmada.BindingKey `json:"k"`
	UID      types.UID          `json:"u,omitempty"`
	Resource string             `json:"o,omitempty"`
	Policy   int                `json:"p"`
	Kind     int                `json:"v,omitempty"` // index into Kinds
	State    State              `json:"s"`
	Reason   reason.Reason      `json:"r,omitempty"`
	Message  string             `json:"m,omitempty"`
	To       []string           `json:"c,omitempty"`
	RetryAt  time.Time          `json:"t,omitzero"` // in an answer to a query, of one that tolerates, when it is due
	Tries    int                `json:"n,omitempty"`
	// Purge is how its old copy goes, frozen by the first check.
	Purge karmada.PurgeMode `json:"g,omitempty"`
	// Fence is what proves its old copy dead.
	Fence *proof.Fence `json:"f,omitempty"`
	// Affected reports that a taint has made it move in this attempt, so that it owes an outcome.
	Affected bool `json:"w,omitempty"`
	// Queued is since when it does; zero where an earlier run left it behind.
	Queued time.Time `json:"e,omitzero"`
	// Returned: the scheduler put it back after a release of this drain.
	Returned bool `json:"b,omitempty"`
	// Deps: others go where it goes, as the pre-check saw.
	Deps bool `json:"d,omitempty"`
	// Follows: it runs no pods, and may wait with its release for workloads (R4.7-61).
	Follows bool `json:"l,omitempty"`
	// AskedAt is since when an approval rule asks an operator, without an answer.
	AskedAt time.Time `json:"a,omitzero"`
	// Said is the reason that was last recorded as what blocks it.
	Said reason.Reason `json:"q,omitempty"`
	// Blocked bindings that can never move in this attempt are looked at again only when they change.
	Permanent bool `json:"x,omitempty"`
}

// State is where a queued binding stands.
type State string

// The states of a queued binding.
const (
	Tolerating State = "tolerating" // affected, not yet due
	Idle       State = "idle"       // targets the cluster; no taint moves it
	Due        State = "due"        // to be pre-checked
	Ready      State = "ready"      // passed the pre-check, wants a grant
	Blocked    State = "blocked"    // failed it; looked at again at RetryAt
	Behind     State = "behind"     // an older migration of it still runs
	Fence      State = "fence"      // to wait, in a migration of its own, until its old copy is proven dead
	Paused     State = "paused"     // due, and an operator paused it or its namespace
	Hold       State = "hold"       // passed the pre-check; its dependents are to be held, in a migration of its own, before it wants a grant
	Ended      State = "ended"      // leaves the queue within the same turn
)

// hasTurn reports whether a binding moves in its turn, as far as is known.
func (s State) hasTurn() bool { return s == Tolerating || s == Due || s == Ready || s == Hold }

func (i *Item) pause() { i.State, i.Reason, i.Affected = Paused, reason.Paused, true }

// expire ends a question that has gone unanswered for too long: the item stays where it is, and is
// looked at again only when it is approved.
func (i *Item) expire(now time.Time, askFor time.Duration) bool {
	expired, over := ExpireApproval(reason.Verdict{Reason: i.Reason, Message: i.Message}, i.AskedAt, now, askFor)
	if over {
		i.Reason, i.Message, i.RetryAt = expired.Reason, expired.Message, time.Time{}
	}
	return over
}

// pingPongRetry is how long a binding rests that was moved too often, before it is checked again.
const pingPongRetry = 5 * time.Minute

// Block blocks an item with its reason, until it is looked at again: after wait at first, later
// after longer, up to eight times that.
func (i *Item) Block(now time.Time, why reason.Reason, message string, wait time.Duration) {
	i.RetryAt = now.Add(wait << min(i.Tries, 3))
	if why == reason.PingPong {
		i.RetryAt = now.Add(pingPongRetry)
	}
	i.Tries++
	i.State, i.Reason, i.Message = Blocked, why, reason.Summary(message)
}

// AttemptFailed reports that an item is blocked by how its last check or write went, and by nothing of its own: it has
// yet to move.
func (i *Item) AttemptFailed() bool {
	return i.State == Blocked && (i.Reason == reason.Unreachable || i.Reason == reason.Conflict)
}

// Retry has an item looked at at once.
func (i *Item) Retry() { i.RetryAt, i.Tries = time.Time{}, 0 }

// LookAgain has a blocked item looked at now, for what blocked it may have changed; it reports
// whether that could help.
func (i *Item) LookAgain() bool {
	helps := i.State == Blocked && !i.Permanent && i.Reason != reason.PingPong && i.Reason != reason.ApprovalExpired
	if helps {
		i.Retry()
	}
	return helps
}

// Capped reports whether an item waits since it has moved too often: a yes for it alone lifts that.
func (i *Item) Capped() bool { return i.State == Blocked && i.Reason == reason.PingPong }
