package telemetry

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestMetricsHaveTheNamesAndFormsThatPrometheusWants(t *testing.T) {
	registry := prometheus.NewRegistry()
	worker := NewWorkerMetrics(registry)
	worker.Evicted("member1", "written")
	worker.LeftQueue("member1", time.Second, time.Second)
	NewControllerMetrics(registry).Signal("cluster-observed", ResultSent)
	require.Empty(t, fixtures.Must(testutil.GatherAndLint(registry))(t))
}

func TestLeftQueue_KnownTimes_AreTwoHistograms(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewWorkerMetrics(registry)
	m.LeftQueue("member1", 3*time.Second, 0)
	m.LeftQueue("member1", -1, -1)
	families := fixtures.Must(registry.Gather())(t)
	counts, sums := map[string]uint64{}, map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if h := metric.GetHistogram(); h != nil {
				counts[family.GetName()], sums[family.GetName()] = h.GetSampleCount(), h.GetSampleSum()
			}
		}
	}
	require.Equal(t, map[string]uint64{"lifeboat_evict_processing_latency_seconds": 1, "lifeboat_evict_due_latency_seconds": 1}, counts)
	require.Equal(t, map[string]float64{"lifeboat_evict_processing_latency_seconds": 3, "lifeboat_evict_due_latency_seconds": 0}, sums)
}

func TestTemporalsMetricsStandBesideLifeboats(t *testing.T) {
	registry := prometheus.NewRegistry()
	handler := fixtures.Must(TemporalMetrics(registry, func(err error) { t.Error(err) }))(t)
	handler.WithTags(map[string]string{"cluster": "member1"}).Counter("lifeboat_permits_granted").Inc(2)
	handler.Timer("temporal_request_latency").Record(time.Second)
	families := fixtures.Must(registry.Gather())(t)
	types := map[string]string{}
	for _, family := range families {
		types[family.GetName()] = family.GetType().String()
	}
	require.Equal(t, map[string]string{
		"lifeboat_permits_granted_total":   "COUNTER",
		"temporal_request_latency_seconds": "HISTOGRAM",
	}, types)
}

// Two Lifeboats, and other applications on Temporal, may be scraped by one Prometheus.
func TestNewRegistry_EveryMetric_CarriesTheInstance(t *testing.T) {
	for instance, want := range map[string]string{"": DefaultInstance, "eu": "eu"} {
		registry := NewRegistry("lifeboat-worker", instance)
		handler := fixtures.Must(TemporalMetrics(registry, func(err error) { t.Error(err) }))(t)
		handler.Counter("temporal_workflow_task_execution_failed").Inc(1)
		NewWorkerMetrics(registry).Evicted("member1", "written")
		NewFleet(registry, time.Now).Set(&FleetState{Failovers: []FailoverState{{Cluster: "member1"}}})
		families := fixtures.Must(registry.Gather())(t)
		names := map[string]bool{}
		for _, family := range families {
			names[family.GetName()] = true
			for _, metric := range family.GetMetric() {
				got := map[string]string{}
				for _, label := range metric.GetLabel() {
					got[label.GetName()] = label.GetValue()
				}
				require.Equal(t, want, got[LabelInstance], family.GetName())
			}
		}
		for _, name := range []string{"temporal_workflow_task_execution_failed_total", "lifeboat_evict_processed_total", "lifeboat_failover_phase", "lifeboat_build_info", "go_goroutines"} {
			require.True(t, names[name], name)
		}
	}
}

func get(t *testing.T, handler http.Handler, path string) (int, string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	return recorder.Code, recorder.Body.String()
}

func TestReadyNamesEveryCheckThatFails(t *testing.T) {
	wrong := errors.New("not there")
	server := &Server{Registry: NewRegistry("lifeboat", ""), Ready: []Check{
		{Name: "temporal", Run: func(context.Context) error { return wrong }},
		{Name: "karmada", Run: func(context.Context) error { return wrong }},
		{Name: "fine", Run: func(context.Context) error { return nil }},
	}}
	code, body := get(t, server.Handler(), "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "temporal: not there\nkarmada: not there\n", body)

	code, body = get(t, server.Handler(), "/healthz")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "ok\n", body)

	code, body = get(t, server.Handler(), "/metrics")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "go_goroutines")
}

