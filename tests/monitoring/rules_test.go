package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v2"
)

const (
	alertsFile    = "../../deploy/monitoring/alerts.yaml"
	testsFile     = "../../deploy/monitoring/alerts_test.yaml"
	dashboardFile = "../../deploy/monitoring/dashboard.json"
)

// unitTests is the part of promtool's format that alerts_test.yaml uses.
type unitTests struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []unitTest     `yaml:"tests"`
}

type unitTest struct {
	Name        string         `yaml:"name"`
	Interval    model.Duration `yaml:"interval"`
	InputSeries []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	Alerts []expectation `yaml:"alert_rule_test"`
}

type expectation struct {
	EvalTime  model.Duration `yaml:"eval_time"`
	Alertname string         `yaml:"alertname"`
	Exp       []struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	} `yaml:"exp_alerts"`
}

func readTests(t *testing.T) unitTests {
	t.Helper()
	content, err := os.ReadFile(testsFile)
	require.NoError(t, err)
	var tests unitTests
	require.NoError(t, yaml.UnmarshalStrict(content, &tests))
	require.Equal(t, []string{filepath.Base(alertsFile)}, tests.RuleFiles)
	return tests
}

func readAlerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(alertsFile, false, model.LegacyValidation, queries, promslog.NewNopLogger())
	require.Empty(t, errs)
	var all []rulefmt.Rule
	for _, group := range groups.Groups {
		all = append(all, group.Rules...)
	}
	return slices.DeleteFunc(all, func(r rulefmt.Rule) bool { return r.Alert == "" })
}

func TestAlertsFireAfterTheirTimeAndNotWhileAllIsWell(t *testing.T) {
	tests := readTests(t)
	for _, test := range tests.Tests {
		t.Run(test.Name, func(t *testing.T) { test.run(t, time.Duration(tests.EvaluationInterval)) })
	}
}

// run evaluates the rules step by step with Prometheus' own rule manager, and
// compares who fires at each time that the test names.
func (u unitTest) run(t *testing.T, every time.Duration) {
	t.Helper()
	var load strings.Builder
	fmt.Fprintf(&load, "load %s\n", u.Interval)
	for _, s := range u.InputSeries {
		fmt.Fprintf(&load, "  %s %s\n", s.Series, s.Values)
	}
	suite, err := promqltest.NewLazyLoader(load.String(), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	require.NoError(t, err)
	defer suite.Close() //nolint:errcheck // a temporary folder
	groups := loadGroups(t, suite, every)
	last := time.Duration(0)
	for _, a := range u.Alerts {
		last = max(last, time.Duration(a.EvalTime))
	}
	for at := time.Duration(0); at <= last; at += every {
		now := time.Unix(0, 0).UTC().Add(at)
		suite.WithSamplesTill(now, func(err error) {
			require.NoError(t, err)
			for _, g := range groups {
				g.Eval(suite.Context(), now)
			}
		})
		for _, a := range u.Alerts {
			if time.Duration(a.EvalTime) == at {
				a.check(t, groups)
			}
		}
	}
}

func loadGroups(t *testing.T, suite *promqltest.LazyLoader, every time.Duration) []*rules.Group {
	t.Helper()
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:  rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()),
		Appendable: suite.Storage(),
		Context:    t.Context(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger:     promslog.NewNopLogger(),
		Parser:     queries,
	})
	loaded, errs := manager.LoadGroups(every, labels.EmptyLabels(), "", nil, false, alertsFile)
	require.Empty(t, errs)
	groups := slices.Collect(maps.Values(loaded))
	for _, g := range groups {
		for _, r := range g.AlertingRules() {
			r.SetRestored(true)
		}
	}
	return groups
}

