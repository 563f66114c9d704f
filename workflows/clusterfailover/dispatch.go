package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// dispatcher asks the pacer for permits and gives each to the most urgent binding that is ready.
type dispatcher struct {
	*run
	judgement  *judgement
	outcomes   *outcomes
	waiting    *waiting
	migrations *migrations
	draining   *draining
	grants     *grants
	permitted  []sent // permits that were signalled in this turn
}

// dispatch gives every permit in hand to the most urgent ready binding. Those that no binding may
// use now are kept until they have passed.
func (d *dispatcher) dispatch() {
	if !d.enforcing() {
		d.simulate()
		return
	}
	d.startHolds()
	d.grants.dropPassed()
	for began := true; began && len(d.st.Grants) > 0; {
		if began = d.dispatchOne(); began {
			d.grants.dropPassed()
		}
	}
	d.migrations.begin()
	for _, s := range d.permitted {
		d.migrations.answered(s)
	}
	d.permitted = nil
	n := d.migrations.counts()
	for at := range d.st.Items {
		if i := &d.st.Items[at]; i.State == queue.Ready || i.State == queue.Hold {
			i.Reason = d.readyReason(n, i.Follows)
		}
	}
}

// readyReason is what those wait for that passed the pre-check.
func (d *dispatcher) readyReason(n counts, follows bool) reason.Reason {
	switch {
	case d.st.Paused != nil:
		return reason.Paused
	case n.mayWait(d.st.Terms, follows) <= 0:
		return reason.WaitingFull
	case n.inFlight >= d.st.Terms.InFlight:
		return reason.WindowFull
	case d.st.Pace.Tier == pace.TierHalted:
		return reason.Halted
	default:
		return reason.AwaitingPermit
	}
}

// ready are the most urgent items of a state that may begin, at most so many: the failover is not paused, and there are
// places for them. An order about one binding that came since this turn began is obeyed first: a skip that
// was accepted must not find its binding on the way.
func (d *dispatcher) ready(state queue.State, most int) []int {
	if len(d.orders.bindings) > 0 || d.st.Paused != nil {
		return nil
	}
	following, others := d.migrations.counts().places(d.st.Terms)
	return d.st.Queue.First(d.now(), most, func(i *queue.Item) bool {
		return i.State == state && (others > 0 && !i.Follows || following > 0 && i.Follows)
	})
}

// holdAhead bounds how many migrations hold their dependents ahead of their permit, without those that an operator keeps
// from it: no other binding waits for these.
const holdAhead = 50

// startHolds starts the migrations of the most urgent bindings with dependents. Such a migration
// holds the dependents first, which may take long, and only then a permit is requested for it.
func (d *dispatcher) startHolds() {
	ahead := 0
	for _, key := range workflow.DeterministicKeys(d.st.Migrations) {
		if m := d.st.Migrations[key]; m.Holds && (!m.WantsPermit || d.mayHavePermit(m)) {
			ahead++
		}
	}
	for ; ahead < holdAhead; ahead++ {
		at := d.ready(queue.Hold, 1)
		if len(at) == 0 {
			return
		}
		if d.waiting.heldBack(&d.st.Items[at[0]]) {
			continue
		}
		d.migrations.startEvicting(d.st.Queue.Remove(at[0]), workflows.MigrationState{Start: workflows.StartHold})
	}
}

// dispatchOne gives one permit to whose turn it is, or takes a held-back binding out of the turn; false: nothing is left to do.
func (d *dispatcher) dispatchOne() bool {
	if len(d.orders.bindings) > 0 || d.st.Paused != nil || !d.draining.mayBegin() {
		return false
	}
	turn := d.next()
	if !turn.ok {
		return false
	}
	if turn.item >= 0 && d.waiting.heldBack(&d.st.Items[turn.item]) {
		return true // an order has reached it since it passed its check: the next one's turn
	}
	permit := d.grants.takePermit()
	if turn.item >= 0 {
		d.migrations.startEvicting(d.st.Queue.Remove(turn.item), workflows.MigrationState{Permit: permit})
		return true
	}
	d.permitted = append(d.permitted, d.migrations.permit(d.st.Migrations[turn.move], permit))
	return true
}

// turn is what gets the next permit: a queued binding, or a migration that waits for it.
type turn struct {
	item     int // its place in the queue, -1 for none
	move     string
	priority int32
	ok       bool
}

// next is the most urgent of all that could use a permit now.
func (d *dispatcher) next() turn {
	best, first := turn{item: -1}, queue.Rank{}
	offer := func(r queue.Rank, t turn) {
		if !best.ok || queue.Compare(r, first) < 0 {
			best, first = t, r
		}
	}
	for _, key := range d.waitForPermit() {
		as := itemOf(d.st.Migrations[key])
		offer(d.st.Queue.RankOf(d.now(), &as), turn{item: -1, move: key, ok: true})
	}
	if ready := d.ready(queue.Ready, 1); len(ready) > 0 {
		offer(d.st.Queue.RankOf(d.now(), &d.st.Items[ready[0]]), turn{item: ready[0], ok: true})
	}
	best.priority = first.Priority
	return best
}

// waitForPermit are the migrations that lack only a permit, now: their dependents are held, or an earlier permit has passed.
func (d *dispatcher) waitForPermit() (keys []string) {
	for _, key := range workflow.DeterministicKeys(d.st.Migrations) {
		if m := d.st.Migrations[key]; m.WantsPermit && d.mayHavePermit(m) {
			keys = append(keys, key)
		}
	}
	return keys
}

// mayHavePermit: no operator has paused or snoozed it since it began.
func (d *dispatcher) mayHavePermit(m workflows.Migration) bool {
	as := itemOf(m)
	due, _ := d.st.Queue.Due(d.now(), &as)
	return !d.st.Queue.IsPaused(m.Key) && !d.now().Before(due)
}

