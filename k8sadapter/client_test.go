package k8sadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
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
	return fixtures.Must(NewClientFor(&rest.Config{Host: server.URL, ContentConfig: asJSON}, opts))(t)
}

// serving is an API server with some objects, and its client.
func serving(t *testing.T, objects map[string]string) (*apiServer, *Client) {
	t.Helper()
	server := &apiServer{objects: objects}
	return server, connect(t, server, Options{})
}

const rbPath = "/apis/work.karmada.io/v1alpha2/namespaces/shop/resourcebindings/cart-deployment"

func TestAWriteReturnsTheObjectAsItStandsAfterIt(t *testing.T) {
	server, client := serving(t, map[string]string{rbPath: shared})
	key := karmada.BindingKey{Namespace: "shop", Name: "cart-deployment"}

	read := fixtures.Must(client.Binding(t.Context(), key))(t)
	evicted := fixtures.Must(client.Evict(t.Context(), activities.EvictWrite{Binding: &read, Cluster: "m1", Owner: "w", Now: at}))(t)

	target, _ := evicted.Target("m1")
	assert.Nil(t, target)
	task, _ := evicted.TaskFor("m1")
	assert.True(t, task.IsLifeboat())
	server.mutex.Lock()
	assert.Equal(t, []string{"GET " + rbPath, "PATCH " + rbPath + "?fieldManager=lifeboat"}, server.requests)
	server.objects[rbPath] = held // somebody wrote meanwhile
	server.mutex.Unlock()

	_, err := client.Release(t.Context(), activities.ReleaseWrite{Binding: &evicted, Cluster: "m1"})
	require.ErrorIs(t, err, karmada.ErrConflict)
	assert.ErrorContains(t, err, "release from m1: patch resourcebindings shop/cart-deployment")
}

func TestEveryAnswerOfTheServerIsClassified(t *testing.T) {
	sentinels := []error{
		karmada.ErrConflict, karmada.ErrGone, karmada.ErrInvalid, karmada.ErrForbidden,
		karmada.ErrUnreachable, karmada.ErrThrottled, karmada.ErrRefused,
	}
	for name, c := range map[string]struct {
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
	} {
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

// A FederatedResourceQuota of Karmada denies with a 403 as well: it is no matter of rights.
func TestClassify_WriteDeniedByAWebhook_KeepsItsWordsAndNamesNoRight(t *testing.T) {
	for name, answer := range map[string]string{
		"a quota":         `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"QuotaExceeded","message":"FederatedResourceQuota(shop/all) exceeded for resource cpu: requested sum 5, limit 4."}`,
		"another webhook": `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"admission webhook \"names.example.org\" denied the request: FederatedResourceQuota(shop/all) exceeded"}`,
	} {
		t.Run(name, func(t *testing.T) {
			client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, answer)
			}), Options{})
			_, err := client.Evict(t.Context(), activities.EvictWrite{Binding: decoded(t, shared), Cluster: "m1", Now: at})
			require.ErrorIs(t, err, karmada.ErrForbidden)
			require.ErrorContains(t, err, "FederatedResourceQuota(shop/all) exceeded")
			require.NotContains(t, err.Error(), "may not")
		})
	}
}

func TestNoAnswerIsUnreachable(t *testing.T) {
	write := activities.EvictWrite{Binding: decoded(t, shared), Cluster: "m1", Now: at}
	t.Run("nobody listens", func(t *testing.T) {
		server := httptest.NewServer(http.NotFoundHandler())
		server.Close()
		_, err := fixtures.Must(NewClientFor(&rest.Config{Host: server.URL}, Options{}))(t).Evict(t.Context(), write)
		assert.ErrorIs(t, err, karmada.ErrUnreachable)
	})
	hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
		<-r.Context().Done()
	})
	t.Run("the server hangs past the client's timeout", func(t *testing.T) {
		client := connect(t, hang, Options{})
		client.timeout = 20 * time.Millisecond
		assert.ErrorIs(t, fixtures.Err(client.Evict(t.Context(), write)), karmada.ErrUnreachable)
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
		assert.ErrorIs(t, fixtures.Err(connect(t, cut, Options{}).Evict(t.Context(), write)), karmada.ErrUnreachable)
	})
}

