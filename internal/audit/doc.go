// Package audit writes the audit trail, as JSON lines, and reads it back. [record.Audit] is the
// content of a line.
package audit
