package bindingmigration

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// sourceGone: the cluster was deleted, and its execution namespace with it. Lifeboat's
// task is the last thing of it, and dropping it loses nothing.
func (m *migration) sourceGone() {
	if m.st.Phase == phase.MigrationPlacing {
		m.on(phase.EventPlaced)
	}
	if m.st.Phase == phase.MigrationAwaitingFence {
		m.on(phase.EventFenced)
		return
	}
	m.on(phase.EventProvenHealthy)
}

func (m *migration) releaseRequest() activities.ReleaseRequest {
	var healthyFor time.Duration
	if !m.st.HealthySince.IsZero() {
		healthyFor = workflow.Now(m.ctx).Sub(m.st.HealthySince)
	}
	request := activities.ReleaseRequest{
		HealthyFor: healthyFor, Watched: m.st.Followed && m.st.Terms.Watched, MinHealthy: &m.st.Terms.MinHealthy, Detection: &m.st.Terms.Detection,
		Plugins: m.st.Terms.Plugins, Probe: m.st.Terms.Probe, ProvenOn: m.st.On,
		Returned: m.st.Returned, Parent: m.st.Parent,
		Ordered: m.st.Drop != nil, Unproven: m.st.Unproven,
	}
	if m.st.Drop == nil && !m.st.Unproven && (!m.direct() || m.carries()) {
		request.Proofs = m.freshProofs(m.st.On)
	}
	request.MoveRef = m.held() // not before: somebody may have vouched meanwhile
	return request
}

// release is the point of no return: one activity looks once more and drops the task.
func (m *migration) release() {
	calledBack := m.calledBack()
	if calledBack {
		return
	}
	request := m.releaseRequest()
	before := m.st.MaybeReleased
	m.st.MaybeReleased = true
	var out activities.ActResult
	ctx := flow.Acting(m.ctx, "look once more, then release the old copy of "+m.st.Ref.Key.String())
	err := workflow.ExecuteActivity(ctx, activities.NameRelease, request).Get(ctx, &out)
	if err != nil {
		m.releaseFailed(err)
		return
	}
	m.st.MaybeReleased, m.st.RefusedSince = before || out.Tried, time.Time{}
	if out.Reason != reason.KarmadaStale {
		m.st.StaleSince = time.Time{}
	}
	switch out.End {
	case activities.ActDone, activities.ActAlready:
		m.st.Banned = out.Banned
		m.st.Reason, m.st.Message = m.released()
		m.auditReleased(request)
		m.st.SourceGone = m.st.SourceGone || out.Look.SourceGone
		m.away = !out.Look.SourceReady && !m.direct()
		m.justReleased = true
		if out.Purged {
			m.st.OldWork = nil
		}
		m.on(phase.EventReleased)
	case activities.ActGone:
		m.end(phase.EventBindingGone, record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
	case activities.ActRefused:
		m.releaseRefused(out)
	}
}

func (m *migration) released() (reason.Reason, string) {
	switch {
	case m.st.Unproven:
		return reason.Unproven, "released unproven: " + m.unprovenCause()
	case m.direct():
		return reason.Fenced, "released: the old copy is dead"
	default:
		return reason.Healthy, "released"
	}
}

func (m *migration) unprovenCause() string {
	return "health.releaseUnproven, for it was not proven healthy within gracefulTimeout (" + m.st.Terms.GracefulTimeout.String() + ")"
}

// releaseRefused goes back to waiting. A target without an answer to its probe is no
// news about health: its clock goes on, towards detection.
func (m *migration) releaseRefused(out activities.ActResult) {
	m.note(out.Reason, out.Message)
	if m.direct() && (!m.carries() || out.Reason.AboutOldCopy()) {
		m.on(phase.EventFenceAsked)
		m.wait(purgePoll, "look again whether the old copy is dead")
		return
	}
	since := m.st.HealthySince
	m.distrusts = true
	m.mustHold = 0 // it looks itself before it asks again
	m.on(phase.EventReleaseRefused)
	if out.Reason == reason.KarmadaStale {
		m.st.HealthySince = since
		m.stale(out.Message)
		return
	}
	if out.Reason == reason.ProbeFailed {
		m.st.HealthySince, m.st.Unprobed = since, true
	}
	if out.Reason == reason.KarmadaUnseen {
		m.st.HealthySince, m.st.Unseen = since, true
	}
	// Always: where health need not hold, the next look would be content at once.
	m.wait(m.st.Terms.HealthPoll, "wait before looking again: the release was refused")
}

// stale holds until karmada-controller-manager is back. What Karmada reports meanwhile is no
// news about health, in either direction.
func (m *migration) stale(message string) {
	now := workflow.Now(m.ctx)
	if m.st.StaleSince.IsZero() {
		m.st.StaleSince = now
	}
	if now.Sub(m.st.StaleSince) >= staleWait {
		m.attention(reason.KarmadaStale, message)
	}
	m.wait(m.st.Terms.Recheck, "wait until Karmada is up to date: the release was refused")
}
