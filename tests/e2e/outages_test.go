package e2e

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the processes say and count when a server is away.
var (
	lostRaces   = map[string]string{"worker": "lifeboat_write_conflicts_total"}
	failedActs  = map[string]string{"worker": "temporal_activity_execution_failed_total"}
	unreachedBy = map[string]string{"worker": `msg="Activity error\.".*unreachable: `, "controller": "lost the lease, standing for election again"}
	undelivered = map[string]string{"worker": "Failed to poll for task", "controller": "could not (deliver|resync), trying again"}
	failedCalls = map[string]string{"worker": "temporal_(?:long_)?request_failure_total", "controller": undeliverable}
)

// undeliverable counts what a controller could not deliver.
const undeliverable = `lifeboat_controller_(?:signals|resyncs)_total\{.*result="failed"`

// late is how late a slow API server answers, less than a request may take.
const late = 5 * time.Second

// outages are the rows; docs/failure-modes.md says of each what an operator sees.
var outages = []outageOf{
	{name: "API server unreachable", when: "before the failure", lay: onAPI(unreachable), says: unreachedBy, counts: failedActs},
	{name: "API server unreachable", when: "when it is tainted", lay: onAPI(unreachable), says: unreachedBy, counts: failedActs},
	{
		// For as long as it takes that one activity begins and ends within it.
		name: "API server slow", when: "when it has failed", moves: true, lasts: 6 * late, lay: onAPI(slow(late)),
		// Every activity adds to it; one that asked the API server adds that much at least.
		counts: map[string]string{"worker": "temporal_activity_execution_latency_seconds_sum"}, least: late.Seconds(),
	},
	{name: "API server throttles", when: "when it is tainted", lay: onAPI(refuse(refusal{
		code: http.StatusTooManyRequests, reason: metav1.StatusReasonTooManyRequests, message: "too many requests", retry: "2",
	})), says: map[string]string{"worker": "throttled, retry after 2s"}, counts: failedActs},
	{name: "API server errs", when: "when it is tainted", lay: onAPI(refuse(refusal{
		code: http.StatusInternalServerError, reason: metav1.StatusReasonInternalError, message: "etcdserver: no leader",
	})), says: map[string]string{"worker": "unreachable: .*etcdserver: no leader"}, counts: failedActs},
	{name: "every write conflicts", when: "when it has failed", lay: onAPI(refuse(refusal{
		code: http.StatusConflict, reason: metav1.StatusReasonConflict, message: "the object has been modified", only: isWrite,
	})), counts: lostRaces},
	{name: "reads are stale", when: "when it has failed", moves: true, lay: func(w *wires, _ <-chan struct{}) {
		w.api["worker"].lag()
	}, counts: lostRaces},
	{name: "watches are closed every second", when: "before the failure", moves: true, lay: func(w *wires, over <-chan struct{}) {
		onAPI(shortWatches(time.Second))(w, over)
		for _, who := range users { // those that stand as well
			w.api[who].server.CloseClientConnections()
		}
	}},
	{name: "credentials expired", when: "when it is tainted", lay: onAPI(refuse(refusal{
		code: http.StatusUnauthorized, reason: metav1.StatusReasonUnauthorized, message: "Unauthorized",
	})), says: map[string]string{"worker": "forbidden: may not .*Unauthorized"}, counts: failedActs},
	{name: "admission webhook down", when: "when it is tainted", lay: onAPI(refuse(refusal{
		code: http.StatusInternalServerError, reason: metav1.StatusReasonInternalError, only: isBindingWrite,
		message: `Internal error occurred: failed calling webhook "resourcebinding.karmada.io": connection refused`,
	})), says: map[string]string{"worker": "BindingBlocked.*Forbidden.*an admission webhook could not be called"}, counts: map[string]string{"worker": "lifeboat_evict_processed_total"}},
	{
		// Longer than a request may take.
		name: "network cut to the API server", when: "when it is tainted", lasts: 40 * time.Second,
		lay: func(w *wires, over <-chan struct{}) { onAPI(silentUntil(over))(w, over) }, says: unreachedBy, counts: failedActs,
	},
	temporalUnreachable("before the failure"),
	temporalUnreachable("when it has failed"),
	temporalUnreachable("when it is tainted"),
	temporalUnreachable("when one is evicted"),
	temporalUnreachable("as it is evicted"),
	temporalUnreachable("when the new copy starts"),
	temporalUnreachable("as it is released"),
	temporalUnreachable("when it is back"),
	temporalUnreachable("as it is put back"),
	{
		// Longer than it takes the SDK to ask whether anybody is there, and to hear nothing.
		name: "network cut to Temporal", when: "when it is tainted", lasts: time.Minute,
		lay: func(w *wires, _ <-chan struct{}) {
			for _, who := range users {
				w.temporal[who].die()
			}
		}, says: undelivered, counts: failedCalls,
	},
	{
		// Not for as long as it takes a worker to end: two minutes after its last poll that
		// was answered, which may have been one of a minute.
		name: "namespace missing", when: "when it is tainted", most: 45 * time.Second,
		lay:  onTemporal(errs(serviceerror.NewNamespaceNotFound("lifeboat"))),
		says: map[string]string{"worker": "Failed to poll for task.*lifeboat is not found", "controller": undelivered["controller"]}, counts: failedCalls,
	},
	{name: "Temporal throttles", when: "before the failure", lay: onTemporal(exhausted), says: undelivered, counts: failedCalls},
	{name: "Temporal throttles", when: "as it is evicted", lay: onTemporal(exhausted), counts: failedCalls},
}

