package telemetry

import (
	"cmp"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const namespace = "lifeboat"

// LabelInstance names the Lifeboat instance on every metric, also on those of Temporal's SDK and
// of Go, because other applications may export the same names. Prometheus uses the label
// "instance" for the address that it scrapes.
const LabelInstance = "lifeboat_instance"

// DefaultInstance is the name of a Lifeboat without a configured instance: for Prometheus an
// empty label equals no label.
const DefaultInstance = "default"

// Registry adds [LabelInstance] to every metric.
type Registry struct {
	prometheus.Registerer
	prometheus.Gatherer
}

// NewRegistry is a registry with the metrics of the Go runtime and the process, and with
// lifeboat_build_info, whose absence shows that no such program is scraped.
func NewRegistry(program, instance string) Registry {
	all := prometheus.NewRegistry()
	label := prometheus.Labels{LabelInstance: cmp.Or(instance, DefaultInstance)}
	registry := Registry{prometheus.WrapRegistererWith(label, all), all}
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	promauto.With(registry).NewGaugeVec(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "1, with the program and its version.",
	}, []string{"program", "version"}).WithLabelValues(program, Version).Set(1)
	return registry
}

// WorkerMetrics count the effects of a worker's activities. The names are those of Karmada's
// cluster-failover proposal, with the prefix lifeboat_. Workflows count their own events (queue
// entries, permits, attention) through [TemporalMetrics]; [Fleet] has the current state.
type WorkerMetrics struct {
	processed *prometheus.CounterVec
	queued    *prometheus.HistogramVec
	due       *prometheus.HistogramVec
	conflicts *prometheus.CounterVec
	malformed *prometheus.CounterVec
	blocked   *prometheus.CounterVec
	beside    prometheus.Gauge
}

// counters registers counters of one part of Lifeboat.
func counters(registry prometheus.Registerer, part string) func(name, help string, labels ...string) *prometheus.CounterVec {
	return func(name, help string, labels ...string) *prometheus.CounterVec {
		opts := prometheus.CounterOpts{Namespace: namespace, Subsystem: part, Name: name, Help: help}
		return promauto.With(registry).NewCounterVec(opts, labels)
	}
}

// NewWorkerMetrics registers a worker's metrics.
func NewWorkerMetrics(registry prometheus.Registerer) *WorkerMetrics {
	auto := promauto.With(registry)
	counter := counters(registry, "")
	latency := func(name, help string) *prometheus.HistogramVec {
		return auto.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: name, Help: help,
			Buckets: []float64{1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600},
		}, []string{"cluster"})
	}
	m := &WorkerMetrics{
		processed: counter("evict_processed_total", "Evictions that were processed, by result; a refused one is queued again.", "cluster", "result"),
		conflicts: counter("write_conflicts_total", "Writes that lost a race and were decided again, by kind.", "kind"),
		malformed: counter("malformed_total", "Objects that could not be understood, by kind.", "kind"),
		blocked:   counter("blocked_total", "Checks and writes that said no, by reason.", "reason"),
		beside: auto.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "second_evictor",
			Help: "1 while this worker begins nothing new, because a second evictor acts on Karmada.",
		}),
		queued: latency("evict_processing_latency_seconds", "Time from when a binding entered the queue to the end of its eviction."),
		due:    latency("evict_due_latency_seconds", "Time from when a binding was due to the end of its eviction."),
	}
	for _, kind := range []string{"Cluster", "ResourceBinding", "ClusterResourceBinding"} {
		m.conflicts.WithLabelValues(kind)
		m.malformed.WithLabelValues(kind)
	}
	m.malformed.WithLabelValues("ClusterTaintRule")
	return m
}

// Evicted counts one eviction that was processed, by its result.
func (m *WorkerMetrics) Evicted(cluster, result string) {
	m.processed.WithLabelValues(cluster, result).Inc()
}

// LeftQueue measures how long an eviction took that left the queue; negative: not known.
func (m *WorkerMetrics) LeftQueue(cluster string, sinceQueued, sinceDue time.Duration) {
	if sinceQueued >= 0 {
		m.queued.WithLabelValues(cluster).Observe(sinceQueued.Seconds())
	}
	if sinceDue >= 0 {
		m.due.WithLabelValues(cluster).Observe(sinceDue.Seconds())
	}
}

// Conflict counts a write that lost a race.
func (m *WorkerMetrics) Conflict(kind string) { m.conflicts.WithLabelValues(kind).Inc() }

// Malformed counts an object that Lifeboat cannot read.
func (m *WorkerMetrics) Malformed(kind string) { m.malformed.WithLabelValues(kind).Inc() }

// Blocked counts a refused check or write.
func (m *WorkerMetrics) Blocked(reason reason.Reason) {
	m.blocked.WithLabelValues(string(reason)).Inc()
}

// SecondEvictor publishes whether a second evictor acts beside the worker.
func (m *WorkerMetrics) SecondEvictor(beside bool) { m.beside.Set(truth(beside)) }

// The results of a controller's signal.
const (
	ResultSent     = "sent"
	ResultFailed   = "failed"
	ResultNotFound = "not-found"
	ResultNeedless = "needless" // a second read showed no reason to start the failover
	ResultFull     = "full"     // the run has received as many signals as Temporal allows
)

// ControllerMetrics count the signals and resyncs of a controller.
type ControllerMetrics struct {
	signals   *prometheus.CounterVec
	resyncs   *prometheus.CounterVec
	malformed *prometheus.CounterVec
	leader    prometheus.Gauge
}

// NewControllerMetrics registers a controller's metrics.
func NewControllerMetrics(registry prometheus.Registerer) *ControllerMetrics {
	counter := counters(registry, "controller")
	m := &ControllerMetrics{
		signals:   counter("signals_total", "Signals to workflows, by name and result.", "kind", "result"),
		resyncs:   counter("resyncs_total", "Resyncs, in which the controller sends every fact again, by result.", "result"),
		malformed: counter("malformed_total", "Objects that could not be understood, when received, by kind.", "kind"),
		leader: promauto.With(registry).NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: "controller", Name: "leader", Help: "1 while this controller is the one that watches.",
		}),
	}
	m.resyncs.WithLabelValues(ResultSent)
	m.resyncs.WithLabelValues(ResultFailed)
	return m
}

// Signal counts one signal.
func (m *ControllerMetrics) Signal(kind, result string) {
	m.signals.WithLabelValues(kind, result).Inc()
}

// Resync counts one resync, by whether every workflow could be reached.
func (m *ControllerMetrics) Resync(complete bool) {
	result := ResultFailed
	if complete {
		result = ResultSent
	}
	m.resyncs.WithLabelValues(result).Inc()
}

// Malformed counts an object that Lifeboat cannot read.
func (m *ControllerMetrics) Malformed(kind string) { m.malformed.WithLabelValues(kind).Inc() }

// Leader publishes whether this controller watches.
func (m *ControllerMetrics) Leader(is bool) { m.leader.Set(truth(is)) }
