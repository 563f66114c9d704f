package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	corev1 "k8s.io/api/core/v1"
)

// EvacuationTaint says what to do with the evacuation NoSchedule taint.
type EvacuationTaint string

// The orders for the evacuation taint.
const (
	EvacuationTaintLeave EvacuationTaint = ""
	EvacuationTaintPut   EvacuationTaint = "put"
	EvacuationTaintDrop  EvacuationTaint = "drop"
)

// TaintRequest adds ripe taints, or removes Lifeboat's.
type TaintRequest struct {
	AssessRequest                         // the answer is an assessment, too; without virtual taints
	FailoverID    string                  `json:"failoverID"`
	Mode          rules.Mode              `json:"mode"`
	Add           []rules.RuleObservation `json:"add,omitempty"`
	Remove        []karmada.AddedTaint    `json:"remove,omitempty"`
	RemoveAll     bool                    `json:"removeAll,omitempty"`
	// EvenIfFailing removes without asking the rules again: an operator's order.
	EvenIfFailing   bool               `json:"evenIfFailing,omitempty"`
	EvacuationTaint EvacuationTaint    `json:"evacuationTaint,omitempty"`
	StoppedBy       *karmada.StoppedBy `json:"stoppedBy,omitempty"`
	ClearStopped    bool               `json:"clearStopped,omitempty"`
	// Drain records the order of a drain; its taint follows from that. ClearDrain ends it.
	Drain      *karmada.Drain `json:"drain,omitempty"`
	ClearDrain bool           `json:"clearDrain,omitempty"`
	// Order records the order of a taint; the taint follows from that. EndOrders ends
	// those of these taints, by key and effect, EndAllOrders all that stand.
	Order        *karmada.OrderedTaint  `json:"order,omitempty"`
	EndOrders    []karmada.OrderedTaint `json:"endOrders,omitempty"`
	EndAllOrders bool                   `json:"endAllOrders,omitempty"`
	// Policies are frozen ones; a write judges them under the taints that stand then.
	Policies []rules.Policy `json:"policies,omitempty"`
	// EndedBy is who ends a drain, or the order of a taint, and why, for the Event.
	EndedBy string `json:"endedBy,omitempty"`
}

// TaintResult is what a TaintRequest came to, and the cluster as it stands then.
type TaintResult struct {
	Assessment
	Refused reason.Reason `json:"refused,omitempty"`
	Message string        `json:"message,omitempty"`
	// PutBack are taints of rules that this write put back: they were taken away from the cluster
	// while their rule matched.
	PutBack []karmada.AddedTaint `json:"putBack,omitempty"`
	// Dues has one Due per policy of the request, in order, after a write.
	Dues []rules.Due `json:"dues,omitempty"`
}

// evacuation taint is the NoSchedule taint that keeps the scheduler away.
var evacuationTaint = karmada.RuleTaint{Key: karmada.EvacuatingTaintKey, Effect: corev1.TaintEffectNoSchedule}

// tainter writes Lifeboat's taints on clusters, and the orders that are recorded there.
type tainter struct {
	guard
	writer
	events EventRecorder
}

// WriteTaints re-reads the cluster and its rules, drops what no longer follows
// from them, and writes the rest in one patch. Adding needs enforce in the failover
// and in this worker; removing what is Lifeboat's needs it in the failover alone.
func (a tainter) WriteTaints(ctx context.Context, r TaintRequest) (TaintResult, error) {
	var out TaintResult
	err := a.retryConflict(ctx, "Cluster", func() error {
		var err error
		out, err = a.writeTaintsOnce(ctx, r)
		return err
	})
	return out, classify("taint cluster", r.Cluster, err)
}

func (a tainter) writeTaintsOnce(ctx context.Context, r TaintRequest) (TaintResult, error) {
	c, err := a.Reader.Cluster(ctx, r.Cluster)
	if errors.Is(err, karmada.ErrGone) || (err == nil && c.UID != r.UID) {
		return TaintResult{Assessment: Assessment{Gone: true}}, nil
	}
	if err != nil {
		return TaintResult{}, err
	}
	list, err := a.rulesNow(ctx)
	if err != nil {
		return TaintResult{}, err
	}
	out := TaintResult{Assessment: assess(c, list, r.AssessRequest)}
	w, refused, why := a.planTaints(c, list, r)
	if refused != "" || w.Empty() {
		out.Refused, out.Message = refused, why
		return out, nil
	}
	if selected, err := a.selectsAny(ctx, w.Drain, r.Cluster); err != nil || !selected {
		out.Refused, out.Message = reason.NotTargeting, "no workload on "+r.Cluster+" has labels that match "+w.Drain.Selector
		return out, err
	}
	after, err := a.Writer.Taint(ctx, w)
	if err != nil {
		a.recordTaint(ctx, c, w, err)
		return TaintResult{}, err
	}
	back := putBack(c, w, windowsOf(askedNow(c, list, r.ExternalProbe)))
	a.recordTaint(ctx, after, w, nil)
	a.recordPutBack(ctx, after, back)
	a.recordOrders(ctx, after, w, r)
	return TaintResult{Assessment: assess(after, list, r.AssessRequest), PutBack: back, Dues: duesUnder(moving(after), r.Policies, a.clock.Now())}, nil
}

