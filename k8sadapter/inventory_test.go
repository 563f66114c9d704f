package k8sadapter

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

// library answers lists from its shelves, and watches with one bookmark; paths that it
// has not are not served, and those it forbids are forbidden.
type library struct {
	mutex   sync.Mutex
	shelves map[string]string // by the resource's name
	forbids string
	sent    map[string]int // "POST /path" by how often
}

func (l *library) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.sent == nil {
		l.sent = map[string]int{}
	}
	l.sent[r.Method+" "+r.URL.Path]++
	w.Header().Set("Content-Type", "application/json")
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	items, served := l.shelves[resource]
	watching := r.URL.Query().Get("watch") != ""
	switch {
	case r.Method != http.MethodGet:
		_, _ = io.WriteString(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`)
	case !served:
		answer(w, http.StatusNotFound, "NotFound")
	case watching && resource == l.forbids:
		answer(w, http.StatusForbidden, "Forbidden")
	case watching && r.URL.Query().Get("sendInitialEvents") != "":
		answer(w, http.StatusUnprocessableEntity, "Invalid") // an older server: then it is listed
	case watching:
		_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"kind":"Cluster","apiVersion":"cluster.karmada.io/v1alpha1","metadata":{"resourceVersion":"8"}}}`)
	default:
		_, _ = io.WriteString(w, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[`+items+`]}`)
	}
}

func shelves() map[string]string {
	return map[string]string{
		"clusters":                   clusterJSON,
		"clustertaintrules":          "",
		"resourcebindings":           rbJSON,
		"clusterresourcebindings":    crbJSON, // its replicas are a word
		"works":                      `{"metadata":{"name":"w","namespace":"karmada-es-m1","uid":"u"}},{"metadata":{"name":"x","namespace":"karmada-es-m1"}}`,
		"propagationpolicies":        `{"metadata":{"name":"p","namespace":"n","uid":"u","annotations":{}}}`,
		"clusterpropagationpolicies": "",
	}
}

// Rules: R4.15-26.
func TestAnInventoryCountsWhatIsThereAndNamesWhatCannotBeUnderstood(t *testing.T) {
	l := &library{shelves: shelves()}
	found := map[string]Inventory{}
	for _, i := range connect(t, l, Options{ReadOnly: true}).Inventory(t.Context(), nil) {
		require.NoError(t, i.Err, i.Resource)
		name, _, _ := strings.Cut(i.Resource, ".")
		found[name] = i
	}
	require.Len(t, found, 8)
	require.Equal(t, 1, found["clusters"].Count)
	require.Empty(t, found["clusters"].Malformed)
	require.Equal(t, 1, found["resourcebindings"].Count)
	require.Empty(t, found["resourcebindings"].Malformed)
	require.Equal(t, 2, found["works"].Count)
	require.Equal(t, []MalformedObject{{"karmada-es-m1/x", "metadata.uid: missing"}}, found["works"].Malformed)
	require.Len(t, found["clusterresourcebindings"].Malformed, 1)
	require.Contains(t, found["clusterresourcebindings"].Malformed[0].Problem, "replicas")
	require.True(t, found["clustertaintpolicies"].Absent)
	require.False(t, found["clustertaintrules"].Absent, "none of them is not the same as no such resource")
}

// Rules: R4.15-26.
func TestAWatchIsHeldOpenOnEverythingThatIsFollowed(t *testing.T) {
	l := &library{shelves: shelves(), forbids: "resourcebindings"}
	found := map[string]Watched{}
	for _, w := range connect(t, l, Options{ReadOnly: true}).Watches(t.Context(), nil) {
		name, _, _ := strings.Cut(w.Resource, ".")
		found[name] = w
	}
	require.Len(t, found, 5)
	require.NoError(t, found["clusters"].Err)
	require.Equal(t, 1, found["clusters"].Events, "the bookmark came")
	require.ErrorIs(t, found["resourcebindings"].Err, karmada.ErrForbidden)
	require.ErrorContains(t, found["resourcebindings"].Err, "may not watch resourcebindings.work.karmada.io")
	require.True(t, found["clustertaintpolicies"].Absent)
}

func TestTheWatchOfTheControllerComesInStep(t *testing.T) {
	l := &library{shelves: shelves()}
	seen, err := connect(t, l, Options{ReadOnly: true, Policies: &PolicyWindows{}}).InStep(t.Context())
	require.NoError(t, err, "a Karmada without ClusterTaintPolicies is no reason to wait")
	require.Equal(t, Sight{Clusters: 1, Rules: 0, Bindings: 2}, seen)

	l.shelves["resourcebindings"] = strings.Replace(rbJSON, `"clusters":`, `"failover":{"application":{"decisionConditions":{"tolerationSeconds":60}}},"clusters":`, 1)
	seen = fixtures.Must(connect(t, l, Options{ReadOnly: true, Policies: &PolicyWindows{}}).InStep(t.Context()))(t)
	require.Equal(t, 1, seen.Applications)
}

// Nothing that could change anything leaves a client that only reads, whatever it is asked.
//
// Rules: R4.15-25.
func TestAClientThatOnlyReadsSendsNoWrite(t *testing.T) {
	l := &library{shelves: shelves()}
	client := connect(t, l, Options{ReadOnly: true})
	client.Inventory(t.Context(), nil)
	client.Watches(t.Context(), nil)
	require.NoError(t, fixtures.Err(client.InStep(t.Context())))
	findings := client.Preflight(t.Context(), WorkerPermissions(rules.ModeEnforce))
	require.True(t, findings[0].Allowed, "what one may do is asked by a POST that stores nothing")
	b := DecodeBinding([]byte(rbJSON))
	c := DecodeCluster([]byte(clusterJSON))
	_, evicted := client.Evict(t.Context(), activities.EvictWrite{Binding: &b, Cluster: "m1", Now: time.Now()})
	_, tainted := client.Taint(t.Context(), activities.TaintWrite{
		Cluster: c, Add: []karmada.RuleTaint{{Key: "a", Effect: "NoExecute"}}, AddRules: []string{"r"}, FailoverID: "e",
	})
	for _, refused := range []error{evicted, tainted, client.InstallCRDs(t.Context())} {
		require.ErrorIs(t, refused, karmada.ErrForbidden)
		require.ErrorContains(t, refused, "only reads")
	}
	for sent := range l.sent {
		asks := sent == "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
		require.True(t, asks || strings.HasPrefix(sent, "GET "), sent)
	}
}

// Rules: R4.15-16.
func TestWhatIsNotServedIsNamed(t *testing.T) {
	server, client := serving(t, map[string]string{
		"/apis/cluster.karmada.io/v1alpha1":    `{"resources":[{"name":"clusters"},{"name":"clusters/status"}]}`,
		"/apis/work.karmada.io/v1alpha2":       `{"resources":[{"name":"resourcebindings"},{"name":"clusterresourcebindings"}]}`,
		"/apis/work.karmada.io/v1alpha1":       `{"resources":[{"name":"works"}]}`,
		"/apis/policy.karmada.io/v1alpha1":     `{"resources":[{"name":"propagationpolicies"}]}`,
		"/apis/failover.lifeboat.dev/v1alpha1": `{"resources":[{"name":"clustertaintrules"}]}`,
	})
	missing := fixtures.Must(client.Undefined(t.Context()))(t)
	require.Empty(t, missing)
	delete(server.objects, "/apis/failover.lifeboat.dev/v1alpha1")
	server.objects["/apis/work.karmada.io/v1alpha2"] = `{"resources":[{"name":"resourcebindings"}]}`
	missing = fixtures.Must(client.Undefined(t.Context()))(t)
	require.Equal(t, []string{"clusterresourcebindings.work.karmada.io", "clustertaintrules.failover.lifeboat.dev"}, missing)
}

// Rules: R4.15-17.
func TestKarmadasPurgeModesAreReadFromItsDefinition(t *testing.T) {
	const path = "/openapi/v3/apis/work.karmada.io/v1alpha2"
	definition := func(purge string) string {
		return `{"components":{"schemas":{"io.karmada.work.v1alpha2.ResourceBindingList":{},"io.karmada.work.v1alpha2.ResourceBinding":{"properties":{"spec":{"properties":{
			"gracefulEvictionTasks":{"items":{"properties":{"purgeMode":` + purge + `}}}}}}}}}}`
	}
	server, client := serving(t, map[string]string{path: definition(`{"enum":["Immediately","Graciously","Never"]}`)})
	modes := fixtures.Must(client.PurgeModes(t.Context()))(t)
	require.Equal(t, []string{"Immediately", "Graciously", "Never"}, modes)
	server.objects[path] = definition(`{}`)
	modes = fixtures.Must(client.PurgeModes(t.Context()))(t)
	require.Empty(t, modes)
	delete(server.objects, path)
	require.ErrorIs(t, fixtures.Err(client.PurgeModes(t.Context())), karmada.ErrGone)
}

// Rules: R4.15-20, R4.15-22.
func TestKarmadasPoliciesAndFlagsAreFound(t *testing.T) {
	server, client := serving(t, map[string]string{
		"/apis/policy.karmada.io/v1alpha1/clustertaintpolicies": `{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`,
		"/apis/apps/v1/namespaces/karmada-system/deployments/karmada-controller-manager": `{"kind":"Deployment","apiVersion":"apps/v1","spec":{"template":{"spec":{"containers":[
			{"command":["/bin/karmada-controller-manager","--feature-gates=Failover=true"],"args":["--controllers=*"]}]}}}}`,
	})
	policies := fixtures.Must(client.ClusterTaintPolicies(t.Context()))(t)
	require.Equal(t, []string{"a", "b"}, policies)
	flags := fixtures.Must(client.ControllerManagerFlags(t.Context(), "karmada-system", "karmada-controller-manager"))(t)
	require.Equal(t, []string{"/bin/karmada-controller-manager", "--feature-gates=Failover=true", "--controllers=*"}, flags)
	server.objects = map[string]string{}
	policies, err := client.ClusterTaintPolicies(t.Context())
	require.NoError(t, err, "a Karmada without that definition has none")
	require.Empty(t, policies)
}