func TestANameThatWouldBeAnotherPathIsRefused(t *testing.T) {
	server := &apiServer{}
	client := connect(t, server, Options{})
	for _, key := range []karmada.BindingKey{{Namespace: "..", Name: "x"}, {Namespace: "a", Name: "b/c"}, {Namespace: "a", Name: "%2e"}, {}} {
		require.ErrorIs(t, fixtures.Err(client.Binding(t.Context(), key)), karmada.ErrInvalid, key)
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
	assert.Equal(t, "here", fixtures.Must(client.ClusterNow(t.Context(), "here"))(t).Name)
	b := fixtures.Must(client.BindingNow(t.Context(), karmada.BindingKey{Namespace: "shop", Name: "here"}))(t)
	assert.Equal(t, "shop/here", b.Key.String())

	require.ErrorIs(t, fixtures.Err(client.ClusterNow(t.Context(), "gone")), karmada.ErrGone)
	require.ErrorIs(t, fixtures.Err(client.BindingNow(t.Context(), karmada.BindingKey{Name: "gone"})), karmada.ErrGone)
	refused := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusForbidden, "Forbidden") }), Options{})
	require.ErrorIs(t, fixtures.Err(refused.ClusterNow(t.Context(), "here")), karmada.ErrForbidden)
}