func TestTheServerListensOnAFreePortAndStops(t *testing.T) {
	server := &Server{Address: "127.0.0.1:0", Registry: NewRegistry("lifeboat", ""), Log: slog.New(slog.DiscardHandler)}
	require.NoError(t, server.Start(t.Context()))
	request := fixtures.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server.Address+"/readyz", http.NoBody))(t)
	response := fixtures.Must(http.DefaultClient.Do(request))(t)
	body := fixtures.Must(io.ReadAll(response.Body))(t)
	require.NoError(t, response.Body.Close())
	require.Equal(t, "ok\n", string(body))
	require.NoError(t, server.Stop(t.Context()))
	require.Error(t, fixtures.Err(http.DefaultClient.Do(request)))
}

func TestAnAddressInUseIsNamed(t *testing.T) {
	first := &Server{Address: "127.0.0.1:0", Registry: NewRegistry("lifeboat", ""), Log: slog.New(slog.DiscardHandler)}
	require.NoError(t, first.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, first.Stop(context.WithoutCancel(t.Context()))) })
	second := &Server{Address: first.Address, Registry: NewRegistry("lifeboat", ""), Log: slog.New(slog.DiscardHandler)}
	require.ErrorContains(t, second.Start(t.Context()), first.Address)
}

func TestNoAddressServesNothing(t *testing.T) {
	server := &Server{Address: NoAddress}
	require.NoError(t, server.Start(t.Context()))
	require.NoError(t, server.Stop(t.Context()))
}

func TestTheLoggerHoldsBackWhatIsBelowItsLevel(t *testing.T) {
	var out bytes.Buffer
	log := NewLogger(&out, "warn", FormatJSON)
	log.Info("watching")
	log.Warn("lost the lease", KeyReason, "Conflict")
	require.Contains(t, out.String(), `"msg":"lost the lease","reason":"Conflict"`)
	require.NotContains(t, out.String(), "watching")
	out.Reset()
	NewLogger(&out, "info", "text").Info("watching")
	require.Contains(t, out.String(), "level=INFO msg=watching")
}

// A check asks Karmada, by the same few requests per second that evictions are written
// with. Whoever reaches the endpoint must not use them up.
func TestManyWhoAskAtOnceAreAnsweredByOneLook(t *testing.T) {
	looks := 0
	server := &Server{Registry: NewRegistry("lifeboat", ""), Ready: []Check{{Name: "karmada", Run: func(ctx context.Context) error {
		looks++
		return ctx.Err()
	}}}}
	handler := server.Handler()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, "/readyz", http.NoBody))
	for range 1000 {
		code, _ := get(t, handler, "/readyz")
		require.Equal(t, http.StatusOK, code, "somebody who hung up is no trouble of Karmada's")
	}
	require.Less(t, looks, 100)
	server.last.at = time.Time{}
	before := looks
	get(t, handler, "/readyz")
	require.Equal(t, before+1, looks, "it looks again")
}

