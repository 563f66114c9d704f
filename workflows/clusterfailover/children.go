package clusterfailover

import (
	"errors"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// children are the migrations that run for this failover: it starts them, signals to them what concerns
// them, and takes their reports and their ends.
type children struct {
	*run
	outcomes  *outcomes
	approvals *approvals
	waiting   *waiting
	draining  *draining
	starting  []starting                   // the server has not answered for them
	former    []activities.MigrationReport // of an earlier failover; they wait for a permit of it
}

// starting is a child whose start is not known to have succeeded.
type starting struct {
	item   queue.Item
	move   workflows.Migration
	adopts bool
	named  bool
	child  workflow.ChildWorkflowFuture
}

// startMigration begins the child that evicts: under the permit of its state, or once it holds its dependents.
func (c *children) startMigration(i queue.Item, st workflows.MigrationState) {
	st.DueAt, st.Why = c.st.Queue.Due(c.now(), &i)
	st.To, st.Returned = i.To, i.Returned
	c.startChild(i, st)
}

// startChild starts a child that outlives this run, without waiting for the server: many are
// started in one workflow task. The child counts as running until the server refuses it.
func (c *children) startChild(i queue.Item, st workflows.MigrationState) {
	st.Ref = activities.MigrationRef{
		Cluster: c.cluster, ClusterUID: c.st.UID, Key: i.Key, UID: i.UID, Mode: c.st.Terms.Mode, Purge: i.Purge,
		Fence: c.st.Queue.FenceOf(&i, c.st.Fenced), Named: st.Ref.Named,
	}
	st.Parent = workflows.ClusterFailoverID(c.instance, c.cluster)
	st.Approval, st.Standing = c.approvals.approvalOf(i.Key, i.UID), c.st.Asking
	st.TellWritten = c.draining.rate() > 0
	st.FailoverID, st.Attempt, st.Terms, st.Resource, st.QueuedAt = c.st.FailoverID, c.st.Attempt, c.st.Terms, i.Resource, i.Queued
	if policy := c.st.Queue.PolicyOf(&i); policy != nil {
		st.Policy = *policy
	}
	summary := migrationSummary(i, c.cluster, st)
	c.trail.move(i, st, summary)
	child := flow.StartMigration(c.ctx, workflows.BindingMigrationParams{Instance: c.instance, State: st}, summary, migrationDetails)
	move := workflows.Migration{
		Key: i.Key, UID: i.UID, Resource: i.Resource, Attempt: c.st.Attempt, Policy: i.Policy, Tries: i.Tries, Queued: i.Queued, Purge: i.Purge, Fence: i.Fence,
		Phase: phase.MigrationChecking, Since: c.now(), Heard: c.now(), Holds: st.Start == workflows.StartHold,
	}
	if st.Start == workflows.StartAwaitFence {
		move.Phase = phase.MigrationAwaitingFence
	}
	c.note(move)
	c.starting = append(c.starting, starting{item: i, move: move, adopts: st.Adopts(), named: st.Ref.Named, child: child})
}

// migrationDetails stand beside the live page of every migration. They are in its parent's history once for each: short.
const migrationDetails = "**Current Details** is the page of this move; R reads it again. *Request Cancellation* is `lifeboat cancel` of this one binding, as written there. Never *Terminate*."

// awaitStarts waits until the server has started, or refused, every child that was begun.
func (c *children) awaitStarts() {
	for len(c.starting) > 0 {
		c.takeStart()
	}
}

// takeStarts takes the answers that have come, in the order of the starts.
func (c *children) takeStarts() {
	for len(c.starting) > 0 && c.starting[0].answered() {
		c.takeStart()
	}
}

func (c *children) takeStart() {
	s := c.starting[0]
	err := s.child.GetChildWorkflowExecution().Get(c.ctx, nil)
	c.starting = c.starting[1:]
	c.started(s, err)
}

// startsAnswered reports whether every child that was begun has its answer.
func (c *children) startsAnswered() bool {
	return len(c.starting) > 0 && !slices.ContainsFunc(c.starting, func(s starting) bool { return !s.answered() })
}

func (s starting) answered() bool { return s.child.GetChildWorkflowExecution().IsReady() }

// started takes the server's answer. A child that runs already is adopted.
func (c *children) started(s starting, err error) {
	key := s.item.Key.String()
	switch {
	case err == nil:
		if move, still := c.st.Migrations[key]; still {
			move.Named = s.named
			c.own(move)
		}
	case alreadyRuns(err):
		s.move.Again = !s.adopts
		c.ownRunning(s.move)
	default:
		delete(c.st.Migrations, key)
		c.log.Error("could not start a migration", "binding", key, "error", err)
		if s.adopts {
			c.st.AdoptDirty = true // its task stands, and no migration works on it
			c.backOff()
		} else {
			c.waiting.block(&s.item, reason.Unreachable, err.Error())
			c.st.Items = append(c.st.Items, s.item)
		}
	}
}

// alreadyRuns reports whether a child of that id runs. The SDK's test environment says so
// in the server's words, not in its own.
func alreadyRuns(err error) bool {
	var running *temporal.ChildWorkflowExecutionAlreadyStartedError
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	return errors.As(err, &running) || errors.As(err, &started)
}

// own counts a child as Lifeboat's. One that comes after the recovery reached its
// siblings gets the signal now: the same rule applies (R4.9-10 to R4.9-18).
func (c *children) own(m workflows.Migration) {
	c.note(m)
	// Its outcome is the child's to tell, not the queue's.
	c.st.Items = slices.DeleteFunc(c.st.Items, func(i queue.Item) bool { return i.Key == m.Key && i.UID == m.UID })
	if c.closing() {
		c.signal(m, workflows.SignalRecover, workflows.Recover{Attempt: c.st.Attempt, Cancelled: c.st.Stopped, PutBack: c.st.StopPutBack})
	} else if p := c.st.PausedBy(m.Key); p != nil && !m.Placed {
		c.signal(m, workflows.SignalMigrationOrder, workflows.MigrationOrder{CancelOrder: workflows.CancelOrder{Order: p.Order}, Verb: workflows.UpdatePause})
	}
}

// ownRunning takes over a child that another run started.
func (c *children) ownRunning(m workflows.Migration) {
	c.note(m)
	c.signal(m, workflows.SignalMigrationAdopted, workflows.MigrationAdopted{FailoverID: c.st.FailoverID, Attempt: c.st.Attempt, Parent: workflows.ClusterFailoverID(c.instance, c.cluster)})
	if _, still := c.st.Migrations[m.Key.String()]; still {
		c.own(m)
	}
}

// adopt takes one task over. In observe it only reports.
func (c *children) adopt(o activities.Orphan, orphan bool) {
	_, known := c.st.Migrations[o.Key.String()]
	switch {
	case !c.enforcing():
		c.log.Warn("found a Lifeboat hold task", "binding", o.Key.String(), "owner", o.Owner, "orphan", orphan)
	case known && !orphan:
	case orphan:
		delete(c.st.Migrations, o.Key.String())
		c.adoptOrphan(o)
	case o.Owner == workflows.BindingMigrationID(c.instance, c.cluster, o.Key):
		move := workflows.Migration{Key: o.Key, UID: o.UID, Resource: o.Resource, Attempt: c.st.Attempt, Policy: -1, Phase: phase.MigrationPlacing, Since: c.now(), Heard: c.now()}
		c.ownRunning(move)
	}
}

// adoptOrphan starts a child that takes over a hold task without a running owner. It goes
// by the policy that is frozen of its binding, or frozen now: what the scheduler puts back
// is removed again only where that policy moves it.
func (c *children) adoptOrphan(o activities.Orphan) {
	i := queue.Item{Key: o.Key, UID: o.UID, Resource: o.Resource, Policy: -1}
	left, earlier := c.st.Queue.Remembered(o.Key, o.UID)
	switch at := c.st.Queue.Find(o.Key); {
	case at >= 0 && c.st.Items[at].UID == o.UID:
		i.Policy = c.st.Items[at].Policy
	case earlier:
		i.Policy = left.Policy
	case o.Policy != nil:
		i.Policy = c.st.Queue.Freeze(*o.Policy, c.st.Queue.PolicyIndex())
	}
	c.startChild(i, workflows.MigrationState{Start: workflows.StartAdopt})
}

// dismissFormerChildren ends children of an earlier failover that wait for a permit, which
// they will not get: nothing of theirs is written, and the list starts them again.
func (c *children) dismissFormerChildren() {
	formerChildren := c.former
	c.former = nil
	for _, r := range formerChildren {
		id := workflows.BindingMigrationID(c.instance, c.cluster, r.Key)
		if err := workflow.SignalExternalWorkflow(c.ctx, id, "", workflows.SignalRecover, workflows.Recover{Attempt: r.Attempt}).Get(c.ctx, nil); err != nil {
			c.log.Warn("could not dismiss the child of an earlier failover", "binding", r.Key.String(), "error", err)
		}
	}
}

// sent is a signal to a child that the server has not answered for.
type sent struct {
	workflows.Migration
	answer workflow.Future
}

// send sends a signal to a child. The server refuses one to a child that it has not started yet.
func (c *children) send(m workflows.Migration, name string, message any) sent {
	if slices.ContainsFunc(c.starting, func(s starting) bool { return s.item.Key == m.Key }) {
		c.awaitStarts()
	}
	id := workflows.BindingMigrationID(c.instance, c.cluster, m.Key)
	return sent{m, workflow.SignalExternalWorkflow(c.ctx, id, "", name, message)}
}

// signal sends a signal to a child, and waits for the answer.
func (c *children) signal(m workflows.Migration, name string, message any) (told bool) {
	return c.answered(c.send(m, name, message))
}

// answered waits for the answer to a signal. A child that is not running any more is dropped, and its
// binding looked at again. False means that it was, without a report.
func (c *children) answered(s sent) (told bool) {
	err := s.answer.Get(c.ctx, nil)
	if err == nil {
		return true
	}
	c.log.Warn("a migration is not running any more", "binding", s.Key.String(), "error", err)
	if _, still := c.st.Migrations[s.Key.String()]; !still {
		return true // it reported its end meanwhile
	}
	delete(c.st.Migrations, s.Key.String())
	c.st.AdoptDirty, c.st.ListDirty, c.dirty = true, true, true
	c.endedOutside(s.Migration)
	return false
}

// permit gives a child that holds its dependents the permit that it waits for.
func (c *children) permit(m workflows.Migration, permit pace.Permit) sent {
	m.Holds, m.WantsPermit = false, false
	c.note(m)
	return c.send(m, workflows.SignalPermit, permit)
}

// note keeps what became known of a child.
func (c *children) note(m workflows.Migration) { c.st.Migrations[m.Key.String()] = m }

// rejoined notes that a binding that moves targets the cluster again, where that is news.
func (c *children) rejoined(m workflows.Migration) {
	if m.Placed || m.Attempt != c.st.Attempt {
		m.Again = true
		c.note(m)
	}
}

// signalsAtOnce is how many signals wait for their answer at a time: the server takes 2,000 at most.
const signalsAtOnce = 500

// signalAll sends a signal to every child. Meanwhile another child may end.
func (c *children) signalAll(name string, message func(workflows.Migration) any) {
	for keys := range slices.Chunk(workflow.DeterministicKeys(c.st.Migrations), signalsAtOnce) {
		var all []sent
		for _, key := range keys {
			if m, still := c.st.Migrations[key]; still {
				all = append(all, c.send(m, name, message(m)))
			}
		}
		for _, s := range all {
			c.answered(s)
		}
	}
}

// signalRecovery reports to every child that the cluster has recovered, or which operator cancelled; each has to
// answer it before the untaint.
func (c *children) signalRecovery(cancelled *workflows.Order) {
	c.signalAll(workflows.SignalRecover, func(m workflows.Migration) any {
		m.Excused = false // by an older attempt
		c.note(m)
		return workflows.Recover{Attempt: c.st.Attempt, Cancelled: cancelled, PutBack: c.st.StopPutBack}
	})
}

// signalScoped signals to those that are not placed: the scheduler may put their cluster back,
// and it is not taken out again while they are paused.
func (c *children) signalScoped(v scopedVerb) {
	for _, key := range workflow.DeterministicKeys(c.st.Migrations) {
		m, still := c.st.Migrations[key]
		if still && !m.Placed && v.Covers(m.Key) && (v.verb == workflows.UpdatePause) == c.st.Queue.IsPaused(m.Key) {
			c.signal(m, workflows.SignalMigrationOrder, workflows.MigrationOrder{CancelOrder: workflows.CancelOrder{Order: v.Order}, Verb: v.verb})
		}
	}
}

// endedOutside gives a binding its outcome when its child was ended from outside: what was
// released by then, no list brings back. One that still holds is adopted, one that still
// targets the cluster is listed, and its own outcome takes the place of this.
func (c *children) endedOutside(m workflows.Migration) {
	c.outcomes.keepIn(m.Attempt, record.Result{
		Key: m.Key, UID: m.UID, Resource: m.Resource, Outcome: phase.OutcomeAbandoned, Reason: reason.Unverified,
		Message: "its migration was ended from outside", At: c.now(),
	})
}

// silence is for how long a child may report nothing before it is signalled.
const silence = 3 * time.Minute

// pokeSilent finds children that were terminated: their report will never come.
func (c *children) pokeSilent() {
	for _, key := range workflow.DeterministicKeys(c.st.Migrations) {
		m, still := c.st.Migrations[key] // one may have reported while another was signalled
		if !still || c.now().Sub(m.Heard) < silence {
			continue
		}
		m.Heard = c.now()
		c.note(m)
		c.signal(m, workflows.SignalMigrationAdopted, workflows.MigrationAdopted{FailoverID: c.st.FailoverID, Attempt: m.Attempt})
	}
}

// inFlight count the children from Checking to Placing, and those that wait.
func (c *children) inFlight() (inFlight, waiting int) {
	for _, key := range workflow.DeterministicKeys(c.st.Migrations) {
		if m := c.st.Migrations[key]; m.Placed || m.Phase == phase.MigrationAwaitingFence {
			waiting++
		} else {
			inFlight++
		}
	}
	return inFlight, waiting
}

// allEnded: every child has reported, or does not run any more and left no hold that
// is still to be adopted. Where the queue is closed nothing is listed, which would find
// out those that were terminated.
func (c *children) allEnded() bool {
	if c.st.AdoptDirty {
		return false
	}
	c.pokeSilent()
	return len(c.st.Migrations) == 0 && !c.st.AdoptDirty
}

// restoresOpen: an unplaced migration has neither been restored nor had its time for that.
func (c *children) restoresOpen() bool {
	if c.now().Sub(c.st.ClosedAt) > c.st.Terms.RestoreWait {
		return false
	}
	for _, key := range workflow.DeterministicKeys(c.st.Migrations) {
		m := c.st.Migrations[key]
		if !m.Placed && !m.Excused && (!m.GoesOn || c.st.Stopped != nil) {
			return true
		}
	}
	return false
}
