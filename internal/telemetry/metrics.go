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

// LabelInstance names the Lifeboat whose metric it is, on every metric, those of Temporal's
// SDK and of Go included: another application may export the same names. Prometheus has
// a label "instance" of its own, for the address that it scrapes.
const LabelInstance = "lifeboat_instance"

// DefaultInstance is the name of a Lifeboat without a configured instance: Prometheus
// cannot tell an empty label from none.
const DefaultInstance = "default"

// Registry takes metrics and has each carry [LabelInstance].
type Registry struct {
	prometheus.Registerer
	prometheus.Gatherer
}

// NewRegistry is a registry with the metrics of the Go runtime and the process, and
// lifeboat_build_info, by which a program is missed when none of its kind is scraped.
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

// WorkerMetrics count what a worker's activities did, after they did it. The names
// are those of Karmada's cluster-failover proposal, with the prefix lifeboat_.
// What only workflows know happened (what entered the queue, grants, what came to need
// attention) they count themselves, through [TemporalMetrics]; how things stand the controller asks, see [Fleet].
type WorkerMetrics struct {
	processed *prometheus.CounterVec
	queued    *prometheus.HistogramVec
	due       *prometheus.HistogramVec
	conflicts *prometheus.CounterVec
	malformed *prometheus.CounterVec
	blocked   *prometheus.CounterVec
	beside    prometheus.Gauge
}

// NewWorkerMetrics registers a worker's metrics.
func NewWorkerMetrics(registry prometheus.Registerer) *WorkerMetrics {
	auto := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	latency := func(name, help string) *prometheus.HistogramVec {
		return auto.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: name, Help: help,
			Buckets: []float64{1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600},
		}, []string{"cluster"})
	}
	m := &WorkerMetrics{
		processed: counter("evict_processed_total", "Evictions that were processed, by result; a refused one is queued again.", "cluster", "result"),
		conflicts: counter("write_conflicts_total", "Writes that lost a race and were decided anew, by kind.", "kind"),
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

// Malformed counts an object that could not be understood.
func (m *WorkerMetrics) Malformed(kind string) { m.malformed.WithLabelValues(kind).Inc() }

// Blocked counts a check or write that said no.
func (m *WorkerMetrics) Blocked(reason reason.Reason) {
	m.blocked.WithLabelValues(string(reason)).Inc()
}

// SecondEvictor tells whether the worker stands beside a second evictor.
func (m *WorkerMetrics) SecondEvictor(beside bool) {
	m.beside.Set(0)
	if beside {
		m.beside.Set(1)
	}
}

// The results of a controller's signal.
const (
	ResultSent     = "sent"
	ResultFailed   = "failed"
	ResultNotFound = "not-found"
	ResultNeedless = "needless" // nothing spoke for a failover that was to be started
	ResultFull     = "full"     // the run has had as many signals as Temporal allows
)

// ControllerMetrics count what a controller told whom.
type ControllerMetrics struct {
	signals   *prometheus.CounterVec
	resyncs   *prometheus.CounterVec
	malformed *prometheus.CounterVec
	leader    prometheus.Gauge
}

// NewControllerMetrics registers a controller's metrics.
func NewControllerMetrics(registry prometheus.Registerer) *ControllerMetrics {
	auto := promauto.With(registry)
	m := &ControllerMetrics{
		signals: auto.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: "controller", Name: "signals_total",
			Help: "Signals to workflows, by name and result.",
		}, []string{"kind", "result"}),
		resyncs: auto.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: "controller", Name: "resyncs_total",
			Help: "Attempts in which everything was told again, by result.",
		}, []string{"result"}),
		malformed: auto.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: "controller", Name: "malformed_total",
			Help: "Objects that could not be understood, as they came, by kind.",
		}, []string{"kind"}),
		leader: auto.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: "controller", Name: "leader",
			Help: "1 while this controller is the one that watches.",
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

// Resync counts one resync, by whether everybody could be asked.
func (m *ControllerMetrics) Resync(complete bool) {
	result := ResultSent
	if !complete {
		result = ResultFailed
	}
	m.resyncs.WithLabelValues(result).Inc()
}

// Malformed counts an object that could not be understood.
func (m *ControllerMetrics) Malformed(kind string) { m.malformed.WithLabelValues(kind).Inc() }

// Leader publishes whether this controller watches.
func (m *ControllerMetrics) Leader(is bool) {
	m.leader.Set(0)
	if is {
		m.leader.Set(1)
	}
}
