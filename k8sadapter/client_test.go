package k8sadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

var (
	_ activities.Reader = (*Client)(nil)
	_ activities.Writer = (*Client)(nil)
)

// apiServer keeps objects by path and applies merge patches as a real one does,
// resourceVersion included.
type apiServer struct {
	mutex    sync.Mutex
	objects  map[string]string
	requests []string // "GET /path?query"
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	w.Header().Set("Content-Type", "application/json")
	key := r.URL.Path
	if token := r.URL.Query().Get("continue"); token != "" {
		key += "?" + token
	}
	standing, found := s.objects[key]
	switch {
	case !found:
		answer(w, http.StatusNotFound, "NotFound")
	case r.Method == http.MethodPatch:
		s.patch(w, r, key, standing)
	default:
		_, _ = io.WriteString(w, standing)
	}
}

func (s *apiServer) patch(w http.ResponseWriter, r *http.Request, key, standing string) {
	body, _ := io.ReadAll(r.Body)
	if r.Header.Get("Content-Type") != "application/merge-patch+json" {
		answer(w, http.StatusUnsupportedMediaType, "BadRequest")
		return
	}
	if v := version(body); v != "" && v != version([]byte(standing)) { // without one a real server asks nothing
		answer(w, http.StatusConflict, "Conflict")
		return
	}
	merged, err := jsonpatch.MergePatch([]byte(standing), body)
	if err != nil {
		answer(w, http.StatusBadRequest, "BadRequest")
		return
	}
	s.objects[key] = string(merged)
	_, _ = w.Write(merged)
}

func version(raw []byte) string {
	var o struct {
		Metadata struct{ ResourceVersion string }
	}
	_ = json.Unmarshal(raw, &o)
	return o.Metadata.ResourceVersion
}

