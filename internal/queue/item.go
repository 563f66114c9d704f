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
	// Was tells that a taint has made it move in this attempt, so that it owes an outcome.
	Was bool `json:"w,omitempty"`
	// Queued is since when it does; zero where an earlier run left it behind.
	Queued time.Time `json:"e,omitzero"`
	// Returned: the scheduler put it back after a release of this drain.
	Returned bool `json:"b,omitempty"`
	// Deps: others go where it goes, as the pre-check saw.
	Deps bool `json:"d,omitempty"`
	// AskedAt is since when an approval rule asks a human, without an answer.
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
	Paused     State = "paused"     // due, and a human paused it or its namespace
	Hold       State = "hold"       // passed the pre-check; its dependents are to be held, in a migration of its own, before it wants a grant
)
