package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
)

// budget bounds the events in Temporal's histories of one plain migration, as means: those over 300
// (47, 51, 14 and 2), and what few bindings take beside. A machine that answers late makes some migrations write or look
// twice: those are not plain.
type budget struct{ own, tasks, failover, pacer float64 }

const (
	budgeted     = 24  // bindings that move
	budgetedRate = "6" // what two cores move without a write that is late
	// ofAnApplication bounds an application failover (58), its migration (40) and what they cost the pacer (12), as a mean
	// over those that are plain: 115, and what a busy machine takes beside.
	ofAnApplication = 120
	doing           = "ActivityTaskScheduled "
)

// eventBudget moves bindings off a cluster that is dead and off one that answers, and counts what
// each migration costs in Temporal's histories. Detection is below the 15 s after which a state is
// reported: with the default of 90 s the report costs another 11 events where the source answers.
//
// Rules: R4.7-55.
func eventBudget(s *scene) {
	s.with("health.pollInterval=10s", "health.detection=12s", "workflow.askAgain=20s", "workflow.recheck=15s", "workflow.relist=1m")
	dead, answers, to := s.c(1), s.c(2), s.c(3)
	gone, drained := s.deployMany(dead, dead, to, budgeted), s.deployMany(answers, answers, to, budgeted)
	s.order("rate", budgetedRate)
	s.rule(time.Second, time.Second)
	pacer := s.events(pacerID)
	s.kill(dead)
	s.phase(dead, "Evacuated")
	s.allReleased(gone, dead)
	s.within("dead source", dead, pacer, budget{own: 49, tasks: 9, failover: 10, pacer: 8})

	pacer = s.events(pacerID)
	s.answer("drain", answers, "--yes", "--wait", "--timeout", "15m", "-o", "json")
	s.allReleased(drained, answers)
	s.within("source answers", answers, pacer, budget{own: 53, tasks: 9, failover: 10, pacer: 8})

	s.revive(dead)
	s.ends(dead, "Recovered")
	s.order("drain", answers, "--end")
	s.ends(answers, "Recovered")
	s.order("rate", "configured")
	s.applicationsWithin(answers, to)
}

// applicationsWithin moves applications that are Unhealthy at once, as many as are no bad release yet, and bounds what
// each cost, as a mean.
func (s *scene) applicationsWithin(from, to string) {
	const n = 4
	plain, own, moves := 0, 0, 0
	var apps []string
	for i := range n {
		apps = append(apps, s.unhealthyOn(fmt.Sprintf("unhealthy%d", i), oneOf(from, to), from, from))
	}
	pacer := s.events(pacerID) // none has asked for a permit yet
	for _, app := range apps {
		s.applicationEnds(app, "Migrated")
		move := s.eventsOf(migrationID(from, app), "")
		if !isPlain(kindsOf(move)) {
			continue
		}
		plain++
		own += len(s.eventsOf(applicationID(app), ""))
		moves += len(move)
	}
	for _, e := range s.eventsOf(applicationID(apps[0]), "") {
		s.Logf("%3d %s %s", e.EventId, e.EventTime.AsTime().Format("05.000"), kindOf(e))
	}
	pacer = s.events(pacerID) - pacer
	require.Positive(s, plain)
	failover, migration, paces := float64(own)/float64(plain), float64(moves)/float64(plain), float64(pacer)/n
	say("event_budget: of %d applications, %d of them plain: failover %.1f, migration %.1f, pacer %.1f", n, plain, failover, migration, paces)
	if plain < n {
		paces = 0 // what a busy machine does twice costs the pacer more as well
	}
	require.LessOrEqual(s, failover+migration+paces, float64(ofAnApplication))
}

// allReleased waits until every binding is off a cluster without a task, and their migrations have ended.
func (s *scene) allReleased(keys []string, from string) {
	s.awaitQuietly("all released", func() (bool, string) {
		left := slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
			b := s.find(key)
			return b != nil && !b.on(from) && len(b.Spec.Tasks) == 0
		})
		return len(left) == 0, fmt.Sprintf("%d are not", len(left))
	})
	running := migrationsOf(from) + " AND ExecutionStatus = 'Running'"
	s.awaitQuietly("all ended", func() (bool, string) {
		n := len(s.runsOf(running))
		return n == 0, fmt.Sprintf("%d have not", n)
	})
}

// within counts, prints and bounds the events of the migrations off a cluster.
func (s *scene) within(what, from string, pacer int64, most budget) {
	kinds := map[string]int{}
	all := s.runsOf(migrationsOf(from))
	moved, plain, events, tasks := 0, 0, 0, 0
	for _, run := range all {
		told := s.eventsOf(run.id, run.run)
		does := kindsOf(told)
		if does[doing+activities.NameRelease] == 0 {
			continue // its permit passed
		}
		moved++
		if !isPlain(does) {
			continue
		}
		plain++
		events += len(told)
		tasks += does[enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED.String()]
		for kind, n := range does {
			kinds[kind] += n
		}
	}
	require.Equal(s, budgeted, moved, "each binding moved once")
	require.Positive(s, plain)
	n := float64(plain)
	is := budget{own: float64(events) / n, tasks: float64(tasks) / n, failover: float64(s.whileItMoves(from)) / budgeted, pacer: float64(s.events(pacerID)-pacer) / budgeted}
	say("event_budget: %s: %d migrations, %d of them plain, %d passed permits: %.1f events each in %.1f workflow tasks, failover %.1f, pacer %.1f", what, moved, plain, len(all)-moved, is.own, is.tasks, is.failover, is.pacer)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		s.Logf("%-70s %.2f", kind, float64(kinds[kind])/n)
	}
	require.LessOrEqual(s, is.own, most.own, what)
	require.LessOrEqual(s, is.tasks, most.tasks, what)
	if plain < moved {
		return // whatever a busy machine does twice costs failover and pacer more as well
	}
	require.LessOrEqual(s, is.failover, most.failover, what)
	require.LessOrEqual(s, is.pacer, most.pacer, what)
}

// kindsOf counts events by their kind.
func kindsOf(events []*history.HistoryEvent) map[string]int {
	does := map[string]int{}
	for _, e := range events {
		does[kindOf(e)]++
	}
	return does
}

// isPlain reports whether a migration wrote once, and had no look of its own.
func isPlain(does map[string]int) bool {
	return does[doing+activities.NameEvict] == 1 && does[doing+activities.NameObserve] == 0
}

// whileItMoves counts the events of a failover from the first start of migrations to their last report.
func (s *scene) whileItMoves(from string) int64 {
	first, last := int64(0), int64(0)
	for _, run := range s.runsOf("WorkflowId = '" + failoverID(from) + "'") {
		for _, e := range s.eventsOf(run.id, run.run) {
			if first == 0 && e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == activities.NameStartMigrations {
				first = e.EventId
			}
			if e.GetWorkflowExecutionSignaledEventAttributes().GetSignalName() == workflows.SignalMigrationReports {
				last = e.EventId
			}
		}
	}
	return last - first + 1
}

func (s *scene) eventsOf(id, run string) (events []*history.HistoryEvent) {
	events, err := s.temporal.events(s.ctx, id, run)
	require.NoError(s, err)
	return events
}

// kindOf is an event's type, and the name of what it is about: "ActivityTaskScheduled Evict".
func kindOf(e *history.HistoryEvent) string {
	return strings.TrimSpace(e.EventType.String() + " " +
		e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() +
		e.GetWorkflowExecutionSignaledEventAttributes().GetSignalName() +
		e.GetSignalExternalWorkflowExecutionInitiatedEventAttributes().GetSignalName())
}
