package k8sadapter

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/stretchr/testify/require"
)

// Rules: R4.7-29.
func TestAProbeBelievesNothingButAFreshOK(t *testing.T) {
	code := http.StatusOK
	var asked []string
	member := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		if r.URL.Path == "/readyz" && code == http.StatusNotFound {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if code != http.StatusNotFound {
			w.WriteHeader(code)
		}
	}))
	defer member.Close()
	const path = "/apis/cluster.karmada.io/v1alpha1/clusters/m2"
	server := &apiServer{objects: map[string]string{path: fmt.Sprintf(`{"metadata":{"name":"m2"},"spec":{"apiEndpoint":%q}}`, member.URL)}}
	client := connect(t, server, Options{})
	endpoint := func() error { return EndpointProber{Client: client}.Probe(t.Context(), "m2") }

	require.NoError(t, endpoint())
	code = http.StatusNotFound
	asked = nil
	require.NoError(t, endpoint(), "an old member has healthz only")
	require.Equal(t, []string{"/readyz", "/healthz"}, asked)
	for _, bad := range []int{http.StatusNoContent, http.StatusUnauthorized, http.StatusInternalServerError} {
		code = bad
		require.Error(t, endpoint(), bad)
	}
	code = http.StatusOK
	require.Error(t, EndpointProber{Client: client}.Probe(t.Context(), "m3"), "no such cluster")
	member.Close()
	require.Error(t, endpoint(), "what was open before its death proves nothing")

	proxy := ProxyProber{Client: client}
	require.Error(t, proxy.Probe(t.Context(), "m2"), "no proxy, no answer")
	server.objects[path+"/proxy/healthz"] = "ok"
	require.NoError(t, proxy.Probe(t.Context(), "m2"))
	server.objects[path+"/proxy/readyz"] = "ok"
	server.requests = nil
	require.NoError(t, proxy.Probe(t.Context(), "m2"))
	require.Equal(t, []string{"GET " + path + "/proxy/readyz"}, server.requests)
	require.Error(t, proxy.Probe(t.Context(), "../m2"))
}

// Whoever answers at a member's address sends us nowhere: not to what only we can reach.
//
// Rules: R4.7-29.
func TestAProbeIsNotSentElsewhere(t *testing.T) {
	var asked atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer inside.Close()
	member := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusTemporaryRedirect))
	defer member.Close()
	server := &apiServer{objects: map[string]string{
		"/apis/cluster.karmada.io/v1alpha1/clusters/m2": fmt.Sprintf(`{"metadata":{"name":"m2"},"spec":{"apiEndpoint":%q}}`, member.URL),
	}}
	require.ErrorContains(t, EndpointProber{Client: connect(t, server, Options{})}.Probe(t.Context(), "m2"), "307")
	require.Zero(t, asked.Load())
}

var (
	_ activities.Prober = ProxyProber{}
	_ activities.Prober = EndpointProber{}
)
