package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// withApplications gives applications that fail to some schedules. It has dice of its own: a schedule that gets
// none is what it was before there were any.
func withApplications(s Schedule) Schedule {
	g := &generator{r: rand.New(rand.NewPCG(s.Seed, 0xa9911ca7)), s: s}
	if !g.one(5) {
		return s
	}
	g.each(func(b *Binding) {
		if b.Replicas > 0 && g.one(60) {
			g.follow(b)
		}
	})
	had := len(g.s.Steps)
	for more := true; more; more = g.one(70) {
		g.ails(g.between(0, s.Quiet))
	}
	for n := had; n < len(g.s.Steps); n++ {
		g.s.Steps[n].At = min(max(0, g.s.Steps[n].At), s.Quiet)
	}
	slices.SortStableFunc(g.s.Steps, func(a, b Step) int { return int(a.At - b.At) })
	return g.s
}

// follow has a binding move when it is Unhealthy for long.
func (g *generator) follow(b *Binding) {
	b.Replicas = max(1, b.Replicas)
	b.Application = &Application{Seconds: int64(pick(g, 0, 10, 20, 30, 60, 60, 120))}
	b.Policy = pick(g, "", "web", "web", "api")
	if g.one(20) {
		b.Application.Purge = pick(g, "Gracefully", "Directly", "Directly", "Never")
	}
	if g.one(3) {
		b.Application.Seconds = -5
	}
}

// tolerated is for how long a binding may be Unhealthy.
func (g *generator) tolerated(name string) time.Duration {
	for _, b := range g.s.Bindings {
		if b.Name == name && b.Application != nil {
			return max(0, time.Duration(b.Application.Seconds)*time.Second)
		}
	}
	return time.Minute
}

// ails has one application fail: on one cluster alone, or by a revision that is Unhealthy everywhere.
func (g *generator) ails(at time.Duration) {
	b := g.s.Bindings[g.r.IntN(len(g.s.Bindings))]
	c, tolerated := b.On[0], g.tolerated(b.Name)
	if g.one(25) {
		g.do(at, "spoil", "", b.Name, 0)
		if g.one(60) {
			g.do(at+g.between(10*time.Second, tolerated+6*time.Minute), "revise", "", b.Name, 0)
		}
		return
	}
	g.do(at, "ail", c, b.Name, 0)
	end := at + tolerated + g.between(0, 2*time.Minute)
	for g.one(35) { // what happens before its time is over
		x := g.between(at, at+tolerated+2*time.Second)
		switch g.r.IntN(4) {
		case 0:
			g.do(x, "unknown", c, b.Name, 0)
			g.do(x+g.between(time.Second, time.Minute), "ail", c, b.Name, 0)
		case 1:
			g.do(x, "heal", c, b.Name, 0)
			g.do(x+g.between(time.Second, time.Minute), "ail", c, b.Name, 0)
		case 2:
			g.do(x, "revise", "", b.Name, 0)
			g.do(x+g.between(time.Second, time.Minute), "ail", c, b.Name, 0)
		default:
			g.do(x, pick(g, "bump", "replicas"), "", b.Name, 1+g.r.IntN(6))
		}
	}
	if g.one(50) {
		g.do(end, pick(g, "heal", "heal", "revise"), c, b.Name, 0)
	}
}

// bids are orders about one application, at about the time when they count.
func (g *generator) bids() {
	for g.one(45) {
		b := g.binding()
		_, at := g.step("ail", "spoil")
		at += g.between(0, g.tolerated(b)+2*time.Minute)
		do := pick(g, "app-pause", "app-snooze", "app-cancel", "app-cancel-back", "app-put-back", "app-release", "app-approve")
		g.do(at, do, "", b, 1+g.r.IntN(8))
		if (do == "app-pause" || do == "app-cancel" || do == "app-cancel-back") && g.one(60) {
			g.do(at+g.between(time.Second, 3*time.Minute), "app-resume", "", b, 3)
		}
	}
}

// applications makes a few bindings that move when they are Unhealthy.
func (g *generator) applications(most int) {
	g.few(most)
	g.s.Rate = pick(g, 1, 3, 8, 40.)
	g.each(g.follow)
	g.each(func(b *Binding) {
		if g.one(60) {
			b.May = nil
		}
	})
}

// themeApplications has applications that fail, heal, are revised and ordered about, on clusters that answer.
func (g *generator) themeApplications() {
	g.applications(5)
	for more := true; more; more = g.one(65) {
		g.ails(g.between(0, 3*time.Minute))
	}
	g.bids()
	if g.one(15) {
		g.needs()
	}
	if g.one(50) {
		g.faults()
	}
	if g.one(15) {
		at := g.between(0, g.end())
		g.during(at, at+g.between(10*time.Second, 2*time.Minute), "halt", "go", "")
	}
}

