package record

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"k8s.io/apimachinery/pkg/types"
)

// Of an attempt with many bindings only so much is kept binding by binding: a report and a query's
// answer must fit into 2 MB, what is carried over into 1 MB. Each move has its own workflow, with
// its own history; here its outcome is still counted.
const (
	maxResults  = 1500 // of the running attempt; beyond them the oldest are folded
	keepResults = 1000
	// MaxPendingPurges bounds the pending purges that are kept by name.
	MaxPendingPurges = 3000
)

// Ledger are the outcomes of an attempt, one for each binding, and the pending purges of the
// whole failover.
type Ledger struct {
	Results []Result       `json:"results,omitempty"` // of this attempt
	Counts  map[string]int `json:"counts,omitempty"`  // outcomes of this attempt
	// Folded are the bindings of this attempt whose results are in Counts alone, by outcome.
	Folded        map[string]*queue.BindingSet `json:"folded,omitempty"`
	PendingPurges []PendingPurge               `json:"pendingPurges,omitempty"`
	// PendingPurgesBeyond counts those for which PendingPurges has no room: handed over at once.
	PendingPurgesBeyond int `json:"pendingPurgesBeyond,omitempty"`

	index map[resultKey]int // where a result stands
}

type resultKey struct {
	key karmada.BindingKey
	uid types.UID
}

// CalledOff reports whether an operator's word is why a binding does not move.
func CalledOff(r reason.Reason) bool {
	return r == reason.Cancelled || r == reason.SkipOrdered || r == reason.PutBackOrdered
}

// Reset begins the ledger of the next attempt.
func (l *Ledger) Reset() {
	*l = Ledger{Counts: map[string]int{}, PendingPurges: l.PendingPurges, PendingPurgesBeyond: l.PendingPurgesBeyond}
}

// At is where a binding's result stands, -1 when there is none.
func (l *Ledger) At(key karmada.BindingKey, uid types.UID) int {
	if l.index == nil || len(l.index) != len(l.Results) {
		l.index = make(map[resultKey]int, len(l.Results))
		for at := range l.Results {
			l.index[resultKey{l.Results[at].Key, l.Results[at].UID}] = at
		}
	}
	if at, ok := l.index[resultKey{key, uid}]; ok {
		return at
	}
	return -1
}

// outranked: an end without a write does not take the place of what was written in this
// attempt. A look at a binding just before Lifeboat's own move of it ended, with an act just
// after, takes it for the work of others; and one that came back into play after its move
// and was abandoned then, or opted out, is still where that move left it. An operator's word is an end of
// its own, by which the binding is known as called off.
func (l *Ledger) outranked(r Result) bool {
	idle := r.Outcome == phase.OutcomeMovedByOthers || r.Reason == reason.OptedOut || r.Outcome == phase.OutcomeAbandoned && !CalledOff(r.Reason)
	if !idle || r.Wrote {
		return false
	}
	at := l.At(r.Key, r.UID)
	return at >= 0 && (l.Results[at].Wrote || l.Results[at].Outcome == phase.OutcomeMigrated) || l.isFolded(phase.OutcomeMigrated, r.Key, r.UID)
}

// Record keeps the one outcome of a binding; false when an earlier one stands. An earlier end
// without a write gives way: the binding came back into play. Once the attempt is closing, what
// was abandoned may be folded, too.
func (l *Ledger) Record(r Result, closing bool) bool {
	if l.outranked(r) {
		return false
	}
	l.Amend(r)
	l.fold(closing)
	l.Owe(r.PendingPurge)
	return true
}

// Amend keeps the one result of a binding, also of an attempt that is over: a later one takes the
// place of an earlier one.
func (l *Ledger) Amend(r Result) {
	if at := l.At(r.Key, r.UID); at >= 0 {
		l.Counts[string(l.Results[at].Outcome)]--
		l.Results[at] = r
	} else {
		l.unfold(r.Key, r.UID)
		l.Results = append(l.Results, r)
		l.index[resultKey{r.Key, r.UID}] = len(l.Results) - 1
	}
	l.Counts[string(r.Outcome)]++
}

// RecordUnnamed counts bindings whose names are not known any more.
func (l *Ledger) RecordUnnamed(outcome phase.Outcome, set *queue.BindingSet) {
	l.Counts[string(outcome)] += set.Len()
	l.foldedInto(outcome).Merge(set)
}

// fold moves old results into the counts. Those that an operator must look after go last.
func (l *Ledger) fold(closing bool) {
	if len(l.Results) <= maxResults {
		return
	}
	extra := len(l.Results) - keepResults
	for _, must := range []bool{false, true} {
		l.Results = slices.DeleteFunc(l.Results, func(r Result) bool {
			if extra <= 0 || !r.foldable(closing) && (!must || !closing && r.binds()) {
				return false
			}
			extra--
			l.foldedInto(r.Outcome).Add(r.Key, r.UID)
			return true
		})
		if len(l.Results) <= maxResults {
			break
		}
	}
	l.index = nil
}

func (r Result) foldable(closing bool) bool {
	switch r.Outcome {
	case phase.OutcomeMigrated, phase.OutcomeMovedByOthers, phase.OutcomeGone:
		return true
	case phase.OutcomeAbandoned, phase.OutcomeWouldMove, phase.OutcomeWouldBlock:
		return closing
	case phase.OutcomeRestored, phase.OutcomeKept, phase.OutcomeNeedsOperator, phase.OutcomeSkipped, phase.OutcomeBlocked:
	}
	return false
}

