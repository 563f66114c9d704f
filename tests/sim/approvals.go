package sim

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// The rules of a story that ask an operator before an eviction. What a rule is asked with is
// its number; "expires" is for how many seconds a question stands open.
const (
	askClusters  = "clusters"  // more clusters than this fail at once
	askReplicas  = "replicas"  // more percent of the fleet's replicas would move
	askCapacity  = "capacity"  // the rest of the fleet has no room
	askDirectly  = "directly"  // the purge mode is Directly
	askNamespace = "namespace" // every binding of a story is in the one that asks
	askSelector  = "selector"  // bindings that ask by their label
	askExpires   = "expires"
)

// asksLabel is what a binding carries that asks by its label.
const asksLabel = "review"

// approvalRules are those of a story.
func (s Schedule) approvalRules() queue.ApprovalRules {
	var out queue.ApprovalRules
	if n, is := s.Asks[askClusters]; is {
		out.ClustersAbove = &n
	}
	if n, is := s.Asks[askReplicas]; is {
		share := float64(n)
		out.ReplicasAbove = &share
	}
	_, out.CapacityDeficit = s.Asks[askCapacity]
	_, out.Directly = s.Asks[askDirectly]
	if _, is := s.Asks[askNamespace]; is {
		out.Namespaces = []string{"shop"}
	}
	if _, is := s.Asks[askSelector]; is {
		out.Selector = asksLabel + "=yes"
	}
	return out
}

// approvals has operators asked, who approve at once, late, or never, or refuse. Its dice are
// its own: whatever else happens with this seed happens without it too.
func (g *generator) approvals(percent int) {
	other := &generator{r: rand.New(rand.NewPCG(g.s.Seed, 0xa99e0fed)), s: g.s}
	if !other.one(percent) {
		return
	}
	other.ask()
	g.s = other.s
}

func (g *generator) ask() {
	switch what := pick(g, askClusters, askReplicas, askCapacity, askDirectly, askNamespace, askNamespace, askSelector); what {
	case askClusters:
		g.s.Asks[what] = pick(g, 0, 0, 1, 1, 2)
	case askReplicas:
		g.s.Asks[what] = pick(g, 0, 10, 30, 50)
	case askDirectly:
		g.s.Asks[what] = 1
		for n := range g.s.Bindings {
			if g.one(50) {
				g.s.Bindings[n].Purge = "Directly"
			}
		}
	default:
		g.s.Asks[what] = 1
	}
	for n := range g.s.Bindings {
		g.s.Bindings[n].Asks = g.one(50)
	}
	if g.one(30) {
		g.s.Asks[askSelector] = 1
	}
	if g.one(40) {
		g.s.Asks[askExpires] = pick(g, 60, 120, 300)
	}
	last := g.end()
	for more := true; more; more = g.one(70) {
		c, at := g.step("down", "taint", "drain", "sever", "soft")
		do, b := pick(g, "approve", "approve", "approve", "skip"), g.on(c)
		if do == "approve" && g.one(70) {
			b = "" // all that wait
		}
		at += pick(g, 0, addAfter) + g.between(0, pick(g, 20*time.Second, 4*time.Minute))
		g.do(min(at, last), do, c, b, 1+g.r.IntN(20))
	}
}

// themeApprovals has an operator asked about what a failure moves, and what the next one does
// while the first is still being settled.
func (g *generator) themeApprovals() {
	g.few(4)
	g.each(func(b *Binding) { plain(b); b.Tolerate = int64(pick(g, -1, -1, 30, 60)) })
	g.s.Rate = pick(g, 0.2, 0.5, 3)
	g.s.Times["healthy"] = pick(g, time.Second, 4*time.Minute)
	_, up := g.outage("m1", g.between(time.Second, 10*time.Second), 0, time.Minute)
	for g.one(60) {
		_, up = g.outage("m1", up+g.between(20*time.Second, 90*time.Second), 0, time.Minute)
	}
	if g.one(30) {
		g.outage(g.cluster(), up-g.between(0, 2*time.Minute), 0, time.Minute)
	}
	g.ask()
	g.some(300, "slow-read", "answer-lost", "cut", "signal-lost")
}

// approve says yes to one binding of a cluster, or to whatever waits there.
func (s *sim) approve(ctx workflow.Context, x Step) {
	o := workflows.ScopedOrder{Order: operator, Scope: queue.Scope{All: true}}
	if x.Binding != "" {
		o.Scope = queue.ScopeOf(Binding{Name: x.Binding}.key())
	}
	r := request{workflows.ClusterFailoverID("", x.Cluster), workflows.UpdateApprove, o}
	s.command(ctx, x, r, func() { s.judge.approved(x.Cluster, x.Binding) })
}

