package sim

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	plays   = flag.Int("plays", 0, "play this many fresh seeds instead of the corpus and the listed seeds")
	seeds   = flag.Uint64("seeds", 100, "play so many of the listed seeds")
	from    = flag.Uint64("from", 0, "first fresh seed; 0 takes one from the clock")
	story   = flag.String("story", "", "play the story in this file")
	deep    = flag.Bool("deep", false, "tell a story with every change of a binding and every activity")
	subject = flag.String("theme", "", "play fresh seeds, or hunt, with schedules of this theme")
)

func TestMain(m *testing.M) {
	flag.Parse()
	runtime.GOMAXPROCS(1)   // the environment starts children beside its loop: one core, one order
	activityContext()       // had outside of every bubble
	debug.SetGCPercent(400) // many short plays: memory is cheap, the collector is not
	os.Exit(m.Run())
}

// inBubble plays a schedule where no real time passes: the environment starts children
// beside its loop, and would let timers of the wall clock win at times.
func inBubble(t *testing.T, s Schedule, log *slog.Logger) (v Verdict) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil { // goroutines stay behind, after a crash above all
			v.Violations = append(v.Violations, fmt.Sprintf("at the end: harness: %v", p))
		}
	}()
	synctest.Test(t, func(*testing.T) { v = Play(s, log) })
	return v
}

// tally sums up what many schedules exercised.
type tally struct {
	count     map[string]int
	schedules int
	sizes     []int
	began     time.Time
}

func newTally() *tally { return &tally{count: map[string]int{}, began: time.Now()} }

func (a *tally) add(s Schedule, v Verdict) {
	a.schedules++
	a.sizes = append(a.sizes, len(s.Bindings))
	for class, n := range v.Count {
		a.count[class] += n
	}
}

func (a *tally) String() string {
	var out strings.Builder
	for _, class := range slices.Sorted(maps.Keys(a.count)) {
		fmt.Fprintf(&out, "%8d  %s\n", a.count[class], class)
	}
	slices.Sort(a.sizes)
	took := time.Since(a.began)
	median, large := 0, 0
	if a.schedules > 0 {
		median = a.sizes[a.schedules/2]
	}
	for _, n := range a.sizes {
		if n > 200 {
			large++
		}
	}
	fmt.Fprintf(&out, "%d schedules in %s, %.1f a second; median size %d bindings, %d above 200\n",
		a.schedules, took.Round(time.Second), float64(a.schedules)/took.Seconds(), median, large)
	return out.String()
}

// play plays one schedule; one that fails is shrunk, printed, and fails the test.
func play(t *testing.T, a *tally, s Schedule) {
	t.Helper()
	v := inBubble(t, s, logger())
	a.add(s, v)
	if len(v.Violations) == 0 {
		return
	}
	t.Errorf("seed %d: %s", s.Seed, strings.Join(v.Violations, "\n"))
	kind := kindOf(v.Violations[0])
	short := Shrink(s, 400, func(s Schedule) bool {
		v := inBubble(t, s, quiet)
		return slices.ContainsFunc(v.Violations, func(x string) bool { return kindOf(x) == kind })
	})
	v = inBubble(t, short, quiet)
	t.Errorf("shrunk; keep it as tests/sim/testdata/<name>.story:\n# %s\n%s", strings.Join(v.Violations, "\n# "), short)
}

// kindOf is which rule a violation is of: "at 3m: 5: …" is "5".
func kindOf(violation string) string {
	parts := strings.SplitN(violation, ": ", 3)
	if len(parts) < 3 {
		return violation
	}
	return parts[1]
}

func logger() *slog.Logger {
	if *story != "" {
		level := slog.LevelInfo
		if *deep {
			level = slog.LevelDebug
		}
		return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	}
	return quiet
}

func read(t *testing.T, name string) Schedule {
	t.Helper()
	raw, err := os.ReadFile(name)
	require.NoError(t, err)
	s, err := Parse(string(raw))
	require.NoError(t, err, name)
	return s
}

// Every story that ever failed is played again.
func TestCorpus(t *testing.T) {
	names, err := filepath.Glob("testdata/*.story")
	require.NoError(t, err)
	if *story != "" {
		names = []string{*story}
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			s := read(t, name)
			v := inBubble(t, s, logger())
			if *story != "" {
				for _, w := range v.Writes {
					t.Log(w.At.Sub(begins), w.Op, w.Cluster, w.Binding, w.Detail)
				}
				t.Log(v.Count)
			}
			require.Empty(t, v.Violations)
			exercised.add(s, v)
		})
	}
	finished["corpus"] = true
}