// putBack are the taints of a write that are recorded on the cluster, as just read, for a rule that
// matches, and do not stand there any more.
func putBack(c karmada.Cluster, w TaintWrite, matching map[rules.WindowKey]bool) []karmada.AddedTaint {
	var out []karmada.AddedTaint
	for _, t := range w.Add {
		for _, recorded := range c.Added {
			if matching[rules.KeyOf(recorded)] && recorded.Key == t.Key && recorded.Effect == t.Effect && !karmada.HasTaint(c.Taints, t.Key, t.Effect) {
				out = append(out, recorded)
			}
		}
	}
	return out
}

func (a tainter) recordPutBack(ctx context.Context, c karmada.Cluster, back []karmada.AddedTaint) {
	for _, t := range back {
		a.events.Record(ctx, Event{
			Cluster: c.Name, UID: c.UID, Warning: true, Reason: "TaintPutBack",
			Message: view.TaintPutBack(t, c.Name) + "; by workflow " + workflowID(ctx),
		})
	}
}

// planTaints decides what of the request still follows from the rules now.
func (a tainter) planTaints(c karmada.Cluster, list []rules.Rule, r TaintRequest) (TaintWrite, reason.Reason, string) {
	w := TaintWrite{Cluster: c, FailoverID: r.FailoverID, ClearStopped: r.ClearStopped && c.Stopped != nil}
	if r.StoppedBy != nil && (c.Stopped == nil || *c.Stopped != *r.StoppedBy) {
		w.StoppedBy = r.StoppedBy
	}
	if r.Mode != rules.ModeEnforce {
		return w, reason.ModeObserve, "a failover that began in observe writes nothing"
	}
	if reason, why := a.planDrain(&w, r); reason != "" {
		return w, reason, why
	}
	if reason, why := a.planOrdered(&w, r); reason != "" {
		return w, reason, why
	}
	asked := askedNow(c, list, r.ExternalProbe)
	matching := windowsOf(asked)
	if reason, why := a.planAdds(&w, r, asked); reason != "" {
		return w, reason, why
	}
	w.Remove = recordedRemovals(c, r)
	if r.EvenIfFailing {
		return w, "", ""
	}
	if key, bad := removalContradicted(w.Remove, matching); bad {
		return w, reason.ConditionsMatch, fmt.Sprintf("%s matches again", key)
	}
	// A taint that moves no binding stays while its own rule asks for it: that is no failure.
	w.Remove = slices.DeleteFunc(w.Remove, func(t karmada.AddedTaint) bool { return matching[rules.KeyOf(t)] })
	return w, "", ""
}

// planAdds keeps those of the requested taints whose rule still matches, and asks for no longer a window by now, and the
// evacuation taint.
func (a tainter) planAdds(w *TaintWrite, r TaintRequest, asked []rules.RuleObservation) (reason.Reason, string) {
	put := r.EvacuationTaint == EvacuationTaintPut
	if (len(r.Add) > 0 || put) && !a.enforcing(r.Mode, w.Cluster) {
		return reason.ModeObserve, "this worker's own config says observe for this cluster"
	}
	if slices.ContainsFunc(r.Add, func(o rules.RuleObservation) bool { return karmada.Triggers(o.Taint.Effect) }) {
		// A taint that moves bindings makes the other evictor move them at once.
		if cause, why := a.besideEvictor(); cause != reason.None {
			return cause, why
		}
	}
	for _, o := range r.Add {
		if w.Cluster.Writable(o.Taint.Effect) && isAsked(w, o, asked) {
			w.Add, w.AddRules = append(w.Add, o.Taint), append(w.AddRules, o.Rule)
		}
	}
	if len(r.Add) > 0 && len(w.Add) == 0 {
		return reason.ClusterRecovered, "no rule asks for such a taint now, after its whole window"
	}
	if put {
		return putEvacuationTaint(w)
	}
	return "", ""
}

// isAsked reports whether a rule still asks for its taint, after no longer a window than when that was found to be over, and
// no other has it.
func isAsked(w *TaintWrite, o rules.RuleObservation, asked []rules.RuleObservation) bool {
	return !isTaken(w, o, asked) && slices.ContainsFunc(asked, func(now rules.RuleObservation) bool {
		return now.Key() == o.Key() && now.Taint.AddOnMatch <= o.Taint.AddOnMatch
	})
}

// isTaken reports whether another rule puts a taint in this write, or has put it and still asks for it.
func isTaken(w *TaintWrite, o rules.RuleObservation, asked []rules.RuleObservation) bool {
	same := func(t karmada.RuleTaint) bool { return t.Key == o.Taint.Key && t.Effect == o.Taint.Effect }
	stands := karmada.HasTaint(w.Cluster.Taints, o.Taint.Key, o.Taint.Effect)
	return slices.ContainsFunc(w.Add, same) || stands && slices.ContainsFunc(asked, func(now rules.RuleObservation) bool {
		return same(now.Taint) && now.Rule != o.Rule &&
			slices.ContainsFunc(w.Cluster.Added, func(t karmada.AddedTaint) bool { return rules.KeyOf(t) == now.Key() })
	})
}

