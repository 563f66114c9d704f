package clusterfailover

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// dispatch gives every permit in hand to the most urgent ready binding. Those that nobody may
// use now are kept until they have passed.
func (e *failover) dispatch() {
	if !e.enforcing() {
		e.simulate()
		return
	}
	e.startHolds()
	e.dropPassed()
	for began := true; began && len(e.st.Grants) > 0; {
		if began = e.dispatchOne(); began {
			e.dropPassed()
		}
	}
	e.awaitStarts()
	reason := e.readyReason()
	for at := range e.st.Items {
		if i := &e.st.Items[at]; i.State == queue.Ready || i.State == queue.Hold {
			i.Reason = reason
		}
	}
}

// readyReason is what those wait for that passed the pre-check.
func (e *failover) readyReason() reason.Reason {
	inFlight, waiting := e.windows()
	switch {
	case e.st.Paused != nil:
		return reason.Paused
	case waiting >= e.st.Terms.Waiting:
		return reason.WaitingFull
	case inFlight >= e.st.Terms.InFlight:
		return reason.WindowFull
	case e.st.Pace.Tier == pace.TierHalted:
		return reason.Halted
	default:
		return reason.AwaitingPermit
	}
}

// mayBegin: nobody paused, and the windows have room, also should all that is in flight come to
// wait. An order about one binding that came since this turn began is obeyed first: a skip that
// was accepted must not find its binding on the way.
func (e *failover) mayBegin() bool {
	if len(e.orders.bindings) > 0 {
		return false
	}
	inFlight, waiting := e.windows()
	return e.st.Paused == nil && inFlight < e.st.Terms.InFlight && inFlight+waiting < e.st.Terms.Waiting
}

// windows count the children from Checking to Placing, and those that wait.
func (e *failover) windows() (inFlight, waiting int) {
	for _, key := range workflow.DeterministicKeys(e.st.Moves) {
		if m := e.st.Moves[key]; m.Placed || m.Phase == phase.MigrationAwaitingFence {
			waiting++
		} else {
			inFlight++
		}
	}
	return inFlight, waiting
}

// dropPassed drops the permits in hand that have passed, and a grant of moments that no pacer
// gives so far ahead.
func (e *failover) dropPassed() {
	for len(e.st.Grants) > 0 {
		switch first, _ := e.st.Grants[0].Take(); {
		case first.Earliest.After(e.now().Add(2 * pace.PermitsEnd)):
			e.st.Grants = e.st.Grants[1:]
		case e.now().Before(first.Latest):
			return
		default:
			e.takePermit()
		}
	}
}

// takePermit takes the next permit in hand.
func (e *failover) takePermit() pace.Permit {
	permit, rest := e.st.Grants[0].Take()
	e.st.Grants[0].Permits = rest
	if rest.Size <= 0 {
		e.st.Grants = e.st.Grants[1:]
	}
	return permit
}

// permits counts those in hand that have not passed.
func (e *failover) permits() (n int) {
	e.dropPassed()
	for _, g := range e.st.Grants {
		n += g.Size
	}
	return n
}

// startMove begins the child that evicts under one permit.
func (e *failover) startMove(i queue.Item, permit pace.Permit) {
	due, why := e.st.Queue.Due(e.now(), &i)
	e.startChild(i, workflows.MigrationState{DueAt: due, Why: why, Permit: permit, To: i.To, Returned: i.Returned})
}

// starting is a child whose start is not known to have succeeded.
type starting struct {
	item   queue.Item
	move   workflows.Move
	adopts bool
	named  bool
	child  workflow.ChildWorkflowFuture
}

// start starts a child and waits until it runs.
func (e *failover) start(i queue.Item, st workflows.MigrationState) {
	e.startChild(i, st)
	e.awaitStarts()
}

