package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// matrix is a crash matrix while it is played.
type matrix struct {
	*testing.T
	file  string // where this shard's results go
	lanes []*lane

	mu      sync.Mutex
	results []played // those of other shards and of runs before included
}

// tries is how often a cell is played whose run does not come by its point.
const tries = 3

// oneMissed in so many cells may be: a point is one that most undisturbed runs have, not all.
const oneMissed = 50

// lane is a lab with the product over wires on it, where one cell is played after the
// other. Most of a cell is waiting for what the victim held to time out.
type lane struct {
	*world
	number int
	labs   int // so many it has had
}

// openLanes starts labs side by side, the shared one among them, until the test ends.
func openLanes(t *testing.T, n int) []*lane {
	require.Positive(t, n, "-lanes")
	require.NoError(t, shared.overWires(t.Context()))
	lanes := []*lane{{world: shared, number: 1}}
	for i := 1; i < n; i++ {
		lanes = append(lanes, &lane{number: i + 1})
	}
	errs := make([]error, n)
	var group sync.WaitGroup
	for i, l := range lanes[1:] {
		group.Go(func() { errs[i] = l.renew(t) })
	}
	group.Wait()
	t.Cleanup(func() {
		require.NoError(t, shared.offWires())
		for _, l := range lanes {
			if l.world != shared {
				require.NoError(t, l.close())
			}
		}
	})
	require.NoError(t, errors.Join(errs...))
	return lanes
}

// renew gives a lane a lab that nothing has happened to.
func (l *lane) renew(t *testing.T) error {
	l.labs++
	folder := filepath.Join(shared.folder, fmt.Sprintf("lane%d-%d", l.number, l.labs))
	if err := os.Mkdir(folder, 0o750); err != nil {
		return err
	}
	// The test's own context ends before its cleanups, which stop the lab in order.
	w, err := startWorld(context.WithoutCancel(t.Context()), folder, allMembers())
	if err != nil {
		return fmt.Errorf("lane %d, in %s: %w", l.number, folder, err)
	}
	l.world = w
	return w.overWires(t.Context())
}

// close ends a lane's lab, whatever was left of it.
func (l *lane) close() error {
	if l.world == nil {
		return nil
	}
	err := l.offWires()
	if l.world != shared { // which the run itself stops
		err = errors.Join(err, l.stop())
	}
	l.world = nil
	return err
}

// each has every lane do something at once, and returns when all have.
func (m *matrix) each(do func(*lane)) {
	var group sync.WaitGroup
	for _, l := range m.lanes {
		group.Go(func() { do(l) })
	}
	group.Wait()
}

// Points are: to the API server every write, Events included; to Temporal every signal, start and
// update, every answer of an activity, and every workflow task that schedules a writing activity,
// signals another workflow, answers an update or ends the run.
//
// No points are: reads, polls, heartbeats, the Lease and permission checks; a workflow task that only
// sets timers or schedules reading activities (AssessApplication, AssessCluster, AssessFleet, AssessPolicies, FindOrphans,
// ListTargeting, Observe, ObserveWork, PreCheck, RecallPacer), because the activity's answer is the
// effect; a repetition of the last call about the same object, apart from times, durations and versions.
//
// points are the effects of a story: what most undisturbed runs have done, one on each
// lane and at least two. All shards and runs of a commit have the same.
func (m *matrix) points(name string) []string {
	file := filepath.Join(*chaosTo, name+".points")
	if points, err := readLines(file); err == nil {
		return points
	}
	begun := time.Now()
	seen, runs := map[string]int{}, 0
	m.each(func(l *lane) {
		for range max(1, 2/len(m.lanes)) {
			m.Run(fmt.Sprintf("%s, lane %d", name, l.number), func(t *testing.T) {
				got, points, _ := l.playOn(t, cell{Story: name})
				require.Empty(t, gocmp.Diff(chaosStories[name].want, got), "undisturbed it ends as it should")
				m.mu.Lock()
				defer m.mu.Unlock()
				runs++
				for _, point := range points {
					seen[point]++
				}
			})
		}
	})
	require.False(m, m.Failed(), "undisturbed it ends as it should")
	points := slices.DeleteFunc(slices.Sorted(maps.Keys(seen)), func(point string) bool { return 2*seen[point] <= runs })
	require.NotEmpty(m, points)
	say("chaos: %s, undisturbed: %d effects in most of %d runs, %d in some, %.0f s",
		name, len(points), runs, len(seen)-len(points), time.Since(begun).Seconds())
	return m.firstOf(file, points)
}