// itemOf is a migration as it stood in the queue, as far as order and due time go.
func itemOf(m workflows.Migration) queue.Item { return queue.Item{Key: m.Key, Policy: m.Policy} }

// simulate is what observe does instead of moving: at the pace that would hold,
// what passed the pre-check would move.
func (d *dispatcher) simulate() {
	for !d.now().Before(d.st.NextSim) && d.st.Paused == nil {
		ready := d.st.Queue.First(d.now(), 1, queue.In(queue.Ready))
		if len(ready) == 0 {
			return
		}
		if d.waiting.heldBack(&d.st.Items[ready[0]]) {
			continue
		}
		i := d.st.Queue.Remove(ready[0]) // its result says that it is judged
		d.outcomes.keep(record.Result{
			Key: i.Key, UID: i.UID, Resource: i.Resource, Outcome: phase.OutcomeWouldMove, Reason: reason.WouldMove, To: i.To, At: d.now(),
		})
		if d.st.Terms.ObserveRate > 0 {
			d.st.NextSim = d.now().Add(pace.Apart(d.st.Terms.ObserveRate))
		}
	}
}

// granted takes a grant. A request is good for one.
func (d *dispatcher) granted(m workflows.Grant) {
	if d.grants.accept(m) {
		d.st.Asked.Want, d.dirty = 0, true
	}
}

// requestPermits sends the pacer what this cluster wants now: on change, and again at an
// interval until it is answered.
func (d *dispatcher) requestPermits() {
	if !d.enforcing() || d.judgement.onlyCordons() {
		d.st.Unheard = false
		return
	}
	want := d.want(d.evacuating())
	asked := want
	if d.st.Asked.Want > 0 {
		asked.Want = min(want.Want, d.st.Asked.Want) // that more is wanted by now is said once it is answered
	}
	same := asked == d.st.Asked
	waiting := want.Want > 0 || want.Open
	if same && (!waiting || d.now().Sub(d.st.AskedAt) < d.st.Terms.AskAgain) {
		return
	}
	if !want.Open && d.st.Asked.Cluster == "" {
		return // it has no request of this failover
	}
	d.request(want)
}

// requestAhead requests permits for what has passed its pre-check before the taint stands, once: should the taint be
// refused, the next request takes it back.
func (d *dispatcher) requestAhead() {
	if want := d.want(true); want.Want > 0 {
		d.request(want)
	}
}

// request sends the pacer a request.
func (d *dispatcher) request(want activities.PermitRequest) {
	err := workflow.SignalExternalWorkflow(d.ctx, workflows.FleetPacerID(d.instance), "", workflows.SignalPermitRequest, want).Get(d.ctx, nil)
	if err != nil {
		d.log.Warn("could not reach the pacer: nothing is evicted until it answers", "error", err)
	}
	d.st.Unheard = err != nil
	d.st.Asked, d.st.AskedAt = want, d.now()
}

// want is what this failover requests now; without dispatch it wants no permits.
func (d *dispatcher) want(dispatches bool) activities.PermitRequest {
	r := activities.PermitRequest{
		Cluster: d.cluster, FailoverID: d.st.FailoverID, Seen: d.st.Newest, Open: !d.st.Phase.Terminal(), Paused: d.st.Paused != nil, Every: d.st.Terms.AskAgain,
	}
	if !dispatches || d.st.Paused != nil {
		return r
	}
	following, others := d.migrations.counts().places(d.st.Terms)
	follow := d.st.Queue.Count(func(i *queue.Item) bool { return i.State == queue.Ready && i.Follows })
	r.Want = min(d.st.Queue.Count(queue.In(queue.Ready))-follow+min(follow, following), others)
	if r.Want = d.draining.want(r.Want + len(d.waitForPermit()) - d.grants.inHand()); r.Want > 0 {
		r.Priority = d.next().priority
	}
	return r
}

// grants are the permits in hand, as the pacer granted them.
type grants struct{ *run }

// accept keeps a grant; false for one that no pacer sends, or that is known.
func (g *grants) accept(m workflows.Grant) bool {
	if !m.Valid() || len(m.FailoverID) > workflows.MaxText {
		g.log.Warn("ignored a malformed signal", "signal", workflows.SignalGrant, "number", m.Number)
		return false
	}
	if slices.ContainsFunc(g.st.Grants, func(x workflows.Grant) bool { return x.Number == m.Number }) {
		return false
	}
	g.st.Grants = append(g.st.Grants, m)
	g.st.Newest = m.Number + int64(m.Size) - 1
	return true
}

// drop drops what is in hand: nothing is evicted any more.
func (g *grants) drop() { g.st.Grants = nil }

// takePermit takes the next permit in hand.
func (g *grants) takePermit() pace.Permit {
	permit, rest := g.st.Grants[0].Take()
	g.st.Grants[0].Permits = rest
	if rest.Size <= 0 {
		g.st.Grants = g.st.Grants[1:]
	}
	return permit
}

// dropPassed drops the permits in hand that have passed, and a grant further ahead than any pacer
// grants.
func (g *grants) dropPassed() {
	for len(g.st.Grants) > 0 {
		switch first, _ := g.st.Grants[0].Take(); {
		case first.Earliest.After(g.now().Add(2 * pace.PermitsEnd)):
			g.st.Grants = g.st.Grants[1:]
		case g.now().Before(first.Latest):
			return
		default:
			g.takePermit()
		}
	}
}

// inHand counts those in hand that have not passed.
func (g *grants) inHand() (n int) {
	g.dropPassed()
	for _, x := range g.st.Grants {
		n += x.Size
	}
	return n
}
