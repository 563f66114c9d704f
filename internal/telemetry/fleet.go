package telemetry

import (
	"sync/atomic"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/prometheus/client_golang/prometheus"
)

// FleetState is how failovers stand, as the workflows themselves answered.
type FleetState struct {
	// Pace is nil where the pacer has never answered.
	Pace      *pace.Pace
	Failovers []FailoverState
	// Asked are all workflows that were asked, by id; true for one that did not answer.
	// What it said before stands until it answers again.
	Asked map[string]bool
}

// FailoverState is how the failover of one cluster stands.
type FailoverState struct {
	Cluster string
	Mode    rules.Mode
	Phase   phase.Failover
	Paused  bool // a human paused all of it
	// Bindings counts those that are not done, by where they are: one of the States.
	Bindings map[string]int
	// Blocked and Attention count bindings by reason; the failover's own need of
	// attention counts as one.
	Blocked, Attention map[reason.Reason]int
	// Waiting counts those that are due and begin nothing, by what holds them.
	Waiting map[reason.Reason]int
	// BlockedSince is when the first of the blocked was due, zero when none is.
	BlockedSince time.Time
	PendingPurge int
}

// Where a binding that is not done may be.
const (
	StateTolerating = "tolerating" // not yet due
	StateWaiting    = "waiting"    // due, for its turn and a lease
	StatePaused     = "paused"     // due, and a human paused it
	StateBlocked    = "blocked"    // blocked with a reason
	StateApproval   = "approval"   // a human is asked before it moves
	StateFence      = "fence"      // until its old copy is proven dead
	StateMoving     = "moving"     // its migration runs
)

// States are all of them, in order of progress.
func States() []string {
	return []string{StateTolerating, StateWaiting, StatePaused, StateBlocked, StateApproval, StateFence, StateMoving}
}

// Fleet publishes how things stand now. Only the controller that leads knows, and says
// so; in every other process it is empty and has no series. So there is one answer
// and not one of each worker that once knew, and a gauge that ends means that nobody
// looks: lifeboat_controller_leader tells.
type Fleet struct {
	state atomic.Pointer[FleetState]
	now   func() time.Time
	descs map[string]*prometheus.Desc
}

// NewFleet registers the metrics of the fleet; now is the wall clock.
func NewFleet(registry prometheus.Registerer, now func() time.Time) *Fleet {
	f := &Fleet{now: now, descs: map[string]*prometheus.Desc{}}
	for _, m := range fleetMetrics {
		f.descs[m.name] = prometheus.NewDesc(prometheus.BuildFQName(namespace, "", m.name), m.help, m.labels, nil)
	}
	registry.MustRegister(f)
	return f
}

// Set publishes a new state as a whole; nil ends every series.
func (f *Fleet) Set(state *FleetState) { f.state.Store(state) }

// Names of the gauges.
const (
	gaugeRate         = "evict_rate_limit"
	gaugeUnlimited    = "evict_unlimited"
	gaugeTier         = "pace_tier"
	gaugePaceReason   = "pace_reason"
	gaugeFaults       = "cluster_fault_num"
	gaugeFaultRate    = "cluster_fault_rate"
	gaugePhase        = "failover_phase"
	gaugePaused       = "failover_paused"
	gaugeBindings     = "failover_bindings"
	gaugeBlocked      = "blocked_bindings"
	gaugeWaiting      = "waiting_bindings"
	gaugeOldest       = "oldest_blocked_seconds"
	gaugeAttention    = "attention"
	gaugeApprovals    = "approvals_awaited"
	gaugePendingPurge = "pending_purge"
	gaugeUnanswered   = "unanswered"
)

