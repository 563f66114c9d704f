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

// FleetState is the state of failovers and pacer, as their workflows answered.
type FleetState struct {
	// Pace is nil where the pacer has never answered.
	Pace      *pace.Pace
	Failovers []FailoverState
	// Asked are all queried workflows, by id; true for one that did not answer. Its previous
	// answer counts until the next.
	Asked map[string]bool
}

// FailoverState is the state of the failover of one cluster.
type FailoverState struct {
	Cluster string
	Mode    rules.Mode
	Phase   phase.Failover
	Paused  bool // an operator paused all of it
	// Bindings counts those without an outcome, by state: one of the States.
	Bindings map[string]int
	// Blocked and Attention count bindings by reason; the failover's own attention flag
	// counts as one.
	Blocked, Attention map[reason.Reason]int
	// Waiting counts due bindings whose migration has not begun, by reason.
	Waiting map[reason.Reason]int
	// BlockedSince is when the first of the blocked was due, zero without any.
	BlockedSince time.Time
	PendingPurge int
}

// The states of a binding without an outcome.
const (
	StateTolerating = "tolerating" // not yet due
	StateWaiting    = "waiting"    // due, waits for its turn and a permit
	StatePaused     = "paused"     // due, and an operator paused it
	StateBlocked    = "blocked"    // blocked with a reason
	StateApproval   = "approval"   // needs an operator's approval
	StateFence      = "fence"      // waits for proof that its old copy is dead
	StateMoving     = "moving"     // its migration runs
)

// States are all states, in order of progress.
func States() []string {
	return []string{StateTolerating, StateWaiting, StatePaused, StateBlocked, StateApproval, StateFence, StateMoving}
}

// Fleet publishes the current state of failovers and pacer. Only the leading controller sets
// it: in every other process it has no series, so that each metric has one source. Without a
// leader the series end; see lifeboat_controller_leader.
type Fleet struct {
	state atomic.Pointer[FleetState]
	now   func() time.Time
}

// NewFleet registers the metrics of the fleet; now is the wall clock.
func NewFleet(registry prometheus.Registerer, now func() time.Time) *Fleet {
	f := &Fleet{now: now}
	registry.MustRegister(f)
	return f
}

// Set publishes a new state as a whole; nil ends every series.
func (f *Fleet) Set(state *FleetState) { f.state.Store(state) }

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

var (
	gaugeRate         = gauge("evict_rate_limit", "Evictions per second that are allowed now; 0 while halted or unlimited.")
	gaugeUnlimited    = gauge("evict_unlimited", "1 while evictions are not paced.")
	gaugeTier         = gauge("pace_tier", "1 for the tier that holds now.", "tier")
	gaugePaceReason   = gauge("pace_reason", "1, with why that tier holds.", "reason")
	gaugeFaults       = gauge("cluster_fault_num", "Faulty clusters.")
	gaugeFaultRate    = gauge("cluster_fault_rate", "Faulty clusters as a share of all, 0 to 1.")
	gaugePhase        = gauge("failover_phase", "1, with the phase of a failover that runs.", "cluster", "mode", "phase")
	gaugePaused       = gauge("failover_paused", "1 while an operator has paused the failover.", "cluster", "mode")
	gaugeBindings     = gauge("failover_bindings", "Bindings that are not done, by where they are.", "cluster", "mode", "state")
	gaugeBlocked      = gauge("blocked_bindings", "Bindings that are blocked, by reason.", "cluster", "mode", "reason")
	gaugeWaiting      = gauge("waiting_bindings", "Bindings that are due and wait for their turn, by what holds them.", "cluster", "mode", "reason")
	gaugeOldest       = gauge("oldest_blocked_seconds", "How long ago the first of the blocked bindings was due; 0 when none is.", "cluster", "mode")
	gaugeAttention    = gauge("attention", "Bindings, and failovers, that need attention now, by reason.", "cluster", "mode", "reason")
	gaugeApprovals    = gauge("approvals_awaited", "Bindings that await an operator's approval now.", "cluster", "mode")
	gaugePendingPurge = gauge("pending_purge", "Old copies that stay until their cluster is back.", "cluster", "mode")
	gaugeUnanswered   = gauge("unanswered", "1 while a workflow that runs does not answer.", "workflow")
)

// Describe implements [prometheus.Collector].
func (f *Fleet) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		gaugeRate, gaugeUnlimited, gaugeTier, gaugePaceReason, gaugeFaults, gaugeFaultRate, gaugePhase, gaugePaused,
		gaugeBindings, gaugeBlocked, gaugeWaiting, gaugeOldest, gaugeAttention, gaugeApprovals, gaugePendingPurge, gaugeUnanswered,
	} {
		to <- desc
	}
}

// Collect implements [prometheus.Collector].
func (f *Fleet) Collect(to chan<- prometheus.Metric) {
	state := f.state.Load()
	if state == nil {
		return
	}
	put := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
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

type putGauge func(desc *prometheus.Desc, value float64, labels ...string)

func collectPace(p pace.Pace, put putGauge) {
	put(gaugeRate, p.Rate)
	put(gaugeUnlimited, truth(p.Unlimited))
	for _, tier := range []pace.Tier{pace.TierNormal, pace.TierReduced, pace.TierHalted} {
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
	for desc, counts := range map[*prometheus.Desc]map[reason.Reason]int{
		gaugeBlocked: s.Blocked, gaugeWaiting: s.Waiting, gaugeAttention: s.Attention,
	} {
		for reason, n := range counts {
			put(desc, float64(n), s.Cluster, mode, string(reason))
		}
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
