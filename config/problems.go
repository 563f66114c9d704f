package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// Problem is one thing wrong with the configuration.
type Problem struct {
	Key    string
	Value  string // empty where it is not shown
	Source string // where the value came from: the file, the command line, or the variable's name
	Want   string // the allowed values, or what to do instead
}

// String is one line with all four.
func (p Problem) String() string {
	text := p.Key
	if p.Value != "" {
		text += " = " + p.Value
	}
	if p.Source != "" {
		text += " (from " + p.Source + ")"
	}
	return text + ": " + p.Want
}

// Problems is every problem of one configuration.
type Problems []Problem

// Error lists them all, one per line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = "  " + problem.String()
	}
	return fmt.Sprintf("the configuration has %s:\n%s", reason.Count(len(p), "problem"), strings.Join(lines, "\n"))
}

// value shows a raw value in an error, strings quoted and long ones cut.
func value(raw any) string {
	const most = 80
	shown := fmt.Sprintf("%v", raw)
	if s, ok := raw.(string); ok {
		shown = fmt.Sprintf("%q", s)
	}
	if len(shown) > most {
		shown = shown[:most] + "…"
	}
	return shown
}

// electionContradictions are timings that the leader election refuses: client-go lets a pause between two tries last
// up to 1.2 times its period, and one try must fit before the leader gives up.
func (c *Config) electionContradictions(add func(wrong bool, key string, v any, want string)) {
	const section = "controller.leaderElection."
	e := c.Controller.LeaderElection
	add(e.Enabled && e.RenewDeadline >= e.LeaseDuration, section+"renewDeadline", short(e.RenewDeadline),
		fmt.Sprintf("must be shorter than %sleaseDuration = %s", section, short(e.LeaseDuration)))
	add(e.Enabled && e.RetryPeriod*6/5 >= e.RenewDeadline, section+"retryPeriod", short(e.RetryPeriod),
		fmt.Sprintf("1.2 times it must be shorter than %srenewDeadline = %s", section, short(e.RenewDeadline)))
}

// contradictions are values that are valid alone and wrong together.
func (c *Config) contradictions() Problems {
	var found Problems
	add := func(wrong bool, key string, v any, want string) {
		if wrong {
			found = append(found, Problem{Key: key, Value: fmt.Sprint(v), Want: want})
		}
	}
	add(c.Health.MinHealthy >= c.Health.GracefulTimeout, "health.minHealthy", c.Health.MinHealthy,
		fmt.Sprintf("must be shorter than health.gracefulTimeout = %s, or every migration needs attention", short(c.Health.GracefulTimeout)))
	add(c.Health.Detection >= c.Health.GracefulTimeout, "health.detection", c.Health.Detection,
		fmt.Sprintf("must be shorter than health.gracefulTimeout = %s, or every migration off a Ready cluster needs attention",
			short(c.Health.GracefulTimeout)))
	for _, ns := range c.Approval.Namespaces {
		add(slices.Contains(c.ExcludeNamespaces, ns), "approval.namespaces", ns,
			"selectors.excludeNamespaces has it too: it is never moved, so no approval is ever needed")
	}
	add(c.Approval.ExpireAfter > 0 && c.Approval.ExpireAfter < time.Minute, "approval.expireAfter", short(c.Approval.ExpireAfter),
		"no operator answers within less than a minute; 0 is for ever")
	add(c.Audit.Sink == AuditFile && c.Audit.Path == "", "audit.path", c.Audit.Path, "missing: with audit.sink = file it says where the trail is written")
	c.electionContradictions(add)
	c.securityContradictions(add)
	c.versioningContradictions(add)
	return found
}