var fleetMetrics = []struct {
	name, help string
	labels     []string
}{
	{gaugeRate, "Evictions per second that are allowed now; 0 while halted or unlimited.", nil},
	{gaugeUnlimited, "1 while evictions are not paced.", nil},
	{gaugeTier, "1 for the tier that holds now.", []string{"tier"}},
	{gaugePaceReason, "1, with why that tier holds.", []string{"reason"}},
	{gaugeFaults, "Faulty clusters.", nil},
	{gaugeFaultRate, "Faulty clusters as a share of all, 0 to 1.", nil},
	{gaugePhase, "1, with the phase of a failover that runs.", []string{"cluster", "mode", "phase"}},
	{gaugePaused, "1 while a human has paused the failover.", []string{"cluster", "mode"}},
	{gaugeBindings, "Bindings that are not done, by where they are.", []string{"cluster", "mode", "state"}},
	{gaugeBlocked, "Bindings that are blocked, by reason.", []string{"cluster", "mode", "reason"}},
	{gaugeWaiting, "Bindings that are due and wait for their turn, by what holds them.", []string{"cluster", "mode", "reason"}},
	{gaugeOldest, "How long ago the first of the blocked bindings was due; 0 when none is.", []string{"cluster", "mode"}},
	{gaugeAttention, "Bindings, and failovers, that need attention now, by reason.", []string{"cluster", "mode", "reason"}},
	{gaugeApprovals, "Bindings that await a human's approval now.", []string{"cluster", "mode"}},
	{gaugePendingPurge, "Old copies that stay until their cluster is back.", []string{"cluster", "mode"}},
	{gaugeUnanswered, "1 while a workflow that runs does not answer.", []string{"workflow"}},
}

// Describe implements [prometheus.Collector].
func (f *Fleet) Describe(to chan<- *prometheus.Desc) {
	for _, m := range fleetMetrics {
		to <- f.descs[m.name]
	}
}

// Collect implements [prometheus.Collector].
func (f *Fleet) Collect(to chan<- prometheus.Metric) {
	state := f.state.Load()
	if state == nil {
		return
	}
	put := func(name string, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(f.descs[name], prometheus.GaugeValue, value, labels...)
	}
	for id, silent := range state.Asked {
		put(gaugeUnanswered, truth(silent), id)
	}
	if state.Pace != nil {
		collectPace(*state.Pace, put)
	}
	for i := range state.Failovers {
		f.collectFailover(&state.Failovers[i], put)
	}
}

type putGauge func(name string, value float64, labels ...string)

func collectPace(p pace.Pace, put putGauge) {
	put(gaugeRate, p.Rate)
	put(gaugeUnlimited, truth(p.Unlimited))
	for _, tier := range []pace.Tier{pace.TierNormal, pace.TierSlow, pace.TierHalted} {
		put(gaugeTier, truth(tier == p.Tier), string(tier))
	}
	put(gaugePaceReason, 1, string(p.Reason))
	put(gaugeFaults, float64(len(p.Faulty)))
	put(gaugeFaultRate, p.FaultRate)
}

func (f *Fleet) collectFailover(s *FailoverState, put putGauge) {
	mode := string(s.Mode)
	put(gaugePhase, 1, s.Cluster, mode, string(s.Phase))
	put(gaugePaused, truth(s.Paused), s.Cluster, mode)
	for _, state := range States() {
		put(gaugeBindings, float64(s.Bindings[state]), s.Cluster, mode, state)
	}
	for reason, n := range s.Blocked {
		put(gaugeBlocked, float64(n), s.Cluster, mode, string(reason))
	}
	for reason, n := range s.Waiting {
		put(gaugeWaiting, float64(n), s.Cluster, mode, string(reason))
	}
	for reason, n := range s.Attention {
		put(gaugeAttention, float64(n), s.Cluster, mode, string(reason))
	}
	oldest := 0.0
	if !s.BlockedSince.IsZero() {
		oldest = max(0, f.now().Sub(s.BlockedSince).Seconds())
	}
	put(gaugeOldest, oldest, s.Cluster, mode)
	put(gaugeApprovals, float64(s.Bindings[StateApproval]), s.Cluster, mode)
	put(gaugePendingPurge, float64(s.PendingPurge), s.Cluster, mode)
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
