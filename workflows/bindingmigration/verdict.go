package bindingmigration

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// followVerdict takes the controller's verdict in the place of a look: of a plain migration, about a version of
// the binding newer than any that this migration has read or written, with nothing signalled since.
// The health that it finds counts from now, not from when the controller saw it.
func (m *migration) followVerdict() (activities.Observation, bool) {
	fact := m.verdict
	m.verdict = nil
	if fact == nil || m.dirty || !m.plain() || !fact.Verdict.Decides(m.st.Ref.Baseline) {
		return activities.Observation{}, false
	}
	if !rules.IsOlder(m.st.Ref.Seen, fact.ResourceVersion) { // not newer, or nobody can tell
		return activities.Observation{}, false
	}
	m.calm()
	m.seen(fact.ResourceVersion)
	m.st.Followed = true
	v := fact.Verdict
	o := activities.Observation{
		Seen: fact.ResourceVersion, UID: fact.UID, Held: true, Purge: m.st.Ref.Purge, State: m.st.Ref.State,
		Placed: v.Placed, Health: v.Health, On: v.On, SourceReady: v.SourceReady, Outage: m.st.Outage,
	}
	for _, t := range v.On {
		o.Targets = append(o.Targets, t.Name)
	}
	return o, true
}

// plain tells whether nothing but the verdicts decides how the migration goes on until its release.
func (m *migration) plain() bool {
	st := &m.st
	waits := st.Phase == phase.MigrationPlacing || st.Phase == phase.MigrationAwaitingHealth
	gracefully := st.Ref.Purge == karmada.PurgeGracefully && !m.carries()
	special := st.Adopt || st.HasDependents || st.Ref.Named || st.Swapped || st.Terms.Plugins.External()
	return waits && gracefully && !special && !m.underOrders() && !m.doubts()
}

// underOrders tells whether somebody ordered anything.
func (m *migration) underOrders() bool {
	return m.ordered() || m.st.PutBack != nil || m.st.Drop != nil || m.st.Paused != nil
}

// doubts tells whether what was read last leaves a doubt that a look has to settle.
func (m *migration) doubts() bool {
	st := &m.st
	return m.distrusts || st.StaleRead || st.Unseen || st.Unproven || st.MaybeReleased || st.SourceGone
}

// safetyPoll is how long the migration may wait for health to hold without a look. The release tells
// by the controller's Lease whether the controller watched meanwhile.
func (m *migration) safetyPoll() time.Duration {
	if m.st.Followed && m.st.Terms.Watched {
		return max(m.st.Terms.HealthPoll, watchedPoll)
	}
	return m.st.Terms.HealthPoll
}

// watchedPoll is how often a migration looks while the controller watches.
const watchedPoll = 2 * time.Minute