func TestBindingsComePageByPageOfBothKinds(t *testing.T) {
	const rbs, crbs = "/apis/work.karmada.io/v1alpha2/resourcebindings", "/apis/work.karmada.io/v1alpha2/clusterresourcebindings"
	item := func(namespace, name string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q,"uid":"u"},"spec":{"resource":{"apiVersion":"v1","kind":"K","name":"x"}}}`, name, namespace)
	}
	server, client := serving(t, map[string]string{
		rbs:          `{"metadata":{"continue":"two"},"items":[` + item("n", "one") + `,"garbage"]}`,
		rbs + "?two": `{"metadata":{},"items":[` + item("n", "two") + `]}`,
		crbs:         `{"metadata":{},"items":[` + item("", "three") + `]}`,
	})
	var seen []string
	page := &activities.Page{}
	for page != nil {
		got := fixtures.Must(client.Bindings(t.Context(), *page))(t)
		for _, b := range got.Bindings {
			seen = append(seen, b.Key.String()+" "+string(b.Key.Kind())[:1])
			if b.Key.Name == "" {
				assert.NotEmpty(t, b.Malformed, "garbage comes back named, and fails nothing else")
			}
		}
		page = got.Next
	}
	assert.Equal(t, []string{"n/one R", "-/ C", "n/two R", "-/three C"}, seen)
	assert.Contains(t, server.requests, "GET "+rbs+"?continue=two&limit=500")
	assert.Contains(t, server.requests, "GET "+crbs+"?limit=500")
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
	for name, c := range map[string]struct {
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
	} {
		t.Run(name, func(t *testing.T) {
			client := connect(t, &apiServer{objects: c.objects}, Options{})
			b := &karmada.Binding{Key: c.key, Annotations: c.annotations}
			assert.Equal(t, c.by, fixtures.Must(client.OptedOut(t.Context(), b))(t))
			assert.Equal(t, c.mode, fixtures.Must(client.PolicyAnnotation(t.Context(), b, karmada.AnnotationPurgeMode))(t))
		})
	}
	broken := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, 500, "InternalError") }), Options{})
	_, err := broken.OptedOut(t.Context(), &karmada.Binding{Key: karmada.BindingKey{Namespace: "shop", Name: "x"}})
	assert.ErrorIs(t, err, karmada.ErrUnreachable, "not knowing is not the same as not opted out")
}

func TestTheWorkOfABindingIsFoundByItsPermanentID(t *testing.T) {
	const works = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works"
	server, client := serving(t, map[string]string{works: `{"metadata":{},"items":[
      {"metadata":{"name":"old","namespace":"karmada-es-m1","uid":"1","deletionTimestamp":"2026-01-01T00:00:00Z"}},
      {"metadata":{"name":"new","namespace":"karmada-es-m1","uid":"2"}}]}`})
	b := &karmada.Binding{
		Key: karmada.BindingKey{Namespace: "n", Name: "x"}, PermanentID: "id",
		Resource: karmada.Resource{Kind: "Deployment", Namespace: "default", Name: "one"},
	}

	work, err := client.WorkOf(t.Context(), b, "m1")
	require.NoError(t, err)
	assert.Equal(t, karmada.Work{Namespace: "karmada-es-m1", Name: "new", UID: "2", Cluster: "m1"}, work)
	assert.Contains(t, server.requests[1], "labelSelector=resourcebinding.karmada.io%2Fpermanent-id%3Did")

	for name, c := range map[string]struct{ metadata, uid string }{
		"its own under Karmada's name": {metadata: `"labels":{"resourcebinding.karmada.io/permanent-id":"id"}`, uid: "3"},
		"another binding's":            {metadata: `"labels":{"resourcebinding.karmada.io/permanent-id":"other"}`, uid: "2"},
		"its own that is going":        {metadata: `"labels":{"resourcebinding.karmada.io/permanent-id":"id"},"deletionTimestamp":"2026-01-01T00:00:00Z"`, uid: "2"},
	} {
		server.objects[works+"/one-8fd8696fc"] = `{"metadata":{"name":"one-8fd8696fc","namespace":"karmada-es-m1","uid":"3",` + c.metadata + `}}`
		work, err = client.WorkOf(t.Context(), b, "m1")
		require.NoError(t, err, name)
		assert.EqualValues(t, c.uid, work.UID, name)
	}
	delete(server.objects, works+"/one-8fd8696fc")

	server.objects[works] = `{"metadata":{},"items":[]}`
	require.ErrorIs(t, fixtures.Err(client.WorkOf(t.Context(), b, "m1")), karmada.ErrGone)
	_, err = client.WorkOf(t.Context(), &karmada.Binding{Key: karmada.BindingKey{Name: "x"}}, "m1")
	assert.ErrorIs(t, err, karmada.ErrInvalid, "without its id a Work cannot be told from others")
}

// The whole Work is read, in the same requests: its own flag says whether its copy is preserved, and of a Deployment
// a label in its manifest says whose replicas count.
//
// Rules: R4.8-15.
func TestWorkOf_TellsWhatItsSpecAndItsManifestSay(t *testing.T) {
	const retains, preserves = `"resourcetemplate.karmada.io/retain-replicas":"true"`, `"preserveResourcesOnDeletion":true,`
	deployment := karmada.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "one"}
	configMap := karmada.Resource{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "one"}
	for name, c := range map[string]struct {
		resource       karmada.Resource
		labels, fields string
		retains        bool
		preserves      bool
	}{
		"its members keep their replicas": {resource: deployment, labels: retains, retains: true},
		"the label says no":               {resource: deployment, labels: `"resourcetemplate.karmada.io/retain-replicas":"false"`},
		"another kind with the label":     {resource: configMap, labels: retains},
		"nothing said":                    {resource: deployment},
		"its copy is preserved":           {resource: deployment, fields: preserves, preserves: true},
		"its copy is not preserved":       {resource: configMap, fields: `"preserveResourcesOnDeletion":false,`},
		"another kind is preserved":       {resource: configMap, fields: preserves, preserves: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &karmada.Binding{Key: karmada.BindingKey{Namespace: "n", Name: "x"}, PermanentID: "id", Resource: c.resource}
			requests := 0
			client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				spec := `{` + c.fields + `"workload":{"manifests":[{"apiVersion":"example.io/v2","metadata":{"labels":{` + c.labels + `}}}]}}`
				if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
					spec = "{}"
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"metadata":{"name":"`+workName(b)+`","namespace":"karmada-es-m1","uid":"3","labels":{"resourcebinding.karmada.io/permanent-id":"id"}},"spec":`+spec+`}`)
			}), Options{})
			work := fixtures.Must(client.WorkOf(t.Context(), b, "m1"))(t)
			require.Equal(t, c.retains, work.RetainsReplicas)
			require.Equal(t, c.preserves, work.PreservesCopy)
			require.Equal(t, "example.io/v2", work.APIVersion)
			require.Equal(t, 1, requests)
		})
	}
}

