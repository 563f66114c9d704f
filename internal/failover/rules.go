package failover

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
)

// karmadaOwnTaints are put and removed by Karmada's cluster controller with effect
// NoSchedule; a rule that fought over them would never come to rest.
var karmadaOwnTaints = []string{"cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"}

// ourSideReasons are reasons of condition Ready that speak of the observer: it could
// not look, so it has nothing to say about the member.
var ourSideReasons = sets.New("StatusCollectionFailed")

// notReachable is the reason of condition Ready for a dead member, and for one to which
// Karmada's credential or certificate has expired: nothing in the Cluster tells them apart.
const notReachable = "ClusterNotReachable"

// Validate says what is wrong with a rule, empty when nothing is. A wrong rule is
// refused as a whole: half a rule could taint where its author said not to.
func (r Rule) Validate() string {
	checks := []func() string{
		r.validateTargets,
		r.validateConditions,
		r.validateTaints,
		r.validateReach,
	}
	var problems []string
	for _, check := range checks {
		if p := check(); p != "" {
			problems = append(problems, p)
		}
	}
	return strings.Join(problems, "; ")
}

func (r Rule) validateTargets() string {
	if _, err := r.TargetClusters.Selects(Cluster{}); err != nil {
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
		if p := t.validate(); p != "" {
			return fmt.Sprintf("taints[%d]: %s", i, p)
		}
	}
	return ""
}

func (t RuleTaint) validate() string {
	if errs := validation.IsQualifiedName(t.Key); len(errs) > 0 {
		return fmt.Sprintf("key %q: %s", t.Key, strings.Join(errs, ", "))
	}
	if errs := validation.IsValidLabelValue(t.Value); len(errs) > 0 {
		return fmt.Sprintf("value %q: %s", t.Value, strings.Join(errs, ", "))
	}
	switch {
	case t.Effect != corev1.TaintEffectNoSchedule && !Triggers(t.Effect):
		return fmt.Sprintf("effect %q is none of NoSchedule, PreferNoExecute, NoExecute", t.Effect)
	case t.AddOnMatch < 0:
		return fmt.Sprintf("addOnMatchSeconds %s is negative", t.AddOnMatch)
	case t.RemoveOnMismatch < 0:
		return fmt.Sprintf("removeOnMismatchSeconds %s is negative", t.RemoveOnMismatch)
	case t.Key == EvacuatingTaintKey, t.Key == DrainTaintKey:
		return fmt.Sprintf("key %s is reserved", t.Key)
	case t.Effect == corev1.TaintEffectNoSchedule && slices.Contains(karmadaOwnTaints, t.Key):
		return fmt.Sprintf("%s:NoSchedule is Karmada's own", t.Key)
	}
	return ""
}

// validateReach keeps a rule without conditions from emptying the whole fleet; a
// policy without any never adds a taint.
func (r Rule) validateReach() string {
	if r.Policy || len(r.MatchConditions) > 0 || !r.triggers() || r.TargetClusters.narrow() {
		return ""
	}
	return "matchConditions is empty, so a taint that moves bindings needs targetClusters with names, labels or fields"
}

func (r Rule) triggers() bool {
	return slices.ContainsFunc(r.Taints, func(t RuleTaint) bool { return Triggers(t.Effect) })
}

// Triggers tells the effects that make bindings move: NoExecute and PreferNoExecute.
func Triggers(e corev1.TaintEffect) bool {
	return e == corev1.TaintEffectNoExecute || e == EffectPreferNoExecute
}

// narrow tells whether the affinity names something; an empty selector selects everything.
func (a *ClusterAffinity) narrow() bool {
	if a == nil {
		return false
	}
	labelled := a.LabelSelector != nil && len(a.LabelSelector.MatchLabels)+len(a.LabelSelector.MatchExpressions) > 0
	fielded := a.FieldSelector != nil && len(a.FieldSelector.MatchExpressions) > 0
	return len(a.ClusterNames) > 0 || labelled || fielded
}

func (r Rule) problem() string {
	if r.Malformed != "" {
		return r.Malformed
	}
	return r.Validate()
}

