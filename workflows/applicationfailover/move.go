package applicationfailover

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// askEvery is how often a request for a permit is repeated: a thousand failovers may wait at once, each
// with a history of its own.
const askEvery = 2 * time.Minute

// wants is the request for so many permits to leave a cluster.
func wants(st *workflows.ApplicationState, want int, cluster string) activities.PermitRequest {
	return activities.PermitRequest{
		Cluster: cluster, FailoverID: st.FailoverID, Want: want, Priority: st.Look.Policy.Priority, Seen: st.Newest, Open: want > 0,
		Every: askEvery, Application: &st.Key, Policy: st.Look.PolicyID,
	}
}

// request asks the pacer for a permit, or withdraws the request. The first time the pre-check has sent it.
func (f *failover) request(ctx workflow.Context, want int) {
	f.st.AskedAt = f.now()
	r := wants(f.st, want, f.st.Checked)
	if err := workflow.SignalExternalWorkflow(ctx, workflows.FleetPacerID(f.instance), "", workflows.SignalPermitRequest, r).Get(ctx, nil); err != nil {
		f.log.Warn("could not request a permit", "error", err)
	}
}

// granted takes the permit of the pacer; one that comes while none is wanted passes unused. A pacer without
// state numbers permits from 1 again, so that only the number taken last is old; the permit says until when it is good.
func (f *failover) granted(g workflows.Grant) {
	if !g.Valid() || g.FailoverID != f.st.FailoverID || g.Number == f.st.Newest {
		f.log.Warn("ignored a malformed or old signal", "signal", workflows.SignalGrant, "number", g.Number)
		return
	}
	f.st.Newest = g.Number
	f.st.Permit, _ = g.Take()
	f.st.Suspected, f.st.AskedAt, f.dirty = nil, time.Time{}, true // the pacer has forgotten the request
	f.permit()
}

// permit hands the permit to the migration that waits for it.
func (f *failover) permit() {
	m := f.st.Move
	if m == nil || !m.WantsPermit || heldBack(f.st, f.now()) || !f.now().Before(f.st.Permit.Latest) {
		return
	}
	m.WantsPermit = false
	permit := f.st.Permit
	f.st.Permit = pace.Permit{}
	f.beside.Go(f.ctx, func(ctx workflow.Context) { f.signal(ctx, workflows.SignalPermit, permit) })
}

// heldBack reports whether an operator has paused or snoozed the application, or no other cluster would help it.
func heldBack(st *workflows.ApplicationState, now time.Time) bool {
	return heldByCopy(st, now) || st.Paused != nil || st.Snoozed != nil && st.Snoozed.Until.After(now)
}

// heldByCopy reports whether a copy that is Unhealthy where its revision was moved to holds the move that runs (R4.13-7).
func heldByCopy(st *workflows.ApplicationState, now time.Time) bool {
	sick, _ := sickCopy(st, now)
	return sick != nil && !approved(st, st.Cluster, st.Attempt)
}

// healed reports whether the copy that the migration takes away stands and has no clock any more: it is Healthy, or of another
// revision.
func healed(st *workflows.ApplicationState) bool {
	stands := slices.ContainsFunc(st.Look.Copies, func(c rules.CopyHealth) bool { return c.Cluster == st.Cluster })
	return stands && !st.Look.Gone && !slices.ContainsFunc(st.Clocks, func(k rules.UnhealthyClock) bool {
		return k.Cluster == st.Cluster && !rules.IsAnotherRevision(k.Revision, st.Revision)
	})
}

// callOff ends a migration that waits for a permit: its copy has healed.
func callOff(f *failover) {
	f.st.Move.WantsPermit = false // it is told once
	attempt := f.st.Attempt
	f.beside.Go(f.ctx, func(ctx workflow.Context) {
		f.request(ctx, 0)
		f.signal(ctx, workflows.SignalRecover, workflows.Recover{Attempt: attempt})
	})
}

// paceChanged takes whether the release is suspected.
func (f *failover) paceChanged(p workflows.PaceChanged) {
	if p.Malformed() {
		f.log.Warn("ignored a malformed signal", "signal", workflows.SignalPaceChanged)
		return
	}
	f.dirty = f.dirty || (p.Suspected == nil) != (f.st.Suspected == nil)
	f.st.Suspected = p.Suspected
}