// firstOf writes lines into a file, or returns those of whoever was first.
func (m *matrix) firstOf(file string, lines []string) []string {
	mine := fmt.Sprintf("%s.%d", file, os.Getpid())
	require.NoError(m, os.WriteFile(mine, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	if err := os.Link(mine, file); !errors.Is(err, fs.ErrExist) {
		require.NoError(m, err)
	}
	require.NoError(m, os.Remove(mine))
	first, err := readLines(file)
	require.NoError(m, err)
	return first
}

func readLines(file string) ([]string, error) {
	content, err := os.ReadFile(file) //nolint:gosec // the folder is the caller's choice
	return strings.Split(strings.TrimSpace(string(content)), "\n"), err
}

// play plays cells on all lanes while there is time, in an order in which any part of
// them is a fair sample.
func (m *matrix) play(cells []cell, more func() bool) {
	slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.hash(), b.hash()) })
	todo := inLine(cells)
	m.each(func(l *lane) {
		for c := range todo {
			if !more() {
				return
			}
			if err := m.playOne(l, c); err != nil {
				m.Errorf("lane %d goes no further: %v", l.number, err)
				return
			}
		}
	})
}

// playOne plays a cell, again where it has not come by its point, and has nothing of one
// that failed stay in the lane.
func (m *matrix) playOne(l *lane, c cell) error {
	var p played
	for range tries {
		if p = l.playCell(m.T, c); p.verdict() != "-" {
			break
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.results = append(slices.DeleteFunc(m.results, func(old played) bool { return old.cell == c }), p)
	if err := keep(m.file, p); err != nil || p.Diff == "" {
		return err
	}
	if err := l.close(); err != nil {
		m.Logf("lane %d, after %s: %v", l.number, c, err)
	}
	return l.renew(m.T)
}

func (l *lane) playCell(t *testing.T, c cell) played {
	p := played{cell: c, Diff: "the story did not come to its end"}
	begun := time.Now()
	t.Run(c.String(), func(t *testing.T) {
		require.NoError(t, l.inMode(t.Context(), "enforce"))
		got, _, struck := l.playOn(t, c)
		p.Reached = struck
		p.Diff = gocmp.Diff(chaosStories[c.Story].want, got)
		require.Empty(t, p.Diff)
	})
	p.Seconds = time.Since(begun).Round(100 * time.Millisecond).Seconds()
	say("chaos: %-5s %5.0f s  %s", p.verdict(), p.Seconds, c)
	return p
}

// of is the result of a cell, nil when it was not played.
func (m *matrix) of(c cell) *played {
	at := slices.IndexFunc(m.results, func(p played) bool { return p.cell == c })
	if at < 0 {
		return nil
	}
	return &m.results[at]
}

// whole wants a result of each of the cells, and hardly any whose run did not come by its point.
func (m *matrix) whole(cells []cell) {
	var missed []string
	for _, c := range cells {
		p := m.of(c)
		if p == nil {
			m.Errorf("not played: %s", c)
		} else if !p.Reached {
			missed = append(missed, c.String())
		}
	}
	require.LessOrEqual(m, len(missed)*oneMissed, len(cells), "not reached, in %d tries each: %s", tries, strings.Join(missed, "; "))
}

// say prints every point with its victims, before and after, and whether that is all there are.
func (m *matrix) say(all []cell) {
	type row struct{ story, point string }
	rows := map[row][]string{}
	counts := map[string]int{}
	var seconds float64
	for _, p := range m.results {
		when := "<"
		if p.After {
			when = ">"
		}
		at := row{p.Story, p.Point}
		rows[at] = append(rows[at], fmt.Sprintf("%s%s %s", when, p.Victim, p.verdict()))
		counts[p.verdict()]++
		seconds += p.Seconds
	}
	var lines []string
	for at, cells := range rows {
		slices.Sort(cells)
		lines = append(lines, fmt.Sprintf("%-10s %-95s %s", at.story, at.point, strings.Join(cells, "  ")))
	}
	slices.Sort(lines)
	say("the crash matrix (< before the effect, > after it, - the run did not come by the point):")
	for _, line := range lines {
		say("%s", line)
	}
	missing := len(slices.DeleteFunc(slices.Clone(all), func(c cell) bool { return m.of(c) != nil }))
	say("%d cells: %d as undisturbed, %d not reached, %d FAILED, %d not played; %.0f s of play",
		len(all), counts["ok"], counts["-"], counts["FAIL"], missing, seconds)
}
