package telemetry

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Credential is a client certificate (PEM) or a token for a server: that in the file, which may
// be rotated, or the value where there is no file.
type Credential struct {
	Server string // karmada or temporal
	File   string
	Value  []byte
}

func (c Credential) read() ([]byte, error) {
	if c.File == "" {
		return c.Value, nil
	}
	return os.ReadFile(c.File)
}

// lifetime is the validity of a credential; issued may be unknown (zero).
type lifetime struct {
	kind            string // certificate or token
	issued, expires time.Time
}

type credentials struct {
	all             []Credential
	expires, issued *prometheus.Desc
}

// PublishCredentials registers when credentials end. A credential without an end (an opaque
// token, one of a plug-in) has no series.
func PublishCredentials(registry prometheus.Registerer, all []Credential) {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "credential", name), help, []string{"server", "kind"}, nil)
	}
	registry.MustRegister(&credentials{
		all:     all,
		expires: desc("expires_timestamp_seconds", "When the credential for this server ends, in Unix time."),
		issued:  desc("issued_timestamp_seconds", "When the credential for this server was issued, in Unix time."),
	})
}

// Describe implements [prometheus.Collector].
func (c *credentials) Describe(to chan<- *prometheus.Desc) {
	to <- c.expires
	to <- c.issued
}

// Collect implements [prometheus.Collector]. Of two of one kind for one server the first counts.
func (c *credentials) Collect(to chan<- prometheus.Metric) {
	seen := map[[2]string]bool{}
	for _, credential := range c.all {
		raw, err := credential.read()
		if err != nil {
			continue
		}
		life, ok := lifetimeOf(raw)
		id := [2]string{credential.Server, life.kind}
		if !ok || seen[id] {
			continue
		}
		seen[id] = true
		at := func(moment time.Time) float64 { return float64(moment.Unix()) }
		to <- prometheus.MustNewConstMetric(c.expires, prometheus.GaugeValue, at(life.expires), id[0], id[1])
		if !life.issued.IsZero() {
			to <- prometheus.MustNewConstMetric(c.issued, prometheus.GaugeValue, at(life.issued), id[0], id[1])
		}
	}
}

// lifetimeOf reads a PEM certificate or a JSON Web Token. Nothing is verified: the server does that.
func lifetimeOf(raw []byte) (lifetime, bool) {
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return lifetime{}, false
		}
		return lifetime{"certificate", certificate.NotBefore, certificate.NotAfter}, true
	}
	parts := strings.Split(strings.TrimSpace(string(raw)), ".")
	if len(parts) != 3 {
		return lifetime{}, false
	}
	var claims struct {
		Expires float64 `json:"exp"`
		Issued  float64 `json:"iat"`
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(payload, &claims) != nil || claims.Expires == 0 {
		return lifetime{}, false
	}
	life := lifetime{kind: "token", expires: time.Unix(int64(claims.Expires), 0)}
	if claims.Issued != 0 {
		life.issued = time.Unix(int64(claims.Issued), 0)
	}
	return life, true
}