// move starts the migration off a cluster.
func (f *failover) move(clock rules.UnhealthyClock) {
	st := f.st
	st.Attempt++
	st.Cluster, st.Revision, st.Before, st.Left = clock.Cluster, clock.Revision, nil, nil
	params := f.migration(clock)
	f.trail.Add(record.Audit{
		Kind: record.AuditBindingBegun, Attempt: st.Attempt, Bindings: flow.About(st.Key), Resource: st.Look.Resource, Cause: record.CauseApplication,
		Evidence: map[string]string{"unhealthyOn": clock.Cluster, "revision": clock.Revision},
	})
	st.Move = &workflows.Migration{
		Key: st.Key, UID: st.Look.UID, Resource: st.Look.Resource, Attempt: st.Attempt, Phase: phase.MigrationChecking, Since: f.now(), Heard: f.now(),
		Purge: st.Look.Policy.PurgeMode, Holds: params.State.Start == workflows.StartHold,
	}
	for _, c := range st.Look.Copies {
		st.Before = append(st.Before, c.Cluster)
	}
	st.Check, st.Permit = nil, pace.Permit{}
	f.starting = true
	err := flow.StartMigration(f.ctx, flow.Start{Params: params, Summary: "Move " + st.Look.Resource + " off " + clock.Cluster + ": it is Unhealthy there"})
	f.starting = false
	if err != nil {
		st.Move = nil
		keepApproval(st, false)
		f.block(clock.Cluster, reason.Conflict, "a migration off "+clock.Cluster+" could not begin: "+err.Error())
		return
	}
	workflow.GetMetricsHandler(f.ctx).WithTags(map[string]string{"cluster": clock.Cluster}).Counter("lifeboat_application_failovers").Inc(1)
}

// migration is what the migration begins with.
func (f *failover) migration(clock rules.UnhealthyClock) workflows.BindingMigrationParams {
	st := f.st
	terms := st.Look.Terms
	if st.Look.Grace > 0 {
		terms.GracefulTimeout = st.Look.Grace
	}
	due, _ := clock.Ends(st.Look.Tolerated)
	state := workflows.MigrationState{
		Ref: activities.MigrationRef{Cluster: clock.Cluster, Key: st.Key, UID: st.Look.UID, Mode: st.Mode, Purge: st.Check.Purge},
		// What makes it move is on record with the copy, and the write reads it once more.
		Unhealthy: &rules.Arrival{Cluster: clock.Cluster, Revision: clock.Revision},
		Parent:    workflows.ApplicationFailoverID(f.instance, st.Key), FailoverID: st.FailoverID, Attempt: st.Attempt,
		Terms: terms, Policy: st.Look.Policy, Resource: st.Look.Resource, QueuedAt: st.Began, DueAt: due,
		Approval: st.Approval, Standing: st.Standing, Permit: st.Permit, To: st.Check.Candidates,
	}
	for n, c := range st.Look.Copies {
		if c.Cluster == clock.Cluster {
			state.Ref.ClusterUID = st.Look.ClusterUIDs[n]
		}
	}
	if st.Check.Dependents && st.Permit.Number == 0 {
		state.Start = workflows.StartHold
	}
	return workflows.BindingMigrationParams{Instance: f.instance, State: state}
}

// reported takes a report of the migration: how far it is, its end, or that another failover goes on with it.
func (f *failover) reported(r activities.MigrationReport) {
	st := f.st
	if r.TakenBy != "" && r.Key == st.Key {
		if st.Move != nil {
			st.TakenBy, f.dirty = r.TakenBy, true
		}
		return
	}
	if !isOfMove(st, r) {
		f.log.Info("ignored a report of no migration that runs", "binding", r.Key.String(), "attempt", r.Attempt)
		return
	}
	r = st.Move.CalledOff(r)
	f.held.Reported(r, func(string) bool { return false })
	f.trail.AddActs(workflows.BindingMigrationID(f.instance, st.Cluster, r.Key), r)
	f.stale = f.stale || st.Move.Placed != r.Placed || r.WantsPermit && !st.Move.WantsPermit || r.Result != nil
	st.Move.Progressed(r, f.now())
	f.dirty = true
	f.permit()
	askAgain(f)
	if r.Result != nil {
		f.finished(*r.Result)
	}
	f.page()
}

// isOfMove reports whether a report is of the migration that runs. What no migration sends is of none.
func isOfMove(st *workflows.ApplicationState, r activities.MigrationReport) bool {
	return st.Move != nil && r.Key == st.Key && r.FailoverID == st.FailoverID && r.Attempt == st.Attempt && !workflows.MalformedReport(r)
}

// askAgain repeats the request of a migration that waits for a permit.
func askAgain(f *failover) {
	if st := f.st; st.Move.WantsPermit && !heldBack(st, f.now()) && f.now().Sub(st.AskedAt) >= askEvery/4 {
		st.AskedAt = f.now()
		f.beside.Go(f.ctx, func(ctx workflow.Context) { f.request(ctx, 1) })
	}
}