// startChild starts a child that outlives this run, without waiting for the server: many are
// started in one workflow task. The child counts as running until the server refuses it.
func (e *failover) startChild(i queue.Item, st workflows.MigrationState) {
	id := workflows.BindingMigrationID(e.instance, e.cluster, i.Key)
	st.Ref = activities.MoveRef{
		Cluster: e.cluster, ClusterUID: e.st.UID, Key: i.Key, UID: i.UID, Mode: e.st.Terms.Mode, Purge: i.Purge,
		Fence: e.fenceOf(i), Named: st.Ref.Named,
	}
	st.Parent = workflows.ClusterFailoverID(e.instance, e.cluster)
	st.Approval, st.Standing = e.approvalOf(i.Key, i.UID), e.st.Asking
	st.TellWritten = e.drainRate() > 0
	st.FailoverID, st.Attempt, st.Terms, st.Resource, st.QueuedAt = e.st.FailoverID, e.st.Attempt, e.st.Terms, i.Resource, i.Queued
	if i.Policy >= 0 && i.Policy < len(e.st.Policy) {
		st.Policy = e.st.Policy[i.Policy]
	}
	ctx := workflow.WithChildOptions(e.ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         reason.Summary(moveSummary(i, e.cluster, st)),
		StaticDetails:         moveDetails,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			workflows.SearchCluster.ValueSet(e.cluster), workflows.SearchBinding.ValueSet(workflows.Storable(i.Key.String())), workflows.SearchMode.ValueSet(string(e.st.Terms.Mode)),
		),
		Memo: map[string]any{"lifeboatFailover": e.st.FailoverID, "lifeboatResource": i.Resource},
	})
	e.trail.move(i, st)
	child := workflow.ExecuteChildWorkflow(ctx, workflows.TypeBindingMigration, workflows.BindingMigrationParams{Instance: e.instance, State: st})
	move := workflows.Move{
		Key: i.Key, UID: i.UID, Resource: i.Resource, Attempt: e.st.Attempt, Policy: i.Policy, Tries: i.Tries, Queued: i.Queued, Purge: i.Purge, Fence: i.Fence,
		Phase: phase.MigrationChecking, Since: e.now(), Heard: e.now(), Holds: st.HasDependents,
	}
	if st.AwaitFence {
		move.Phase = phase.MigrationAwaitingFence
	}
	e.st.Moves[i.Key.String()] = move
	e.starting = append(e.starting, starting{item: i, move: move, adopts: st.Adopt, named: st.Ref.Named, child: child})
}

// awaitStarts waits until the server has started, or refused, every child that was begun.
func (e *failover) awaitStarts() {
	for len(e.starting) > 0 {
		s := e.starting[0]
		err := s.child.GetChildWorkflowExecution().Get(e.ctx, nil)
		e.starting = e.starting[1:]
		e.started(s, err)
	}
}

// started takes the server's answer. A child that runs already is adopted.
func (e *failover) started(s starting, err error) {
	key := s.item.Key.String()
	switch {
	case err == nil:
		if move, still := e.st.Moves[key]; still {
			move.Named = s.named
			e.own(move)
		}
	case alreadyRuns(err):
		s.move.Again = !s.adopts
		e.ownRunning(s.move)
	default:
		delete(e.st.Moves, key)
		e.log.Error("could not start a migration", "binding", key, "error", err)
		if s.adopts {
			e.adoptDirty = true // its task stands, and nobody works on it
			e.backOff()
		} else {
			e.block(&s.item, reason.Unreachable, err.Error())
			e.st.Items = append(e.st.Items, s.item)
		}
	}
}

// alreadyRuns tells that a child of that id runs. The SDK's test environment says so
// in the server's words, not in its own.
func alreadyRuns(err error) bool {
	var running *temporal.ChildWorkflowExecutionAlreadyStartedError
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	return errors.As(err, &running) || errors.As(err, &started)
}

func (e *failover) closing() bool { return !e.st.ClosedAt.IsZero() }

// moveDetails stand beside the live page of every migration. They are in its parent's history once for each: short.
const moveDetails = "**Current Details** is the page of this move; R reads it again. *Request Cancellation* is `lifeboat cancel` of this one binding, as written there. Never *Terminate*."

// moveSummary names the binding as orders take it.
func moveSummary(i queue.Item, cluster string, st workflows.MigrationState) string {
	switch {
	case st.Adopt:
		return fmt.Sprintf("take over the hold of %s on %s", i.Key, cluster)
	case st.AwaitFence:
		return fmt.Sprintf("%s may only move once its copy on %s is proven dead", i.Key, cluster)
	}
	return fmt.Sprintf("move %s off %s to %s", i.Key, cluster, strings.Join(i.To, " or "))
}

// signalMove tells a child; one that is not running any more is dropped, and its
// binding looked at again. False means that it was, without a word.
func (e *failover) signalMove(m workflows.Move, name string, message any) (told bool) {
	id := workflows.BindingMigrationID(e.instance, e.cluster, m.Key)
	err := workflow.SignalExternalWorkflow(e.ctx, id, "", name, message).Get(e.ctx, nil)
	if err == nil {
		return true
	}
	e.log.Warn("a migration is not running any more", "binding", m.Key.String(), "error", err)
	if _, still := e.st.Moves[m.Key.String()]; !still {
		return true // it told its end meanwhile
	}
	delete(e.st.Moves, m.Key.String())
	e.adoptDirty, e.listDirty, e.dirty = true, true, true
	e.vanished(m)
	return false
}

