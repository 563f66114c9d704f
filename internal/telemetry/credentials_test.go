package telemetry

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func certificate(t *testing.T, from, until time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func token(claims string) []byte {
	return []byte("e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln\n")
}

func TestPublishCredentials_RotatedFile_SaysWhenTheNewOneEnds(t *testing.T) {
	file := t.TempDir() + "/client.crt"
	held := func(raw []byte) func() ([]byte, error) { return func() ([]byte, error) { return raw, nil } }
	registry := prometheus.NewRegistry()
	PublishCredentials(registry, []Credential{
		{Server: "karmada", Read: func() ([]byte, error) { return os.ReadFile(file) }},
		{Server: "karmada", Read: held([]byte("opaque"))},
		{Server: "temporal", Read: held(token(`{"iat":1000,"exp":4600}`))},
		{Server: "temporal", Read: held(token(`{"sub":"no end"}`))},
	})
	published := func() string {
		var said strings.Builder
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				said.WriteString(strings.TrimPrefix(family.GetName(), "lifeboat_credential_"))
				for _, label := range metric.GetLabel() {
					said.WriteString(" " + label.GetValue())
				}
				said.WriteString(" " + time.Unix(int64(metric.GetGauge().GetValue()), 0).UTC().Format(time.TimeOnly) + "\n")
			}
		}
		return said.String()
	}
	const temporal = "expires_timestamp_seconds token temporal 01:16:40\n"
	const issued = "issued_timestamp_seconds token temporal 00:16:40\n"
	require.Equal(t, temporal+issued, published(), "a file that is not there has no series")
	for _, until := range []int64{7200, 10800} {
		require.NoError(t, os.WriteFile(file, certificate(t, time.Unix(3600, 0), time.Unix(until, 0)), 0o600))
		require.Equal(t, "expires_timestamp_seconds certificate karmada "+time.Unix(until, 0).UTC().Format(time.TimeOnly)+"\n"+temporal+
			"issued_timestamp_seconds certificate karmada 01:00:00\n"+issued, published())
	}
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}
