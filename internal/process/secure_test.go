package process

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/secrecy"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures/testca"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// guarded is a Temporal server that lets in whom it is told to, by certificate and key.
type guarded struct {
	workflowservice.UnimplementedWorkflowServiceServer
	address string
	trusts  atomic.Pointer[x509.CertPool]
	key     atomic.Pointer[string]
	server  *grpc.Server
}

func (g *guarded) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{}}, nil
}

func (g *guarded) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{}, nil
}

func (g *guarded) check(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	sent, _ := metadata.FromIncomingContext(ctx)
	if want := g.key.Load(); want != nil && (len(sent["authorization"]) != 1 || sent["authorization"][0] != "Bearer "+*want) {
		return nil, status.Error(codes.PermissionDenied, "another key")
	}
	return handle(ctx, request)
}

// guard serves at an address, a free one where it is empty.
func guard(t *testing.T, by testca.Authority, address string) *guarded {
	t.Helper()
	cert := fixtures.Must(tls.LoadX509KeyPair(by.Issue(t, t.TempDir())))(t)
	g := &guarded{}
	g.trusts.Store(by.Pool())
	secure := &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{
				MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"},
				ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: g.trusts.Load(),
			}, nil
		},
	}
	listener := fixtures.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", address))(t)
	g.address = listener.Addr().String()
	g.server = grpc.NewServer(grpc.Creds(credentials.NewTLS(secure)), grpc.UnaryInterceptor(g.check))
	workflowservice.RegisterWorkflowServiceServer(g.server, g)
	go func() { _ = g.server.Serve(listener) }()
	t.Cleanup(g.server.Stop)
	return g
}

// Certificate, key and API key are exchanged while the program runs: the next
// connection, and the next call, are made with the new ones.
func TestWhoWeAreIsReadAgainWithoutARestart(t *testing.T) {
	first, second := testca.New(t), testca.New(t)
	folder := t.TempDir()
	server := guard(t, first, "127.0.0.1:0")
	ca := first.Write(t, folder)
	cert, key := first.Issue(t, folder)
	apiKey := filepath.Join(folder, "api-key")
	setKey := func(value string) {
		server.key.Store(&value)
		require.NoError(t, os.WriteFile(apiKey, []byte(value+"\n"), 0o600))
	}
	setKey("one")
	for name, value := range map[string]string{
		"TEMPORAL_ADDRESS": server.address, "TEMPORAL_NAMESPACE": "n", "TEMPORAL_TLS_SERVER_CA_CERT_PATH": ca,
		"TEMPORAL_TLS_CLIENT_CERT_PATH": cert, "TEMPORAL_TLS_CLIENT_KEY_PATH": key,
	} {
		t.Setenv(name, value)
	}
	c := config.Default()
	c.Temporal.APIKeyFile = apiKey
	temporal := fixtures.Must(Dial(t.Context(), TemporalOptions{Program: "test", Config: c, Log: slog.New(slog.DiscardHandler)}))(t)
	defer temporal.Close()
	answers := func() bool {
		_, err := temporal.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{})
		return err == nil
	}
	require.True(t, answers())

	setKey("another")
	require.Eventually(t, answers, time.Minute, 50*time.Millisecond, "the new API key is sent")

	// From now on only certificates of the second authority are good, for new connections.
	server.trusts.Store(second.Pool())
	second.Issue(t, folder)
	old := server.address
	server.server.Stop()
	again := guard(t, first, old)
	again.trusts.Store(second.Pool())
	again.key.Store(server.key.Load())
	require.Eventually(t, answers, time.Minute, 50*time.Millisecond, "the new certificate is shown")
}