func answer(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"because"}`, reason, code)
}

func connect(t *testing.T, handler http.Handler, opts Options) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	// The servers of these tests understand JSON only; typed clients would send protobuf.
	asJSON := rest.ContentConfig{ContentType: runtime.ContentTypeJSON, AcceptContentTypes: runtime.ContentTypeJSON}
	client, err := NewClientFor(&rest.Config{Host: server.URL, ContentConfig: asJSON}, opts)
	require.NoError(t, err)
	return client
}

const rbPath = "/apis/work.karmada.io/v1alpha2/namespaces/shop/resourcebindings/cart-deployment"

func TestAWriteReturnsTheObjectAsItStandsAfterIt(t *testing.T) {
	server := &apiServer{objects: map[string]string{rbPath: shared}}
	client := connect(t, server, Options{})
	key := karmada.BindingKey{Namespace: "shop", Name: "cart-deployment"}

	read, err := client.Binding(t.Context(), key)
	require.NoError(t, err)
	evicted, err := client.Evict(t.Context(), activities.EvictWrite{Binding: &read, Cluster: "m1", Owner: "w", Now: at})
	require.NoError(t, err)

	target, _ := evicted.Target("m1")
	assert.Nil(t, target)
	task, _ := evicted.TaskFor("m1")
	assert.True(t, task.Ours())
	server.mutex.Lock()
	assert.Equal(t, []string{"GET " + rbPath, "PATCH " + rbPath + "?fieldManager=lifeboat"}, server.requests)
	server.objects[rbPath] = held // somebody wrote meanwhile
	server.mutex.Unlock()

	_, err = client.Release(t.Context(), activities.ReleaseWrite{Binding: &evicted, Cluster: "m1"})
	require.ErrorIs(t, err, karmada.ErrConflict)
	assert.ErrorContains(t, err, "release from m1: patch resourcebindings shop/cart-deployment")
}

func TestEveryAnswerOfTheServerIsClassified(t *testing.T) {
	cases := map[string]struct {
		code   int
		reason string
		header string
		want   error
	}{
		"conflict":                     {code: 409, reason: "Conflict", want: karmada.ErrConflict},
		"expired page":                 {code: 410, reason: "Expired", want: karmada.ErrConflict},
		"not found":                    {code: 404, reason: "NotFound", want: karmada.ErrGone},
		"invalid":                      {code: 422, reason: "Invalid", want: karmada.ErrInvalid},
		"bad request":                  {code: 400, reason: "BadRequest", want: karmada.ErrInvalid},
		"too large":                    {code: 413, reason: "RequestEntityTooLarge", want: karmada.ErrInvalid},
		"forbidden":                    {code: 403, reason: "Forbidden", want: karmada.ErrForbidden},
		"unauthorized":                 {code: 401, reason: "Unauthorized", want: karmada.ErrForbidden},
		"throttled":                    {code: 429, reason: "TooManyRequests", header: "7", want: karmada.ErrThrottled},
		"throttled, not how long":      {code: 429, reason: "TooManyRequests", want: karmada.ErrThrottled},
		"unavailable, come back":       {code: 503, reason: "ServiceUnavailable", header: "7", want: karmada.ErrThrottled},
		"unavailable":                  {code: 503, reason: "ServiceUnavailable", want: karmada.ErrUnreachable},
		"internal":                     {code: 500, reason: "InternalError", want: karmada.ErrUnreachable},
		"internal, come back":          {code: 500, reason: "InternalError", header: "7", want: karmada.ErrUnreachable},
		"bad gateway":                  {code: 502, want: karmada.ErrUnreachable},
		"timeout of the server's own":  {code: 504, reason: "Timeout", want: karmada.ErrUnreachable},
		"something never heard of":     {code: 418, reason: "Teapot"},
		"method that is not supported": {code: 405, reason: "MethodNotAllowed"},
	}
	sentinels := []error{
		karmada.ErrConflict, karmada.ErrGone, karmada.ErrInvalid, karmada.ErrForbidden,
		karmada.ErrUnreachable, karmada.ErrThrottled, karmada.ErrRefused,
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				answer(w, c.code, c.reason)
			}), Options{})
			_, err := client.Evict(t.Context(), activities.EvictWrite{Binding: decoded(t, shared), Cluster: "m1", Now: at})
			require.Error(t, err)
			for _, sentinel := range sentinels {
				assert.Equal(t, errors.Is(c.want, sentinel), errors.Is(err, sentinel), "%v is %v", err, sentinel)
			}
			assert.Equal(t, int32(1), requests.Load(), "a write is sent once")
			require.ErrorContains(t, err, "patch resourcebindings shop/cart-deployment")
			if throttled := (*karmada.ThrottledError)(nil); errors.As(err, &throttled) {
				assert.Equal(t, c.header == "7", throttled.RetryAfter == 7*time.Second)
				assert.Positive(t, throttled.RetryAfter)
			}
			if errors.Is(c.want, karmada.ErrForbidden) {
				assert.ErrorContains(t, err, "may not patch resourcebindings.work.karmada.io")
			}
		})
	}
}

func TestNoAnswerIsUnreachable(t *testing.T) {
	write := activities.EvictWrite{Binding: decoded(t, shared), Cluster: "m1", Now: at}
	t.Run("nobody listens", func(t *testing.T) {
		server := httptest.NewServer(http.NotFoundHandler())
		server.Close()
		client, err := NewClientFor(&rest.Config{Host: server.URL}, Options{})
		require.NoError(t, err)
		_, err = client.Evict(t.Context(), write)
		assert.ErrorIs(t, err, karmada.ErrUnreachable)
	})
	hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
		<-r.Context().Done()
	})
	t.Run("the server hangs past the client's timeout", func(t *testing.T) {
		_, err := connect(t, hang, Options{Timeout: 20 * time.Millisecond}).Evict(t.Context(), write)
		assert.ErrorIs(t, err, karmada.ErrUnreachable)
	})
	t.Run("the caller's deadline passes", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := connect(t, hang, Options{}).Evict(ctx, write)
		require.ErrorIs(t, err, karmada.ErrUnreachable)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
	t.Run("the connection is cut in the middle of the answer", func(t *testing.T) {
		cut := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "{")
		})
		_, err := connect(t, cut, Options{}).Evict(t.Context(), write)
		assert.ErrorIs(t, err, karmada.ErrUnreachable)
	})
}

func TestANameThatWouldBeAnotherPathIsRefused(t *testing.T) {
	server := &apiServer{}
	client := connect(t, server, Options{})
	for _, key := range []karmada.BindingKey{{Namespace: "..", Name: "x"}, {Namespace: "a", Name: "b/c"}, {Namespace: "a", Name: "%2e"}, {}} {
		_, err := client.Binding(t.Context(), key)
		require.ErrorIs(t, err, karmada.ErrInvalid, key)
	}
	assert.Empty(t, server.requests)
}

// Whoever may list and not get reads one object all the same.
func TestOneObjectIsReadOutOfAList(t *testing.T) {
	const shown = `{"metadata":{"name":"here","namespace":"shop"},"spec":{}}`
	client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		items := ""
		if r.URL.Query().Get("fieldSelector") == "metadata.name=here" {
			items = shown
		}
		_, _ = io.WriteString(w, `{"items":[`+items+`]}`)
	}), Options{})
	c, err := client.ClusterNow(t.Context(), "here")
	require.NoError(t, err)
	assert.Equal(t, "here", c.Name)
	b, err := client.BindingNow(t.Context(), karmada.BindingKey{Namespace: "shop", Name: "here"})
	require.NoError(t, err)
	assert.Equal(t, "shop/here", b.Key.String())

	_, err = client.ClusterNow(t.Context(), "gone")
	require.ErrorIs(t, err, karmada.ErrGone)
	_, err = client.BindingNow(t.Context(), karmada.BindingKey{Name: "gone"})
	require.ErrorIs(t, err, karmada.ErrGone)
	refused := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusForbidden, "Forbidden") }), Options{})
	_, err = refused.ClusterNow(t.Context(), "here")
	require.ErrorIs(t, err, karmada.ErrForbidden)
}

func TestBindingsComePageByPageOfBothKinds(t *testing.T) {
	const rbs, crbs = "/apis/work.karmada.io/v1alpha2/resourcebindings", "/apis/work.karmada.io/v1alpha2/clusterresourcebindings"
	item := func(namespace, name string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q,"uid":"u"},"spec":{"resource":{"apiVersion":"v1","kind":"K","name":"x"}}}`, name, namespace)
	}
	server := &apiServer{objects: map[string]string{
		rbs:          `{"metadata":{"continue":"two"},"items":[` + item("n", "one") + `,"garbage"]}`,
		rbs + "?two": `{"metadata":{},"items":[` + item("n", "two") + `]}`,
		crbs:         `{"metadata":{},"items":[` + item("", "three") + `]}`,
	}}
	client := connect(t, server, Options{})
	var seen []string
	page := &activities.Page{Limit: 2}
	for page != nil {
		got, err := client.Bindings(t.Context(), *page)
		require.NoError(t, err)
		for _, b := range got.Bindings {
			seen = append(seen, b.Key.String()+" "+string(b.Key.Kind())[:1])
			if b.Key.Name == "" {
				assert.NotEmpty(t, b.Malformed, "garbage comes back named, and fails nothing else")
			}
		}
		page = got.Next
	}
	assert.Equal(t, []string{"n/one R", "-/ C", "n/two R", "-/three C"}, seen)
	assert.Contains(t, server.requests, "GET "+rbs+"?continue=two&limit=2")
	assert.Contains(t, server.requests, "GET "+crbs+"?limit=2")
}