// themeAilingClusters has applications fail where clusters fail, are drained and tainted too.
func (g *generator) themeAilingClusters() {
	g.applications(4)
	for more := true; more; more = g.one(60) {
		g.ails(g.between(0, 3*time.Minute))
	}
	for more := true; more; more = g.one(40) {
		c, at := g.step("ail")
		at = max(0, at+g.between(-addAfter-20*time.Second, 3*time.Minute))
		back := at + g.between(20*time.Second, 6*time.Minute)
		what := pick(g, "down", "down", "down", "taint", "drain", "soft", "sicken")
		undo := map[string]string{"down": "up", "taint": "untaint", "drain": "undrain", "soft": "unsoft", "sicken": "cure"}
		g.during(at, back, what, undo[what], c)
	}
	g.bids()
	for g.one(20) {
		g.do(g.between(0, g.end()), pick(g, "app-terminate", "terminate-move", "terminate"), "m1", g.on("m1"), 0)
	}
	if g.one(40) {
		g.faults()
	}
}

// themeBadReleases has so many applications of one policy fail at once that the release is suspected.
func (g *generator) themeBadReleases() {
	for n := range 5 + g.r.IntN(5) {
		g.s.Bindings = append(g.s.Bindings, g.oneBinding(n))
	}
	g.s.Rate = pick(g, 1, 3, 8, 40.)
	g.s.Times["healthy"] = pick(g, time.Second, 20*time.Second)
	g.each(g.follow)
	g.each(func(b *Binding) { b.Policy, b.May = pick(g, "web", "web", "web", "web", "api"), nil })
	at := g.between(time.Second, 20*time.Second)
	for _, b := range g.s.Bindings {
		if g.one(85) {
			g.do(at+g.between(0, 30*time.Second), pick(g, "spoil", "spoil", "ail"), b.On[0], b.Name, 0)
		}
	}
	if g.one(50) {
		g.at(at+g.between(time.Minute, 5*time.Minute), "go", "")
	}
	for _, b := range g.s.Bindings {
		if g.one(60) {
			g.do(at+g.between(2*time.Minute, 9*time.Minute), pick(g, "revise", "revise", "heal"), b.On[0], b.Name, 0)
		}
	}
	if g.one(30) {
		g.faults()
	}
}

// themeRevisions has applications get another revision while their time runs, and nothing that keeps them from moving.
func (g *generator) themeRevisions() {
	g.applications(3)
	g.each(func(b *Binding) { b.May, b.Purge, b.Application.Purge = nil, "", "" })
	g.s.Times["healthy"] = pick(g, 3*time.Second, 20*time.Second, 4*time.Minute)
	end := time.Duration(0)
	for _, b := range g.s.Bindings {
		at, tolerated := g.between(time.Second, time.Minute), g.tolerated(b.Name)
		g.do(at, "ail", b.On[0], b.Name, 0)
		for more := true; more; more = g.one(40) {
			at += g.between(time.Second, tolerated+20*time.Second)
			g.do(at, pick(g, "revise", "revise", "replicas", "unknown"), b.On[0], b.Name, 1+g.r.IntN(4))
			at += g.between(100*time.Millisecond, pick(g, 3*time.Second, 40*time.Second))
			g.do(at, pick(g, "ail", "spoil", "spoil"), b.On[0], b.Name, 0)
		}
		end = max(end, at+tolerated+stuckFor+time.Minute)
	}
	g.at(end, "bump", "")
	g.some(200, "cut")
}

// themeObservedApplications has applications fail while the workers observe all clusters, and switches that later.
func (g *generator) themeObservedApplications() {
	g.applications(3)
	g.s.Mode = pick(g, "observe", "observe", "enforce")
	for more := true; more; more = g.one(60) {
		g.ails(g.between(0, time.Minute))
	}
	for more := true; more; more = g.one(40) {
		at, mode := g.between(2*time.Minute, 6*time.Minute), pick(g, "enforce", "enforce", "observe")
		for n := range g.s.Fleet {
			g.at(at, mode, clusterName(n))
		}
	}
	for g.one(50) {
		g.do(g.between(time.Minute, 6*time.Minute), "app-enforce", "", g.binding(), 1+g.r.IntN(4))
	}
	if g.one(30) {
		g.faults()
	}
}
