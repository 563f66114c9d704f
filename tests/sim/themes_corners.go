package sim

import (
	"fmt"
	"time"
)

// themeReturns has a slow scheduler put back what was evicted, while everything is halted, or
// the cluster comes back and nobody says so.
func (g *generator) themeReturns() {
	g.few(4)
	g.each(plain)
	g.s.Rate = pick(g, 1, 3.)
	g.s.Times["takes"] = pick(g, 5*time.Second, 10*time.Second, 20*time.Second)
	g.s.Times["schedule"] = pick(g, 50*time.Millisecond, time.Second)
	at, up := g.outage("m1", g.between(time.Second, 10*time.Second), -2*time.Second, 30*time.Second)
	for g.one(60) {
		g.do(at+addAfter+g.between(-10*time.Second, 10*time.Second), "bump", "", g.binding(), 0)
	}
	switch g.r.IntN(4) {
	case 0:
		g.during(at+addAfter+g.between(-5*time.Second, 15*time.Second), up+g.between(0, time.Minute), "halt", "go", "")
	case 1:
		g.s.Times["takes"] = 20 * time.Second
		g.during(at+addAfter+g.between(0, 6*time.Second), up+g.between(0, time.Minute), "pause", "resume", "m1")
	default:
		g.during(up-g.between(time.Second, 10*time.Second), up+g.between(20*time.Second, time.Minute), "blind", "see", "")
	}
	g.some(300, "slow-read", "answer-lost")
}

// themeUnheard has a cluster come back while the queue is served, and nobody says so.
func (g *generator) themeUnheard() {
	g.few(5)
	g.each(func(b *Binding) { plain(b); b.Tolerate = int64(pick(g, -1, 10, 30)) })
	g.s.Rate = pick(g, 0.2, 0.5)
	_, up := g.outage("m1", g.between(time.Second, 10*time.Second), time.Second, 30*time.Second)
	g.during(up-g.between(time.Second, 10*time.Second), up+g.between(30*time.Second, time.Minute), "blind", "see", "")
}

// themeLeaves has others take bindings off a cluster before we do.
func (g *generator) themeLeaves() {
	g.few(5)
	g.each(func(b *Binding) { plain(b); b.Tolerate = int64(pick(g, -1, 10, 30)) })
	g.s.Rate = pick(g, 0.2, 0.5, 3)
	at, _ := g.outage("m1", g.between(time.Second, 10*time.Second), 20*time.Second, 2*time.Minute)
	for more := true; more; more = g.one(80) {
		g.do(at+addAfter+g.between(-2*time.Second, 35*time.Second), "leave", "m1", g.on("m1"), g.r.IntN(9))
	}
	g.some(600, "slow-read", "slow-claim", "slow-worker", "signal-late", "signal-lost")
}

// themeBlame has clusters seem not Ready for reasons of Lifeboat's own.
func (g *generator) themeBlame() {
	g.few(3)
	g.each(plain)
	for more := true; more; more = g.one(50) {
		c, at := pick(g, "m1", g.cluster()), g.between(time.Second, 2*time.Minute)
		g.at(at, pick(g, "blame", "blame", "down"), c)
		g.at(at+g.between(30*time.Second, 3*time.Minute), pick(g, "up", "blame", "down"), c)
	}
}

// themeComesBack has the scheduler bring back, after a release, what no taint keeps it from.
func (g *generator) themeComesBack() {
	g.few(3)
	g.each(func(b *Binding) {
		plain(b)
		b.On, b.May, b.Divided = []string{"m1", "m2"}, [][]string{{"m1", "m2"}}, false
		b.Replicas, b.Tolerate, b.Soft = max(1, b.Replicas), stoic, 0
	})
	g.s.Times["healthy"] = time.Second
	at := g.between(time.Second, 10*time.Second)
	g.at(at, "soft", "m1")
	at += addAfter + detection
	for more := true; more; more = g.one(80) {
		g.do(at+g.between(-time.Minute, 2*time.Minute), pick(g, "bump", "replicas"), "", g.binding(), 1+g.r.IntN(4))
	}
	g.at(at+g.between(2*time.Minute, 4*time.Minute), "unsoft", "m1")
}

// themeWindows has conditions match for about their windows, in runs that are cut anywhere:
// nothing else may keep a taint back.
func (g *generator) themeWindows() {
	g.few(2)
	g.s.Odds["cut"] = pick(g, 200, 500, 900)
	g.at(0, "put-policy", "")
	at := g.between(time.Second, 20*time.Second)
	for more := true; more; more = g.one(60) {
		c := pick(g, "m1", "m1", "m1", g.cluster())
		if g.one(50) {
			g.during(at, at+g.between(50*time.Second, 3*time.Minute), "sever", "mend", c)
		} else {
			g.during(at, at+g.between(50*time.Second, 3*time.Minute), "down", "up", c)
		}
		at += g.between(10*time.Second, 3*time.Minute)
	}
	if g.one(50) { // the one begins to match just as the other has been well for long enough
		g.at(at, "down", "m2")
		up := at + addAfter + g.between(5*time.Second, time.Minute)
		g.at(up, "up", "m2")
		g.at(up+wellFor+g.between(-30*time.Second, 5*time.Second), "sever", "m2")
		g.at(up+4*time.Minute, "mend", "m2")
	}
}