func TestMissingRulesDefinitionIsNoEmptyListOfRules(t *testing.T) {
	_, err := connect(t, &apiServer{}, Options{}).Rules(t.Context())
	require.ErrorIs(t, err, karmada.ErrGone)
	assert.ErrorContains(t, err, "lifeboat setup")
}

// Rules: R4.3-2.
func TestWhatSurroundsABindingMayOptItOut(t *testing.T) {
	annotated := func(annotations string) string {
		return `{"metadata":{"name":"x","uid":"u","annotations":{` + annotations + `}}}`
	}
	const off, never = `"failover.lifeboat.dev/enabled":"false"`, `"failover.lifeboat.dev/purge-mode":"Never"`
	const namespace, pp = "/api/v1/namespaces/shop", "/apis/policy.karmada.io/v1alpha1/namespaces/shop/propagationpolicies/cart"
	const cpp = "/apis/policy.karmada.io/v1alpha1/clusterpropagationpolicies/all"
	byPP := map[string]string{karmada.AnnotationPolicyNamespace: "shop", karmada.AnnotationPolicyName: "cart"}
	byCPP := map[string]string{karmada.AnnotationClusterPolicyName: "all"}
	cases := map[string]struct {
		objects     map[string]string
		key         karmada.BindingKey
		annotations map[string]string
		by          string
		mode        string
	}{
		"the namespace":          {objects: map[string]string{namespace: annotated(off)}, key: karmada.BindingKey{Namespace: "shop", Name: "x"}, annotations: byPP, by: "namespace shop"},
		"the policy":             {objects: map[string]string{namespace: annotated(""), pp: annotated(off)}, key: karmada.BindingKey{Namespace: "shop", Name: "x"}, annotations: byPP, by: "propagationpolicies shop/cart"},
		"the cluster policy":     {objects: map[string]string{cpp: annotated(off + "," + never)}, key: karmada.BindingKey{Name: "x"}, annotations: byCPP, by: "clusterpropagationpolicies all", mode: "Never"},
		"nothing that exists":    {key: karmada.BindingKey{Namespace: "shop", Name: "x"}, annotations: byPP},
		"no policy at all":       {objects: map[string]string{namespace: annotated("")}, key: karmada.BindingKey{Namespace: "shop", Name: "x"}},
		"enabled says something": {objects: map[string]string{cpp: annotated(`"failover.lifeboat.dev/enabled":"true"`)}, key: karmada.BindingKey{Name: "x"}, annotations: byCPP},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			client := connect(t, &apiServer{objects: c.objects}, Options{})
			b := &karmada.Binding{Key: c.key, Annotations: c.annotations}
			by, err := client.OptedOut(t.Context(), b)
			require.NoError(t, err)
			assert.Equal(t, c.by, by)
			mode, err := client.PolicyAnnotation(t.Context(), b, karmada.AnnotationPurgeMode)
			require.NoError(t, err)
			assert.Equal(t, c.mode, mode)
		})
	}
	broken := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, 500, "InternalError") }), Options{})
	_, err := broken.OptedOut(t.Context(), &karmada.Binding{Key: karmada.BindingKey{Namespace: "shop", Name: "x"}})
	assert.ErrorIs(t, err, karmada.ErrUnreachable, "not knowing is not the same as not opted out")
}

