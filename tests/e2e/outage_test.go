package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// outageOf says how a server, or the way to it, is away in one of the rows.
type outageOf struct {
	name  string // as in docs/failure-modes.md
	story string // of chaosStories, "migration" where it does not say
	when  string // at which stage of the story, see stages and strokes
	lay   func(w *wires, over <-chan struct{})
	lasts time.Duration // where it must last for longer than the others to be noticed
	most  time.Duration // where it must not last for longer, 0: as long as is asked for
	// moves: it may go on meanwhile; otherwise nothing is evicted while it lasts.
	moves bool
	// says is what a process logs, and counts the metric that grows, by process.
	says, counts map[string]string
	least        float64 // by which that metric grows; by whatever it may be, where it does not say
}

// lasting is how long each of them lasts, at least.
var lasting = flag.Duration("lasting", 12*time.Second, "have every outage last for this `time`")

// bearable is how many requests a second one wire may carry in an outage, on average:
// a loop without a pause makes hundreds.
const bearable = 40.0

// stages are the points of a migration at which an outage begins.
var stages = map[string]func(*scene, string) bool{
	"before the failure": func(*scene, string) bool { return true },
	"when it has failed": func(s *scene, from string) bool { return !s.cluster(from).ready() },
	"when it is tainted": func(s *scene, from string) bool { return s.cluster(from).taint(failedTaint, "NoExecute") != nil },
	// The pace lets the other one wait for its turn.
	"when one is evicted": func(s *scene, from string) bool {
		return !slices.ContainsFunc(s.bindings, func(u *unstructured.Unstructured) bool {
			return strings.HasSuffix(keyOf(u), "/cart") != (len(s.evictions(keyOf(u), from)) == 1)
		})
	},
	"when the new copy starts": func(s *scene, from string) bool {
		b := s.find(s.namespace() + "/cart")
		return len(b.held(from)) == 1 && slices.Contains(b.targets(), s.c(2))
	},
	"when it is back": func(s *scene, from string) bool {
		return s.cluster(from).ready() && len(s.find(s.namespace()+"/cart").held(from)) == 1
	},
}

// strokes are stages that last for one write: it has been done, its answer is on its way.
var strokes = map[string]string{
	"as it is evicted":  "worker PATCH resourcebindings cell cart #1",
	"as it is released": "worker PATCH resourcebindings cell cart #2",
	"as it is put back": "worker PATCH resourcebindings cell cart #2",
}

// onAPI lays the same trouble on the API wires of worker and controller.
func onAPI(t trouble) func(*wires, <-chan struct{}) {
	return func(w *wires, _ <-chan struct{}) {
		for _, who := range users {
			w.api[who].upset(t)
		}
	}
}

// onTemporal is onAPI for the wires to Temporal.
func onTemporal(t trouble) func(*wires, <-chan struct{}) {
	return func(w *wires, _ <-chan struct{}) {
		for _, who := range users {
			w.temporal[who].upset(t)
		}
	}
}

// TestOutages has servers go away in every way in the middle of a migration, and come back.
//
// Of each: nothing wrong is done, the log says so in one clear line, a metric grows, nothing
// runs hot, and it goes on without a restart to the same end as undisturbed.
func TestOutages(t *testing.T) {
	if *chaosTo == "" {
		t.Skip("make outages plays them")
	}
	shared.wired(t)
	patience += *lasting
	for _, o := range outages {
		t.Run(strings.ReplaceAll(o.name+" "+o.when, " ", "_"), func(t *testing.T) { o.play(t) })
	}
}

// long is how long it lasts.
func (o outageOf) long() time.Duration {
	d := max(*lasting, o.lasts)
	if o.most > 0 {
		d = min(d, o.most)
	}
	return d
}

func (o outageOf) play(t *testing.T) {
	begun := time.Now()
	defer func() {
		for _, each := range shared.wires.all() {
			each.upset(nil)
		}
		if t.Failed() { // the next row begins afresh
			t.Log(shared.stopProduct())
		}
	}()
	require.NoError(t, shared.inMode(t.Context(), "enforce"))
	worker, controller := shared.worker, shared.controller
	story := chaosStories[cmp.Or(o.story, "migration")]
	blackout := &blackout{outageOf: o}
	if point := strokes[o.when]; point != "" {
		blackout.stroke = newCut(point, true)
		blackout.stroke.late = true
		defer blackout.stroke.letGo()
	}
	chaosStories["outage"] = chaosTale{tell: func(s *scene) report {
		blackout.scene = s
		s.between = blackout.look
		for _, each := range s.wires.all() {
			each.cutAt(blackout.stroke)
		}
		return story.tell(s)
	}, want: story.want}
	got, _, _ := shared.playOn(t, cell{Story: "outage"})
	blackout.judge()
	require.Empty(t, gocmp.Diff(story.want, got), "it ends as undisturbed")
	require.Same(t, worker, shared.worker, "no restart")
	require.Same(t, controller, shared.controller, "no restart")
	say("outages: %-32s %-20s ok, %3.0f s", o.name, o.when, time.Since(begun).Seconds())
}

// blackout is an outage while it lasts, and what was seen of it.
type blackout struct {
	*scene
	outageOf
	stroke  *cut // nil: the stage is one of stages
	ran     bool // all of the story's bindings
	begun   time.Time
	over    chan struct{}
	ended   bool
	logs    map[string]int64 // how long each log was
	metrics map[string]float64
	counted map[string]float64
	allowed int // that may be evicted while it lasts
}

