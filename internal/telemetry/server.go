package telemetry

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// NoAddress as Server.Address serves nothing.
const NoAddress = "-"

// checkTimeout bounds one health check.
const checkTimeout = 3 * time.Second

// Check is one condition of readiness.
type Check struct {
	Name string
	Run  func(context.Context) error
}

// Server serves /metrics, /healthz (the process is alive) and /readyz (every Ready check
// passes).
type Server struct {
	Address  string // host:port, port 0 for a free one, NoAddress for none
	Registry Registry
	Ready    []Check
	Log      *slog.Logger
	// TLS is nil for plain HTTP. Where it requests client certificates, /metrics needs one; the
	// health endpoints never do, because a kubelet has none.
	TLS *tls.Config

	http *http.Server
	done chan error

	checking sync.Mutex
	last     verdict
}

// verdict is the result of the checks.
type verdict struct {
	at     time.Time
	status int
	body   string
}

// verdictLife is how long a verdict counts. Checks use the same limited requests per second as
// the program's work, and clients of the endpoint must not exhaust them.
const verdictLife = time.Second

// Start listens, logs the address and serves in the background.
func (s *Server) Start(ctx context.Context) error {
	if s.Address == NoAddress {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("listen for metrics and health on %s: %w", s.Address, err)
	}
	s.Address = listener.Addr().String()
	if s.TLS != nil {
		listener = tls.NewListener(listener, s.TLS)
	}
	s.http = &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second}
	s.done = make(chan error, 1)
	go func() { s.done <- s.http.Serve(listener) }()
	s.Log.Info("serving metrics and health", KeyAddress, s.Address)
	return nil
}

// stopTimeout bounds the last answers to scrapes and health checks.
const stopTimeout = 3 * time.Second

// Stop lets running requests finish for stopTimeout, also when ctx has ended.
func (s *Server) Stop(ctx context.Context) error {
	if s.http == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		return fmt.Errorf("stop serving metrics and health: %w", err)
	}
	if err := <-s.done; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics and health: %w", err)
	}
	return nil
}

// Handler is what Start serves.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	metrics := promhttp.HandlerFor(s.Registry, promhttp.HandlerOpts{Registry: s.Registry})
	mux.Handle("GET /metrics", Known(s.TLS, metrics))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { answer(w, judge(r.Context(), nil)) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { answer(w, s.ready(r.Context())) })
	return mux
}

// ready runs the checks at most once in verdictLife.
func (s *Server) ready(ctx context.Context) verdict {
	s.checking.Lock()
	defer s.checking.Unlock()
	if time.Since(s.last.at) >= verdictLife {
		s.last = judge(context.WithoutCancel(ctx), s.Ready)
		s.last.at = time.Now()
	}
	return s.last
}

// Known refuses clients without a verified certificate, where the server requests
// certificates.
func Known(config *tls.Config, to http.Handler) http.Handler {
	if config == nil || config.ClientCAs == nil {
		return to
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
			http.Error(w, "a client certificate is needed", http.StatusUnauthorized)
			return
		}
		to.ServeHTTP(w, r)
	})
}

// judge runs every check and names those that fail.
func judge(ctx context.Context, checks []Check) verdict {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	v := verdict{status: http.StatusOK}
	for _, check := range checks {
		if err := check.Run(ctx); err != nil {
			v.status = http.StatusServiceUnavailable
			v.body += fmt.Sprintf("%s: %v\n", check.Name, err)
		}
	}
	v.body = cmp.Or(v.body, "ok\n")
	return v
}

func answer(w http.ResponseWriter, v verdict) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(v.status)
	_, _ = w.Write([]byte(v.body)) // the client may be gone
}
