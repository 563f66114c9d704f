package failover

// Verdict is the answer of a check: yes or no, and why.
type Verdict struct {
	OK         bool     `json:"ok"`
	Reason     Reason   `json:"reason,omitempty"`
	Message    string   `json:"message,omitempty"`
	Candidates []string `json:"candidates,omitempty"` // where it could go, sorted
	// Reschedule tells that the eviction must also set rescheduleTriggeredAt, or the
	// scheduler would not look at the binding again, or not at the right affinity group.
	Reschedule bool `json:"reschedule,omitempty"`
}

// PreCheckInput is all that decides whether there is somewhere to go.
type PreCheckInput struct {
	Binding *Binding
	// Failing is the cluster that the binding is to leave.
	Failing string
	Fleet   []Cluster
	// Evacuating are the clusters that have a failover of their own past Suspected.
	Evacuating map[string]bool
	// RoomUnknownOK lets a cluster whose capacity is not known count as having room.
	RoomUnknownOK bool
	// RoomForStaticWeights demands room of clusters that grow by static weight, too: the
	// scheduler gives them replicas without looking, and those would be Pending.
	RoomForStaticWeights bool
	// Margin is the percentage of every cluster's room that a yes must do without where
	// replicas are divided by room.
	Margin int
	// Karmada is the release whose scheduler is followed.
	Karmada KarmadaRelease
	// Reserved is what others were promised and do not use yet (derived headroom).
	Reserved Reservations

	lessRoom int // percentage of every cluster's room that is taken away
}

// Baseline is what the evict activity recorded of a binding before it wrote: the
// measure of "added or grown" and "no worse".
type Baseline struct {
	Clusters   []TargetCluster       `json:"clusters"`
	Health     map[string]CopyHealth `json:"health,omitempty"`
	Replicas   int32                 `json:"replicas"` // spec.replicas
	Generation int64                 `json:"generation"`
	Affinity   string                `json:"affinity,omitempty"` // schedulerObservingAffinityName
	// Derived tells that it was read off the hold task, because the answer of the
	// eviction was lost: the clusters are known, what the others held and how they
	// stood is not. Then every target must prove its health.
	Derived bool `json:"derived,omitempty"`
}

// CopyHealth is how one copy stood.
type CopyHealth struct {
	Healthy bool  `json:"healthy"`
	Ready   int64 `json:"ready"` // -1 when the kind does not report it
}

// HealthInput is all that decides whether the new copies are proven.
type HealthInput struct {
	Binding  *Binding
	Failed   string
	Baseline Baseline
	// Suspect are the clusters whose items count as Unknown: not Ready, missing,
	// or with a failover of their own past Suspected.
	Suspect map[string]bool
}

// PaceConfig are the limits of one fleet.
type PaceConfig struct {
	// EvictionRate is evictions per second; ignored when Unlimited.
	EvictionRate float64 `json:"evictionRate"`
	Unlimited    bool    `json:"unlimited,omitempty"`
	// UnhealthyThreshold is the fault rate (0..1] above which the fleet is slowed or halted.
	UnhealthyThreshold float64 `json:"unhealthyThreshold"`
	// SecondaryRate is evictions per second above the threshold, in a fleet of more
	// than LargeFleet clusters; a smaller one halts there.
	SecondaryRate float64 `json:"secondaryEvictionRate"`
	LargeFleet    int     `json:"largeFleetThreshold"`
	// MovesPerHour is how often one binding may be moved within an hour; 0 does not count.
	MovesPerHour int `json:"movesPerHour,omitempty"`
	// UnlimitedChunk bounds the permits that are out when Unlimited.
	UnlimitedChunk int `json:"unlimitedChunk"`
}

// FleetHealth counts clusters.
type FleetHealth struct {
	Total  int      `json:"total"`
	Faulty []string `json:"faulty,omitempty"` // sorted
}

// Tier is the pace that the fleet's health allows.
type Tier string

// The tiers.
const (
	TierNormal Tier = "normal"
	TierSlow   Tier = "slow"
	TierHalted Tier = "halted"
)

// Pace is the pacer's judgement of one moment.
type Pace struct {
	Tier      Tier    `json:"tier"`
	Rate      float64 `json:"rate"` // evictions per second, 0 when halted or unlimited
	Unlimited bool    `json:"unlimited,omitempty"`
	Reason    Reason  `json:"reason"`
	FaultRate float64 `json:"faultRate"`
	FleetHealth
}

// Flows tells whether anything is evicted at all: not while halted, and not before
// the first judgement.
func (p Pace) Flows() bool { return p.Tier == TierNormal || p.Tier == TierSlow }

// Causes says reasons side by side.
func Causes(reasons []Reason) string {
	names := make([]string, 0, len(reasons))
	for _, r := range reasons {
		names = append(names, string(r))
	}
	return List(names)
}
