package pace

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Share is how many of the applications of a scope are Unhealthy.
type Share struct {
	Scope     string `json:"scope"`
	Unhealthy int    `json:"unhealthy"`
	Of        int    `json:"of"`
}

// ScopeFleet is the scope of every application.
const ScopeFleet = "the fleet"

// ScopeOfPolicy names the scope of the applications of a policy: "<namespace>/<name>", or "/<name>"
// without a namespace.
func ScopeOfPolicy(id string) string { return "policy " + strings.TrimPrefix(id, "/") }

// ScopeOfCluster names the scope of the applications on a cluster.
func ScopeOfCluster(name string) string { return "cluster " + name }

// breakerLeast is how many must be Unhealthy at least: of three workloads one is no bad release.
const breakerLeast = 5

// Above reports whether more than a share of the scope is Unhealthy (0..1]; 0 is never.
func (s Share) Above(share float64) bool {
	return share > 0 && s.Unhealthy >= breakerLeast && float64(s.Unhealthy) > share*float64(s.Of)
}

// Compare orders shares by their scope.
func (s Share) Compare(other Share) int { return strings.Compare(s.Scope, other.Scope) }

// String is "policy shop/web: 7 of 10 Unhealthy".
func (s Share) String() string {
	return fmt.Sprintf("%s: %d of %d Unhealthy", s.Scope, s.Unhealthy, s.Of)
}

// Suspicion is a scope of which so many applications are Unhealthy that the release is the reason,
// and not the place: none of them moves.
type Suspicion struct {
	Share
	// Above is when the share was last above the limit.
	Above time.Time `json:"above"`
	// Waived: an operator has them move all the same.
	Waived bool `json:"waived,omitempty"`
}

// Same reports whether both suspect the same scope.
func (s Suspicion) Same(other Suspicion) bool { return s.Scope == other.Scope }

// Suspicions are the open ones, sorted by scope.
type Suspicions []Suspicion

// Next are the suspicions after a count: one opens with the first count above the limit, and ends once
// none was above it for the window.
func (s Suspicions) Next(above []Share, now time.Time, window time.Duration) Suspicions {
	var next Suspicions
	for _, old := range s {
		still := slices.ContainsFunc(above, func(x Share) bool { return x.Scope == old.Scope })
		if still || now.Sub(old.Above) < window {
			next = append(next, old)
		}
	}
	for _, share := range above {
		at := slices.IndexFunc(next, func(x Suspicion) bool { return x.Scope == share.Scope })
		if at < 0 {
			next = append(next, Suspicion{Share: share, Above: now})
			continue
		}
		next[at].Share, next[at].Above = share, now
	}
	slices.SortFunc(next, func(a, b Suspicion) int { return a.Compare(b.Share) })
	return next
}

// Holding are those that no operator has waived.
func (s Suspicions) Holding() Suspicions {
	return slices.DeleteFunc(slices.Clone(s), func(x Suspicion) bool { return x.Waived })
}

// Shares are what is suspected.
func (s Suspicions) Shares() (shares []Share) {
	for _, x := range s {
		shares = append(shares, x.Share)
	}
	return shares
}

// Waive has everything move that is suspected now.
func (s Suspicions) Waive() Suspicions {
	out := slices.Clone(s)
	for n := range out {
		out[n].Waived = true
	}
	return out
}

// Holds is the first suspicion that holds one of these scopes, nil when none does.
func (s Suspicions) Holds(scopes []string) *Suspicion {
	for n := range s {
		if !s[n].Waived && slices.Contains(scopes, s[n].Scope) {
			return &s[n]
		}
	}
	return nil
}

// ApplicationScopes are the scopes of one application that is to leave a cluster.
func ApplicationScopes(policy, cluster string) []string {
	scopes := []string{ScopeFleet, ScopeOfCluster(cluster)}
	if policy != "" {
		scopes = append(scopes, ScopeOfPolicy(policy))
	}
	return scopes
}

// ForApplications is the pace of application failovers under the pace of the fleet: the same tier, and a rate
// of their own, by default a quarter. c is as configured: an order for clusters does not change a rate of their own.
func (p Pace) ForApplications(c Config) Pace {
	const byDefault = 0.25
	switch {
	case !p.Flows():
	case c.ApplicationRate <= 0:
		p.Rate *= byDefault
	case p.Tier == TierNormal:
		p.Unlimited, p.Rate = false, c.ApplicationRate
	case c.Unlimited || c.EvictionRate <= 0:
		p.Rate = min(c.SecondaryRate*byDefault, c.ApplicationRate)
	default: // the reduced tier reduces both alike
		p.Rate = c.ApplicationRate * min(1, c.SecondaryRate/c.EvictionRate)
	}
	return p
}
