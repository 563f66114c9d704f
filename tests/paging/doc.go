// Package paging holds deploy/monitoring against the rest: every metric that an alert
// or a panel names is one that Lifeboat's programs export, and every alert has its heading
// in the runbook. What the queries mean is tested in tests/monitoring, a module of
// its own, with Prometheus' engine.
package paging
