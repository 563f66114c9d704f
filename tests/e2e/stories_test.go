package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// story is one end-to-end story on member clusters of its own.
type story struct {
	name  string // as in stories.txt
	short string // its clusters are short1, short2, …
	size  int    // so many clusters
	// regions and cpus of its clusters, in their order; none and plenty when nil.
	regions []string
	cpus    []int64
	// space is the namespace of its bindings, made of its name when empty.
	space string
	tell  func(*scene)
	// alone: it takes the product's processes or the whole fleet for itself, so it has a lab for itself while it lasts.
	alone bool
	// last: it begins when all before it have ended, and has the machine for itself.
	last bool
	// own: it loses what the others need, or fails every cluster, and so has a lab of its own.
	own bool
	// lab are flags of the lab of its own.
	lab []string
	// onlySimulated says why it cannot run on a real Karmada; empty: it can.
	onlySimulated string
}

func (s story) cluster(n int) string { return fmt.Sprintf("%s%d", s.short, n) }

func (s story) clusters() []string {
	names := make([]string, s.size)
	for i := range names {
		names[i] = s.cluster(i + 1)
	}
	return names
}

var stories = []story{
	{name: "full_evacuation", short: "evac", size: 3, tell: fullEvacuation},
	{name: "blip_shorter_than_the_window", short: "blip", size: 2, tell: blip},
	{name: "recovery_while_tolerating", short: "bear", size: 2, tell: whileTolerating},
	{name: "recovery_with_an_unplaced_binding", short: "back", size: 2, tell: unplaced},
	{name: "scaled_to_zero_while_held", short: "zero", size: 2, tell: scaledToZero},
	{name: "recovery_that_the_scheduler_would_undo", short: "undo", size: 3, tell: undone},
	{name: "no_target_until_a_cluster_joins", short: "only", size: 1, tell: noTarget},
	{
		name: "spread_over_regions_and_divided_by_room", short: "room", size: 3, tell: spreadAndDivided,
		regions: []string{"east", "east", "west"}, cpus: []int64{0, 1, 0},
	},
	{name: "two_of_three_ready", short: "two", size: 2, tell: twoOfThree},
	{name: "new_target_dies_while_healthy_on_paper", short: "dies", size: 3, tell: targetDies},
	{name: "purge_directly_on_a_silent_cluster", short: "fence", size: 2, tell: silentSource},
	{name: "purge_directly_on_a_cluster_that_answers", short: "first", size: 2, tell: oldGoesFirst},
	{name: "state_goes_along", short: "state", size: 3, tell: stateGoesAlong},
	{name: "taint_of_an_operator", short: "operator", size: 2, tell: operatorsTaint},
	{name: "soft_taint_on_a_living_cluster", short: "soft", size: 2, tell: softTaint},
	{name: "karmadas_own_policy", short: "theirs", size: 2, tell: karmadasPolicy},
	{name: "cordoned_without_a_failover", short: "cordon", size: 2, tell: cordonedOnly},
	{name: "scheduler_puts_it_back", short: "again", size: 2, tell: putBack, onlySimulated: raceOfTheScheduler},
	{
		name: "scheduler_puts_it_back_after_the_release", short: "returns", size: 3, tell: putBackAfterRelease,
		onlySimulated: raceOfTheScheduler,
	},
	{name: "malformed_objects_beside_a_fine_one", short: "odd", size: 2, tell: malformed},
	{name: "malformed_messages", short: "noise", size: 2, tell: malformedMessages},
	{name: "operator_pauses_and_resumes", short: "pause", size: 2, tell: pausedAndResumed},
	{name: "operator_cancels", short: "quit", size: 3, tell: cancelled},
	{name: "cancelled_in_the_ui", short: "stop", size: 2, tell: cancelledInTheUI},
	{name: "dependents_shared_by_two_parents", short: "need", size: 2, tell: sharedDependents},
	{name: "service_held_with_its_workload", short: "serve", size: 2, tell: serviceHeld},
	{name: "service_of_a_workload_that_stays", short: "wait", size: 2, tell: serviceOfWhatStays},
	{name: "purge_mode_never_over_two_failovers", short: "keep", size: 2, tell: keptTwice},
	{
		name: "components_move_together", short: "parts", size: 3, tell: componentsMove, onlySimulated: alphaComponents,
		regions: []string{"east", "east", "east"}, cpus: []int64{0, 1, 0},
	},
	{name: "preserved_copies_stay", short: "spare", size: 2, tell: preservedCopies},
	{name: "nothing_starts_elsewhere", short: "none", size: 2, tell: nothingStartsElsewhere},
	{name: "needed_by_a_parent_that_stays", short: "root", size: 2, tell: neededByAParent},
	{name: "kinds_that_stay", short: "kind", size: 2, tell: kindsThatStay},
	{name: "swap_of_a_chained_failure", short: "swap", size: 3, tell: swapped},
	{name: "operator_drains_and_undrains", short: "dry", size: 3, tell: drained},
	{name: "application_moves", short: "ill", size: 2, tell: unhealthyMoves},
	{name: "application_heals_in_time", short: "well", size: 2, tell: unhealthyHeals},
	{name: "application_is_unhealthy_there_too", short: "there", size: 3, tell: unhealthyThere},
	{name: "old_copies_of_applications", short: "olds", size: 2, tell: oldCopiesOfApplications},
	{name: "cluster_fails_while_its_application_moves", short: "both", size: 2, tell: clusterFailsMeanwhile},
	// The longest first: as many of these at once as there are labs, each on a lab that plays no other meanwhile.
	{name: "console", short: "member", size: 4, space: "shop", tell: consoleStories, alone: true},
	{name: "documents", short: "doc", size: 2, space: "store", tell: documentsStory, alone: true},
	{name: "temporal_loses_its_database", short: "lost", size: 3, tell: temporalLost, alone: true, own: true},
	{name: "garbled_credential", short: "token", size: 2, tell: garbledCredential, alone: true},
	{name: "crash_sample", short: "crash", size: 1, tell: crashSample, alone: true},
	{name: "second_evictor_in_mid_failover", short: "rival", size: 2, tell: secondEvictor, alone: true},
	{name: "clusters_that_fail_at_once_share_one_pace", short: "pace", size: 4, tell: onePace, alone: true},
	{name: "applications_and_clusters_have_a_pace_each", short: "class", size: 3, tell: bothClasses, alone: true},
	{name: "release_is_suspected", short: "release", size: 2, tell: badRelease, alone: true},
	{name: "plugin_on_a_users_task_queue", short: "plug", size: 2, tell: usersPlugin, alone: true},
	{name: "leaders_change_hands", short: "reign", size: 2, tell: leadersChange, alone: true},
	{name: "builds_change_hands_in_mid_failover", short: "build", size: 2, tell: buildsChangeHands, alone: true, own: true},
	{name: "worker_killed_in_the_window", short: "asleep", size: 2, tell: workerKilledInTheWindow, alone: true},
	{name: "deaf_leader_beside_a_fresh_one", short: "numb", size: 2, tell: deafLeader, alone: true},
	{name: "all_clusters_red", short: "red", size: 12, tell: allRed, alone: true, own: true},
	{name: "secrets_stay_secret", short: "hush", size: 2, tell: secretsStay, alone: true},
	{name: "worker_killed_between_write_and_acknowledgement", short: "slain", size: 2, tell: workerKilled, alone: true},
	{name: "worker_in_observe_does_not_evict", short: "guard", size: 2, tell: modeGuard, alone: true},
	{name: "operator_taints_sweeps_and_untaints", short: "hand", size: 2, tell: taintedByOrder, alone: true},
	{name: "old_copies_end_at_once", short: "late", size: 2, tell: oldCopiesEnd, alone: true},
	{name: "controller_down_during_the_failure", short: "deaf", size: 2, tell: controllerDown, alone: true},
	{name: "preflight_finds_what_is_missing", short: "look", size: 2, tell: preflighted, alone: true},
	{name: "observe_writes_nothing", short: "seen", size: 2, tell: observed, alone: true},
	// On a busy machine permits pass, and most reports have a workflow task each: both cost events.
	{name: "event_budget", short: "budget", size: 3, tell: eventBudget, alone: true, last: true},
	{name: "priority_goes_first", short: "prior", size: 3, tell: byPriority, alone: true, last: true},
	{name: "recovery_with_an_eviction_in_flight", short: "fly", size: 2, tell: inFlight, alone: true, last: true},
	// It looks back on all others.
	{name: "rights_granted_are_rights_used", short: "may", size: 2, tell: rightsUsed, alone: true, last: true},
}

