// Package process has the start of Lifeboat's programs: flags, log, connections to Temporal and
// Karmada, and errors that name what is missing and how to get it.
//
// It changes nothing: every request that it sends to a server is a read.
package process
