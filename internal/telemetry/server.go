package telemetry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// NoAddress as Server.Address serves nothing.
const NoAddress = "-"

// checkTimeout bounds one health check: a probe that hangs says as little as one that fails.
const checkTimeout = 3 * time.Second

// Check is one thing that must be well.
type Check struct {
	Name string
	Run  func(context.Context) error
}

// Server serves /metrics, /healthz (the process is alive) and /readyz (every Ready
// check is well).
type Server struct {
	Address  string // host:port, port 0 for a free one, NoAddress for none
	Registry *prometheus.Registry
	Ready    []Check
	Log      *slog.Logger
	// TLS serves with it, nil without. Where it asks for certificates, /metrics needs
	// one; a kubelet, which has none, still asks how the process is.
	TLS *tls.Config

	http *http.Server
	done chan error
}

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

// Stop lets running requests finish until ctx ends.
func (s *Server) Stop(ctx context.Context) error {
	if s.http == nil {
		return nil
	}
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
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { answer(w, r, nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { answer(w, r, s.Ready) })
	return mux
}

// Known lets only those in whose certificate was verified, where the server asks for
// certificates at all.
func Known(asks *tls.Config, to http.Handler) http.Handler {
	if asks == nil || asks.ClientCAs == nil {
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

// answer runs every check and names those that fail.
func answer(w http.ResponseWriter, r *http.Request, checks []Check) {
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	body, status := "", http.StatusOK
	for _, check := range checks {
		if err := check.Run(ctx); err != nil {
			status = http.StatusServiceUnavailable
			body += fmt.Sprintf("%s: %v\n", check.Name, err)
		}
	}
	if body == "" {
		body = "ok\n"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	if _, err := w.Write([]byte(body)); err != nil {
		return // the prober is gone
	}
}
