package sim

import (
	"slices"
	"time"
)

// themes are ways to make a story that has much of one thing, so that what is guarded
// there is reached often. They are as random as all others, and as small as they may be:
// a hunt for a mutant plays many of them.
var themes = map[string]func(*generator){
	"ailing-clusters":       (*generator).themeAilingClusters,
	"any":                   (*generator).themeAny,
	"applications":          (*generator).themeApplications,
	"approvals":             (*generator).themeApprovals,
	"at-once":               (*generator).themeAtOnce,
	"babble":                (*generator).themeBabble,
	"bad-releases":          (*generator).themeBadReleases,
	"blame":                 (*generator).themeBlame,
	"bystanders":            (*generator).themeBystanders,
	"called-off":            (*generator).themeCalledOff,
	"chains":                (*generator).themeChains,
	"comes-back":            (*generator).themeComesBack,
	"evacuationTaints":      (*generator).themeEvacuationTaints,
	"crashes":               (*generator).themeCrashes,
	"dependents":            (*generator).themeDependents,
	"placed-dependents":     (*generator).themePlacedDependents,
	"directly":              (*generator).themeDirectly,
	"drains":                (*generator).themeDrains,
	"echoes":                (*generator).themeEchoes,
	"edits":                 (*generator).themeEdits,
	"elders":                (*generator).themeElders,
	"evictors":              (*generator).themeEvictors,
	"heirs":                 (*generator).themeHeirs,
	"leaves":                (*generator).themeLeaves,
	"nonsense":              (*generator).themeNonsense,
	"holders":               (*generator).themeHolders,
	"observe":               (*generator).themeObserve,
	"observed-applications": (*generator).themeObservedApplications,
	"onlookers":             (*generator).themeOnlookers,
	"pace":                  (*generator).themePace,
	"policies":              (*generator).themePolicies,
	"put-backs":             (*generator).themePutBacks,
	"recovery":              (*generator).themeRecovery,
	"releases":              (*generator).themeReleases,
	"restores":              (*generator).themeRestores,
	"returns":               (*generator).themeReturns,
	"services":              (*generator).themeServices,
	"slow-pace":             (*generator).themeSlowPace,
	"smudges":               (*generator).themeSmudges,
	"remade":                (*generator).themeRemade,
	"followers":             (*generator).themeFollowers,
	"soft":                  (*generator).themeSoft,
	"revisions":             (*generator).themeRevisions,
	"rule-edits":            (*generator).themeRuleEdits,
	"stateful":              (*generator).themeStateful,
	"terminated":            (*generator).themeTerminated,
	"tolerations":           (*generator).themeTolerations,
	"unheard":               (*generator).themeUnheard,
	"vouched":               (*generator).themeVouched,
	"windows":               (*generator).themeWindows,
	"unproven":              (*generator).themeUnproven,
	"undone":                (*generator).themeUndone,
	"externalProbe":         (*generator).themeExternalProbe,
}

// GenerateTheme makes the schedule of a seed and a theme.
func GenerateTheme(seed uint64, theme string) Schedule {
	g := newGenerator(seed)
	themes[theme](g)
	return g.done()
}

// few makes a fleet of at least three, and up to so many bindings that leave m1 soon.
func (g *generator) few(most int) {
	g.s.Rate = pick(g, 1, 3, 8.)
	for n := range 1 + g.r.IntN(most) {
		g.s.Bindings = append(g.s.Bindings, g.oneBinding(n))
	}
	g.s.Times["schedule"] = pick(g, 50*time.Millisecond, time.Second, 5*time.Second)
	g.s.Times["healthy"] = pick(g, time.Second, 3*time.Second, 20*time.Second)
}

// each changes every binding.
func (g *generator) each(change func(*Binding)) {
	for n := range g.s.Bindings {
		change(&g.s.Bindings[n])
	}
}

// plain makes a binding one that a failure of m1 moves at once, to anywhere.
func plain(b *Binding) {
	b.Tolerate, b.Soft, b.Purge, b.May = -1, -1, "", nil
	if !slices.Contains(b.On, "m1") {
		b.On[0] = "m1"
	}
}

// outage takes a cluster down, and up again after it has been evacuated for so long; it
// returns when both happen.
func (g *generator) outage(c string, at, least, most time.Duration) (down, up time.Duration) {
	up = at + addAfter + g.between(least, most)
	g.during(at, up, "down", "up", c)
	return at, up
}

