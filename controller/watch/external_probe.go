package watch

import (
	"context"
	"crypto/tls"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// ExternalProbeConfig tunes the external probe.
type ExternalProbeConfig struct {
	// Interval is the pause between two attempts of probes, Timeout bounds one request.
	Interval, Timeout time.Duration
	// FailureThreshold and SuccessThreshold are how many probes in a row, all of one
	// kind, change the external probe's mind.
	FailureThreshold, SuccessThreshold int
}

// ExternalProbe probes members by itself, beside Karmada's own probe: what both see is
// more likely the member than Karmada or Lifeboat. It reports that a member is down only
// after it has seen the same member up, for one that it can never reach proves
// nothing; and it reports nothing when it reaches no member at all: then Lifeboat's own network has failed.
type ExternalProbe struct {
	cfg   ExternalProbeConfig
	probe func(ctx context.Context, c karmada.Cluster) answer

	mu   sync.Mutex
	seen map[string]*testimony
	// recalled: the results of earlier leaders have been read, so newer ones may replace them.
	recalled bool
}

// answer is how one probe went.
type answer int

const (
	noAnswer answer = iota // the member's API server does not answer, or says that it is not ready
	healthy                // it is ready, or it answers that the probe has no credentials
	unclear                // something on the way answers, or nothing can be asked
)

// testimony is what the external probe thinks of one member.
type testimony struct {
	endpoint string // a digest
	up       bool   // the newest settled opinion; only meaningful when settled
	settled  bool   // it has been seen up
	earlier  bool   // the opinion is an earlier leader's, and no probe of this one has agreed yet
	streak   int    // probes in a row against the opinion
	back     int    // attempts in which Karmada may not have noticed yet that it is up again
}

// noticed is how long Karmada may need to report a member Ready that is up again: by default its
// cluster-success-threshold of 30 s, and 10 s between two looks.
const noticed = 40 * time.Second

// digest stands for an address, so that none is sent to Temporal.
func digest(endpoint string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(endpoint))
	return strconv.FormatUint(h.Sum64(), 16)
}

// Begin begins a term of leadership: what is known from an earlier one waits for a probe that agrees.
func (w *ExternalProbe) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recalled = false
	for _, t := range w.seen {
		t.earlier, t.streak = t.settled, 0
	}
}

// Recall takes in the results of earlier leaders. A result of this term wins over them.
func (w *ExternalProbe) Recall(known rules.Probed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recalled = true
	for name, k := range known {
		if t := w.seen[name]; t == nil || !t.settled || t.earlier {
			w.seen[name] = &testimony{endpoint: k.Endpoint, up: k.Up, settled: true, earlier: true}
		}
	}
}

func (w *ExternalProbe) hasRecalled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.recalled
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
	for name, t := range w.seen {
		if t.settled {
			known[name] = rules.ProbedMember{Endpoint: t.endpoint, Up: t.up}
		}
	}
	return known
}

// NewExternalProbe makes an external probe that probes over HTTPS, without credentials.
func NewExternalProbe(cfg ExternalProbeConfig) *ExternalProbe {
	return &ExternalProbe{cfg: cfg, probe: (&prober{timeout: cfg.Timeout}).probe, seen: map[string]*testimony{}}
}

// Probe probes all members once, side by side, and forgets those that are gone.
func (w *ExternalProbe) Probe(ctx context.Context, fleet []karmada.Cluster) {
	answers := make([]answer, len(fleet))
	var running sync.WaitGroup
	for i, c := range fleet {
		running.Go(func() { answers[i] = w.probe(ctx, c) })
	}
	running.Wait()
	if ctx.Err() != nil {
		return // a probe that was cut short says nothing
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.seen
	w.seen = make(map[string]*testimony, len(fleet))
	for i, c := range fleet {
		t, at := old[c.Name], digest(c.Endpoint)
		if t == nil || t.endpoint != at {
			t = &testimony{endpoint: at}
		}
		t.hear(answers[i], w.cfg)
		t.back = max(0, t.back-1)
		if answers[i] == noAnswer {
			t.back = int(noticed / w.cfg.Interval)
		}
		w.seen[c.Name] = t
	}
}

func (t *testimony) hear(a answer, cfg ExternalProbeConfig) {
	up := t.settled && t.up
	if a == unclear {
		t.streak = 0
		return
	}
	if (a == healthy) == up {
		t.streak, t.earlier = 0, false
		return
	}
	t.streak++
	switch {
	case a == healthy && t.streak >= cfg.SuccessThreshold:
		t.up, t.settled, t.earlier, t.streak = true, true, false, 0
	case a == noAnswer && up && t.streak >= cfg.FailureThreshold:
		t.up, t.earlier, t.streak = false, false, 0
	}
}

// Says is the external probe's word about a member, absent when it has none.
func (w *ExternalProbe) Says(cluster string) rules.ExternalProbe {
	if w == nil {
		return rules.ExternalProbeAbsent
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.seen[cluster]
	switch {
	case t == nil || !t.settled || t.earlier:
		return rules.ExternalProbeAbsent
	case t.up:
		return rules.ExternalProbeUp
	case w.blind():
		return rules.ExternalProbeAbsent
	default:
		return rules.ExternalProbeDown
	}
}

// justBack reports that a probe got no answer so recently that Karmada may not have seen yet that there are
// answers again.
func (w *ExternalProbe) justBack(cluster string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.seen[cluster]
	return t != nil && t.back > 0
}

// blind reports that no member is seen up: an external probe that sees no member is cut off.
func (w *ExternalProbe) blind() bool {
	for _, t := range w.seen {
		if t.settled && t.up && !t.earlier {
			return false
		}
	}
	return true
}

// prober sends requests to members' API servers.
type prober struct{ timeout time.Duration }

// probe requests /readyz, and /healthz where a member does not serve that.
func (p *prober) probe(ctx context.Context, c karmada.Cluster) answer {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	client, err := p.client(c)
	if err != nil {
		return unclear
	}
	defer client.CloseIdleConnections()
	status, err := get(ctx, client, c.Endpoint+"/readyz")
	if err == nil && status == http.StatusNotFound {
		status, err = get(ctx, client, c.Endpoint+"/healthz")
	}
	switch {
	case err != nil:
		return noAnswer
	case status == http.StatusOK, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return healthy
	case status/100 == 3:
		return unclear
	default: // a 502, 503 or 504 comes from a load balancer before a dead API server as well
		return noAnswer
	}
}

// client reaches a member the way Karmada does, through its proxy if it has one. It
// shows no credentials and believes no content. It verifies no certificate, whatever
// spec.insecureSkipTLSVerification says: the member's authority (caBundle) is in the Secret that
// holds its token, which the controller may not read. A member whose certificate has expired
// answers as well, and that is one of the cases that the probe is for.
func (p *prober) client(c karmada.Cluster) (*http.Client, error) {
	if !strings.HasPrefix(c.Endpoint, "https://") && !strings.HasPrefix(c.Endpoint, "http://") {
		return nil, fmt.Errorf("cluster %s has no endpoint to probe", c.Name)
	}
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
		DisableKeepAlives: true,
	}
	if c.ProxyURL != "" {
		proxy, err := url.Parse(c.ProxyURL)
		if err != nil {
			return nil, fmt.Errorf("proxy of cluster %s: %w", c.Name, err)
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	// The server at that address may not redirect the probe.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport, CheckRedirect: stay}, nil
}

func get(ctx context.Context, client *http.Client, address string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("probe: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("probe: %w", err)
	}
	return response.StatusCode, response.Body.Close()
}