// allMembers are the clusters of the shared lab from its beginning: those of the stories that are played side by side.
func allMembers() []member {
	var members []member
	if *chaosTo != "" || *upgradeFrom != "" {
		return []member{{Name: "bystander"}} // what is played brings its own
	}
	if *loaded {
		return append(loadStory.members(), lawStory.members()...)
	}
	if *benched > 0 {
		return benchStory().members()
	}
	if *karmadaAt != "" {
		return bystanders()
	}
	for _, s := range stories {
		if !s.alone {
			members = append(members, s.members()...)
		}
	}
	return members
}

// members are its clusters, each labelled with its story.
func (s story) members() []member {
	var members []member
	for i, name := range s.clusters() {
		m := member{Name: name, Labels: map[string]string{"story": s.short}}
		if s.regions != nil {
			m.Region, m.CPUs = s.regions[i], s.cpus[i]
		}
		members = append(members, m)
	}
	return members
}

// apart starts a lab for one story alone, with the product on it, until the test ends.
func (s story) apart(t *testing.T) *world {
	folder := filepath.Join(shared.folder, s.short)
	require.NoError(t, os.Mkdir(folder, 0o750))
	// The test's own context ends before its cleanups, which stop the lab in order.
	w, err := startWorld(context.WithoutCancel(t.Context()), folder, s.members(), s.lab...)
	require.NoError(t, err, "logs are in %s", folder)
	t.Cleanup(func() { require.NoError(t, w.stop()) })
	return w
}

