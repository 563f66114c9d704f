package compare

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

var (
	questions = flag.Uint64("questions", 20000, "how many random fleets and placements")
	first     = flag.Uint64("first", 1, "the first seed; a question is its seed")
)

// bad is a cluster that nobody should be moved to, told a second time.
func bad(in placement.PreCheckInput, name string) bool {
	at := slices.IndexFunc(in.Fleet, func(c karmada.Cluster) bool { return c.Name == name })
	if at < 0 || in.Evacuating[name] || name == in.Failing {
		return true
	}
	c := in.Fleet[at]
	ready := slices.ContainsFunc(c.Conditions, func(x karmada.Condition) bool { return x.Type == "Ready" && x.Status == corev1.ConditionTrue })
	return !ready || slices.ContainsFunc(c.Taints, func(t corev1.Taint) bool {
		tolerated := slices.ContainsFunc(in.Binding.Placement.ClusterTolerations, func(x corev1.Toleration) bool { return x.Key == t.Key })
		return t.Effect == karmada.EffectPreferNoExecute || (t.Effect == corev1.TaintEffectNoExecute && !tolerated)
	})
}

// lift takes one cautious reason away. What is left of a no must then be the
// scheduler's own.
type lift struct {
	class string
	apply func(in *placement.PreCheckInput)
}

func onFleet(change func(c *karmada.Cluster)) func(in *placement.PreCheckInput) {
	return func(in *placement.PreCheckInput) {
		in.Fleet = slices.Clone(in.Fleet)
		for i := range in.Fleet {
			in.Fleet[i].Conditions, in.Fleet[i].Taints = slices.Clone(in.Fleet[i].Conditions), slices.Clone(in.Fleet[i].Taints)
			change(&in.Fleet[i])
		}
	}
}

