package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Generate makes the schedule of a seed. Sizes are skewed: the median has about six
// bindings, one in a hundred more than two hundred.
func Generate(seed uint64) Schedule {
	g := newGenerator(seed)
	if g.one(10) {
		g.s.Fleet = 9 + g.r.IntN(8) // on both sides of what counts as a large fleet
	}
	g.s.Rate = pick(g, 0.5, 0.5, 0.5, 0.2, 1, 3, 8)
	if g.one(4) {
		g.s.Mode = "observe"
	}
	g.bindings()
	if g.one(20) {
		g.needs()
	}
	g.temper()
	g.faults()
	g.failures()
	g.troubles()
	g.operators()
	g.users()
	g.afterthoughts()
	g.approvals(12)
	return withApplications(later(g.done()))
}

func newGenerator(seed uint64) *generator {
	g := &generator{r: rand.New(rand.NewPCG(seed, 0x11feb0a7))}
	g.s = Schedule{Seed: seed, Mode: "enforce", Fleet: 3 + g.r.IntN(6), Odds: map[string]int{}, Asks: map[string]int{}, Times: map[string]time.Duration{}}
	return g
}

// done is the schedule: its steps in order, and the quiet after them.
func (g *generator) done() Schedule {
	slices.SortStableFunc(g.s.Steps, func(a, b Step) int { return int(a.At - b.At) })
	g.s.Quiet = g.end() + g.between(time.Second, 2*time.Minute)
	return g.s
}

type generator struct {
	r *rand.Rand
	s Schedule
}

func (g *generator) one(percent int) bool { return g.r.IntN(100) < percent }

func pick[T any](g *generator, from ...T) T { return from[g.r.IntN(len(from))] }

func (g *generator) between(least, most time.Duration) time.Duration {
	return (least + time.Duration(g.r.Int64N(int64(most-least)+1))).Round(10 * time.Millisecond)
}

func (g *generator) cluster() string { return clusterName(g.r.IntN(g.s.Fleet)) }

// clusters are some different ones.
func (g *generator) clusters(n int) []string {
	var out []string
	for _, at := range g.r.Perm(g.s.Fleet)[:min(n, g.s.Fleet)] {
		out = append(out, clusterName(at))
	}
	return out
}

func (g *generator) binding() string { return g.s.Bindings[g.r.IntN(len(g.s.Bindings))].Name }

func (g *generator) size() int {
	switch n := g.r.IntN(1000); {
	case n < 540:
		return 1 + g.r.IntN(6)
	case n < 850:
		return 7 + g.r.IntN(7)
	case n < 988:
		return 14 + g.r.IntN(22)
	default:
		return 201 + g.r.IntN(40)
	}
}

func (g *generator) bindings() {
	for n := range g.size() {
		g.s.Bindings = append(g.s.Bindings, g.oneBinding(n))
	}
}

// oneBinding is most often on m1, for that is what fails most often.
func (g *generator) oneBinding(n int) Binding {
	b := Binding{Name: fmt.Sprintf("app%d", n+1), Replicas: int32(1 + g.r.IntN(5)), Tolerate: -1, Soft: -1, Divided: g.one(45)}
	if g.one(10) {
		b.Replicas, b.Divided = 0, false
	}
	b.On = g.clusters(1 + g.r.IntN(2))
	if g.one(70) && !slices.Contains(b.On, "m1") {
		b.On[0] = "m1"
	}
	if b.Divided {
		b.Replicas = max(b.Replicas, int32(len(b.On)))
	}
	switch {
	case g.one(40):
	case g.one(25): // nowhere else to go, or hardly
		b.May = [][]string{b.On}
	case g.one(30): // groups that the scheduler goes through forwards only
		b.May = [][]string{b.On, g.clusters(1 + g.r.IntN(3))}
	default:
		b.May = [][]string{union(b.On, g.clusters(1+g.r.IntN(3)))}
	}
	if g.one(20) {
		b.Tolerate = int64(pick(g, 0, 30, 60, 300))
	}
	if g.one(12) {
		b.Purge = pick(g, "Directly", "Directly", "Never", "Gracefully")
	}
	if g.one(15) {
		b.Soft = int64(pick(g, 0, 30, 120))
	}
	if g.one(20) {
		b.Priority = int32(1 + g.r.IntN(3))
	}
	return b
}

func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// temper sets how fast the world is.
func (g *generator) temper() {
	g.s.Times["schedule"] = pick(g, 50*time.Millisecond, time.Second, time.Second, 5*time.Second, 40*time.Second)
	g.s.Times["healthy"] = pick(g, time.Second, 3*time.Second, 20*time.Second, 4*time.Minute)
	if g.one(50) {
		g.s.Times["takes"] = pick(g, 100*time.Millisecond, time.Second, 6*time.Second)
	}
}

