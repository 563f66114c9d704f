package config

import (
	"fmt"
	"slices"
	"time"
)

// contradictions are values that are fine alone and wrong together.
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
		add(slices.Contains(c.Selectors.ExcludeNamespaces, ns), "approval.namespaces", ns,
			"selectors.excludeNamespaces has it too: it is never moved, so nobody is ever asked")
	}
	add(c.Approval.ExpireAfter > 0 && c.Approval.ExpireAfter < time.Minute, "approval.expireAfter", short(c.Approval.ExpireAfter),
		"nobody answers within less than a minute; 0 is for ever")
	add(c.Audit.Sink == AuditFile && c.Audit.Path == "", "audit.path", c.Audit.Path, "missing: with audit.sink = file it says where the trail is written")
	c.securityContradictions(add)
	c.versioningContradictions(add)
	return found
}
