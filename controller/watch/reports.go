package watch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"k8s.io/apimachinery/pkg/types"
)

// RuleMatches are all rules with the clusters that they match.
func (d *Router) RuleMatches() []k8sadapter.RuleStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	matches := make([]k8sadapter.RuleStatus, 0, len(d.rules))
	for _, rule := range d.rules {
		m := k8sadapter.RuleStatus{Rule: rule}
		for _, name := range d.names() {
			c := d.clusters[name]
			seen := rules.Observe([]rules.Rule{rule}, c, d.fact(c))
			if slices.ContainsFunc(seen, func(o rules.RuleObservation) bool { return o.Match == rules.Matches }) {
				m.MatchedClusters = append(m.MatchedClusters, name)
			}
		}
		matches = append(matches, m)
	}
	return matches
}

// RuleStatusWriter writes the status of a rule if it changed.
type RuleStatusWriter interface {
	UpdateRuleStatus(ctx context.Context, s k8sadapter.RuleStatus) error
}

// Reports reports problems with Karmada's objects to their users: always in the log, and in enforce as Events and
// as the status of rules.
type Reports struct {
	// Events and Status are nil in observe: then nothing is written.
	Events activities.EventRecorder
	Status RuleStatusWriter
	Log    *slog.Logger

	refused map[string]string // rule -> why, as last logged
	answers map[types.UID]int // cluster -> probes for which its member has answered
}

// MalformedCluster reports a cluster that cannot be read.
func (r *Reports) MalformedCluster(c *karmada.Cluster) {
	if c.Malformed == "" {
		r.Log.Warn("cannot read soft taints of a cluster", telemetry.KeyCluster, c.Name, telemetry.KeyReason, c.SoftMalformed)
	} else {
		r.Log.Warn("cannot read a cluster, it is left alone", telemetry.KeyCluster, c.Name, telemetry.KeyReason, c.Malformed)
	}
	r.record(activities.Event{Cluster: c.Name, UID: c.UID, Message: cmp.Or(c.Malformed, c.SoftMalformed)})
}

// MalformedBinding reports a binding that cannot be read.
func (r *Reports) MalformedBinding(b *karmada.Binding) {
	r.Log.Warn("cannot read a binding, it is left alone", telemetry.KeyBinding, b.Key.String(), telemetry.KeyReason, b.Malformed)
	r.record(activities.Event{Binding: &b.Key, UID: b.UID, Message: b.Malformed})
}

// MemberAnswers gets, after each probe of the fleet, the clusters of which the external probe contradicts Karmada.
// It reports a cluster that was among them more often in a row than it takes to see a dead member down.
func (r *Reports) MemberAnswers(clusters []karmada.Cluster, attempts int) {
	before := r.answers
	r.answers = make(map[types.UID]int, len(clusters))
	for _, c := range clusters {
		r.answers[c.UID] = before[c.UID] + 1
		if r.answers[c.UID] != attempts+1 {
			continue
		}
		r.Log.Warn("Karmada cannot reach a member that answers the external probe, nothing is failed over", telemetry.KeyCluster, c.Name)
		if r.Events != nil {
			r.Events.Record(context.Background(), activities.Event{
				Cluster: c.Name, UID: c.UID, Warning: true, Reason: string(reason.MemberAnswers),
				Message: "Karmada cannot reach this member, and its API server answers Lifeboat: repair Karmada's credential or way to it; nothing is failed over meanwhile",
			})
		}
	}
}

func (r *Reports) record(e activities.Event) {
	if r.Events == nil {
		return
	}
	e.Warning, e.Reason = true, string(reason.Malformed)
	e.Message = "Lifeboat leaves alone what it cannot read of this object: " + e.Message
	r.Events.Record(context.Background(), e)
}

// Rules writes the status of rules that changed, and logs rules that became malformed.
func (r *Reports) Rules(ctx context.Context, matches []k8sadapter.RuleStatus) {
	standing := map[string]string{}
	for _, m := range matches {
		if m.Rule.Malformed != "" {
			standing[m.Rule.Name] = m.Rule.Malformed
			if r.refused[m.Rule.Name] != m.Rule.Malformed {
				r.Log.WarnContext(ctx, "refused a rule", "rule", m.Rule.Name, telemetry.KeyReason, m.Rule.Malformed)
			}
		}
		r.writeStatus(ctx, m)
	}
	r.refused = standing
}

func (r *Reports) writeStatus(ctx context.Context, m k8sadapter.RuleStatus) {
	if r.Status == nil || m.Rule.Policy { // Karmada's kind has no status
		return
	}
	err := r.Status.UpdateRuleStatus(ctx, m)
	if err != nil && !errors.Is(err, karmada.ErrConflict) && !errors.Is(err, karmada.ErrGone) && ctx.Err() == nil {
		r.Log.WarnContext(ctx, "could not write the status of a ClusterTaintRule", "rule", m.Rule.Name, telemetry.KeyError, err)
	}
}