// finished takes the end of the migration. Where nothing was written the binding is judged again, unless an operator
// called the migration off, or had it put back.
func (f *failover) finished(r record.Result) {
	st := f.st
	if st.Stopped == nil {
		st.Stopped = obeyed(st.Move.Ordered, r)
	}
	st.Move, st.Last, f.stale = nil, &r, true
	st.AskedAt = time.Time{}
	f.trail.AddOutcome(st.Attempt, r)
	keepApproval(st, r.Wrote || st.Stopped != nil)
	if r.Reason == reason.TakenOver {
		st.TakenBy = workflows.ClusterFailoverID(f.instance, st.Cluster)
	}
	if r.Wrote { // what comes to that cluster from now on is another copy
		st.Clocks = slices.DeleteFunc(st.Clocks, func(k rules.UnhealthyClock) bool { return k.Cluster == st.Cluster })
		return
	}
	st.Before = nil // where it is now, no move of this failover has brought it
	if st.Stopped == nil {
		f.block(st.Cluster, r.Reason, r.Message)
	}
}

// keepApproval has the approval of a move that wrote nothing stand for the next.
func keepApproval(st *workflows.ApplicationState, used bool) {
	switch a := st.Approval; {
	case a == nil || a.Attempt != st.Attempt: // of the next move
	case used:
		st.Approval = nil
	default:
		next := *a
		next.Attempt = st.Attempt + 1
		st.Approval = &next
	}
}

// obeyed is the order that a migration followed and that stops its failover, too; nil without one, or where a resume came
// since. Of one that was given to the migration itself only the result says who gave it.
func obeyed(o *workflows.MigrationOrder, r record.Result) *workflows.Order {
	switch {
	case !record.CalledOff(r.Reason), o != nil && o.Verb == workflows.UpdateResume:
		return nil
	case o.CallsOff():
		return &o.Order
	}
	return &workflows.Order{Who: "an operator", Reason: r.Cause}
}

// left is the move that another failover took over and that has not arrived as far as is known, nil for none.
func left(st *workflows.ApplicationState) *rules.Departure {
	if st.TakenBy == "" || len(st.Before) == 0 {
		return st.Left
	}
	return &rules.Departure{Revision: st.Revision, Before: st.Before}
}

// arrive keeps where the last migration brought the application. After its end that is looked for until every copy has a
// revision: one that was just placed has no Work yet.
func arrive(st *workflows.ApplicationState, copies []rules.CopyHealth) {
	if len(st.Before) == 0 {
		return
	}
	st.Arrivals = st.Arrivals.Add(copies, st.Before)
	unknown := slices.ContainsFunc(copies, func(c rules.CopyHealth) bool { return c.Revision == "" })
	if st.Move == nil && !unknown {
		st.Before = nil
	}
}

// wakeSilent signals a migration that has not reported for long: one that was terminated reports no end.
func (f *failover) wakeSilent() {
	m := f.st.Move
	if m == nil || f.now().Sub(m.Heard) < lookEvery {
		return
	}
	m.Heard = f.now()
	f.beside.Go(f.ctx, func(ctx workflow.Context) {
		f.signal(ctx, workflows.SignalBindingObserved, proof.BindingFact{Key: m.Key, UID: m.UID})
	})
}

// signal sends a signal to the migration. The server refuses one to a migration that it has not started yet.
func (f *failover) signal(ctx workflow.Context, name string, message any) (sent bool) {
	if err := workflow.Await(ctx, func() bool { return !f.starting }); err != nil || f.st.Move == nil {
		return false
	}
	id := workflows.BindingMigrationID(f.instance, f.st.Cluster, f.st.Key)
	if err := workflow.SignalExternalWorkflow(ctx, id, "", name, message).Get(ctx, nil); err != nil {
		f.log.Warn("the migration is not running any more", "error", err)
		f.st.Move, f.stale = nil, true
		return false
	}
	return true
}

func phaseRecord(st *workflows.ApplicationState, next step) record.Audit {
	r := record.Audit{
		Kind: record.AuditPhaseEntered, Attempt: st.Attempt, Phase: string(next.phase), Reason: next.reason, Message: next.message,
		Bindings: flow.About(st.Key), Resource: st.Look.Resource, Cause: record.CauseApplication,
	}
	if next.phase.Terminal() {
		r.Kind = record.AuditFailoverClosed
	}
	return r
}

// heard wakes the next look; a fact about another binding is malformed.
func (f *failover) heard(key karmada.BindingKey) {
	if key != f.st.Key {
		f.log.Warn("ignored a malformed signal", "signal", workflows.SignalBindingObserved, "key", key.String())
		return
	}
	f.stale = f.stale || looksItself(f.st)
}

// looksItself reports whether the failover looks how the application is: until it is placed, its migration says what is new,
// but not of the copy while that waits for a permit, nor of another one whose time runs.
func looksItself(st *workflows.ApplicationState) bool {
	return st.Move == nil || st.Move.Placed || st.Move.WantsPermit ||
		slices.ContainsFunc(st.Clocks, func(k rules.UnhealthyClock) bool { return k.Cluster != st.Cluster })
}
