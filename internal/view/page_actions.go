package view

import (
	"fmt"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

func (v PageView) actions(p *page) {
	actions := v.Actions
	if len(actions) == 0 {
		actions = FailoverActions(v.choices())
	}
	if v.Mode == rules.ModeObserve && len(actions) > 0 {
		actions = []string{"Nothing is needed of you. To let Lifeboat act, set `mode: enforce`: it holds from the next failover on."}
	}
	if len(actions) == 0 {
		return
	}
	p.heading("What you can do")
	p.bullets(actions)
}

func (v PageView) choices() Choices {
	c := Choices{
		Cluster: v.Cluster, Phase: v.Phase, Paused: v.PausedBy != "", Drained: v.DrainedBy != "", DrainOnly: v.DrainOnly,
		Tainted: len(v.Tainted) > 0, TaintedOnly: v.TaintedOnly, Foreign: v.Foreign, Asked: v.Counts.Asked,
		Answers: v.Reason == reason.MemberAnswers, OldCopies: len(v.PendingPurge),
	}
	for _, m := range v.Moving {
		if m.NeedsAttention && WaitsForProof(m.Phase, m.Reason) {
			c.Unproven = append(c.Unproven, Unproven{Binding: m.Binding, Reason: m.Reason})
		}
	}
	return c
}

// Choices are what decides which orders an operator is offered.
type Choices struct {
	Cluster string
	Phase   phase.Failover
	Paused  bool
	// Drained: somebody has it emptied; DrainOnly: nothing else speaks against it.
	Drained, DrainOnly bool
	// Tainted: somebody ordered a taint; TaintedOnly: nothing else speaks against it.
	Tainted, TaintedOnly bool
	// Answers: Karmada cannot reach the member, and the member answers the external probe.
	Answers bool
	// Foreign are the taints that move its bindings and that others put, "key:effect".
	Foreign []string
	// Asked is how many moves await a human's approval.
	Asked int
	// OldCopies is how many released old copies are not gone yet.
	OldCopies int
	// Unproven are the moves that wait until their old copies are proven dead.
	Unproven []Unproven
}

// Unproven is a move that waits until its old copy is proven dead, and why a human's
// word is asked for.
type Unproven struct {
	Binding string
	Reason  reason.Reason
}

// WaitsForProof tells that a move stands still until its old copy is proven dead. One
// whose old copy is being deleted needs nobody's word.
func WaitsForProof(current phase.Migration, why reason.Reason) bool {
	asks := why == reason.None || why == reason.AwaitingFence || why == reason.StateNeedsSource
	return asks && current == phase.MigrationAwaitingFence
}

// undrain is the operator's way to end a drain.
func (c Choices) undrain() string {
	return c.verb("drain", " --end", "what has not moved stays, what moved stays moved, Lifeboat's taints go")
}

// untaint is the operator's way to end the order of a taint.
func (c Choices) untaint() string {
	return c.verb("taint", " --end", "the taints that were ordered go; what has not moved stays, what moved stays moved")
}

// approve is the operator's answer to what awaits approval.
func (c Choices) approve() string {
	return fmt.Sprintf("`lifeboat approve %s --reason \"…\"`: let what awaits approval move in this attempt, "+
		"of one namespace with `-n`; or name one binding; every other check stays", c.Cluster)
}

// Dead says when a copy on a cluster that does not answer counts as dead: the same
// words wherever a human is asked for them.
const Dead = "powered off, or cut both from its network and from its storage"

// Vouch is the order by which a human says that one old copy is dead.
func Vouch(cluster string, u Unproven) string {
	without := ""
	if u.Reason == reason.StateNeedsSource {
		without = " --without-state"
	}
	return fmt.Sprintf("lifeboat confirm-fenced %s --cluster %s%s --reason \"…\"", text(u.Binding), text(cluster), without)
}

// vouched bounds how many of those that wait for proof are offered by name.
const vouched = 3

// fence are the operator's words about what must never run twice, one for each.
func (c Choices) fence() []string {
	lines := []string{fmt.Sprintf("`%s`: only once you know that its copy there cannot run any more (%s); then it moves. "+
		"A wrong word is two writers on one disk, and it cannot be taken back. Named alone, %s stands for every copy on it",
		Vouch(c.Cluster, c.Unproven[0]), Dead, text(c.Cluster))}
	for _, u := range c.Unproven[1:min(vouched, len(c.Unproven))] {
		lines = append(lines, fmt.Sprintf("`%s`: likewise", Vouch(c.Cluster, u)))
	}
	if more := len(c.Unproven) - vouched; more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more of these, see Moving", more))
	}
	return lines
}

