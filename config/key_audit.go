package config

// Audit says where the workers write the audit trail.
type Audit struct {
	Sink AuditSink
	// Path is the file, with [AuditFile].
	Path string
	// MaxSizeMB and MaxBackups say when the file is rotated, and how many rotated ones are kept.
	MaxSizeMB  int
	MaxBackups int
}

// AuditSink is where audit records go.
type AuditSink string

// Nowhere; to the worker's standard output, which carries nothing else; into a file.
const (
	AuditNone   AuditSink = "none"
	AuditStdout AuditSink = "stdout"
	AuditFile   AuditSink = "file"
)

func (c *Config) auditKeys() []key {
	return []key{
		choice("audit.sink", &c.Audit.Sink, []AuditSink{AuditNone, AuditStdout, AuditFile},
			"Where workers append the audit trail, as JSON lines: nowhere, to their standard output (the log is on standard error), or into a file."),
		text("audit.path", &c.Audit.Path, anyText,
			"With audit.sink = file, the file; {host} stands for the name of the machine or pod. Two workers may not share one. history reads it."),
		fixed(whole("audit.maxSizeMB", &c.Audit.MaxSizeMB, 1, 10000,
			"Size in megabytes from which on the file is rotated.")),
		fixed(whole("audit.maxBackups", &c.Audit.MaxBackups, 0, 10000,
			"How many rotated files are kept; 0 keeps all.")),
	}
}