// vanished gives a binding its outcome when its child was ended from outside: what was
// released by then, nobody lists again. One that still holds is adopted, one that still
// targets the cluster is listed, and its own outcome takes the place of this.
func (e *failover) vanished(m workflows.Move) {
	e.recordIn(m.Attempt, record.Result{
		Key: m.Key, UID: m.UID, Resource: m.Resource, Outcome: phase.OutcomeAbandoned, Reason: reason.Unverified,
		Message: "its migration was ended from outside", At: e.now(),
	})
}

// silence is for how long a child may say nothing before it is asked for a sign of life.
const silence = 3 * time.Minute

// pokeSilent finds children that were terminated: their report will never come.
func (e *failover) pokeSilent() {
	for _, key := range workflow.DeterministicKeys(e.st.Moves) {
		m, still := e.st.Moves[key] // one may have reported while another was asked
		if !still || e.now().Sub(m.Heard) < silence {
			continue
		}
		m.Heard = e.now()
		e.st.Moves[key] = m
		e.signalMove(m, workflows.SignalMigrationAdopted, workflows.MigrationAdopted{FailoverID: e.st.FailoverID, Attempt: m.Attempt})
	}
}

// ask tells the pacer what this cluster wants now: on change, and again at an
// interval until it is answered.
func (e *failover) ask() {
	if !e.enforcing() || e.onlyCordons() {
		e.st.Unheard = false
		return
	}
	want := e.want()
	same := want == e.st.Asked
	waiting := want.Want > 0 || want.Open
	if same && (!waiting || e.now().Sub(e.st.AskedAt) < e.st.Terms.AskAgain) {
		return
	}
	if !want.Open && e.st.Asked.Cluster == "" {
		return // it never heard of us
	}
	err := workflow.SignalExternalWorkflow(e.ctx, workflows.FleetPacerID(e.instance), "", workflows.SignalPermitRequest, want).Get(e.ctx, nil)
	if err != nil {
		e.log.Warn("could not reach the pacer: nothing is evicted until it answers", "error", err)
	}
	e.st.Unheard = err != nil
	e.st.Asked, e.st.AskedAt = want, e.now()
}

func (e *failover) want() workflows.PermitRequest {
	r := workflows.PermitRequest{
		Cluster: e.cluster, FailoverID: e.st.FailoverID, Seen: e.st.Newest, Open: !e.st.Phase.Terminal(), Paused: e.st.Paused != nil, Every: e.st.Terms.AskAgain,
	}
	evacuating := e.st.Phase == phase.FailoverEvacuating || e.st.Phase == phase.FailoverEvacuated
	if !evacuating || e.st.Paused != nil {
		return r
	}
	inFlight, waiting := e.windows()
	r.Want = max(0, min(e.st.Queue.Count(queue.Ready), e.st.Terms.InFlight-inFlight, e.st.Terms.Waiting-inFlight-waiting))
	if r.Want = e.drainWant(r.Want + len(e.waitForPermit()) - e.permits()); r.Want > 0 {
		r.Priority = e.next().priority
	}
	return r
}

// nextWake is when to wake up without being told, and what for.
func (e *failover) nextWake() (time.Time, string) {
	at, why := e.nextAssess, "safety look at "+e.cluster
	sooner := func(t time.Time, what string) {
		if !t.IsZero() && t.Before(at) {
			at, why = t, what
		}
	}
	switch e.st.Phase {
	case phase.FailoverEvacuating, phase.FailoverEvacuated:
		if e.st.GoneAt.IsZero() {
			e.nextInQueue(sooner)
		}
	case phase.FailoverSettling, phase.FailoverStopped:
		if e.st.Settled.IsZero() {
			sooner(e.st.ClosedAt.Add(e.st.Terms.RestoreWait+time.Second), "restores have had their time: untaint")
		} else if len(e.st.PendingPurges) > 0 {
			sooner(e.st.Settled.Add(pendingPurgeLate), "old copies are late")
			sooner(e.st.Settled.Add(e.st.Terms.PendingPurgeWait+time.Second), "old copies have had their time")
		}
	case phase.FailoverSuspected, phase.FailoverCordoned, phase.FailoverConfirmed, phase.FailoverRecovering,
		phase.FailoverFalseAlarm, phase.FailoverUncordoned, phase.FailoverRecovered, phase.FailoverCancelled, phase.FailoverGone:
	}
	if e.enforcing() && !e.onlyCordons() {
		sooner(e.st.AskedAt.Add(e.st.Terms.AskAgain), "tell the pacer again what is wanted")
	}
	sooner(e.trail.Wake(), "write the audit trail")
	if at.Before(e.notBefore) {
		at = e.notBefore
	}
	return at, why
}
