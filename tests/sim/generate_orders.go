package sim

import (
	"fmt"
	"slices"
	"time"
)

// do adds a step about one binding, asked for n times at most.
func (g *generator) do(at time.Duration, do, cluster, binding string, n int) {
	g.s.Steps = append(g.s.Steps, Step{At: at, Do: do, Cluster: cluster, Binding: binding, N: n})
}

// step is a step of this story that does one of these: to whom, and when.
func (g *generator) step(do ...string) (string, time.Duration) {
	var all []Step
	for _, x := range g.s.Steps {
		if slices.Contains(do, x.Do) {
			all = append(all, x)
		}
	}
	if len(all) == 0 {
		return "m1", 0
	}
	x := all[g.r.IntN(len(all))]
	return x.Cluster, x.At
}

// on is a binding that begins on a cluster, if any does.
func (g *generator) on(cluster string) string {
	var there []string
	for _, b := range g.s.Bindings {
		if slices.Contains(b.On, cluster) {
			there = append(there, b.Name)
		}
	}
	if len(there) == 0 {
		return g.binding()
	}
	return there[g.r.IntN(len(there))]
}

// wishes are orders about one binding of a cluster that fails, and an operator's word that
// it is dead: given at about the time when they make sense.
func (g *generator) wishes() {
	for g.one(40) {
		c, at := g.step("down", "taint", "drain", "sever")
		do := pick(g, "skip", "put-back", "release", "cancel-one", "cancel-back", "put-back-move", "release-move")
		g.do(at+addAfter-20*time.Second+g.between(0, 3*time.Minute), do, c, g.on(c), 1+g.r.IntN(12))
	}
	for g.one(30) { // the former cluster can take over only once it is back
		c, at := g.step("up", "untaint", "undrain", "mend")
		do := pick(g, "put-back", "put-back-move", "cancel-back")
		g.do(at+g.between(0, 100*time.Second), do, c, g.on(c), 1+g.r.IntN(12))
	}
	for g.one(30) {
		c, at := g.step("down", "taint", "drain", "sever")
		do, b := pick(g, "snooze", "prioritise", "pause-one"), g.on(c)
		at += g.between(0, addAfter+time.Minute)
		g.do(at, do, c, b, 1+g.r.IntN(8))
		if do == "pause-one" && g.one(60) {
			g.do(at+g.between(10*time.Second, 4*time.Minute), "resume-one", c, b, 1)
		}
	}
	if g.one(12) {
		c, at := g.step("down")
		g.do(at+g.between(0, 3*time.Minute), "confirm-fenced", c, "", 1+g.r.IntN(6))
	}
}

// chain lets the new home of what has moved fail while the old one has come back and
// its copies are still held: the one copy that runs is the held one.
func (g *generator) chain() {
	from, to := "m1", "m2"
	at := g.end() + g.between(time.Second, time.Minute)
	for n := range g.s.Bindings {
		if b := &g.s.Bindings[n]; slices.Contains(b.On, from) && len(b.May) <= 1 && g.one(60) {
			b.On, b.May = []string{from}, [][]string{{from, to}}
		}
	}
	if g.one(60) {
		g.s.Times["healthy"] = pick(g, 4*time.Minute, 8*time.Minute)
	} else {
		g.during(0, at+12*time.Minute, "sicken", "cure", to)
	}
	back := at + addAfter + g.between(10*time.Second, 2*time.Minute)
	falls := back - 50*time.Second + g.between(0, 140*time.Second)
	g.during(at, back, "down", "up", from)
	g.during(falls, falls+g.between(2*time.Minute, 6*time.Minute), "down", "up", to)
}

// drains empty clusters, well or not, and mostly end again.
func (g *generator) drains() {
	for n := range g.s.Bindings {
		if b := &g.s.Bindings[n]; !b.Divided && len(b.On) > 1 && g.one(40) {
			b.Tolerate, b.May = stoic, [][]string{b.On}
		}
	}
	for more := true; more; more = g.one(30) {
		c, at := pick(g, "m1", "m1", g.cluster()), g.between(time.Second, g.end())
		g.do(at, "drain", c, "", pick(g, 0, 0, 100, 1000))
		if g.one(75) {
			g.at(at+g.between(20*time.Second, 8*time.Minute), "undrain", c)
		}
	}
}

// needs gives bindings dependents, some of them shared.
func (g *generator) needs() {
	shared := 1 + g.r.IntN(3)
	for n := range g.s.Bindings {
		b := &g.s.Bindings[n]
		for g.one(50) && len(b.Needs) < 2 {
			b.Needs = union(b.Needs, []string{fmt.Sprintf("cfg%d", 1+g.r.IntN(shared))})
		}
	}
	if g.one(50) {
		g.s.Times["distribute"] = pick(g, 100*time.Millisecond, 2*time.Second, 20*time.Second)
	}
}

