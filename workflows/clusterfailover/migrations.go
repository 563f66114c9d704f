package clusterfailover

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// migrations are the migrations that run for this failover: it starts them, signals to them what concerns
// them, and takes their reports and their ends.
type migrations struct {
	*run
	outcomes  *outcomes
	approvals *approvals
	waiting   *waiting
	draining  *draining
	unsent    []starting                   // nobody was asked to start them yet
	starting  []batch                      // the server has not answered for them
	former    []activities.MigrationReport // of an earlier failover; they wait for a permit of it
}

// starting is a migration whose start is not known to have succeeded.
type starting struct {
	item   queue.Item
	move   workflows.Migration
	adopts bool
	start  flow.Start
}

// batch is what one request asked to start.
type batch struct {
	starts []starting
	answer workflow.Future
}

// startEvicting begins the migration that evicts: under the permit of its state, or once it holds its dependents.
func (ms *migrations) startEvicting(i queue.Item, st workflows.MigrationState) {
	st.DueAt, st.Why = ms.st.Queue.Due(ms.now(), &i)
	st.To, st.Returned = i.To, i.Returned
	ms.start(i, st)
}

// start has [migrations.begin] start a migration that outlives this run. It counts as running until the server refuses it.
func (ms *migrations) start(i queue.Item, st workflows.MigrationState) {
	st.Ref = activities.MigrationRef{
		Cluster: ms.cluster, ClusterUID: ms.st.UID, Key: i.Key, UID: i.UID, Mode: ms.st.Terms.Mode, Purge: i.Purge,
		Fence: ms.st.Queue.FenceOf(&i, ms.st.Fenced), Named: st.Ref.Named,
	}
	st.Parent, st.Asked = workflows.ClusterFailoverID(ms.instance, ms.cluster), ms.now()
	st.Approval, st.Standing = ms.approvals.approvalOf(i.Key, i.UID), ms.st.Asking
	st.TellWritten = ms.draining.rate() > 0
	st.FailoverID, st.Attempt, st.Terms, st.Resource, st.QueuedAt = ms.st.FailoverID, ms.st.Attempt, ms.st.Terms, i.Resource, i.Queued
	if policy := ms.st.Queue.PolicyOf(&i); policy != nil {
		st.Policy = *policy
	}
	summary := migrationSummary(i, ms.cluster, st)
	ms.trail.move(i, st, summary)
	move := workflows.Migration{
		Key: i.Key, UID: i.UID, Resource: i.Resource, Attempt: ms.st.Attempt, Policy: i.Policy, Tries: i.Tries, Queued: i.Queued, Purge: i.Purge, Fence: i.Fence,
		Phase: phase.MigrationChecking, Since: st.Asked, Heard: ms.now(), Holds: st.Start == workflows.StartHold, Named: st.Ref.Named,
	}
	if st.Start == workflows.StartAwaitFence {
		move.Phase = phase.MigrationAwaitingFence
	}
	ms.note(move)
	ms.unsent = append(ms.unsent, starting{
		item: i, move: move, adopts: st.Adopts(),
		start: flow.Start{Params: workflows.BindingMigrationParams{Instance: ms.instance, State: st}, Summary: summary},
	})
}

// begin asks for the starts of this turn, many in one request, without waiting for the server.
func (ms *migrations) begin() {
	var starts []flow.Start
	for _, s := range ms.unsent {
		starts = append(starts, s.start)
	}
	for _, b := range flow.StartMigrations(ms.ctx, starts) {
		n := len(b.Starts)
		ms.starting = append(ms.starting, batch{ms.unsent[:n:n], b.Answer})
		ms.unsent = ms.unsent[n:]
	}
}

// awaitStarts waits until the server has started, or refused, every migration.
func (ms *migrations) awaitStarts() {
	for ms.begin(); len(ms.starting) > 0; ms.begin() {
		ms.takeStarted()
	}
}

// takeStarts takes the answers that have come, in the order of the starts.
func (ms *migrations) takeStarts() {
	for len(ms.starting) > 0 && ms.starting[0].answer.IsReady() {
		ms.takeStarted()
	}
}

