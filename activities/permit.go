package activities

import (
	"fmt"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// PermitRequest is level-triggered: it says what a failover wants now.
type PermitRequest struct {
	Cluster    string `json:"cluster"`
	FailoverID string `json:"failoverID"`
	Want       int    `json:"want"`
	Priority   int32  `json:"priority"` // of its most urgent binding that has passed the pre-check
	// Seen is the newest permit that it has received: a request that crossed a grant is stale.
	Seen int64 `json:"seen,omitempty"`
	// Open keeps the failover informed of the pace even while it wants no permit; not open withdraws it.
	Open bool `json:"open"`
	// Paused makes the pacer refuse every claim of this cluster.
	Paused bool `json:"paused,omitempty"`
	// Every is how often the request is repeated: a silent one is forgotten.
	Every time.Duration `json:"every"`
	// Application is the binding of an ApplicationFailover, which has a pace of its own; nil for a cluster.
	// Policy is what it comes from, as [pace.ScopeOfPolicy] takes it.
	Application *karmada.BindingKey `json:"application,omitempty"`
	Policy      string              `json:"policy,omitempty"`
}

// From names the failover that requests: its cluster, or the binding of its application.
func (r PermitRequest) From() string {
	if r.Application != nil {
		return "application " + r.Application.String()
	}
	return r.Cluster
}

// attempt measures one attempt against the times of its permit, which are the server's.
type attempt struct {
	began time.Time     // by the server's clock
	skew  time.Duration // by how much this machine's clock is ahead of it
	since func() time.Duration
}

// now is what the server's clock shows.
func (m attempt) now() time.Time { return m.began.Add(m.since()) }

// refuses says why an attempt may send nothing under a permit, empty when it may.
func (m attempt) refuses(p pace.Permit) (reason.Reason, string) {
	switch {
	case !p.Valid():
		return reason.PermitPassed, "it has no permit"
	case m.skew > maxSkew || m.skew < -maxSkew:
		return reason.ClockSkew, fmt.Sprintf("this worker's clock and the Temporal server's differ by %s, at most %s", m.skew.Round(time.Millisecond), maxSkew)
	case !m.inside(p):
		return reason.PermitPassed, "the moment of its permit had passed by " + m.now().Sub(p.Latest).Round(time.Millisecond).String()
	default:
		return reason.None, ""
	}
}

// inside reports whether a request may still be sent under a permit.
func (m attempt) inside(p pace.Permit) bool { return m.now().Before(p.Latest.Add(-permitMargin)) }
