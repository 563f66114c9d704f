package telemetry

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/otlptranslator"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	bridge "go.temporal.io/sdk/contrib/opentelemetry"
)

// TemporalMetrics publishes the metrics of Temporal's SDK, and those that
// workflows count themselves (workflow.GetMetricsHandler, silent on replay), in the same
// registry as all others. onError is called for a metric that could not be recorded.
func TemporalMetrics(registry prometheus.Registerer, onError func(error)) (client.MetricsHandler, error) {
	reader, err := exporter.New(
		exporter.WithRegisterer(registry),
		exporter.WithoutScopeInfo(),
		exporter.WithoutTargetInfo(),
		exporter.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes),
	)
	if err != nil {
		return nil, fmt.Errorf("export Temporal's metrics: %w", err)
	}
	// The default buckets are meant for milliseconds; the SDK records seconds.
	seconds := metric.NewView(metric.Instrument{Kind: metric.InstrumentKindHistogram}, metric.Stream{
		Aggregation: metric.AggregationExplicitBucketHistogram{
			Boundaries: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300},
		},
	})
	provider := metric.NewMeterProvider(metric.WithReader(reader), metric.WithView(seconds))
	meter := provider.Meter("temporal-sdk-go")
	return bridge.NewMetricsHandler(bridge.MetricsHandlerOptions{
		Meter:                meter,
		UseMonotonicCounters: true, // counters would be exported as gauges
		OnError:              onError,
	}), nil
}
