package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"time"
)

// Sampling of mutex contention and of blocking, while such a profile is taken.
const (
	mutexFraction = 10                    // one contention in so many
	blockRate     = int(time.Microsecond) // nanoseconds blocked per sample
)

// ServeProfiles serves /debug/pprof on a loopback address until ctx ends, and returns the address. An
// empty address serves nothing. A profile shows what the process holds in memory, so that any other
// address is refused.
func ServeProfiles(ctx context.Context, address string, log *slog.Logger) (string, error) {
	if address == "" {
		return "", nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil || !net.ParseIP(host).IsLoopback() {
		return "", fmt.Errorf("--pprof %q: want a loopback address and a port, as in 127.0.0.1:6060", address)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("--pprof %q: cannot listen: %w", address, err)
	}
	server := &http.Server{Handler: profiles(), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.WarnContext(ctx, "profiles are not served any more", KeyError, err)
		}
	}()
	log.InfoContext(ctx, "serving profiles", KeyAddress, listener.Addr().String())
	return listener.Addr().String(), nil
}

// profiles samples mutexes and blocking only while /debug/pprof/mutex?seconds=N or
// /debug/pprof/block?seconds=N is served: sampling costs time.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/mutex", func(w http.ResponseWriter, r *http.Request) {
		before := runtime.SetMutexProfileFraction(mutexFraction)
		defer runtime.SetMutexProfileFraction(before)
		pprof.Handler("mutex").ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /debug/pprof/block", func(w http.ResponseWriter, r *http.Request) {
		runtime.SetBlockProfileRate(blockRate)
		defer runtime.SetBlockProfileRate(0)
		pprof.Handler("block").ServeHTTP(w, r)
	})
	return mux
}
