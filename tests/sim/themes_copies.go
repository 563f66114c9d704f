package sim

import (
	"fmt"
	"time"
)

// The themes about copies: when one may go, and when one may take over again.

// themeRestores has what was evicted come back before a slow scheduler has answered.
func (g *generator) themeRestores() {
	g.few(4)
	g.each(plain)
	g.s.Times["takes"] = pick(g, time.Second, 6*time.Second, 20*time.Second)
	g.s.Times["schedule"] = pick(g, 50*time.Millisecond, 5*time.Second, 40*time.Second, 90*time.Second)
	g.each(func(b *Binding) {
		if g.one(50) {
			b.May = [][]string{union(b.On, []string{g.cluster()})}
		} else if g.one(40) {
			b.May = [][]string{b.On, g.clusters(1 + g.r.IntN(2))}
		}
	})
	at, _ := g.outage("m1", g.between(time.Second, 10*time.Second), -10*time.Second, 70*time.Second)
	for _, c := range g.clusters(g.s.Fleet) { // where it might have gone is shut just then
		if c != "m1" && g.one(40) {
			g.at(at+addAfter-5*time.Second+g.between(0, 20*time.Second), pick(g, "fill", "down", "taint"), c)
		}
	}
	for g.one(60) {
		do := pick(g, "cancel-one", "cancel-back", "cancel-move", "cancel", "release", "release-move", "bump")
		g.do(at+addAfter+g.between(0, 40*time.Second), do, "m1", g.on("m1"), 3)
	}
	g.some(300, "lost", "answer-lost", "conflict")
}

// themeServices moves ConfigMaps and workloads of the same policies; the workloads take their time to be healthy, and some
// have nowhere to go.
func (g *generator) themeServices() {
	g.few(6)
	g.each(func(b *Binding) {
		plain(b)
		b.Policy, b.Divided = pick(g, "web", "web", "api"), false
		if g.one(50) {
			b.Replicas = 0
		} else if g.one(20) {
			b.May = [][]string{{"m1"}}
		}
	})
	g.s.Times["healthy"] = pick(g, 3*time.Second, 20*time.Second, time.Minute)
	g.some(100, "lost", "worker-dies", "answer-lost")
	at := g.between(time.Second, 10*time.Second)
	if g.one(50) {
		do, undo := "taint", "untaint"
		if g.one(50) {
			do, undo = "drain", "undrain"
		}
		g.during(at, at+g.between(2*time.Minute, 6*time.Minute), do, undo, "m1")
	} else {
		g.outage("m1", at, time.Minute, 4*time.Minute)
	}
	g.wishes()
}

// themeReleases changes something about the new placement, or about the old cluster, just
// when the hold is to go.
func (g *generator) themeReleases() {
	g.few(3)
	g.alone(func(_ int, b *Binding) {
		if g.one(15) {
			b.Purge = "Never"
		}
	})
	g.s.Odds["meddle"] = 300 + g.r.IntN(500)
	g.s.Times["schedule"] = pick(g, 50*time.Millisecond, 5*time.Second)
	if g.one(30) {
		g.s.Times["endorse"] = pick(g, time.Second, 5*time.Second, 9*time.Second)
	}
	at := g.between(time.Second, 10*time.Second)
	if g.one(30) { // it answers all the time: a death would take long to show
		g.during(at, at+g.between(2*time.Minute, 4*time.Minute), "taint", "untaint", "m1")
	} else {
		g.outage("m1", at, time.Minute, 4*time.Minute)
	}
	for g.one(50) {
		g.do(at+addAfter+g.between(0, 2*time.Minute), pick(g, "release", "release-move", "replicas"), "m1", g.binding(), 1+g.r.IntN(6))
	}
	g.some(200, "slow-worker", "answer-lost")
}

// themePutBacks orders that former clusters take over again, whether they can or not.
func (g *generator) themePutBacks() {
	g.few(4)
	g.each(plain)
	g.s.Times["healthy"] = pick(g, 3*time.Second, 20*time.Second, 4*time.Minute)
	if g.one(40) {
		g.at(0, "sicken", g.cluster())
	}
	at, up := g.outage("m1", g.between(time.Second, 10*time.Second), 10*time.Second, 2*time.Minute)
	again := up + wellFor + g.between(5*time.Second, 40*time.Second)
	if g.one(50) { // it fails again, and has no taint yet
		g.at(again, pick(g, "down", "down", "unsure"), "m1")
		g.at(again+g.between(time.Minute, 3*time.Minute), "up", "m1")
	}
	if g.one(30) {
		g.do(pick(g, at+addAfter, up, again)+g.between(0, 50*time.Second), "cancel-all-back", "m1", "", 1)
	}
	for more := true; more; more = g.one(75) {
		do := pick(g, "put-back", "put-back-move", "cancel-back", "cancel-one", "cancel-move")
		since := pick(g, at+addAfter, up-5*time.Second, up, again)
		g.do(since+g.between(0, 40*time.Second), do, "m1", g.on("m1"), 1+g.r.IntN(6))
	}
	for g.one(40) {
		c := pick(g, "m1", g.cluster())
		g.at(up+g.between(-5*time.Second, 40*time.Second), pick(g, "down", "up", "taint", "untaint"), c)
	}
	g.some(300, "slow-read", "slow-write", "answer-lost", "lost")
}

