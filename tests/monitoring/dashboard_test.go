package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func readBoard(t *testing.T) dashboard {
	t.Helper()
	d, err := readDashboard(dashboardFile)
	require.NoError(t, err)
	require.NotEmpty(t, d.Panels)
	return d
}

func TestTheDashboardIsWellFormed(t *testing.T) {
	d := readBoard(t)
	require.True(t, d.UID != "" && d.Title != "" && d.SchemaVersion != 0)
	ids, taken := map[int]string{}, map[[2]int]string{}
	for _, p := range d.Panels {
		assert.NotEmpty(t, p.Title, p.ID)
		assert.NotZero(t, p.ID, p.Title)
		assert.NotContains(t, ids, p.ID, p.Title)
		ids[p.ID] = p.Title
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.NotContains(t, taken, [2]int{x, y}, "%q lies on another", p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
		assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, "%q reaches beyond the board", p.Title)
		if p.Type != "row" {
			p.check(t)
		}
	}
}

func (p panel) check(t *testing.T) {
	t.Helper()
	assert.NotEmpty(t, p.Description, p.Title)
	assert.NotEmpty(t, p.FieldConfig.Defaults.Unit, p.Title)
	assert.NotEmpty(t, p.Targets, p.Title)
	refs := map[string]bool{}
	for _, q := range p.Targets {
		assert.False(t, refs[q.RefID] || q.RefID == "", "%q has two queries %q", p.Title, q.RefID)
		refs[q.RefID] = true
		names, err := metrics(q.query(time.Minute))
		require.NoError(t, err, p.Title)
		assert.NotEmpty(t, names, "%q: %q", p.Title, q.Expr)
		assert.Equal(t, len(names), strings.Count(q.Expr, `lifeboat_instance="$instance"`), "%q: %q is not of one Lifeboat alone", p.Title, q.Expr)
		assert.NotEmpty(t, q.LegendFormat, p.Title)
	}
}

// The recording is of a run in which a cluster was evacuated, an operator was asked, the
// fleet was halted and a worker was silent: a panel that shows nothing of it asks for
// something that nobody exports.
func TestEveryPanelShowsSomethingOfTheRecordedRun(t *testing.T) {
	r, err := readRecording("testdata/run.gz")
	require.NoError(t, err)
	d := readBoard(t)
	out, err := d.over(t.Context(), r)
	require.NoError(t, err)
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
			assert.False(t, strings.Trim(line.Legend, " :") == "" && p.Type == "timeseries", "%q has a line without a name", p.Title)
		}
		assert.Positive(t, shown, "%q shows nothing", p.Title)
	}
}
