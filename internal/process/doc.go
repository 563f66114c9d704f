// Package process is what Lifeboat's programs do when they start: read their
// flags, open the log, dial Temporal, and say in a sentence what is missing and
// how to get it.
//
// It promises to change nothing anywhere: whatever it asks of a server is a read.
package process