// modes has the workers' config change its mind about clusters, and operators enforce
// what was observed.
func (g *generator) modes() {
	end := g.end()
	for more := true; more; more = g.one(50) {
		g.at(g.between(0, end), pick(g, "observe", "enforce"), pick(g, "m1", "m1", g.cluster()))
	}
	for g.one(60) {
		c, at := g.step("down", "taint", "enforce")
		g.at(max(0, at-time.Second), "enforce", c)
		g.do(at+g.between(0, 4*time.Minute), "resume-enforce", c, "", 1+g.r.IntN(6))
	}
}

// policies lets Karmada's own kind of rule taint clusters, Ready ones too.
func (g *generator) policies() {
	g.at(pick(g, 0, 0, g.between(0, time.Minute)), "put-policy", "")
	for more := true; more; more = g.one(40) {
		c, at := pick(g, "m1", "m1", g.cluster()), g.between(time.Second, g.end()+time.Minute)
		back := at + g.between(20*time.Second, 7*time.Minute)
		g.at(at, "sever", c)
		if g.one(30) {
			g.at(at+g.between(time.Second, 3*time.Minute), "doubt", c)
		}
		g.at(back, "mend", c)
	}
	if g.one(20) {
		at := g.between(0, g.end())
		g.during(at, at+g.between(time.Second, 4*time.Minute), "drop-policy", "put-policy", "")
	}
}

// nonsense makes objects that nobody understands, and says what makes no sense.
func (g *generator) nonsense() {
	end := g.end()
	for more := true; more; more = g.one(50) {
		at := g.between(0, end)
		x, back := Step{At: at, Do: "garble", Binding: g.binding()}, g.between(time.Second, 5*time.Minute)
		if g.one(30) {
			x.Binding, x.Cluster = "", pick(g, "m1", g.cluster())
		}
		g.s.Steps = append(g.s.Steps, x)
		if x.At, x.Do = at+back, "ungarble"; g.one(80) {
			g.s.Steps = append(g.s.Steps, x)
		}
		c, since := g.step("down", "taint", "drain", "sever")
		g.do(since+g.between(0, 4*time.Minute), "babble", c, g.on(c), 0)
	}
}

// storm takes most of a fleet down within a short while.
func (g *generator) storm() {
	if g.s.Fleet <= 8 {
		g.s.Fleet = 9 + g.r.IntN(8)
	}
	at := g.between(time.Second, g.end())
	back := at + g.between(3*time.Minute, 9*time.Minute)
	for _, c := range g.clusters(g.s.Fleet*(50+g.r.IntN(50))/100 + g.r.IntN(2)) {
		g.during(at+g.between(0, 30*time.Second), back+g.between(0, time.Minute), "down", "up", c)
	}
}

// external probes has the rule ask for the external probe, which may err.
func (g *generator) externalProbes() {
	g.at(0, "require-external-probe", "")
	for g.one(60) {
		c, at := g.step("down")
		g.at(max(0, at-time.Minute+g.between(0, 3*time.Minute)), pick(g, "deny", "claim", "silence"), c)
		if g.one(70) {
			g.at(at+g.between(time.Minute, 6*time.Minute), "affirm", c)
		}
	}
}

// capacity has clusters say that they are full, and later not any more.
func (g *generator) capacity() {
	for n := range g.s.Bindings {
		if b := &g.s.Bindings[n]; b.Divided && len(b.On) > 1 && g.one(50) {
			b.May = [][]string{b.On}
		}
	}
	for _, c := range g.clusters(1 + g.r.IntN(g.s.Fleet-1)) {
		at := pick(g, 0, 0, g.between(0, g.end()))
		g.at(at, "fill", c)
		if g.one(60) {
			g.at(at+g.between(time.Minute, 8*time.Minute), "empty", c)
		}
	}
}

// troubles are what some schedules have beside failures.
func (g *generator) troubles() {
	for _, t := range []struct {
		percent int
		bring   func()
	}{
		{10, g.chain},
		{25, g.drains},
		{6, g.storm},
		{15, g.policies},
		{8, g.externalProbes},
		{12, g.capacity},
	} {
		if g.one(t.percent) {
			t.bring()
		}
	}
}

// afterthoughts need to know what else happens.
func (g *generator) afterthoughts() {
	if g.one(14) {
		g.nonsense()
	}
	if g.one(14) {
		g.modes()
	}
	g.wishes()
}
