package activities

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// EvictRequest is one attempt to move a binding off its cluster, under one permit.
type EvictRequest struct {
	MigrationRef
	Policy   rules.Policy `json:"policy"`
	Question              // the write judges the approval rules once more
	// Permit is what this attempt uses.
	Permit pace.Permit `json:"permit"`
	// Unhealthy is the copy whose application is the reason, nil where its cluster is.
	Unhealthy *rules.Arrival `json:"unhealthy,omitempty"`
	// QueuedAt is when it entered the queue and DueAt when it became due, for the metrics alone.
	QueuedAt time.Time `json:"queuedAt,omitzero"`
	DueAt    time.Time `json:"dueAt,omitzero"`
}

// EvictEnd is how an attempt ended.
type EvictEnd string

// The ends of an eviction attempt.
const (
	EvictWritten     EvictEnd = "written"     // Lifeboat's task stands and the cluster is out
	EvictRefused     EvictEnd = "refused"     // certainly not written; Reason says why
	EvictUnknown     EvictEnd = "unknown"     // sent, and no answer came
	EvictNotAffected EvictEnd = "notAffected" // nothing moves it any more
	EvictElsewhere   EvictEnd = "elsewhere"   // another hand moved it
	EvictOptedOut    EvictEnd = "optedOut"
	EvictGone        EvictEnd = "gone"        // the binding
	EvictClusterGone EvictEnd = "clusterGone" // the cluster
)

// EvictResult is what one attempt came to. Baseline and OldWork are set whenever
// a write was tried: they are the measure of what follows.
type EvictResult struct {
	End      EvictEnd       `json:"end"`
	Reason   reason.Reason  `json:"reason,omitempty"`
	Message  string         `json:"message,omitempty"`
	Resource string         `json:"resource,omitempty"`
	Baseline proof.Baseline `json:"baseline"`
	OldWork  *karmada.Work  `json:"oldWork,omitempty"`
	To       []string       `json:"to,omitempty"` // candidates
	// Generation is the binding's after the write.
	Generation int64 `json:"generation,omitempty"`
	// Seen is its version after the write, empty where that is not known.
	Seen string `json:"seen,omitempty"`
	// Reported reports that the pacer knows of the eviction.
	Reported bool `json:"reported,omitempty"`
	// Swapped is the former cluster that took over in the same write, SwapOwner the
	// workflow that held its copy and has to see that through.
	Swapped   string `json:"swapped,omitempty"`
	SwapOwner string `json:"swapOwner,omitempty"`
	// check is the pre-check's word for the write that follows it.
	check Check
}

const (
	// permitMargin is kept free at the end of a permit, so that the request's own deadline
	// lies inside it.
	permitMargin = 100 * time.Millisecond
	// maxSkew bounds by how much the clock of this machine and that of the Temporal server may
	// differ.
	maxSkew = 2 * time.Second
)

// evictor makes the one write that moves a binding off its cluster.
type evictor struct {
	actor
	guard
	judge      judge
	dependents dependents
	pacer      Pacer
	events     EventRecorder
}

// Evict reads what takes long, waits for the moment of its permit, re-reads cluster and binding,
// re-decides everything that made this binding due, and then makes one write. It sends nothing
// after the permit has passed, and it is never retried under the same one.
func (a evictor) Evict(ctx context.Context, r EvictRequest) (EvictResult, error) {
	began, skew := a.clock.ServerNow(ctx)
	at := attempt{began: began, skew: skew, since: a.clock.Start()}
	if !a.mayEnforce(r.Mode) {
		return a.evicted(r, refuse(reason.ModeObserve, "this worker's own config, or the failover, says observe")), nil
	}
	if cause, why := at.refuses(r.Permit); cause != reason.None {
		return a.evicted(r, refuse(cause, why)), nil
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, r.Permit.Latest.Add(-permitMargin).Sub(at.now()))
	defer cancel()
	out, err := a.evictAt(ctx, r, at)
	if err != nil {
		out.End, out.Reason, out.Message = EvictRefused, reasonOf(err), err.Error()
		if ctx.Err() != nil && whole.Err() == nil {
			out.Reason = reason.PermitPassed // nothing was sent: it took too long to read
		}
	}
	if out.End == EvictWritten {
		out.Reported = a.used(whole, r)
	}
	return a.evicted(r, out), nil
}