// themeSmudges has a rule with a soft taint, and lists of soft taints that nobody can read.
func (g *generator) themeSmudges() {
	g.few(3)
	g.each(func(b *Binding) { b.Soft = int64(pick(g, -1, 0, 30)) })
	g.at(0, "soft-rule", "")
	at := g.between(5*time.Second, 20*time.Second)
	for more := true; more; more = g.one(50) {
		up := at + g.between(25*time.Second, 2*time.Minute)
		g.at(at, "down", "m1")
		from := at + g.between(-5*time.Second, 70*time.Second)
		to := from + g.between(20*time.Second, 3*time.Minute)
		switch g.r.IntN(3) {
		case 0: // just when the soft one is to be put
			from = at + addAfter/3 + g.between(-time.Second, 8*time.Second)
			g.s.Odds["slow-worker"] = pick(g, 500, 900)
		case 1: // only the soft one stands, and the cluster is well for less than the window
			up = at + g.between(22*time.Second, 55*time.Second)
			from, to = up-g.between(-3*time.Second, 20*time.Second), up+g.between(3*time.Second, 25*time.Second)
		}
		g.during(from, to, "smudge", "unsmudge", "m1")
		g.at(up, "up", "m1")
		at = up + g.between(5*time.Second, 2*time.Minute)
	}
}

// themeSlowPace moves less than one binding within a lease, and loses what becomes of leases.
func (g *generator) themeSlowPace() {
	g.few(3)
	g.s.Rate = pick(g, 0.02, 0.04)
	for n := range 3 {
		g.s.Bindings = append(g.s.Bindings, g.oneBinding(10+n))
	}
	g.each(plain)
	g.s.Times["healthy"] = time.Second
	g.outage("m1", g.between(time.Second, 10*time.Second), 2*time.Minute, 4*time.Minute)
	for _, fault := range []string{"worker-dies", "answer-lost", "slow-worker", "lost"} {
		g.s.Odds[fault] = 100 + g.r.IntN(500)
	}
}

// themeEvacuationTaints has taints of several kinds come and go on one cluster.
func (g *generator) themeEvacuationTaints() {
	g.few(3)
	at := g.between(time.Second, 10*time.Second)
	_, up := g.outage("m1", at, 0, 90*time.Second)
	for more := true; more; more = g.one(40) {
		do, undo := "taint", "untaint"
		if g.one(50) {
			do, undo = "soft", "unsoft"
		}
		from := g.between(at, up+wellFor+5*time.Second)
		if g.one(60) { // just when Lifeboat's are about to go
			from = up + wellFor + g.between(-2*time.Second, 9*time.Second)
		}
		g.at(from, do, "m1")
		g.at(from+g.between(20*time.Second, 5*time.Minute), undo, "m1")
	}
	g.some(300, "slow-read", "slow-write", "conflict", "signal-late", "signal-lost")
	g.s.Odds["slow-worker"] = pick(g, 1, 500, 900)
}

// themeCalledOff cancels drains.
func (g *generator) themeCalledOff() {
	g.few(3)
	at := g.between(time.Second, 20*time.Second)
	g.do(at, "drain", "m1", "", 0)
	g.at(at+g.between(5*time.Second, 90*time.Second), "cancel", "m1")
	if g.one(40) {
		g.at(at+g.between(90*time.Second, 4*time.Minute), pick(g, "resume", "undrain"), "m1")
	}
	g.some(200, "answer-lost", "slow-worker", "conflict")
}

// themeOnlookers has workers told to observe a cluster whose failover enforces already, and
// failovers begin anew in observe.
func (g *generator) themeOnlookers() {
	g.few(3)
	if g.one(50) {
		g.needs()
	}
	at := g.between(5*time.Second, 20*time.Second)
	_, up := g.outage("m1", at, 0, 2*time.Minute)
	turns := at + g.between(-3*time.Second, 90*time.Second)
	g.at(turns, "observe", "m1")
	if g.one(60) {
		g.do(turns+g.between(0, 40*time.Second), pick(g, "terminate", "terminate", "terminate-move"), "m1", g.on("m1"), 0)
	}
	if g.one(30) {
		g.at(up+g.between(0, 2*time.Minute), "enforce", "m1")
	}
	g.some(300, "answer-lost", "worker-dies", "lost", "cut")
}

