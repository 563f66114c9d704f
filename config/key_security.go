package config

import (
	"net/url"
	"strings"
)

// Temporal says what of the connection to Temporal changes without a restart, and which
// build the worker is; all else is Temporal's own configuration.
type Temporal struct {
	APIKeyFile string
	Versioning Versioning
}

// Encryption says how what goes to Temporal is encrypted.
type Encryption struct {
	KeyFile string // empty: not at all
	// RefuseClear refuses what is not encrypted.
	RefuseClear bool
}

// Codec says how lifeboat codec serves.
type Codec struct {
	Address string
	Origins []string // of the pages that may ask
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
			"Which pages may ask lifeboat codec: the Temporal UI's, without a path."),
	}
}

// TLS says with which files a Lifeboat server serves.
type TLS struct {
	CertFile     string
	KeyFile      string
	ClientCAFile string
}

// origins is a list of what a browser says a page is from.
func origins(name string, target *[]string, doc string) key {
	return listOf(name, target, "a list of origins such as http://127.0.0.1:8233, without a path", doc, func(origin string) bool {
		u, err := url.Parse(origin)
		return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.Scheme+"://"+u.Host == origin
	})
}

// securityContradictions are what leaves something open that was meant to be closed.
func (c *Config) securityContradictions(add func(wrong bool, key string, v any, want string)) {
	add((c.Listen.TLS.CertFile == "") != (c.Listen.TLS.KeyFile == ""), "listen.tlsKeyFile", c.Listen.TLS.KeyFile,
		"listen.tlsCertFile and listen.tlsKeyFile need each other")
	add(c.Listen.TLS.ClientCAFile != "" && c.Listen.TLS.CertFile == "", "listen.tlsClientCaFile", c.Listen.TLS.ClientCAFile,
		"without listen.tlsCertFile nobody is asked for a certificate")
	add(c.Encryption.RefuseClear && c.Encryption.KeyFile == "", "encryption.refuseClear", c.Encryption.RefuseClear,
		"without encryption.keyFile nothing is encrypted, and all would be refused")
	add(c.Codec.Address == "-" || strings.HasPrefix(c.Codec.Address, ":"), "codec.address", c.Codec.Address,
		"say which address: whoever reaches it reads what is encrypted")
}