// evictAt evicts once the permit's moment has come.
func (a evictor) evictAt(ctx context.Context, r EvictRequest, at attempt) (out EvictResult, err error) {
	var on reading
	if err := a.surveyAhead(ctx, r.Key, r.Question, &on); err != nil {
		return out, err
	}
	// The rest is read after the pause, so that it is as fresh as ever.
	if err := a.clock.Wait(ctx, r.Permit.Earliest.Sub(at.now())); err != nil {
		return refuse(reason.PermitPassed, "interrupted before the moment of its permit: "+err.Error()), nil
	}
	err = a.retryConflict(ctx, string(r.Key.Kind()), func() error {
		out, err = a.evictOnce(ctx, r, on, at)
		return err
	})
	return out, err
}

// reportWithin bounds the report of an eviction: without an answer the migration reports it.
const reportWithin = 2 * time.Second

func (a evictor) used(ctx context.Context, r EvictRequest) bool {
	ctx, cancel := context.WithTimeout(ctx, reportWithin)
	defer cancel()
	return a.pacer.Used(ctx, r.Permit.Number, r.Key.String()) == nil
}

func refuse(reason reason.Reason, message string) EvictResult {
	return EvictResult{End: EvictRefused, Reason: reason, Message: message}
}

func (a evictor) evicted(r EvictRequest, out EvictResult) EvictResult {
	a.meter.Evicted(r.Cluster, string(out.End))
	if out.End != EvictRefused { // a refused one goes back into the queue
		now := a.clock.Now()
		a.meter.LeftQueue(r.Cluster, since(now, r.QueuedAt), since(now, r.DueAt))
	}
	return out
}

// since is the time from a moment until now, negative where the moment is not known.
func since(now, moment time.Time) time.Duration {
	if moment.IsZero() {
		return -1
	}
	return max(0, now.Sub(moment))
}

// evictOnce reads, decides and writes once. It returns an error only for what a
// re-read may resolve (a conflict), or when nothing was written at all.
func (a evictor) evictOnce(ctx context.Context, r EvictRequest, on reading, at attempt) (EvictResult, error) {
	fleet, err := a.fleetWith(ctx, r.Cluster)
	if err != nil {
		return EvictResult{}, err
	}
	on.fleet = fleet
	c, known := find(fleet, r.Cluster, r.ClusterUID)
	if !known {
		return EvictResult{End: EvictClusterGone, Reason: reason.ClusterGone}, nil
	}
	if cause, why := a.beginsNothing(r.Mode, c); cause != reason.None {
		return refuse(cause, why), nil
	}
	b, gone, err := a.binding(ctx, r.Key, r.UID)
	if gone || err != nil {
		return EvictResult{End: EvictGone, Reason: reason.BindingGone}, err
	}
	if err := a.readAround(ctx, r.Cluster, r.Question, &b, &on); err != nil {
		return EvictResult{}, err
	}
	out := EvictResult{Resource: resourceName(&b)}
	if stop, err := a.mayMove(ctx, r, sight{c, &b, on, at.now()}, &out); stop || err != nil {
		return out, err
	}
	// A copy that was dead before the eviction cannot be worse after it.
	out.Baseline = proof.BaselineOf(&b).Doubting(suspects(fleet, &b, r.Cluster))
	return a.writeEviction(ctx, r, &b, out, func() bool { return at.inside(r.Permit) })
}

// sight is what one attempt decides on, just read.
type sight struct {
	cluster karmada.Cluster
	binding *karmada.Binding
	reading
	now time.Time // by the server's clock, as due times are
}