// Fresh seeds are played on demand: make sim N=1000.
func TestFreshSeeds(t *testing.T) {
	if *plays == 0 {
		t.Skip("no -plays: make sim N=… plays fresh seeds")
	}
	a := newTally()
	first := *from
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	t.Logf("seeds from %d", first)
	failed := 0
	for n := range *plays {
		clean := t.Run(fmt.Sprint(first+uint64(n)), func(t *testing.T) { play(t, a, fresh(t, first+uint64(n))) })
		if !clean {
			if failed++; failed > 5 {
				break
			}
		}
	}
	t.Logf("\n%s", a)
	if *subject != "" {
		return // a theme has what it is about
	}
	a.holds(t, floors)
}

// fresh is the schedule of a fresh seed: of a theme where one is asked for.
func fresh(t *testing.T, seed uint64) Schedule {
	t.Helper()
	if *subject == "" {
		return Generate(seed)
	}
	require.Contains(t, themes, *subject)
	return GenerateTheme(seed, *subject)
}

// listedFrom is the first of the listed seeds: those from it on were clean, twenty thousand of them on one tree, so
// a violation of one is caused by a change. make sim looks for others.
const listedFrom = 300_000

// The listed seeds are the same in every run.
func TestListedSeeds(t *testing.T) {
	if *plays > 0 || *story != "" {
		t.Skip("something else is asked for")
	}
	a := newTally()
	for n := uint64(0); n < *seeds && !t.Failed(); n++ {
		play(t, a, Generate(listedFrom+n))
	}
	t.Logf("seeds from %d\n%s", listedFrom, a)
	a.holds(t, floors)
}

// holds asks of a tally that every class was exercised. Fewer than a thousand schedules prove nothing about a class:
// what rare one is in them is chance.
func (a *tally) holds(t *testing.T, floors map[string]int) {
	t.Helper()
	if a.schedules < 1000 {
		return
	}
	for class, floor := range floors {
		require.GreaterOrEqual(t, a.count[class]*1000, floor*a.schedules, "of %d schedules, at %d per thousand: %s", a.schedules, floor, class)
	}
}

// floors are what a thousand schedules exercise at the least, about half of what was
// measured: an idle simulator cannot pass.
var floors = map[string]int{
	"evictions": 1500, "releases": 1200, "attempts": 1500, "failovers of several attempts": 60,
	"restores": 30, "put back by the scheduler, removed again": 40, "terminated": 40,
	"continued as new: ClusterFailover": 2000, "continued as new: FleetPacer": 3000, "continued as new: BindingMigration": 500,
	"fault lost": 80, "fault late-write": 80, "fault worker-dies": 80, "fault conflict": 80, "fault signal-lost": 500,
	"fault signal-twice": 500, "fault signal-late": 500, "fault slow-write": 40, "fault answer-lost": 1000,
	"order halt": 60, "order cancel": 25, "order pause": 50, "order set-rate": 60, "closed Gone": 40, "closed Cancelled": 20,
	"step delete": 60, "step create": 60, "step replicas": 60, "step opt-out": 60, "step remove": 40, "step join": 20,
	"outcome Kept": 20, "outcome NeedsOperator": 10, "releases of Directly": 10,
	"order put-back": 50, "order release": 15, "order skip": 15, "order cancel-one": 15, "order cancel-back": 30,
	"put back on an order": 8, "swaps": 50, "step fill": 120, "step sever": 90, "step put-policy": 60,
	"taints that an external probe agreed to": 12, "slow evictions of a large fleet": 20, "order confirm-fenced": 25,
	"order snooze": 20, "order prioritise": 20, "order pause-one": 20,
	"order drain": 100, "order undrain": 80, "drained": 140, "dependents held": 120, "bans": 20, "bans lifted": 20,
	"nonsense":      350, // it comes in heaps
	"order approve": 25, "evicted with an operator's yes": 8,
	"step edit-policy": 60, "step hold-theirs": 45, "found blocked: ForeignTask": 8, "step edit-rule": 15, "step aim-away": 8, "evicted by a policy that was edited since": 3,
	"step garble": 100, "step observe": 45, "step enforce": 100,
	"evicted behind a fence": 4, "releases on an order": 8, "true conflicts": 8,
	"outcome Blocked": 400, "outcome Abandoned": 50, "outcome MovedByOthers": 8, "outcome Restored": 100,
	"outcome WouldMove": 40, "outcome WouldBlock": 35, "other targets no worse": 400,
	"owed an outcome: tainted by the rule": 330, "owed an outcome: tainted by the policy": 10,
	"owed an outcome: tainted by others": 55, "owed an outcome: its toleration has run out": 75,
	"owed an outcome: drained": 100, "owed an outcome: observed": 20,
}