func TestTheWorkOfABindingIsFoundByItsPermanentID(t *testing.T) {
	const works = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works"
	server := &apiServer{objects: map[string]string{works: `{"metadata":{},"items":[
      {"metadata":{"name":"old","namespace":"karmada-es-m1","uid":"1","deletionTimestamp":"2026-01-01T00:00:00Z"}},
      {"metadata":{"name":"new","namespace":"karmada-es-m1","uid":"2"}}]}`}}
	client := connect(t, server, Options{})
	b := &karmada.Binding{Key: karmada.BindingKey{Namespace: "n", Name: "x"}, Labels: map[string]string{labelPermanentID: "id"}}

	work, err := client.WorkOf(t.Context(), b, "m1")
	require.NoError(t, err)
	assert.Equal(t, karmada.Work{Namespace: "karmada-es-m1", Name: "new", UID: "2", Cluster: "m1"}, work)
	assert.Contains(t, server.requests[0], "labelSelector=resourcebinding.karmada.io%2Fpermanent-id%3Did")

	server.objects[works] = `{"metadata":{},"items":[]}`
	_, err = client.WorkOf(t.Context(), b, "m1")
	require.ErrorIs(t, err, karmada.ErrGone)
	_, err = client.WorkOf(t.Context(), &karmada.Binding{Key: karmada.BindingKey{Name: "x"}}, "m1")
	assert.ErrorIs(t, err, karmada.ErrInvalid, "without its id a Work cannot be told from others")
}
