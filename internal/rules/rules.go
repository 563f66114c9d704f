package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// observerReasons are reasons of condition Ready that speak of the observer: it could
// not look, so it has nothing to say about the member.
var observerReasons = sets.New("StatusCollectionFailed")

// notReachable is the reason of condition Ready for a dead member, and for one to which
// Karmada's credential or certificate has expired: nothing in the Cluster distinguishes them.
const notReachable = "ClusterNotReachable"

// Validate says what is wrong with a rule, empty when nothing is. A wrong rule is
// refused as a whole: half a rule could taint where its author said not to.
func (r Rule) Validate() string {
	problems := []string{r.validateTargets(), r.validateConditions(), r.validateTaints(), r.validateReach()}
	return strings.Join(slices.DeleteFunc(problems, func(p string) bool { return p == "" }), "; ")
}

func (r Rule) validateTargets() string {
	if _, err := r.TargetClusters.Selects(karmada.Cluster{}); err != nil {
		return "targetClusters: " + err.Error()
	}
	return ""
}

func (r Rule) validateConditions() string {
	if !r.Policy {
		return validateList("matchConditions", r.MatchConditions, true)
	}
	if p := validateList("addOnConditions", r.MatchConditions, false); p != "" {
		return p
	}
	return validateList("removeOnConditions", r.RemoveConditions, false)
}

// validateList demands values of a ClusterTaintRule. Karmada accepts a policy without:
// there In matches nothing, and NotIn every status.
func validateList(field string, conditions []MatchCondition, values bool) string {
	for i, m := range conditions {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case m.ConditionType == "":
			return at + ": conditionType is empty"
		case m.Operator != OperatorIn && m.Operator != OperatorNotIn:
			return fmt.Sprintf("%s: operator %q is neither In nor NotIn", at, m.Operator)
		case values && len(m.StatusValues) == 0:
			return at + ": statusValues is empty"
		case slices.ContainsFunc(m.StatusValues, unknownStatus):
			return fmt.Sprintf("%s: statusValues %v may hold True, False and Unknown only", at, m.StatusValues)
		}
	}
	return ""
}

func unknownStatus(s corev1.ConditionStatus) bool {
	return s != corev1.ConditionTrue && s != corev1.ConditionFalse && s != corev1.ConditionUnknown
}

func (r Rule) validateTaints() string {
	if len(r.Taints) == 0 {
		return "taints is empty"
	}
	seen := sets.New[string]()
	for i, t := range r.Taints {
		id := t.Key + ":" + string(t.Effect)
		if seen.Has(id) {
			return fmt.Sprintf("taints[%d]: %s stands twice", i, id)
		}
		seen.Insert(id)
		if p := t.Validate(); p != "" {
			return fmt.Sprintf("taints[%d]: %s", i, p)
		}
	}
	return ""
}

// validateReach keeps a rule without conditions from emptying the whole fleet; a
// policy without any never adds a taint.
func (r Rule) validateReach() string {
	triggers := slices.ContainsFunc(r.Taints, func(t karmada.RuleTaint) bool { return karmada.Triggers(t.Effect) })
	if r.Policy || len(r.MatchConditions) > 0 || !triggers || r.TargetClusters.Narrow() {
		return ""
	}
	return "matchConditions is empty, so a taint that moves bindings needs targetClusters with names, labels or fields"
}

func (r Rule) problem() string {
	if r.Malformed != "" {
		return r.Malformed
	}
	return r.Validate()
}

// MatchRule judges a rule against one sight of a cluster, wherever the rule aims. A
// refused rule decides nothing.
func MatchRule(r Rule, fact ClusterFact) (Match, reason.Reason) {
	if r.problem() != "" {
		return Undecided, reason.Malformed
	}
	if fact.Deleted {
		return Undecided, reason.ClusterGone
	}
	add, why := matchAll(r.MatchConditions, fact)
	if r.Policy {
		return r.matchPolicy(add, why, fact)
	}
	return r.externallyProbed(add, why, fact.ExternalProbe)
}

// matchAll: conditions are ANDed. One that mismatches decides, then one that cannot
// be decided, and only then do they match.
func matchAll(conditions []MatchCondition, fact ClusterFact) (Match, reason.Reason) {
	result, why := Matches, reason.ConditionsMatch
	for _, m := range conditions {
		match, reason := m.match(fact)
		switch match {
		case Mismatches:
			return Mismatches, reason
		case Undecided:
			result, why = Undecided, reason
		case Matches, Neither, Lapsed:
		}
	}
	return result, why
}

