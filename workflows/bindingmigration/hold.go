package bindingmigration

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// held is what a look or a write starts from, with the old copy's Work.
func (m *migration) held() activities.MoveRef {
	ref := m.st.Ref
	ref.OldWork = m.st.OldWork
	return ref
}

// look re-reads and judges. Not ok means that no judgement could be had for now;
// the note says why.
func (m *migration) look(summary string) (activities.Observation, bool) {
	var o activities.Observation
	m.calm()
	ctx := flow.Doing(m.ctx, summary)
	if err := workflow.ExecuteActivity(ctx, activities.NameObserve, m.held()).Get(ctx, &o); err != nil {
		m.note(reason.Unreachable, err.Error())
		return o, false
	}
	if o.Resource != "" {
		m.st.Resource = o.Resource
	}
	m.st.SourceGone, m.st.Outage = o.SourceGone, o.Outage
	m.st.Preserved = m.st.Preserved || o.Preserved // a change after the eviction does not reach the old Work
	m.seen(o.Seen)
	m.distrusts, m.st.Followed = false, false
	return o, true
}

// seen notes which version of the binding was read. Where an older one stands than before,
// proof begins anew: the health that it tells of may be over, and so may the rest.
func (m *migration) seen(version string) {
	if rules.IsOlder(version, m.st.Ref.Seen) {
		m.st.StaleRead, m.st.HealthySince = true, time.Time{}
		m.attention(reason.StaleRead, "Karmada has gone back in time: version "+version+" stands, "+m.st.Ref.Seen+
			" did before; proof begins anew")
	}
	m.st.Ref.Seen = cmp.Or(version, m.st.Ref.Seen)
}

