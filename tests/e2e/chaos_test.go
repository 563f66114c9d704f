package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
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
	chaosLanes  = flag.Int("lanes", 1, "play so many cells side by side, each on a lab of its own")
	chaosFor    = flag.Duration("for", 0, "begin no cell after so `long`, 0: no end")
	chaosShard  = flag.String("shard", "1/1", "play the `i/n` part of the cells")
	chaosStory  = flag.String("chaos-story", "", "play the cells of this story only")
	chaosVictim = flag.String("victim", "", "play the cells of these victims only, separated by commas")
	chaosPoint  = flag.String("point", "", "play the cells whose point contains this only")
)

// played is the result of a cell, as it is kept.
type played struct {
	cell
	Reached bool    `json:"reached"` // its point, with the victim struck there
	Diff    string  `json:"diff"`    // from the undisturbed run, empty when it is the same
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
	m := &matrix{
		T: t, file: filepath.Join(*chaosTo, strings.ReplaceAll(*chaosShard, "/", "-of-")+".jsonl"),
		results: readPlayed(t, *chaosTo), lanes: openLanes(t, *chaosLanes),
	}
	begun := time.Now()
	var all, asked []cell
	for _, name := range []string{"migration", "recovery", "application"} {
		if *chaosStory != "" && *chaosStory != name {
			continue
		}
		cells := cellsOf(name, m.points(name))
		all = append(all, cells...)
		asked = append(asked, mine(t, cells)...)
	}
	m.play(slices.DeleteFunc(slices.Clone(asked), func(c cell) bool {
		p := m.of(c)
		return p != nil && p.verdict() == "ok"
	}), func() bool { return *chaosFor == 0 || time.Since(begun) < *chaosFor })
	m.say(all)
	for _, p := range m.results {
		require.Empty(t, p.Diff, "%s", p.cell)
	}
	if *chaosFor == 0 { // a run that is cut short leaves cells to the next
		m.whole(asked)
	}
}

// wired runs the product over wires until the test ends.
func (w *world) wired(t *testing.T) {
	require.NoError(t, w.overWires(t.Context()))
	t.Cleanup(func() { require.NoError(t, w.offWires()) })
}

// overWires starts the product anew, over wires.
func (w *world) overWires(ctx context.Context) error {
	err := w.stopProduct()
	if err != nil {
		return err
	}
	if w.wires, err = openWires(w.lab.At, w.folder); err != nil {
		return err
	}
	w.more, w.chronicle.patient = chaosSettings, true
	return w.inMode(ctx, "enforce")
}

// offWires stops the product, and takes the wires away.
func (w *world) offWires() error {
	err := w.stopProduct()
	if w.wires != nil {
		w.wires.close()
	}
	w.wires, w.more = nil, nil
	return err
}

// playOn plays a cell on clusters of its own; it returns what came of it, the points that the
// run came by, and whether the victim was struck.
func (w *world) playOn(t *testing.T, c cell) (got vector, points []string, struck bool) {
	w.cells++
	id := fmt.Sprintf("x%dx", w.cells)
	for i := range 2 {
		require.NoError(t, w.lab.control(t.Context(), "join", "", member{Name: fmt.Sprintf("%s%d", id, i+1)}))
	}
	got, struck = w.play(t, c, id)
	points = w.wires.points()
	w.wires.begin("", nil)
	for i := range 2 {
		require.NoError(t, w.lab.control(t.Context(), "leave", fmt.Sprintf("%s%d", id, i+1), nil))
	}
	return got, points, struck
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
	var i, n uint32
	_, err := fmt.Sscanf(*chaosShard, "%d/%d", &i, &n)
	require.NoError(t, err, "-shard is i/n")
	require.True(t, 1 <= i && i <= n, "-shard is i/n, from 1/n to n/n")
	return slices.DeleteFunc(cells, func(c cell) bool {
		return c.hash()%n != i-1 || !strings.Contains(c.Point, *chaosPoint) ||
			*chaosVictim != "" && !slices.Contains(strings.Split(*chaosVictim, ","), c.Victim)
	})
}

// readPlayed are the results that all shards have left in a folder.
func readPlayed(t *testing.T, folder string) []played {
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

// keep writes a result down.
func keep(file string, p played) error {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the folder is the caller's choice
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(out).Encode(p), out.Close())
}

// wires are the four: of worker and controller, to the API server and to Temporal.
type wires struct {
	api, temporal map[string]*wire
	kubeconfigs   map[string]string
}

// users are the processes of the product that have wires.
var users = []string{"worker", "controller"}

func openWires(at place, folder string) (*wires, error) {
	w := &wires{api: map[string]*wire{}, temporal: map[string]*wire{}, kubeconfigs: map[string]string{}}
	var errs []error
	for _, who := range users {
		w.kubeconfigs[who] = filepath.Join(folder, "wired-"+who+".kubeconfig")
		var err error
		w.api[who], err = toAPI(who, at.Kubeconfigs[who], w.kubeconfigs[who])
		errs = append(errs, err)
		w.temporal[who] = toTemporal(who, at.TemporalAddress)
	}
	return w, errors.Join(errs...)
}

func (w *wires) all() []*wire {
	return []*wire{w.api["worker"], w.temporal["worker"], w.api["controller"], w.temporal["controller"]}
}

// begin records a cell on every wire, and cuts the one to which the point belongs.
func (w *wires) begin(cell string, at *cut) {
	for _, each := range w.all() {
		each.begin(cell, at)
	}
}

// points are all that were recorded, sorted.
func (w *wires) points() []string {
	var all []string
	for _, each := range w.all() {
		all = append(all, each.recorded()...)
	}
	slices.Sort(all)
	return all
}

func (w *wires) close() {
	for _, each := range w.all() {
		if each != nil {
			each.close()
		}
	}
}

// karmadaWrite tells a point that is a write of an object of Karmada's.
func karmadaWrite(point string) bool {
	return strings.HasPrefix(point, "worker PATCH clusters ") || strings.Contains(point, "PATCH resourcebindings ")
}

// sample are the cells of the crash matrix that every run of the stories plays.
var sample = []cell{
	{Story: "migration", Victim: victimWorker, Point: "worker PATCH resourcebindings cell cart #1", After: true},
	{Story: "migration", Victim: victimController, Point: "controller SignalWithStartWorkflowExecution cluster-failover/cell1 cluster-observed #1"},
	{Story: "application", Victim: victimWorker, Point: "worker StartWorkflowExecution binding-migration/cell1/cell/cart #1", After: true},
}

// crashSample loses the worker after its first eviction, in another failover the controller before it tells anybody, and
// in that of an application the worker before it knows that the migration was started.
//
// It guards invariant 8 as the whole matrix does (`make chaos`), on fixed points.
func crashSample(s *scene) {
	s.wired(s.T)
	cells := sample
	if *temporalDatabase != "sqlite" { // which is in memory: a killed Temporal would keep nothing
		cells = append(slices.Clone(sample), cell{Story: "migration", Victim: victimTemporal, Point: sample[0].Point, After: true})
	}
	for _, c := range cells {
		require.NoError(s, s.inMode(s.ctx, "enforce"))
		got, _, struck := s.playOn(s.T, c)
		require.True(s, struck, "the run comes by the point, and costs the victim: %s", c)
		require.Empty(s, cmp.Diff(chaosStories[c.Story].want, got), "%s", c)
	}
}