// matchPolicy is Karmada's reading of a ClusterTaintPolicy: an empty list matches
// nothing, and where both lists match the taint is taken away.
func (r Rule) matchPolicy(add Match, why reason.Reason, fact ClusterFact) (Match, reason.Reason) {
	if len(r.MatchConditions) == 0 {
		add, why = Mismatches, reason.None
	}
	remove := Mismatches
	if len(r.RemoveConditions) > 0 {
		remove, _ = matchAll(r.RemoveConditions, fact)
	}
	add, why = r.externallyProbed(add, why, fact.ExternalProbe)
	switch {
	case remove == Matches:
		return Mismatches, reason.None
	case add != Mismatches:
		return add, why
	case remove == Undecided:
		return Lapsed, why
	default:
		return Neither, why
	}
}

// externallyProbed is the verdict of the conditions with the result of the external probe, where the
// rule requires one. Without a result there is no match, and what the external probe
// denies is no match.
func (r Rule) externallyProbed(match Match, why reason.Reason, w ExternalProbe) (Match, reason.Reason) {
	if !r.RequireExternalProbe || match != Matches {
		return match, why
	}
	switch w {
	case ExternalProbeDown:
		return match, why
	case ExternalProbeUp:
		return Mismatches, reason.ExternalProbeDisagrees
	case ExternalProbeAbsent:
	}
	return Undecided, reason.NoExternalProbe
}

func (m MatchCondition) match(fact ClusterFact) (Match, reason.Reason) {
	i := slices.IndexFunc(fact.Conditions, func(c FactCondition) bool { return c.Type == m.ConditionType })
	if i < 0 {
		return Mismatches, reason.None
	}
	c := fact.Conditions[i]
	if c.Type == karmada.ConditionReady && observerReasons.Has(c.Reason) {
		return Undecided, reason.KarmadaFault
	}
	listed := slices.Contains(m.StatusValues, corev1.ConditionStatus(c.Status))
	switch {
	case listed == (m.Operator == OperatorIn):
		return Matches, reason.ConditionsMatch
	case m.Operator == OperatorIn && c.Status == string(corev1.ConditionUnknown):
		return Undecided, reason.None
	default:
		return Mismatches, reason.None
	}
}

// FactOf is what the controller would say of a cluster as read.
func FactOf(c karmada.Cluster) ClusterFact {
	fact := ClusterFact{Cluster: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion}
	for _, cond := range c.Conditions {
		fact.Conditions = append(fact.Conditions, FactCondition{
			Type: cond.Type, Status: string(cond.Status), Reason: cond.Reason,
		})
	}
	return fact
}

// Testified is the fact with the external probe's word.
func (f ClusterFact) Testified(w ExternalProbe) ClusterFact {
	f.ExternalProbe = w
	return f
}

// Newer reports whether resourceVersion a is newer than b. One that is no number
// cannot be compared: then a counts as newer, so that nothing is ignored for ever.
func Newer(a, b string) bool {
	x, errA := strconv.ParseUint(a, 10, 64)
	y, errB := strconv.ParseUint(b, 10, 64)
	return errA != nil || errB != nil || x > y
}

// IsOlder reports whether a resourceVersion is older than another one; false where that is not known.
// A version that is read now and is older than one read before is no evidence of anything that was
// since: the API server was restored from a backup, or a replica answers that lags.
func IsOlder(version, than string) bool {
	return version != "" && than != "" && version != than && Newer(than, version) && !Newer(version, than)
}

