package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"
)

// measurement is one failover as bench.json has it: a list, one a line.
type measurement struct {
	Bindings  int      `json:"bindings"`
	Scheduler string   `json:"scheduler"`
	Workers   int      `json:"workers"`
	Fleet     int      `json:"fleet,omitempty"` // bindings in all, where others stand beside
	Clusters  int      `json:"clusters"`
	Failovers int      `json:"failovers"`
	Recovery  int      `json:"recovery,omitempty"` // so many were evicted when the clusters came back; 0: they did not
	Figures   []figure `json:"figures"`
	// Curves are the seconds since the NoExecute taint at which bindings were evicted, placed and released, in order.
	Curves [3][]float64 `json:"curves"`

	schedulerRate float64 // placements per second, 0 = no limit
	groupName     string  // of the figures that are added next
}

// figure is one value with its unit, and the limit of it by what API server, Temporal or scheduler can do, 0 = none.
type figure struct {
	Group string  `json:"group"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Limit float64 `json:"limit,omitempty"`
}

// setting is what measurements are compared by.
func (m *measurement) setting() string {
	return fmt.Sprintf("bindings=%d/scheduler=%s/workers=%d%s", m.Bindings, m.Scheduler, m.Workers, m.size("/fleet=%d/clusters=%d/failovers=%d", "/recovery=%d"))
}

func (m *measurement) title() string {
	return fmt.Sprintf("%d bindings, scheduler %s, workers %d%s", m.Bindings, m.Scheduler, m.Workers,
		m.size("; %d bindings in all, %d clusters, of which %d failed", "; recovery after %d evictions"))
}

// size names what is not so in most measurements, empty where all of it is.
func (m *measurement) size(format, recovery string) string {
	size := ""
	if m.Fleet != 0 || m.Clusters != defaultClusters || m.Failovers != 1 {
		size = fmt.Sprintf(format, m.Fleet, m.Clusters, m.Failovers)
	}
	if m.Recovery > 0 {
		size += fmt.Sprintf(recovery, m.Recovery)
	}
	return size
}

func (m *measurement) group(name string) { m.groupName = name }

// add keeps a figure, and its limit where there is one.
func (m *measurement) add(unit string, value float64, limit ...float64) {
	f := figure{Group: m.groupName, Unit: unit, Value: value}
	for _, l := range limit {
		f.Limit = l
	}
	m.Figures = append(m.Figures, f)
}

// value is that of a figure which was added.
func (m *measurement) value(unit string) float64 {
	for _, f := range m.Figures {
		if f.Unit == unit {
			return f.Value
		}
	}
	return 0
}

// timed is how long it took.
func (m *measurement) timed(seen *moments) {
	m.Curves = [3][]float64{seen.since(seen.evicted), seen.since(seen.placed), seen.since(seen.released)}
	evicted, placed, released := m.Curves[0], m.Curves[1], m.Curves[2]
	n, last := float64(m.Bindings), m.Bindings-1
	patches, starts := m.value("raw-patches/sec"), m.value("raw-starts/sec")
	m.group("seconds since the taint")
	m.add("first-evicted-sec", evicted[0])
	m.add("last-evicted-sec", evicted[last], n/patches)
	if m.schedulerRate > 0 {
		m.add("last-placed-sec", placed[last], n/m.schedulerRate)
		m.add("last-placed-%-of-floor", 100*placed[last]*m.schedulerRate/n)
	} else {
		m.add("last-placed-sec", placed[last])
	}
	m.add("released-p50-sec", released[last/2])
	m.add("released-p99-sec", released[last*99/100])
	m.add("last-released-sec", released[last])
	m.add("placed-to-released-p50-sec", seen.heldAfter(seen.placed)[last/2])
	m.add("healthy-to-released-p50-sec", seen.heldAfter(seen.healthy)[last/2])
	m.group("rate")
	m.add("evicted/sec", float64(last)/max(evicted[last]-evicted[0], 1e-9), patches)
	m.add("released/sec", float64(last)/max(released[last]-released[0], 1e-9), starts)
	longest := 0.0
	for i := range last {
		longest = max(longest, evicted[i+1]-evicted[i])
	}
	m.add("longest-pause-sec", longest)
}

// recovered measures a recovery in the middle: from the moment at which the API server says Ready to the workflow task
// that abandons all that is pending, the window of the rule aside.
func (m *measurement) recovered(s *scene, seen *moments, failing []string) {
	s.await("enough are evicted", func() (bool, string) { return seen.evictedBy(*benchRecovery) })
	abandoned, slowest := 0, time.Duration(0)
	for i, ended := range s.recover(failing) {
		for _, a := range ended.Attempts {
			abandoned += a.Counts["Abandoned"]
		}
		settling := s.entered(failoverID(failing[i]), "Settling")
		slowest = max(slowest, settling.Sub(seen.ready(failing[i]))-benchWindow)
	}
	require.Positive(s, abandoned, "some were pending when the clusters came back")
	m.group("recovery")
	m.add("abandoned", float64(abandoned))
	m.add("abandoned-sec", slowest.Seconds())
}

// entered is when a workflow first showed a phase.
func (s *scene) entered(id, phase string) time.Time {
	for _, run := range s.runsOf("WorkflowId = '" + id + "'") {
		for _, e := range s.eventsOf(id, run.run) {
			shown := e.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields()["LifeboatPhase"]
			if strings.Contains(string(shown.GetData()), phase) {
				return e.EventTime.AsTime()
			}
		}
	}
	require.Fail(s, id+" never was in phase "+phase)
	return time.Time{}
}

// counted is what it took in requests and events, from an offset in the audit log on.
func (m *measurement) counted(s *scene, failing []string, requests, pacer int64) {
	m.group("per migration")
	n, events := float64(m.Bindings), int64(0)
	migrations := s.runsOf(migrationsOf(failing...))
	for _, run := range migrations {
		events += run.events
	}
	m.add("migrations/binding", float64(len(migrations))/n)
	m.add("events-migration", float64(events)/n)
	events = 0
	for _, from := range failing {
		events += s.events(failoverID(from))
	}
	m.add("events-failover", float64(events)/n)
	m.add("events-pacer", float64(s.events(pacerID)-pacer)/n)
	all := 0.0
	took := s.requestTimes(requests)
	for _, what := range slices.Sorted(maps.Keys(took)) {
		count, milliseconds := float64(len(took[what])), 0.0
		for _, t := range took[what] {
			milliseconds += t.Seconds() * 1000 / count
		}
		all += count / n
		if count/n >= 0.1 {
			say("bench: %6.1f %s per migration, %.0f ms each", count/n, what, milliseconds)
		}
	}
	m.add("requests-worker", all)
}

// measured are the processes that a benchmark shows: Lifeboat's, then the lab's and its own.
var measured = []string{"lifeboat-worker", "lifeboat", "temporal-dev", "postgres", "kube-apiserver", "etcd", "lab", "e2e.test"}

// used is what the processes took meanwhile.
func (m *measurement) used(before, after map[string]usage) {
	runs := slices.DeleteFunc(slices.Clone(measured), func(name string) bool { return after[name].peak == 0 }) // PostgreSQL may not
	m.group("processor, per migration")
	for _, name := range runs {
		m.add("ms-"+name, (after[name].seconds-before[name].seconds)*1000/float64(m.Bindings))
	}
	m.group("memory, peak")
	for _, name := range runs {
		m.add("MB-"+name, after[name].peak)
	}
}

// save adds the measurement to the files of a path: all as JSON, as tables, as curves, and as lines of a Go benchmark.
func (m *measurement) save(path string) error {
	if path == "" {
		return nil
	}
	var all []measurement
	raw, err := os.ReadFile(path + ".json")
	if !errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(err, json.Unmarshal(raw, &all))
	} else {
		err = nil
	}
	all = append(all, *m)
	var encoded, lines []string
	for _, each := range all {
		line, bad := json.Marshal(each)
		err = errors.Join(err, bad)
		encoded, lines = append(encoded, string(line)), append(lines, each.line())
	}
	if err != nil {
		return err
	}
	for ending, content := range map[string]string{
		".json": "[\n" + strings.Join(encoded, ",\n") + "\n]\n", ".txt": strings.Join(lines, ""), ".table": tables(all), ".svg": plot(all),
	} {
		err = errors.Join(err, os.WriteFile(path+ending, []byte(content), 0o600))
	}
	return err
}

// line is the measurement as a Go benchmark prints it.
func (m *measurement) line() string {
	line := "BenchmarkFailover/" + m.setting() + " 1"
	for _, f := range m.Figures {
		line += fmt.Sprintf(" %.4g %s", f.Value, f.Unit)
	}
	return line + "\n"
}

// bySetting are the measurements of each setting, in the order in which they were taken.
func bySetting(all []measurement) [][]measurement {
	var out [][]measurement
	for _, m := range all {
		at := slices.IndexFunc(out, func(same []measurement) bool { return same[0].setting() == m.setting() })
		if at < 0 {
			at, out = len(out), append(out, nil)
		}
		out[at] = append(out[at], m)
	}
	return out
}

// tables are the figures for a person: a table for each setting, with a column for each run, and the limit beside it.
func tables(all []measurement) string {
	var out strings.Builder
	for _, runs := range bySetting(all) {
		t := table.NewWriter()
		t.SetStyle(table.StyleLight)
		t.SetTitle(runs[0].title())
		header := table.Row{"", ""}
		for i := range runs {
			header = append(header, fmt.Sprintf("run %d", i+1), "limit")
		}
		t.AppendHeader(header)
		for i, f := range runs[0].Figures {
			row := table.Row{"", f.Unit}
			if i == 0 || f.Group != runs[0].Figures[i-1].Group {
				t.AppendSeparator()
				row[0] = f.Group
			}
			for _, m := range runs {
				row = append(row, readable(m.Figures[i].Value), readable(m.Figures[i].Limit))
			}
			t.AppendRow(row)
		}
		columns := make([]table.ColumnConfig, 2*len(runs))
		for i := range columns {
			columns[i] = table.ColumnConfig{Number: i + 3, Align: text.AlignRight}
		}
		t.SetColumnConfigs(columns)
		out.WriteString(t.Render() + "\n\n")
	}
	return out.String()
}

// readable is a value to three digits, nothing for 0.
func readable(value float64) string {
	switch {
	case value == 0:
		return ""
	case value >= 100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.2f", value)
	}
}
