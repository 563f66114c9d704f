// Command monitoring holds deploy/monitoring against Prometheus' own engine: its
// tests run the alerts' unit tests and parse every query of the dashboard, and the
// command records a run and computes what the dashboard would show of it.
//
// It is a module of its own: none of Prometheus is a need of the product's. promtool
// would do for the alerts, but takes four and a half minutes of CPU to build; the
// packages for rules and queries take one and a half.
package main
