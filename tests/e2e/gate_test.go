package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// gate is a proxy between the worker and the API server. It changes nothing; a
// story can make it stop at one request, before it goes on or before its answer
// comes back.
type gate struct {
	server *httptest.Server

	mu    sync.Mutex
	stops []*stop
}

// write is a PATCH of the worker.
type write struct {
	path string
	body struct {
		Spec struct {
			Clusters *[]target `json:"clusters"`
			Tasks    *[]task   `json:"gracefulEvictionTasks"`
		} `json:"spec"`
	}
}

// evicts tells a write that takes a cluster out of a binding and holds its copy.
func (w write) evicts(key, cluster string) bool {
	return w.of(key) && w.holds(cluster) && w.body.Spec.Clusters != nil && !w.targets(cluster)
}

// holds: its tasks hold a cluster's copy.
func (w write) holds(cluster string) bool {
	tasks := w.body.Spec.Tasks
	return tasks != nil && slices.ContainsFunc(*tasks, func(t task) bool { return t.FromCluster == cluster })
}

// targets: its targets have a cluster among them.
func (w write) targets(cluster string) bool {
	targets := w.body.Spec.Clusters
	return targets != nil && slices.ContainsFunc(*targets, func(t target) bool { return t.Name == cluster })
}

// releases tells a write that drops the hold of a cluster and puts nothing back.
func (w write) releases(key, cluster string) bool {
	return w.of(key) && w.body.Spec.Tasks != nil && !w.holds(cluster) && w.body.Spec.Clusters == nil
}

// restores tells a write that puts a cluster back into a binding and drops the hold.
func (w write) restores(key, cluster string) bool {
	return w.of(key) && !w.holds(cluster) && w.targets(cluster)
}

func (w write) of(key string) bool {
	namespace, name, _ := strings.Cut(key, "/")
	if namespace == "-" {
		return strings.HasSuffix(w.path, "/clusterresourcebindings/"+name)
	}
	return strings.HasSuffix(w.path, "/namespaces/"+namespace+"/resourcebindings/"+name)
}

// stop is a place at which one request waits until it is let go.
type stop struct {
	match  func(write) bool
	answer bool // stop the answer, not the request
	halt
}

// halt is where something waits until it may go on.
type halt struct {
	here chan struct{} // closed when it has arrived
	goOn chan struct{} // closed when it may go on
	once sync.Once
}

func newHalt() halt { return halt{here: make(chan struct{}), goOn: make(chan struct{})} }

// letGo lets what waits go on; it may be called twice.
func (h *halt) letGo() { h.once.Do(func() { close(h.goOn) }) }

func (h *halt) reached() bool {
	select {
	case <-h.here:
		return true
	default:
		return false
	}
}

// wait holds what came here until it may go on, or its context ends.
func (h *halt) wait(ctx context.Context) {
	close(h.here)
	select {
	case <-h.goOn:
	case <-ctx.Done():
	}
}

// stopAt stops the next matching request, once.
func (g *gate) stopAt(answer bool, match func(write) bool) *stop {
	s := &stop{match: match, answer: answer, halt: newHalt()}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stops = append(g.stops, s)
	return s
}

// take finds the stop for a request and removes it.
func (g *gate) take(r *http.Request) *stop {
	if r.Method != http.MethodPatch {
		return nil
	}
	content, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(content))
	w := write{path: r.URL.Path}
	if err != nil || json.Unmarshal(content, &w.body) != nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.IndexFunc(g.stops, func(s *stop) bool { return s.match(w) })
	if at < 0 {
		return nil
	}
	s := g.stops[at]
	g.stops = slices.Delete(g.stops, at, at+1)
	return s
}

type stopKey struct{}

// apiBehind is where the API server of a kubeconfig is, and how a proxy reaches it: as
// nobody, for every caller sends who it is.
func apiBehind(kubeconfig string) (*url.URL, http.RoundTripper, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(config))
	if err != nil {
		return nil, nil, err
	}
	to, err := url.Parse(config.Host)
	return to, transport, err
}

// openGate starts the proxy in front of the API server of a kubeconfig.
func openGate(kubeconfig string) (*gate, error) {
	to, transport, err := apiBehind(kubeconfig)
	if err != nil {
		return nil, err
	}
	g := &gate{}
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: g.holdAnswer,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	// TLS, for client-go sends no token over plain HTTP.
	g.server = httptest.NewUnstartedServer(g.through(proxy))
	g.server.EnableHTTP2 = true
	g.server.StartTLS()
	return g, nil
}

func (g *gate) through(proxy http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := g.take(r)
		switch {
		case s != nil && s.answer:
			r = r.WithContext(context.WithValue(r.Context(), stopKey{}, s))
		case s != nil:
			s.wait(r.Context())
		}
		if r.Context().Err() == nil {
			proxy.ServeHTTP(w, r)
		}
	}
}

// holdAnswer holds the answer to a write that the API server took. One that it refused, a conflict most often,
// goes back at once, and the stop waits for the next.
func (g *gate) holdAnswer(response *http.Response) error {
	s, ok := response.Request.Context().Value(stopKey{}).(*stop)
	switch {
	case !ok:
	case response.StatusCode >= http.StatusMultipleChoices:
		g.mu.Lock()
		defer g.mu.Unlock()
		g.stops = append(g.stops, s)
	default:
		s.wait(response.Request.Context())
	}
	return nil
}

// kubeconfig writes one that leads through the gate as the same user.
func (g *gate) kubeconfig(of, file string) error {
	config, err := clientcmd.LoadFromFile(of)
	if err != nil {
		return err
	}
	for _, c := range config.Clusters {
		c.Server, c.CertificateAuthority, c.CertificateAuthorityData = g.server.URL, "", g.certificate()
	}
	return clientcmd.WriteToFile(*config, file)
}

func (g *gate) certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.server.Certificate().Raw})
}

func (g *gate) close() {
	g.server.CloseClientConnections()
	g.server.Close()
}