// A story prints as it parses, whatever it is about.
func TestAStoryParsesBack(t *testing.T) {
	parsesBack := func(s Schedule, theme string) {
		back, err := Parse(s.String())
		require.NoError(t, err, theme)
		require.Equal(t, s, back, theme)
	}
	for seed := range uint64(200) {
		parsesBack(Generate(seed), "any")
	}
	for theme := range themes {
		for seed := range uint64(20) {
			parsesBack(GenerateTheme(seed, theme), theme)
		}
	}
}

// Without a patch no theme breaks anything: what it finds is the patch.
func TestEveryThemeIsClean(t *testing.T) {
	for _, theme := range slices.Sorted(maps.Keys(themes)) {
		t.Run(theme, func(t *testing.T) { play(t, exercised, GenerateTheme(0, theme)) })
	}
	finished["themes"] = true
}

// The environment's own room for a thousand callbacks is no bound of a story: one more,
// posted from its own loop, would block it for ever.
func TestALargeStoryFindsRoom(t *testing.T) {
	s := Schedule{Mode: "observe", Fleet: 3, Rate: 1, Quiet: time.Second}
	for n := range 1100 {
		s.Bindings = append(s.Bindings, Binding{Name: fmt.Sprintf("app%d", n), On: []string{"m1"}, Replicas: 1, Tolerate: -1, Soft: -1})
	}
	require.Empty(t, inBubble(t, s, quiet).Violations)
}

// One seed plays the same story every time, but for a tick here and there: otherwise
// nothing could be shrunk.
func TestASeedPlaysTheSameEveryTime(t *testing.T) {
	told := func(v Verdict) (out []string) {
		for _, w := range v.Writes {
			out = append(out, w.Op+" "+w.Cluster+" "+w.Binding)
		}
		return out
	}
	for seed := range uint64(3) {
		first, second := inBubble(t, Generate(seed), quiet), inBubble(t, Generate(seed), quiet)
		require.ElementsMatch(t, told(first), told(second))
	}
}

// exercised is what the tests of this run have played, and finished which of them are over.
var (
	exercised = newTally()
	finished  = map[string]bool{}
)

// samplers are seeds that have, among them, what is rare elsewhere.
var samplers = []uint64{300000, 300001, 300003, 300004, 300007, 300020, 300032, 300033, 300034, 300035, 300040, 300041, 300042, 300083, 300174, 300221, 300280, 300418}

// The floors ask nothing of fewer than a thousand schedules. So the stories of the corpus, one of each theme and the
// samplers must have every class that a floor names among them. Where one is gone, either the product does that no
// more, or a sampler plays something else now, and another has to be found.
func TestEveryClassIsPlayed(t *testing.T) {
	if len(finished) < 2 || *story != "" {
		t.Skip("only after the corpus and the themes")
	}
	for _, seed := range samplers {
		play(t, exercised, Generate(seed))
	}
	for _, class := range slices.Sorted(maps.Keys(floors)) {
		require.Positive(t, exercised.count[class], "nothing of this was played, in corpus, themes or samplers: %s", class)
	}
}

var hunt = flag.Int("hunt", 0, "play so many seeds, from -from on, to the first violation, and say which it was")

// tell writes at once: what t.Log holds back is lost with a seed that never ends.
func tell(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, "hunt: "+format+"\n", args...) }

// TestHunt looks for the first schedule of a theme that breaks an invariant: `make mutants`
// runs it in a copy of the code with a guard taken out, and reads what it prints. Each
// seed is named before it is played, so that one that never ends is known too.
func TestHunt(t *testing.T) {
	if *hunt == 0 {
		t.Skip("only with -hunt")
	}
	for i := range uint64(*hunt) { //nolint:gosec // a flag
		seed := *from + i
		tell("playing %d", seed)
		if v := inBubble(t, fresh(t, seed), quiet); len(v.Violations) > 0 {
			tell("found %d %s", seed, v.Violations[0])
			t.Fatalf("seed %d: %s", seed, v.Violations[0])
		}
	}
	tell("nothing in %d", *hunt)
}
