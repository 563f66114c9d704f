package e2e

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/lifeboat-failover/lifeboat/internal/secrecy"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures/testca"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
)

// door is what stands before a Temporal that lets nobody in without a certificate and an
// API key, as a hosted one does.
type door struct {
	Address string

	mu      sync.Mutex
	trusts  *x509.CertPool
	key     string
	open    map[net.Conn]bool
	refused int
}

// openDoor puts one before the lab's Temporal, until the story ends.
func (s *scene) openDoor(cert tls.Certificate, trusts *x509.CertPool, key string) *door {
	d := &door{trusts: trusts, key: key, open: map[net.Conn]bool{}}
	plain := &http.Protocols{}
	plain.SetUnencryptedHTTP2(true)
	within := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: s.lab.At.TemporalAddress}) },
		Transport:     &http.Transport{Protocols: plain},
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			trail(r)
			return nil
		},
	}
	server := &http.Server{ //nolint:gosec // a long poll has no end
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !d.lets(r) {
				http.Error(w, "another key", http.StatusUnauthorized)
				return
			}
			within.ServeHTTP(w, r)
		}),
		ConnState: d.note,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12,
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
				d.mu.Lock()
				defer d.mu.Unlock()
				return &tls.Config{
					MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"},
					ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: d.trusts,
				}, nil
			},
		},
	}
	var config net.ListenConfig
	listener, err := config.Listen(s.ctx, "tcp4", "127.0.0.1:0")
	require.NoError(s, err)
	d.Address = listener.Addr().String()
	go server.ServeTLS(listener, "", "") //nolint:errcheck // it ends with the story
	s.Cleanup(func() { require.NoError(s, server.Close()) })
	return d
}

func (d *door) lets(r *http.Request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := r.Header.Get("Authorization") == "Bearer "+d.key
	if !known {
		d.refused++
	}
	return known
}

// turnedAway counts those with another API key.
func (d *door) turnedAway() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refused
}

func (d *door) note(c net.Conn, state http.ConnState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if state == http.StateClosed {
		delete(d.open, c)
		return
	}
	d.open[c] = true
}

// change lets in by other certificates and another key from now on, and nobody stays.
func (d *door) change(trusts *x509.CertPool, key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trusts, d.key = trusts, key
	for c := range d.open {
		_ = c.Close() // it comes back, or does not
	}
}

// vault is where the secrets are.
type vault struct {
	folder  string
	own     testca.Authority // of metrics and of the door
	door    *door
	keyFile string
	apiKey  string
	codec   *secrecy.Codec
	secrets map[string]string
}

func (s *scene) newVault() *vault {
	v := &vault{folder: s.TempDir(), own: testca.New(s), secrets: map[string]string{}}
	v.keyFile, v.apiKey = filepath.Join(v.folder, "keys"), filepath.Join(v.folder, "api-key")
	for who, kubeconfig := range s.lab.At.Kubeconfigs {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		require.NoError(s, err)
		require.NotEmpty(s, config.BearerToken)
		v.secrets["the token of the "+who] = config.BearerToken
	}
	v.newKey(s, "old", "")
	clients := testca.New(s)
	clients.Issue(s, v.folder)
	v.plant(s, "tls.key")
	require.NoError(s, os.Mkdir(filepath.Join(v.folder, "metrics"), 0o700))
	v.own.Issue(s, filepath.Join(v.folder, "metrics"))
	v.plant(s, "metrics/tls.key")
	require.NoError(s, os.Mkdir(filepath.Join(v.folder, "door"), 0o700))
	cert, err := tls.LoadX509KeyPair(v.own.Issue(s, filepath.Join(v.folder, "door")))
	require.NoError(s, err)
	v.own.Write(s, v.folder)
	v.door = s.openDoor(cert, clients.Pool(), v.newAPIKey(s))
	v.codec, err = secrecy.NewCodec(v.keyFile, false, slog.New(slog.DiscardHandler))
	require.NoError(s, err)
	return v
}

// plant takes a line from the middle of a PEM file for a canary.
func (v *vault) plant(s *scene, file string) {
	content, err := os.ReadFile(filepath.Join(v.folder, file))
	require.NoError(s, err)
	v.secrets[fmt.Sprintf("%s no. %d", file, len(v.secrets))] = strings.Split(string(content), "\n")[1]
}

// newKey puts a key for encryption before those that the file has.
func (v *vault) newKey(s *scene, name, before string) {
	raw := make([]byte, 32)
	_, err := rand.Read(raw)
	require.NoError(s, err)
	text := base64.StdEncoding.EncodeToString(raw)
	v.secrets["the key "+name] = text
	v.secrets["the key "+name+", raw"] = string(raw)
	require.NoError(s, os.WriteFile(v.keyFile, []byte(name+" "+text+"\n"+before), 0o600))
}

func (v *vault) newAPIKey(s *scene) string {
	key := "api-key-" + rand.Text()
	v.secrets[fmt.Sprintf("API key no. %d", len(v.secrets))] = key
	require.NoError(s, os.WriteFile(v.apiKey, []byte(key+"\n"), 0o600))
	return key
}

// exchange replaces every secret; what was good before is good for nothing.
func (v *vault) exchange(s *scene) {
	before, err := os.ReadFile(v.keyFile)
	require.NoError(s, err)
	v.newKey(s, "young", string(before)) // the old one still decrypts
	clients := testca.New(s)
	clients.Issue(s, v.folder)
	v.plant(s, "tls.key")
	v.own.Issue(s, filepath.Join(v.folder, "metrics"))
	v.plant(s, "metrics/tls.key")
	v.door.change(clients.Pool(), v.newAPIKey(s))
}
