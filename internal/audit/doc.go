// Package audit writes the audit trail, as JSON lines, and reads it back. What a line
// says is [record.Audit].
package audit