// mayMove checks on fresh state whether it is still due, the pre-check's question, and
// whether every dependent is held.
func (a evictor) mayMove(ctx context.Context, r EvictRequest, at sight, out *EvictResult) (stop bool, err error) {
	if stop, err := a.stillMoves(ctx, r, at, out); stop || err != nil {
		return stop, err
	}
	check, err := a.judge.judgeMigration(ctx, at.binding, r.Cluster, ask{
		frozen: rules.Policy{PurgeMode: r.Purge, State: r.Policy.State},
		fence:  r.Fence, question: r.Question, reading: at.reading,
	})
	if err != nil {
		return false, err
	}
	if out.take(check, at.binding, r.Cluster) {
		a.findOldWork(ctx, r, at.binding, out)
		return true, nil
	}
	out.check = check
	cause, why, err := a.dependents.dependentsHeld(ctx, at.binding, r)
	if err == nil && cause != reason.None {
		return out.ends(EvictRefused, cause, why), nil
	}
	return false, err
}

// findOldWork finds the old copy of an eviction that was found standing. Where it cannot be read the migration
// looks for itself what stands.
func (a evictor) findOldWork(ctx context.Context, r EvictRequest, b *karmada.Binding, out *EvictResult) {
	if out.End != EvictWritten {
		return
	}
	work, err := a.oldWork(ctx, b, r.MigrationRef)
	if err != nil {
		out.End, out.Reason, out.Message = EvictUnknown, reason.Unverified, err.Error()
		return
	}
	out.OldWork = work
}

// stillMoves re-reads this binding's own reason to move: under the taints that
// stand now it is due, and if a rule of Lifeboat's put the taint, that rule still matches.
func (a evictor) stillMoves(ctx context.Context, r EvictRequest, at sight, out *EvictResult) (stop bool, err error) {
	c := at.cluster
	if r.Unhealthy != nil {
		return a.stillUnhealthy(ctx, r, at.binding, c, out)
	}
	list, err := a.recent().Rules(ctx)
	if err != nil {
		return false, err
	}
	// The failover used the result of the external probe when it confirmed, and dispatches nothing once it
	// disagrees; here the conditions are read again.
	matching := windowsOf(askedNow(c, list, rules.ExternalProbeDown))
	var standing []corev1.Taint
	for _, t := range c.Taints {
		if karmada.Triggers(t.Effect) && supported(t, c, matching) {
			standing = append(standing, t)
		}
	}
	due := rules.DueUnder(r.Policy, standing, at.now)
	if !due.Affected || due.At.After(at.now) {
		return out.ends(EvictNotAffected, due.Reason, "no triggering taint that still holds makes it due"), nil
	}
	return false, nil
}

// ends ends the attempt with nothing written.
func (out *EvictResult) ends(end EvictEnd, why reason.Reason, message string) (stop bool) {
	out.End, out.Reason, out.Message = end, why, message
	return true
}

// supported reports whether a taint still means a failure: a foreign one does as
// long as it stands, Lifeboat's only while its rule matches.
func supported(t corev1.Taint, c karmada.Cluster, matching map[rules.WindowKey]bool) bool {
	at := slices.IndexFunc(c.Added, func(added karmada.AddedTaint) bool {
		return added.Key == t.Key && added.Effect == t.Effect
	})
	return at < 0 || matching[rules.KeyOf(c.Added[at])]
}

// take turns a check into an end, or lets the write go on.
func (out *EvictResult) take(check Check, b *karmada.Binding, cluster string) (done bool) {
	check = check.bounded()
	out.Reason, out.Message, out.To = check.Reason, check.Message, check.Candidates
	switch check.End {
	case CheckPass:
		return false
	case CheckBlocked, CheckFence:
		out.End = EvictRefused
	case CheckOptedOut:
		out.End = EvictOptedOut
	case CheckGone:
		out.End = EvictGone
	case CheckNotTargeting:
		out.End = EvictElsewhere
		if check.Held {
			// Lifeboat's task stands and the cluster is out: an earlier try was written.
			out.End, out.Reason = EvictWritten, reason.Written
			out.Baseline, out.Generation = proof.BaselineFrom(b, cluster), b.Generation
		}
	}
	return true
}

