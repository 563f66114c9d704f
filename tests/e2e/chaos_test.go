package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// What `make chaos` asks for.
var (
	chaosTo     = flag.String("chaos", "", "play the crash matrix and keep its results in this `folder`")
	chaosShard  = flag.String("shard", "1/1", "play the `i/n` part of the cells")
	chaosStory  = flag.String("chaos-story", "", "play the cells of this story only")
	chaosVictim = flag.String("victim", "", "play the cells of these victims only, separated by commas")
	chaosPoint  = flag.String("point", "", "play the cells whose point contains this only")
)

// played is the result of a cell, as it is kept.
type played struct {
	cell
	Reached bool    `json:"reached"`
	Diff    string  `json:"diff"` // from the undisturbed run, empty when it is the same
	Seconds float64 `json:"seconds"`
}

// verdict of a cell in the matrix.
func (p played) verdict() string {
	switch {
	case p.Diff != "":
		return "FAIL"
	case !p.Reached:
		return "-"
	default:
		return "ok"
	}
}

// TestCrashMatrix plays a story once for every effect that it has on either wire, victim, and
// side of the effect, and compares how it ended with the undisturbed run.
//
// It guards invariant 8, and with it 1, 2, 4, 5, 6 and 7 under crashes.
func TestCrashMatrix(t *testing.T) {
	if *chaosTo == "" {
		t.Skip("make chaos plays it")
	}
	file := filepath.Join(*chaosTo, strings.ReplaceAll(*chaosShard, "/", "-of-")+".jsonl")
	results := readPlayed(t, *chaosTo)
	shared.wired(t)
	for _, name := range []string{"migration", "recovery"} {
		if *chaosStory != "" && *chaosStory != name {
			continue
		}
		for _, c := range mine(t, cellsOf(name, undisturbed(t, name))) {
			if slices.ContainsFunc(results, func(p played) bool { return p.cell == c && p.Diff == "" }) {
				continue
			}
			p := playCell(t, c)
			results = append(slices.DeleteFunc(results, func(old played) bool { return old.cell == c }), p)
			keep(t, file, p)
		}
	}
	sayMatrix(results)
	for _, p := range results {
		require.Empty(t, p.Diff, "%s", p.cell)
	}
}

// wired runs the product over wires until the test ends.
func (w *world) wired(t *testing.T) {
	t.Helper()
	require.NoError(t, w.stopProduct())
	var err error
	w.wires, err = openWires(w.lab.At, w.folder)
	require.NoError(t, err)
	w.more, w.chronicle.patient = chaosSettings, true
	t.Cleanup(func() {
		require.NoError(t, w.stopProduct())
		w.wires.close()
		w.wires, w.more = nil, nil
	})
	require.NoError(t, w.inMode(t.Context(), "enforce"))
}

// undisturbed plays a story as it is and returns its points.
func undisturbed(t *testing.T, name string) []string {
	t.Helper()
	var points []string
	t.Run(name, func(t *testing.T) {
		begun := time.Now()
		var got vector
		got, points = playOn(t, cell{Story: name})
		require.Empty(t, cmp.Diff(chaosStories[name].want, got), "undisturbed it ends as it should")
		say("chaos: %s, undisturbed: %d effects, %.0f s", name, len(points), time.Since(begun).Seconds())
	})
	require.NotEmpty(t, points)
	content := strings.Join(points, "\n") + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(*chaosTo, name+".points"), []byte(content), 0o600))
	return points
}

// playOn plays a cell on clusters of its own.
func playOn(t *testing.T, c cell) (vector, []string) {
	t.Helper()
	cellCount++
	id := fmt.Sprintf("x%dx", cellCount)
	for i := range 2 {
		require.NoError(t, shared.lab.control(t.Context(), "join", "", member{Name: fmt.Sprintf("%s%d", id, i+1)}))
	}
	got := shared.play(t, c, id)
	points := shared.wires.points()
	shared.wires.begin("", nil)
	for i := range 2 {
		require.NoError(t, shared.lab.control(t.Context(), "leave", fmt.Sprintf("%s%d", id, i+1), nil))
	}
	return got, points
}

// cellCount makes the names of the cells' clusters.
var cellCount int

func playCell(t *testing.T, c cell) played {
	p := played{cell: c, Diff: "the story did not come to its end"}
	begun := time.Now()
	t.Run(c.String(), func(t *testing.T) {
		require.NoError(t, shared.inMode(t.Context(), "enforce"))
		got, points := playOn(t, c)
		p.Reached = slices.Contains(points, c.Point)
		p.Diff = cmp.Diff(chaosStories[c.Story].want, got)
		require.Empty(t, p.Diff)
	})
	p.Seconds = time.Since(begun).Round(100 * time.Millisecond).Seconds()
	say("chaos: %-5s %5.0f s  %s", p.verdict(), p.Seconds, c)
	return p
}

// cellsOf are all cells of a story.
func cellsOf(name string, points []string) []cell {
	var cells []cell
	for _, point := range points {
		for _, victim := range victimsAt(point) {
			for _, after := range []bool{false, true} {
				cells = append(cells, cell{Story: name, Victim: victim, Point: point, After: after})
			}
		}
	}
	return cells
}

// victimsAt are whom a point may cost: the process whose effect it is; and where the worker
// writes an object of Karmada's, whoever else has a part in it.
func victimsAt(point string) []string {
	who, _, _ := strings.Cut(point, " ")
	victims := []string{who}
	if karmadaWrite(point) {
		victims = append(victims, victimFrozen, victimTemporal, victimAPIServer, victimEtcd)
	}
	return victims
}

// mine are the cells that this shard plays and the flags ask for.
func mine(t *testing.T, cells []cell) []cell {
	t.Helper()
	var i, n uint32
	_, err := fmt.Sscanf(*chaosShard, "%d/%d", &i, &n)
	require.NoError(t, err, "-shard is i/n")
	require.True(t, 1 <= i && i <= n, "-shard is i/n, from 1/n to n/n")
	return slices.DeleteFunc(cells, func(c cell) bool {
		h := fnv.New32a()
		_, _ = h.Write([]byte(c.String())) // never fails
		return h.Sum32()%n != i-1 || !strings.Contains(c.Point, *chaosPoint) ||
			*chaosVictim != "" && !slices.Contains(strings.Split(*chaosVictim, ","), c.Victim)
	})
}

// readPlayed are the results that all shards have left in a folder.
func readPlayed(t *testing.T, folder string) []played {
	t.Helper()
	require.NoError(t, os.MkdirAll(folder, 0o750))
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	require.NoError(t, err)
	var all []played
	for _, file := range files {
		content, err := os.ReadFile(file) //nolint:gosec // the folder is the caller's choice
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		require.NoError(t, err)
		for line := range bytes.Lines(content) {
			var p played
			require.NoError(t, json.Unmarshal(line, &p), file)
			all = append(slices.DeleteFunc(all, func(old played) bool { return old.cell == p.cell }), p)
		}
	}
	return all
}

func keep(t *testing.T, file string, p played) {
	t.Helper()
	out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the folder is the caller's choice
	require.NoError(t, err)
	require.NoError(t, errors.Join(json.NewEncoder(out).Encode(p), out.Close()))
}

// sayMatrix prints every point with its victims, before and after.
func sayMatrix(results []played) {
	type row struct{ story, point string }
	rows := map[row][]string{}
	counts := map[string]int{}
	var seconds float64
	for _, p := range results {
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
	say("%d cells: %d as undisturbed, %d not reached, %d FAILED; %.0f s", len(results), counts["ok"], counts["-"], counts["FAIL"], seconds)
}