// look lays the trouble when its stage has come, and takes it away in the end.
func (b *blackout) look() {
	b.ran = b.ran || len(b.bindings) == 2 && b.running()
	switch {
	case b.begun.IsZero() && b.ran && b.reached():
		b.begin()
		b.stroke.letGo()
	case !b.begun.IsZero() && !b.ended && time.Since(b.begun) > b.long():
		b.end()
	}
}

func (b *blackout) reached() bool {
	if b.stroke != nil {
		return b.stroke.reached()
	}
	return stages[b.when](b.scene, b.c(1))
}

func (b *blackout) running() bool {
	return !slices.ContainsFunc(b.bindings, func(u *unstructured.Unstructured) bool {
		found := b.find(keyOf(u))
		return found == nil || !found.settled() && len(found.Spec.Tasks) == 0
	})
}

func (b *blackout) evictedNow() int {
	n := 0
	for _, u := range b.bindings {
		n += len(b.evictions(keyOf(u), b.c(1)))
	}
	return n
}

func (b *blackout) begin() {
	b.Logf("%s  outage: %s %s", time.Now().Format("15:04:05.0"), b.name, b.when)
	b.over, b.logs, b.metrics = make(chan struct{}), map[string]int64{}, map[string]float64{}
	for _, who := range users {
		info, err := os.Stat(b.logFile(who))
		require.NoError(b, err)
		b.logs[who] = info.Size()
		b.metrics[who] = b.sum(who)
	}
	for _, each := range b.wires.all() {
		each.upset(nil)
	}
	b.lay(b.wires, b.over)
	b.begun = time.Now()
	b.allowed = b.evictedNow() + 1 // one that is on its way may come through
	if _, away := b.wires.temporal["worker"].asks(); away {
		b.abreast()
		b.allowed = b.handed()
	}
}

// handed counts the bindings that are evicted, or whose eviction a worker has. Without Temporal it writes those, under
// their permits, and no other.
func (b *blackout) handed() int {
	n := 0
	for _, u := range b.bindings {
		d, err := b.temporal.DescribeWorkflowExecution(b.ctx, migrationID(b.c(1), keyOf(u)), "")
		has := err == nil && slices.ContainsFunc(d.GetPendingActivities(), func(a *workflowpb.PendingActivityInfo) bool {
			return a.GetActivityType().GetName() == activities.NameEvict && a.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED
		})
		if has || len(b.evictions(keyOf(u), b.c(1))) > 0 {
			n++
		}
	}
	return n
}

func (b *blackout) end() {
	b.ended = true
	b.abreast()
	if !b.moves {
		require.LessOrEqual(b, b.evictedNow(), b.allowed, "nothing is evicted meanwhile")
	}
	b.counted = map[string]float64{}
	for _, who := range users {
		b.counted[who] = b.sum(who) - b.metrics[who]
	}
	for _, each := range b.wires.all() {
		asked, troubled := each.asks()
		if troubled { // the others carry the questions of this test as well
			rate := float64(asked) / time.Since(b.begun).Seconds()
			b.Logf("%s asked %s %.1f times a second", each.who, each.whom, rate)
			require.LessOrEqual(b, rate, bearable, "%s runs hot", each.who)
		}
		each.upset(nil)
	}
	close(b.over)
	b.Logf("%s  outage over", time.Now().Format("15:04:05.0"))
}

// judge holds what was logged and counted against what the row says.
func (b *blackout) judge() {
	require.False(b, b.begun.IsZero(), "the stage came")
	if !b.ended {
		b.end() // it kept nobody from coming to the end
	}
	for _, who := range users {
		b.Logf("%s says, in WARN and ERROR:\n%s", who, complaints(b.logged(who)))
	}
	for who, pattern := range b.says {
		found := regexp.MustCompile(pattern).FindAllString(b.logged(who), -1)
		require.NotEmpty(b, found, "%s says nothing like %q", who, pattern)
	}
	for who, name := range b.counts {
		require.Positive(b, b.counted[who], "%s does not count %s", who, name)
		require.GreaterOrEqual(b, b.counted[who], b.least, "%s counts too little of %s", who, name)
	}
}

// complaints are the messages of a log that are not good news, each with its first line and
// how often it comes.
func complaints(log string) string {
	times, first := map[string]int{}, map[string]string{}
	message := regexp.MustCompile(`level=(WARN|ERROR) msg=("[^"]*"|\S+)`)
	for line := range strings.Lines(log) {
		if what := message.FindString(line); what != "" {
			first[what] = cmp.Or(first[what], line)
			times[what]++
		}
	}
	var told strings.Builder
	for _, what := range slices.Sorted(maps.Keys(times)) {
		fmt.Fprintf(&told, "%d times: %s", times[what], first[what])
	}
	return told.String()
}

// logged is what a process has logged since the outage began, debug lines aside.
func (b *blackout) logged(who string) string {
	content, err := os.ReadFile(b.logFile(who))
	require.NoError(b, err)
	var lines []string
	for line := range strings.Lines(string(content[b.logs[who]:])) {
		if !strings.Contains(line, "level=DEBUG") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// sum adds up the series of the metric that a process is to count, by the beginning of a line.
func (b *blackout) sum(who string) float64 {
	if b.counts[who] == "" {
		return 0
	}
	return b.metric(b.programs()[who], b.counts[who])
}