// MatchRule judges a rule against one sight of a cluster, wherever the rule aims. A
// refused rule decides nothing.
func MatchRule(r Rule, fact ClusterFact) (Match, Reason) {
	if r.problem() != "" {
		return Undecided, ReasonMalformed
	}
	if fact.Deleted {
		return Undecided, ReasonClusterGone
	}
	add, why := matchAll(r.MatchConditions, fact)
	if r.Policy {
		return r.matchPolicy(add, why, fact)
	}
	return r.witnessed(add, why, fact.Witness)
}

// matchAll: conditions are ANDed. One that mismatches decides, then one that cannot
// be decided, and only then do they match.
func matchAll(conditions []MatchCondition, fact ClusterFact) (Match, Reason) {
	result, why := Matches, ReasonConditionsMatch
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
func (r Rule) matchPolicy(add Match, why Reason, fact ClusterFact) (Match, Reason) {
	if len(r.MatchConditions) == 0 {
		add, why = Mismatches, ReasonNone
	}
	remove := Mismatches
	if len(r.RemoveConditions) > 0 {
		remove, _ = matchAll(r.RemoveConditions, fact)
	}
	add, why = r.witnessed(add, why, fact.Witness)
	switch {
	case remove == Matches:
		return Mismatches, ReasonNone
	case add != Mismatches:
		return add, why
	case remove == Undecided:
		return Lapsed, why
	default:
		return Neither, why
	}
}

// witnessed is the verdict of the conditions once the witness was heard, where the
// rule requires one. What nobody testifies is not agreed, and what the witness
// denies is no match.
func (r Rule) witnessed(match Match, why Reason, w Witness) (Match, Reason) {
	if !r.RequireWitness || match != Matches {
		return match, why
	}
	switch w {
	case WitnessDown:
		return match, why
	case WitnessUp:
		return Mismatches, ReasonWitnessDisagrees
	case WitnessAbsent:
	}
	return Undecided, ReasonNoWitness
}

func (m MatchCondition) match(fact ClusterFact) (Match, Reason) {
	i := slices.IndexFunc(fact.Conditions, func(c FactCondition) bool { return c.Type == m.ConditionType })
	if i < 0 {
		return Mismatches, ReasonNone
	}
	c := fact.Conditions[i]
	if c.Type == ConditionReady && ourSideReasons.Has(c.Reason) {
		return Undecided, ReasonOurSide
	}
	listed := slices.Contains(m.StatusValues, corev1.ConditionStatus(c.Status))
	switch {
	case listed == (m.Operator == OperatorIn):
		return Matches, ReasonConditionsMatch
	case m.Operator == OperatorIn && c.Status == string(corev1.ConditionUnknown):
		return Undecided, ReasonNone
	default:
		return Mismatches, ReasonNone
	}
}

// FactOf is what the starter would say of a cluster as read.
func FactOf(c Cluster) ClusterFact {
	fact := ClusterFact{Cluster: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion}
	for _, cond := range c.Conditions {
		fact.Conditions = append(fact.Conditions, FactCondition{
			Type: cond.Type, Status: string(cond.Status), Reason: cond.Reason,
		})
	}
	return fact
}

// Testified is the fact with the witness's word.
func (f ClusterFact) Testified(w Witness) ClusterFact {
	f.Witness = w
	return f
}

// Newer tells whether resourceVersion a is newer than b. One that is no number
// cannot be compared: then a counts as newer, so that nothing is ignored for ever.
func Newer(a, b string) bool {
	x, errA := strconv.ParseUint(a, 10, 64)
	y, errB := strconv.ParseUint(b, 10, 64)
	return errA != nil || errB != nil || x > y
}

// Rewound tells whether an object that was read before is older now: the API server was
// restored from a backup, or a replica answers that lags. What it says is no evidence of
// anything that was since.
func Rewound(before, now string) bool {
	return before != "" && now != "" && before != now && Newer(before, now) && !Newer(now, before)
}

// Observe judges every rule that targets the cluster: one observation for each of
// its taints, sorted by key. A refused rule, or one whose targets cannot be
// understood, yields a single Undecided observation without a taint, which keeps
// all its windows as they are: it adds nothing and removes nothing.
func Observe(rules []Rule, c Cluster, fact ClusterFact) []RuleObservation {
	out := append(observeDrain(c), observeOrdered(c)...)
	for _, r := range rules {
		if r.problem() != "" {
			out = append(out, RuleObservation{Rule: r.Name, Match: Undecided, Reason: ReasonMalformed})
			continue
		}
		// Validate has shown that the targets can be understood.
		if selected, err := r.TargetClusters.Selects(c); err != nil || !selected {
			continue
		}
		match, reason := MatchRule(r, fact)
		if c.Malformed != "" {
			match, reason = Undecided, ReasonMalformed
		}
		answers := c.Malformed == "" && r.memberAnswers(fact)
		for _, t := range r.Taints {
			o := RuleObservation{Rule: r.Name, Taint: t, Match: match, Reason: reason}
			if answers {
				o = o.contradicted(c)
			}
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b RuleObservation) int { return cmp.Compare(a.Key(), b.Key()) })
	return out
}

// memberAnswers tells whether the external probe contradicts the rule: the rule asks for the
// Ready condition, Karmada cannot reach the member, and the member answers the probe.
func (r Rule) memberAnswers(fact ClusterFact) bool {
	asks := func(m MatchCondition) bool { return m.ConditionType == ConditionReady }
	unreached := func(c FactCondition) bool { return c.Type == ConditionReady && c.Reason == notReachable }
	return fact.Witness == WitnessUp && slices.ContainsFunc(r.MatchConditions, asks) && slices.ContainsFunc(fact.Conditions, unreached)
}

// contradicted is an observation of a rule that the external probe contradicts. A taint that
// moves bindings is not put, and its window begins when the contradiction ends. One that
// stands already stays: Karmada could not carry out a recovery.
func (o RuleObservation) contradicted(c Cluster) RuleObservation {
	if !Triggers(o.Taint.Effect) || o.Match != Matches && o.Reason != ReasonWitnessDisagrees {
		return o
	}
	o.Match, o.Reason = Neither, ReasonMemberAnswers
	if slices.ContainsFunc(c.Taints, func(t corev1.Taint) bool { return t.Key == o.Taint.Key && t.Effect == o.Taint.Effect }) {
		o.Match = Undecided
	}
	return o
}

// Suspected tells whether a cluster needs a failover workflow now: a rule matches by the
// word of a witness, a taint that moves bindings stands, or something of ours does. A rule that
// the external probe contradicts needs it as well: the workflow reports the contradiction. A rule
// that only cordons needs the workflow, too: its windows are durable there. It decides whom
// to tell and nothing else.
func Suspected(rules []Rule, c Cluster, w Witness) (bool, Reason) {
	if c.Drain != nil {
		return true, ReasonDrained
	}
	if len(c.Ordered) > 0 {
		return true, ReasonTaintOrdered
	}
	if c.CarriesOurs() {
		return true, ReasonOursStands
	}
	for _, t := range c.Taints {
		if t.Key == EvacuatingTaintKey {
			return true, ReasonOursStands
		}
		if Triggers(t.Effect) {
			return true, ReasonForeignTaint
		}
	}
	for _, o := range Observe(rules, c, FactOf(c).Testified(w)) {
		if o.Match == Matches || o.Reason == ReasonMemberAnswers {
			return true, o.Reason
		}
	}
	return false, ReasonNone
}

// Triggering picks the taints that make bindings move: hard ones (NoExecute) and
// soft ones (PreferNoExecute).
func Triggering(taints []corev1.Taint) (hard, soft []corev1.Taint) {
	for _, t := range taints {
		switch t.Effect { //nolint:exhaustive // the other effects move nothing
		case corev1.TaintEffectNoExecute:
			hard = append(hard, t)
		case EffectPreferNoExecute:
			soft = append(soft, t)
		}
	}
	return hard, soft
}

// OursAdded tells whether a taint is ours: only what AnnotationAddedTaints lists is.
func OursAdded(c Cluster, t corev1.Taint) bool {
	return slices.ContainsFunc(c.Added, func(a AddedTaint) bool { return a.Key == t.Key && a.Effect == t.Effect })
}

// Foreign are the taints of both kinds that move bindings and that somebody else
// put: they mean what they say for as long as they stand.
func Foreign(c Cluster) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(c.Taints), func(t corev1.Taint) bool {
		return !Triggers(t.Effect) || OursAdded(c, t)
	})
}
