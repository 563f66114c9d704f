package workflows

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// PacerState is the whole state of a FleetPacer: its query answer and its
// continue-as-new input are the same thing.
type PacerState struct {
	Pace pace.Pace `json:"pace"`
	// Assessed is when Pace was judged.
	Assessed time.Time `json:"assessed,omitzero"`
	// Changed: the fleet, an order or the set of failovers changed since then.
	Changed bool `json:"changed,omitempty"`
	// Unknown is why the fleet, or its Unhealthy applications, could not be counted then.
	Unknown string `json:"unknown,omitempty"`
	// Recount is when the applications are counted again after they could not be, zero where they were.
	Recount time.Time `json:"recount,omitzero"`
	// Waived: an operator has waived what is suspected since then.
	Waived bool `json:"waived,omitempty"`
	// Config is the pace section of the worker that judged last.
	Config pace.Config `json:"config"`
	// Runbook is where that worker says that the page of all reasons is published.
	Runbook string `json:"runbook,omitempty"`
	// InForce is the configuration of that worker, as texts by key: the mode, and what is not
	// the default. plan and explain use it.
	InForce map[string]string `json:"inForce,omitempty"`
	// Schedule are the moments of the evictions, and the permits that are out.
	Schedule pace.Schedule `json:"schedule"`
	// Applications are those of application failovers, which have a pace of their own. Permits of both are
	// numbered together.
	Applications pace.Schedule `json:"applications,omitzero"`
	// Suspicions are the releases that hold the moves of applications.
	Suspicions pace.Suspicions `json:"suspicions,omitempty"`
	// Requests are the open ones, by who requests.
	Requests map[string]Request `json:"requests,omitempty"`
	// Served is the cluster of the newest grant: of equals the one after it is next.
	Served string `json:"served,omitempty"`
	// ServedApplication is the same of application failovers.
	ServedApplication string `json:"servedApplication,omitempty"`
	Orders            Orders `json:"orders"`
	// HaltedAt is since when Orders halt, as far as this pacer has seen it.
	HaltedAt time.Time `json:"haltedAt,omitzero"`
	// Migrations remembers the bindings that were moved within the last hour.
	Migrations pace.MigrationLog `json:"migrations"`
	// Probed are the results of the external probe, for the next leader of the controller.
	Probed rules.Probed `json:"probed,omitempty"`
	// Granted, Written and Unused count permits since the pacer's first start: those that were
	// granted, whose eviction stands, and that passed without one, as far as this pacer has received.
	Granted int64 `json:"granted"`
	Written int64 `json:"written"`
	Unused  int64 `json:"unused"`
	// Audited: there is an audit trail. Audit is what it lacks so far, between two runs;
	// First is the run id that the ids of its records begin with.
	Audited bool   `json:"audited,omitempty"`
	Audit   *Trail `json:"audit,omitempty"`
	First   string `json:"first,omitempty"`
}

// Orders are what operators, or a lost state, ordered. They are mirrored in the memo.
type Orders struct {
	Halted *Order `json:"halted,omitempty"`
	// HaltReason is HaltedByOperator or StateLost.
	HaltReason reason.Reason `json:"haltReason,omitempty"`
	// Rate replaces the configured rate when not nil.
	Rate   *float64 `json:"rate,omitempty"`
	RateBy *Order   `json:"rateBy,omitempty"`
}

// Request is an open PermitRequest and when it was last received.
type Request struct {
	activities.PermitRequest
	Heard time.Time `json:"heard"`
	// Newest is the newest permit that was granted to it. A request of before that says
	// nothing about how many more it wants.
	Newest int64 `json:"newest,omitempty"`
	// Until is when that has passed: a failover that has not received it by then works without it.
	Until time.Time `json:"until,omitzero"`
	// Told: its failover has received the pace at least once.
	Told bool `json:"told,omitempty"`
}

// PacerStatus answers the status query.
type PacerStatus struct {
	PacerState
	Now time.Time `json:"now"`
}

// FleetPacerParams start the FleetPacer. State is nil but for a run that continues another.
type FleetPacerParams struct {
	Instance string      `json:"instance,omitempty"`
	State    *PacerState `json:"state,omitempty"`
}