func TestAnAPIKeyIsNotSentInTheClear(t *testing.T) {
	file := filepath.Join(t.TempDir(), "api-key")
	require.NoError(t, os.WriteFile(file, []byte("secret-of-mine"), 0o600))
	t.Setenv("TEMPORAL_TLS", "false")
	c := config.Default()
	c.Temporal.APIKeyFile = file
	_, _, err := connection(c, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, errBare)
	t.Setenv("TEMPORAL_TLS", "true")
	options, shown, err := connection(c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NotNil(t, options.ConnectionOptions.TLS)
	require.Equal(t, []telemetry.Credential{{Server: "temporal", File: file, Value: []byte{}}, {Server: "temporal"}}, shown)
	require.NoError(t, os.WriteFile(file, []byte("secret of mine"), 0o600))
	_, _, err = connection(c, slog.New(slog.DiscardHandler))
	require.Error(t, err)
	require.NotContains(t, err.Error(), "mine")
}

// Nor is one that Temporal's own configuration names.
func TestAnAPIKeyOfTemporalsOwnIsNotSentInTheClear(t *testing.T) {
	t.Setenv("TEMPORAL_API_KEY", "secret-of-mine")
	options, _, err := connection(config.Default(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NotNil(t, options.ConnectionOptions.TLS)
	t.Setenv("TEMPORAL_TLS", "false")
	_, _, err = connection(config.Default(), slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, errBare)
	require.NotContains(t, err.Error(), "mine")
}

// serving is a program's endpoint for metrics and health, as configured.
func serving(t *testing.T, c config.Config) *telemetry.Server {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	secure := fixtures.Must(ServerTLS(c, log))(t)
	server := &telemetry.Server{Address: "127.0.0.1:0", Registry: telemetry.NewRegistry("test", ""), Log: log, TLS: secure}
	require.NoError(t, server.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	return server
}

// Metrics and health are served under the configured certificate, the next one as soon
// as it is there; metrics only to whom the authority knows, health to everybody.
func TestMetricsAreServedToWhomTheAuthorityKnows(t *testing.T) {
	by, folder := testca.New(t), t.TempDir()
	c := config.Default()
	c.Listen.TLS.CertFile, c.Listen.TLS.KeyFile = by.Issue(t, folder)
	c.Listen.TLS.ClientCAFile = by.Write(t, folder)
	server := serving(t, c)

	get := func(path string, shows ...tls.Certificate) (code int, serial *big.Int) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: by.Pool(), Certificates: shows}}
		defer transport.CloseIdleConnections()
		request := fixtures.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+server.Address+path, http.NoBody))(t)
		response := fixtures.Must((&http.Client{Transport: transport}).Do(request))(t)
		require.NoError(t, response.Body.Close())
		return response.StatusCode, response.TLS.PeerCertificates[0].SerialNumber
	}
	known, err := tls.LoadX509KeyPair(by.Issue(t, t.TempDir()))
	require.NoError(t, err)
	code, before := get("/metrics", known)
	require.Equal(t, http.StatusOK, code)
	code, _ = get("/metrics")
	require.Equal(t, http.StatusUnauthorized, code)
	code, _ = get("/healthz")
	require.Equal(t, http.StatusOK, code)

	by.Issue(t, folder)
	code, after := get("/healthz")
	require.Equal(t, http.StatusOK, code)
	require.NotEqual(t, before, after, "the new certificate is served")

	plain, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server.Address+"/metrics", http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(plain)
	if err == nil {
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusBadRequest, response.StatusCode, "not in the clear")
	}
}

// Who may come in is read again, too: with another authority in the file, who shows a
// certificate of it is let in, and who shows one of the old is not, nor by a session from before.
func TestWhoMayReadMetricsIsReadAgainWithoutARestart(t *testing.T) {
	first, second, folder := testca.New(t), testca.New(t), t.TempDir()
	c := config.Default()
	c.Listen.TLS.CertFile, c.Listen.TLS.KeyFile = first.Issue(t, folder)
	c.Listen.TLS.ClientCAFile = first.Write(t, folder)
	server := serving(t, c)

	scraper := func(by testca.Authority) func() (resumed bool, err error) {
		shows := fixtures.Must(tls.LoadX509KeyPair(by.Issue(t, t.TempDir())))(t)
		secure := &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: first.Pool(), ClientSessionCache: tls.NewLRUClientSessionCache(1),
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shows, nil },
		}
		return func() (resumed bool, err error) {
			transport := &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+server.Address+"/metrics", http.NoBody)
			require.NoError(t, err)
			response, err := (&http.Client{Transport: transport}).Do(request)
			if err != nil {
				return false, err
			}
			require.NoError(t, response.Body.Close())
			require.Equal(t, http.StatusOK, response.StatusCode)
			return response.TLS.DidResume, nil
		}
	}
	ofTheFirst, ofTheSecond := scraper(first), scraper(second)
	require.NoError(t, fixtures.Err(ofTheFirst()))
	require.True(t, fixtures.Must(ofTheFirst())(t), "there is no session that could outlive its authority")
	require.Error(t, fixtures.Err(ofTheSecond()))

	second.Write(t, folder)
	require.NoError(t, fixtures.Err(ofTheSecond()))
	require.ErrorContains(t, fixtures.Err(ofTheFirst()), "tls: ")
}

// Worker, controller, CLI and codec server take their codec from here.
func TestWhatIsNotEncryptedIsRefusedAsTheConfigurationSays(t *testing.T) {
	c := config.Default()
	c.Encryption.KeyFile = filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(c.Encryption.KeyFile, []byte("k1 "+base64.StdEncoding.EncodeToString(make([]byte, 32))), 0o600))
	forged := fixtures.Must(converter.GetDefaultDataConverter().ToPayload("forged"))(t)
	for _, refuses := range []bool{false, true} {
		c.Encryption.RefuseClear = refuses
		options, _, err := connection(c, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		var text string
		err = options.DataConverter.FromPayload(forged, &text)
		require.Equal(t, refuses, errors.Is(err, secrecy.ErrClear), err)
		require.NoError(t, options.DataConverter.FromPayload(fixtures.Must(options.DataConverter.ToPayload("secret"))(t), &text))
		require.Equal(t, "secret", text)
	}
}
