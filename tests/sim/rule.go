package sim

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
)

// ruleEdits are what step edit-rule makes of the rule's windows, by its number: after what time
// of a match its taint is put, and after what time without one it goes.
var ruleEdits = []struct{ add, remove time.Duration }{
	{addAfter, wellFor},
	{20 * time.Second, wellFor},
	{150 * time.Second, wellFor},
	{addAfter, 10 * time.Second},
	{addAfter, 90 * time.Second},
	{10 * time.Second, 60 * time.Second},
}

// editRule changes the windows of the rule, those that run included.
func (s *sim) editRule(_ workflow.Context, x Step) {
	edit := ruleEdits[x.N%len(ruleEdits)]
	s.add, s.remove = edit.add, edit.remove
	s.rules(s.judge.ruling)
}

// aim has the rule aim at a cluster, or not any more.
func aim(at bool) func(*sim, workflow.Context, Step) {
	return func(s *sim, _ workflow.Context, x Step) {
		if delete(s.spared, x.Cluster); !at {
			s.spared[x.Cluster] = true
		}
		s.rules(s.judge.ruling)
	}
}

// aims is what the rule aims at: everything, where it spares nobody.
func (s *sim) aims() *karmada.ClusterAffinity {
	if len(s.spared) == 0 {
		return nil
	}
	return &karmada.ClusterAffinity{Exclude: slices.Sorted(maps.Keys(s.spared))}
}

// aimsAt: the rule is there, and aims at a cluster.
func (j *judge) aimsAt(cluster string) bool { return j.ruling && !j.s.spared[cluster] }

// latelyRead is within what time before its last look at the cluster the writer of a taint has
// read the rules that it goes by.
const latelyRead = 15 * time.Second

// shortest is the shortest time without a match that the rule has asked for since a moment.
func (j *judge) shortest(cluster string, since time.Time) time.Duration {
	window := j.s.remove
	for _, x := range j.between(cluster, since) {
		window = min(window, x.remove)
	}
	return window
}

// underWay is for how long a taint that was confirmed may be under way: a mismatch that comes
// and goes meanwhile is none of that write's.
const underWay = time.Minute

// confirmedFrom is from when on a taint that is written now may have been confirmed: as long
// ago as its failover's last look at the cluster where answers are lost since.
func (j *judge) confirmedFrom(cluster string) time.Time {
	from := j.readAt.Add(-underWay)
	looks := j.assessed[workflows.ClusterFailoverID("", cluster)]
	if len(looks) == 0 {
		return from
	}
	if look := looks[len(looks)-1]; look.Before(from) && !look.Before(j.readAt.Add(-answersIn)) {
		return look
	}
	return from
}

// rash judges that a taint of the rule is put only after that has matched for its window. What
// nobody can tell, and a time without a rule, is no mismatch.
func (j *judge) rash(w world.Write) {
	window := j.s.add
	for _, x := range j.between(w.Cluster, j.readAt.Add(-latelyRead)) {
		window = min(window, x.add)
	}
	var since time.Time
	longest, confirmed := time.Duration(0), j.confirmedFrom(w.Cluster)
	for _, x := range append(slices.Clone(j.sights[w.Cluster]), sight{from: j.s.now()}) {
		if !since.IsZero() && !x.from.Before(confirmed) {
			longest = max(longest, x.from.Sub(since))
		}
		switch mismatch := !x.there || isReady(x.c); {
		case mismatch:
			since = time.Time{}
		case since.IsZero():
			since = x.from
		}
	}
	if longest < window-2*time.Second {
		j.violates("4.1: %s gets %s after it matched for %s of %s", w.Cluster, taintKey, longest, window)
	}
}

const (
	// policyTaint is what the one ClusterTaintPolicy of a story puts, while the condition
	// networkReady of a cluster that may well be Ready is False.
	policyTaint  = "failover.example.org/cut-off"
	networkReady = "NetworkReady"
)

// policy is Karmada's own way to say when a cluster is tainted, and when no more.
func policy() rules.Rule {
	when := func(status corev1.ConditionStatus) []rules.MatchCondition {
		return []rules.MatchCondition{{
			ConditionType: networkReady, Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{status},
		}}
	}
	return rules.Rule{
		Name: rules.PolicyPrefix + "network", Policy: true,
		MatchConditions: when(corev1.ConditionFalse), RemoveConditions: when(corev1.ConditionTrue),
		Taints: []karmada.RuleTaint{{Key: policyTaint, Effect: corev1.TaintEffectNoExecute, AddOnMatch: addAfter, RemoveOnMismatch: wellFor}},
	}
}

// putPolicy puts or removes the ClusterTaintPolicy.
func (s *sim) putPolicy(there bool) {
	s.policed = there
	s.rules(s.judge.ruling)
}

