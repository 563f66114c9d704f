package e2e

import (
	"encoding/json"
	"strings"

	"github.com/stretchr/testify/require"
)

// preflighted asks, before anything runs in enforce, whether it could: with each
// process's own rights, with those of an operator who may not write, and beside a
// second evictor.
//
// It guards §4.15's preflight: what is missing or in the way is named, and the exit
// code tells it.
//
// Rules: R4.15-15, R4.15-17, R4.15-18, R4.15-19, R4.15-21, R4.15-24.
func preflighted(s *scene) {
	from := s.c(1)
	app := s.deploy("app", from, 1, oneOf(from, s.c(2)))
	for _, role := range []string{"worker", "controller"} {
		checks, code := s.preflight(role, "--role", role, "--set", "mode=enforce")
		require.Zero(s, code, "%+v", checks)
		require.Equal(s, "ok", checks["Karmada definitions"].Result)
		require.Equal(s, "ok", checks["Karmada version"].Result, "%+v", checks)
		require.Contains(s, checks["Karmada version"].Found, "Gracefully")
		require.Equal(s, "ok", checks["Temporal search attributes"].Result)
		require.Equal(s, "warning", checks["Second evictor"].Result)
		require.Contains(s, checks["Second evictor"].Found, "could not be checked", "no task stands, and nobody has named the host cluster")
	}
	checks, code := s.preflight("operator", "--role", "worker", "--set", "mode=enforce")
	require.Equal(s, 4, code, "who may only look cannot enforce: %+v", checks)
	require.Contains(s, checks["Karmada permissions"].Found, "may not patch clusters.cluster.karmada.io")

	s.patch(s.named(app), object{"spec": object{"gracefulEvictionTasks": []any{object{
		"fromCluster": s.c(2), "producer": "TaintManager", "reason": "TaintUntolerated", "suppressDeletion": true,
	}}}})
	checks, code = s.preflight("worker", "--role", "worker", "--set", "mode=enforce")
	require.Equal(s, 4, code)
	require.Contains(s, checks["Second evictor"].Found, app)
	require.Contains(s, checks["Second evictor"].Do, "--enable-no-execute-taint-eviction=false")
	_, code = s.preflight("worker", "--role", "worker", "--set", "mode=observe")
	require.Zero(s, code, "who observes may watch another one evict")
	s.patch(s.named(app), object{"spec": object{"gracefulEvictionTasks": nil}})
	s.verified()
}

// verified has an operator, who may only look, try everything short of writing. Other
// stories put objects there that nobody can understand: those are named.
func (s *scene) verified() {
	var report struct {
		Verdict   string
		Checks    []preflightCheck
		Objects   map[string]int
		Malformed map[string][]any
	}
	code := s.preflightInto(&report, "operator", "--full")
	require.Contains(s, []int{0, 1, 4}, code)
	require.Equal(s, code == 0, report.Verdict == "ok" || report.Verdict == "warning", "the exit code tells the verdict")
	for _, resource := range []string{"clusters.cluster.karmada.io", "resourcebindings.work.karmada.io", "works.work.karmada.io"} {
		require.Positive(s, report.Objects[resource], resource)
	}
	seen := map[string]bool{}
	for _, check := range report.Checks {
		seen[check.Name] = true
		reads := strings.HasPrefix(check.Name, "Read ")
		if reads && check.Result == "failed" {
			require.Contains(s, check.Found, "cannot be understood")
			require.NotEmpty(s, report.Malformed)
		}
		if strings.HasPrefix(check.Name, "Watch ") || check.Name == "Plan" {
			require.Equal(s, "ok", check.Result, "%+v", check)
		}
	}
	for _, name := range []string{"Read propagationpolicies", "Watch clusters", "Watch resourcebindings", "Watch everything", "Plan"} {
		require.True(s, seen[name], "%s: %+v", name, report.Checks)
	}
}

// preflightCheck is one line of a preflight's answer.
type preflightCheck struct {
	Name, Result, Found, Do string
}

// preflight runs it with somebody's rights; of several checks of a name the first that
// failed is kept.
func (s *scene) preflight(who string, args ...string) (map[string]preflightCheck, int) {
	var checks []preflightCheck
	code := s.preflightInto(&checks, who, args...)
	by := map[string]preflightCheck{}
	for _, c := range checks {
		if by[c.Name].Result != "failed" {
			by[c.Name] = c
		}
	}
	return by, code
}

// preflightInto decodes what a preflight prints, and returns its exit code.
func (s *scene) preflightInto(answer any, who string, args ...string) int {
	cmd := s.lifeboat("preflight", s.lab.At.Kubeconfigs[who], append(args, "-o", "json")...)
	cmd.Stdout = nil
	out, err := cmd.Output()
	require.NoError(s, json.Unmarshal(out, answer), "it said: %s\n%s", out, tail(s.logFile("preflight"), 5))
	return exitCode(s, err)
}
