package config

import (
	"net/url"
	"regexp"
	"strings"
)

// Temporal is what Lifeboat configures of its connection to Temporal; Temporal's own
// configuration has the rest.
type Temporal struct {
	APIKeyFile string
	Versioning Versioning
}

// Encryption configures the encryption of payloads for Temporal.
type Encryption struct {
	KeyFile string // empty: not at all
	// RefuseClear refuses payloads that are not encrypted.
	RefuseClear bool
}

// Codec configures lifeboat codec.
type Codec struct {
	Address string
	Origins []string // of the pages that may use it
}

func (c *Config) securityKeys() []key {
	return []key{
		text("temporal.apiKeyFile", &c.Temporal.APIKeyFile, anyText,
			"File with the API key for Temporal, read again when it changes; empty leaves TEMPORAL_API_KEY and temporal.toml to say one, which is read once."),
		text("encryption.keyFile", &c.Encryption.KeyFile, anyText,
			"File of the keys that encrypt what goes to Temporal, a name and 32 bytes in base64 on each line: the first encrypts, all decrypt. Read again when it changes; empty encrypts nothing."),
		boolean("encryption.refuseClear", &c.Encryption.RefuseClear,
			"Refuse what is not encrypted, which is otherwise read as it is. For when nothing from before encryption.keyFile was set runs any more, or must be read."),
		fixed(address("codec.address", &c.Codec.Address,
			"Where lifeboat codec decrypts for the Temporal UI.")),
		origins("codec.origins", &c.Codec.Origins,
			"Which pages may use lifeboat codec: the Temporal UI's, without a path."),
	}
}

// TLS names the files of a Lifeboat server.
type TLS struct {
	CertFile     string
	KeyFile      string
	ClientCAFile string
}

// origins is a list of values of the Origin header.
func origins(name string, target *[]string, doc string) key {
	return listOf(name, target, "a list of origins such as http://127.0.0.1:8233, without a path", doc, func(origin string) bool {
		u, err := url.Parse(origin)
		return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.Scheme+"://"+u.Host == origin
	})
}

// securityContradictions are settings that would leave an intended protection off.
func (c *Config) securityContradictions(add func(wrong bool, key string, v any, want string)) {
	add((c.Listen.TLS.CertFile == "") != (c.Listen.TLS.KeyFile == ""), "listen.tlsKeyFile", c.Listen.TLS.KeyFile,
		"listen.tlsCertFile and listen.tlsKeyFile need each other")
	add(c.Listen.TLS.ClientCAFile != "" && c.Listen.TLS.CertFile == "", "listen.tlsClientCaFile", c.Listen.TLS.ClientCAFile,
		"without listen.tlsCertFile no client certificate is requested")
	add(c.Encryption.RefuseClear && c.Encryption.KeyFile == "", "encryption.refuseClear", c.Encryption.RefuseClear,
		"without encryption.keyFile nothing is encrypted, and all would be refused")
	add(c.Codec.Address == "-" || strings.HasPrefix(c.Codec.Address, ":"), "codec.address", c.Codec.Address,
		"name an address: every client that reaches it reads what is encrypted")
}

// Audit configures the audit trail of the workers.
type Audit struct {
	Sink AuditSink
	// Path is the file, with [AuditFile].
	Path string
	// MaxSizeMB is the size at which the file is rotated, MaxBackups how many rotated ones are kept.
	MaxSizeMB  int
	MaxBackups int
}

// AuditSink is where audit records go.
type AuditSink string

// Nowhere; the worker's standard output, which carries nothing else; a file.
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

// Versioning makes a worker part of a Temporal Worker Deployment: it gets only the work for
// which its build is the current one. The zero value is a worker without a version.
type Versioning struct {
	// Deployment is its name; empty: no versioning.
	Deployment string
	// BuildID names the build within it; empty: the program's own version.
	BuildID string
}

// Temporal's own limits, with a shorter length.
var (
	deploymentPattern = pattern{
		regexp.MustCompile(`^([A-Za-z0-9][-_A-Za-z0-9]{0,99})?$`),
		"nothing, or a name of up to 100 of A-Z, a-z, 0-9, - and _",
	}
	buildPattern = pattern{
		regexp.MustCompile(`^([A-Za-z0-9][-._+A-Za-z0-9]{0,99})?$`),
		"nothing, or up to 100 of A-Z, a-z, 0-9 and -._+",
	}
)

func (c *Config) versioningKeys() []key {
	v := &c.Temporal.Versioning
	return []key{
		text("temporal.versioning.deployment", &v.Deployment, deploymentPattern,
			"Name of the Worker Deployment that this worker is a build of: it works on what its build is current for. Empty: workers have no version, and each takes any work."),
		fixed(text("temporal.versioning.buildId", &v.BuildID, buildPattern,
			"With temporal.versioning.deployment, what this build is called; empty is the program's own version.")),
	}
}

func (c *Config) versioningContradictions(add func(wrong bool, key string, v any, want string)) {
	v := c.Temporal.Versioning
	add(v.BuildID != "" && v.Deployment == "", "temporal.versioning.buildId", v.BuildID,
		"without temporal.versioning.deployment no build has a name: set that as well, or leave both empty")
}