// approved notes an operator's yes: it concerns those that stood on the cluster when it came.
func (j *judge) approved(cluster, binding string) {
	for _, b := range j.s.world.StandingBindings() {
		if (binding == "" || b.Key.Name == binding) && targets(&b, cluster) {
			of := id(cluster, &b)
			j.yes[of] = append(j.yes[of], j.s.now())
		}
	}
}

// asked judges that nothing is evicted that an operator was to be asked about and has not
// agreed to, by the same failover.
func (j *judge) asked(w world.Write, b *karmada.Binding) {
	if len(j.s.schedule.Asks) == 0 {
		return
	}
	of := id(w.Cluster, b)
	e := j.evicted[of]
	why := j.asks(b, e.purge)
	if why == "" {
		return
	}
	e.asked = why
	said := func(at time.Time) bool {
		return e.application || !at.Before(j.s.ran[w.Cluster]) || j.s.count["terminated"] > 0 // a move outlives its failover
	}
	if !slices.ContainsFunc(j.yes[of], said) {
		j.violates("3: %s is evicted from %s, and nobody has approved it: %s", w.Binding, w.Cluster, why)
		return
	}
	j.s.count["evicted with an operator's yes"]++
}

// asks tells why an operator is to be asked for certain, whenever the writer looked.
func (j *judge) asks(b *karmada.Binding, purge karmada.PurgeMode) string {
	rules := j.s.schedule.Asks
	has := func(rule string) bool { _, is := rules[rule]; return is }
	switch {
	case has(askNamespace):
		return "its namespace asks"
	case has(askSelector) && b.WorkloadLabels[asksLabel] == "yes":
		return "its label asks"
	case has(askDirectly) && purge == karmada.PurgeDirectly:
		return "Directly asks"
	case has(askClusters) && j.failing() > rules[askClusters]:
		return "so many clusters fail"
	case has(askReplicas) && j.moving() > float64(rules[askReplicas])+sure:
		return "so many replicas would move"
	}
	return ""
}

// sure is by how many percent more than a rule allows must move, for others may have come
// and gone between the writer's look and its write.
const sure = 15

// failed are the clusters that have failed ever since the writer read the fleet.
func (j *judge) failed(name string) bool {
	list := j.since(name)
	return len(list) > 0 && !slices.ContainsFunc(list, func(x sight) bool {
		return !x.there || !x.ruled || x.externallyProbed || x.c.Malformed != "" || isReady(x.c)
	})
}

func (j *judge) failing() int {
	n := 0
	for c := range j.s.schedule.Fleet {
		if j.failed(clusterName(c)) {
			n++
		}
	}
	return n
}

// moving is what share of the fleet's replicas stands on clusters that have failed.
func (j *judge) moving() float64 {
	away, all := int32(0), int32(0)
	for _, b := range j.s.world.StandingBindings() {
		sum := int32(0)
		for _, t := range b.Clusters {
			sum += t.Replicas
			if b.Malformed == "" && j.failed(t.Name) {
				away += t.Replicas
			}
		}
		held := int32(0)
		for _, t := range b.Tasks {
			if t.Replicas != nil {
				held += *t.Replicas
			}
		}
		all += max(sum, held)
	}
	if all == 0 {
		return 0
	}
	return 100 * float64(away) / float64(all)
}

// approvedOnce judges, once a failover has closed, that a yes was given in the attempt of
// the eviction that it allowed.
func (j *judge) approvedOnce(r workflows.FailoverReport) {
	for of, e := range j.evicted {
		if e.asked == "" || e.application || !strings.HasPrefix(of, r.Cluster+" ") {
			continue
		}
		at := -1 // the later one, where an attempt begins in the moment in which another ends
		for n, o := range r.Attempts {
			if !e.at.Before(o.Since) && !e.at.After(o.Until) {
				at = n
			}
		}
		if at < 0 {
			continue
		}
		inAttempt := func(yes time.Time) bool { return !yes.Before(r.Attempts[at].Since) && !yes.After(e.at) }
		if !slices.ContainsFunc(j.yes[of], inAttempt) {
			j.violates("3: %s was evicted at %s in attempt %d, in which nobody had approved it: %s", of, e.at.Sub(begins), r.Attempts[at].Attempt, e.asked)
		}
	}
}