// putEvacuationTaint adds the evacuation taint beside a taint that moves bindings.
func putEvacuationTaint(w *TaintWrite) (reason.Reason, string) {
	if w.Cluster.Malformed != "" {
		return reason.Malformed, w.Cluster.Malformed // nor is what of Lifeboat's stands there known for certain
	}
	if !triggers(w) {
		return reason.ClusterRecovered, "no taint that moves bindings stands any more, and none is put"
	}
	if !karmada.HasTaint(w.Cluster.Taints, evacuationTaint.Key, evacuationTaint.Effect) {
		w.Add, w.AddRules = append(w.Add, evacuationTaint), append(w.AddRules, "")
	}
	return "", ""
}

// triggers: a taint that moves bindings stands, or is put by this very write. A write
// that is tried again may come when it went.
func triggers(w *TaintWrite) bool {
	hard, soft := karmada.Triggering(w.Cluster.Taints)
	return len(hard)+len(soft) > 0 || slices.ContainsFunc(w.Add, func(t karmada.RuleTaint) bool { return karmada.Triggers(t.Effect) })
}

// askedNow are the taints whose rule matches the cluster as just read, by the word of an external probe.
func askedNow(c karmada.Cluster, list []rules.Rule, w rules.ExternalProbe) (asked []rules.RuleObservation) {
	if rules.OptedOut(c.Annotations) {
		return nil
	}
	for _, o := range rules.Observe(list, c, rules.FactOf(c).Testified(w)) {
		// A taint that stands stays while the external probe contradicts its rule.
		if o.Match == rules.Matches || o.Match == rules.Undecided && o.Reason == reason.MemberAnswers {
			asked = append(asked, o)
		}
	}
	return asked
}

func windowsOf(asked []rules.RuleObservation) map[rules.WindowKey]bool {
	matching := map[rules.WindowKey]bool{}
	for _, o := range asked {
		matching[o.Key()] = true
	}
	return matching
}

// removalContradicted names a taint that moves bindings and whose rule matches now.
func removalContradicted(remove []karmada.AddedTaint, matching map[rules.WindowKey]bool) (rules.WindowKey, bool) {
	for _, t := range remove {
		if karmada.Triggers(t.Effect) && matching[rules.KeyOf(t)] {
			return rules.KeyOf(t), true
		}
	}
	return "", false
}

// recordedRemovals are those of the requested removals that are Lifeboat's by the
// annotation. The evacuation taint stays while a triggering taint would.
func recordedRemovals(c karmada.Cluster, r TaintRequest) []karmada.AddedTaint {
	var out, evacuationTaints []karmada.AddedTaint
	for _, t := range c.Added {
		same := func(x karmada.AddedTaint) bool { return x.Key == t.Key && x.Effect == t.Effect }
		switch {
		case t.Key == evacuationTaint.Key && t.Effect == evacuationTaint.Effect:
			evacuationTaints = append(evacuationTaints, t)
		case !c.Writable(t.Effect): // an operator has to repair the annotation first
		case r.RemoveAll || slices.ContainsFunc(r.Remove, same):
			out = append(out, t)
		}
	}
	if evacuationTaintGoes(c, r, out) {
		out = append(out, evacuationTaints...)
	}
	return out
}

// evacuationTaintGoes: an operator's stop, or opt-out, takes it away even beside a taint of others.
func evacuationTaintGoes(c karmada.Cluster, r TaintRequest, removed []karmada.AddedTaint) bool {
	wanted := r.RemoveAll || r.EvacuationTaint == EvacuationTaintDrop
	return wanted && (r.EvenIfFailing || rules.OptedOut(c.Annotations) || !triggeringRemains(c.Taints, removed))
}

// triggeringRemains reports whether a taint that moves bindings would still stand.
func triggeringRemains(taints []corev1.Taint, removed []karmada.AddedTaint) bool {
	return slices.ContainsFunc(taints, func(t corev1.Taint) bool {
		return karmada.Triggers(t.Effect) && !slices.ContainsFunc(removed, func(x karmada.AddedTaint) bool {
			return x.Key == t.Key && x.Effect == t.Effect
		})
	})
}

func (a tainter) recordTaint(ctx context.Context, c karmada.Cluster, w TaintWrite, err error) {
	if err == nil && len(w.Add) == 0 && len(w.Remove) == 0 {
		return
	}
	e := Event{Cluster: c.Name, UID: c.UID, Reason: "TaintClusterSucceed"}
	verb := "untainted"
	if len(w.Add) > 0 {
		verb = "tainted"
	}
	e.Message = fmt.Sprintf("%s by workflow %s", verb, workflowID(ctx))
	if err != nil {
		e.Warning, e.Reason = true, "TaintClusterFailed"
		e.Message = fmt.Sprintf("not %s by workflow %s: %v", verb, workflowID(ctx), err)
	}
	a.events.Record(ctx, e)
}