// faults sets the odds of what goes wrong between Lifeboat and the rest, per mille.
func (g *generator) faults() {
	some := func(percent, most int, names ...string) {
		for _, name := range names {
			if g.one(percent) {
				g.s.Odds[name] = 1 + g.r.IntN(most)
			}
		}
	}
	some(30, 200, "lost", "worker-dies", "answer-lost", "late-write", "conflict", "throttled", "write-unreachable")
	some(30, 100, "unreachable", "slow-read", "slow-worker", "slow-write", "slow-claim", "slow-signal")
	some(30, 400, "signal-late", "signal-lost", "signal-twice")
	some(25, 300, "cut")
}

func (g *generator) at(d time.Duration, do, cluster string) {
	g.s.Steps = append(g.s.Steps, Step{At: d, Do: do, Cluster: cluster})
}

// during adds a step and the one that ends it.
func (g *generator) during(from, to time.Duration, do, undo, cluster string) {
	g.at(from, do, cluster)
	g.at(to, undo, cluster)
}

func (g *generator) end() time.Duration {
	end := time.Duration(0)
	for _, x := range g.s.Steps {
		end = max(end, x.At)
	}
	return end
}

// failures lets clusters fail: m1 first, others beside or after it.
func (g *generator) failures() {
	at := g.between(time.Second, 30*time.Second)
	g.failure("m1", at)
	for g.one(45) {
		g.failure(g.cluster(), at+g.between(0, 6*time.Minute))
	}
}

// failure is one cluster's, of one of several kinds.
func (g *generator) failure(c string, at time.Duration) {
	back := at + g.between(20*time.Second, 8*time.Minute)
	switch {
	case g.one(15): // somebody else's taint
		g.during(at, back, "taint", "untaint", c)
		return
	case g.one(10): // a soft one
		g.during(at, back, "soft", "unsoft", c)
		return
	case g.one(8): // the cluster goes for good, or for a while
		g.at(at, "down", c)
		g.at(back, "remove", c)
		if g.one(60) {
			g.at(back+g.between(0, 2*time.Minute), "join", c)
		}
		return
	case g.one(20): // dead before anybody says so
		g.at(max(0, at-g.between(time.Second, 70*time.Second)), "die", c)
	}
	g.at(at, "down", c)
	for g.one(25) { // flaps
		up := at + g.between(5*time.Second, 2*time.Minute)
		at = up + g.between(time.Second, time.Minute)
		g.at(up, "up", c)
		g.at(at, "down", c)
		back = at + g.between(20*time.Second, 5*time.Minute)
	}
	g.at(back, "up", c)
	if g.one(25) { // and again
		g.failure(c, back+g.between(time.Second, 3*time.Minute))
	}
}

// operators give orders.
func (g *generator) operators() {
	end := g.end()
	if g.one(15) {
		at, c := g.between(0, end), g.cluster()
		g.at(at, "pause", "m1")
		g.at(at+g.between(time.Second, 4*time.Minute), "resume", pick(g, "m1", "m1", c))
	}
	if g.one(12) {
		at := g.between(0, end)
		g.during(at, at+g.between(time.Second, 5*time.Minute), "halt", "go", "")
	}
	for g.one(15) {
		g.s.Steps = append(g.s.Steps, Step{At: g.between(0, end), Do: "rate", N: pick(g, 0, 100, 500, 2000, 20000)})
	}
	if g.one(10) {
		at := g.between(0, end)
		g.at(at, "cancel", "m1")
		if g.one(40) {
			g.at(at+g.between(time.Second, 3*time.Minute), "resume", "m1")
		}
	}
	for g.one(8) {
		g.at(g.between(0, end), "terminate", "m1")
	}
	for g.one(10) {
		g.s.Steps = append(g.s.Steps, Step{At: g.between(0, end), Do: "terminate-move", Cluster: "m1", Binding: g.binding()})
	}
	if g.one(4) {
		at := g.between(0, end)
		g.at(at, "terminate-pacer", "")
		g.at(at+g.between(time.Minute, 4*time.Minute), "go", "")
	}
	for g.one(20) {
		g.s.Steps = append(g.s.Steps, Step{At: g.between(0, end), Do: "cancel-move", Cluster: "m1", Binding: g.binding()})
	}
	if g.one(10) {
		at := g.between(0, end)
		g.during(at, at+g.between(time.Second, 6*time.Minute), "blind", "see", "")
	}
}

// users change their workloads, policies and clusters meanwhile.
func (g *generator) users() {
	end := g.end()
	for g.one(60) {
		do := pick(g, "replicas", "bump", "bump", "delete", "create", "opt-out", "opt-in")
		g.s.Steps = append(g.s.Steps, Step{At: g.between(0, end), Do: do, Binding: g.binding(), N: 1 + g.r.IntN(6)})
	}
	if g.one(20) {
		at, c := g.between(0, end), g.cluster()
		g.during(at, at+g.between(time.Second, 5*time.Minute), "sicken", "cure", c)
	}
	if g.one(6) {
		at := g.between(0, end)
		g.during(at, at+g.between(time.Second, 5*time.Minute), "drop-rules", "put-rules", "")
	}
}