func (ms *migrations) takeStarted() {
	b := ms.starting[0]
	var answer activities.StartAnswer
	err := b.answer.Get(ms.ctx, &answer)
	ms.starting = ms.starting[1:]
	for n, s := range b.starts {
		ms.started(s, cmp.Or(err, answer.Of(n)))
	}
}

// startsAnswered reports whether every migration that was begun has its answer.
func (ms *migrations) startsAnswered() bool {
	return len(ms.starting) > 0 && !slices.ContainsFunc(ms.starting, func(b batch) bool { return !b.answer.IsReady() })
}

// isStarting reports whether the server has not answered for the migration of a binding yet.
func (ms *migrations) isStarting(key karmada.BindingKey) bool {
	of := func(s starting) bool { return s.item.Key == key }
	return slices.ContainsFunc(ms.unsent, of) || slices.ContainsFunc(ms.starting, func(b batch) bool { return slices.ContainsFunc(b.starts, of) })
}

// started takes the server's answer. A migration that runs already is adopted.
func (ms *migrations) started(s starting, err error) {
	key := s.item.Key.String()
	switch {
	case err == nil:
		if move, still := ms.st.Migrations[key]; still {
			move.StartedHere = true
			ms.own(move)
		}
	case errors.Is(err, activities.ErrRuns):
		if move, still := ms.st.Migrations[key]; still { // it may have reported since, also its end
			move.Again, move.Named = !s.adopts, false
			ms.ownRunning(move)
		}
	default:
		ms.log.Error("could not start a migration", "binding", key, "error", err)
		ms.refused(s, err)
	}
}

// refused takes back what the server did not start, with the order that came meanwhile.
func (ms *migrations) refused(s starting, err error) {
	ordered := ms.st.Migrations[s.item.Key.String()].Ordered
	delete(ms.st.Migrations, s.item.Key.String())
	switch {
	case s.adopts:
		ms.st.AdoptDirty = true // its task stands, and no migration works on it
		ms.backOff()
	case ordered.CallsOff():
		ms.outcomes.keep(ordered.End(record.Result{Key: s.item.Key, UID: s.item.UID, Resource: s.item.Resource, At: ms.now()}))
	default:
		ms.waiting.block(&s.item, reason.Unreachable, err.Error())
		ms.st.Items = append(ms.st.Items, s.item)
	}
}

// own counts a migration as Lifeboat's. One that comes after the recovery reached the
// others gets the signal now: the same rule applies (R4.9-10 to R4.9-18).
func (ms *migrations) own(m workflows.Migration) {
	ms.note(m)
	// Its outcome is the migration's to tell, not the queue's.
	ms.st.Items = slices.DeleteFunc(ms.st.Items, func(i queue.Item) bool { return i.Key == m.Key && i.UID == m.UID })
	if ms.closing() {
		news := workflows.Recover{Attempt: ms.st.Attempt}
		if !m.Named { // else an operator ordered something about this binding after the stop
			news.Cancelled, news.PutBack = ms.st.Stopped, ms.st.StopPutBack
		}
		ms.signal(m, workflows.SignalRecover, news)
	} else if p := ms.st.PausedBy(m.Key); p != nil && !m.Placed {
		ms.signal(m, workflows.SignalMigrationOrder, workflows.MigrationOrder{CancelOrder: workflows.CancelOrder{Order: p.Order}, Verb: workflows.UpdatePause})
	}
}

// ownRunning takes over a migration that another run started.
func (ms *migrations) ownRunning(m workflows.Migration) {
	ms.note(m)
	ms.signal(m, workflows.SignalMigrationAdopted, workflows.MigrationAdopted{
		FailoverID: ms.st.FailoverID, Attempt: ms.st.Attempt, Parent: workflows.ClusterFailoverID(ms.instance, ms.cluster), Suspected: ms.st.Confirmed.IsZero(),
	})
	if _, still := ms.st.Migrations[m.Key.String()]; still {
		ms.own(m)
	}
}

