package watch

import (
	"context"
	"errors"
	"hash/fnv"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
)

// ExternalProbe probes members beside Karmada's own probe: a failure that both see is more likely one
// of the member than one of Karmada or Lifeboat. It reports a member down only after it saw the same
// member up: a member that it can never reach proves nothing. While it reaches no member at all it
// reports nothing: then Lifeboat's own network has failed.
type ExternalProbe struct {
	cfg   config.ExternalProbe
	probe func(ctx context.Context, c karmada.Cluster) answer

	mu      sync.Mutex
	members map[string]*memberState
	// recalled: the results of earlier leaders have been read, so newer ones may replace them.
	recalled bool
}

// answer is the outcome of one probe.
type answer int

const (
	noAnswer answer = iota // the member's API server does not answer, or is not ready
	healthy                // it is ready, or it answers that the probe has no credentials
	unclear                // a proxy or redirect answers, or there is no endpoint
)

// memberState is what the probe has found of one member.
type memberState struct {
	endpoint string // a digest
	up       bool   // the newest result; only meaningful when seenUp
	seenUp   bool
	recalled bool // the result is an earlier leader's, and no probe of this leader has agreed yet
	streak   int  // probes in a row against the result
	back     int  // attempts in which Karmada may not have noticed yet that the member is up again
}

// karmadaNoticesWithin is how long Karmada may need to report a member Ready that is up again: by default
// its cluster-success-threshold of 30 s, and 10 s between two checks.
const karmadaNoticesWithin = 40 * time.Second

// digest replaces an address, so that none is sent to Temporal.
func digest(endpoint string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(endpoint))
	return strconv.FormatUint(h.Sum64(), 16)
}

// Begin begins a term of leadership: a result of an earlier term waits for a probe that agrees.
func (w *ExternalProbe) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recalled = false
	for _, t := range w.members {
		t.recalled, t.streak = t.seenUp, 0
	}
}

// Recall adds the results of earlier leaders. A result of this term wins over them.
func (w *ExternalProbe) Recall(known rules.Probed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recalled = true
	for name, k := range known {
		if t := w.members[name]; t == nil || !t.seenUp || t.recalled {
			w.members[name] = &memberState{endpoint: k.Endpoint, up: k.Up, seenUp: true, recalled: true}
		}
	}
}

// Known has the results for the next leader, nil until [ExternalProbe.Recall].
func (w *ExternalProbe) Known() rules.Probed {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.recalled {
		return nil
	}
	known := rules.Probed{}
	for name, t := range w.members {
		if t.seenUp {
			known[name] = rules.ProbedMember{Endpoint: t.endpoint, Up: t.up}
		}
	}
	return known
}

// NewExternalProbe makes an external probe that probes over HTTPS, without credentials.
func NewExternalProbe(cfg config.ExternalProbe) *ExternalProbe {
	return &ExternalProbe{cfg: cfg, probe: prober{timeout: cfg.Timeout}.probe, members: map[string]*memberState{}}
}

// Probe probes all members once, in parallel, and forgets deleted ones.
func (w *ExternalProbe) Probe(ctx context.Context, fleet []karmada.Cluster) {
	answers := make([]answer, len(fleet))
	var running sync.WaitGroup
	for i, c := range fleet {
		running.Go(func() { answers[i] = w.probe(ctx, c) })
	}
	running.Wait()
	if ctx.Err() != nil {
		return // a cancelled probe proves nothing
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.members
	w.members = make(map[string]*memberState, len(fleet))
	for i, c := range fleet {
		t, at := old[c.Name], digest(c.Endpoint)
		if t == nil || t.endpoint != at {
			t = &memberState{endpoint: at}
		}
		t.add(answers[i], w.cfg)
		t.back = max(0, t.back-1)
		if answers[i] == noAnswer {
			t.back = int(karmadaNoticesWithin / w.cfg.Interval)
		}
		w.members[c.Name] = t
	}
}

// add counts one probe; enough equal ones change the result.
func (t *memberState) add(a answer, cfg config.ExternalProbe) {
	up := t.seenUp && t.up
	switch {
	case a == unclear:
		t.streak = 0
		return
	case (a == healthy) == up:
		t.streak, t.recalled = 0, false
		return
	}
	t.streak++
	switch {
	case a == healthy && t.streak >= cfg.SuccessThreshold:
		t.up, t.seenUp, t.recalled, t.streak = true, true, false, 0
	case a == noAnswer && up && t.streak >= cfg.FailureThreshold:
		t.up, t.recalled, t.streak = false, false, 0
	}
}

// Result is the result of a member, absent when there is none.
func (w *ExternalProbe) Result(cluster string) rules.ExternalProbe {
	if w == nil {
		return rules.ExternalProbeAbsent
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.members[cluster]
	switch {
	case t == nil || !t.seenUp || t.recalled:
		return rules.ExternalProbeAbsent
	case t.up:
		return rules.ExternalProbeUp
	}
	for _, other := range w.members {
		if other.seenUp && other.up && !other.recalled {
			return rules.ExternalProbeDown
		}
	}
	return rules.ExternalProbeAbsent // no member is up: the probe itself is cut off
}

// justBack reports that a probe got no answer so recently that Karmada may not have noticed yet that the
// member is up again.
func (w *ExternalProbe) justBack(cluster string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.members[cluster]
	return t != nil && t.back > 0
}

// prober sends requests to members' API servers.
type prober struct{ timeout time.Duration }

// probe requests /readyz, and /healthz from a member that does not serve it. It reaches a member the way Karmada does,
// through its proxy if it has one. It verifies no certificate, whatever spec.insecureSkipTLSVerification is: the
// member's CA (caBundle) is in the Secret with its token, which the controller may not read. A member with an expired
// certificate is up, too: Karmada cannot reach it, and the probe can.
func (p prober) probe(ctx context.Context, c karmada.Cluster) answer {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	status, err := k8sadapter.Answer(ctx, c.Endpoint, c.ProxyURL, "readyz", false)
	if err == nil && status == http.StatusNotFound {
		status, err = k8sadapter.Answer(ctx, c.Endpoint, c.ProxyURL, "healthz", false)
	}
	switch {
	case errors.Is(err, karmada.ErrInvalid): // no member was asked
		return unclear
	case err != nil:
		return noAnswer
	case status == http.StatusOK, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return healthy
	case status/100 == 3:
		return unclear
	default: // a load balancer in front of a dead API server answers 502, 503 or 504
		return noAnswer
	}
}