// some sets the odds of some faults, each in half of the stories.
func (g *generator) some(most int, names ...string) {
	for _, name := range names {
		if g.one(50) {
			g.s.Odds[name] = 1 + g.r.IntN(most)
		}
	}
}

func (g *generator) themeAny() {
	g.few(5)
	g.temper()
	g.faults()
	g.failures()
	g.operators()
	g.users()
	g.wishes()
}

// themeRecovery has a cluster come back at any time after its failure, once or twice.
func (g *generator) themeRecovery() {
	g.few(4)
	g.temper()
	g.faults()
	_, up := g.outage("m1", g.between(time.Second, 10*time.Second), -40*time.Second, 3*time.Minute)
	for g.one(40) {
		_, up = g.outage("m1", up+g.between(0, 80*time.Second), -40*time.Second, 2*time.Minute)
	}
	g.wishes()
}

// themeCrashes loses workers and answers at every point.
func (g *generator) themeCrashes() {
	g.few(5)
	for _, name := range []string{"lost", "worker-dies", "answer-lost", "late-write", "conflict"} {
		if g.one(70) {
			g.s.Odds[name] = 100 + g.r.IntN(500)
		}
	}
	g.some(300, "cut", "signal-lost", "signal-late", "signal-twice")
	g.outage("m1", g.between(time.Second, 10*time.Second), -20*time.Second, 3*time.Minute)
	g.wishes()
}

// themeDrains drains, with bindings that the scheduler would bring back.
func (g *generator) themeDrains() {
	g.few(4)
	at := g.between(5*time.Second, 20*time.Second)
	g.at(at, "bump", "")
	g.drains()
	if g.one(50) { // what tolerates everything, and may be nowhere else, would come straight back
		g.each(func(b *Binding) {
			b.Divided, b.Tolerate, b.On, b.Purge = false, stoic, union([]string{"m1"}, []string{g.cluster()}), ""
			b.May = [][]string{b.On}
		})
		_, since := g.step("drain")
		down := since + g.between(2*time.Second, 2*time.Minute)
		g.during(down, down+g.between(time.Minute, 4*time.Minute), "down", "up", "m1")
	}
	for g.one(50) {
		down := at + g.between(0, 3*time.Minute)
		g.during(down, down+g.between(10*time.Second, 4*time.Minute), "down", "up", "m1")
	}
	if g.one(30) {
		g.at(at+g.between(0, 4*time.Minute), pick(g, "cancel", "terminate", "drop-rules"), "m1")
	}
	g.wishes()
}

// alone has every binding begin on m1 alone, and leave it at once.
func (g *generator) alone(change func(n int, b *Binding)) {
	for n := range g.s.Bindings {
		plain(&g.s.Bindings[n])
		g.s.Bindings[n].On = []string{"m1"}
		change(n, &g.s.Bindings[n])
	}
}

// themeDirectly has bindings whose copies must not run side by side, on a cluster that
// dies, is vouched for, and comes back.
func (g *generator) themeDirectly() {
	g.few(3)
	g.each(plain)
	g.each(func(b *Binding) { b.Purge = pick(g, "Directly", "Directly", "Directly", "") })
	at := g.between(5*time.Second, 20*time.Second)
	if g.one(40) { // reachable while it is moved
		g.during(at, at+g.between(2*time.Minute, 5*time.Minute), "taint", "untaint", "m1")
		at += g.between(time.Second, 20*time.Second)
		if g.one(50) {
			g.at(max(0, at-g.between(0, 20*time.Second)), "die", "m1")
		}
	}
	for more := true; more; more = g.one(50) {
		var up time.Duration
		_, up = g.outage("m1", at, -50*time.Second, 3*time.Minute)
		for g.one(60) {
			g.do(g.between(at, up+20*time.Second), "confirm-fenced", "m1", "", 1+g.r.IntN(6))
		}
		at = up + g.between(time.Second, time.Minute)
	}
	g.some(300, "slow-read", "slow-write", "answer-lost", "lost")
}

// themeNonsense garbles objects and sends what makes no sense, while something happens.
func (g *generator) themeNonsense() {
	g.few(5)
	g.outage("m1", g.between(5*time.Second, 20*time.Second), -20*time.Second, 3*time.Minute)
	g.nonsense()
	g.nonsense()
}