// network turns the condition that only the policy looks at.
func (s *sim) network(cluster string, status corev1.ConditionStatus) {
	if c, there := s.world.Standing(cluster); !there || networkIs(c) == status { // no transition
		return
	}
	s.world.ChangeCluster(cluster, func(c *karmada.Cluster) {
		next := karmada.Condition{Type: networkReady, Status: status, Reason: "Probe", LastTransition: s.now()}
		conditions := slices.Clone(c.Conditions)
		if at := slices.IndexFunc(conditions, func(x karmada.Condition) bool { return x.Type == networkReady }); at >= 0 {
			conditions[at] = next
		} else {
			conditions = append(conditions, next)
		}
		c.Conditions = conditions
	})
}

// networkIs is what the condition of a cluster says, empty when it has none.
func networkIs(c karmada.Cluster) corev1.ConditionStatus {
	for _, x := range c.Conditions {
		if x.Type == networkReady {
			return x.Status
		}
	}
	return ""
}

// garble makes an object one that nobody understands, or mends it.
func (s *sim) garble(x Step, why string) {
	if x.Cluster != "" {
		if s.there(x.Cluster) {
			s.world.ChangeCluster(x.Cluster, func(c *karmada.Cluster) { c.Malformed = why })
		}
		return
	}
	s.world.Edit(Binding{Name: x.Binding}.key(), func(b *karmada.Binding) { b.Malformed = why })
}

// malformed is what a garbled object says of itself.
const malformed = "a story made it so"

func putPolicy(there bool) func(*sim, workflow.Context, Step) {
	return func(s *sim, _ workflow.Context, _ Step) { s.putPolicy(there) }
}

func network(status corev1.ConditionStatus) func(*sim, workflow.Context, Step) {
	return func(s *sim, _ workflow.Context, x Step) { s.network(x.Cluster, status) }
}

// ungarble mends whatever was garbled.
func (s *sim) ungarble() {
	for _, b := range s.world.Everything() {
		if b.Malformed != "" {
			s.garble(Step{Binding: b.Key.Name}, "")
		}
	}
	for n := range s.schedule.Fleet {
		if c, there := s.world.Standing(clusterName(n)); there && c.Malformed != "" {
			s.garble(Step{Cluster: clusterName(n)}, "")
		}
	}
}

// external probe is the controller's own probe: it sees what is there, unless a story has it err.
type externalProbe struct{ s *sim }

// Result implements watch.ProbeResults.
func (w externalProbe) Result(cluster string) rules.ExternalProbe {
	s := w.s
	if !s.externallyProbed {
		return rules.ExternalProbeAbsent
	}
	seen := rules.ExternalProbeUp
	if c, there := s.world.Standing(cluster); !there || !isReady(c) {
		seen = rules.ExternalProbeDown
	}
	if said := cmp.Or(s.words[cluster], seen); said != silent {
		return said
	}
	return rules.ExternalProbeAbsent
}

// Known implements watch.Testifier.
func (externalProbe) Known() rules.Probed { return nil }

// silent is what a story writes for an external probe that has no word.
const silent rules.ExternalProbe = "silent"

// probesEvery is how often the external probe probes, and repeatsEvery how often it says again
// what has not changed.
const (
	probesEvery  = 10 * time.Second
	repeatsEvery = time.Minute
)

// testify tells what the external probe says, for as long as the controller is there.
func (s *sim) testify(ctx workflow.Context) {
	for n := 1; ; n++ {
		_ = workflow.Sleep(ctx, probesEvery)
		if !s.externallyProbed {
			continue
		}
		for cluster := range s.schedule.Fleet {
			s.judge.sees(clusterName(cluster))
		}
		if s.watching {
			s.router.SendProbed(n%int(repeatsEvery/probesEvery) == 0)
		}
	}
}

// requireExternalProbe has the rule ask for the external probe from now on.
func (s *sim) requireExternalProbe(_ workflow.Context, _ Step) {
	s.externallyProbed = true
	s.rules(s.judge.ruling)
}

// word has the external probe say something of a cluster, whatever is there; empty has it see.
func word(says rules.ExternalProbe) func(*sim, workflow.Context, Step) {
	return func(s *sim, _ workflow.Context, x Step) { s.words[x.Cluster] = says }
}

// believed is for how long a word of the external probe counts, and what it may take to be heard.
const believed = 3*time.Minute + 40*time.Second

// agreed judges the rule's taint where the rule asks for an external probe.
func (j *judge) agreed(w world.Write) {
	if j.s.externallyProbed {
		j.s.count["taints that an external probe agreed to"]++
	}
	if j.notExternallyProbed(w.Cluster) {
		j.violates("3: a taint is put on %s, and no external probe has agreed", w.Cluster)
	}
}

// not externally probed: the rule has required an external probe for long, and none has said for long that
// the cluster is down.
func (j *judge) notExternallyProbed(cluster string) bool {
	since := j.s.now().Add(-believed)
	for _, x := range j.between(cluster, since) {
		if !x.externallyProbed || x.word == rules.ExternalProbeDown {
			return false
		}
	}
	return true
}