// TestStories plays them all: on the shared lab those that disturb no other, side by side, and the others one by one on
// each of several labs.
func TestStories(t *testing.T) {
	all, list := inList(t)
	var names []string
	for _, s := range stories {
		names = append(names, s.name)
	}
	slices.Sort(names)
	require.Equal(t, all, names, "stories.txt and the stories differ")

	told := &ledger{times: map[string]time.Duration{}}
	told.tell(t, inTurn(t, list))
	told.sum(t, list)
}

// tell tells what the filter leaves.
func (l *ledger) tell(t *testing.T, p programme) {
	more := moreLabs(len(p.together) > 0, len(p.alone))
	alone := inLine(p.alone)
	var labs sync.WaitGroup
	labs.Go(func() {
		l.sideBySide(t, p.together)
		l.drain(t, alone, shared)
	})
	for n := range more {
		labs.Go(func() {
			lab := openLab(t, n+2)
			defer l.closeLab(t, lab)
			l.drain(t, alone, lab)
		})
	}
	labs.Wait()
	for _, s := range p.last {
		l.run(t, s, shared)
	}
}

// inLine is a queue that takes no more.
func inLine[item any](all []item) <-chan item {
	queue := make(chan item, len(all))
	for _, i := range all {
		queue <- i
	}
	close(queue)
	return queue
}

// sideBySide tells stories on the shared lab, several at a time.
func (l *ledger) sideBySide(t *testing.T, all []story) {
	var beside sync.WaitGroup
	places := make(chan struct{}, *atOnce)
	for _, s := range all {
		beside.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			defer takeRoom(s.size)()
			l.run(t, s, shared)
		})
	}
	beside.Wait()
}

// long plays the stories that stories.txt marks so as well.
var long = flag.Bool("long", true, "play the stories that stories.txt marks long as well")

// inList are the names in stories.txt, and those of them that are asked for.
func inList(t *testing.T) (all, asked []string) {
	content, err := os.ReadFile("stories.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, mark, _ := strings.Cut(line, " ")
		if all = append(all, name); mark != "long" || *long {
			asked = append(asked, name)
		}
	}
	slices.Sort(all)
	return all, asked
}

// ledger keeps which stories were told to their end, and how long each took.
type ledger struct {
	mu    sync.Mutex
	times map[string]time.Duration
}