// A proxy without its server, or an API server without the APIService, answers 404 for whatever is asked of it. That ends
// no cluster, binding or Work; of a list it says that the kind is not served.
//
// Rules: R4.7-39, R4.7-40.
func TestA404WithoutTheWordsOfTheAPIServer_SaysNothingOfAnObject(t *testing.T) {
	client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "404 page not found", http.StatusNotFound) }), Options{})
	_, clusterErr := client.ClusterNow(t.Context(), "m1")
	_, bindingErr := client.BindingNow(t.Context(), karmada.BindingKey{Namespace: "shop", Name: "cart"})
	known := decoded(t, shared)
	known.PermanentID = "id"
	_, workErr := client.WorkOf(t.Context(), known, "m1")
	for _, err := range []error{clusterErr, bindingErr, workErr} {
		require.ErrorIs(t, err, karmada.ErrUnreachable)
		require.NotErrorIs(t, err, karmada.ErrGone)
	}
	_, err := client.Rules(t.Context())
	require.ErrorIs(t, err, karmada.ErrGone, "of a whole list it says that the kind is not served")
}

// Karmada notes in the Work which overriders it has applied. A number without one may be that of an older placement.
//
// Rules: R4.7-23.
func TestWorkOf_OverriddenReplicas(t *testing.T) {
	work := func(annotation, overriders, replicas string) *int64 {
		list, _ := json.Marshal(`[{"policyName":"other","overriders":{}},{"policyName":"standby","overriders":{"plaintext":[` + overriders + `]}}]`)
		return overriddenReplicas(manifestOf([]byte(`{"metadata":{"annotations":{"policy.karmada.io/` + annotation + `":` + string(list) + `}},
			"spec":{"workload":{"manifests":[{"spec":{"paused":false` + replicas + `}}]}}}`)))
	}
	const one = `{"path":"/metadata/name","operator":"replace","value":"x"},{"path":"/spec/replicas","operator":"replace","value":1}`
	for _, annotation := range []string{"applied-overrides", "applied-cluster-overrides"} {
		require.Equal(t, fixtures.Ptr(int64(1)), work(annotation, one, `,"replicas":1`))
	}
	require.Nil(t, work("applied-overrides", one, `,"replicas":3`), "the override was taken away, its annotation stays")
	require.Nil(t, work("applied-overrides", one, ""))
	require.Nil(t, work("applied-overrides", `{"path":"/spec/paused","value":1}`, `,"replicas":1`))
	require.Nil(t, work("applied-else", one, `,"replicas":1`))
	require.Nil(t, work("applied-overrides", "broken", `,"replicas":1`))
	require.Nil(t, overriddenReplicas(manifestOf([]byte(`{}`))))
}

func TestWorkName_IsThatOfTheRecordedKarmada(t *testing.T) {
	for want, r := range map[string]karmada.Resource{
		"div-696d69898d":         {Kind: "Deployment", Namespace: "default", Name: "div"},
		"onecfg-f86b9df46":       {Kind: "ConfigMap", Namespace: "default", Name: "onecfg"},
		"demo-reader-7f4ff6bcbf": {Kind: "ClusterRole", Name: "demo-reader"},
	} {
		assert.Equal(t, want, workName(&karmada.Binding{Resource: r}))
	}
}

// workServer holds one Work, and bumps its generation as an API server does.
type workServer struct {
	uid        string
	deleting   bool
	suspend    *bool
	generation int64
	bodies     []map[string]any
}

