package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// wire is a recording proxy between one process of the product and one server: the
// API server, or Temporal. It changes nothing, knows every effect by a name that is
// the same in every run, and can cut it before it happens or before it is answered.
type wire struct {
	who    string // "worker" or "controller"
	whom   string // the server at its other end
	server *httptest.Server
	// effect is what a request does; false for what has no effect: reads, polls,
	// heartbeats, leader election, questions about permissions.
	effect func(r *http.Request, body []byte) (effect, bool)
	// learn looks at an answer as it comes by; nil learns nothing.
	learn func(*http.Response) error

	mu      sync.Mutex
	cell    string // what is seen of this cell is recorded, with "cell" in its place
	seen    map[string]int
	said    map[string]string // what was said last, by name
	points  []string
	cut     *cut
	trouble trouble
	stale   *staleReads   // part of some trouble
	asked   int           // requests since the trouble began; connections, when it is dead
	dead    chan struct{} // while it is, nothing gets through; closed when it ends
}

// effect is what a request changes.
type effect struct {
	name string
	// says is what is said, without times and versions, where saying it again changes
	// nothing; empty where each time is an effect of its own.
	says string
}

// trouble answers a request in the server's place and says so; false lets it pass.
type trouble func(w http.ResponseWriter, r *http.Request, body []byte) bool

// cut is where a wire is cut, once: before the effect, or after it and before its answer.
type cut struct {
	point string
	after bool
	halt
	// late lets the request, or its answer, pass in the end instead of dropping it.
	late bool
}

func newCut(point string, after bool) *cut { return &cut{point: point, after: after, halt: newHalt()} }

// letGo lets what was cut go on, where there is a cut.
func (c *cut) letGo() {
	if c != nil {
		c.halt.letGo()
	}
}

type cutKey struct{}

// errCut drops a connection.
var errCut = errors.New("cut")

// begin records what belongs to a cell, and cuts there; no cut when nil.
func (w *wire) begin(cell string, at *cut) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cell, w.cut, w.seen, w.said, w.points = cell, at, map[string]int{}, map[string]string{}, nil
}

// cutAt cuts the wire where it comes to that; not at all when nil.
func (w *wire) cutAt(at *cut) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = at
}

// upset lays trouble on the wire, nil takes it away.
func (w *wire) upset(t trouble) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble, w.stale, w.asked = t, nil, 0
	if w.dead != nil {
		close(w.dead)
		w.dead = nil
	}
}

// die has nothing get through in either direction until the wire is upset, as on a network
// that drops packets: what was sent arrives then, where nobody has hung up.
func (w *wire) die() {
	w.upset(nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = make(chan struct{})
}

// alive waits until something gets through.
func (w *wire) alive() {
	w.mu.Lock()
	dead := w.dead
	w.mu.Unlock()
	if dead != nil {
		<-dead
	}
}

// packets carries what goes over a wire.
type packets struct {
	net.Listener
	wire *wire
}

func (p packets) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	p.wire.mu.Lock()
	defer p.wire.mu.Unlock()
	if p.wire.dead != nil {
		p.wire.asked++
	}
	return connection{c, p.wire}, err
}

// connection is one of those that a wire carries.
type connection struct {
	net.Conn
	wire *wire
}

func (c connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.wire.alive()
	return n, err
}

func (c connection) Write(b []byte) (int, error) {
	c.wire.alive()
	return c.Conn.Write(b)
}

func (w *wire) recorded() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.points)
}

// asks are the requests since the trouble began, and whether there is any on this wire.
func (w *wire) asks() (asked int, troubled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked, w.trouble != nil || w.dead != nil
}

// lag has reads answered as they were answered at first.
func (w *wire) lag() {
	s := &staleReads{bodies: map[string][]byte{}}
	w.upset(s.answer)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stale = s
}

// remember looks at an answer for whoever wants to.
func (w *wire) remember(r *http.Response) error {
	w.mu.Lock()
	s := w.stale
	w.mu.Unlock()
	if s != nil {
		return s.learn(r)
	}
	return nil
}