// lookHeld is look for a binding that should carry Lifeboat's task, with the ends that
// every holding phase shares. Not ok means that the phase has nothing to decide.
func (m *migration) lookHeld(summary string) (activities.Observation, bool) {
	o, ok := m.followVerdict()
	if !ok {
		o, ok = m.look(summary)
	}
	switch {
	case !ok:
		m.wait(m.st.Terms.HealthPoll, "try to read the binding again")
		return o, false
	case o.Gone:
		m.end(phase.EventBindingGone, record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
		return o, false
	case o.TaskNote != "":
		m.end(phase.EventNeedsOperator, record.Result{Outcome: phase.OutcomeNeedsOperator, Reason: reason.ForeignTask, Message: o.TaskNote})
		return o, false
	case !o.Held:
		m.droppedByOthers(o)
		return o, false
	}
	m.st.Ref.Purge, m.st.Ref.State = o.Purge, o.State // Karmada goes by the task, and so do we
	return o, true
}

// droppedByOthers: Lifeboat's task is gone by another hand. Nothing is left to hold.
func (m *migration) droppedByOthers(o activities.Observation) {
	r := record.Result{Outcome: phase.OutcomeMigrated, Reason: reason.ForeignTask, To: o.Targets, Cause: "Lifeboat's task was dropped by another hand"}
	switch {
	case o.Targeted && m.st.MaybeReleased && m.st.Recover == nil:
		// Released and put back since, as far as anybody can know: no attempt evicts that twice.
		r.Reason, r.Cause = reason.SchedulerReturnsIt, "released, though the answer was lost; "+m.st.Ref.Cluster+" is a target again"
	case o.Targeted:
		m.returned()
		return
	case o.Banned:
		m.endBanned(o)
		return
	case !o.Placed.OK:
		r.Outcome, r.Message = phase.OutcomeNeedsOperator, "and it is not placed: "+o.Placed.Message
	}
	m.end(phase.EventNeedsOperator, r)
}

// endBanned: Lifeboat's hold was released in a drain, and whoever wrote that did not hear of it or
// is another run. What was released does not come back, and its ban goes with the drain.
func (m *migration) endBanned(o activities.Observation) {
	r := record.Result{Outcome: phase.OutcomeMigrated, Reason: reason.SchedulerReturnsIt, To: o.Targets}
	r.Message = "released, and kept off " + m.st.Ref.Cluster + " until undrain"
	if m.st.PutBack != nil {
		m.dropOrder("put-back refused: " + r.Message)
		r.Reason, r.Message = reason.PutBackRefused, m.st.Refusal
	}
	m.st.Banned, m.st.PutBack, m.st.Drop = true, nil, nil
	m.end(phase.EventNeedsOperator, r)
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
		m.sourceGone()
		return
	}
	obeyed := m.obeys(o)
	switch {
	case obeyed:
	case o.Placed.OK:
		m.carried = &o
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

// placed is the point from which recovery no longer takes it back.
func (m *migration) placed(o activities.Observation) {
	m.st.Placed, m.st.To = true, o.Targets
	m.st.Reason, m.st.Message = reason.Placed, "on "+strings.Join(o.Targets, ", ")
	if m.carries() && len(o.Targets) > 1 {
		m.attention(reason.StateNotCarried, "it was placed on several clusters, "+m.st.Message[len("on "):]+": Karmada hands its state on to none of them")
	}
	m.acted(record.AuditBindingPlaced, record.Audit{Reason: m.st.Reason, To: m.st.To})
	if m.direct() {
		m.on(phase.EventFenceAsked)
	} else {
		m.on(phase.EventPlaced)
	}
	m.tell(nil)
}

// removeAgain takes the cluster out that the scheduler's late patch put back.
func (m *migration) removeAgain() {
	m.note(reason.PutBack, "the scheduler put "+m.st.Ref.Cluster+" back; removing it again")
	var out activities.ActResult
	ctx := flow.Doing(m.ctx, "remove "+m.st.Ref.Cluster+" again from "+m.st.Ref.Key.String()+": the scheduler put it back")
	err := workflow.ExecuteActivity(ctx, activities.NameRemoveAgain, activities.EvictRequest{
		Cluster: m.st.Ref.Cluster, ClusterUID: m.st.Ref.ClusterUID, Key: m.st.Ref.Key, UID: m.st.Ref.UID,
		Mode: m.st.Ref.Mode, Policy: m.st.Policy, Purge: m.st.Ref.Purge, Owner: m.st.Ref.Owner,
	}).Get(ctx, &out)
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

// awaitHealth waits until the new copies are proven, for as long as it takes:
// there is no timeout into deletion.
func (m *migration) awaitHealth() {
	if m.ripe() {
		m.on(phase.EventProvenHealthy)
		return
	}
	o, ok := m.lookPlaced()
	if !ok {
		return
	}
	m.st.To = o.Targets
	switch {
	case o.SourceGone:
		m.sourceGone()
		return
	case !o.Placed.OK:
		m.st.Placed = false
		m.st.Reason, m.st.Message = o.Placed.Reason, o.Placed.Message
		m.on(phase.EventUnplaced)
		m.tell(nil)
		return
	}
	obeyed := m.obeys(o)
	if obeyed {
		return
	}
	left := m.untilProven(o)
	m.st.Unproven = left > 0 && m.mayReleaseUnproven()
	if left > 0 {
		m.overdue("the new copies are not proven healthy")
		if !m.st.Unproven {
			m.wait(left, "watch the health of "+m.st.Ref.Key.String())
			return
		}
	}
	m.proceed(o)
}

// proceed goes on with copies that are proven, or go unproven by the terms.
func (m *migration) proceed(o activities.Observation) {
	if m.st.Ref.Purge == karmada.PurgeNever {
		m.mark("keep the old copy of "+m.st.Ref.Key.String()+" for good", karmada.TaskReasonKept, phase.EventKept, record.Result{
			Outcome: phase.OutcomeKept, Reason: m.keptBy(), To: m.st.To,
		})
		return
	}
	if m.st.Recover != nil && o.StraightBack && !m.direct() {
		m.on(phase.EventRestoreOrdered)
		return
	}
	m.on(phase.EventProvenHealthy)
}

// lookPlaced is the look that found the binding placed, as long as nothing has changed since,
// or a look of its own.
func (m *migration) lookPlaced() (activities.Observation, bool) {
	carried := m.carried
	m.carried = nil
	if carried != nil && !m.stirred() {
		return *carried, true
	}
	return m.lookHeld("see whether the new copies of " + m.st.Ref.Key.String() + " are healthy")
}

// nothingNew tells, once, that the eviction was written a moment ago and that the binding has
// not changed since: a look could only see what was written.
func (m *migration) nothingNew() bool {
	fresh := m.awaitsNews && !m.stirred()
	m.awaitsNews = false
	return fresh
}

// ripe tells that health has held for long enough since the last look, that no change was
// signalled meanwhile, and that nothing was ordered: the release looks once more itself, so
// that a look of its own before it would decide nothing.
func (m *migration) ripe() bool {
	since := m.st.HealthySince
	if m.stirred() || since.IsZero() || m.mustHold <= 0 || workflow.Now(m.ctx).Sub(since) < m.mustHold {
		return false
	}
	free := m.st.Recover == nil && m.st.Cancelled == nil && m.st.PutBack == nil && m.st.Drop == nil
	return free && m.st.Ref.Purge == karmada.PurgeGracefully && !m.carries()
}

// keptBy is why the old copy stays for good.
func (m *migration) keptBy() reason.Reason {
	if m.st.Preserved {
		return reason.CopyPreserved
	}
	return reason.PurgeNever
}

// preserved says of an old Work that ends that the copy on the member does not.
func (m *migration) preserved(r record.Result) record.Result {
	if m.st.Preserved {
		r.Reason, r.Message = reason.CopyPreserved, "the old copy on "+m.st.Ref.Cluster+" runs on: spec.preserveResourcesOnDeletion"
	}
	return r
}

// untilProven is how much longer to wait, 0 when health has held for long enough.
func (m *migration) untilProven(o activities.Observation) time.Duration {
	if proof.Joined(m.st.On, o.On) {
		m.st.HealthySince, m.st.Unprobed = time.Time{}, false // the scheduler moved it, between two looks
	}
	m.st.On = o.On
	if v := m.proven(o); !v.OK {
		m.st.HealthySince, m.st.Unprobed = time.Time{}, false
		m.note(v.Reason, v.Message)
		return m.st.Terms.HealthPoll
	}
	now := workflow.Now(m.ctx)
	if m.st.HealthySince.IsZero() {
		m.st.HealthySince = now
	}
	must := m.st.Terms.MinHealthy
	if m.st.StaleRead || m.st.Unseen || o.SourceReady && (!m.st.Terms.Probe || m.st.Unprobed) {
		must = max(must, m.st.Terms.Detection)
	}
	m.mustHold = must
	held := now.Sub(m.st.HealthySince)
	if held >= must {
		return 0
	}
	m.note(reason.Healthy, fmt.Sprintf("this must hold for %s before the old copy goes", must))
	m.expectUntil(m.st.HealthySince.Add(must))
	return min(must-held, m.safetyPoll())
}

// expectUntil: until due the state lasts as long as it should, and is not reported for lasting.
func (m *migration) expectUntil(due time.Time) {
	if m.st.Followed && !m.unreported.IsZero() && due.After(m.unreported) {
		m.unreported = due
	}
}

// late tells that gracefulTimeout has passed since the eviction.
func (m *migration) late() bool {
	return workflow.Now(m.ctx).Sub(m.st.Ref.Written) > m.st.Terms.GracefulTimeout
}

// mayReleaseUnproven: the setting says that the hold goes after gracefulTimeout, and
// nothing looks like a proof that would soon be complete.
func (m *migration) mayReleaseUnproven() bool {
	return m.st.Terms.ReleaseUnproven && m.late() && m.st.HealthySince.IsZero() && m.st.Ref.Purge != karmada.PurgeNever
}

// overdue raises attention once gracefulTimeout has passed; it deletes nothing.
func (m *migration) overdue(what string) {
	if m.late() {
		kept := "the old copy is held"
		if m.direct() {
			kept = "nothing is forced"
		}
		m.attention(reason.GracefulTimeout, what+" within gracefulTimeout ("+m.st.Terms.GracefulTimeout.String()+"); "+kept)
	}
}

// staleWait is how long releases may be refused because Karmada is stale before a human is told.
const staleWait = time.Minute