func (s *workServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPatch {
		raw, _ := io.ReadAll(r.Body)
		var body map[string]any
		_ = json.Unmarshal(raw, &body)
		s.bodies = append(s.bodies, body)
		next := body["spec"].(map[string]any)["suspendDispatching"].(bool) //nolint:errcheck,forcetypeassert // a panic fails the test
		if s.suspend == nil || *s.suspend != next {
			s.generation++
		}
		s.suspend = &next
	}
	deleted := ""
	if s.deleting {
		deleted = `"deletionTimestamp":"2026-03-01T03:00:00Z",`
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{%s"namespace":"karmada-es-m1","name":"cart","uid":%q,"resourceVersion":"7%d","generation":%d}}`,
		deleted, s.uid, s.generation, s.generation)
}

// Rules: R4.8-17.
func TestEndWork_BumpsTheGenerationOfTheVeryWorkThatIsBeingDeleted(t *testing.T) {
	yes, no := true, false
	old := karmada.Work{Namespace: "karmada-es-m1", Name: "cart", UID: "w1"}
	for name, c := range map[string]struct {
		server  workServer
		patches int
		err     error
	}{
		"unset":              {server: workServer{uid: "w1", deleting: true}, patches: 1},
		"as Karmada sets it": {server: workServer{uid: "w1", deleting: true, suspend: &no}, patches: 1},
		"true already":       {server: workServer{uid: "w1", deleting: true, suspend: &yes}, patches: 2},
		"another Work":       {server: workServer{uid: "w2", deleting: true}, patches: 0, err: karmada.ErrConflict},
		"not being deleted":  {server: workServer{uid: "w1"}, patches: 0, err: karmada.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			server := c.server
			require.ErrorIs(t, connect(t, &server, Options{}).EndWork(t.Context(), old), c.err)
			require.Len(t, server.bodies, c.patches)
			require.Equal(t, c.patches > 0, server.generation == 1, "one bump")
			for _, body := range server.bodies {
				require.Equal(t, []any{"w1", "70"}, []any{body["metadata"].(map[string]any)["uid"], body["metadata"].(map[string]any)["resourceVersion"]}) //nolint:errcheck,forcetypeassert // a panic fails the test
				require.Len(t, body["spec"], 1)
			}
		})
	}
}

// answered is what a real Karmada once answered.
func answered(t *testing.T, name string) string {
	t.Helper()
	return string(fixtures.Must(os.ReadFile(filepath.Join("testdata", "answers", name+".json")))(t))
}

// An admission webhook is called before the object is stored: when it cannot be called the
// write certainly does not stand. Any other internal error may follow the store.
//
// Rules: R4.7-42.
func TestClassify_WebhookThatCannotBeCalled_IsRefused(t *testing.T) {
	status := func(reason, message string, code int) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`, reason, message, code)
	}
	for name, c := range map[string]struct {
		body string
		want error
	}{
		"nobody listens": {body: answered(t, "webhook_down"), want: karmada.ErrRefused},
		"no answer":      {body: answered(t, "webhook_hangs"), want: karmada.ErrRefused},
		"a conversion webhook, after the store": {
			body: status("InternalError", `Internal error occurred: conversion webhook for work.karmada.io/v1alpha1, Kind=ResourceBinding failed: Post "https://x"`, 500),
			want: karmada.ErrUnreachable,
		},
		"the text in the middle of another error": {
			body: status("InternalError", `etcdserver: request timed out; failed calling webhook "x"`, 500), want: karmada.ErrUnreachable,
		},
		"the text under another reason": {
			body: status("Timeout", `Internal error occurred: failed calling webhook "x"`, 500), want: karmada.ErrUnreachable,
		},
		"the text of a proxy": {
			body: status("InternalError", `Internal error occurred: failed calling webhook "x"`, 502), want: karmada.ErrUnreachable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				var answered struct{ Code int }
				assert.NoError(t, json.Unmarshal([]byte(c.body), &answered))
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(answered.Code)
				_, _ = io.WriteString(w, c.body)
			}), Options{})
			_, err := client.Evict(t.Context(), activities.EvictWrite{Binding: decoded(t, shared), Cluster: "m1", Now: at})
			require.ErrorIs(t, err, c.want)
			require.Equal(t, errors.Is(c.want, karmada.ErrUnreachable), errors.Is(err, karmada.ErrUnreachable))
			require.ErrorContains(t, err, "failed")
		})
	}
}

