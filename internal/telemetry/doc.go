// Package telemetry is how a process tells what it does: its log, its metrics and
// its health endpoints.
//
// It promises not to matter: nothing here decides, and a scrape or a log line that
// is lost changes nothing. It keeps no global state: registries and loggers are
// passed in.
package telemetry