// Overrule is the order by which an operator fails a cluster over although it answers the
// external probe.
func Overrule(cluster string) string {
	return fmt.Sprintf("`lifeboat taint %s outage:NoExecute --reason \"…\"`: fail it over although it answers; "+
		"what does not tolerate the taint moves, until `lifeboat taint %s --end`", text(cluster), text(cluster))
}

// EndsTaint is the order that ends what a taint of a rule follows from.
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

// TaintPutBack says that a taint which was taken away was put back, why, and what ends it.
func TaintPutBack(t karmada.AddedTaint, cluster string) string {
	return fmt.Sprintf("%s:%s %s was taken away and put back, because its rule still matches; to end this: %s",
		t.Key, t.Effect, rules.RuleTitle(t.Rule), EndsTaint(t.Rule, cluster))
}

func (c Choices) verb(name, flags, effect string) string {
	return fmt.Sprintf("`lifeboat %s %s%s --reason \"…\"`: %s", name, c.Cluster, flags, effect)
}

// repair is what ends a failover without an order: what spoke against the cluster goes.
func (c Choices) repair() string {
	const then = "what is not written stays, what has no place yet is put back, what is placed finishes and stays moved, and Lifeboat's taints go by themselves."
	if len(c.Foreign) > 0 {
		return "Others tainted it with " + text(reason.List(c.Foreign)) + ". Was that a mistake? Take the taint away: " + then
	}
	return "Repair the cluster: once it is Ready again, " + then
}

// FailoverActions are the operator's moves that make sense now, what is asked of a human first.
func FailoverActions(c Choices) []string {
	var actions []string
	if !c.Phase.Terminal() {
		if len(c.Unproven) > 0 {
			actions = c.fence()
		}
		for _, asked := range []struct {
			is     bool
			action func() string
		}{{c.Asked > 0, c.approve}, {c.Drained, c.undrain}, {c.Tainted, c.untaint}} {
			if asked.is {
				actions = append(actions, asked.action())
			}
		}
	}
	return append(actions, c.always()...)
}

// oldCopies says what to do about old copies that run beside the new ones.
func (c Choices) oldCopies() string {
	return fmt.Sprintf("%s on %s beside the new: Lifeboat has Karmada delete what is left. If it stays, see why: "+
		"`kubectl get works -n karmada-es-%s`.", each(c.OldCopies, "old copy runs", "old copies run"), text(c.Cluster), text(c.Cluster))
}

// always are the moves that a phase allows whatever else there is.
func (c Choices) always() []string {
	halt := c.verb("pause", "", fmt.Sprintf("evict nothing more for now; what is moving goes on. `lifeboat resume %s --reason \"…\"` goes on with the rest", c.Cluster))
	if c.Paused {
		halt = c.verb("resume", "", "go on evicting")
	}
	stop := c.verb("cancel", "", "stop this failover: what has no place yet is put back, what is placed keeps both copies until you remove one "+
		"(with `--put-back` it comes back, too), Lifeboat's taints go")
	switch c.Phase {
	case phase.FailoverSuspected:
		if c.Answers {
			return []string{"Repair Karmada's access to " + text(c.Cluster) + ": its credential, its certificate, the way to its API server.", Overrule(c.Cluster), stop}
		}
		return []string{"Wait: nothing is written until it is confirmed.", halt, stop}
	case phase.FailoverCordoned:
		uncordon := c.verb("cancel", "", "remove these taints now; no rule is applied to the cluster until none has matched for its removal window")
		return []string{"Nothing is needed of you: no workload moves, the scheduler only keeps away.", uncordon}
	case phase.FailoverConfirmed, phase.FailoverEvacuating, phase.FailoverEvacuated:
		if c.DrainOnly || c.TaintedOnly {
			return []string{halt, stop}
		}
		return []string{halt, stop, c.repair()}
	case phase.FailoverRecovering, phase.FailoverSettling:
		if c.OldCopies > 0 {
			return []string{c.oldCopies(), stop}
		}
		return []string{"Nothing is needed of you.", stop}
	case phase.FailoverStopped:
		return []string{c.verb("resume", "", "take the failover up again, as a new attempt")}
	case phase.FailoverFalseAlarm, phase.FailoverUncordoned, phase.FailoverRecovered, phase.FailoverCancelled, phase.FailoverGone:
		return nil
	}
	return nil
}