// The bindings and Works are those of a real Karmada: the labels of a workload stand in its
// Work alone.
//
// Rules: R4.12-5.
func TestWorkloadLabels_OfRealWorks_AreThoseOfTheManifest(t *testing.T) {
	const works = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-member1/works"
	_, client := serving(t, map[string]string{
		works: answered(t, "works_member1"),
		"/apis/work.karmada.io/v1alpha2/resourcebindings": answered(t, "resourcebindings"),
	})
	page := fixtures.Must(client.Bindings(t.Context(), activities.Page{}))(t)
	require.Len(t, page.Bindings, 4)
	bindings := make([]*karmada.Binding, 0, len(page.Bindings)+2)
	for i := range page.Bindings {
		require.NotContains(t, page.Bindings[i].Labels, "app", "Karmada copies no label of the workload to the binding")
		bindings = append(bindings, &page.Bindings[i])
	}
	away := karmada.Binding{Key: karmada.BindingKey{Namespace: "default", Name: "away"}, PermanentID: "no-such-id"}
	bindings = append(bindings, &away, &karmada.Binding{Key: karmada.BindingKey{Namespace: "default", Name: "without-id"}})

	found := fixtures.Must(client.WorkloadLabels(t.Context(), bindings, "member1"))(t)
	app := map[string]string{}
	for key, labels := range found {
		require.NotNil(t, labels)
		app[key.Name] = labels["app"]
	}
	require.Equal(t, map[string]string{"div-deployment": "div", "one-deployment": "one", "only1-deployment": "only1", "onecfg-configmap": ""}, app,
		"what has no Work there, or no id, is left out")
	drain := karmada.Drain{Selector: "app=one"}
	for _, b := range bindings {
		require.False(t, drain.Selects(b))
		b.WorkloadLabels = found[b.Key]
		require.Equal(t, b.Key.Name == "one-deployment", drain.Selects(b), b.Key.Name)
	}
}

// Rules: R4.12-5.
func TestWorkloadLabels_AsksForFewWorksAtOnce(t *testing.T) {
	const works = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works"
	work := func(id, more, label string) string {
		return fmt.Sprintf(`{"metadata":{"name":"w","uid":"u","labels":{%q:%q}%s},"spec":{"workload":{"manifests":[{"metadata":{"labels":{"app":%s}}}]}}}`,
			karmada.KindResourceBinding.PermanentIDLabel(), id, more, label)
	}
	server, client := serving(t, map[string]string{works: `{"metadata":{},"items":[` + strings.Join([]string{
		work("id0", `,"deletionTimestamp":"2026-01-01T00:00:00Z"`, `"old"`), work("id0", "", `"new"`), work("id0", `,"deletionTimestamp":"2026-01-01T00:00:00Z"`, `"older"`),
		work("id1", "", `{}`), work("never-asked", "", `"x"`),
	}, ",") + `]}`})
	var bindings []*karmada.Binding
	for n := range idsPerList + 1 {
		key := karmada.BindingKey{Namespace: "n", Name: strconv.Itoa(n)}
		bindings = append(bindings, &karmada.Binding{Key: key, PermanentID: "id" + strconv.Itoa(n)})
	}
	found := fixtures.Must(client.WorkloadLabels(t.Context(), bindings, "m1"))(t)
	require.Equal(t, map[karmada.BindingKey]map[string]string{bindings[0].Key: {"app": "new"}}, found,
		"the Work that stays counts, and what cannot be understood has no known labels")
	require.Len(t, server.requests, 2)
	for _, r := range server.requests {
		require.Less(t, len(r), 4096)
	}

	server.objects = nil
	require.Error(t, fixtures.Err(client.WorkloadLabels(t.Context(), bindings[:1], "m1")))
}

// doorman notes with which token each request came.
type doorman struct{ tokens []string }

func (d *doorman) RoundTrip(r *http.Request) (*http.Response, error) {
	d.tokens = append(d.tokens, r.Header.Get("Authorization"))
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"metadata":{"name":"member1","resourceVersion":"1"}}`)),
	}, nil
}

// A token lasts for a while only, and whoever renews it writes it into the file that the
// kubeconfig names. client-go reads it again; here within a minute of virtual time.
func TestATokenFileIsReadAgainWithoutARestart(t *testing.T) {
	folder := t.TempDir()
	token, kubeconfig := filepath.Join(folder, "token"), filepath.Join(folder, "kubeconfig")
	require.NoError(t, os.WriteFile(token, []byte("first\n"), 0o600))
	require.NoError(t, os.WriteFile(kubeconfig, []byte(`