// lifts are the closed list.
var lifts = []lift{
	{"not Ready", onFleet(func(c *karmada.Cluster) {
		c.Conditions = append([]karmada.Condition{{Type: "Ready", Status: corev1.ConditionTrue}}, c.Conditions...) // the first of a type counts
	})},
	{"soft taint", onFleet(func(c *karmada.Cluster) {
		c.Taints = slices.DeleteFunc(c.Taints, func(t corev1.Taint) bool { return t.Effect == karmada.EffectPreferNoExecute })
	})},
	{"failing itself", func(in *placement.PreCheckInput) {
		in.Evacuating = map[string]bool{}
		onFleet(func(c *karmada.Cluster) { // of those that serve: the scheduler exempts them
			if _, at := in.Binding.Target(c.Name); at >= 0 {
				c.Taints = slices.DeleteFunc(c.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
			}
		})(in)
	}},
	{"reserved headroom", func(in *placement.PreCheckInput) { in.Reserved = placement.Reservations{} }},
	{"unknown capacity", func(in *placement.PreCheckInput) { in.RoomUnknownOK = true }},
	{"no room, and the scheduler does not ask for it", func(in *placement.PreCheckInput) {
		if !asksForRoom(in.Binding) {
			onFleet(func(c *karmada.Cluster) { c.Capacity = vast() })(in)
		}
	}},
	{"a spread that the scheduler does not know", func(in *placement.PreCheckInput) {
		b := *in.Binding
		p := *b.Placement
		p.SpreadConstraints = slices.DeleteFunc(slices.Clone(p.SpreadConstraints), func(s karmada.SpreadConstraint) bool {
			return s.SpreadByLabel != "" || s.SpreadByField == karmada.SpreadByZone || s.SpreadByField == karmada.SpreadByProvider
		})
		b.Placement = &p
		in.Binding = &b
	}},
}

// asksForRoom tells whether the scheduler itself looks for room.
func asksForRoom(b *karmada.Binding) bool {
	r := b.Placement.ReplicaScheduling
	divided := r != nil && r.Type == "Divided" && b.Replicas > 0
	return divided && (r.DivisionPreference == "Aggregated" || (r.WeightPreference != nil && r.WeightPreference.DynamicWeight != ""))
}

func vast() *karmada.Capacity {
	list := corev1.ResourceList{"pods": resource.MustParse("10000"), "cpu": resource.MustParse("10000")}
	return &karmada.Capacity{Allocatable: list, Allocated: corev1.ResourceList{"pods": resource.MustParse("0")}}
}

// refusals are reasons for which the pre-check does not judge a binding at all.
var refusals = []reason.Reason{
	reason.ForeignTask, reason.NotSupportedPlacement, reason.NotSupportedComps, reason.ComponentsUnsized,
	reason.SchedulingPending, reason.NoReplicas,
}

// cautious finds why a no is one although the scheduler places: a refusal, or the
// single reason that, taken away, makes it a yes; or several together. Empty when none does.
func cautious(in placement.PreCheckInput, no reason.Reason) string {
	if slices.Contains(refusals, no) {
		return "cannot be judged: " + string(no)
	}
	for _, l := range lifts {
		lifted := in
		l.apply(&lifted)
		if placement.PreCheck(lifted).OK {
			return l.class
		}
	}
	for _, l := range lifts {
		l.apply(&in)
		if placement.PreCheck(in).OK {
			return "several of them together"
		}
	}
	return ""
}

// tally counts what was asked and how it came out.
type tally map[string]int

func (n tally) String() string {
	var lines []string
	for _, class := range slices.Sorted(maps.Keys(n)) {
		lines = append(lines, fmt.Sprintf("  %6d  %s", n[class], class))
	}
	return strings.Join(lines, "\n")
}

// floors are the least that a run must have seen of each class, per 20,000 questions:
// an idle comparison cannot pass.
var floors = map[string]int{
	"yes": 6000, "no": 6000, "no: the scheduler fails": 4000,
	"yes: with a reschedule": 60, "yes: in a later group": 500, "yes: the rest stays as it is": 250,
	"yes: Duplicated": 1000, "yes: no workload": 600, "yes: static weight": 1000, "yes: Aggregated": 700,
	"yes: dynamic weight": 700, "yes: components": 400, "yes: spread by cluster": 1500, "yes: spread by region": 250,
	"yes: spread by zone": 250, "yes: spread by provider": 250, "yes: spread by rack": 150,
	"no: not Ready": 500, "no: soft taint": 300, "no: failing itself": 200, "no: reserved headroom": 120, "no: unknown capacity": 30,
	"no: no room, and the scheduler does not ask for it": 150,
	"no: a spread that the scheduler does not know":      90, "no: several of them together": 300,
	"no: cannot be judged: NotSupportedYetComponents": 60,
}

// Rules: R4.6-25, R4.6-26.
func TestWhatThePreCheckSaysTheSchedulerDoes(t *testing.T) {
	seen := tally{}
	for seed := *first; seed < *first+*questions; seed++ {
		q := random(seed)
		in := q.input(t)
		if v := placement.PreCheck(in); v.OK {
			q.yes(t, seed, in, v, seen)
		} else {
			q.no(t, seed, in, v, seen)
		}
	}
	t.Logf("%d questions, seeds from %d:\n%s", *questions, *first, seen)
	for class, floor := range floors {
		least := floor * int(min(*questions, 20000)) / 20000
		require.GreaterOrEqual(t, seen[class], least, "too few of %q: nothing was tested", class)
	}
}

func (q question) yes(t *testing.T, seed uint64, in placement.PreCheckInput, v reason.Verdict, seen tally) {
	targets, placed, why := q.schedule(t, v.Reschedule)
	story := func() string {
		return fmt.Sprintf("seed %d: the pre-check said yes (%s), the scheduler %v: %s\n%s", seed, v.Message, targets, why, q)
	}
	require.True(t, placed, story())
	require.NotEmpty(t, v.Candidates, story())
	require.False(t, slices.ContainsFunc(targets, func(x api.TargetCluster) bool { return x.Name == q.failing }), story())
	alive := slices.ContainsFunc(targets, func(x api.TargetCluster) bool {
		_, served := in.Binding.Target(x.Name)
		return !bad(in, x.Name) && (served >= 0 || slices.Contains(v.Candidates, x.Name))
	})
	require.True(t, alive, "nothing alive among them: "+story())
	require.False(t, v.Reschedule && len(in.Binding.Clusters) > 1, "a reschedule with survivors divides from scratch: "+story())
	seen["yes"]++
	for _, class := range classes(in, v, why) {
		seen["yes: "+class]++
	}
}

func classes(in placement.PreCheckInput, v reason.Verdict, why string) []string {
	b := in.Binding
	out := []string{}
	r := b.Placement.ReplicaScheduling
	switch {
	case len(b.Components) > 0:
		out = append(out, "components")
	case !b.Workload:
		out = append(out, "no workload")
	case r == nil || r.Type == "Duplicated":
		out = append(out, "Duplicated")
	case r.DivisionPreference == "Aggregated":
		out = append(out, "Aggregated")
	case asksForRoom(b):
		out = append(out, "dynamic weight")
	default:
		out = append(out, "static weight")
	}
	for _, s := range b.Placement.SpreadConstraints {
		out = append(out, "spread by "+s.SpreadByField+s.SpreadByLabel)
	}
	if v.Reschedule {
		out = append(out, "with a reschedule")
	}
	if strings.Contains(v.Message, `group "two"`) || strings.Contains(v.Message, `group "three"`) {
		out = append(out, "in a later group")
	}
	if why == "left as it is" {
		out = append(out, "the rest stays as it is")
	}
	return out
}

func (q question) no(t *testing.T, seed uint64, in placement.PreCheckInput, v reason.Verdict, seen tally) {
	seen["no"]++
	targets, placed, why := q.schedule(t, false)
	if !placed && len(in.Binding.Clusters) == 1 {
		// Only an eviction that leaves nothing may ask for a reschedule.
		targets, placed, why = q.schedule(t, true)
	}
	if !placed {
		seen["no: the scheduler fails"]++
		return
	}
	class := cautious(in, v.Reason)
	require.NotEmpty(t, class, "seed %d: the pre-check said no (%s: %s), the scheduler takes %v (%s), and no cautious reason stands against it\n%s",
		seed, v.Reason, v.Message, targets, why, q)
	seen["no: "+class]++
}