// adopt takes one task over. In observe it only reports.
func (ms *migrations) adopt(o activities.Orphan, orphan bool) {
	_, known := ms.st.Migrations[o.Key.String()]
	switch {
	case !ms.enforcing():
		ms.log.Warn("found a Lifeboat hold task", "binding", o.Key.String(), "owner", o.Owner, "orphan", orphan)
	case known && !orphan:
	case orphan:
		delete(ms.st.Migrations, o.Key.String())
		ms.adoptOrphan(o)
	case o.Owner == workflows.BindingMigrationID(ms.instance, ms.cluster, o.Key):
		move := workflows.Migration{Key: o.Key, UID: o.UID, Resource: o.Resource, Attempt: ms.st.Attempt, Policy: -1, Phase: phase.MigrationPlacing, Since: ms.now(), Heard: ms.now()}
		ms.ownRunning(move)
	}
}

// adoptOrphan starts a migration that takes over a hold task without a running owner. It goes
// by the policy that is frozen of its binding, or frozen now: what the scheduler puts back
// is removed again only where that policy moves it.
func (ms *migrations) adoptOrphan(o activities.Orphan) {
	i := queue.Item{Key: o.Key, UID: o.UID, Resource: o.Resource, Policy: -1}
	left, earlier := ms.st.Queue.Remembered(o.Key, o.UID)
	switch at := ms.st.Queue.Find(o.Key); {
	case at >= 0 && ms.st.Items[at].UID == o.UID:
		i.Policy = ms.st.Items[at].Policy
	case earlier:
		i.Policy = left.Policy
	case o.Policy != nil:
		i.Policy = ms.st.Queue.Freeze(*o.Policy, ms.st.Queue.PolicyIndex())
	}
	ms.start(i, workflows.MigrationState{Start: workflows.StartAdopt})
}

// dismissFormer ends migrations of an earlier failover that wait for a permit, which
// they will not get: nothing of theirs is written, and the list starts them again.
func (ms *migrations) dismissFormer() {
	former := ms.former
	ms.former = nil
	for _, r := range former {
		id := workflows.BindingMigrationID(ms.instance, ms.cluster, r.Key)
		if err := workflow.SignalExternalWorkflow(ms.ctx, id, "", workflows.SignalRecover, workflows.Recover{Attempt: r.Attempt}).Get(ms.ctx, nil); err != nil {
			ms.log.Warn("could not dismiss the migration of an earlier failover", "binding", r.Key.String(), "error", err)
		}
	}
}

// sent is a signal to a migration that the server has not answered for.
type sent struct {
	workflows.Migration
	answer workflow.Future
}

// send sends a signal to a migration. The server refuses one to a migration that it has not started yet.
func (ms *migrations) send(m workflows.Migration, name string, message any) sent {
	if ms.isStarting(m.Key) {
		ms.awaitStarts()
	}
	id := workflows.BindingMigrationID(ms.instance, ms.cluster, m.Key)
	return sent{m, workflow.SignalExternalWorkflow(ms.ctx, id, "", name, message)}
}

// signal sends a signal to a migration, and waits for the answer.
func (ms *migrations) signal(m workflows.Migration, name string, message any) (told bool) {
	return ms.answered(ms.send(m, name, message))
}

// answered waits for the answer to a signal. A migration that is not running any more is dropped, and its
// binding looked at again. False means that it was, without a report.
func (ms *migrations) answered(s sent) (told bool) {
	err := s.answer.Get(ms.ctx, nil)
	if err == nil {
		return true
	}
	ms.log.Warn("a migration is not running any more", "binding", s.Key.String(), "error", err)
	if _, still := ms.st.Migrations[s.Key.String()]; !still {
		return true // it reported its end meanwhile
	}
	delete(ms.st.Migrations, s.Key.String())
	ms.st.AdoptDirty, ms.st.ListDirty, ms.dirty = true, true, true
	ms.endedOutside(s.Migration)
	return false
}

// permit gives a migration that holds its dependents the permit that it waits for.
func (ms *migrations) permit(m workflows.Migration, permit pace.Permit) sent {
	m.Holds, m.WantsPermit = false, false
	ms.note(m)
	return ms.send(m, workflows.SignalPermit, permit)
}

// note keeps what became known of a migration.
func (ms *migrations) note(m workflows.Migration) { ms.st.Migrations[m.Key.String()] = m }

// rejoined notes that a binding that moves targets the cluster again, where that is news.
func (ms *migrations) rejoined(m workflows.Migration) {
	if m.Placed || m.Attempt != ms.st.Attempt {
		m.Again = true
		ms.note(m)
	}
}

