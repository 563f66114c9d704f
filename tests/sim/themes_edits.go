package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// later adds, to some schedules, what their authors edit while clusters fail. It has dice of
// its own: a schedule that gets nothing of it is what it was before there was any.
func later(s Schedule) Schedule {
	g := &generator{r: rand.New(rand.NewPCG(s.Seed, 0xed17ed17)), s: s}
	had := len(s.Steps)
	for _, t := range []struct {
		percent int
		bring   func()
	}{
		{4, g.policyEdits},
		{3, g.ruleEdits},
		{4, g.evictors},
	} {
		if g.one(t.percent) {
			t.bring()
		}
	}
	for n := had; n < len(g.s.Steps); n++ {
		g.s.Steps[n].At = min(max(0, g.s.Steps[n].At), s.Quiet)
	}
	slices.SortStableFunc(g.s.Steps, func(a, b Step) int { return int(a.At - b.At) })
	return g.s
}

// policyEdits have authors change how their bindings are moved, at about the time when that
// would count.
func (g *generator) policyEdits() {
	for more := true; more; more = g.one(75) {
		c, at := g.step("down", "taint", "soft", "sever", "drain")
		g.do(at+g.between(-5*time.Second, addAfter+90*time.Second), "edit-policy", "", g.on(c), g.r.IntN(len(policyEdits)))
	}
}

// themeEdits has authors change the policies of bindings in every part of a failover, and in
// the next attempt of it.
func (g *generator) themeEdits() {
	g.few(5)
	g.each(func(b *Binding) {
		plain(b)
		b.Tolerate, b.Purge = int64(pick(g, -1, -1, 0, 30, 60)), pick(g, "", "", "", "Directly", "Never", "Gracefully")
		if g.one(30) {
			b.Soft = int64(pick(g, 0, 30, 300))
		}
	})
	g.s.Rate = pick(g, 0.05, 0.1, 0.2, 0.5, 3)
	at := g.between(time.Second, 10*time.Second)
	for more := true; more; more = g.one(40) {
		var up, from time.Duration
		switch g.r.IntN(4) {
		case 0: // somebody else's taint, on a cluster that answers
			from, up = at, at+g.between(time.Minute, 4*time.Minute)
			g.at(at, pick(g, "taint", "taint", "soft"), "m1")
			g.at(up, "untaint", "m1")
			g.at(up, "unsoft", "m1")
		default:
			from = at + addAfter
			_, up = g.outage("m1", at, 6*time.Second, 3*time.Minute)
		}
		for more := true; more; more = g.one(80) {
			when := pick(g, g.between(from-3*time.Second, from+5*time.Second), g.between(from+5*time.Second, up), g.between(from-time.Minute, up+wellFor))
			g.do(max(0, when), "edit-policy", "", g.on("m1"), g.r.IntN(len(policyEdits)))
		}
		if g.one(20) {
			g.do(g.between(from, up), pick(g, "leave", "opt-out", "opt-in"), "m1", g.on("m1"), g.r.IntN(9))
		}
		at = up + g.between(time.Second, 100*time.Second)
	}
	if g.one(50) {
		g.some(300, "slow-read", "slow-worker", "answer-lost", "cut", "signal-late", "signal-lost", "worker-dies")
	}
}

// ruleEdits have the author of the rule change its windows or whom it aims at, in mid-failover.
func (g *generator) ruleEdits() {
	for more := true; more; more = g.one(60) {
		c, at := g.step("down", "up")
		at += g.between(-10*time.Second, addAfter+20*time.Second)
		if g.one(60) {
			g.do(at, "edit-rule", "", "", g.r.IntN(len(ruleEdits)))
			continue
		}
		g.at(at, "aim-away", c)
		g.at(at+g.between(time.Second, 4*time.Minute), "aim-at", c)
	}
}

// themeRuleEdits edits the rule while its windows run: in some stories nothing else may keep a
// taint back.
func (g *generator) themeRuleEdits() {
	g.few(3)
	if g.one(30) {
		g.at(0, "soft-rule", "")
	}
	at := g.between(time.Second, 20*time.Second)
	for more := true; more; more = g.one(60) {
		c := pick(g, "m1", "m1", "m1", g.cluster())
		up := at + g.between(30*time.Second, 4*time.Minute)
		g.during(at, up, "down", "up", c)
		for more := true; more; more = g.one(60) {
			when := g.between(at-5*time.Second, up+100*time.Second)
			if g.one(65) {
				g.do(max(0, when), "edit-rule", "", "", g.r.IntN(len(ruleEdits)))
				continue
			}
			g.at(max(0, when), "aim-away", c)
			g.at(max(0, when)+g.between(time.Second, 3*time.Minute), "aim-at", c)
		}
		at = up + g.between(5*time.Second, 2*time.Minute)
	}
	if g.one(60) {
		g.s.Odds["cut"] = pick(g, 200, 500, 900)
	} else {
		g.some(300, "slow-read", "slow-worker", "answer-lost", "cut", "signal-late", "signal-lost", "conflict")
	}
}

// evictors have another evictor at work on bindings of a cluster that fails.
func (g *generator) evictors() {
	for more := true; more; more = g.one(70) {
		c, at := g.step("down", "taint", "soft", "sever", "drain")
		b := g.on(c)
		at += g.between(-5*time.Second, addAfter+30*time.Second)
		g.do(at, "hold-theirs", c, b, g.r.IntN(2))
		if g.one(70) {
			g.do(at+g.between(time.Second, 4*time.Minute), "drop-theirs", c, b, 0)
		}
	}
}

// themeEvictors has another evictor put its tasks before, while and after a cluster is evacuated,
// and on the clusters that its bindings go to.
func (g *generator) themeEvictors() {
	g.few(4)
	g.each(plain)
	g.each(func(b *Binding) { b.Purge = pick(g, "", "", "", "Directly", "Never") })
	g.s.Times["schedule"] = pick(g, time.Second, 5*time.Second, 40*time.Second)
	if g.one(20) {
		g.needs()
	}
	at := g.between(time.Second, 10*time.Second)
	for more := true; more; more = g.one(30) {
		var up time.Duration
		from := at + addAfter
		if g.one(30) {
			from, up = at, at+g.between(time.Minute, 4*time.Minute)
			g.during(at, up, "taint", "untaint", "m1")
		} else {
			_, up = g.outage("m1", at, 10*time.Second, 3*time.Minute)
		}
		for more := true; more; more = g.one(75) {
			c := pick(g, "m1", "m1", "m1", g.cluster())
			when := max(0, pick(g, g.between(from-3*time.Second, from+3*time.Second), g.between(from-20*time.Second, up+time.Minute)))
			b := g.on("m1")
			g.do(when, "hold-theirs", c, b, g.r.IntN(2))
			if g.one(70) {
				g.do(when+g.between(time.Second, 3*time.Minute), "drop-theirs", c, b, 0)
			}
		}
		at = up + g.between(time.Second, 100*time.Second)
	}
	if g.one(50) {
		g.some(300, "slow-read", "slow-worker", "slow-claim", "slow-write", "answer-lost", "cut", "worker-dies", "lost", "conflict")
	}
}
