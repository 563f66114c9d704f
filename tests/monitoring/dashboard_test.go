package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func readBoard(t *testing.T) dashboard {
	t.Helper()
	d, err := readDashboard(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Panels) == 0 {
		t.Fatal("the dashboard has no panels")
	}
	return d
}

func TestTheDashboardIsWellFormed(t *testing.T) {
	d := readBoard(t)
	if d.UID == "" || d.Title == "" || d.SchemaVersion == 0 {
		t.Error("the dashboard has no uid, title or schemaVersion")
	}
	ids, taken := map[int]string{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if p.Title == "" {
			t.Errorf("panel %d has no title", p.ID)
		}
		if other, twice := ids[p.ID]; twice || p.ID == 0 {
			t.Errorf("%q and %q have the id %d", p.Title, other, p.ID)
		}
		ids[p.ID] = p.Title
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, twice := taken[[2]int{x, y}]; twice {
					t.Fatalf("%q lies on %q", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%q reaches beyond the board", p.Title)
		}
		if p.Type != "row" {
			p.check(t)
		}
	}
}

func (p panel) check(t *testing.T) {
	t.Helper()
	if p.Description == "" || p.FieldConfig.Defaults.Unit == "" {
		t.Errorf("%q has no description or no unit", p.Title)
	}
	if len(p.Targets) == 0 {
		t.Errorf("%q asks nothing", p.Title)
	}
	refs := map[string]bool{}
	for _, q := range p.Targets {
		if refs[q.RefID] || q.RefID == "" {
			t.Errorf("%q has two queries %q", p.Title, q.RefID)
		}
		refs[q.RefID] = true
		if names, err := metrics(q.query(time.Minute)); err != nil || len(names) == 0 {
			t.Errorf("%q: %q selects %v: %v", p.Title, q.Expr, names, err)
		} else if scoped := strings.Count(q.Expr, `lifeboat_instance="$instance"`); scoped != len(names) {
			t.Errorf("%q: %q selects %d metrics, %d of one Lifeboat alone", p.Title, q.Expr, len(names), scoped)
		}
		if q.LegendFormat == "" {
			t.Errorf("%q: a query without a legend", p.Title)
		}
	}
}

// The recording is of a run in which a cluster was evacuated, an operator was asked, the
// fleet was halted and a worker was silent: a panel that shows nothing of it asks for
// something that nobody exports.
func TestEveryPanelShowsSomethingOfTheRecordedRun(t *testing.T) {
	r, err := readRecording("testdata/run.gz")
	if err != nil {
		t.Fatal(err)
	}
	d := readBoard(t)
	out, err := d.over(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		shown := 0
		for _, line := range out.Panels[p.ID] {
			for _, point := range line.Points {
				if point != nil {
					shown++
				}
			}
			if strings.Trim(line.Legend, " :") == "" && p.Type == "timeseries" {
				t.Errorf("%q has a line without a name", p.Title)
			}
		}
		if shown == 0 {
			t.Errorf("%q shows nothing", p.Title)
		}
	}
}

func TestWhatIsRecordedReadsBackAsItWas(t *testing.T) {
	r := recorder{every: 2 * time.Second, steps: 6, series: map[string][]string{
		`a{job="w"}`: {"_", "_", "1", "1", "1", "stale"},
		`b{job="w"}`: {"1", "2", "2", "stale", "7", "7"},
		`c{job="w"}`: {"5"},
	}}
	file := t.TempDir() + "/run.gz"
	if err := r.write(file); err != nil {
		t.Fatal(err)
	}
	got, err := readRecording(file)
	if err != nil {
		t.Fatal(err)
	}
	want := "load 2s\n  a{job=\"w\"} _x2 1x2 stale\n  b{job=\"w\"} 1 2x1 stale 7x1\n  c{job=\"w\"} 5 stale\n"
	if got.text != want || got.steps != 6 || got.every != 2*time.Second {
		t.Errorf("got %q, %d steps of %s", got.text, got.steps, got.every)
	}
	if err := os.WriteFile(file, []byte("no recording"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readRecording(file); err == nil {
		t.Error("what is no recording was read as one")
	}
}