// themeChains has the new home fail while the old one has come back.
func (g *generator) themeChains() {
	g.few(4)
	g.each(plain)
	g.at(time.Second, "bump", "") // the chain begins after it
	g.chain()
	if g.one(50) {
		g.s.Times["takes"] = pick(g, time.Second, 6*time.Second, 20*time.Second)
	}
	_, falls := g.step("down")
	for _, x := range g.s.Steps {
		if x.Do == "down" && x.Cluster == "m2" {
			falls = x.At
		}
	}
	for g.one(70) { // the scheduler looks at it once more, just when it is to go back
		g.do(falls+addAfter+g.between(-8*time.Second, 8*time.Second), pick(g, "bump", "replicas"), "", g.on("m1"), 1+g.r.IntN(6))
	}
	g.some(300, "slow-read", "slow-write", "answer-lost", "lost", "conflict")
}

// themeDependents has bindings that share what they take along, and begin to take more
// while they wait for a lease.
func (g *generator) themeDependents() {
	g.few(5)
	g.alone(func(n int, b *Binding) { b.Needs = []string{fmt.Sprintf("cfg%d", 1+n%3)} })
	if g.one(70) {
		g.s.Rate = pick(g, 0.1, 0.2, 0.5)
	}
	if g.one(50) {
		g.s.Times["distribute"] = pick(g, 100*time.Millisecond, 2*time.Second, 20*time.Second)
	}
	at, up := g.outage("m1", g.between(time.Second, 10*time.Second), 20*time.Second, 2*time.Minute)
	for more := true; more; more = g.one(75) {
		g.do(g.between(at+addAfter, up), "need", "", g.binding(), 1+g.r.IntN(3))
	}
	for g.one(50) {
		do := pick(g, "cancel-one", "put-back", "bump", "delete", "create", "terminate-move")
		g.do(g.between(at+addAfter, up+time.Minute), do, "m1", g.binding(), 3)
	}
	if g.one(40) {
		g.some(300, "slow-read", "slow-write", "answer-lost", "lost", "conflict")
	}
}

// themePlacedDependents has dependents that a placement of their own has put on the cluster of their parents: some
// stay there, and some move before or after those.
func (g *generator) themePlacedDependents() {
	g.few(3)
	g.alone(func(n int, b *Binding) { b.Needs = []string{fmt.Sprintf("cfg%d", 1+n%2)} })
	for n := range min(2, len(g.s.Bindings)) {
		cfg := Binding{Name: fmt.Sprintf("cfg%d-configmap", 1+n), On: []string{"m1"}, Soft: -1, Priority: int32(g.r.IntN(3))}
		if g.one(50) {
			cfg.On = []string{"m1", "m2"}
		}
		cfg.Tolerate = pick[int64](g, -1, -1, 20, stoic)
		g.s.Bindings = append(g.s.Bindings, cfg)
	}
	g.s.Times["healthy"] = pick(g, 3*time.Second, 20*time.Second, time.Minute)
	g.s.Rate = pick(g, 0.1, 1, 8)
	at := g.between(time.Second, 10*time.Second)
	if g.one(50) {
		g.during(at, at+g.between(2*time.Minute, 6*time.Minute), "taint", "untaint", "m1")
	} else {
		g.outage("m1", at, time.Minute, 4*time.Minute)
	}
	if g.one(40) {
		g.some(300, "slow-read", "slow-write", "answer-lost", "lost", "conflict")
	}
}

// themeFollowers puts bindings back whose dependents follow slowly.
func (g *generator) themeFollowers() {
	g.few(3)
	g.alone(func(n int, b *Binding) { b.Needs = []string{fmt.Sprintf("cfg%d", 1+n)} })
	g.s.Rate = 8
	g.s.Times["healthy"] = 4 * time.Minute
	g.s.Times["distribute"] = pick(g, 2*time.Second, 20*time.Second, time.Minute)
	_, up := g.outage("m1", g.between(time.Second, 10*time.Second), 10*time.Second, time.Minute)
	for _, b := range g.s.Bindings {
		g.do(up+g.between(0, wellFor+20*time.Second), pick(g, "put-back", "put-back-move", "cancel-back"), "m1", b.Name, 12)
	}
	if g.one(30) {
		g.some(300, "slow-read", "slow-write", "answer-lost", "lost", "conflict")
	}
}

// themeHolders has more bindings share one dependent than its task can name.
func (g *generator) themeHolders() {
	g.s.Rate = 8
	for n := range 36 + g.r.IntN(10) {
		g.s.Bindings = append(g.s.Bindings, g.oneBinding(n))
	}
	g.alone(func(_ int, b *Binding) { b.Needs, b.Divided, b.Replicas, b.Priority = []string{"cfg1"}, false, 2, 0 })
	g.s.Times["healthy"] = 8 * time.Minute
	g.outage("m1", g.between(time.Second, 10*time.Second), 3*time.Minute, 5*time.Minute)
}