// themeBabble tells the pacer what makes no sense, while it has a lease out.
func (g *generator) themeBabble() {
	g.few(5)
	g.each(plain)
	g.s.Rate = pick(g, 0.2, 0.5)
	at, _ := g.outage("m1", g.between(time.Second, 10*time.Second), 30*time.Second, 90*time.Second)
	for more := true; more; more = g.one(90) {
		g.do(at+addAfter+g.between(0, 40*time.Second), "babble", "m1", g.on("m1"), 0)
	}
	for _, fault := range []string{"slow-claim", "slow-write", "slow-worker"} {
		g.s.Odds[fault] = 200 + g.r.IntN(700)
	}
}

// themeEchoes has writes arrive whose answer is lost, and their clients send them once more:
// what stands is answered with a conflict.
func (g *generator) themeEchoes() {
	g.few(4)
	g.each(plain)
	g.s.Odds["echo"] = 200 + g.r.IntN(600)
	_, up := g.outage("m1", g.between(time.Second, 10*time.Second), 20*time.Second, 2*time.Minute)
	for g.one(40) {
		g.outage("m1", up+g.between(0, 80*time.Second), 0, time.Minute)
	}
	g.some(200, "answer-lost", "slow-read", "signal-lost")
}

// themeAtOnce has a cluster come back as soon as it is evacuated, long before the
// scheduler answers.
func (g *generator) themeAtOnce() {
	g.few(3)
	g.alone(func(_ int, b *Binding) { b.Divided, b.Replicas = false, max(1, b.Replicas) })
	g.s.Rate = 8
	g.s.Times["schedule"] = pick(g, 45*time.Second, 50*time.Second, 55*time.Second)
	g.outage("m1", g.between(time.Second, 10*time.Second), 2*time.Second, 12*time.Second)
	g.some(100, "answer-lost", "lost", "conflict")
}

// themeVouched has the source of a Directly move answer again just when its hold is to go,
// on somebody's word that the old copy is dead.
func (g *generator) themeVouched() {
	g.few(4)
	g.alone(func(_ int, b *Binding) { b.Purge = "Directly" })
	g.s.Rate = 8
	g.s.Odds["meddle"] = 700 + g.r.IntN(300)
	if g.one(50) {
		g.s.Times["delete"] = pick(g, 10*time.Second, time.Minute)
	}
	at, up := g.outage("m1", g.between(time.Second, 10*time.Second), 2*time.Minute, 4*time.Minute)
	for more := true; more; more = g.one(40) {
		g.do(g.between(at+addAfter+10*time.Second, up-time.Minute), "confirm-fenced", "m1", "", 1+g.r.IntN(6))
	}
	g.some(200, "answer-lost", "slow-read")
}

// themeBystanders has bindings with dependents come due after the workers were told to
// observe their cluster, whose failover enforces.
func (g *generator) themeBystanders() {
	g.few(4)
	g.alone(func(n int, b *Binding) {
		b.Needs, b.Tolerate = []string{fmt.Sprintf("cfg%d", 1+n%3)}, int64(pick(g, 30, 60))
	})
	at, _ := g.outage("m1", g.between(time.Second, 10*time.Second), 2*time.Minute, 4*time.Minute)
	g.at(at+addAfter+g.between(2*time.Second, 12*time.Second), "observe", "m1")
	g.some(200, "answer-lost", "lost", "cut")
}

// themeHeirs has a failover begin anew in observe, over what one in enforce had under way
// and nobody sees to any more.
func (g *generator) themeHeirs() {
	g.few(3)
	g.alone(func(int, *Binding) {})
	g.s.Rate = 8
	g.s.Times["healthy"] = pick(g, 20*time.Second, time.Minute)
	at, _ := g.outage("m1", g.between(time.Second, 10*time.Second), 2*time.Minute, 4*time.Minute)
	turns := at + addAfter + g.between(5*time.Second, 15*time.Second)
	g.at(turns, "observe", "m1")
	ends := turns + g.between(time.Second, 10*time.Second)
	g.at(ends, "terminate", "m1")
	for _, b := range g.s.Bindings {
		g.do(ends+g.between(0, 2*time.Second), "terminate-move", "m1", b.Name, 0)
	}
	g.some(200, "answer-lost", "lost", "cut")
}

// themeElders has a failover terminated while the old copies of what it moved are being
// deleted, and the next one begin before they are gone.
func (g *generator) themeElders() {
	g.few(4)
	g.alone(func(int, *Binding) {})
	g.s.Rate = 8
	g.s.Times["healthy"] = time.Second
	g.s.Times["delete"] = pick(g, time.Minute, 2*time.Minute)
	at := g.between(time.Second, 10*time.Second)
	released := at + detection + minHealthy
	g.at(at, "taint", "m1")
	for more := true; more; more = g.one(30) {
		g.at(released+g.between(0, time.Minute), "terminate", "m1")
	}
	g.at(released+g.between(2*time.Minute, 5*time.Minute), "untaint", "m1")
	g.some(200, "signal-lost", "answer-lost", "cut")
}
