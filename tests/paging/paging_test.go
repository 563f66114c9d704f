package paging

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

const (
	alerts    = "../../deploy/monitoring/alerts.yaml"
	unitTests = "../../deploy/monitoring/alerts_test.yaml"
	dashboard = "../../deploy/monitoring/dashboard.json"
	runbook   = "../../docs/operations.md"
)

func read(t *testing.T, file string) string {
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(content)
}

// found are the first groups of all matches, sorted, each once.
func found(pattern, in string) []string {
	var all []string
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(in, -1) {
		all = append(all, match[1])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// exported are the metrics of both programs, without the endings of histograms.
func exported(t *testing.T) map[string]bool {
	names := map[string]bool{}
	registry := telemetry.NewRegistry("test", "")
	telemetry.PublishCredentials(registry, nil)
	telemetry.NewWorkerMetrics(registry)
	telemetry.NewControllerMetrics(registry)
	telemetry.NewFleet(registry, time.Now)
	all, ok := registry.Gatherer.(*prometheus.Registry)
	require.True(t, ok, "%T", registry.Gatherer)
	descs := make(chan *prometheus.Desc)
	go func() { all.Describe(descs); close(descs) }()
	for desc := range descs {
		for _, name := range found(`fqName: "([^"]*)"`, desc.String()) {
			names[name] = true
		}
	}
	// What workflows and activities count themselves.
	var files []string
	for _, folder := range []string{"workflows/*", "workflows", "activities"} {
		some, err := filepath.Glob("../../" + folder + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, some, folder)
		files = append(files, some...)
	}
	for _, file := range files {
		text := read(t, file)
		for _, name := range found(`Counter\("(lifeboat_\w+)"\)`, text) {
			names[name+"_total"] = true
		}
		require.Empty(t, found(`(?:Gauge|Timer)\("(lifeboat_\w+)"\)`, text), "a gauge of a worker is stale: see telemetry.Fleet")
	}
	for _, name := range found(`- record: (lifeboat_\w+)`, read(t, alerts)) {
		names[name] = true
	}
	ofTheSDK(t, names)
	return names
}

// ofTheSDK adds what Temporal's SDK counts, from where it names it: a new SDK may call
// it something else.
func ofTheSDK(t *testing.T, names map[string]bool) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "go.temporal.io/sdk").Output()
	require.NoError(t, err)
	text := read(t, filepath.Join(strings.TrimSpace(string(dir)), "internal/common/metrics/constants.go"))
	constant := regexp.MustCompile(`(\w+)\s+= (?:TemporalMetricsPrefix|TemporalRequest) \+ "(\w+)"`)
	matches := constant.FindAllStringSubmatch(text, -1)
	require.Greater(t, len(matches), 30)
	for _, match := range matches {
		name := "temporal_" + match[2]
		if strings.HasPrefix(match[2], "_") {
			name = "temporal_request" + match[2]
		}
		switch {
		case strings.HasSuffix(match[1], "Latency"):
			names[name+"_seconds"] = true
		case strings.HasSuffix(match[1], "Counter"), strings.HasSuffix(match[1], "Failure"):
			names[name+"_total"] = true
		default:
			names[name] = true
		}
	}
}

// queries are the expressions of the dashboard.
func queries(t *testing.T) string {
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, dashboard)), &board))
	var all strings.Builder
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			all.WriteString(target.Expr + "\n")
		}
	}
	return all.String()
}

func TestEveryMetricOfAnAlertOrPanelIsOneThatWeExport(t *testing.T) {
	known := exported(t)
	histogram := strings.NewReplacer("_bucket", "", "_sum", "", "_count", "")
	for file, text := range map[string]string{alerts: read(t, alerts), unitTests: read(t, unitTests), dashboard: queries(t)} {
		names := found(`\b((?:lifeboat|temporal)_\w+)`, text)
		require.Greater(t, len(names), 8, file)
		for _, name := range names {
			require.True(t, name == telemetry.LabelInstance || known[name] || known[histogram.Replace(name)], "%s asks for %s, which nobody exports", file, name)
		}
	}
}

// TestEveryAlertHasItsHeadingInTheRunbook holds alerts and headings both ways.
func TestEveryAlertHasItsHeadingInTheRunbook(t *testing.T) {
	_, section, ok := strings.Cut(read(t, runbook), "\n## Alerts\n")
	require.True(t, ok, "%s has no section Alerts", runbook)
	section, _, _ = strings.Cut(section, "\n## ")
	names := found(`(?m)^ *- alert: (\w+)$`, read(t, alerts))
	require.NotEmpty(t, names)
	require.Equal(t, names, found(`(?m)^### (.*)$`, section))
}
