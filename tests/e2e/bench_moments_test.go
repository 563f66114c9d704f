package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/require"
)

// moments are when the bindings of some clusters were first seen off them, with targets again, healthy there, and without a
// task.
type moments struct {
	from []string

	mu                        sync.Mutex
	tainted                   time.Time            // the first one, NoExecute
	well                      map[string]time.Time // when a tainted cluster was Ready again
	home                      map[string]bool
	evicted, placed, released map[string]time.Time
	healthy                   map[string]time.Time // the new copy, as Karmada says
	broken                    error
}

func newMoments(from []string) *moments {
	return &moments{
		from: from, home: map[string]bool{}, well: map[string]time.Time{},
		evicted: map[string]time.Time{}, placed: map[string]time.Time{}, healthy: map[string]time.Time{}, released: map[string]time.Time{},
	}
}

// note takes a version of a binding or of a cluster.
func (m *moments) note(v version) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v.Object.GetNamespace() == "" && slices.Contains(m.from, v.Object.GetName()) {
		m.noteCluster(v)
		return
	}
	b, err := decode[binding](v.Object)
	key := keyOf(v.Object)
	switch {
	case err != nil:
		m.broken = err
		return
	case slices.ContainsFunc(m.from, b.on):
		m.home[key] = true
		return
	case !m.home[key]:
		return
	}
	for _, x := range []struct {
		at map[string]time.Time
		is bool
	}{
		{at: m.evicted, is: true},
		{at: m.placed, is: len(b.Spec.Clusters) > 0},
		{at: m.released, is: len(b.Spec.Tasks) == 0},
		{at: m.healthy, is: slices.ContainsFunc(b.Status.Items, func(i item) bool { return b.on(i.ClusterName) && i.Health == "Healthy" })},
	} {
		if x.at[key].IsZero() && x.is {
			x.at[key] = v.Seen
		}
	}
}

// noteCluster takes a version of a cluster that fails.
func (m *moments) noteCluster(v version) {
	c, err := decode[cluster](v.Object)
	if m.broken = errors.Join(m.broken, err); err != nil || !strings.Contains(fmt.Sprint(v.Object.Object["spec"]), "NoExecute") {
		return
	}
	if m.tainted.IsZero() {
		m.tainted = v.Seen
	}
	if name := v.Object.GetName(); m.well[name].IsZero() && c.ready() {
		m.well[name] = v.Seen
	}
}

// over: so many bindings were released.
func (m *moments) over(bindings int) (ok bool, seen string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.released) == bindings, fmt.Sprintf("%d of %d are released; %v", len(m.released), bindings, m.broken)
}

// evictedBy: so many bindings were evicted, at the least.
func (m *moments) evictedBy(bindings int) (ok bool, seen string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.evicted) >= bindings, fmt.Sprintf("%d of %d are evicted; %v", len(m.evicted), bindings, m.broken)
}

// ready is when a tainted cluster was seen Ready again.
func (m *moments) ready(cluster string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.well[cluster]
}

// since are times in seconds since the taint, in order.
func (m *moments) since(all map[string]time.Time) []float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []float64
	for at := range maps.Values(all) {
		out = append(out, at.Sub(m.tainted).Round(time.Millisecond).Seconds())
	}
	slices.Sort(out)
	return out
}

// heldAfter is for how many seconds each binding was still held after a moment, in order.
func (m *moments) heldAfter(moment map[string]time.Time) (seconds []float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, at := range moment {
		seconds = append(seconds, m.released[key].Sub(at).Seconds())
	}
	slices.Sort(seconds)
	return seconds
}

// auditSize is the length of the audit log in bytes.
func (s *scene) auditSize() int64 {
	file, err := os.Stat(s.lab.At.AuditLog)
	require.NoError(s, err)
	return file.Size()
}

// requestTimes are how long the worker's requests took, by verb and resource, from an offset in the audit log on.
func (s *scene) requestTimes(offset int64) map[string][]time.Duration {
	file, err := os.Open(s.lab.At.AuditLog)
	require.NoError(s, err)
	defer file.Close() //nolint:errcheck // read only
	_, err = file.Seek(offset, io.SeekStart)
	require.NoError(s, err)
	all := map[string][]time.Duration{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef struct{ Resource string }

			RequestReceivedTimestamp, StageTimestamp time.Time
		}
		const user = "lifeboat-worker"
		if bytes.Contains(lines.Bytes(), []byte(user)) && json.Unmarshal(lines.Bytes(), &e) == nil && e.User.Username == user {
			what := e.Verb + " " + e.ObjectRef.Resource
			all[what] = append(all[what], e.StageTimestamp.Sub(e.RequestReceivedTimestamp))
		}
	}
	require.NoError(s, lines.Err())
	return all
}

// usage is what the processes of one name have used.
type usage struct {
	seconds float64 // of a processor
	peak    float64 // resident memory, MB
}

// processes are this one and those below it, the lab's and Lifeboat's, by name: another lab may run on the machine.
func (s *scene) processes() map[string]usage {
	running, err := procfs.AllProcs()
	require.NoError(s, err)
	stats := map[int]procfs.ProcStat{}
	for _, p := range running {
		if stat, err := p.Stat(); err == nil { // otherwise it is over
			stats[p.PID] = stat
		}
	}
	all := map[string]usage{}
	for _, p := range running {
		at := p.PID
		for at > 1 && at != os.Getpid() {
			at = stats[at].PPID
		}
		status, err := p.NewStatus()
		if at != os.Getpid() || err != nil {
			continue
		}
		u, stat := all[status.Name], stats[p.PID]
		all[status.Name] = usage{seconds: u.seconds + stat.CPUTime(), peak: u.peak + float64(status.VmHWM>>20)}
	}
	return all
}