func (a evictor) writeEviction(ctx context.Context, r EvictRequest, b *karmada.Binding, out EvictResult, inside func() bool) (EvictResult, error) {
	work, err := a.oldWork(ctx, b, r.MigrationRef)
	if err != nil {
		return EvictResult{}, err
	}
	out.OldWork = work
	b.Heed(work) // the pre-check read no Work
	if cause, why := rules.Unsupported(b, out.check.Purge); cause != reason.None {
		out.ends(EvictRefused, cause, why)
		return out, nil
	}
	if !inside() {
		out.ends(EvictRefused, reason.PermitPassed, "the moment of its permit has passed before the write")
		return out, nil
	}
	after, err := a.Writer.Evict(ctx, EvictWrite{
		Binding: b, Cluster: r.Cluster, Owner: r.Owner, Now: a.clock.Now(),
		Reschedule: out.check.Reschedule, Purge: b.EffectivePurge(r.Purge), Back: out.check.back(), State: out.check.state,
	})
	switch {
	case err == nil:
		out.End, out.Reason, out.Message, out.Generation = EvictWritten, reason.Written, stateGoing(r.Policy.State, out.check), after.Generation
		out.Seen = after.ResourceVersion
		if swap := out.check.Swap; swap != nil {
			out.Swapped, out.SwapOwner, out.Message = swap.Cluster, swap.Owner, "back on "+swap.String()
		}
		a.recordEviction(ctx, b, r, out, nil)
		return out, nil
	case errors.Is(err, karmada.ErrConflict):
		return EvictResult{}, err
	}
	out.End, out.Reason, out.Message = EvictUnknown, reason.Unverified, err.Error()
	if why, definite := failureOf(err); definite {
		out.End, out.Reason = EvictRefused, why.reason
	}
	a.recordEviction(ctx, b, r, out, err)
	return out, nil
}

func find(fleet []karmada.Cluster, name string, uid types.UID) (karmada.Cluster, bool) {
	for _, c := range fleet {
		if c.Name == name && (uid == "" || c.UID == uid) {
			return c, true
		}
	}
	return karmada.Cluster{}, false
}

// stateGoing says what becomes of state that was to be preserved, empty where none was.
func stateGoing(rules []karmada.StateRule, check Check) string {
	switch {
	case len(rules) == 0 || check.Swap != nil:
		return ""
	case check.stateless != "":
		return check.stateless
	default:
		return "its state goes along: " + strings.Join(slices.Sorted(maps.Keys(check.state)), ", ")
	}
}

func (a evictor) recordEviction(ctx context.Context, b *karmada.Binding, r EvictRequest, out EvictResult, err error) {
	e := Event{Binding: &b.Key, UID: b.UID, Workload: &b.Resource, Reason: "EvictWorkloadFromClusterSucceed"}
	e.Message = fmt.Sprintf("evicted from %s, the old copy is held, by workflow %s", r.Cluster, r.Owner)
	if r.Purge == karmada.PurgeDirectly {
		e.Message = fmt.Sprintf("evicted from %s, the old copy goes first (Directly), by workflow %s", r.Cluster, r.Owner)
	}
	if r.Fence != nil {
		e.Message += "; fenced by " + r.Fence.String()
	}
	if going := stateGoing(r.Policy.State, out.check); going != "" {
		e.Message += "; " + going
	}
	if err != nil {
		e.Warning, e.Reason = true, "EvictWorkloadFromClusterFailed"
		e.Message = fmt.Sprintf("not evicted from %s by workflow %s: %v", r.Cluster, r.Owner, err)
	}
	a.events.Record(ctx, e)
}
