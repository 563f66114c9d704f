package rules

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// CopyHealth is how a look found one copy of an application.
type CopyHealth struct {
	Cluster  string         `json:"cluster"`
	Health   karmada.Health `json:"health"`
	Revision string         `json:"revision,omitempty"` // of the workload; empty where it is not known
	// ClusterFails: its cluster is not Ready, or is the subject of a failover.
	ClusterFails bool `json:"clusterFails,omitempty"`
}

// Unhealthy reports whether the copy is, and its cluster is not the reason.
func (c CopyHealth) Unhealthy() bool {
	return c.Health == karmada.HealthUnhealthy && !c.ClusterFails
}

// HealthText is the health for an operator: the time of an Unknown copy does not run (R4.13-3).
func (c CopyHealth) HealthText() string {
	if c.Health == karmada.HealthUnknown {
		return "Unknown: its time does not run"
	}
	return string(c.Health)
}

// CopiesOf are the copies of a binding on its targets, without their revisions.
func CopiesOf(b *karmada.Binding, fails func(cluster string) bool) []CopyHealth {
	var copies []CopyHealth
	for _, target := range b.Clusters {
		c := CopyHealth{Cluster: target.Name, Health: karmada.HealthUnknown, ClusterFails: fails(target.Name)}
		if item := b.Item(target.Name); item != nil {
			c.Health = item.Health
		}
		copies = append(copies, c)
	}
	return copies
}

// FailsItself reports whether a cluster is not Ready or is the subject of a failover: then no copy
// on it says anything about its application.
func FailsItself(c karmada.Cluster) bool {
	return c.Deleting || !c.Ready() || c.HasLifeboatMark() || len(karmada.Foreign(c)) > 0
}

// UnhealthyClock measures for how long a copy has been Unhealthy.
type UnhealthyClock struct {
	Cluster  string `json:"cluster"`
	Revision string `json:"revision,omitempty"`
	// Ran is how long it had run when it was last stopped, Since is when it last went on; zero
	// while it is stopped.
	Ran   time.Duration `json:"ran,omitempty"`
	Since time.Time     `json:"since,omitzero"`
}

// UnhealthyClocks are the clocks of the copies of one application.
type UnhealthyClocks []UnhealthyClock

// Next are the clocks after a look: Healthy and another revision restart one, Unknown and a
// cluster that itself fails stop one, and a copy that is no target any more has none.
func (clocks UnhealthyClocks) Next(copies []CopyHealth, now time.Time) UnhealthyClocks {
	var next UnhealthyClocks
	for _, c := range copies {
		clock := UnhealthyClock{Cluster: c.Cluster, Revision: c.Revision}
		at := slices.IndexFunc(clocks, func(k UnhealthyClock) bool { return k.Cluster == c.Cluster })
		known := at >= 0 && !IsAnotherRevision(clocks[at].Revision, c.Revision)
		if known {
			clock = clocks[at]
		}
		if clock.Revision == "" {
			clock.Revision = c.Revision
		}
		switch {
		case c.Health == karmada.HealthHealthy, !known && !c.Unhealthy():
			continue
		case !c.Unhealthy():
			clock = clock.stopped(now)
		case clock.Since.IsZero():
			clock.Since = now
		}
		next = append(next, clock)
	}
	return next
}

// IsAnotherRevision reports whether two revisions are known to differ.
func IsAnotherRevision(a, b string) bool { return a != "" && b != "" && a != b }

func (k UnhealthyClock) stopped(now time.Time) UnhealthyClock {
	if !k.Since.IsZero() {
		k.Ran, k.Since = k.Ran+now.Sub(k.Since), time.Time{}
	}
	return k
}

// Ends is when the copy has been Unhealthy for so long; false while the clock is stopped.
func (k UnhealthyClock) Ends(tolerated time.Duration) (at time.Time, runs bool) {
	return k.Since.Add(tolerated - k.Ran), !k.Since.IsZero()
}

