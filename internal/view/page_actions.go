package view

import (
	"fmt"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// WaitsForProof reports that a migration waits for proof that its old copy is dead. While Karmada deletes the
// old copy, no confirmation is needed.
func WaitsForProof(current phase.Migration, why reason.Reason) bool {
	asks := why == reason.None || why == reason.AwaitingFence || why == reason.StateNeedsSource
	return asks && current == phase.MigrationAwaitingFence
}

// Dead describes when a copy on a silent cluster is dead.
const Dead = "powered off, or cut both from its network and from its storage"

// Vouch is the order that confirms that the old copy of the binding is dead.
func (v Migration) Vouch() string {
	without := ""
	if v.Reason == reason.StateNeedsSource {
		without = " --without-state"
	}
	return fmt.Sprintf("lifeboat confirm-fenced %s%s --reason \"…\"", v.object(), without)
}

// vouched bounds how many confirmations a page lists.
const vouched = 3

// fence lists the confirmations that migrations wait for.
func (v Failover) fence() []string {
	var lines []string
	waits := 0
	for _, m := range v.Moving {
		if m.Attention == reason.None || !WaitsForProof(m.Phase, m.Reason) {
			continue
		}
		switch order := (Migration{Binding: m.Binding, From: v.Cluster, Reason: m.Reason}).Vouch(); {
		case waits == 0:
			lines = append(lines, fmt.Sprintf("`%s`: only once you know that its copy there cannot run any more (%s); then it moves. "+
				"A wrong confirmation means two writers on one disk, and it cannot be taken back. An order for %s alone covers every copy on it", order, Dead, text(v.Cluster)))
		case waits < vouched:
			lines = append(lines, fmt.Sprintf("`%s`: likewise", order))
		}
		waits++
	}
	if more := max(waits, v.Counts.Unproven) - vouched; waits > vouched {
		lines = append(lines, fmt.Sprintf("… and %d more of these, see Moving", more))
	}
	return lines
}

// Overrule is the order that fails a cluster over although it answers the external probe.
func Overrule(cluster string) string {
	return fmt.Sprintf("`lifeboat taint %s outage:NoExecute --reason \"…\"`: fail it over although it answers; "+
		"what does not tolerate the taint moves, until `lifeboat taint %s --end`", text(cluster), text(cluster))
}

// EndsTaint is the order that removes a taint of a rule.
func EndsTaint(rule, cluster string) string {
	verb, end := "cancel", ""
	switch rule {
	case karmada.DrainRule:
		verb, end = "drain", " --end"
	case karmada.TaintRule:
		verb, end = "taint", " --end"
	}
	return fmt.Sprintf("lifeboat %s %s%s --reason \"…\"", verb, cluster, end)
}

// TaintPutBack describes a taint that was removed and put back, with the order that ends it.
func TaintPutBack(t karmada.AddedTaint, cluster string) string {
	return fmt.Sprintf("%s:%s %s was taken away and put back, because its rule still matches; to end this: %s",
		t.Key, t.Effect, rules.RuleTitle(t.Rule), EndsTaint(t.Rule, cluster))
}

func (v Failover) verb(name, flags, effect string) string {
	return fmt.Sprintf("`lifeboat %s %s%s --reason \"…\"`: %s", name, v.Cluster, flags, effect)
}

// repair describes the end of a failover without an order.
func (v Failover) repair() string {
	const then = "what is not written stays, what has no place yet is put back, what is placed finishes and stays moved, and Lifeboat's taints go by themselves."
	if len(v.Foreign) > 0 {
		return "Another actor tainted it with " + text(reason.List(v.Foreign)) + ". Was that a mistake? Take the taint away: " + then
	}
	return "Repair the cluster: once it is Ready again, " + then
}

// Actions are what the operator can do now; confirmations and approvals come first.
func (v Failover) Actions() []string {
	if v.Mode == rules.ModeObserve && !v.Phase.Terminal() {
		return []string{
			"Nothing is needed of you. To let Lifeboat act, set `mode: enforce` for the workers; then:",
			v.verb("resume", " --enforce", "this failover acts from now on, as a new attempt"),
		}
	}
	if v.Phase.Terminal() {
		return nil
	}
	actions := v.fence()
	if v.Counts.BlockedBy[reason.AwaitingApproval] > 0 {
		actions = append(actions, v.verb("approve", "", "let what awaits approval move in this attempt, of one namespace with `-n`; or name one binding; every other check stays"))
	}
	if v.DrainedBy != "" {
		actions = append(actions, v.verb("drain", " --end", "what has not moved stays, what moved stays moved, Lifeboat's taints go"))
	}
	if len(v.Tainted) > 0 {
		actions = append(actions, v.verb("taint", " --end", "the taints that were ordered go; what has not moved stays, what moved stays moved"))
	}
	return append(actions, v.always()...)
}

// oldCopies describes old copies that still run, and how to look at them.
func (v Failover) oldCopies() string {
	return fmt.Sprintf("%s on %s beside the new: Lifeboat has Karmada delete what is left. If it stays, see why: "+
		"`kubectl get works -n karmada-es-%s`.", each(len(v.PendingPurge), "old copy runs", "old copies run"), text(v.Cluster), text(v.Cluster))
}

// always are the actions of a phase.
func (v Failover) always() []string {
	halt := v.verb("pause", "", fmt.Sprintf("evict nothing more for now; what is moving goes on. `lifeboat resume %s --reason \"…\"` goes on with the rest", v.Cluster))
	if v.PausedBy != "" {
		halt = v.verb("resume", "", "go on evicting")
	}
	stop := v.verb("cancel", "", "stop this failover: what has no place yet is put back, what is placed keeps both copies until you remove one "+
		"(with `--put-back` it comes back, too), Lifeboat's taints go")
	switch v.Phase {
	case phase.FailoverSuspected:
		if v.Reason == reason.MemberAnswers {
			return []string{"Repair Karmada's access to " + text(v.Cluster) + ": its credential, its certificate, the way to its API server.", Overrule(v.Cluster), stop}
		}
		return []string{"Wait: nothing is written until it is confirmed.", halt, stop}
	case phase.FailoverCordoned:
		uncordon := v.verb("cancel", "", "remove these taints now; no rule is applied to the cluster until none has matched for its removal window")
		return []string{"Nothing is needed of you: no workload moves, the scheduler only keeps away.", uncordon}
	case phase.FailoverConfirmed, phase.FailoverEvacuating, phase.FailoverEvacuated:
		if v.drainOnly() || v.taintedOnly() {
			return []string{halt, stop}
		}
		return []string{halt, stop, v.repair()}
	case phase.FailoverRecovering, phase.FailoverSettling:
		if len(v.PendingPurge) > 0 {
			return []string{v.oldCopies(), stop}
		}
		return []string{"Nothing is needed of you.", stop}
	case phase.FailoverStopped:
		return []string{v.verb("resume", "", "take the failover up again, as a new attempt")}
	case phase.FailoverFalseAlarm, phase.FailoverUncordoned, phase.FailoverRecovered, phase.FailoverCancelled, phase.FailoverGone:
	}
	return nil
}
