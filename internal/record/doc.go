// Package record has what is written down for later: the lines of the audit trail, and the result
// of each migration.
package record