// Running are the clocks that are not stopped, in the order in which they end.
func (clocks UnhealthyClocks) Running(tolerated time.Duration) UnhealthyClocks {
	running := slices.DeleteFunc(slices.Clone(clocks), func(k UnhealthyClock) bool { return k.Since.IsZero() })
	slices.SortStableFunc(running, func(a, b UnhealthyClock) int {
		first, _ := a.Ends(tolerated)
		second, _ := b.Ends(tolerated)
		return first.Compare(second)
	})
	return running
}

// Stopped are the clocks of copies of which nothing is known.
func (clocks UnhealthyClocks) Stopped(now time.Time) (stopped UnhealthyClocks) {
	for _, k := range clocks {
		stopped = append(stopped, k.stopped(now))
	}
	return stopped
}

// Arrival is a revision on a cluster to which an application failover moved it.
type Arrival struct {
	Cluster  string `json:"cluster"`
	Revision string `json:"revision,omitempty"`
}

// Arrivals are where application failovers of one binding moved it, one for each cluster.
type Arrivals []Arrival

// Departure is a move that another failover goes on with: which revision left, and the targets before.
type Departure struct {
	Revision string   `json:"revision"`
	Before   []string `json:"before"`
}

// Arrived keeps where copies of the revision that left are now, and what is still to arrive: nil once another copy than those
// of before has a revision. Nil moved nothing.
func (d *Departure) Arrived(a Arrivals, copies []CopyHealth) (Arrivals, *Departure) {
	if d == nil {
		return a, nil
	}
	a = a.Add(slices.DeleteFunc(slices.Clone(copies), func(c CopyHealth) bool { return c.Revision != d.Revision }), d.Before)
	if slices.ContainsFunc(copies, func(c CopyHealth) bool { return c.Revision != "" && !slices.Contains(d.Before, c.Cluster) }) {
		d = nil
	}
	return a, d
}

// Add keeps where copies arrived that were not on a target before the move; a cluster that has an
// arrival already keeps that.
func (a Arrivals) Add(copies []CopyHealth, before []string) Arrivals {
	for _, c := range copies {
		if !slices.Contains(before, c.Cluster) && c.Revision != "" && !slices.ContainsFunc(a, func(x Arrival) bool { return x.Cluster == c.Cluster }) {
			a = append(a, Arrival{c.Cluster, c.Revision})
		}
	}
	return a
}

// Unhealthy reports whether a copy that is Unhealthy is of the very revision that was moved there:
// then the workload is the reason, and no other cluster helps.
func (a Arrivals) Unhealthy(k UnhealthyClock) bool {
	return k.Revision != "" && slices.Contains(a, Arrival{k.Cluster, k.Revision})
}

// Without forgets the arrivals of revisions that a look found replaced.
func (a Arrivals) Without(copies []CopyHealth) Arrivals {
	return slices.DeleteFunc(slices.Clone(a), func(x Arrival) bool {
		return slices.ContainsFunc(copies, func(c CopyHealth) bool {
			return c.Cluster == x.Cluster && IsAnotherRevision(c.Revision, x.Revision)
		})
	})
}

// UnfitApplication says why spec.failover.application cannot be followed, reason.None when it can.
func UnfitApplication(a *karmada.ApplicationFailover) (reason.Reason, string) {
	switch {
	case a.TolerationSeconds < 0:
		return reason.Malformed, "spec.failover.application.decisionConditions.tolerationSeconds is negative"
	case a.GraceSeconds < 0:
		return reason.Malformed, "spec.failover.application.gracePeriodSeconds is negative"
	}
	return reason.None, ""
}

// ApplicationPolicy is what spec.failover.application says of a move.
func ApplicationPolicy(b *karmada.Binding) Policy {
	p := Policy{Priority: b.Priority, State: b.Application.StateRules}
	p.PurgeMode, p.PurgeBySpec = purgeOf(b, b.Application.PurgeMode)
	return p
}

// Tolerated is for how long a copy may be Unhealthy. It saturates.
func Tolerated(a *karmada.ApplicationFailover) time.Duration { return seconds(a.TolerationSeconds) }
