package members

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

// readyz answers GET /readyz. Taken down it refuses connections but keeps its port reserved, so that
// it comes back at the same address.
type readyz struct {
	address  string
	server   *http.Server
	reserved int // socket that is bound but does not listen; -1 while the server is up
	// forbids answers 401 to everybody, as an API server does to a credential that has expired.
	forbids atomic.Bool
}

// bindAttempts bounds how often a port is tried again that somebody else holds for a moment.
const bindAttempts = 50

func startReadyz() (*readyz, error) {
	r := &readyz{address: "127.0.0.1:0", reserved: -1}
	if err := r.up(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *readyz) url() string { return "http://" + r.address }

func (r *readyz) up() error {
	r.freePort()
	listener, err := listen(r.address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", r.address, err)
	}
	r.address = listener.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if r.forbids.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte("ok"))
	})
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func(server *http.Server) { _ = server.Serve(listener) }(r.server)
	return nil
}

func listen(address string) (net.Listener, error) {
	var listener net.Listener
	var err error
	for range bindAttempts {
		config := net.ListenConfig{}
		if listener, err = config.Listen(context.Background(), "tcp", address); err == nil {
			return listener, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil, err
}

// down closes every connection and the listener, and takes the port again without listening.
func (r *readyz) down() {
	_ = r.server.Close()
	r.reserved = reservePort(r.address)
}

func (r *readyz) close() {
	_ = r.server.Close()
	r.freePort()
}

func (r *readyz) freePort() {
	if r.reserved >= 0 {
		_ = syscall.Close(r.reserved)
		r.reserved = -1
	}
}

// reservePort binds the port; -1 means it could not, and then only a retry at the revival helps.
func reservePort(address string) int {
	addr, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return -1
	}
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	_ = syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Port: addr.Port, Addr: [4]byte(addr.IP.To4())}); err != nil {
		_ = syscall.Close(socket)
		return -1
	}
	return socket
}
