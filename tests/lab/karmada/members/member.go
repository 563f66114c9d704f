package members

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// ErrUnreachable is what every call to a killed member returns.
var ErrUnreachable = errors.New("connect: connection refused")

// Timing says how fast copies progress.
type Timing struct {
	// Report is the time a member takes to look at a change and to tell of it.
	Report time.Duration
	// ReadyAfter is the time until the last replica of a new copy is ready.
	ReadyAfter time.Duration
}

// Config makes a Member.
type Config struct {
	Name string
	// CPUs is the member's size; 0 means plenty.
	CPUs int64
	// Timing is asked anew at each step.
	Timing func() Timing
	// Changed is told the Work ("namespace/name") whose copy changed. It must not block.
	Changed func(work string)
}

// Member is one member cluster.
type Member struct {
	config Config

	mu     sync.Mutex
	ready  *readyz
	alive  bool
	closed bool
	copies map[copyKey]*workCopy
}

type copyKey struct{ kind, namespace, name string }

// Start brings a member up, without any workload.
func Start(config Config) (*Member, error) {
	ready, err := startReadyz()
	if err != nil {
		return nil, fmt.Errorf("start member %s: %w", config.Name, err)
	}
	return &Member{config: config, ready: ready, alive: true, copies: map[copyKey]*workCopy{}}, nil
}

// Endpoint is the base URL of the member; /readyz is below it.
func (m *Member) Endpoint() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ready.url()
}

// Alive says whether the member answers.
func (m *Member) Alive() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.alive
}

// Kill makes the member refuse connections and freezes its copies.
func (m *Member) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.alive || m.closed {
		return
	}
	m.alive = false
	m.ready.down()
	for _, c := range m.copies {
		c.stop()
	}
}

// Revive makes the member answer again, at the same address, with the copies it has.
func (m *Member) Revive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.alive || m.closed {
		return nil
	}
	if err := m.ready.up(); err != nil {
		return fmt.Errorf("revive member %s: %w", m.config.Name, err)
	}
	m.alive = true
	for _, c := range m.copies {
		m.config.Changed(c.Work)
		m.proceed(c)
	}
	return nil
}

// Garble makes the credential that Karmada has for the member worthless, or good again. The member
// runs on and answers 401.
func (m *Member) Garble(garbled bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ready.forbids.Store(garbled)
}

// Close stops the member for good.
func (m *Member) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.closed, m.alive = true, false
	m.ready.close()
	for _, c := range m.copies {
		c.stop()
	}
}

// Apply creates or updates the copy of a Work's manifest.
func (m *Member) Apply(work, workUID string, manifest map[string]any) error {
	object := &unstructured.Unstructured{Object: manifest}
	key := keyOf(object)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.alive {
		return fmt.Errorf("apply %s %s/%s to %s: %w", key.kind, key.namespace, key.name, m.config.Name, ErrUnreachable)
	}
	c := m.copies[key]
	if c == nil {
		c = &workCopy{Identity: Identity{
			APIVersion: object.GetAPIVersion(), Kind: key.kind, Namespace: key.namespace, Name: key.name,
			UID: string(uuid.NewUUID()),
		}}
		m.copies[key] = c
	}
	another := c.WorkUID != workUID // which has no status yet, though the copy is as it was
	c.Work, c.WorkUID = work, workUID
	changed := c.update(object, faultsFor(m.config.Name, object.GetAnnotations()))
	if changed && c.reportsReplicas() || another && !changed {
		m.config.Changed(work)
	}
	if changed || c.timer == nil { // a copy of an earlier run may be half-way
		m.proceed(c)
	}
	return nil
}

// Delete removes the copy of a manifest; a copy that is not there is no error.
func (m *Member) Delete(manifest map[string]any) error {
	key := keyOf(&unstructured.Unstructured{Object: manifest})
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.alive {
		return fmt.Errorf("delete %s %s/%s from %s: %w", key.kind, key.namespace, key.name, m.config.Name, ErrUnreachable)
	}
	if c := m.copies[key]; c != nil {
		c.stop()
		delete(m.copies, key)
	}
	return nil
}

// Report reads the copy of a manifest: its status (nil for kinds without replicas), Karmada's
// judgement of its health, and whether it is there.
func (m *Member) Report(manifest map[string]any) (status map[string]any, health string, err error) {
	key := keyOf(&unstructured.Unstructured{Object: manifest})
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.copies[key]
	switch {
	case !m.alive:
		return nil, "", fmt.Errorf("read %s %s/%s in %s: %w", key.kind, key.namespace, key.name, m.config.Name, ErrUnreachable)
	case c == nil || (c.observed == 0 && !c.reportsReplicas()):
		return nil, "Unknown", nil
	default:
		return c.status(), c.health(), nil
	}
}

func keyOf(object *unstructured.Unstructured) copyKey {
	return copyKey{object.GetKind(), object.GetNamespace(), object.GetName()}
}

// proceed sets the timer for the copy's next step. The caller holds the lock.
func (m *Member) proceed(c *workCopy) {
	c.stop()
	delay, step, more := c.next(m.config.Timing())
	if !more || !m.alive {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(delay, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if c.timer != timer { // stopped while it fired
			return
		}
		step()
		m.config.Changed(c.Work)
		m.proceed(c)
	})
	c.timer = timer
}

func (c *workCopy) stop() {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}

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