// themeRemade has somebody delete the old copy that is held, so that another stands
// under its name when it is to take over.
func (g *generator) themeRemade() {
	if g.one(50) {
		g.themePutBacks()
	} else {
		g.themeChains()
	}
	for more := true; more; more = g.one(60) {
		g.do(g.between(addAfter, g.end()), "remake", "m1", g.on("m1"), 0)
	}
}

// themeStateful has bindings whose state goes along, or cannot.
func (g *generator) themeStateful() {
	g.few(4)
	g.each(plain)
	g.each(func(b *Binding) {
		b.Stateful, b.Divided, b.On = true, false, b.On[:1]
		b.Purge, b.On[0] = pick(g, "Directly", "Directly", "Directly", ""), "m1"
		if g.one(15) {
			b.On = []string{"m1", "m2"}
		}
	})
	g.s.Times["healthy"] = pick(g, time.Second, 20*time.Second, time.Minute)
	if g.one(60) {
		g.s.Times["delete"] = pick(g, 10*time.Second, time.Minute)
	}
	at := g.between(5*time.Second, 20*time.Second)
	if g.one(50) {
		g.some(900, "slow-worker")
		for n := range 2 + g.r.IntN(g.s.Fleet-1) {
			ails := at + detection + g.s.Times["delete"] + g.s.Times["healthy"] + g.between(0, 20*time.Second)
			g.at(ails, "ail", clusterName(n))
		}
	}
	for more := true; more; more = g.one(40) { // reachable while it is moved, and dead or not soon after
		g.at(at, pick(g, "taint", "taint", "drain"), "m1")
		if g.one(50) {
			down := at + g.between(0, 20*time.Second)
			g.at(down, "down", "m1")
			for g.one(70) {
				g.do(down+g.between(0, 2*time.Minute), "confirm-fenced", "m1", "", 1+g.r.IntN(6))
			}
			g.at(down+g.between(2*time.Minute, 4*time.Minute), "up", "m1")
		}
		for g.one(40) {
			g.do(at+g.between(-5*time.Second, 30*time.Second), pick(g, "lose", "collect", "ail"), pick(g, "m1", g.cluster()), g.binding(), 0)
		}
		at += g.between(3*time.Minute, 5*time.Minute)
		g.at(at, "untaint", "m1")
		g.at(at, "undrain", "m1")
		at += g.between(time.Second, time.Minute)
	}
	for _, b := range g.s.Bindings { // or they would stay for good
		for n := range g.s.Fleet {
			g.do(at, "heal", clusterName(n), b.Name, 0)
		}
	}
	g.some(300, "slow-read", "slow-write", "answer-lost", "lost")
}

// themeUnproven releases after a while although nothing is proven, where the new
// clusters are sick and fail.
func (g *generator) themeUnproven() {
	g.few(3)
	g.each(plain)
	g.s.Times["unproven"] = pick(g, 20*time.Second, 40*time.Second)
	for _, c := range g.clusters(g.s.Fleet) {
		if c != "m1" {
			g.at(0, "sicken", c)
		}
	}
	at, _ := g.outage("m1", g.between(time.Second, 10*time.Second), time.Minute, 4*time.Minute)
	for more := true; more; more = g.one(70) {
		c, falls := g.cluster(), at+addAfter+g.between(0, 50*time.Second)
		what := pick(g, "down", "taint")
		g.at(falls, what, c)
		g.at(falls+g.between(20*time.Second, 3*time.Minute), map[string]string{"down": "up", "taint": "untaint"}[what], c)
	}
	g.some(300, "slow-read", "slow-write", "slow-worker")
}

// themeUndone has the scheduler find a place at last, just when what it could not place is
// put back: its decision is on its way, and undoes the restore.
func (g *generator) themeUndone() {
	g.few(3)
	g.each(plain)
	other := clusterName(1 + g.r.IntN(g.s.Fleet-1))
	g.each(func(b *Binding) { b.On, b.May = []string{"m1"}, [][]string{{"m1", other}} })
	g.s.Rate = 8
	g.s.Times["schedule"] = pick(g, 5*time.Second, 10*time.Second)
	g.s.Times["takes"] = pick(g, 6*time.Second, 20*time.Second)
	at := g.between(time.Second, 10*time.Second)
	evicted := at + addAfter
	up := evicted + g.between(10*time.Second, 60*time.Second)
	g.during(at, up, "down", "up", "m1")
	g.during(evicted+g.between(time.Second, 6*time.Second), up+wellFor-g.between(0, 30*time.Second), "down", "up", other)
	for g.one(50) {
		g.do(up+g.between(-10*time.Second, wellFor), pick(g, "cancel-one", "cancel-move", "cancel"), "m1", g.on("m1"), 2)
	}
}
