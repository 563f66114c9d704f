package bindingmigration

import (
	"cmp"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
)

// looks are what was read of the binding last: Ref, Resource, Outage and SourceGone are their own.
type looks struct {
	*course
	// carried is the look that found the binding placed, nil once it is used.
	carried *activities.Observation
	// distrusts: a release was refused, so that the next verdict is preceded by a look.
	distrusts bool
}

// held is what a look or a write starts from, with the old copy's Work.
func (lo *looks) held() activities.MigrationRef {
	ref := lo.st.Ref
	ref.OldWork = lo.st.OldWork
	return ref
}

// look re-reads and judges. Not ok means that no judgement could be had for now;
// the note says why.
func (lo *looks) look(summary string) (activities.Observation, bool) {
	lo.calm()
	o, err := flow.Run[activities.Observation](flow.Doing(lo.ctx, summary), activities.NameObserve, lo.held())
	if err != nil {
		lo.note(reason.Unreachable, err.Error())
		return o, false
	}
	if o.Resource != "" {
		lo.st.Resource = o.Resource
	}
	lo.st.SourceGone, lo.st.Outage = o.SourceGone, o.Outage
	lo.st.Preserved = lo.st.Preserved || o.Preserved // a change after the eviction does not reach the old Work
	lo.seen(o.Seen)
	lo.distrusts = false
	if lo.st.Proof.Since.IsZero() { // otherwise time counts in which only the controller watched
		lo.st.Proof.Followed = false
	}
	return o, true
}

// seen notes which version of the binding was read. Where an older one stands than before,
// proof begins again: the health that it shows may be over, and so may the rest.
func (lo *looks) seen(version string) {
	if rules.IsOlder(version, lo.st.Ref.Seen) {
		lo.st.Proof.Doubt, lo.st.Proof.Since = reason.StaleRead, time.Time{}
		lo.attention(reason.StaleRead, "Karmada has gone back in time: version "+version+" stands, "+lo.st.Ref.Seen+
			" did before; proof begins anew")
	}
	lo.st.Ref.Seen = cmp.Or(version, lo.st.Ref.Seen)
}

// followVerdict takes the controller's verdict in the place of a look: of a plain migration, about a version of
// the binding newer than any that this migration has read or written, with nothing signalled since.
// The health that it finds counts from now, not from when the controller saw it.
func (lo *looks) followVerdict() (activities.Observation, bool) {
	fact := lo.verdict
	lo.verdict = nil
	if fact == nil || lo.dirty || !lo.plain() || !fact.Verdict.Decides(lo.st.Ref.Baseline) {
		return activities.Observation{}, false
	}
	if !rules.IsOlder(lo.st.Ref.Seen, fact.ResourceVersion) { // not newer, or not comparable
		return activities.Observation{}, false
	}
	lo.calm()
	lo.seen(fact.ResourceVersion)
	lo.st.Proof.Followed = true
	v := fact.Verdict
	o := activities.Observation{
		Seen: fact.ResourceVersion, UID: fact.UID, Held: true, Purge: lo.st.Ref.Purge, State: lo.st.Ref.State,
		Placed: v.Placed, Health: v.Health, On: v.On, SourceReady: v.SourceReady, Outage: lo.st.Outage,
	}
	for _, t := range v.On {
		o.Targets = append(o.Targets, t.Name)
	}
	return o, true
}

// plain reports whether nothing but the verdicts decides how the migration goes on until its release.
func (lo *looks) plain() bool {
	st := lo.st
	waits := st.Phase == phase.MigrationPlacing || st.Phase == phase.MigrationAwaitingHealth
	gracefully := st.Ref.Purge == karmada.PurgeGracefully && !lo.st.Carries()
	special := st.RetainsReplicas() || st.Adopts() || st.Start == workflows.StartHold || st.Ref.Named || st.Terms.Plugins.External()
	return waits && gracefully && !special && !lo.st.UnderOrders() && !lo.doubts()
}

// doubts reports whether what was read last leaves a doubt that a look has to settle.
func (lo *looks) doubts() bool {
	st := lo.st
	return lo.distrusts || st.Proof.Doubt != reason.None || st.Proof.Waived || st.Released.MayStand() || st.SourceGone
}
