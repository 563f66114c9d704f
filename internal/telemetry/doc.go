// Package telemetry has the log, the metrics and the health endpoints of a process.
//
// Nothing here decides: a lost scrape or log line changes nothing. It has no global state:
// registries and loggers are arguments.
package telemetry