func (l *ledger) run(t *testing.T, s story, on *world) {
	admit()
	t.Run(s.name, func(t *testing.T) {
		if *karmadaAt != "" && s.onlySimulated != "" {
			t.Skip(s.onlySimulated)
		}
		begun := time.Now()
		scene := &scene{T: t, world: on, story: s, ctx: t.Context(), asked: map[string]bool{}}
		defer func() {
			// The context of a test that has failed is still alive here.
			scene.tell()
			if !t.Failed() && !t.Skipped() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.times[s.name] = time.Since(begun)
			}
		}()
		switch {
		case s.own:
			scene.world = s.apart(t)
		case s.alone:
			require.NoError(t, on.inMode(t.Context(), "enforce"))
		}
		scene.joinMembers()
		scene.begin()
		s.tell(scene)
		scene.nothingLeft()
	})
}

// sum prints what was told. A run without a filter must have told everything.
func (l *ledger) sum(t *testing.T, list []string) {
	for _, name := range list {
		if took, ok := l.times[name]; ok {
			say("%-45s %6.1fs", name, took.Seconds())
		} else {
			say("%-45s NOT TOLD", name)
		}
	}
	say("%d of %d run", len(l.times), len(list))
	if everything() {
		require.Len(t, l.times, len(list), "every story must be told")
	}
}

// everything: no filter, so all stories are told.
func everything() bool { return flag.Lookup("test.run").Value.String() == "" }

// labs is how many labs play the stories. A story waits most of the time, so a lab takes a quarter of a core.
var labs = flag.Int("labs", 4, "so many labs play the stories side by side")

// atOnce is how many stories the shared lab plays side by side. All at once would starve their own worker.
var atOnce = flag.Int("at-once", 8, "so many stories at a time are played side by side on the shared lab")

// programme has the stories of a run in the order of its phases.
type programme struct {
	together, alone []story // at the same time: these side by side on the shared lab, those one by one on each lab
	last            []story // when all of these have ended
}

// inTurn sorts the stories of a list that the run's filter leaves.
func inTurn(t *testing.T, list []string) (p programme) {
	_, pattern, _ := strings.Cut(flag.Lookup("test.run").Value.String(), "/")
	asked, err := regexp.Compile(pattern)
	require.NoError(t, err)
	for _, s := range stories {
		when := &p.together
		switch {
		case !asked.MatchString(s.name) || !slices.Contains(list, s.name):
			continue
		case s.last:
			when = &p.last
		case s.alone:
			when = &p.alone
		}
		*when = append(*when, s)
	}
	return p
}

// moreLabs is how many labs are worth starting beside the shared one for so many stories. A real Karmada is too large
// for a second one, and histories are recorded from one Temporal.
func moreLabs(sharedIsBusy bool, alone int) int {
	if *karmadaAt != "" || *recordTo != "" {
		return 0
	}
	if !sharedIsBusy {
		alone--
	}
	return max(0, min(*labs-1, alone))
}

// drain plays stories one by one on a lab, if it has started, until none is left.
func (l *ledger) drain(t *testing.T, queue <-chan story, on *world) {
	if on == nil {
		return
	}
	for s := range queue {
		l.run(t, s, on)
	}
}

// openLab starts a lab beside the shared one; nil, and a failed test, if it does not start.
func openLab(t *testing.T, number int) *world {
	folder := filepath.Join(shared.folder, fmt.Sprintf("lab%d", number))
	if err := os.Mkdir(folder, 0o750); err != nil {
		t.Error(err)
		return nil
	}
	admit()
	w, err := startWorld(context.WithoutCancel(t.Context()), folder, bystanders())
	if err != nil {
		t.Errorf("start lab %d, logs are in %s: %v", number, folder, err)
		return nil
	}
	return w
}

// closeLab stops a lab. Its audit log stays, for the last story.
func (l *ledger) closeLab(t *testing.T, w *world) {
	if w == nil {
		return
	}
	if _, err := w.audit.read(); err != nil {
		t.Error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	shared.beside = append(shared.beside, w.audit)
	if err := w.stop(); err != nil {
		t.Errorf("stop the lab in %s: %v", w.folder, err)
	}
}
