package workflows

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
)

// PacerState is all that a FleetPacer knows: its query answer and its
// continue-as-new input are the same thing.
type PacerState struct {
	Pace failover.Pace `json:"pace"`
	// Assessed is when Pace was judged.
	Assessed time.Time `json:"assessed,omitzero"`
	// Changed: the fleet, an order or who is told changed since then.
	Changed bool `json:"changed,omitempty"`
	// Config is the pace section of the worker that judged last.
	Config failover.PaceConfig `json:"config"`
	// Runbook is where that worker says that the page of all reasons is published.
	Runbook string `json:"runbook,omitempty"`
	// InForce is the configuration of that worker, as texts by key: the mode, and what is not
	// the default. Whoever plans or explains goes by it.
	InForce map[string]string `json:"inForce,omitempty"`
	// Number is that of the newest chunk.
	Number int64 `json:"number"`
	// Chunk is the outstanding one, nil when none is.
	Chunk *Chunk `json:"chunk,omitempty"`
	// LastSize and LastEnd are the previous chunk's: the next is issued no earlier
	// than LastEnd + LastSize/rate.
	LastSize int       `json:"lastSize"`
	LastEnd  time.Time `json:"lastEnd,omitzero"`
	// Requests are the open ones by cluster.
	Requests map[string]Request `json:"requests,omitempty"`
	// Served is the cluster of the newest grant: ties go round from it.
	Served string `json:"served,omitempty"`
	Orders Orders `json:"orders"`
	// HaltedAt is since when Orders halt, as far as this pacer has seen it.
	HaltedAt time.Time `json:"haltedAt,omitzero"`
	// Moves remembers who was moved within the last hour.
	Moves failover.MoveLog `json:"moves"`
	// Probed is what the external probe knows, for the next leader of the controller.
	Probed failover.Probed `json:"probed,omitempty"`
	// Granted, Written and Spent count leases since the pacer's first start.
	Granted int64 `json:"granted"`
	Written int64 `json:"written"`
	Spent   int64 `json:"spent"`
	// Audited: there is an audit trail. Audit is what it lacks so far, between two runs;
	// First is the run id that the ids of its records begin with.
	Audited bool   `json:"audited,omitempty"`
	Audit   *Trail `json:"audit,omitempty"`
	First   string `json:"first,omitempty"`
}

// Orders are what humans, or a lost state, ordered. They are mirrored in the memo.
type Orders struct {
	Halted *Order `json:"halted,omitempty"`
	// HaltReason is HaltedByHuman or StateLost.
	HaltReason failover.Reason `json:"haltReason,omitempty"`
	// Rate replaces the configured rate when not nil.
	Rate   *float64 `json:"rate,omitempty"`
	RateBy *Order   `json:"rateBy,omitempty"`
}

// Chunk is an outstanding grant.
type Chunk struct {
	Number  int64     `json:"number"`
	Cluster string    `json:"cluster"`
	Size    int       `json:"size"`
	Issued  time.Time `json:"issued"`
	// NotBefore is when its leases may first be used, where it was granted ahead of that.
	NotBefore time.Time `json:"notBefore,omitzero"`
	Expires   time.Time `json:"expires"`
	Claimed   int       `json:"claimed"`
	Written   int       `json:"written"`
	Returned  int       `json:"returned"`
	// Idle are those that ended and that nobody had claimed.
	Idle int `json:"idle,omitempty"`
	// Claims are the bindings whose claims have not been reported.
	Claims []string `json:"claims,omitempty"`
	// LastAck is when the newest written report came.
	LastAck time.Time `json:"lastAck,omitzero"`
}

// Request is an open GrantRequest and when it was last heard.
type Request struct {
	GrantRequest
	Heard time.Time `json:"heard"`
	// Told: its episode has been told the pace at least once.
	Told bool `json:"told,omitempty"`
}

// PacerStatus answers the status query.
type PacerStatus struct {
	PacerState
	Now time.Time `json:"now"`
}
