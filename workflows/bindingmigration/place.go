package bindingmigration

import (
	"cmp"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
)

// lookHeld is look for a binding that should carry Lifeboat's task, with the ends that
// every holding phase shares. Not ok means that the phase has nothing to decide.
func (m *migration) lookHeld(summary string) (activities.Observation, bool) {
	o, ok := m.looks.followVerdict()
	if !ok {
		o, ok = m.looks.look(summary)
	}
	switch {
	case !ok:
		m.wait(m.st.Terms.HealthPoll, "try to read the binding again")
		return o, false
	case o.Gone:
		m.end(record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
		return o, false
	case o.TaskNote != "":
		m.end(record.Result{Outcome: phase.OutcomeNeedsOperator, Reason: reason.ForeignTask, Message: o.TaskNote})
		return o, false
	case !o.Held:
		m.droppedByOthers(o)
		return o, false
	}
	m.st.Ref.Purge, m.st.Ref.State = o.Purge, o.State // Karmada goes by the task, and so does Lifeboat
	return o, true
}

// droppedByOthers: Lifeboat's task is gone by another actor. Nothing is left to hold.
func (m *migration) droppedByOthers(o activities.Observation) {
	r := record.Result{Outcome: phase.OutcomeMigrated, Reason: reason.ForeignTask, To: o.Targets, Cause: "Lifeboat's task was dropped by another hand"}
	switch {
	case o.Targeted && m.st.Released.MayStand() && m.st.Intent.Recover == nil:
		// Released and put back since, as far as is known: no attempt evicts that twice.
		r.Reason, r.Cause = reason.SchedulerReturnsIt, "released, though the answer was lost; "+m.st.Ref.Cluster+" is a target again"
	case o.Targeted:
		m.restorer.returned()
		return
	case o.Banned:
		m.endBanned(o)
		return
	case !o.Placed.OK:
		r.Outcome, r.Message = phase.OutcomeNeedsOperator, "and it is not placed: "+o.Placed.Message
	}
	m.endOn(phase.EventTaskDropped, r)
}

// endBanned: Lifeboat's hold was released in a drain, and the writer did not receive the answer or
// is another run. What was released does not come back, and its ban goes with the drain.
func (m *migration) endBanned(o activities.Observation) {
	r := record.Result{Outcome: phase.OutcomeMigrated, Reason: reason.SchedulerReturnsIt, To: o.Targets}
	r.Message = "released, and kept off " + m.st.Ref.Cluster + " until undrain"
	if m.st.Intent.PutsBack() {
		m.st.Intent.Refuse(reason.Summary("put-back refused: " + r.Message))
		r.Reason, r.Message = reason.PutBackRefused, m.st.Intent.Refusal
	}
	m.st.Banned, m.st.Intent.Held = true, nil
	m.endOn(phase.EventTaskDropped, r)
}

// place waits for the scheduler.
func (m *migration) place() {
	if m.nothingNew() {
		m.wait(m.st.Terms.HealthPoll, "wait for the scheduler to place "+m.st.Ref.Key.String())
		return
	}
	o, ok := m.lookHeld("see where the scheduler places " + m.st.Ref.Key.String())
	if !ok {
		return
	}
	m.st.Placed = m.st.Placed && o.Placed.OK // a restore of a placed one may have been undone
	if o.SourceGone {
		m.on(phase.EventSourceGone)
		return
	}
	obeyed := m.obeys(o)
	switch {
	case obeyed:
	case o.Placed.OK:
		if !m.st.Directly() { // which waits for the old copy first: what is seen now is old by then
			m.looks.carried = &o
		}
		m.placed(o)
	case o.Targeted && m.st.Paused != nil:
		m.note(reason.Paused, "the scheduler put "+m.st.Ref.Cluster+" back; paused by "+m.st.Paused.Line())
		m.wait(m.st.Terms.HealthPoll, "wait until "+m.st.Ref.Key.String()+" is resumed")
	case o.Targeted:
		m.removeAgain()
	default:
		m.note(o.Placed.Reason, o.Placed.Message)
		m.overdue("the scheduler has not placed it")
		m.wait(m.st.Terms.HealthPoll, "wait for the scheduler to place "+m.st.Ref.Key.String())
	}
}

// removeAgain takes the cluster out that the scheduler's late patch put back.
func (m *migration) removeAgain() {
	m.note(reason.PutBack, "the scheduler put "+m.st.Ref.Cluster+" back; removing it again")
	ctx := flow.Doing(m.ctx, "remove "+m.st.Ref.Cluster+" again from "+m.st.Ref.Key.String()+": the scheduler put it back")
	ref := activities.MigrationRef{ // a task that is left to an operator stays so, though one named the binding
		Cluster: m.st.Ref.Cluster, ClusterUID: m.st.Ref.ClusterUID, Key: m.st.Ref.Key, UID: m.st.Ref.UID,
		Mode: m.st.Ref.Mode, Purge: m.st.Ref.Purge, Owner: m.st.Ref.Owner,
	}
	out, err := flow.Run[activities.ActResult](ctx, activities.NameRemoveAgain, activities.EvictRequest{
		MigrationRef: ref, Policy: m.st.Policy, Unhealthy: m.st.Unhealthy,
	})
	if err == nil && out.End == activities.ActDone {
		m.st.Ref.Generation = out.Generation
		m.acted(record.AuditBindingRemoved, record.Audit{Reason: reason.PutBack})
		return
	}
	if err != nil {
		m.note(reason.Unreachable, err.Error())
	} else if out.End == activities.ActRefused {
		m.note(out.Reason, out.Message)
	}
	m.wait(m.st.Terms.Recheck, "try again to remove "+m.st.Ref.Cluster)
}

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
	lo.distrusts, lo.st.Proof.Followed = false, false
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
	special := st.Adopts() || st.Start == workflows.StartHold || st.Ref.Named || st.Terms.Plugins.External()
	return waits && gracefully && !special && !lo.st.UnderOrders() && !lo.doubts()
}

// doubts reports whether what was read last leaves a doubt that a look has to settle.
func (lo *looks) doubts() bool {
	st := lo.st
	return lo.distrusts || st.Proof.Doubt != reason.None || st.Proof.Waived || st.Released.MayStand() || st.SourceGone
}