apiVersion: v1
kind: Config
current-context: karmada
contexts: [{name: karmada, context: {cluster: karmada, user: worker}}]
clusters: [{name: karmada, cluster: {server: "https://karmada.example"}}]
users: [{name: worker, user: {tokenFile: token}}]
`), 0o600))
	synctest.Test(t, func(t *testing.T) {
		cfg := fixtures.Must(clientcmd.BuildConfigFromFlags("", kubeconfig))(t)
		door := &doorman{}
		cfg.WrapTransport = func(http.RoundTripper) http.RoundTripper { return door }
		client := fixtures.Must(NewClientFor(cfg, Options{}))(t)
		ask := func() {
			require.NoError(t, fixtures.Err(client.Cluster(t.Context(), "member1")))
		}
		ask()
		require.NoError(t, os.WriteFile(token, []byte("second\n"), 0o600))
		<-time.After(time.Minute)
		ask()
		require.Equal(t, []string{"Bearer first", "Bearer second"}, door.tokens)
	})
}

// A member that is asked how it is may answer without an end. It is Karmada's proxy that
// carries the answer, and the worker's memory that it would be read into.
func TestOfAMembersAnswerNoMoreIsReadThanItsWord(t *testing.T) {
	const much, piece = 256 << 20, 1 << 20
	var told atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for told.Load() < much {
			n, err := w.Write(make([]byte, piece))
			told.Add(int64(n))
			if err != nil {
				return
			}
		}
	}))
	defer server.Close()
	client := fixtures.Must(NewClientFor(&rest.Config{Host: server.URL}, Options{}))(t)
	require.NoError(t, ProxyProber{Client: client}.Probe(t.Context(), "m2"))
	server.Close() // waits for the answer to end
	require.Less(t, told.Load(), int64(much))
}

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
	server, client := serving(t, map[string]string{path: fmt.Sprintf(`{"metadata":{"name":"m2"},"spec":{"apiEndpoint":%q}}`, member.URL)})
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
	server.objects["/apis/cluster.karmada.io/v1alpha1/clusters/m4"] = `{"metadata":{"name":"m4"}}`
	require.ErrorIs(t, EndpointProber{Client: client}.Probe(t.Context(), "m4"), karmada.ErrInvalid, "no address")
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

// Rules: R4.7-29.
func TestAnswer_VerifiesTheCertificateAndGoesThroughTheProxy(t *testing.T) {
	member := httptest.NewTLSServer(http.NotFoundHandler())
	defer member.Close()
	require.ErrorContains(t, fixtures.Err(Answer(t.Context(), member.URL, "", "readyz", true)), "certificate")
	require.Equal(t, http.StatusNotFound, fixtures.Must(Answer(t.Context(), member.URL, "", "readyz", false))(t))

	var asked string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r.URL.String() }))
	defer proxy.Close()
	require.Equal(t, http.StatusOK, fixtures.Must(Answer(t.Context(), "http://member1.example/k8s/", proxy.URL, "readyz", true))(t))
	require.Equal(t, "http://member1.example/k8s/readyz", asked)
}

var (
	_ activities.Prober = ProxyProber{}
	_ activities.Prober = EndpointProber{}
)

// Rules: R4.13-2.
func TestRevision_ChangesWithThePodTemplate_AndNotWithTheReplicas(t *testing.T) {
	const name = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works/one-8fd8696fc"
	server := &apiServer{objects: map[string]string{}}
	client := connect(t, server, Options{})
	b := &karmada.Binding{
		Key: karmada.BindingKey{Namespace: "n", Name: "x"}, PermanentID: "id",
		Resource: karmada.Resource{Kind: "Deployment", Namespace: "default", Name: "one"},
	}
	revision := func(spec string) string {
		server.objects[name] = `{"metadata":{"name":"one-8fd8696fc","labels":{"resourcebinding.karmada.io/permanent-id":"id"}},
			"spec":{"workload":{"manifests":[{"metadata":{"labels":{"a":"b"}},"spec":` + spec + `}]}}}`
		return fixtures.Must(client.Revision(t.Context(), b, "m1"))(t)
	}
	first := revision(`{"replicas":2,"template":{"spec":{"containers":[{"image":"a"}]}}}`)
	require.NotEmpty(t, first)
	require.Equal(t, first, revision(`{"replicas":9,"paused":true,"template":{"spec":{"containers":[{"image":"a"}]}}}`))
	require.NotEqual(t, first, revision(`{"replicas":2,"template":{"spec":{"containers":[{"image":"b"}]}}}`))
	require.Equal(t, revision(`{"replicas":1,"jobs":3}`), revision(`{"replicas":2,"jobs":3}`), "a kind without a pod template")
	require.NotEqual(t, revision(`{"jobs":4}`), revision(`{"jobs":3}`))
}
