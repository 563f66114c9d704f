package telemetry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

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
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestLeftQueue_KnownTimes_AreTwoHistograms(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewWorkerMetrics(registry)
	m.LeftQueue("member1", 3*time.Second, 0)
	m.LeftQueue("member1", -1, -1)
	families, err := registry.Gather()
	require.NoError(t, err)
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

func TestTemporalsMetricsStandBesideOurs(t *testing.T) {
	registry := prometheus.NewRegistry()
	handler, err := TemporalMetrics(registry, func(err error) { t.Error(err) })
	require.NoError(t, err)
	handler.WithTags(map[string]string{"cluster": "member1"}).Counter("lifeboat_permits_granted").Inc(2)
	handler.Timer("temporal_request_latency").Record(time.Second)
	families, err := registry.Gather()
	require.NoError(t, err)
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
		handler, err := TemporalMetrics(registry, func(err error) { t.Error(err) })
		require.NoError(t, err)
		handler.Counter("temporal_workflow_task_execution_failed").Inc(1)
		NewWorkerMetrics(registry).Evicted("member1", "written")
		NewFleet(registry, time.Now).Set(&FleetState{Failovers: []FailoverState{{Cluster: "member1"}}})
		families, err := registry.Gather()
		require.NoError(t, err)
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
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server.Address+"/readyz", http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, "ok\n", string(body))
	require.NoError(t, server.Stop(t.Context()))
	_, err = http.DefaultClient.Do(request)
	require.Error(t, err)
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
	log, err := NewLogger(&out, "warn", FormatJSON)
	require.NoError(t, err)
	log.Info("watching")
	log.Warn("lost the lease", KeyReason, "Conflict")
	require.Contains(t, out.String(), `"msg":"lost the lease","reason":"Conflict"`)
	require.NotContains(t, out.String(), "watching")
	_, err = NewLogger(&out, "loud", FormatText)
	require.Error(t, err)
	_, err = NewLogger(&out, "info", "xml")
	require.Error(t, err)
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