func TestTheFleetIsPublishedAsAWholeAndEndsWithTheTermOfItsController(t *testing.T) {
	registry := prometheus.NewRegistry()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	fleet := NewFleet(registry, func() time.Time { return now })
	require.Zero(t, testutil.CollectAndCount(fleet), "who does not lead says nothing")

	fleet.Set(&FleetState{
		Pace: &pace.Pace{
			Tier: pace.TierHalted, Reason: reason.AllFaulty, FaultRate: 1,
			FleetHealth: pace.FleetHealth{Total: 2, Faulty: []string{"a", "b"}},
		},
		Asked: map[string]bool{"fleet-pacer": false, "cluster-failover/a": true},
		Failovers: []FailoverState{{
			Cluster: "a", Mode: rules.ModeEnforce, Phase: phase.FailoverEvacuating, PendingPurge: 3,
			Bindings:     map[string]int{StateMoving: 2, StateApproval: 1},
			Blocked:      map[reason.Reason]int{reason.NoTarget: 4},
			Attention:    map[reason.Reason]int{reason.GracefulTimeout: 1},
			Waiting:      map[reason.Reason]int{reason.WindowFull: 7},
			BlockedSince: now.Add(-90 * time.Second),
		}},
	})
	require.Empty(t, fixtures.Must(testutil.GatherAndLint(registry))(t))
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP lifeboat_pace_tier 1 for the tier that holds now.
# TYPE lifeboat_pace_tier gauge
lifeboat_pace_tier{tier="halted"} 1
lifeboat_pace_tier{tier="normal"} 0
lifeboat_pace_tier{tier="reduced"} 0
# HELP lifeboat_pace_reason 1, with why that tier holds.
# TYPE lifeboat_pace_reason gauge
lifeboat_pace_reason{reason="AllFaulty"} 1
# HELP lifeboat_unanswered 1 while a workflow that runs does not answer.
# TYPE lifeboat_unanswered gauge
lifeboat_unanswered{workflow="cluster-failover/a"} 1
lifeboat_unanswered{workflow="fleet-pacer"} 0
# HELP lifeboat_oldest_blocked_seconds How long ago the first of the blocked bindings was due; 0 when none is.
# TYPE lifeboat_oldest_blocked_seconds gauge
lifeboat_oldest_blocked_seconds{cluster="a",mode="enforce"} 90
# HELP lifeboat_approvals_awaited Bindings that await an operator's approval now.
# TYPE lifeboat_approvals_awaited gauge
lifeboat_approvals_awaited{cluster="a",mode="enforce"} 1
# HELP lifeboat_pending_purge Old copies that stay until their cluster is back.
# TYPE lifeboat_pending_purge gauge
lifeboat_pending_purge{cluster="a",mode="enforce"} 3
# HELP lifeboat_waiting_bindings Bindings that are due and wait for their turn, by what holds them.
# TYPE lifeboat_waiting_bindings gauge
lifeboat_waiting_bindings{cluster="a",mode="enforce",reason="WindowFull"} 7
`), "lifeboat_waiting_bindings", "lifeboat_pace_tier", "lifeboat_pace_reason", "lifeboat_unanswered", "lifeboat_oldest_blocked_seconds",
		"lifeboat_approvals_awaited", "lifeboat_pending_purge"))

	fleet.Set(nil)
	require.Zero(t, testutil.CollectAndCount(fleet))
}

func TestAProgramIsKnownByItsBuildInfo(t *testing.T) {
	for _, family := range fixtures.Must(NewRegistry("lifeboat-worker", "").Gather())(t) {
		if family.GetName() == "lifeboat_build_info" {
			require.Equal(t, "lifeboat-worker", family.GetMetric()[0].GetLabel()[1].GetValue())
			return
		}
	}
	t.Fatal("no lifeboat_build_info")
}

func certificate(t *testing.T, from, until time.Time) []byte {
	t.Helper()
	key := fixtures.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: until}
	der := fixtures.Must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func token(claims string) []byte {
	return []byte("e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln\n")
}

func TestPublishCredentials_RotatedFile_SaysWhenTheNewOneEnds(t *testing.T) {
	file := t.TempDir() + "/client.crt"
	registry := prometheus.NewRegistry()
	PublishCredentials(registry, []Credential{
		{Server: "karmada", File: file, Value: token(`{"exp":1}`)},
		{Server: "karmada", Value: []byte("opaque")},
		{Server: "karmada"},
		{Server: "temporal", Value: token(`{"iat":1000,"exp":4600}`)},
		{Server: "temporal", Value: token(`{"sub":"no end"}`)},
	})
	published := func() string {
		var said strings.Builder
		for _, family := range fixtures.Must(registry.Gather())(t) {
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
	require.Empty(t, fixtures.Must(testutil.GatherAndLint(registry))(t))
}

func TestServeProfiles_Loopback_ServesEachProfile(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	at := fixtures.Must(ServeProfiles(t.Context(), "127.0.0.1:0", log))(t)
	for _, path := range []string{"", "heap?debug=1", "goroutine?debug=1", "mutex?debug=1", "block?debug=1"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/debug/pprof/"+path, http.NoBody)
		require.NoError(t, err)
		response := fixtures.Must(http.DefaultClient.Do(request))(t)
		body := fixtures.Must(io.ReadAll(response.Body))(t)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode, path)
		require.NotEmpty(t, body, path)
	}
	at = fixtures.Must(ServeProfiles(t.Context(), "", log))(t)
	require.Empty(t, at)
}

func TestServeProfiles_AnyOtherAddress_Refused(t *testing.T) {
	for _, address := range []string{"0.0.0.0:6060", ":6060", "6060", "192.0.2.1:6060", "localhost", "[::]:1"} {
		_, err := ServeProfiles(t.Context(), address, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, `want a loopback address and a port, as in 127.0.0.1:6060`, address)
	}
}
