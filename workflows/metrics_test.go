package workflows_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	corev1 "k8s.io/api/core/v1"
)

// counted keeps what workflows count themselves, by name and Lifeboat's own tags.
type counted struct {
	mu    sync.Mutex
	tags  map[string]string
	total map[string]int64
	root  *counted
}

func (c *counted) WithTags(tags map[string]string) client.MetricsHandler {
	all := maps.Clone(c.tags)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, tags)
	root := c.root
	if root == nil {
		root = c
	}
	return &counted{tags: all, root: root}
}

func (c *counted) Counter(name string) client.MetricsCounter { return counter{c, name} }

func (*counted) Gauge(string) client.MetricsGauge { return nothing{} }

func (*counted) Timer(string) client.MetricsTimer { return nothing{} }

type nothing struct{}

func (nothing) Update(float64) {}

func (nothing) Record(time.Duration) {}

type counter struct {
	of   *counted
	name string
}

func (c counter) Inc(n int64) {
	if !strings.HasPrefix(c.name, "lifeboat_evict") {
		return
	}
	name := c.name
	for _, tag := range []string{"cluster", "kind"} {
		if value, ok := c.of.tags[tag]; ok {
			name += fmt.Sprintf(" %s=%s", tag, value)
		}
	}
	root := c.of.root
	root.mu.Lock()
	defer root.mu.Unlock()
	if root.total == nil {
		root.total = map[string]int64{}
	}
	root.total[name] += n
}

// processed keeps what the evict activity measures.
type processed struct {
	world.Meter
	mu     sync.Mutex
	ends   []string
	queued []time.Duration
	due    []time.Duration
}

func (p *processed) Evicted(cluster, result string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends = append(p.ends, cluster+" "+result)
}

func (p *processed) LeftQueue(_ string, sinceQueued, sinceDue time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queued, p.due = append(p.queued, sinceQueued), append(p.due, sinceDue)
}

// Karmada's proposal: evict_total and evict_kind_total count what entered the queue, once,
// however often its eviction is tried; the latency counts from there.
func TestMetrics_EvictionTriedTwice_CountsOneThatEnteredTheQueue(t *testing.T) {
	s := newStory(t)
	meter := &processed{}
	s.meter = meter
	s.bind("app", []string{"m1"}, "m1", "m2")
	patient := s.bind("patient", []string{"m1"}, "m1", "m2")
	seconds := int64(120)
	s.world.Change(patient, func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}
		b.Resource.APIVersion, b.Resource.Kind = "v1", "ConfigMap"
	})
	// The first eviction is refused: it stays in the queue.
	s.world.Fail = func(op, _ string) error {
		if op == "evict" {
			return karmada.ErrForbidden
		}
		return nil
	}
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.Fail = nil })
	s.at(40*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "patient": "Migrated"}, outcomes(r))

	require.Equal(t, map[string]int64{
		"lifeboat_evict cluster=m1":                               2,
		"lifeboat_evict_kind cluster=m1 kind=apps/v1, Deployment": 1,
		"lifeboat_evict_kind cluster=m1 kind=v1, ConfigMap":       1,
	}, s.counts.total)
	slices.Sort(meter.ends)
	require.Contains(t, meter.ends, "m1 refused")
	require.Len(t, meter.queued, 2, "a refused eviction has not left the queue")
	for n := range meter.queued {
		require.Positive(t, meter.due[n])
	}
	// What tolerates for two minutes has been in the queue for as much longer.
	longest := slices.MaxFunc([]int{0, 1}, func(a, b int) int { return int(meter.queued[a]-meter.due[a]) - int(meter.queued[b]-meter.due[b]) })
	require.InDelta(t, 120, (meter.queued[longest] - meter.due[longest]).Seconds(), 5)
}