// check compares one alert at this moment.
func (a expectation) check(t *testing.T, groups []*rules.Group) {
	t.Helper()
	var got, want []string
	for _, g := range groups {
		for _, r := range g.AlertingRules() {
			require.NoError(t, r.LastError(), "%s at %s", r.Name(), a.EvalTime)
			for _, alert := range r.ActiveAlerts() {
				if r.Name() == a.Alertname && alert.State == rules.StateFiring {
					got = append(got, alert.Labels.String()+" "+alert.Annotations.String())
				}
			}
		}
	}
	for _, e := range a.Exp {
		all := maps.Clone(e.Labels)
		all[labels.AlertName] = a.Alertname
		want = append(want, labels.FromMap(all).String()+" "+labels.FromMap(e.Annotations).String())
	}
	assert.ElementsMatch(t, want, got, "%s at %s", a.Alertname, a.EvalTime)
}

// The rates of Karmada's proposal: what left the queue per second and cluster, and the
// share of it that was written.
func TestRecordingRules_SomeEvictionsRefused_RateLeavesThemOut(t *testing.T) {
	const load = `load 30s
  lifeboat_evict_processed_total{cluster="m1",job="worker",result="written"} 0+6x20
  lifeboat_evict_processed_total{cluster="m1",job="worker",result="gone"} 0+3x20
  lifeboat_evict_processed_total{cluster="m1",job="worker",result="refused"} 0+2x20
  lifeboat_evict_processed_total{cluster="m2",job="worker",result="gone"} 0+3x20
`
	suite, err := promqltest.NewLazyLoader(load, promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	require.NoError(t, err)
	defer suite.Close() //nolint:errcheck // a temporary folder
	groups, now := loadGroups(t, suite, 30*time.Second), time.Unix(600, 0).UTC()
	suite.WithSamplesTill(now, func(err error) {
		require.NoError(t, err)
		for _, g := range groups {
			g.Eval(suite.Context(), now)
		}
	})
	got := map[string]string{}
	for _, name := range []string{"lifeboat_evict_rate", "lifeboat_evict_success_rate"} {
		query, err := suite.QueryEngine().NewInstantQuery(suite.Context(), suite.Queryable(), nil, name, now)
		require.NoError(t, err)
		vector, err := query.Exec(suite.Context()).Vector()
		require.NoError(t, err)
		for _, sample := range vector {
			got[name+" "+sample.Metric.Get("cluster")] = fmt.Sprintf("%.2f", sample.F)
		}
	}
	want := map[string]string{"lifeboat_evict_rate m1": "0.30", "lifeboat_evict_rate m2": "0.10", "lifeboat_evict_success_rate m1": "0.75"}
	require.Equal(t, want, got)
}

// Whoever adds an alert shows when it fires, when it does not yet, and that a fleet
// that is well leaves it silent.
func TestEveryAlertHasItsTests(t *testing.T) {
	tests := readTests(t)
	type shown struct{ fires, early, well bool }
	got := map[string]*shown{}
	for _, rule := range readAlerts(t) {
		got[rule.Alert] = &shown{}
	}
	for n, test := range tests.Tests {
		fired := map[string]model.Duration{}
		for _, a := range test.Alerts {
			if len(a.Exp) > 0 {
				fired[a.Alertname] = a.EvalTime
			}
		}
		for _, a := range test.Alerts {
			s := got[a.Alertname]
			require.NotNil(t, s, "%q tests %q, which is no alert", test.Name, a.Alertname)
			s.fires = s.fires || len(a.Exp) > 0
			s.early = s.early || len(a.Exp) == 0 && a.EvalTime < fired[a.Alertname]
			s.well = s.well || n == 0 && len(a.Exp) == 0
		}
	}
	for name, s := range got {
		assert.Equal(t, shown{fires: true, early: true, well: true}, *s, "%s: fires in a test, not before its time, and not while all is well (the first test)", name)
	}
}

func TestEveryAlertSaysHowBadItIsAndWhereToRead(t *testing.T) {
	const book = "https://github.com/lifeboat-failover/lifeboat/blob/main/docs/operations.md#"
	for _, rule := range readAlerts(t) {
		assert.Contains(t, []string{"page", "ticket"}, rule.Labels["severity"], rule.Alert)
		assert.NotZero(t, rule.For, "%s: fires at the first blip", rule.Alert)
		assert.Equal(t, book+strings.ToLower(rule.Alert), rule.Annotations["runbook_url"], rule.Alert)
		assert.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
	}
}
