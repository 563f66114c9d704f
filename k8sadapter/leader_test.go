package k8sadapter

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// leaseServer keeps one Lease.
type leaseServer struct {
	mutex   sync.Mutex
	lease   map[string]any
	version int
	down    bool
	asked   int
}

func (s *leaseServer) tries() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.asked
}

func (s *leaseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.asked++
	raw, _ := io.ReadAll(r.Body)
	var sent map[string]any
	_ = json.Unmarshal(raw, &sent)
	switch {
	case s.down:
		answer(w, http.StatusInternalServerError, "InternalError")
		return
	case r.Method == http.MethodGet && s.lease == nil:
		answer(w, http.StatusNotFound, "NotFound")
		return
	case r.Method == http.MethodPut && part(sent, "metadata")["resourceVersion"] != strconv.Itoa(s.version):
		answer(w, http.StatusConflict, "Conflict")
		return
	case r.Method != http.MethodGet:
		s.version++
		part(sent, "metadata")["resourceVersion"] = strconv.Itoa(s.version)
		s.lease = sent
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.lease)
}

func (s *leaseServer) holder() any {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return part(s.lease, "spec")["holderIdentity"]
}

func leaderConfig(identity string) LeaderConfig {
	return LeaderConfig{
		Namespace: "n", Name: "lifeboat", Identity: identity,
		LeaseDuration: time.Second, RenewDeadline: 600 * time.Millisecond, RetryPeriod: 20 * time.Millisecond,
	}
}

func TestTheLeaseIsGivenUpOnlyAfterTheLeaderHasStopped(t *testing.T) {
	server := &leaseServer{}
	client := connect(t, server, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	leading, ended := make(chan struct{}), make(chan error)
	one := leaderConfig("one")
	one.LeaseDuration, one.RenewDeadline = time.Minute, 30*time.Second // it gives the lease up, and does not lose it
	go func() {
		ended <- client.RunLeaderElected(ctx, one, func(ctx context.Context) {
			close(leading)
			<-ctx.Done()
			// Still clearing up: for as long as that takes nobody else may lead.
			holder := server.holder()
			assert.Contains(t, holder, "one_")
			assert.Never(t, func() bool { return server.holder() != holder }, 200*time.Millisecond, often)
		})
	}()
	<-leading

	second := make(chan error)
	took := make(chan struct{})
	go func() {
		second <- client.RunLeaderElected(t.Context(), leaderConfig("two"), func(context.Context) { close(took) })
	}()
	cancel()
	require.NoError(t, <-ended)
	<-took
	require.NoError(t, <-second, "a run that returns ends the term")
}

// The Lease tells since when its holder has led without a gap, also where nobody else led in the gap.
//
// Rules: R4.7-58.
func TestRunLeaderElected_LeadsAgainAfterALoss_AcquiresAnew(t *testing.T) {
	server := &leaseServer{}
	client := connect(t, server, Options{})
	set := func(down bool) (acquired any) {
		server.mutex.Lock()
		defer server.mutex.Unlock()
		server.down = down
		return part(server.lease, "spec")["acquireTime"]
	}
	var first, second any
	err := client.RunLeaderElected(t.Context(), leaderConfig("one"), func(ctx context.Context) {
		first = set(true)
		<-ctx.Done()
	})
	require.ErrorIs(t, err, ErrLeadershipLost)
	set(false)
	require.NoError(t, client.RunLeaderElected(t.Context(), leaderConfig("one"), func(context.Context) { second = set(false) }))
	require.NotEmpty(t, first)
	require.NotEqual(t, first, second)
}

func TestACandidateThatIsStoppedNeverLeads(t *testing.T) {
	server := &leaseServer{down: true}
	client := connect(t, server, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	led := false
	require.NoError(t, client.RunLeaderElected(ctx, leaderConfig("one"), func(context.Context) { led = true }))
	assert.False(t, led)
}

func TestALeaseThatWouldProtectNobodyIsRefused(t *testing.T) {
	client := connect(t, &leaseServer{}, Options{})
	late, short := leaderConfig("one"), leaderConfig("one")
	late.RenewDeadline = time.Hour
	short.LeaseDuration, short.RenewDeadline = 900*time.Millisecond, 500*time.Millisecond
	for _, bad := range []LeaderConfig{late, short} {
		err := client.RunLeaderElected(t.Context(), bad, func(context.Context) { t.Error("led") })
		require.ErrorIs(t, err, karmada.ErrInvalid)
		assert.ErrorContains(t, err, "lead n/lifeboat")
	}
}

func TestALeaderWhoseLeaseWasLostBeforeItBeganNeverBegins(t *testing.T) {
	never := func(context.Context) { t.Error("led") }
	held, ended := make(chan context.Context, 1), make(chan struct{})
	close(ended)
	assert.True(t, lead(t.Context(), held, ended, never), "the goroutine that client-go starts comes late")

	leading, lose := context.WithCancel(t.Context())
	lose()
	held <- leading
	assert.True(t, lead(t.Context(), held, nil, never))

	stopped, stop := context.WithCancel(t.Context())
	stop()
	held <- t.Context()
	assert.False(t, lead(stopped, held, ended, never), "a candidate that is stopped has lost nothing")
}

// With the API server away each try fails: that is said once, and once that it is over.
func TestALeaseThatCannotBeHadIsSaidOnce(t *testing.T) {
	server := &leaseServer{down: true}
	var said bytes.Buffer
	client := connect(t, server, Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- client.RunLeaderElected(ctx, leaderConfig("one"), func(context.Context) {}) }()
	require.Eventually(t, func() bool { return server.tries() > 5 }, time.Minute, often)
	server.mutex.Lock()
	server.down = false
	server.mutex.Unlock()
	require.NoError(t, <-ended)
	require.Equal(t, 1, strings.Count(said.String(), "cannot use the Lease"), said.String())
	require.Equal(t, 1, strings.Count(said.String(), "can use the Lease again"), said.String())
	require.NotContains(t, said.String(), "level=ERROR")
}