// signalAll sends a signal to every migration.
func (ms *migrations) signalAll(name string, message func(workflows.Migration) any) {
	ms.signalThese(workflow.DeterministicKeys(ms.st.Migrations), name, message)
}

// signalThese sends a signal to some. Meanwhile another migration may end.
func (ms *migrations) signalThese(keys []string, name string, message func(workflows.Migration) any) {
	for keys := range slices.Chunk(keys, flow.SignalsAtOnce) {
		var all []sent
		for _, key := range keys {
			if m, still := ms.st.Migrations[key]; still {
				all = append(all, ms.send(m, name, message(m)))
			}
		}
		for _, s := range all {
			ms.answered(s)
		}
	}
}

// signalRecovery reports to every migration that the cluster has recovered, or which operator cancelled; each has to
// answer it before the untaint.
func (ms *migrations) signalRecovery(cancelled *workflows.Order) {
	ms.signalAll(workflows.SignalRecover, func(m workflows.Migration) any {
		m.Excused = false // by an older attempt
		if cancelled != nil {
			m.Ordered = nil // an older order
		}
		ms.note(m)
		return workflows.Recover{Attempt: ms.st.Attempt, Cancelled: cancelled, PutBack: ms.st.StopPutBack}
	})
}

// signalScoped signals a pause to those that are not placed: the scheduler may put their cluster back,
// and it is not taken out again while they are paused. A resume is for all.
func (ms *migrations) signalScoped(v scopedVerb) {
	for _, key := range workflow.DeterministicKeys(ms.st.Migrations) {
		m, still := ms.st.Migrations[key]
		if still && (!m.Placed || v.verb == workflows.UpdateResume) && v.Covers(m.Key) && (v.verb == workflows.UpdatePause) == ms.st.Queue.IsPaused(m.Key) {
			ms.signal(m, workflows.SignalMigrationOrder, workflows.MigrationOrder{CancelOrder: workflows.CancelOrder{Order: v.Order}, Verb: v.verb})
		}
	}
}

// endedOutside gives a binding its outcome when its migration was ended from outside: what was
// released by then, no list brings back. One that still holds is adopted, one that still
// targets the cluster is listed, and its own outcome takes the place of this.
func (ms *migrations) endedOutside(m workflows.Migration) {
	ms.outcomes.keepIn(m.Attempt, record.Result{
		Key: m.Key, UID: m.UID, Resource: m.Resource, Outcome: phase.OutcomeAbandoned, Reason: reason.Unverified,
		Message: "its migration was ended from outside", At: ms.now(),
	})
}

// silence is for how long a migration may report nothing before it is signalled.
const silence = 3 * time.Minute

// pokeSilent finds migrations that were terminated: their report will never come.
func (ms *migrations) pokeSilent() {
	silent := slices.DeleteFunc(workflow.DeterministicKeys(ms.st.Migrations), func(key string) bool {
		return ms.now().Sub(ms.st.Migrations[key].Heard) < silence
	})
	ms.signalThese(silent, workflows.SignalMigrationAdopted, func(m workflows.Migration) any {
		m.Heard = ms.now()
		ms.note(m)
		return workflows.MigrationAdopted{FailoverID: ms.st.FailoverID, Attempt: m.Attempt}
	})
}

// allEnded: every migration has reported, or does not run any more and left no hold that
// is still to be adopted. Where the queue is closed nothing is listed, which would find
// out those that were terminated.
func (ms *migrations) allEnded() bool {
	if ms.st.AdoptDirty {
		return false
	}
	ms.pokeSilent()
	return len(ms.st.Migrations) == 0 && !ms.st.AdoptDirty
}

// restoresOpen: an unplaced migration has neither been restored nor had its time for that.
func (ms *migrations) restoresOpen() bool {
	if ms.now().Sub(ms.st.ClosedAt) > ms.st.Terms.RestoreWait {
		return false
	}
	for _, key := range workflow.DeterministicKeys(ms.st.Migrations) {
		m := ms.st.Migrations[key]
		if !m.Placed && !m.Excused && (!m.GoesOn || ms.st.Stopped != nil) {
			return true
		}
	}
	return false
}