// temporalUnreachable is Temporal away at one stage of a migration, or of a recovery.
func temporalUnreachable(when string) outageOf {
	o := outageOf{name: "Temporal unreachable", when: when, lay: func(w *wires, over <-chan struct{}) {
		onTemporal(unreachable)(w, over)
		for _, who := range users { // a poll that stands would notice within a minute only
			w.temporal[who].server.CloseClientConnections()
		}
	}, says: undelivered, counts: failedCalls}
	if when == "when it is back" || when == "as it is put back" {
		o.story = "recovery"
	}
	return o
}

// playedBy names the story that plays what docs/failure-modes.md has a row for and `outages` has
// not; of a table without rows of that kind, the story that plays the section.
var playedBy = map[string]string{
	"one of three etcd members lost":                          "etcd_loses_one_of_three_members",
	"search attributes missing":                               "temporal_without_its_search_attributes",
	"the leader is killed":                                    "leaders_change_hands",
	"the leader freezes, and goes on after another took over": "leaders_change_hands",
	"two lead, as with leader election switched off, or under two names of the Lease": "deaf_leader_beside_a_fresh_one",
	"one that leads hears nothing new":                                                "deaf_leader_beside_a_fresh_one",
	"## More signals than one run takes":                                              loadStory.name, // TestSignalsBeyondTheCap
	"## Temporal lost its database":                                                   "temporal_loses_its_database",
	"## Karmada restored from a backup":                                               "karmada_restored_from_a_backup",
}

// TestEveryFailureModeIsPlayed compares docs/failure-modes.md with what plays it, both ways: what
// is played says there what an operator sees, and what an operator is told there is played.
func TestEveryFailureModeIsPlayed(t *testing.T) {
	content, err := os.ReadFile("../../docs/failure-modes.md")
	require.NoError(t, err)
	documented := failureModes(string(content))

	var played []string
	for _, o := range outages {
		played = append(played, o.name)
	}
	for what, by := range playedBy {
		played = append(played, what)
		require.True(t, slices.ContainsFunc(append(slices.Concat(stories, outagesApart), loadStory), func(s story) bool {
			return s.name == by
		}), "there is no story %s, which is said to play %q", by, what)
	}
	slices.Sort(played)
	require.Equal(t, documented, slices.Compact(played))
}

// failureModes are the first cells of the tables whose head begins with "row", and the headings
// over the other tables, sorted.
func failureModes(page string) []string {
	var modes []string
	var heading, head string
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		cells := strings.Split(line, "|")
		switch {
		case strings.HasPrefix(line, "#"):
			heading = line
		case len(cells) < 3: // no table
			head = ""
		case head == "":
			if head = strings.TrimSpace(cells[1]); head != "row" {
				modes = append(modes, heading)
			}
		case head == "row" && !strings.HasPrefix(cells[1], "---"):
			modes = append(modes, strings.TrimSpace(cells[1]))
		}
	}
	slices.Sort(modes)
	return modes
}