// Observe judges every rule that targets the cluster: one observation for each of
// its taints, sorted by key. A refused rule, or one whose targets cannot be
// understood, yields a single Undecided observation without a taint, which keeps
// all its windows as they are: it adds nothing and removes nothing.
func Observe(rules []Rule, c karmada.Cluster, fact ClusterFact) []RuleObservation {
	out := append(observeDrain(c), observeOrdered(c)...)
	for _, r := range rules {
		if r.problem() != "" {
			out = append(out, RuleObservation{Rule: r.Name, Match: Undecided, Reason: reason.Malformed})
			continue
		}
		// Validate has shown that the targets can be understood.
		if selected, err := r.TargetClusters.Selects(c); err != nil || !selected {
			continue
		}
		match, why := MatchRule(r, fact)
		if c.Malformed != "" {
			match, why = Undecided, reason.Malformed
		}
		answers := c.Malformed == "" && r.memberAnswers(fact)
		for _, t := range r.Taints {
			o := RuleObservation{Rule: r.Name, Taint: t, Match: match, Reason: why}
			if answers {
				o = o.contradicted(c)
			}
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b RuleObservation) int { return cmp.Compare(a.Key(), b.Key()) })
	return out
}

// memberAnswers reports whether the external probe contradicts the rule: the rule reads the
// Ready condition, Karmada cannot reach the member, and the member answers the probe.
func (r Rule) memberAnswers(fact ClusterFact) bool {
	asks := func(m MatchCondition) bool { return m.ConditionType == karmada.ConditionReady }
	unreached := func(c FactCondition) bool { return c.Type == karmada.ConditionReady && c.Reason == notReachable }
	return fact.ExternalProbe == ExternalProbeUp && slices.ContainsFunc(r.MatchConditions, asks) && slices.ContainsFunc(fact.Conditions, unreached)
}

// contradicted is an observation of a rule that the external probe contradicts. A taint that
// moves bindings is not put, and its window begins when the contradiction ends. One that
// stands already stays: Karmada could not carry out a recovery.
func (o RuleObservation) contradicted(c karmada.Cluster) RuleObservation {
	if !karmada.Triggers(o.Taint.Effect) || o.Match != Matches && o.Reason != reason.ExternalProbeDisagrees {
		return o
	}
	o.Match, o.Reason = Neither, reason.MemberAnswers
	if slices.ContainsFunc(c.Taints, func(t corev1.Taint) bool { return t.Key == o.Taint.Key && t.Effect == o.Taint.Effect }) {
		o.Match = Undecided
	}
	return o
}

// NeedsFailover reports whether a cluster needs a failover workflow now: a rule matches, a taint
// that moves bindings stands, or something of Lifeboat's does. Where a rule requires the external
// probe, its result counts; a rule that the probe contradicts needs the workflow as well, which
// reports the contradiction. So does a rule that only cordons: its windows are durable there. It
// decides only which workflow gets the fact: whether the cluster has failed, Evidence decides.
func NeedsFailover(rules []Rule, c karmada.Cluster, w ExternalProbe) (bool, reason.Reason) {
	switch {
	case c.Drain != nil:
		return true, reason.Drained
	case len(c.Ordered) > 0:
		return true, reason.TaintOrdered
	case c.HasLifeboatMark():
		return true, reason.LifeboatTaint
	}
	for _, t := range c.Taints {
		if t.Key == karmada.EvacuatingTaintKey {
			return true, reason.LifeboatTaint
		}
		if karmada.Triggers(t.Effect) {
			return true, reason.ForeignTaint
		}
	}
	for _, o := range Observe(rules, c, FactOf(c).Testified(w)) {
		if o.Match == Matches || o.Reason == reason.MemberAnswers {
			return true, o.Reason
		}
	}
	return false, reason.None
}

// Faulty reports whether a cluster counts as failed for the fleet's pace: a rule whose taint
// moves bindings matches, or such a taint of a rule stands until its removal window has
// passed. A drain and a NoSchedule taint make a cluster unavailable, not faulty; a taint that
// an operator put or ordered counts where the cluster is not Ready as well. A cluster that cannot
// be understood counts by its conditions: garbled data makes no fleet look healthier.
func Faulty(rules []Rule, c karmada.Cluster) bool {
	for _, t := range c.Added {
		if karmada.Triggers(t.Effect) && t.Key != karmada.DrainTaintKey && t.Rule != karmada.TaintRule {
			return true
		}
	}
	if !c.Ready() && (len(c.Ordered) > 0 || len(karmada.Foreign(c)) > 0) {
		return true
	}
	c.Drain, c.Ordered, c.Malformed = nil, nil, ""
	return slices.ContainsFunc(Observe(rules, c, FactOf(c).Testified(ExternalProbeDown)), func(o RuleObservation) bool {
		return o.Match == Matches && karmada.Triggers(o.Taint.Effect)
	})
}