// pass counts an effect and returns the cut that it has come to, nil when none.
func (w *wire) pass(e effect) *cut {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cell == "" || !strings.Contains(e.name, w.cell) && !strings.Contains(e.name, pacerID) {
		return nil
	}
	if e.says != "" && w.said[e.name] == e.says {
		return nil
	}
	w.said[e.name] = e.says
	name := w.who + " " + strings.ReplaceAll(e.name, w.cell, "cell")
	w.seen[name]++
	point := fmt.Sprintf("%s #%d", name, w.seen[name])
	w.points = append(w.points, point)
	if w.cut == nil || w.cut.point != point {
		return nil
	}
	at := w.cut
	w.cut = nil
	return at
}

// open starts the proxy in front of a server.
func (w *wire) open(to *url.URL, transport http.RoundTripper, start func(*httptest.Server)) {
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error {
			if at, ok := r.Request.Context().Value(cutKey{}).(*cut); ok {
				at.wait(context.Background())
				if !at.late {
					return errCut
				}
			}
			trail(r)
			if w.learn != nil {
				return w.learn(r)
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.serve(proxy, rw, r)
	}))
	w.server.Config.ErrorLog = nobody()
	w.server.Listener = packets{w.server.Listener, w}
	start(w.server)
}

// trail makes trailers of what a gRPC server said in place of an answer. It stands in the
// head, with which the stream ends; a reverse proxy may have sent that head on before it
// learns that nothing follows, and the client takes that for a broken stream.
func trail(r *http.Response) {
	if r.Header.Get("Grpc-Status") == "" {
		return
	}
	if r.Trailer == nil {
		r.Trailer = http.Header{}
	}
	for _, name := range []string{"Grpc-Status", "Grpc-Message", "Grpc-Status-Details-Bin"} {
		if said := r.Header.Values(name); len(said) > 0 {
			r.Trailer[name] = said
			r.Header.Del(name)
		}
	}
}

func (w *wire) serve(proxy http.Handler, rw http.ResponseWriter, r *http.Request) {
	var body []byte
	if r.Method != http.MethodGet {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if w.troubled(rw, r, body) {
		return
	}
	var at *cut
	if e, ok := w.effect(r, body); ok {
		at = w.pass(e)
	}
	switch {
	case at == nil:
	case at.after:
		// Not the client's own context: it may be dead before the effect has happened.
		r = r.WithContext(context.WithValue(context.WithoutCancel(r.Context()), cutKey{}, at))
	default:
		at.wait(context.Background()) // not the client's own context, which may be dead
		if !at.late {
			panic(http.ErrAbortHandler)
		}
		r = r.WithContext(context.WithoutCancel(r.Context()))
	}
	proxy.ServeHTTP(rw, r)
}

func (w *wire) troubled(rw http.ResponseWriter, r *http.Request, body []byte) bool {
	w.mu.Lock()
	t := w.trouble
	w.asked++
	w.mu.Unlock()
	return t != nil && t(rw, r, body)
}

func (w *wire) close() {
	w.upset(nil)
	w.server.CloseClientConnections()
	w.server.Close()
}

// toAPI opens a wire to the API server of a kubeconfig and writes one that leads over it.
func toAPI(who, kubeconfig, file string) (*wire, error) {
	to, transport, err := apiBehind(kubeconfig)
	if err != nil {
		return nil, err
	}
	w := &wire{who: who, whom: "the API server", effect: apiEffect}
	w.learn = w.remember
	w.open(to, transport, func(s *httptest.Server) {
		s.EnableHTTP2 = true
		s.StartTLS() // client-go sends no token over plain HTTP
	})
	g := &gate{server: w.server}
	return w, g.kubeconfig(kubeconfig, file)
}

// apiEffect names a write: what is done to which object.
func apiEffect(r *http.Request, _ []byte) (effect, bool) {
	if r.Method == http.MethodGet {
		return effect{}, false
	}
	namespace, resource, name := apiObject(r.URL.Path)
	switch {
	case resource == "leases", strings.HasSuffix(resource, "reviews"):
		return effect{}, false
	case resource == "events":
		name = "" // made of the time
	}
	return effect{name: strings.Join(strings.Fields(r.Method+" "+resource+" "+namespace+" "+name), " ")}, true
}

// apiObject takes the path of a request apart; resource includes the subresource.
func apiObject(path string) (namespace, resource, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if parts[0] == "api" {
		parts = parts[min(2, len(parts)):]
	} else {
		parts = parts[min(3, len(parts)):]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	if len(parts) > 0 {
		resource = parts[0]
	}
	if len(parts) > 1 {
		name = parts[1]
	}
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	return namespace, resource, name
}