// binds: an operator decided this in this attempt; folded, it would be forgotten and the binding be
// moved against the order.
func (r Result) binds() bool {
	return r.Cause != "" && r.Cause != CauseRecovery && r.Cause != CauseApplication
}

func (l *Ledger) foldedInto(outcome phase.Outcome) *queue.BindingSet {
	if l.Folded == nil {
		l.Folded = map[string]*queue.BindingSet{}
	}
	set := l.Folded[string(outcome)]
	if set == nil {
		set = &queue.BindingSet{}
		l.Folded[string(outcome)] = set
	}
	return set
}

func (l *Ledger) isFolded(outcome phase.Outcome, key karmada.BindingKey, uid types.UID) bool {
	return l.Folded[string(outcome)].Has(key, uid)
}

// unfold takes a binding out of the folded results, and out of the counts: it gets another outcome.
func (l *Ledger) unfold(key karmada.BindingKey, uid types.UID) {
	for outcome, set := range l.Folded {
		if set.Has(key, uid) {
			set.Remove(key, uid)
			l.Counts[outcome]--
		}
	}
}

// InCounts is how many outcomes are in the counts alone.
func (l *Ledger) InCounts() int {
	n := -len(l.Results)
	for _, counted := range l.Counts {
		n += counted
	}
	return n
}

// Owe keeps a pending purge.
func (l *Ledger) Owe(d *PendingPurge) {
	switch {
	case d == nil || slices.Contains(l.PendingPurges, *d): // one that came back and moved once more owes the same Work
	case len(l.PendingPurges) < MaxPendingPurges:
		l.PendingPurges = append(l.PendingPurges, *d)
	default:
		l.PendingPurgesBeyond++
	}
}

// CalledOff reports that an operator cancelled or skipped the move of this binding, or had it put back.
// It has its outcome, and moving it again would take the order back.
func (l *Ledger) CalledOff(key karmada.BindingKey, uid types.UID) bool {
	at := l.At(key, uid)
	return at >= 0 && CalledOff(l.Results[at].Reason)
}

// StaysPut reports that the rule of its kind keeps a binding, and that it has that outcome.
func (l *Ledger) StaysPut(key karmada.BindingKey, uid types.UID) bool {
	at := l.At(key, uid)
	return at >= 0 && l.Results[at].Reason == reason.KindStays || l.isFolded(phase.OutcomeSkipped, key, uid)
}

// Migrated reports that a binding was moved and released.
func (l *Ledger) Migrated(key karmada.BindingKey, uid types.UID) bool {
	at := l.At(key, uid)
	return at >= 0 && l.Results[at].Outcome == phase.OutcomeMigrated || l.isFolded(phase.OutcomeMigrated, key, uid)
}

// CameBack corrects the outcome of a binding that the scheduler put back after its release: the
// report must not name a cluster on which it does not run. Alone: it has no other.
func (l *Ledger) CameBack(key karmada.BindingKey, uid types.UID, cluster string, alone bool) {
	at := l.At(key, uid)
	if at < 0 || l.Results[at].Outcome != phase.OutcomeMigrated {
		return
	}
	r := &l.Results[at]
	r.Reason, r.Message = reason.SchedulerReturnsIt, "the scheduler put it back on "+cluster+" after its release"
	if alone {
		r.To = nil
	}
}

// WouldMove reports that observe has found that a binding would move.
func (l *Ledger) WouldMove(key karmada.BindingKey, uid types.UID) bool {
	if l.Counts[string(phase.OutcomeWouldMove)] == 0 {
		return false
	}
	if at := l.At(key, uid); at >= 0 {
		return l.Results[at].Outcome == phase.OutcomeWouldMove
	}
	return l.isFolded(phase.OutcomeWouldMove, key, uid)
}

// Result is what a migration hands in when it ends, and what the report keeps.
type Result struct {
	Key      karmada.BindingKey `json:"key"`
	UID      types.UID          `json:"uid,omitempty"`
	Resource string             `json:"resource,omitempty"` // "Deployment shop/cart"
	Outcome  phase.Outcome      `json:"outcome"`
	Reason   reason.Reason      `json:"reason,omitempty"`
	// Cause says what ended it when that was not its own course: recovery, who cancelled.
	Cause        string        `json:"cause,omitempty"`
	Message      string        `json:"message,omitempty"`
	To           []string      `json:"to,omitempty"` // the clusters that serve it now
	At           time.Time     `json:"at,omitzero"`
	PendingPurge *PendingPurge `json:"pendingPurge,omitempty"`
	Fence        *proof.Fence  `json:"fence,omitempty"` // what a Directly move went on by
	// Banned reports that a Lifeboat task keeps the scheduler from putting it back, until undrain.
	Banned bool `json:"banned,omitempty"`
	// Wrote reports whether a Lifeboat eviction was written.
	Wrote bool `json:"wrote,omitempty"`
}

// PendingPurge is an old Work that stays on an absent cluster until it is back.
type PendingPurge struct {
	Key       karmada.BindingKey `json:"key"`
	Namespace string             `json:"namespace"`
	Work      string             `json:"work"`
	UID       types.UID          `json:"uid"`
}

// CauseRecovery is the cause of an end that the cluster's recovery brought.
const CauseRecovery = "recovery"

// CauseApplication is the cause of a migration that the health of its application brought.
const CauseApplication = "application"

// SaidCause is the cause as it is shown: outcome and reason show a recovery by themselves.
func SaidCause(cause string) string {
	if cause == CauseRecovery {
		return ""
	}
	return cause
}