// themeObserve only looks, or is told to from some moment on.
func (g *generator) themeObserve() {
	g.few(4)
	g.s.Mode = pick(g, "observe", "observe", "enforce")
	g.failures()
	if g.one(30) {
		g.needs()
	}
	if g.one(50) {
		g.modes()
	}
}

// themePace has many to move, halts and pauses in between, and leases that get lost.
func (g *generator) themePace() {
	g.s.Rate = pick(g, 0.2, 0.5, 1, 3)
	for n := range 6 + g.r.IntN(14) {
		b := g.oneBinding(n)
		plain(&b)
		g.s.Bindings = append(g.s.Bindings, b)
	}
	g.s.Times["healthy"] = time.Second
	at, end := g.outage("m1", g.between(time.Second, 10*time.Second), 20*time.Second, time.Minute)
	if g.one(60) {
		at2, end2 := g.outage("m2", at+g.between(0, 30*time.Second), 20*time.Second, time.Minute)
		at, end = min(at, at2), max(end, end2)
	}
	moment := func() time.Duration { return g.between(at+addAfter-5*time.Second, end) }
	for more := true; more; more = g.one(60) {
		switch now := moment(); g.r.IntN(3) {
		case 0:
			g.during(now, now+g.between(12*time.Second, time.Minute), "halt", "go", "")
		case 1:
			g.during(now, now+g.between(12*time.Second, time.Minute), "pause", "resume", "m1")
		default:
			g.do(now, "rate", "", "", pick(g, 0, 100, 500, 2000))
		}
	}
	if g.one(40) {
		g.at(moment(), pick(g, "terminate", "terminate-pacer"), "m1")
		g.at(end, "go", "")
	}
	g.some(300, "slow-claim", "slow-write", "slow-worker", "late-write", "worker-dies", "answer-lost", "signal-lost", "cut")
}

// themePolicies has Karmada's own kind of rule taint clusters.
func (g *generator) themePolicies() {
	g.few(4)
	g.outage("m1", g.between(5*time.Second, 20*time.Second), -20*time.Second, 2*time.Minute)
	g.policies()
	if g.one(50) {
		g.drains()
	}
	g.wishes()
}

// themeSoft has soft taints that come, go, and stand beside others.
func (g *generator) themeSoft() {
	g.few(4)
	g.each(func(b *Binding) { b.Soft = int64(pick(g, -1, 0, 30, 120, 300)) })
	for more := true; more; more = g.one(50) {
		c, at := pick(g, "m1", "m1", g.cluster()), g.between(0, 2*time.Minute)
		g.during(at, at+g.between(10*time.Second, 7*time.Minute), "soft", "unsoft", c)
	}
	if g.one(40) {
		g.failures()
	}
	if g.one(30) {
		g.do(g.between(0, 2*time.Minute), "garble", "m1", "", 0)
		g.do(g.between(2*time.Minute, 4*time.Minute), "ungarble", "m1", "", 0)
	}
}

// themeTerminated ends workflows that nobody should have ended.
func (g *generator) themeTerminated() {
	g.few(4)
	at, up := g.outage("m1", g.between(time.Second, 10*time.Second), -20*time.Second, 2*time.Minute)
	for more := true; more; more = g.one(70) {
		g.do(g.between(at, up+time.Minute), pick(g, "terminate", "terminate-move"), "m1", g.on("m1"), 0)
	}
	if g.one(30) {
		g.outage("m1", up+g.between(0, time.Minute), -20*time.Second, 2*time.Minute)
	}
	g.some(300, "cut", "signal-lost", "answer-lost", "worker-dies")
	g.wishes()
}

// themeTolerations has bindings that put up with a taint for a while, and failures that
// end about then.
func (g *generator) themeTolerations() {
	g.few(5)
	g.each(func(b *Binding) { plain(b); b.Tolerate = int64(pick(g, -1, 0, 10, 30, 60)) })
	at := g.between(time.Second, 10*time.Second)
	for more := true; more; more = g.one(50) {
		_, up := g.outage("m1", at, -30*time.Second, 100*time.Second)
		at = up + g.between(time.Second, 90*time.Second)
	}
	g.some(300, "slow-read", "slow-write", "slow-worker", "slow-claim", "signal-late", "signal-lost", "cut")
}

// themeExternalProbe asks an external probe that may err.
func (g *generator) themeExternalProbe() {
	g.few(3)
	g.failures()
	g.externalProbes()
}
